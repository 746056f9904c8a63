"""A server with a table of sales that changes, and the same rows in DuckDB."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import httpx
import psycopg

from ksql_spark.services.ports import free_port
from tests.integration.server_process import ServerProcess
from tests.waiting import TIMEOUT_S, awaited, until

ROOT = Path(__file__).parents[3]
COLUMNS = "zone STRING, item STRING, amount INT, price DECIMAL(9, 2), paid BOOLEAN, sold_at TIMESTAMP"
Row = tuple[int, str, str, int, float, bool, datetime]


def row(number: int) -> Row:
    """A sale, every quarter of an hour in March 2026, the same in each run."""
    made = random.Random(number)
    return (
        number,
        made.choice(["Bronx", "Brooklyn", "Manhattan", "Queens"]),
        made.choice(["bread", "cake", "jam", "tea"]),
        made.randint(1, 9),
        made.randrange(100, 2500) / 100,
        made.random() < 0.8,
        datetime(2026, 3, 1) + timedelta(minutes=15 * number, seconds=made.randrange(900)),
    )


class Sales:
    """The table ``sales`` of the latest row of each id, and ``per_day``, a table with windows.

    Attributes:
        port: that of PostgreSQL's clients.
        url: of the REST API.
    """

    def __init__(self, url: str, port: int) -> None:
        self.url, self.port = url, port
        self._connection = psycopg.connect(self.uri("postgresql"), autocommit=True)
        self._expected = duckdb.connect()
        for statement in (
            "SET auto.offset.reset = 'earliest'",
            f"CREATE TABLE entered (id INT PRIMARY KEY, {COLUMNS})"
            " WITH (KAFKA_TOPIC = 'entered', VALUE_FORMAT = 'JSON', PARTITIONS = 2)",
            "CREATE TABLE sales AS SELECT * FROM entered",
            f"CREATE STREAM sold (id INT KEY, {COLUMNS}) WITH (KAFKA_TOPIC = 'sold', VALUE_FORMAT = 'JSON',"
            " PARTITIONS = 2, TIMESTAMP = 'sold_at')",
            "CREATE TABLE per_day AS SELECT zone, COUNT(*) AS n FROM sold WINDOW TUMBLING (SIZE 1 DAY)"
            " GROUP BY zone",
        ):
            self._connection.execute(statement.encode())
        self._expected.execute(
            "CREATE TABLE sales (id INT PRIMARY KEY, zone TEXT, item TEXT, amount INT, price DECIMAL(9, 2),"
            " paid BOOLEAN, sold_at TIMESTAMP)"
        )

    def uri(self, dialect: str) -> str:
        """The address of the port, for a dialect of SQLAlchemy."""
        return f"{dialect}://me@127.0.0.1:{self.port}/ksql"

    def add(self, rows: Sequence[Row]) -> None:
        """Write rows, and wait until they can be read."""
        for target in ("entered", "sold"):
            with self._connection.cursor().copy(f"COPY {target} FROM STDIN".encode()) as copy:
                for one in rows:
                    copy.write_row(one)
        self._expected.executemany("INSERT OR REPLACE INTO sales VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
        checked = "SELECT COUNT(*), SUM(amount) FROM sales"
        (expected,) = self.expected(checked)
        awaited(lambda: self._connection.execute(checked.encode()).fetchone(), lambda got: got == expected)

    def expected(self, sql: str) -> list[tuple[Any, ...]]:
        """What DuckDB answers."""
        return self._expected.execute(sql).fetchall()

    def number(self, sql: str) -> Any:
        """The one value that DuckDB answers."""
        return self.expected(sql)[0][0]


@contextlib.contextmanager
def sales(folder: Path) -> Iterator[Sales]:
    """A server with 2,900 rows."""
    port = free_port()
    with ServerProcess(folder, "--pg-listen", f"127.0.0.1:{port}") as server:
        made = Sales(server.ready().url, port)
        made.add([row(number) for number in range(2900)])
        yield made
        server.stop()


@contextlib.contextmanager
def program(
    command: Sequence[str], url: str, folder: Path, environment: Mapping[str, str]
) -> Iterator[subprocess.Popen[bytes]]:
    """A program that serves HTTP, from its first answer on; it ends with all that it has started."""
    log = folder / "program.log"
    with log.open("wb") as out:
        running = subprocess.Popen(
            command,
            cwd=folder,
            env={**os.environ, **environment},
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            start_new_session=True,
        )

    def answers() -> bool:
        assert running.poll() is None, log.read_text(errors="replace")
        with contextlib.suppress(httpx.TransportError):
            return httpx.get(url, timeout=TIMEOUT_S).status_code < 500
        return False

    try:
        until(answers, lambda: log.read_text(errors="replace"))
        yield running
    finally:
        os.killpg(running.pid, signal.SIGTERM)
        running.wait(TIMEOUT_S)
