"""What is paused or stopped as planned goes on without writing anything twice."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable

import pytest

from ksql_spark.engine import Engine, Request
from ksql_spark.kafka.consumer import Record, TopicReader
from ksql_spark.kafka.producer import RecordProducer
from ksql_spark.services.broker import EmbeddedBroker
from tests.waiting import TIMEOUT_S

pytestmark = pytest.mark.kafka

PREFIX = "stops_"
#: real time without and with state, two sub-topologies, micro-batches
STATEMENTS = """
CREATE STREAM events (who STRING KEY, n INT)
  WITH (KAFKA_TOPIC = 'stops_events', VALUE_FORMAT = 'JSON', PARTITIONS = 2);
CREATE STREAM copies AS SELECT who, n FROM events EMIT CHANGES;
CREATE TABLE counts AS SELECT who, COUNT(*) AS c FROM events GROUP BY who EMIT CHANGES;
CREATE TABLE by_count AS SELECT c, COUNT(*) AS people FROM counts GROUP BY c EMIT CHANGES;
SET 'ksql.execution.mode' = 'microbatch';
CREATE STREAM slow_copies AS SELECT who, n FROM events EMIT CHANGES;
"""
PEOPLE = 10


class Topic:
    """A topic, read from its beginning."""

    def __init__(self, servers: str, name: str) -> None:
        self.records: list[Record] = []
        self._reader = TopicReader(servers, PREFIX + name)

    def wait(self, count: int) -> None:
        """Wait until there are so many records."""
        while len(self.records) < count:
            batch = self._reader.poll_batch(TIMEOUT_S)
            assert batch, f"{len(self.records)} of {count} records came"
            self.records += batch

    def all(self) -> list[Record]:
        """All records that are there now."""
        for batch in self._reader.read_to_end():
            self.records += batch
        return self.records


def run(engine: Engine, text: str) -> None:
    engine.execute(Request(text, {"auto.offset.reset": "earliest"}))


@pytest.mark.long
def test_nothing_is_written_twice(make_engine: Callable[[], Engine], broker: EmbeddedBroker) -> None:
    servers = broker.bootstrap_servers
    engine = make_engine()
    run(engine, STATEMENTS)
    copies, counts, slow = (Topic(servers, name) for name in ("COPIES", "COUNTS", "SLOW_COPIES"))
    producer = RecordProducer(servers, linger_ms=5)

    def produce(numbers: Iterable[int]) -> None:
        for n in numbers:
            producer.send_async("stops_events", b"p%d" % (n % PEOPLE), b'{"n": %d}' % n)
        producer.flush()

    def pause_and_resume() -> None:
        run(engine, "PAUSE ALL;")
        run(engine, "RESUME ALL;")

    def restart() -> None:
        nonlocal engine
        engine.stop()
        engine = make_engine()

    produced = 0
    for stop in (pause_and_resume, pause_and_resume, restart, pause_and_resume, restart):
        # some are done, others on their way when it stops
        produce(range(produced, produced + 300))
        produced += 300
        for topic in (copies, counts, slow):
            topic.wait(produced - 250)
        stop()
    for topic in (copies, counts, slow):
        topic.wait(produced)
    run(engine, "TERMINATE ALL;")
    restart()
    assert not engine.services.queries.all()
    for topic in (copies, slow):
        assert Counter(n(record) for record in topic.all()) == Counter(range(produced))
    changes = [(record.key, c(record)) for record in counts.all()]
    assert Counter(changes) == Counter(
        (b"p%d" % p, count) for p in range(PEOPLE) for count in range(1, produced // PEOPLE + 1)
    )


def n(record: Record) -> int:
    assert record.value is not None
    return int(json.loads(record.value)["N"])


def c(record: Record) -> int:
    assert record.value is not None
    return int(json.loads(record.value)["C"])
