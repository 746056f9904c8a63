"""``ksql_spark.connect()`` and ``connect_async()``: streams and tables for programs and notebooks.

import ksql_spark

db = ksql_spark.connect()
db.sql("CREATE STREAM orders (id INT KEY, item STRING) WITH (kafka_topic='orders', partitions=1, …);")
db.stream("orders").insert([{"id": 1, "item": "tea"}])
for row in db.sql("SELECT * FROM orders EMIT CHANGES"):
    print(row.item)
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import sys
import threading
from collections.abc import AsyncIterator, Callable, Generator, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

from ksql_spark.client import functions, protocol, tables
from ksql_spark.client.asynchronous import AsyncConnection
from ksql_spark.client.asynchronous import connect_async as open_async
from ksql_spark.client.connection import Connection
from ksql_spark.client.connection import connect as open_connection
from ksql_spark.client.embedded import DEFAULT_URL, Lease
from ksql_spark.client.errors import Error, InterfaceError, OperationalError, UnreachableError
from ksql_spark.client.protocol import Columns, Parameters

F = TypeVar("F", bound=Callable[..., Any])
Report = Callable[[str], None]

#: how many rows a prompt shows of a result, and how long it waits for them, seconds
SHOWN_ROWS, SHOWN_S = 20, 60.0
#: text, quoted names and comments, which say nothing about a query's kind
_QUOTED = re.compile(r"'(?:[^']|'')*'|`[^`]*`|\"[^\"]*\"|--[^\n]*|/\*.*?\*/", re.DOTALL)


class Row(tuple[Any, ...]):
    """A row: a tuple whose values also have names, in any case: ``row.item``, ``row["ITEM"]``."""

    __slots__ = ()
    _places: Mapping[str, int] = {}

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str):
            place = self._places.get(key, self._places.get(key.upper()))
            if place is None:
                raise KeyError(key)
            key = place
        return super().__getitem__(key)

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"The row has no {name}: it has {', '.join(self._places)}.") from None

    def as_dict(self) -> dict[str, Any]:
        """The values by the names of their columns."""
        return dict(zip(self._places, self, strict=True))


def _row_type(columns: Columns) -> Callable[[Iterable[Any]], Row]:
    places = {name: place for place, name in enumerate(columns.names)}
    return type("Row", (Row,), {"__slots__": (), "_places": places})


class _Answers:
    """The results of statements that are not queries, in the form of a stream."""

    def __init__(self, entities: Sequence[Mapping[str, Any]]) -> None:
        self.columns, rows = tables.of_entities(entities)
        self._rows = iter(rows)

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return self._rows

    def interrupt(self) -> None:
        """Do nothing: all rows are there."""

    close = interrupt


class Result:
    """The result of a statement. A query starts when its rows are read, and anew each time they are.

    The rows of a push query (EMIT CHANGES) never end: iterate, or give the methods a ``limit`` or a
    ``timeout`` in seconds, if the query itself has no LIMIT.
    """

    def __init__(self, connection: Connection, text: str, parameters: Parameters = None) -> None:
        self.text = text = protocol.ended(text)
        self._connection = connection
        self._parameters = parameters
        self._is_query = protocol.is_query(text)
        #: the server's answers to statements that are not queries
        self.entities = [] if self._is_query else connection.run(text, parameters)

    def __iter__(self) -> Iterator[Row]:
        return self.rows()

    def rows(self, limit: int | None = None, timeout: float | None = None) -> Iterator[Row]:
        """The rows as they arrive; leaving the loop ends the query. Raises DatabaseError."""
        with self._opened(timeout) as opened:
            yield from map(_row_type(opened.columns), islice(opened, limit))

    def fetchall(self, limit: int | None = None, timeout: float | None = None) -> list[Row]:
        """The rows, once they have all arrived."""
        _check_ends(self.text, limit, timeout)
        return list(self.rows(limit, timeout))

    def fetchone(self, timeout: float | None = None) -> Row | None:
        """The first row; None if there is none."""
        return next(iter(self.fetchall(1, timeout)), None)

    def df(self, limit: int | None = None, timeout: float | None = None) -> Any:
        """The rows as a pandas.DataFrame."""
        return tables.pandas(*self._whole("pandas", limit, timeout))

    def arrow(self, limit: int | None = None, timeout: float | None = None) -> Any:
        """The rows as a pyarrow.Table."""
        if self._is_query and limit is None and timeout is None:
            _check_ends(self.text, limit, timeout)
            return self._connection.arrow(self.text, self._parameters)
        return tables.arrow(*self._whole("pyarrow", limit, timeout))

    def pl(self, limit: int | None = None, timeout: float | None = None) -> Any:
        """The rows as a polars.DataFrame."""
        return tables.needed("polars").from_arrow(self.arrow(limit, timeout))

    def _whole(
        self, package: str, limit: int | None, timeout: float | None
    ) -> tuple[Columns, list[tuple[Any, ...]]]:
        tables.needed(package)  # before the query runs
        _check_ends(self.text, limit, timeout)
        with self._opened(timeout) as opened:
            return opened.columns, list(islice(opened, limit))

    @contextlib.contextmanager
    def _opened(self, timeout: float | None) -> Iterator[Any]:
        """The running query, which ends with the block, or after ``timeout`` seconds."""
        if self._is_query:
            cursor: Any = self._connection.stream(self.text, self._parameters)
        else:
            cursor = _Answers(self.entities)
        timer = threading.Timer(timeout, cursor.interrupt) if timeout is not None else None
        if timer is not None:
            timer.daemon = True
            timer.start()
        try:
            yield cursor
        finally:
            if timer is not None:
                timer.cancel()
            cursor.close()

    def __repr__(self) -> str:
        """A table of the first rows, for a prompt; a push query, which may never have any, is only named."""
        named = f"<{type(self).__name__} of {self.text.strip()}>"
        if _has_changes(self.text) and self._is_query:
            return named
        try:
            with self._opened(SHOWN_S) as opened:
                return tables.text(opened.columns, islice(opened, SHOWN_ROWS + 1), SHOWN_ROWS)
        except Error as error:
            return f"{named}: {error}"


def _has_changes(text: str) -> bool:
    return re.search(r"\bEMIT\s+(CHANGES|FINAL)\b", _QUOTED.sub(" ", text).upper()) is not None


def _check_ends(text: str, limit: int | None, timeout: float | None) -> None:
    """Raises InterfaceError if the rows of a push query would be awaited for ever."""
    is_push = _has_changes(text) and not re.search(r"\bLIMIT\s+\d", _QUOTED.sub(" ", text).upper())
    if is_push and limit is None and timeout is None and protocol.is_query(text):
        raise InterfaceError(
            "The rows of this query never end: iterate over them, add LIMIT n, or give a limit or a timeout."
        )


class Source(Result):
    """A stream or a table: its rows as they change, and a way to write."""

    def __init__(self, connection: Connection, name: str, emit: str) -> None:
        self.name = name
        super().__init__(connection, f"SELECT * FROM {name}{emit};")

    def insert(self, rows: Any) -> int:
        """Write rows: mappings by column names, one mapping, or a frame of pandas, polars or pyarrow.

        Returns:
            their number, once Kafka has acknowledged them.
        """
        return self._connection.insert(self.name, tables.rows_of(rows))


class Database:
    """Streams and tables of a server; see connect(). Threads may share it."""

    def __init__(self, connection: Connection, lease: Lease | None = None) -> None:
        #: the DB-API connection
        self.connection = connection
        self._lease = lease

    @property
    def url(self) -> str:
        """The address of the server."""
        return self.connection.url

    def sql(self, text: str, parameters: Parameters = None) -> Result:
        """Run a statement, or prepare a query, which starts when its rows are read.

        Args:
            text: one query, or any number of other statements; the last needs no semicolon.
            parameters: values for ``?`` or ``:name``.

        Raises:
            DatabaseError: a statement is rejected.
        """
        return Result(self.connection, text, parameters)

    def stream(self, name: str) -> Source:
        """A stream: iterate over its new rows, or insert some."""
        return Source(self.connection, name, " EMIT CHANGES")

    def table(self, name: str) -> Source:
        """A table: its current rows."""
        return Source(self.connection, name, "")

    def register(
        self,
        data: Any,
        name: str,
        *,
        key: str | None = None,
        table: bool | None = None,
        topic: str | None = None,
        partitions: int = 1,
        format: str = "JSON",
    ) -> Source:
        """Make a topic and a source with the columns of ``data``, and write its rows. Requires pyarrow.

        Args:
            data: a frame of pandas, polars or pyarrow, or mappings.
            name: of the new stream or table.
            key: the column that is its key.
            table: whether it is a table; by default if it has a key.
            topic: the topic; by default named like the source.
            partitions: their number, if the topic does not exist.
            format: of the values.

        Raises:
            DatabaseError: the source exists, or the server rejects something.
        """
        text, rows = tables.create_statement(data, name, key, table, topic, partitions, format)
        self.connection.run(text)
        self.connection.insert(tables.identifier(name), rows)
        return self.table(tables.identifier(name)) if text.startswith("CREATE TABLE") else self.stream(name)

    def function(self, function: F | None = None, *, name: str | None = None) -> Any:
        """A decorator that registers a function or class with the server, for use in SQL.

        The server must allow it: ksql.create.function.enabled.
        """

        def register(function: F) -> F:
            self.connection.run(functions.create_statement(function, name))
            return function

        return register if function is None else register(function)

    def close(self) -> None:
        """Close the connection, and stop the engine if connect() has started it."""
        self.connection.close()
        lease, self._lease = self._lease, None
        if lease is not None:
            lease.release()

    def __enter__(self) -> Database:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def connect(
    url: str | None = None,
    *,
    data_dir: str | Path | None = None,
    engine: Mapping[str, Any] | None = None,
    report: Report | None = None,
    auth: tuple[str, str] | None = None,
    token: str | None = None,
    verify: Any = True,
    cert: Any = None,
    properties: Mapping[str, Any] | None = None,
) -> Database:
    """Connect to a server, or start an engine.

    Without a URL it uses the server at http://127.0.0.1:8088, if one runs there; otherwise it starts an
    engine, which ends with this process, and which connections of this process share.

    Args:
        url: the address of a server, or of several, separated by commas.
        data_dir: the folder of an engine of its own, whatever else runs.
        engine: properties of an engine that it starts, such as ksql.create.function.enabled.
        report: called with the progress of a start; by default it is shown on a terminal.
        auth, token, verify, cert, properties: as for ksql_spark.client.connect().

    Raises:
        InterfaceError: arguments that contradict each other.
        OperationalError: there is no server at the URL, or the engine did not start.
    """
    access = {"auth": auth, "token": token, "verify": verify, "cert": cert}
    address, lease = _locate(url, data_dir, engine, report, access)
    try:
        connection = open_connection(address, **access, properties=properties)
        if lease is None and url is not None:
            connection.info()
    except BaseException:
        if lease is not None:
            lease.release()
        raise
    return Database(connection, lease)


def _locate(
    url: str | None,
    data_dir: str | Path | None,
    engine: Mapping[str, Any] | None,
    report: Report | None,
    access: Mapping[str, Any],
) -> tuple[str, Lease | None]:
    """The address of the server to use, and the share in an engine that was started.

    ``access``: the arguments of open_connection about who asks, and TLS.
    """
    if url is not None:
        if data_dir is not None or engine is not None:
            raise InterfaceError(
                "data_dir and engine are for an engine that connect() starts, not for a URL."
            )
        return url, None
    folder = None if data_dir is None else Path(data_dir).expanduser().absolute()
    if folder is None and engine is None and not Lease.exists(None) and _is_running(access):
        return DEFAULT_URL, None
    with _shown(report) as tick:
        lease = Lease(folder, engine or {}, tick)
    return lease.url, lease


def _is_running(access: Mapping[str, Any]) -> bool:
    """Whether a server responds at the usual address, even if it is still starting or refuses us."""
    with contextlib.closing(open_connection(DEFAULT_URL, **access)) as connection:
        try:
            connection.info()
        except UnreachableError:
            return False
        except OperationalError:
            pass
    return True


@contextlib.contextmanager
def _shown(report: Report | None) -> Iterator[Report]:
    """Yield a function that shows progress: ``report``, or one that rewrites a line on the terminal."""
    if report is not None or not sys.stderr.isatty():
        yield report or (lambda text: None)
        return
    try:
        yield lambda text: print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)
    finally:
        print("\r\033[K", end="", file=sys.stderr, flush=True)


class AsyncResult:
    """A Result for asyncio: ``async for row in …``, ``await ….df()``; ``await …`` runs a statement."""

    def __init__(self, connection: AsyncConnection, text: str, parameters: Parameters = None) -> None:
        self.text = text = protocol.ended(text)
        self.entities: list[dict[str, Any]] = []
        self._connection = connection
        self._parameters = parameters
        self._is_query = protocol.is_query(text)

    def __await__(self) -> Generator[Any, None, AsyncResult]:
        return self._run().__await__()

    async def _run(self) -> AsyncResult:
        if not self._is_query:
            self.entities = await self._connection.run(self.text, self._parameters)
        return self

    async def __aiter__(self) -> AsyncIterator[Row]:
        async with self._connection.opened(self.text, self._parameters) as (columns, rows):
            row_type = _row_type(columns)
            async for row in rows:
                yield row_type(row)

    async def fetchall(self, limit: int | None = None, timeout: float | None = None) -> list[Row]:
        """The rows, once they have all arrived, or after ``timeout`` seconds."""
        columns, rows = await self._whole(limit, timeout)
        return list(map(_row_type(columns), rows))

    async def fetchone(self, timeout: float | None = None) -> Row | None:
        """The first row; None if there is none."""
        return next(iter(await self.fetchall(1, timeout)), None)

    async def df(self, limit: int | None = None, timeout: float | None = None) -> Any:
        """The rows as a pandas.DataFrame."""
        return tables.pandas(*await self._whole(limit, timeout))

    async def arrow(self, limit: int | None = None, timeout: float | None = None) -> Any:
        """The rows as a pyarrow.Table."""
        return tables.arrow(*await self._whole(limit, timeout))

    async def pl(self, limit: int | None = None, timeout: float | None = None) -> Any:
        """The rows as a polars.DataFrame."""
        return tables.polars(*await self._whole(limit, timeout))

    async def _whole(self, limit: int | None, timeout: float | None) -> tuple[Columns, list[tuple[Any, ...]]]:
        if not self._is_query:
            await self._run()
            return tables.of_entities(self.entities)
        _check_ends(self.text, limit, timeout)
        read_rows: list[tuple[Any, ...]] = []
        async with self._connection.opened(self.text, self._parameters) as (columns, rows):
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(timeout):
                    async for row in rows:
                        read_rows.append(row)
                        if limit is not None and len(read_rows) >= limit:
                            break
        return columns, read_rows


class AsyncDatabase:
    """A Database for asyncio; see connect_async()."""

    def __init__(self, connection: AsyncConnection, lease: Lease | None = None) -> None:
        self.connection = connection
        self._lease = lease

    def sql(self, text: str, parameters: Parameters = None) -> AsyncResult:
        """A query, or statements, which run once they are awaited; see Database.sql()."""
        return AsyncResult(self.connection, text, parameters)

    async def insert(self, name: str, rows: Any) -> int:
        """Write rows to a stream or table; see Source.insert()."""
        return await self.connection.insert(name, tables.rows_of(rows))

    async def register(
        self,
        data: Any,
        name: str,
        *,
        key: str | None = None,
        table: bool | None = None,
        topic: str | None = None,
        partitions: int = 1,
        format: str = "JSON",
    ) -> int:
        """Make a topic and a source of ``data``; returns the number of its rows. See Database.register()."""
        text, rows = tables.create_statement(data, name, key, table, topic, partitions, format)
        await self.connection.run(text)
        return await self.connection.insert(tables.identifier(name), rows)

    async def function(self, function: Callable[..., Any], *, name: str | None = None) -> None:
        """Register a function or class with the server; see Database.function()."""
        await self.connection.run(functions.create_statement(function, name))

    async def close(self) -> None:
        """Close the connection, and stop the engine if connect_async() has started it."""
        await self.connection.close()
        lease, self._lease = self._lease, None
        if lease is not None:
            await asyncio.to_thread(lease.release)

    async def __aenter__(self) -> AsyncDatabase:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


async def connect_async(
    url: str | None = None,
    *,
    data_dir: str | Path | None = None,
    engine: Mapping[str, Any] | None = None,
    report: Report | None = None,
    auth: tuple[str, str] | None = None,
    token: str | None = None,
    verify: Any = True,
    cert: Any = None,
    properties: Mapping[str, Any] | None = None,
) -> AsyncDatabase:
    """Connect to a server, or start an engine; the arguments are those of connect()."""
    access = {"auth": auth, "token": token, "verify": verify, "cert": cert}
    address, lease = await asyncio.to_thread(_locate, url, data_dir, engine, report, access)
    return AsyncDatabase(open_async(address, **access, properties=properties), lease)


__all__ = ["AsyncDatabase", "AsyncResult", "Database", "Result", "Row", "Source", "connect", "connect_async"]
