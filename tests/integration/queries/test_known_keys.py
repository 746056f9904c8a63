"""Keys that a query has seen stay known, and no others, whatever runs in between."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from ksql_spark.kafka.consumer import Record, TopicReader
from ksql_spark.kafka.producer import RecordProducer
from ksql_spark.services.broker import EmbeddedBroker
from tests.waiting import TIMEOUT_S

pytestmark = pytest.mark.kafka

PEOPLE, TEAMS = 4000, 2000
RECORDS = 1500
#: micro-batches, so that there are many; by key, by value, and two operations in one query; exactly once,
#: since a busy machine may stop a query amid a batch, which then is done again
STATEMENTS = """
CREATE STREAM known_events (who STRING KEY, team INT)
  WITH (KAFKA_TOPIC = 'known_events', VALUE_FORMAT = 'JSON', PARTITIONS = 2);
SET 'auto.offset.reset' = 'earliest';
SET 'ksql.execution.mode' = 'microbatch';
SET 'processing.guarantee' = 'exactly_once_v2';
CREATE TABLE known_counts AS SELECT who, COUNT(*) AS c FROM known_events GROUP BY who EMIT CHANGES;
CREATE STREAM known_teams AS SELECT DISTINCT ON (team) who, team FROM known_events EMIT CHANGES;
CREATE TABLE known_levels WITH (KEY_FORMAT = 'JSON') AS
  SELECT c, COUNT(*) AS people FROM (SELECT who, COUNT(*) AS c FROM known_events GROUP BY who) GROUP BY c
  EMIT CHANGES;
"""


class Results:
    """What a query has written."""

    def __init__(self, servers: str, topic: str) -> None:
        self.records: list[Record] = []
        self._reader = TopicReader(servers, topic)

    def wait(self, count: int) -> None:
        """Wait until there are so many records."""
        while len(self.records) < count:
            batch = self._reader.poll_batch(TIMEOUT_S)
            assert batch, f"{len(self.records)} of {count} records came"
            self.records += batch

    def read_all(self) -> None:
        """Take what is there now."""
        for batch in self._reader.read_to_end():
            self.records += batch

    def values(self, column: str) -> list[Any]:
        return [json.loads(record.value)[column] for record in self.records if record.value is not None]


def test_known_keys(execute: Callable[[str], list[dict[str, Any]]], broker: EmbeddedBroker) -> None:
    execute(STATEMENTS)
    counts, teams, levels = (
        Results(broker.bootstrap_servers, f"KNOWN_{name}") for name in ("COUNTS", "TEAMS", "LEVELS")
    )
    producer = RecordProducer(broker.bootstrap_servers, linger_ms=5)
    rng = random.Random(1)
    people: Counter[str] = Counter()
    seen: set[int] = set()
    for round_ in range(6):
        for _ in range(RECORDS):
            who, team = f"p{rng.randrange(PEOPLE)}", rng.randrange(TEAMS)
            people[who] += 1
            seen.add(team)
            producer.send_async("known_events", who.encode(), json.dumps({"team": team}).encode())
        producer.flush()
        counts.wait((round_ + 1) * RECORDS)
        teams.wait(len(seen))
        if round_ % 2:
            execute("PAUSE ALL; RESUME ALL;")
    execute("PAUSE ALL;")
    counted = {r.key.decode(): json.loads(r.value)["C"] for r in counts.records if r.key and r.value}
    assert counted == people
    assert sorted(teams.values("TEAM")) == sorted(seen)
    expected = Counter(people.values())

    def level(record: Record) -> int | None:
        return None if record.value is None else int(json.loads(record.value)["PEOPLE"])

    levels.wait(len(expected))
    levels.read_all()
    found = {json.loads(r.key or b""): level(r) for r in levels.records}
    assert {c: n for c, n in found.items() if n} == expected
