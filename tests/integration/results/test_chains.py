"""Random chains of two to four operations with state have DuckDB's rows, though their engine is killed.

Each round runs TOGETHER chains at once, on 1, 4 or 12 partitions, with one guarantee or the other. Rows come
in three parts: the engine is killed while it reads the second one, and started again for the third.
``SEEDS=200`` tries that many chains in place of a few; ``SEED=7`` begins with that seed.
"""

from __future__ import annotations

import io
import os
import random
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import pytest

from ksql_spark.config import Config
from ksql_spark.engine import Engine
from ksql_spark.kafka.admin import KafkaAdmin
from ksql_spark.shell.output.console import Console
from ksql_spark.shell.waiting import wait_for_queries
from ksql_spark.spark.session import SparkProcess
from ksql_spark.tools.testing.servers import Server
from tests.waiting import TIMEOUT_S, until

pytestmark = [pytest.mark.kafka, pytest.mark.long]

COUNT = int(os.environ.get("SEEDS", "20"))
FIRST = int(os.environ.get("SEED", "0"))
#: chains that run at once; rows of each of the three parts
TOGETHER, ROWS = 20, 40
WINDOW_MS = 10_000
SOURCES = """
CREATE STREAM s (k STRING KEY, a INT, b INT, v INT) WITH (KAFKA_TOPIC = '${case}_s', %(rest)s);
CREATE TABLE r (k STRING PRIMARY KEY, a INT, b INT, v INT) WITH (KAFKA_TOPIC = '${case}_r', %(rest)s);
CREATE TABLE t (k STRING PRIMARY KEY, c INT) WITH (KAFKA_TOPIC = '${case}_t', %(rest)s);
CREATE TABLE u (c INT PRIMARY KEY, e INT) WITH (KAFKA_TOPIC = '${case}_u', %(rest)s);
"""
#: rows that a chain begins with -> their columns, and whether a row may be replaced
BEGINNINGS: Mapping[str, tuple[tuple[str, ...], bool]] = {
    "s": (("a", "b", "v"), False),
    "r": (("a", "b", "v"), True),
    "(SELECT DISTINCT ON (k, a) k, a FROM s) o": (("a",), False),
    "(SELECT s.k AS k, a, c, v FROM s JOIN t ON s.k = t.k) o": (("a", "c", "v"), False),
    "(SELECT a, ROW_NUMBER() OVER (PARTITION BY a ORDER BY v DESC, k) AS p, b, v FROM r QUALIFY p <= 2) o": (
        ("a", "b", "v"),
        True,
    ),
    "(SELECT a, ROW_NUMBER() OVER (PARTITION BY a ORDER BY v, ROWTIME) AS p, b, v FROM s QUALIFY p < 3) o": (
        ("a", "b", "v"),
        True,
    ),
    # rows of several partitions: only what does not depend on their order
    "(SELECT b, COUNT(*) OVER (PARTITION BY b ORDER BY ROWTIME) AS n FROM s) o": (("b", "n"), False),
    "(SELECT k, a, v, LAG(v, 1, 0) OVER (PARTITION BY k ORDER BY ROWTIME) AS w FROM s) o": (
        ("a", "v", "w"),
        False,
    ),
    "(SELECT r.k AS k, a, c, v FROM r JOIN t ON r.k = t.k) o": (("a", "c", "v"), True),
    "(SELECT s.k AS k, a, e, v FROM s JOIN t ON s.k = t.k JOIN u ON t.c = u.c) o": (("a", "e", "v"), False),
}


def chain(rng: random.Random) -> tuple[str, str]:
    """A SELECT, and the same for DuckDB, whose windows are a column."""
    rows = rng.choice(list(BEGINNINGS))
    columns, is_table = BEGINNINGS[rows]
    steps = rng.randint(1, 3)
    if "JOIN" in rows and not is_table and rng.random() < 0.4:
        group = rng.choice(columns)
        select, start = (
            f"SELECT {group} AS g, COUNT(*) AS n, SUM({columns[-1]}) AS x",
            f"ts - ts % {WINDOW_MS}",
        )
        window = f"WINDOW TUMBLING (SIZE {WINDOW_MS // 1000} SECONDS, GRACE PERIOD 1 DAY)"
        timed = rows.replace(" k, a", " k, ts, a")
        return (
            f"{select} FROM {rows} {window} GROUP BY {group} EMIT CHANGES",
            f"{select}, {start} AS windowstart FROM {timed} GROUP BY {group}, {start}",
        )
    text = ""
    for step in range(steps):
        # the first group may be that of the operation below, whose rows then stay in their task
        has_key = not step and (rows in ("s", "r") or " k," in rows)
        group = "k" if has_key and rng.random() < 0.25 else rng.choice(columns)
        expression = group if group == "k" or rng.random() < 0.5 else f"{group} % {rng.randint(2, 5)}"
        calls = [f"COUNT(*) AS n{step}", f"SUM({rng.choice(columns)}) AS x{step}"]
        if not is_table:
            calls.append(f"{rng.choice(('MAX', 'MIN'))}({rng.choice(columns)}) AS m{step}")
        # a group of a table's rows that has none left is a row in KSQL
        least = rng.choice((0, 0, 1))
        having = f" HAVING COUNT(*) > {least}" if is_table or least else ""
        text = f"SELECT {expression} AS g{step}, {', '.join(calls)} FROM {rows} GROUP BY {expression}{having}"
        rows, is_table = f"({text}) q{step}", True
        made = tuple(call.rsplit(" ", 1)[1] for call in calls)
        columns = made if group == "k" else (f"g{step}", *made)
    return f"{text} EMIT CHANGES", text.replace("ROWTIME", "ts")


def inserts(rng: random.Random, part: int) -> Iterator[tuple[str, list[Any]]]:
    """Rows of a part, by relation, with their times."""
    for number in range(part * ROWS, (part + 1) * ROWS):
        key = f"k{rng.randint(0, 11)}"
        yield (
            rng.choice("ssr"),
            [1000 * (number + 1), key, rng.randint(0, 5), rng.randint(0, 3), rng.randint(-9, 9)],
        )


@pytest.fixture
def server(
    request: pytest.FixtureRequest, kafka_admin: KafkaAdmin, spark_process: SparkProcess, tmp_path: Path
) -> Iterator[Server]:
    """A server of the round's guarantee, whose checkpoints are as close as can be."""
    properties = {
        "ksql.checkpoint.interval.ms": "5000",
        "ksql.query.stop.timeout.ms": "60000",
        "ksql.streams.processing.guarantee": ("at_least_once", "exactly_once_v2")[request.param % 2],
    }

    def make(own: Mapping[str, str]) -> Engine:
        return Engine(Config({"bootstrap.servers": kafka_admin.servers, **own}), spark_process)

    with closing(Server(make, kafka_admin, tmp_path, properties, prefixes_topics=True)) as one:
        yield one


@pytest.mark.parametrize("server", range((COUNT + TOGETHER - 1) // TOGETHER), indirect=True)
def test_chains_are_exact_through_kills(server: Server, request: pytest.FixtureRequest) -> None:
    number: int = request.node.callspec.params["server"]
    first = FIRST + number * TOGETHER
    chains = {f"C{seed}": chain(random.Random(seed)) for seed in range(first, first + min(TOGETHER, COUNT))}
    partitions = (1, 4, 12)[number % 3]
    rng = random.Random(first)
    with duckdb.connect() as truth:
        truth.execute("CREATE TABLE s (ts BIGINT, k TEXT, a INT, b INT, v INT)")
        truth.execute("CREATE TABLE r (ts BIGINT, k TEXT PRIMARY KEY, a INT, b INT, v INT)")
        truth.execute("CREATE TABLE t (k TEXT, c INT); CREATE TABLE u (c INT, e INT)")
        server.execute(SOURCES % {"rest": f"VALUE_FORMAT = 'JSON', PARTITIONS = {partitions}"})
        for i in range(12):
            _insert(server, truth, "t", [1, f"k{i}", i % 5])
        for i in range(5):
            _insert(server, truth, "u", [1, i, i % 2])
        for name, (own, _) in chains.items():
            server.execute(f"CREATE TABLE {name} WITH (KEY_FORMAT = 'JSON') AS {own};")
        for part in range(3):
            for relation, row in inserts(rng, part):
                _insert(server, truth, relation, row)
            if part == 0:
                wait_for_queries(server, Console(io.StringIO(), tty=False), timeout_s=TIMEOUT_S)
            elif part == 1:
                server.restart(is_kill=True)
        expected = {name: _expected(truth, text) for name, (_, text) in chains.items()}

    def wrong() -> dict[str, Any]:
        found = {
            name: [repr({n: row[n] for n in names}) for row in _rows(server, name)]
            for name, (names, _) in expected.items()
        }
        return {
            name: (chains[name][0], sorted(found[name]), rows)
            for name, (_, rows) in expected.items()
            if sorted(found[name]) != rows
        }

    until(lambda: not wrong() or server.errors(), wrong)
    assert not server.errors()


def _expected(truth: duckdb.DuckDBPyConnection, text: str) -> tuple[list[str], list[str]]:
    """The names of the columns, and the rows."""
    cursor = truth.execute(text)
    names = [column[0].upper() for column in cursor.description or ()]
    return names, sorted(repr(dict(zip(names, row, strict=True))) for row in cursor.fetchall())


def _insert(server: Server, truth: duckdb.DuckDBPyConnection, relation: str, row: list[Any]) -> None:
    values = ", ".join(repr(value) for value in row)
    server.execute(f"INSERT INTO {relation} (ROWTIME, {_COLUMNS[relation]}) VALUES ({values});")
    own = values if relation in "sr" else values.partition(", ")[2]
    truth.execute(f"INSERT {'OR REPLACE ' * (relation == 'r')}INTO {relation} VALUES ({own})")


_COLUMNS = {"s": "k, a, b, v", "r": "k, a, b, v", "t": "k, c", "u": "c, e"}


def _rows(server: Server, name: str) -> list[dict[str, Any]]:
    topic = server.topic(name)
    topic.read_to_end()
    return [topic.values(record) for record in topic.last_records()]
