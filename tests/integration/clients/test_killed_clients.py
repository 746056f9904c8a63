"""Clients of a real server that is killed: what they write is there as a whole, or not at all, and push
queries go on where others have stopped, over PostgreSQL's protocol and in Python."""

from __future__ import annotations

import contextlib
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from ksql_spark.client import connect
from tests.integration.server_process import ServerProcess
from tests.waiting import TIMEOUT_S, until

pytestmark = [pytest.mark.kafka, pytest.mark.long]

KEYS = 20
CREATED = """
CREATE STREAM rides (id INT KEY, n BIGINT)
  WITH (KAFKA_TOPIC = 'rides', VALUE_FORMAT = 'JSON', PARTITIONS = 4);
CREATE STREAM copies (id INT KEY, n INT) WITH (KAFKA_TOPIC = 'copies', VALUE_FORMAT = 'JSON', PARTITIONS = 4);
CREATE TABLE zones (id INT PRIMARY KEY, n BIGINT)
  WITH (KAFKA_TOPIC = 'zones', VALUE_FORMAT = 'JSON', PARTITIONS = 4);
CREATE TABLE odd AS SELECT id, n FROM zones WHERE n % 2 = 1 EMIT CHANGES;
"""
TOGETHER = "SET 'ksql.streams.processing.guarantee' = 'exactly_once_v2'"


class Servers:
    """One server after another on the same data folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.server = self._started("127.0.0.1:0")

    def _started(self, address: str) -> ServerProcess:
        return ServerProcess(self._folder, "--pg-listen", "127.0.0.1:0", "--listen", address).ready()

    def kill(self) -> None:
        """Kill everything at once, and start it again."""
        self.server.crash()
        self.server = self._started(self.server.url.removeprefix("http://"))

    def connect(self) -> psycopg.Connection[Any]:
        (url,) = (
            word for line in self.server.lines for word in line.split() if word.startswith("postgresql:")
        )
        return psycopg.connect(url.rstrip(",").replace("//", "//ada@"), autocommit=True)

    def count(self, name: str) -> int:
        """The records of a stream's topic that are committed."""
        with self.connect() as connection:
            (found,) = connection.execute(f"SELECT COUNT(*) FROM {name}").fetchone() or (0,)
        return int(found)


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    made = Servers(tmp_path_factory.mktemp("postgres"))
    with contextlib.ExitStack() as stack:
        stack.callback(lambda: made.server.__exit__(None, None, None))
        made.server.execute(CREATED)
        yield made


@pytest.mark.parametrize("settings", [(), (TOGETHER,)], ids=["at_least_once", "exactly_once"])
def test_rows_are_written_together(servers: Servers, settings: tuple[str, ...]) -> None:
    def copy(connection: psycopg.Connection[Any], target: str, rows: list[tuple[Any, ...]]) -> None:
        with connection.cursor() as cursor, cursor.copy(f"COPY {target} (id, n) FROM STDIN") as copying:
            for row in rows:
                copying.write_row(row)

    before, rows = servers.count("rides"), [(n, n) for n in range(1, 1001)]
    with servers.connect() as connection:
        for setting in settings:
            connection.execute(setting)
        for bad in ((500, "x"), (None, 500)):
            with pytest.raises(psycopg.Error, match=r"row 500: .*No row was written"):
                copy(connection, "rides", [*rows[:499], bad, *rows[500:]])
        assert servers.count("rides") == before
        copy(connection, "rides", rows)
        assert servers.count("rides") == before + 1000
        # a value that is too large for the target is in some row of the query
        copy(connection, "rides", [(7, 2**40)])
        there = servers.count("copies")
        with pytest.raises(psycopg.Error, match=r"row \d+: .*No row was written"):
            connection.execute("INSERT INTO copies (id, n) SELECT id, n FROM rides")
        assert servers.count("copies") == there
        assert connection.execute("INSERT INTO copies (id, n) SELECT id, n FROM rides WHERE n < 500").rowcount
        assert servers.count("copies") > there
    before = servers.count("rides")
    gone = servers.connect()
    for setting in settings:
        gone.execute(setting)
    gone.pgconn.send_query(b"COPY rides (id, n) FROM STDIN")
    gone.pgconn.get_result()
    gone.pgconn.put_copy_data(b"".join(b"%d\t1\n" % n for n in range(100_000)))
    gone.pgconn.flush()
    gone.close()
    assert servers.count("rides") == before


class Reader:
    """A cursor over a push query; another one of it may go on at its position."""

    def __init__(self, servers: Servers, query: str, position: str | None) -> None:
        self._connection = servers.connect()
        self._connection.execute("SET ksql.query.push.v2.continuation.tokens.enabled = true")
        if position is not None:
            self._connection.execute(f"SET ksql.position = '{position}'")
        self._connection.execute("BEGIN")
        self._connection.execute(f"DECLARE c CURSOR FOR {query}")
        self.position = position

    def read(self, seen: set[tuple[Any, ...]]) -> int:
        """Add what has come; returns how much that was."""
        rows = self._connection.execute("FETCH 37 FROM c WITH (timeout = '1s')").fetchall()
        seen.update(rows)
        (self.position,) = self._connection.execute("SHOW ksql.position").fetchone() or ("",)
        return len(rows)


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ("zones", lambda n: [n]),
        ("odd", lambda n: [n] if n % 2 else []),
    ],
)
def test_a_cursor_goes_on(servers: Servers, table: str, expected: Callable[[int], list[int]]) -> None:
    seen: set[tuple[Any, ...]] = set()
    query = f"SELECT id, n FROM {table} EMIT CHANGES"
    base = 1000 * (1 + (table == "odd"))

    def change(turn: int) -> None:
        rows = ", ".join(f"({key}, {base + turn})" for key in range(KEYS))
        with servers.connect() as connection:
            connection.execute(f"INSERT INTO zones (id, n) VALUES {rows}")

    def expect(turns: range) -> Callable[[], bool]:
        wanted = {(key, n) for turn in turns for n in expected(base + turn) for key in range(KEYS)}
        return lambda: (reader.read(seen) or True) and wanted <= seen

    reader = Reader(servers, query, None)
    for turn in range(4):
        change(turn)
    until(expect(range(4)), lambda: seen)
    position = reader.position
    for turn in range(4, 8):  # of which the reader sees some
        change(turn)
    reader.read(seen)
    servers.kill()
    for turn in range(8, 12):
        change(turn)
    with servers.connect() as connection:
        connection.execute(f"DELETE FROM zones WHERE id = 3 AND n = {base + 11}")
    before = {row for row in seen if row[1] is not None and row[1] < base + 4}
    seen.clear()
    reader = Reader(servers, query, position)
    until(expect(range(4, 12)), lambda: sorted(seen, key=str))
    until(lambda: (reader.read(seen) or True) and (3, None) in seen, lambda: sorted(seen, key=str))
    if table == "zones":  # the query of the other one repeats what it did after its last checkpoint
        assert not seen & before, "what was before the position comes no more"


def test_a_stream_in_python_reconnects(servers: Servers) -> None:
    seen: Counter[tuple[Any, ...]] = Counter()
    with connect(servers.server.url) as connection:
        stream = connection.stream(
            "SELECT id, n FROM zones WHERE n > 5000 EMIT CHANGES;", reconnect_s=TIMEOUT_S
        )
        reader = threading.Thread(target=lambda: seen.update(stream))
        reader.start()
        for turn in range(3):
            for n in range(5001 + 10 * turn, 5011 + 10 * turn):
                rows = [{"id": key, "n": n} for key in range(KEYS)]
                assert connection.insert("zones", rows) == KEYS
            if turn < 2:
                servers.kill()
        wanted = Counter((key, n) for key in range(KEYS) for n in range(5001, 5031))
        until(lambda: wanted.keys() <= seen.keys(), lambda: wanted - seen)
        stream.interrupt()
        reader.join()
    assert seen == wanted
