"""The REST client: statements, streamed queries, server information (reference §7). It prints nothing."""

from __future__ import annotations

import contextlib
import json
import queue
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import httpx

FRAMES = "application/vnd.ksql.v1+json"
STILL_STARTING = 50302
CONNECT_TIMEOUT_S = 5.0
#: how many frames may wait for the screen before reading from the network pauses
QUEUE_FRAMES = 10_000


class ClientError(Exception):
    """An error for the user; the text is the whole message."""


class Unreachable(ClientError):
    """No server answers."""


class ServerError(ClientError):
    """The server's own error object (reference §7.4)."""

    def __init__(self, content: Mapping[str, Any]) -> None:
        self.code = int(content.get("error_code", 50000))
        self.message = str(content.get("message", "The server gave no reason."))
        self.statement = str(content.get("statementText", ""))
        self.entities: list[dict[str, Any]] = list(content.get("entities") or [])
        super().__init__(self.message)


@dataclass(frozen=True)
class Settings:
    """What each request includes: property overrides, variables, the number of the last command."""

    properties: Mapping[str, Any] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)
    sequence_number: int | None = None

    def body(self, text: str) -> dict[str, Any]:
        """The JSON body of /ksql and /query."""
        body: dict[str, Any] = {
            "ksql": text,
            "streamsProperties": dict(self.properties),
            "sessionVariables": dict(self.variables),
        }
        if self.sequence_number is not None:
            body["commandSequenceNumber"] = self.sequence_number
        return body


class Client:
    """Talks to a server.

    Args:
        url: its address; ``http://`` may be left out. Several, separated by commas, are of servers that share
            queries: where one cannot be reached, the next one is asked.
        auth: user and password, or None.
        token: a bearer token, or None.
        tls: CA file and client certificate, as httpx takes them (``verify``, ``cert``).
    """

    def __init__(
        self,
        url: str,
        auth: tuple[str, str] | None = None,
        token: str | None = None,
        tls: Mapping[str, Any] | None = None,
    ) -> None:
        self._urls = deque(normal_url(one.strip()) for one in url.split(","))
        self._auth, self._token, self._tls = auth, token, dict(tls or {})
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._http = httpx.Client(
            base_url=self.url,
            auth=auth,
            headers=headers,
            # a statement may take any time; only connecting must be quick
            timeout=httpx.Timeout(None, connect=CONNECT_TIMEOUT_S),
            # no limit, so that a stream can be closed by another request while it runs
            limits=httpx.Limits(max_connections=None),
            trust_env=False,
            **self._tls,
        )

    @property
    def url(self) -> str:
        """The address of the server that is asked."""
        return self._urls[0]

    def at(self, url: str) -> Client:
        """A client with the same credentials for another server."""
        return Client(url, self._auth, self._token, self._tls)

    def info(self) -> dict[str, Any]:
        """``version``, ``kafkaClusterId``, ``ksqlServiceId``, ``serverStatus``."""
        content = self._json(self._request("GET", "/info"))
        if not isinstance(content, dict) or not isinstance(content.get("KsqlServerInfo"), dict):
            raise Unreachable(f"What answers at {self.url} is no ksql-spark server.")
        info: dict[str, Any] = content["KsqlServerInfo"]
        return info

    def run(self, text: str, settings: Settings | None = None) -> list[dict[str, Any]]:
        """Run statements with POST /ksql; returns the entities of reference §7.3.

        Raises:
            ServerError: also for a statement that is logged, but what it has made does not run.
        """
        response = self._request("POST", "/ksql", json=(settings or Settings()).body(text))
        entities: list[dict[str, Any]] = self._json(response)
        for entity in entities:
            status = entity.get("commandStatus") or {}
            if status.get("status") == "ERROR":
                others = [other for other in entities if other is not entity]
                said = {"message": status.get("message"), "statementText": entity.get("statementText")}
                raise ServerError({**said, "entities": others})
        return entities

    def query(self, text: str, settings: Settings | None = None) -> FrameStream:
        """Start a SELECT; the stream has its frames as dicts (reference §7.5)."""
        current = settings or Settings()
        body = {
            "sql": text,
            "properties": dict(current.properties),
            "sessionVariables": dict(current.variables),
        }
        response = self._request("POST", "/query-stream", stream=True, json=body, headers={"Accept": FRAMES})
        return FrameStream(response, self._close_query)

    def print_topic(self, text: str, settings: Settings | None = None) -> FrameStream:
        """Start a PRINT; the stream has its lines as ``{"line": text}``."""
        body = (settings or Settings()).body(text)
        response = self._request("POST", "/query", stream=True, json=body)
        return LineStream(response)

    def rebuild_state(self, query_id: str) -> dict[str, Any]:
        """Let a query read its topics again, without state; ``queryId`` and ``message``."""
        response = self._request("POST", "/state/rebuild", json={"queryId": query_id})
        answer: dict[str, Any] = self._json(response)
        return answer

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def _close_query(self, query_id: str) -> None:
        with contextlib.suppress(ClientError):
            self._request("POST", "/close-query", json={"queryId": query_id}, timeout=CONNECT_TIMEOUT_S)

    def _request(self, method: str, path: str, *, stream: bool = False, **arguments: Any) -> httpx.Response:
        try:
            response = self._send(method, path, stream, arguments)
            if response.status_code >= 400:
                response.read()
        except httpx.InvalidURL as error:
            raise Unreachable(f"{self.url} is not an address of a server: {error}.") from None
        except (httpx.TransportError, OSError) as error:
            raise Unreachable(f"No server answers at {self.url} ({_reason(error)}). Is it running?") from None
        if response.status_code >= 400:
            raise _server_error(response)
        return response

    def _send(self, method: str, path: str, stream: bool, arguments: Mapping[str, Any]) -> httpx.Response:
        for _ in range(len(self._urls) - 1):
            try:
                return self._http.send(self._http.build_request(method, path, **arguments), stream=stream)
            except (httpx.ConnectError, httpx.ConnectTimeout):  # nothing was sent
                self._urls.rotate(-1)
                self._http.base_url = self.url
        return self._http.send(self._http.build_request(method, path, **arguments), stream=stream)

    def _json(self, response: httpx.Response) -> Any:
        try:
            return json.loads(response.content, parse_float=Decimal)
        except ValueError:
            raise Unreachable(f"What answers at {self.url} is no ksql-spark server.") from None


class FrameStream:
    """The frames of one streamed response, read by a thread of its own."""

    def __init__(
        self,
        response: httpx.Response,
        close_query: Callable[[str], None] | None = None,
    ) -> None:
        self._response = response
        self._close_query = close_query
        self._query_id: str | None = None
        self._closed = False
        self._ended = False
        self._frames: queue.Queue[dict[str, Any] | None] = queue.Queue(QUEUE_FRAMES)
        self._reader = threading.Thread(target=self._read_all, name="frames", daemon=True)
        self._reader.start()

    def read(self, timeout_s: float) -> list[dict[str, Any]] | None:
        """The frames that have arrived; [] if none came within ``timeout_s`` seconds; None at the end."""
        if self._ended:
            return None
        frames: list[dict[str, Any]] = []
        try:
            frame = self._frames.get(timeout=timeout_s)
            while True:
                if frame is None:
                    self._ended = True
                    return frames or None
                frames.append(frame)
                frame = self._frames.get_nowait()
        except queue.Empty:
            return frames

    def close(self) -> None:
        """End the query on the server, and close the connection."""
        if self._closed:
            return
        self._closed = True
        if not self._ended and self._query_id and self._close_query:
            self._close_query(self._query_id)
        # the reader blocks in recv(): only shutting down the socket wakes it (and tells the server)
        stream = self._response.extensions.get("network_stream")
        sock = stream.get_extra_info("socket") if stream is not None else None
        if sock is not None and not self._ended:
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
        while self._reader.is_alive():
            with contextlib.suppress(queue.Empty):
                self._frames.get(timeout=0.05)
        self._response.close()

    def _read_all(self) -> None:
        try:
            for frame in self._parsed(self._response.iter_lines()):
                if "header" in frame:
                    self._query_id = frame["header"].get("queryId")
                self._frames.put(frame)
        except Exception as error:
            if not self._closed:
                reason = f"The connection to the server broke ({_reason(error)})."
                self._frames.put({"errorMessage": {"error_code": 50000, "message": reason}})
        finally:
            self._frames.put(None)

    def _parsed(self, lines: Iterator[str]) -> Iterator[dict[str, Any]]:
        """The frames in a response's lines; raises if it ends before the array of frames does."""
        is_whole = False
        for line in lines:
            is_whole = line.rstrip().endswith("]")
            frame = _frame(line)
            if frame is not None:
                yield frame
        if not is_whole:
            raise httpx.RemoteProtocolError("it ended within the results")


class LineStream(FrameStream):
    """The lines of a PRINT, as ``{"line": text}``."""

    def _parsed(self, lines: Iterator[str]) -> Iterator[dict[str, Any]]:
        return ({"line": line} for line in lines if line)


def _frame(line: str) -> dict[str, Any] | None:
    """One line of the frame format: an object between ``[`` and ``,`` or ``]``."""
    text = line.strip().removeprefix("[").rstrip(",").strip()
    if text.endswith("]"):
        text = text[:-1]
    if not text:
        return None
    frame: dict[str, Any] = json.loads(text, parse_float=Decimal)
    return frame


def _server_error(response: httpx.Response) -> ClientError:
    try:
        content = response.json()
    except ValueError:
        content = None
    if isinstance(content, dict) and "message" in content:
        return ServerError(content)
    if response.status_code in (401, 403):
        return ClientError("The server wants a user and password: give them with --user and --password.")
    if response.status_code == 404:
        return Unreachable(
            f"What answers at {response.url.host}:{response.url.port} is no ksql-spark server."
        )
    return ClientError(f"The server answered {response.status_code} {response.reason_phrase}.")


def _reason(error: BaseException) -> str:
    match error:
        case httpx.ConnectTimeout() | httpx.ReadTimeout():
            return "it took too long"
        case httpx.ConnectError():
            text = str(error)
            return "connection refused" if "refused" in text else text
        case httpx.RemoteProtocolError():
            return "it closed the connection"
    return str(error) or type(error).__name__


def normal_url(url: str) -> str:
    """``url`` with its scheme and without a final slash.

    >>> normal_url("localhost:8088/")
    'http://localhost:8088'
    """
    return (url if "://" in url else f"http://{url}").rstrip("/")


def until_ready(client: Client, deadline_s: float, pause_s: float = 0.2) -> Iterator[None]:
    """Poll /info until the server runs; yields before each further attempt.

    Raises:
        ClientError: it does not answer, or is not ready after ``deadline_s``.
    """
    end = time.monotonic() + deadline_s
    while True:
        try:
            client.info()
            return
        except ServerError as error:
            if error.code != STILL_STARTING or time.monotonic() > end:
                raise
        yield
        time.sleep(pause_s)
