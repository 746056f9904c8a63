"""Generated pairs of versions: after the swap a table is what the new version makes of the whole input alone.

``PAIRS=100 pytest tests/integration/test_evolution_pairs.py -m long`` tries that many.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable

import pytest

from ksql_spark.engine import Engine, Request
from ksql_spark.kafka.producer import RecordProducer
from ksql_spark.runtime.queries import differences
from ksql_spark.services.broker import EmbeddedBroker

pytestmark = [pytest.mark.kafka, pytest.mark.long]

PREFIX = "pairs_"
PAIRS = int(os.environ.get("PAIRS", "8"))
#: so many evolve at the same time
AT_ONCE = 4
TIMEOUT_S = 300.0
STREAM = f"""
CREATE STREAM events (who STRING KEY, n BIGINT, name STRING)
  WITH (KAFKA_TOPIC = '{PREFIX}events', VALUE_FORMAT = 'JSON', PARTITIONS = 2);
"""
FIRST_MS = 1_700_000_000_000

AGGREGATES = (
    "COUNT(*)", "SUM(n)", "MIN(n)", "MAX(n)", "AVG(n)", "LATEST_BY_OFFSET(n)", "EARLIEST_BY_OFFSET(name)",
    "COLLECT_SET(name)", "COUNT_DISTINCT(name)", "TOPK(n, 3)", "MAX(n) - MIN(n)", "SUM(n * 2) + 1",
)  # fmt: skip
FILTERS = (
    "", "WHERE n % 3 > 0", "WHERE n > 200", "WHERE name LIKE 'b%'", "WHERE n BETWEEN 10 AND 450",
    "WHERE name IS NOT NULL",
)  # fmt: skip
HAVING = ("", "", "HAVING COUNT(*) > 5", "HAVING SUM(n) % 2 = 0")
#: what two versions may have in turn: the bounds that a key has stay the same
WINDOWS = (
    ("",),
    ("WINDOW TUMBLING (SIZE 10 SECONDS)", "WINDOW TUMBLING (SIZE 20 SECONDS)",
     "WINDOW HOPPING (SIZE 20 SECONDS, ADVANCE BY 5 SECONDS)"),
    ("WINDOW SESSION (2 SECONDS)", "WINDOW SESSION (9 SECONDS)"),
)  # fmt: skip


def pair(chance: random.Random) -> tuple[str, str]:
    """The SELECTs of two versions of a table."""
    windows = chance.choice(WINDOWS)

    def version() -> str:
        window = chance.choice(windows)
        calls = chance.sample(AGGREGATES, chance.randint(1, 4))
        columns = ", ".join(f"{call} AS a{i}" for i, call in enumerate(calls))
        where, having = chance.choice(FILTERS), chance.choice(HAVING)
        # rows that come late for a closed window would depend on how far the tasks are
        window = window.replace(")", ", GRACE PERIOD 1 DAY)")
        return f"SELECT who, {columns} FROM events {window} {where} GROUP BY who {having} EMIT CHANGES;"

    return version(), version()


def send(broker: EmbeddedBroker, first: int, count: int) -> None:
    producer = RecordProducer(broker.bootstrap_servers, linger_ms=5)
    for n in range(first, first + count):
        name = b"null" if n % 11 == 0 else b'"%s"' % (b"abc"[n % 3 : n % 3 + 1] * (1 + n % 2))
        value = b'{"N": %d, "NAME": %s}' % (n, name)
        # pauses, so that there are several sessions
        time_ms = FIRST_MS + n * 100 + n // 50 * 5000
        producer.send_async(f"{PREFIX}events", b"p%d" % (n % 7), value, time_ms)
    producer.flush()
    producer.close()


def run(engine: Engine, text: str) -> str:
    (*_, entity) = engine.execute(Request(text, {"auto.offset.reset": "earliest"}))
    return str(getattr(entity, "state", ""))


def rows(engine: Engine, table: str) -> dict[differences.Place, bytes | None]:
    found = differences.rows(engine.services.admin, f"{PREFIX}{table}")
    return {place: record.value for place, record in found.items()}


def until(condition: Callable[[], bool], what: Callable[[], object]) -> None:
    deadline = time.monotonic() + TIMEOUT_S
    while not condition():
        assert time.monotonic() < deadline, what()
        time.sleep(0.5)


@pytest.mark.parametrize("first", range(0, PAIRS, AT_ONCE))
def test_pairs(make_engine: Callable[..., Engine], broker: EmbeddedBroker, first: int) -> None:
    engine = make_engine(**{"ksql.checkpoint.interval.ms": "5000"})
    run(engine, STREAM)
    send(broker, 0, 300)
    pairs = {f"X{n}": pair(random.Random(n)) for n in range(first, min(first + AT_ONCE, PAIRS))}
    for table, (old, _) in pairs.items():
        run(engine, f"CREATE TABLE {table} AS {old}")
    for table in pairs:
        until(
            lambda table=table: bool(rows(engine, table)) or "HAVING" in pairs[table][0], pairs[table].__str__
        )
    for table, (_, new) in pairs.items():
        run(engine, f"CREATE OR REPLACE TABLE {table} WITH (EVOLVE = 'backfill') AS {new}")
    send(broker, 300, 100)
    for table, versions in pairs.items():
        until(
            lambda table=table: run(engine, f"DESCRIBE EVOLUTION {table};") == "swapped",
            lambda versions=versions: versions,
        )
    send(broker, 400, 100)
    for table, (_, new) in pairs.items():
        run(engine, f"CREATE TABLE {table}_ALONE AS {new}")
    # the last records have come to all tables once they agree and stay so
    for table, versions in pairs.items():
        until(
            lambda table=table: rows(engine, table) == rows(engine, f"{table}_ALONE") != {},
            lambda table=table, versions=versions: (
                versions, rows(engine, table), rows(engine, f"{table}_ALONE"),
            ),
        )  # fmt: skip
    time.sleep(1)
    assert all(rows(engine, table) == rows(engine, f"{table}_ALONE") for table in pairs)
