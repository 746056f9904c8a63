"""The shell's view of the server: ksql_spark.client, with errors as texts for the screen."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ksql_spark.client import Connection, FrameStream

STILL_STARTING = 50302
SHUTTING_DOWN = 50303
#: HTTP: unauthenticated, and forbidden
_NOBODY, _FORBIDDEN = 401, 403


class ClientError(Exception):
    """An error for the user; the text is the whole message."""


class Unreachable(ClientError):
    """Raised if no server responds."""


class ServerError(ClientError):
    """The server's own error object (reference §7.4)."""

    def __init__(self, content: Mapping[str, Any]) -> None:
        self.code = int(content.get("error_code") or 50000)
        self.message = str(content.get("message", "The server gave no reason."))
        self.statement = str(content.get("statementText") or "")
        self.entities: list[dict[str, Any]] = list(content.get("entities") or [])
        super().__init__(self.message)


@dataclass(frozen=True)
class Settings:
    """The settings of a request: property overrides, variables, and whether it waits for earlier commands."""

    properties: Mapping[str, Any] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)
    waits: bool = False


class Client:
    """Talks to a server.

    Args:
        url: its address, with or without ``http://``; or several addresses, separated by commas, of servers
            that share queries: if one cannot be reached, the next one is tried.
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
        self._url, self._auth, self._token, self._tls = url, auth, token, dict(tls or {})

    @cached_property
    def _connection(self) -> Connection:
        # imported at the first request: the prompt need not wait for httpx
        from ksql_spark import client

        # a server asks the broker for written records, so no token is needed
        return client.connect(
            self._url,
            auth=self._auth,
            token=self._token,
            reads_own_writes=False,
            trust_env=False,
            **self._tls,
        )

    @property
    def url(self) -> str:
        """The address of the current server."""
        return self._connection.url

    def at(self, url: str) -> Client:
        """A client with the same credentials for another server."""
        return Client(url, self._auth, self._token, self._tls)

    def of_user(self, auth: tuple[str, str] | None, token: str | None) -> Client:
        """A client with other credentials for the same servers."""
        return Client(self._url, auth, token, self._tls)

    def info(self) -> dict[str, Any]:
        """``version``, ``kafkaClusterId``, ``ksqlServiceId``, ``serverStatus``. Raises ClientError."""
        with self._user_errors():
            return self._connection.info()

    def run(self, text: str, settings: Settings | None = None) -> list[dict[str, Any]]:
        """Run statements with POST /ksql; returns the entities of reference §7.3.

        Raises:
            ClientError: also for a logged statement whose query does not run.
        """
        with self._user_errors():
            return self._connection.run(text, **_arguments(settings))

    def validate(self, text: str, settings: Settings) -> int:
        """Validate statements with POST /ksql/validate, without an effect; returns their number.

        Raises:
            ClientError: a statement is invalid, or the server cannot validate.
        """
        with self._user_errors():
            return self._connection.validate(
                text, properties=settings.properties, variables=settings.variables
            )

    def query(
        self,
        text: str,
        settings: Settings | None = None,
        *,
        resumable: bool = False,
        after: str | None = None,
    ) -> FrameStream:
        """Start a SELECT; the stream has its frames as dicts (reference §7.5). Raises ClientError.

        ``resumable``, ``after``: see ksql_spark.client.Connection.frames.
        """
        arguments = _arguments(settings)
        del arguments["waits"]
        with self._user_errors():
            return self._connection.frames(text, **arguments, resumable=resumable, after=after)

    def rows(self, text: str, settings: Settings | None = None) -> Iterator[list[Any]]:
        """The rows of a pull query. Raises ClientError."""
        with contextlib.closing(self.query(text, settings)) as stream:
            while (frames := stream.read(1.0)) is not None:
                for frame in frames:
                    if "errorMessage" in frame:
                        raise ServerError(frame["errorMessage"])
                    if "row" in frame:
                        yield frame["row"]["columns"]

    def print_topic(self, text: str, settings: Settings | None = None) -> FrameStream:
        """Start a PRINT; the stream has its lines as ``{"line": text}``. Raises ClientError."""
        with self._user_errors():
            return self._connection.print_topic(text, **_arguments(settings))

    def insert(self, target: str, rows: Iterator[Mapping[str, Any]]) -> int:
        """Write rows to a stream or table; returns their number. Raises ClientError."""
        with self._user_errors():
            return self._connection.insert(target, rows)

    def graph(self) -> dict[str, Any]:
        """Return the graph of what runs (GET /graph). Raises ClientError."""
        with self._user_errors():
            return self._connection.graph()

    def rebuild_state(self, query_id: str) -> dict[str, Any]:
        """Make a query reread its topics without state; returns ``queryId`` and ``message``.

        Raises:
            ClientError: the query does not exist.
        """
        with self._user_errors():
            return self._connection.rebuild_state(query_id)

    def close(self) -> None:
        """Close the connections."""
        if "_connection" in self.__dict__:
            self._connection.close()

    @contextlib.contextmanager
    def _user_errors(self) -> Iterator[None]:
        """Converts errors of the client to errors for the user."""
        from ksql_spark import client

        try:
            yield
        except client.UnreachableError as error:
            raise Unreachable(str(error)) from None
        except client.Error as error:
            message = str(error)
            if error.status == _NOBODY or (error.status == _FORBIDDEN and error.code is None):
                message = self._refused(message)
            content = {
                "error_code": error.code or (error.status or 500) * 100,
                "message": message,
                "statementText": error.statement,
                "entities": error.entities,
            }
            raise ServerError(content) from None

    def _refused(self, message: str) -> str:
        """The message for a request that was refused because of its sender, with the server's ``message``."""
        if self._auth is None and self._token is None:
            return (
                "The server requires authentication: pass a user and password with --user and --password, "
                "or a token with --token."
            )
        credentials = f"the password of {self._auth[0]}" if self._auth is not None else "the token"
        return f"The server rejected {credentials}: {message}"


def _arguments(settings: Settings | None) -> dict[str, Any]:
    return dict(vars(settings or Settings()))


def until_ready(server: Client, deadline_s: float, pause_s: float = 0.2) -> Iterator[None]:
    """Poll /info until the server runs; yields before each further attempt.

    Raises:
        ClientError: it does not respond, or is not ready after ``deadline_s``.
    """
    end = time.monotonic() + deadline_s
    while True:
        try:
            server.info()
            return
        except ServerError as error:
            if error.code != STILL_STARTING or time.monotonic() > end:
                raise
        yield
        time.sleep(pause_s)


__all__ = ["Client", "ClientError", "ServerError", "Settings", "Unreachable", "until_ready"]
