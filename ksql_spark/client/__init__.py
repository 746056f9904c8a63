"""A client for programs: ``from ksql_spark.client import connect``.

It speaks the REST API and depends only on httpx. A Connection implements Python's DB-API 2.0 (PEP 249) for
statements and pull queries; ``stream`` yields the rows of push queries as they arrive.

    with connect("http://localhost:8088") as connection:
        cursor = connection.cursor()
        cursor.execute("SELECT item, n FROM sales WHERE item = ?;", ["tea"])
        print(cursor.fetchall())
        for row in connection.stream("SELECT * FROM orders EMIT CHANGES LIMIT 3;"):
            print(row)

``connect_async`` gives the same for asyncio.
"""

from ksql_spark.client.asynchronous import AsyncConnection, connect_async
from ksql_spark.client.connection import Connection, Cursor, Stream, connect
from ksql_spark.client.dbapi import (
    BINARY,
    DATETIME,
    NUMBER,
    ROWID,
    STRING,
    Binary,
    Date,
    DateFromTicks,
    Time,
    TimeFromTicks,
    Timestamp,
    TimestampFromTicks,
)
from ksql_spark.client.errors import (
    DatabaseError,
    DataError,
    Error,
    IntegrityError,
    InterfaceError,
    InternalError,
    NotSupportedError,
    OperationalError,
    ProgrammingError,
    UnreachableError,
    Warning,
)
from ksql_spark.client.frames import FrameStream

#: DB-API 2.0
apilevel = "2.0"
#: threads may share this module, and connections
threadsafety = 2
#: ``?``; ``:name`` also works, with a mapping
paramstyle = "qmark"

__all__ = [
    "BINARY",
    "DATETIME",
    "NUMBER",
    "ROWID",
    "STRING",
    "AsyncConnection",
    "Binary",
    "Connection",
    "Cursor",
    "DataError",
    "DatabaseError",
    "Date",
    "DateFromTicks",
    "Error",
    "FrameStream",
    "IntegrityError",
    "InterfaceError",
    "InternalError",
    "NotSupportedError",
    "OperationalError",
    "ProgrammingError",
    "Stream",
    "Time",
    "TimeFromTicks",
    "Timestamp",
    "TimestampFromTicks",
    "UnreachableError",
    "Warning",
    "apilevel",
    "connect",
    "connect_async",
    "paramstyle",
    "threadsafety",
]
