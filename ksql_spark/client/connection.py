"""Blocking connections, cursors and streams."""

from __future__ import annotations

import contextlib
import random
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from types import TracebackType
from typing import Any

import httpx

from ksql_spark.client import protocol, tables
from ksql_spark.client.errors import (
    InterfaceError,
    NotConnectedError,
    NotSupportedError,
    OperationalError,
    UnreachableError,
)
from ksql_spark.client.frames import FrameStream, LineStream, shut_down
from ksql_spark.client.lines import iter_lines
from ksql_spark.client.protocol import Columns, Description, Parameters
from ksql_spark.client.servers import addresses
from ksql_spark.client.values import ARROW_STREAM

CONNECT_TIMEOUT_S = 5.0
#: between the attempts of a stream to reconnect
FIRST_WAIT_S, LONGEST_WAIT_S = 0.1, 5.0

Start = Callable[[str | None], tuple[httpx.Response, str]]
"""Starts a query after a position; returns its response, and the server's address."""


def connect(
    url: str = "http://localhost:8088",
    *,
    auth: tuple[str, str] | None = None,
    token: str | None = None,
    verify: Any = True,
    cert: Any = None,
    properties: Mapping[str, Any] | None = None,
    reads_own_writes: bool = True,
    trust_env: bool = True,
) -> Connection:
    """A connection to the server at ``url``.

    Args:
        url: its address, or those of several servers that share queries, separated by commas: if one cannot
            be reached, the next one is tried.
        auth: user and password.
        token: a bearer token.
        verify: a file of certificate authorities, or an ssl.SSLContext; False checks nothing.
        cert: a client certificate in httpx's form.
        properties: properties for all statements, such as ``auto.offset.reset``.
        reads_own_writes: whether queries on any server see this connection's earlier inserts.
        trust_env: whether to use proxies from the environment.
    """
    urls = addresses(url)
    http = httpx.Client(**http_settings(urls, auth, token, verify, cert, trust_env))
    return Connection(http, properties or {}, reads_own_writes, urls)


def http_settings(
    urls: Sequence[str],
    auth: tuple[str, str] | None,
    token: str | None,
    verify: Any,
    cert: Any,
    trust_env: bool,
) -> dict[str, Any]:
    """The arguments of httpx's clients."""
    if not any(url.startswith("https:") for url in urls):
        verify = False  # there is nothing to verify, and loading the authorities takes long
    settings: dict[str, Any] = {
        "auth": auth,
        "headers": {"Authorization": f"Bearer {token}"} if token else {},
        # a statement may take any time; only connecting must be quick
        "timeout": httpx.Timeout(None, connect=CONNECT_TIMEOUT_S),
        "limits": httpx.Limits(max_connections=None),
        "verify": verify,
        "trust_env": trust_env,
    }
    if cert is not None:
        settings["cert"] = cert
    return settings


class Connection:
    """A DB-API 2.0 connection without transactions: statements take effect at once; see connect()."""

    def __init__(
        self,
        http: httpx.Client,
        properties: Mapping[str, Any],
        reads_own_writes: bool,
        urls: Sequence[str],
    ) -> None:
        self._http = http
        self._session = protocol.Session(urls, properties, reads_own_writes)

    def __enter__(self) -> Connection:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def cursor(self) -> Cursor:
        """A new cursor."""
        return Cursor(self)

    def execute(self, text: str, parameters: Parameters = None) -> Cursor:
        """A cursor that has executed a statement."""
        return self.cursor().execute(text, parameters)

    def commit(self) -> None:
        """Does nothing: everything has been written."""

    def rollback(self) -> None:
        """Raise NotSupportedError: statements take effect at once."""
        raise NotSupportedError("Transactions are not supported: statements take effect at once.")

    def close(self) -> None:
        """Close the connection; may be called more than once."""
        self._http.close()

    def stream(
        self,
        text: str,
        parameters: Parameters = None,
        *,
        resumable: bool = False,
        after: str | None = None,
        reconnect_s: float = 0.0,
    ) -> Stream:
        """Start a SELECT; returns its rows as they arrive. Those of a push query never end.

        Args:
            text: the statement.
            parameters: values for ``?`` or ``:name``.
            resumable: the stream has a ``position``; for push queries of one stream or table.
            after: the ``position`` of an earlier stream of the same statement, at which this one resumes.
            reconnect_s: if the connection breaks, the stream resumes at its position by itself, so that each
                row still comes once; it gives up after so many seconds without a server. Implies resumable.

        Raises:
            DatabaseError: the statement is rejected, or the server does not respond.
        """

        def start(after: str | None) -> tuple[httpx.Response, str]:
            own = self._session.query(text, parameters, resumable=resumable or reconnect_s > 0, after=after)
            return self._started("/query-stream", own, protocol.DELIMITED)

        return LastingStream(start, after, reconnect_s) if reconnect_s > 0 else Stream(start, after)

    def arrow(self, text: str, parameters: Parameters = None) -> Any:
        """All rows of a SELECT that ends, as a pyarrow.Table; they travel in Arrow's form where both can.

        Raises:
            InterfaceError: pyarrow is not installed.
            DatabaseError: the statement is rejected, or the server does not respond.
        """
        pyarrow = tables.needed("pyarrow")
        body = self._session.query(text, parameters)
        answer, url = self._started("/query-stream", body, f"{ARROW_STREAM}, {protocol.DELIMITED};q=0.5")
        with contextlib.closing(answer), protocol.reading(url):
            if answer.headers.get("Content-Type") == ARROW_STREAM:
                return pyarrow.ipc.open_stream(answer.read()).read_all()
            lines = iter_lines(answer)
            columns = protocol.columns_of(next(lines, ""))
            return tables.arrow(columns, [columns.row(line) for line in lines if line])

    def frames(
        self,
        text: str,
        parameters: Parameters = None,
        *,
        properties: Mapping[str, Any] | None = None,
        variables: Mapping[str, str] | None = None,
        resumable: bool = False,
        after: str | None = None,
    ) -> FrameStream:
        """Start a SELECT; returns the parts of its response as JSON objects, read with a timeout.

        Besides rows these are the columns, deletions in tables, and the reason why the query ended.

        Args:
            text: the statement.
            parameters: values for ``?`` or ``:name``.
            properties: properties for this statement, in addition to the connection's.
            variables: values for ``${name}``.
            resumable: a frame ``continuationToken`` follows each batch of rows; for push queries of
                one stream or table.
            after: the token at which this query resumes an earlier one of the same statement.

        Raises:
            DatabaseError: the statement is rejected, or the server does not respond.
        """
        body = self._session.query(
            text, parameters, properties=properties, variables=variables, resumable=resumable, after=after
        )
        answer, url = self._started("/query-stream", body, protocol.FRAMES)
        return FrameStream(answer, partial(self._close_query_at, url))

    def print_topic(
        self,
        text: str,
        *,
        properties: Mapping[str, Any] | None = None,
        variables: Mapping[str, str] | None = None,
        waits: bool = True,
    ) -> FrameStream:
        """Start a PRINT; its lines arrive as ``{"line": text}``. Arguments and errors as for run()."""
        body = self._session.statements(text, properties=properties, variables=variables, waits=waits)
        answer, _ = self._started("/query", body, None)
        return LineStream(answer)

    def run(
        self,
        text: str,
        parameters: Parameters = None,
        *,
        properties: Mapping[str, Any] | None = None,
        variables: Mapping[str, str] | None = None,
        waits: bool = True,
    ) -> list[dict[str, Any]]:
        """Run statements that are not queries; returns their results in the form of the REST API.

        Args:
            text: the statements.
            parameters: values for ``?`` or ``:name``.
            properties: properties for these statements, in addition to the connection's.
            variables: values for ``${name}``.
            waits: whether they wait until this connection's earlier statements have been executed.

        Raises:
            DatabaseError: a statement is rejected, its query does not run, or no server responds.
        """
        body = self._session.statements(
            text, parameters, properties=properties, variables=variables, waits=waits
        )
        entities = self._session.ran(*self._whole("/ksql", json=body))
        if properties is None and variables is None:  # otherwise the caller keeps its own, as the shell does
            self._session.settings.note(text)
        return entities

    def validate(
        self,
        text: str,
        *,
        properties: Mapping[str, Any] | None = None,
        variables: Mapping[str, str] | None = None,
    ) -> int:
        """Validate statements that are not queries, as run() does, without an effect; returns their number.

        Raises:
            DatabaseError: a statement is rejected, the server cannot validate, or no server responds.
        """
        body = self._session.statements(text, properties=properties, variables=variables)
        return int(self._object("/ksql/validate", json=body)["statements"])

    def info(self) -> dict[str, Any]:
        """``version``, ``kafkaClusterId``, ``ksqlServiceId`` and ``serverStatus`` of the server.

        Raises:
            DatabaseError: no server responds, or it is still starting.
        """
        answer, url = self._whole("/info", method="GET")
        information: Any = protocol.parsed(answer.content, dict, url).get("KsqlServerInfo")
        if not isinstance(information, dict):
            raise protocol.no_server(url)
        return information

    def graph(self) -> dict[str, Any]:
        """Return the graph of what runs (GET /graph): its ``nodes``, ``edges`` and ``culprits``."""
        return self._object("/graph", method="GET")

    def rebuild_state(self, query_id: str) -> dict[str, Any]:
        """Make a query reread its topics without state; returns ``queryId`` and ``message``."""
        return self._object("/state/rebuild", json={"queryId": query_id})

    def insert(self, target: str, rows: Iterable[Mapping[str, Any]]) -> int:
        """Write rows, given by column names; returns their number once the brokers have acknowledged them.

        Raises:
            ProgrammingError: a row is rejected; earlier rows are written.
            OperationalError: no server responds, or the connection was interrupted: any of the rows may be
                written.
        """
        count = 0
        lines = protocol.insert_lines(target, rows)
        answer, url = self._send("/inserts-stream", content=lines)
        with contextlib.closing(answer):
            _check(answer, url)
            with protocol.reading(url):
                for line in iter_lines(answer):
                    count = protocol.acknowledged(line) + 1
        return count

    def close_query(self, query_id: str) -> None:
        """End a push query."""
        with contextlib.suppress(OperationalError):
            answer, _ = self._send("/close-query", json={"queryId": query_id}, timeout=CONNECT_TIMEOUT_S)
            answer.close()

    def _close_query_at(self, url: str, query_id: str) -> None:
        """End a push query on the server at ``url``: the connection may use another server by now."""
        with contextlib.suppress(OperationalError):
            body = {"queryId": query_id}
            self._send_to(url, "/close-query", json=body, timeout=CONNECT_TIMEOUT_S).close()

    @property
    def url(self) -> str:
        """The address of the current server."""
        return self._session.servers.present

    def _started(self, path: str, body: Mapping[str, Any], accept: str | None) -> tuple[httpx.Response, str]:
        """The streaming response to a query, and the server's address."""
        headers = {} if accept is None else {"Accept": accept}
        answer, url = self._send(path, json=body, headers=headers)
        try:
            _check(answer, url)
        except BaseException:
            answer.close()
            raise
        return answer, url

    def _object(self, path: str, **arguments: Any) -> dict[str, Any]:
        """The JSON object that is the whole response."""
        answer, url = self._whole(path, **arguments)
        body: dict[str, Any] = protocol.parsed(answer.content, dict, url)
        return body

    def _whole(self, path: str, **arguments: Any) -> tuple[httpx.Response, str]:
        """A response that has been read, and its server's address."""
        answer, url = self._send(path, **arguments)
        with contextlib.closing(answer):
            _check(answer, url)
            _read(answer, url)
            return answer, url

    def _send(self, path: str, **arguments: Any) -> tuple[httpx.Response, str]:
        """The response of the first reachable server, and its address; as _send_to()."""
        for url in self._session.servers.attempts():
            try:
                return self._send_to(url, path, **arguments), url
            except NotConnectedError as error:
                failure = error
        raise failure

    def _send_to(self, url: str, path: str, method: str = "POST", **arguments: Any) -> httpx.Response:
        """The response of the server at ``url``, whose content has not been read yet.

        Raises:
            UnreachableError: no server responds; a NotConnectedError if nothing was sent.
            InterfaceError: the connection is closed.
        """
        with protocol.sending(url):
            return self._http.send(self._http.build_request(method, url + path, **arguments), stream=True)


def _check(answer: httpx.Response, url: str) -> None:
    """Check that ``answer``, from the server at ``url``, is a result. Raises DatabaseError."""
    if answer.status_code != httpx.codes.OK:
        raise protocol.failure(answer.status_code, _read(answer, url), url)


def _read(answer: httpx.Response, url: str) -> bytes:
    """The content of a response of the server at ``url``. Raises UnreachableError if it is incomplete."""
    with protocol.reading(url):
        return answer.read()


class Stream:
    """The rows of a query as tuples, as they arrive. Iterate over it; ``close`` ends a push query."""

    def __init__(self, start: Start, after: str | None) -> None:
        #: position in a resumable stream: all rows up to here have been returned, and perhaps some later ones
        self.position = after
        self._start = start
        self._closed = threading.Event()
        self._open(after)

    def _open(self, after: str | None) -> None:
        self._answer, self._url = self._start(after)
        self._lines = iter_lines(self._answer)
        try:
            with protocol.reading(self._url):
                self.columns: Columns = protocol.columns_of(next(self._lines, ""))
        except BaseException:
            self._answer.close()
            raise

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return self

    def __next__(self) -> tuple[Any, ...]:
        try:
            with protocol.reading(self._url):
                for line in self._lines:
                    if self._closed.is_set():  # discard what arrived with earlier rows, too
                        break
                    if (token := protocol.token_of(line)) is not None:
                        self.position = token
                    elif line:
                        return self.columns.row(line)
        except UnreachableError:
            if not self._closed.is_set():
                raise
        raise StopIteration

    def __enter__(self) -> Stream:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def interrupt(self) -> None:
        """End the query from another thread than the reader's, which then finds no more rows."""
        self._closed.set()
        shut_down(self._answer)

    def close(self) -> None:
        """End the query; may be called more than once, even from another thread than the reader's."""
        self._closed.set()
        self._answer.close()


class LastingStream(Stream):
    """A resumable Stream that outlives connections and servers.

    It returns rows once it knows the position after them, so that it can resume there without repeating any.

    Args:
        start: starts the query after a position.
        after: the first position.
        patience_s: how long to look for a server, seconds.
    """

    def __init__(self, start: Start, after: str | None, patience_s: float) -> None:
        super().__init__(start, after)
        self._patience_s = patience_s
        self._rows: deque[tuple[Any, ...]] = deque()
        #: the position after these rows
        self._reached = after
        self._has_ended = False

    def __next__(self) -> tuple[Any, ...]:
        while not self._closed.is_set():
            if self._rows:
                return self._rows.popleft()
            self.position = self._reached
            if self._has_ended:
                break
            self._read()
        raise StopIteration

    def _read(self) -> None:
        """Wait for the next rows, and the position after them."""
        rows: list[tuple[Any, ...]] = []
        try:
            with protocol.reading(self._url):
                for line in self._lines:
                    if (token := protocol.token_of(line)) is not None:
                        self._reached = token
                        self._rows.extend(rows)
                        return
                    if line:
                        rows.append(self.columns.row(line))
        except OperationalError as error:
            self._answer.close()
            self._reconnect(error)
            return
        self._has_ended = True
        self._rows.extend(rows)

    def _reconnect(self, error: OperationalError) -> None:
        """Resume the query, at ever longer intervals.

        Raises:
            DatabaseError: the query cannot be resumed, or no server has responded for too long.
        """
        until, wait_s = time.monotonic() + self._patience_s, FIRST_WAIT_S
        while not self._closed.wait(min(wait_s, until - time.monotonic()) * random.uniform(0.5, 1)):
            try:
                self._open(self._reached)
                return
            except OperationalError as again:
                error = again
            if time.monotonic() >= until:
                raise error
            wait_s = min(2 * wait_s, LONGEST_WAIT_S)


class Cursor:
    """A DB-API 2.0 cursor: the rows of one query at a time."""

    #: the default number of rows of fetchmany()
    arraysize = 1

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self._stream: Stream | None = None
        #: the results of statements that are not queries
        self.entities: list[dict[str, Any]] = []

    def execute(self, text: str, parameters: Parameters = None) -> Cursor:
        """Run a statement; ``parameters`` are the values of ``?`` or ``:name`` in it."""
        self.close()
        if protocol.is_query(text):
            self._stream = self.connection.stream(text, parameters)
        else:
            self.entities = self.connection.run(text, parameters)
        return self

    def executemany(self, text: str, parameters: Sequence[Parameters]) -> Cursor:
        """Run a statement once for each of ``parameters``."""
        for each in parameters:
            self.execute(text, each)
        return self

    @property
    def description(self) -> list[Description] | None:
        """Names and types of the columns; None without a query."""
        return None if self._stream is None else self._stream.columns.description

    @property
    def rowcount(self) -> int:
        """-1: unknown before all rows have been read."""
        return -1

    def fetchone(self) -> tuple[Any, ...] | None:
        """The next row; None after the last."""
        return next(self._rows(), None)

    def fetchmany(self, size: int | None = None) -> list[tuple[Any, ...]]:
        """The next ``size`` rows, or all if there are fewer."""
        return list(islice(self._rows(), self.arraysize if size is None else size))

    def fetchall(self) -> list[tuple[Any, ...]]:
        """All remaining rows."""
        return list(self._rows())

    def arrow(self) -> Any:
        """All remaining rows as a pyarrow.Table; requires pyarrow."""
        return tables.arrow(self._rows().columns, self.fetchall())

    def df(self) -> Any:
        """All remaining rows as a pandas.DataFrame; requires pandas."""
        return tables.pandas(self._rows().columns, self.fetchall())

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return self._rows()

    def _rows(self) -> Stream:
        if self._stream is None:
            raise InterfaceError("There are no rows: execute a SELECT first.")
        return self._stream

    def close(self) -> None:
        """Discard the remaining rows."""
        stream, self._stream = self._stream, None
        if stream is not None:
            stream.close()

    def setinputsizes(self, sizes: Sequence[Any]) -> None:
        """Do nothing; DB-API requires this method."""

    def setoutputsize(self, size: int, column: int | None = None) -> None:
        """Do nothing; DB-API requires this method."""
