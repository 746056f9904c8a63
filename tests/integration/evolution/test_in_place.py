"""EVOLVE = 'in-place' on a server that is killed right after the statement: queries go on with their state,
and appended aggregates have what came since."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from ksql_spark.kafka.admin import KafkaAdmin
from ksql_spark.kafka.producer import RecordProducer
from ksql_spark.runtime.queries import differences
from ksql_spark.services.broker import EmbeddedBroker
from tests.integration.server_process import ServerProcess
from tests.waiting import TIMEOUT_S

pytestmark = [pytest.mark.kafka, pytest.mark.long]

PREFIX = "inplace_"
FIRST_MS = 1_700_000_000_000
#: people send events; each is in one of the teams, by which rows are repartitioned
PEOPLE, TEAMS, WINDOW_MS = 12, 3, 10_000
HALF = 240
SCENE = f"""
CREATE STREAM events (who STRING KEY, team STRING, n BIGINT)
  WITH (KAFKA_TOPIC = '{PREFIX}events', VALUE_FORMAT = 'JSON', PARTITIONS = {{partitions}});
CREATE TABLE people (who STRING PRIMARY KEY, city STRING, age INT)
  WITH (KAFKA_TOPIC = '{PREFIX}people', VALUE_FORMAT = 'JSON', PARTITIONS = {{partitions}});
"""
OLD = """
CREATE TABLE totals AS SELECT team, COUNT(*) AS c FROM events GROUP BY team EMIT CHANGES;
CREATE TABLE spans AS SELECT who, COUNT(*) AS c FROM events
  WINDOW TUMBLING (SIZE 10 SECONDS, GRACE PERIOD 1 DAY) GROUP BY who EMIT CHANGES;
CREATE STREAM joined AS
  SELECT e.who AS who, n, city FROM events e JOIN people p ON e.who = p.who EMIT CHANGES;
"""
NEW = """
CREATE OR REPLACE TABLE totals WITH (EVOLVE = 'in-place') AS
  SELECT team, COUNT(*) AS c, SUM(n) AS s, COLLECT_SET(n % 2) AS parities
  FROM events GROUP BY team EMIT CHANGES;
CREATE OR REPLACE TABLE spans WITH (EVOLVE = 'in-place') AS
  SELECT who, COUNT(*) AS c, MIN(n) AS least FROM events
  WINDOW TUMBLING (SIZE 10 SECONDS, GRACE PERIOD 1 DAY) GROUP BY who EMIT CHANGES;
CREATE OR REPLACE STREAM joined WITH (EVOLVE = 'in-place') AS
  SELECT e.who AS who, n, age FROM events e JOIN people p ON e.who = p.who WHERE n % 2 = 0 EMIT CHANGES;
"""
EARLIEST = {"auto.offset.reset": "earliest"}


class Scene:
    """A server in processes of its own, and its topics.

    Args:
        admin: of the broker.
        data_dir: the server's.
    """

    def __init__(self, admin: KafkaAdmin, data_dir: Path) -> None:
        self.admin = admin
        names = {
            "bootstrap.servers": admin.servers,
            "ksql.service.id": PREFIX,
            "ksql.output.topic.name.prefix": PREFIX,
        }
        self._environment = {f"KSQL_{name.upper().replace('.', '_')}": value for name, value in names.items()}
        self._data_dir = data_dir
        self.server = self._started()

    def _started(self) -> ServerProcess:
        return ServerProcess(self._data_dir, environment=self._environment).ready()

    def kill(self) -> None:
        self.server.__exit__(None, None, None)
        self.server = self._started()

    def close(self) -> None:
        self.server.__exit__(None, None, None)
        mine = (PREFIX, f"_confluent-ksql-{PREFIX}")
        self.admin.delete_topics(name for name in self.admin.topics() if name.startswith(mine))

    def send(self, first: int, last: int) -> None:
        producer = RecordProducer(self.admin.servers, linger_ms=5)
        for n in range(first, last):
            value = b'{"TEAM": "t%d", "N": %d}' % (n % TEAMS, n)
            # both halves in the same windows
            time_ms = FIRST_MS + n % HALF * 100
            producer.send_async(f"{PREFIX}events", b"p%d" % (n % PEOPLE), value, time_ms)
        producer.flush()
        producer.close()

    def send_people(self) -> None:
        producer = RecordProducer(self.admin.servers, linger_ms=5)
        for n in range(PEOPLE):
            value = b'{"CITY": "c%d", "AGE": %d}' % (n % 3, 20 + n)
            producer.send_async(f"{PREFIX}people", b"p%d" % n, value, FIRST_MS - 1000)
        producer.flush()
        producer.close()

    def rows(self, table: str) -> dict[tuple[str, int], dict[str, Any]]:
        """The rows of a table, or the last ones of a stream, by key and start of the window."""
        found = differences.TopicRows(f"{PREFIX}{table}").read(self.admin)
        rows = {}
        for (_, key), record in found.items():
            assert key is not None and record.value is not None
            start = int.from_bytes(key[-8:]) - FIRST_MS if table == "SPANS" else 0
            name = key[:-8] if table == "SPANS" else key
            rows[name.decode(), start] = json.loads(record.value)
        return rows

    def until(self, table: str, wanted: Callable[[], dict[tuple[str, int], dict[str, Any]]]) -> None:
        deadline = time.monotonic() + TIMEOUT_S
        while (found := self.rows(table)) != wanted():
            assert time.monotonic() < deadline, (table, found, wanted())
            time.sleep(0.3)


@pytest.fixture
def scene(broker: EmbeddedBroker, kafka_admin: KafkaAdmin, tmp_path: Path) -> Iterator[Scene]:
    made = Scene(kafka_admin, tmp_path)
    yield made
    made.close()


#: numbers of events by key and start of the window
Rows = dict[tuple[str, int], list[int]]


def by_key(key: Callable[[int], tuple[str, int]], *ranges: range) -> list[Rows]:
    """For each range its numbers by key."""
    found: list[Rows] = [{} for _ in ranges]
    for rows, numbers in zip(found, ranges, strict=True):
        for n in numbers:
            rows.setdefault(key(n), []).append(n)
    return found


def team(n: int) -> tuple[str, int]:
    return f"t{n % TEAMS}", 0


def span(n: int) -> tuple[str, int]:
    return f"p{n % PEOPLE}", n % HALF * 100 // WINDOW_MS * WINDOW_MS


@pytest.mark.parametrize("partitions", [1, 4, 12])
def test_a_kill_right_after_the_statement(scene: Scene, partitions: int) -> None:
    run = scene.server.execute
    run(SCENE.format(partitions=partitions))
    scene.send_people()
    run(OLD, **EARLIEST)
    scene.send(0, HALF)
    before, since = range(HALF), range(HALF, 2 * HALF)
    (teams,) = by_key(team, before)
    scene.until("TOTALS", lambda: {key: {"C": len(rows)} for key, rows in teams.items()})
    (spans,) = by_key(span, before)
    scene.until("SPANS", lambda: {key: {"C": len(rows)} for key, rows in spans.items()})
    people = {(f"p{n % PEOPLE}", 0): {"N": n, "CITY": f"c{n % PEOPLE % 3}"} for n in before}
    scene.until("JOINED", lambda: people)

    run(NEW)
    scene.kill()
    scene.send(HALF, 2 * HALF)
    teams, later = by_key(team, before, since)

    def totals(past: Rows) -> dict[tuple[str, int], dict[str, Any]]:
        sums = {key: sum(past.get(key, [])) + sum(rows) for key, rows in later.items()}
        counts = {key: len(teams[key]) + len(rows) for key, rows in later.items()}
        return {key: {"C": counts[key], "S": sums[key], "PARITIES": [0, 1]} for key in later}

    def ordered() -> dict[tuple[str, int], dict[str, Any]]:
        found = scene.rows("TOTALS")
        return {key: {**row, "PARITIES": sorted(row.get("PARITIES") or [])} for key, row in found.items()}

    def until_totals(wanted: dict[tuple[str, int], dict[str, Any]]) -> None:
        deadline = time.monotonic() + TIMEOUT_S
        while ordered() != wanted:
            assert time.monotonic() < deadline, (ordered(), wanted)
            time.sleep(0.3)

    until_totals(totals({}))
    spans, later_spans = by_key(span, before, since)
    scene.until(
        "SPANS",
        lambda: {
            key: {"C": len(spans[key]) + len(rows), "LEAST": min(rows)} for key, rows in later_spans.items()
        },
    )
    people |= {(f"p{n % PEOPLE}", 0): {"N": n, "AGE": 20 + n % PEOPLE} for n in since if n % 2 == 0}
    scene.until("JOINED", lambda: people)

    # a rebuild computes what was appended from all that the topic has
    queries = scene.server.execute("SHOW QUERIES;")[0]["queries"]
    (query,) = (query["id"] for query in queries if query["sinks"] == ["TOTALS"])
    url = f"{scene.server.url}/state/rebuild"
    assert httpx.post(url, json={"queryId": query}, timeout=TIMEOUT_S).status_code == 200
    until_totals(totals(teams))
