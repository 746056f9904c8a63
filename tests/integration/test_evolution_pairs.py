"""Generated pairs of versions: after the swap a table is what the new version makes of the whole input alone.

``PAIRS=100 pytest tests/integration/test_evolution_pairs.py -m long`` tries that many.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from ksql_spark.engine import Engine, Request
from ksql_spark.kafka.admin import KafkaAdmin
from ksql_spark.kafka.producer import RecordProducer
from ksql_spark.runtime.queries import differences
from ksql_spark.services.broker import EmbeddedBroker
from tests.integration.server_process import ServerProcess

pytestmark = [pytest.mark.kafka, pytest.mark.long]

PREFIX = "pairs_"
PAIRS = int(os.environ.get("PAIRS", "8"))
#: so many evolve at the same time
AT_ONCE = 4
TIMEOUT_S = 300.0
SOURCES = f"""
CREATE STREAM events (who STRING KEY, n BIGINT, name STRING)
  WITH (KAFKA_TOPIC = '{PREFIX}events', VALUE_FORMAT = 'JSON', PARTITIONS = 2);
CREATE TABLE latest (who STRING PRIMARY KEY, n BIGINT, name STRING)
  WITH (KAFKA_TOPIC = '{PREFIX}events', VALUE_FORMAT = 'JSON');
CREATE TABLE people (who STRING PRIMARY KEY, city STRING, age INT)
  WITH (KAFKA_TOPIC = '{PREFIX}people', VALUE_FORMAT = 'JSON', PARTITIONS = 2);
"""
FIRST_MS = 1_700_000_000_000
SETTINGS = {"ksql.checkpoint.interval.ms": "5000"}
EARLIEST = {"auto.offset.reset": "earliest"}

AGGREGATES = (
    "COUNT(*)", "SUM(n)", "MIN(n)", "MAX(n)", "AVG(n)", "LATEST_BY_OFFSET(n)", "EARLIEST_BY_OFFSET(name)",
    "COLLECT_SET(name)", "COUNT_DISTINCT(name)", "TOPK(n, 3)", "MAX(n) - MIN(n)", "SUM(n * 2) + 1",
)  # fmt: skip
FILTERS = (
    "", "WHERE n % 3 > 0", "WHERE n > 200", "WHERE name LIKE 'b%'", "WHERE n BETWEEN 10 AND 495",
    "WHERE name IS NOT NULL",
)  # fmt: skip
HAVING = ("", "", "HAVING COUNT(*) > 5", "HAVING SUM(n) % 5 > 1")
#: what two versions may have in turn: the bounds that a key has stay the same
WINDOWS = (
    ("",),
    ("WINDOW TUMBLING (SIZE 10 SECONDS)", "WINDOW TUMBLING (SIZE 20 SECONDS)",
     "WINDOW HOPPING (SIZE 20 SECONDS, ADVANCE BY 5 SECONDS)"),
    ("WINDOW SESSION (2 SECONDS)", "WINDOW SESSION (9 SECONDS)"),
)  # fmt: skip


#: of a table's row, and of two that are joined
COLUMNS = ("n", "n * 2", "UCASE(name)", "COALESCE(name, '?')", "CASE WHEN n > 300 THEN 'b' ELSE name END")
JOINED = ("city", "age", "age + n", "CONCAT(city, name)", "IFNULL(city, 'nowhere')")


def pair(chance: random.Random) -> tuple[str, str]:
    """The SELECTs of two versions of a table."""
    windows = chance.choice(WINDOWS)
    return version(chance, windows), version(chance, windows)


def version(chance: random.Random, windows: tuple[str, ...]) -> str:
    """A SELECT with one of these windows: an aggregate, a projection, or either of a join."""
    is_joined, is_aggregate = chance.random() < 0.3, windows != ("",) or chance.random() < 0.6
    calls = (*AGGREGATES, "MAX(age)", "LATEST_BY_OFFSET(city)") if is_joined else AGGREGATES
    offered = calls if is_aggregate else COLUMNS + JOINED * is_joined
    columns = [f"{call} AS a{i}" for i, call in enumerate(chance.sample(offered, chance.randint(1, 4)))]
    left, where = "events" if is_aggregate else "latest", chance.choice(FILTERS)
    key, source = "who", left
    if is_joined:
        key, source = "l.who", f"{left} l {chance.choice(('', 'LEFT '))}JOIN people p ON l.who = p.who"
    if not is_aggregate:
        return f"SELECT {', '.join([f'{key} AS who', *columns])} FROM {source} {where} EMIT CHANGES;"
    # rows that come late for a closed window would depend on how far the tasks are
    window = chance.choice(windows).replace(")", ", GRACE PERIOD 1 DAY)")
    return (
        f"SELECT {', '.join([f'{key} AS who', *columns])} FROM {source} {window} {where} GROUP BY {key}"
        f" {chance.choice(HAVING)} EMIT CHANGES;"
    )


def send_people(servers: str) -> None:
    """Before all events, so that joins of streams do not depend on how far the tasks are."""
    producer = RecordProducer(servers, linger_ms=5)
    for n in range(5):
        value = b'{"CITY": "c%d", "AGE": %d}' % (n % 3, 20 + n)
        producer.send_async(f"{PREFIX}people", b"p%d" % n, value, FIRST_MS - 1000)
    producer.flush()
    producer.close()


def send(servers: str, first: int, count: int) -> None:
    producer = RecordProducer(servers, linger_ms=5)
    for n in range(first, first + count):
        name = b"null" if n % 11 == 0 else b'"%s"' % (b"abc"[n % 3 : n % 3 + 1] * (1 + n % 2))
        value = b'{"N": %d, "NAME": %s}' % (n, name)
        # pauses, so that there are several sessions
        time_ms = FIRST_MS + n * 100 + n // 50 * 5000
        producer.send_async(f"{PREFIX}events", b"p%d" % (n % 7), value, time_ms)
    producer.flush()
    producer.close()


def until(condition: Callable[[], bool], what: Callable[[], object]) -> None:
    deadline = time.monotonic() + TIMEOUT_S
    while not condition():
        assert time.monotonic() < deadline, what()
        time.sleep(0.5)


@pytest.mark.parametrize("first", range(0, PAIRS, AT_ONCE))
def test_pairs(make_engine: Callable[..., Engine], broker: EmbeddedBroker, first: int) -> None:
    engine = make_engine(**SETTINGS)

    def run(text: str) -> str:
        (*_, entity) = engine.execute(Request(text, EARLIEST))
        return str(getattr(entity, "state", ""))

    _evolve(run, engine.services.admin, _pairs(first), lambda: None)


@pytest.mark.parametrize("first", range(0, PAIRS, AT_ONCE))
def test_pairs_and_a_kill(
    broker: EmbeddedBroker, kafka_admin: KafkaAdmin, tmp_path: Path, first: int
) -> None:
    """The server and all its processes are killed at some moment of the evolutions, and started again."""
    names = {**SETTINGS, "bootstrap.servers": broker.bootstrap_servers, "ksql.service.id": PREFIX}
    names["ksql.output.topic.name.prefix"] = PREFIX
    environment = {f"KSQL_{name.upper().replace('.', '_')}": value for name, value in names.items()}
    chance = random.Random(first)
    server = ServerProcess(tmp_path, environment=environment).ready()

    def run(text: str) -> str:
        return str(server.execute(text, **EARLIEST)[-1].get("state", ""))

    def kill() -> None:
        nonlocal server
        time.sleep(chance.uniform(0, 15))
        server.__exit__(None, None, None)
        server = ServerProcess(tmp_path, environment=environment).ready()

    try:
        _evolve(run, kafka_admin, _pairs(first), kill)
    finally:
        server.__exit__(None, None, None)
        mine = (PREFIX, f"_confluent-ksql-{PREFIX}")
        kafka_admin.delete_topics(name for name in kafka_admin.topics() if name.startswith(mine))


def _pairs(first: int) -> dict[str, tuple[str, str]]:
    return {f"X{n}": pair(random.Random(n)) for n in range(first, min(first + AT_ONCE, PAIRS))}


def _evolve(
    run: Callable[[str], str],
    admin: KafkaAdmin,
    pairs: Mapping[str, tuple[str, str]],
    disturb: Callable[[], None],
) -> None:
    """Let each table evolve while records come; in the end it is what the new version makes of all of them.

    Args:
        run: executes statements, returns the last entity's state.
        admin: of the broker.
        pairs: both versions of each table.
        disturb: what happens while they evolve.
    """

    def rows(table: str) -> dict[differences.Place, bytes | None]:
        found = differences.rows(admin, f"{PREFIX}{table}")
        return {place: record.value for place, record in found.items()}

    run(SOURCES)
    send_people(admin.servers)
    send(admin.servers, 0, 300)
    for table, (old, _) in pairs.items():
        run(f"CREATE TABLE {table} AS {old}")
    for table, versions in pairs.items():
        until(
            lambda table=table, old=versions[0]: bool(rows(table)) or "HAVING" in old or "WHERE" in old,
            versions.__str__,
        )
    for table, (_, new) in pairs.items():
        run(f"CREATE OR REPLACE TABLE {table} WITH (EVOLVE = 'backfill') AS {new}")
    send(admin.servers, 300, 100)
    disturb()
    for table, versions in pairs.items():
        until(lambda table=table: run(f"DESCRIBE EVOLUTION {table};") == "swapped", versions.__str__)
    send(admin.servers, 400, 100)
    for table, (_, new) in pairs.items():
        run(f"CREATE TABLE {table}_ALONE AS {new}")
    # the last records have come to all tables once they agree and stay so
    for table, versions in pairs.items():
        until(
            lambda table=table: rows(table) == rows(f"{table}_ALONE") != {},
            lambda table=table, versions=versions: (versions, rows(table), rows(f"{table}_ALONE")),
        )
    time.sleep(1)
    assert all(rows(table) == rows(f"{table}_ALONE") for table in pairs)
