"""UNION, EXCEPT and INTERSECT of tables are DuckDB's of the tables' current rows, for generated inputs.

The inputs are in one set of topics, told apart by their number, which is part of each key. They have inserts,
updates, deletions, deletions of what is not there, and NULLs in every place. The tables a and b have the same
partitions, c has others. The queries are stopped in the middle.
"""

from __future__ import annotations

import json
import random
from decimal import Decimal
from typing import Any

import duckdb
import pytest

from ksql_spark.engine import Engine, Request
from ksql_spark.kafka.producer import RecordProducer
from tests.integration.results.comparing import BEGAN_MS, PROPERTIES, Sink, wait_until_all_is_read
from tests.integration.results.partitions import PARTITIONS

pytestmark = [pytest.mark.kafka, pytest.mark.long]

INPUTS = 200
TABLES = "abc"
SOURCE = (
    "CREATE TABLE {t}{x} (k STRING PRIMARY KEY, v INT, w STRING)"
    " WITH (KAFKA_TOPIC = '{t}{x}', VALUE_FORMAT = 'JSON');"
)
#: our query; DuckDB's is the same without {x}
QUERIES = {
    "union_of": "SELECT k, v, w FROM a{x} UNION SELECT k, v, w FROM b{x}",
    "except_of": "SELECT k, v, w FROM a{x} EXCEPT SELECT k, v, w FROM b{x}",
    "intersect_of": "SELECT k, w FROM a{x} INTERSECT SELECT k, w FROM b{x}",
    "scattered": "SELECT k, v FROM c{x} EXCEPT DISTINCT SELECT k, v FROM a{x}",
    "precedence": "SELECT k, v FROM a{x} UNION SELECT k, v FROM b{x} INTERSECT SELECT k, v FROM c{x}",
    "nested": "SELECT k, v FROM a{x} WHERE v > 0 EXCEPT"
    " (SELECT k, v FROM b{x} EXCEPT SELECT k, v FROM c{x} WHERE w IS NOT NULL)",
    "itself": "SELECT k, v FROM a{x} UNION SELECT k, v + 1 AS v FROM a{x}",
    "wider": "SELECT k, v + 0.5 AS v, NULLIF(w, 'x') AS w FROM a{x} UNION SELECT k, v, w FROM b{x}",
}

#: key, v and w; None: the row is deleted
Row = tuple[str, int | None, str | None] | tuple[str, None]


def generated(partitions: int, table: str) -> list[Row]:
    """The records of a topic in the order in which they are written."""
    rng = random.Random(f"{partitions} {table}")
    rows: list[Row] = []
    for seed in range(INPUTS):
        for _ in range(rng.randrange(12)):
            key = f"{seed}-{rng.randrange(3)}"
            deletes = rng.random() < 0.25
            rows.append(
                (key, None) if deletes else (key, rng.choice((None, 0, 1)), rng.choice((None, "", "x")))
            )
    return rng.sample(rows, len(rows))


def write(servers: str, topic: str, rows: list[Row]) -> None:
    producer = RecordProducer(servers, linger_ms=5)
    for number, (key, *value) in enumerate(rows):
        body = None if len(value) == 1 else json.dumps(dict(zip("vw", value, strict=True))).encode()
        producer.send_async(topic, key.encode(), body, BEGAN_MS + number)
    producer.close()


def of_duckdb(topics: dict[str, list[Row]], select: str) -> list[tuple[Any, ...]]:
    base = duckdb.connect()
    for table, rows in topics.items():
        base.execute(f"CREATE TABLE {table} (k TEXT, v INT, w TEXT)")
        current = {row[0]: row for row in rows}
        base.executemany(
            f"INSERT INTO {table} VALUES (?, ?, ?)", [r for r in current.values() if len(r) == 3]
        )
    return base.execute(select).fetchall()


def rows_of(servers: str, topic: str) -> list[tuple[Any, ...]]:
    """The rows of a table, whose columns are all in its key."""
    sink = Sink(servers, topic)
    sink.close()
    current = {record.key: record.value for record in sink.records}
    assert {value for value in current.values() if value is not None} <= {b"{}"}
    return [tuple(json.loads(key).values()) for key, value in current.items() if key and value is not None]


def by_text(rows: list[tuple[Any, ...]]) -> list[str]:
    """The rows in an order, with numbers of one type."""
    return sorted(repr([float(v) if isinstance(v, int | Decimal) else v for v in row]) for row in rows)


@pytest.mark.parametrize("partitions", PARTITIONS)
def test_set_operations_are_those_of_duckdb(engine: Engine, partitions: int) -> None:
    x, servers = f"_set_{partitions}", engine.services.admin.servers
    topics = {table: generated(partitions, table) for table in TABLES}
    for table, rows in topics.items():
        engine.services.admin.create_topic(f"{table}{x}", partitions + 2 * (table == "c"))
        write(servers, f"{table}{x}", rows[: len(rows) // 2])
        engine.execute(Request(SOURCE.format(t=table, x=x)))
    for name, select in QUERIES.items():
        properties = f"KAFKA_TOPIC = '{name}{x}', KEY_FORMAT = 'JSON'"
        engine.execute(
            Request(f"CREATE TABLE {name}{x} WITH ({properties}) AS {select.format(x=x)};", PROPERTIES)
        )
    for name in QUERIES:
        wait_until_all_is_read(engine, f"{name}{x}")
    engine.execute(Request("PAUSE ALL;"))
    for table, rows in topics.items():
        write(servers, f"{table}{x}", rows[len(rows) // 2 :])
    engine.execute(Request("RESUME ALL;"))
    for name in QUERIES:
        wait_until_all_is_read(engine, f"{name}{x}")
    engine.execute(Request("".join(f"DROP TABLE {name}{x};" for name in QUERIES)))
    for name, select in QUERIES.items():
        found, wanted = rows_of(servers, f"{name}{x}"), of_duckdb(topics, select.format(x=""))
        assert wanted and by_text(found) == by_text(wanted), name
