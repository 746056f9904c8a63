"""A push query that outlives its server: it resumes where it stopped, on that server or on another one."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

from ksql_spark.shell.client import (
    SHUTTING_DOWN,
    STILL_STARTING,
    Client,
    ClientError,
    ServerError,
    Settings,
    Unreachable,
)

if TYPE_CHECKING:
    from ksql_spark.client import FrameStream

#: between two attempts
PAUSE_S = 0.5
LOST = "The server is lost; the query resumes when it is back. Ctrl-C ends it."
BACK = "The server is back; the query goes on where it stopped."


class Frames(Protocol):
    """The part of a query's result stream that is used here; see FrameStream."""

    def read(self, timeout_s: float) -> list[dict[str, Any]] | None:
        """Read frames; see FrameStream.read."""
        ...

    def close(self) -> None:
        """Close the stream; see FrameStream.close."""
        ...


class Resuming:
    """The frames of a push query, and a frame ``note`` when its server is lost and when it is back.

    Rows are handed on once their continuation token is here, so none comes twice. A query without tokens,
    such as an aggregate, ends with its connection.

    Args:
        client: the client of the server.
        text: the statement.
        settings: as for Client.query.
    """

    def __init__(self, client: Client, text: str, settings: Settings) -> None:
        self._client, self._text, self._settings = client, text, settings
        self._stream: FrameStream | None = client.query(text, settings, resumable=True)
        self._token: str | None = None
        #: frames whose token has not come yet
        self._held: list[dict[str, Any]] = []
        #: what ends the query, if it cannot resume
        self._failure: dict[str, Any] | None = None
        self._is_lost = False
        self._is_over = threading.Event()
        self._resumed = threading.Event()

    def read(self, timeout_s: float) -> list[dict[str, Any]] | None:
        """Read frames; see FrameStream.read. A lost stream is resumed."""
        if self._is_lost:
            if not self._resumed.wait(timeout_s):
                return []
            self._is_lost = False
            return [{"note": BACK} if self._failure is None else self._failure]
        if self._failure is not None or self._stream is None:
            return None
        frames = self._stream.read(timeout_s)
        if frames is None:
            held, self._held = self._held, []
            return held or None
        ready: list[dict[str, Any]] = []
        for frame in frames:
            if "continuationToken" in frame:
                self._token = str(frame["continuationToken"])
                ready, self._held = [*ready, *self._held], []
            elif self._reports_loss(frame):
                self._begin_again()
                return [*ready, {"note": LOST}]
            elif self._token is not None and "row" in frame:
                self._held.append(frame)
            elif self._token is None or "header" not in frame:
                ready, self._held = [*ready, *self._held, frame], []
        return ready

    def close(self) -> None:
        """Close the stream; see FrameStream.close."""
        self._is_over.set()
        self._resumed.set()
        if self._stream is not None:
            self._stream.close()

    def _reports_loss(self, frame: Mapping[str, Any]) -> bool:
        """Whether the frame reports that the server is gone, for a query that can resume."""
        error = frame.get("errorMessage")
        if error is None or self._token is None or self._stream is None:
            return False
        return self._stream.is_broken or error.get("error_code") == SHUTTING_DOWN

    def _begin_again(self) -> None:
        assert self._stream is not None
        self._stream.close()
        self._stream, self._held, self._is_lost = None, [], True
        self._resumed.clear()
        threading.Thread(target=self._try, name="resuming", daemon=True).start()

    def _try(self) -> None:
        """Start the query at its token as soon as a server takes it (in a thread)."""
        while not self._is_over.wait(PAUSE_S):
            try:
                stream = self._client.query(self._text, self._settings, resumable=True, after=self._token)
            except Unreachable:
                continue
            except ServerError as error:
                if error.code in (STILL_STARTING, SHUTTING_DOWN):
                    continue
                self._fail(error.code, str(error))
            except (ClientError, RuntimeError) as error:  # RuntimeError: the client was closed meanwhile
                self._fail(50000, str(error))
            else:
                self._stream = stream
                if self._is_over.is_set():
                    stream.close()
            self._resumed.set()
            return

    def _fail(self, code: int, message: str) -> None:
        self._failure = {
            "errorMessage": {"error_code": code, "message": f"The query cannot resume: {message}"}
        }
