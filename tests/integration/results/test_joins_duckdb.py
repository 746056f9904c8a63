"""Semi joins, joins of a source with itself, by versions, without WITHIN and with more conditions give what
DuckDB gives, for generated inputs.

The inputs are in one set of topics, told apart by their number, which is part of each key. They have NULLs in
every place, and tables with deletions. What was written first is last in the order of times in a table whose
rows come late.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from typing import Any

import duckdb
import pytest

from ksql_spark.engine import Engine, Request
from ksql_spark.kafka.producer import RecordProducer
from tests.integration.results.comparing import (
    BEGAN_MS,
    HOUR_MS,
    PROPERTIES,
    Sink,
    same_rows,
    wait_until_all_is_read,
)
from tests.integration.results.partitions import PARTITIONS

pytestmark = [pytest.mark.kafka, pytest.mark.long]

INPUTS = 200
#: how much later than a row with a later time a row may come
LATE_MS = 40
#: the last records of a topic, with a later time, reach every partition
LAST_KEYS = 100

SOURCES = """
CREATE STREAM l{x} (k STRING KEY, x STRING, v INT, n INT) WITH (KAFKA_TOPIC = 'l{x}', VALUE_FORMAT = 'JSON');
CREATE STREAM r{x} (k STRING KEY, v INT, n INT) WITH (KAFKA_TOPIC = 'r{x}', VALUE_FORMAT = 'JSON');
CREATE TABLE t{x} (k STRING PRIMARY KEY, v INT, n INT) WITH (KAFKA_TOPIC = 't{x}', VALUE_FORMAT = 'JSON');
CREATE TABLE u{x} (k STRING PRIMARY KEY, v INT, n INT) WITH (KAFKA_TOPIC = 'u{x}', VALUE_FORMAT = 'JSON');
"""
#: our query, and DuckDB's: in it, t and u have the time from which and the time until which a row holds
QUERIES = {
    "semi": (
        "SELECT k, n FROM l{x} WHERE x IN (SELECT k FROM t{x} WHERE v > 1)",
        "SELECT n FROM l WHERE EXISTS (SELECT 1 FROM t WHERE t.k = l.x AND t.v > 1 AND {holds})",
    ),
    "anti": (
        "SELECT k, n FROM l{x} l WHERE NOT EXISTS (SELECT 1 FROM t{x} t WHERE t.k = l.x AND t.v >= l.v)",
        "SELECT n FROM l WHERE NOT EXISTS (SELECT 1 FROM t WHERE t.k = l.x AND t.v >= l.v AND {holds})",
    ),
    "not_in": (
        "SELECT k, n FROM l{x} WHERE k NOT IN (SELECT k FROM t{x}) AND v > 0",
        "SELECT n FROM l WHERE k IS NOT NULL AND v > 0"
        " AND NOT EXISTS (SELECT 1 FROM t WHERE t.k = l.k AND {holds})",
    ),
    "as_of": (
        "SELECT l.k AS k, l.n AS n, t.n AS m FROM l{x} l LEFT JOIN u{x} FOR SYSTEM_TIME AS OF l.ROWTIME AS t"
        " GRACE PERIOD 100 MILLISECONDS ON l.k = t.k AND t.v < l.v",
        "SELECT l.n, t.n FROM l LEFT JOIN u t ON l.k = t.k AND t.v < l.v AND {holds}",
    ),
    "as_of_another": (
        "SELECT l.x AS x, l.n AS n, t.n AS m FROM l{x} l JOIN u{x} t FOR SYSTEM_TIME AS OF l.ROWTIME"
        " GRACE PERIOD 100 MILLISECONDS ON l.x = t.k",
        "SELECT l.n, t.n FROM l JOIN u t ON l.x = t.k AND {holds}",
    ),
    "within": (
        "SELECT l.k AS k, l.n AS n, r.n AS m FROM l{x} l LEFT JOIN r{x} r WITHIN 30 MILLISECONDS"
        " GRACE PERIOD 100 MILLISECONDS ON l.k = r.k AND (l.v < r.v OR r.v IS NULL)",
        "SELECT l.n, r.n FROM l LEFT JOIN r ON l.k = r.k AND abs(l.ts - r.ts) <= 30"
        " AND (l.v < r.v OR r.v IS NULL)",
    ),
    "exists": (
        "SELECT k, n FROM l{x} l WHERE EXISTS (SELECT 1 FROM r{x} r WITHIN 30 MILLISECONDS"
        " GRACE PERIOD 100 MILLISECONDS WHERE r.k = l.k AND (l.v < r.v OR r.v IS NULL))",
        "SELECT n FROM l WHERE EXISTS (SELECT 1 FROM r WHERE l.k = r.k AND abs(l.ts - r.ts) <= 30"
        " AND (l.v < r.v OR r.v IS NULL))",
    ),
    "not_exists": (
        "SELECT k, n FROM l{x} l WHERE NOT EXISTS (SELECT 1 FROM r{x} r"
        " WITHIN (10 MILLISECONDS, 30 MILLISECONDS) GRACE PERIOD 100 MILLISECONDS"
        " WHERE r.k = l.x AND r.v <> l.v)",
        "SELECT n FROM l WHERE NOT EXISTS (SELECT 1 FROM r WHERE l.x = r.k"
        " AND r.ts BETWEEN l.ts - 10 AND l.ts + 30 AND r.v <> l.v)",
    ),
    "in_stream": (
        "SELECT k, n FROM l{x} WHERE x IN (SELECT k FROM r{x} WITHIN (30 MILLISECONDS, 5 MILLISECONDS)"
        " GRACE PERIOD 100 MILLISECONDS WHERE v > 1) AND v IS NOT NULL",
        "SELECT n FROM l WHERE v IS NOT NULL AND EXISTS (SELECT 1 FROM r WHERE l.x = r.k AND r.v > 1"
        " AND r.ts BETWEEN l.ts - 30 AND l.ts + 5)",
    ),
    "not_in_stream": (
        "SELECT k, n FROM l{x} WHERE k NOT IN (SELECT k FROM r{x} WITHIN 20 MILLISECONDS"
        " GRACE PERIOD 100 MILLISECONDS)",
        "SELECT n FROM l WHERE k IS NOT NULL"
        " AND NOT EXISTS (SELECT 1 FROM r WHERE l.k = r.k AND abs(l.ts - r.ts) <= 20)",
    ),
    "full": (
        "SELECT ROWKEY AS k, l.n AS n, r.n AS m FROM l{x} l FULL JOIN r{x} r"
        " WITHIN (10 MILLISECONDS, 30 MILLISECONDS) GRACE PERIOD 100 MILLISECONDS"
        " ON l.k = r.k AND l.v <> r.v",
        "SELECT l.n, r.n FROM l FULL JOIN r ON l.k = r.k AND r.ts BETWEEN l.ts - 10 AND l.ts + 30"
        " AND l.v <> r.v",
    ),
    "endless": (
        "SELECT l.x AS x, l.n AS n, r.n AS m FROM l{x} l JOIN r{x} r ON l.x = r.k AND l.v <> r.v",
        "SELECT l.n, r.n FROM l JOIN r ON l.x = r.k AND l.v <> r.v",
    ),
    "of_itself": (
        "SELECT a.k AS k, a.n AS n, b.n AS m FROM l{x} a JOIN l{x} b ON a.k = b.x AND b.ROWTIME >= a.ROWTIME",
        "SELECT a.n, b.n FROM l a JOIN l b ON a.k = b.x AND b.ts >= a.ts",
    ),
    "of_itself_within": (
        "SELECT a.k AS k, a.n AS n, b.n AS m FROM r{x} a LEFT JOIN r{x} b WITHIN 30 MILLISECONDS"
        " GRACE PERIOD 100 MILLISECONDS ON a.k = b.k AND a.n <> b.n",
        "SELECT a.n, b.n FROM r a LEFT JOIN r b ON a.k = b.k AND abs(a.ts - b.ts) <= 30 AND a.n <> b.n",
    ),
}
HOLDS = "t.ts <= l.ts AND (t.until IS NULL OR l.ts < t.until) AND NOT t.is_deleted"

#: key, x, v, number, time; v is "deleted" where a table's row is a tombstone
Row = tuple[str | None, str | None, Any, int, int]


def generated(partitions: int, topic: str) -> list[Row]:
    """The rows of a topic in the order of their times; keys of a table are never NULL, and times differ."""
    rng = random.Random(f"{partitions} {topic}")
    rows: list[Row] = []
    for seed in range(INPUTS):
        time = BEGAN_MS + rng.randrange(20)
        for _ in range(rng.randrange(1, 12)):
            time += rng.randrange(1, 25)
            key, x = (rng.choice((*(f"{seed}-{i}" for i in range(3)), None)) for _ in range(2))
            value = rng.choice((None, 0, 1, 2, 3))
            if topic in "tu":
                key = key or f"{seed}-0"
                value = rng.choice((value, value, value, "deleted"))
            rows.append((key, x, value, len(rows), time))
    return sorted(rows, key=lambda row: row[4])


def written(topic: str, rows: list[Row], rng: random.Random) -> list[Row]:
    """The rows in the order in which they are written."""
    if topic != "u":
        return rows
    return sorted(rows, key=lambda row: row[4] + rng.randrange(LATE_MS))


def of_duckdb(topics: dict[str, list[Row]], select: str) -> Counter[tuple[Any, ...]]:
    base = duckdb.connect()
    for topic, rows in topics.items():
        base.execute(
            f"CREATE TABLE {topic}_rows (k TEXT, x TEXT, v INT, n INT, ts BIGINT, is_deleted BOOLEAN)"
        )
        found = [(k, x, None if v == "deleted" else v, n, ts, v == "deleted") for k, x, v, n, ts in rows]
        base.executemany(f"INSERT INTO {topic}_rows VALUES (?, ?, ?, ?, ?, ?)", found)
        until = "LEAD(ts) OVER (PARTITION BY k ORDER BY ts)"
        base.execute(f"CREATE VIEW {topic} AS SELECT *, {until} AS until FROM {topic}_rows")
    return Counter(base.execute(select.format(holds=HOLDS)).fetchall())


@pytest.mark.parametrize("partitions", PARTITIONS)
def test_joins_are_those_of_duckdb(engine: Engine, partitions: int) -> None:
    x, rng, admin = f"_duck_{partitions}", random.Random(partitions), engine.services.admin
    topics = {topic: generated(partitions, topic) for topic in "lrtu"}
    producer = RecordProducer(admin.servers, linger_ms=5)
    for topic, rows in topics.items():
        admin.create_topic(f"{topic}{x}", partitions, config={"retention.ms": "-1"})
        last: list[Row] = [(f"last-{i}", None, None, -1, BEGAN_MS + HOUR_MS) for i in range(LAST_KEYS)]
        for k, other, v, n, time_ms in (*written(topic, rows, rng), *last):
            value = {"v": v, "n": n} | ({"x": other} if topic == "l" else {})
            body = None if v == "deleted" else json.dumps(value).encode()
            producer.send_async(f"{topic}{x}", None if k is None else k.encode(), body, time_ms)
    producer.close()
    engine.execute(Request(SOURCES.format(x=x)))
    for name, (ours, _) in QUERIES.items():
        sink = f"{name}{x}"
        properties = f"KAFKA_TOPIC = '{sink}', VALUE_FORMAT = 'JSON'"
        engine.execute(
            Request(f"CREATE STREAM {sink} WITH ({properties}) AS {ours.format(x=x)};", PROPERTIES)
        )
    for name in QUERIES:
        wait_until_all_is_read(engine, f"{name}{x}")
    engine.execute(Request("".join(f"DROP STREAM {name}{x};" for name in QUERIES)))
    for name, (_, theirs) in QUERIES.items():
        sink = Sink(admin.servers, f"{name}{x}")
        sink.close()
        values = [json.loads(record.value) for record in sink.records if record.value is not None]
        rows = (tuple(value.values()) for value in values if -1 not in value.values())
        same_rows(Counter(rows), of_duckdb(topics, theirs))
