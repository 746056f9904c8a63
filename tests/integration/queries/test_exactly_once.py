"""Exactly once: a reader of committed records sees each result once, whatever stops or crashes."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from ksql_spark.engine import Engine, Request
from ksql_spark.kafka.admin import KafkaAdmin
from ksql_spark.kafka.consumer import EndOffsets, TopicReader
from ksql_spark.kafka.producer import RecordProducer
from ksql_spark.services.broker import EmbeddedBroker
from tests.integration.queries.exactly_once import World
from tests.integration.queries.exactly_once_checks import FEW
from tests.waiting import TIMEOUT_S

pytestmark = pytest.mark.kafka

PREFIX = "once_"
EVENTS = """
CREATE STREAM events (who STRING KEY, n INT)
  WITH (KAFKA_TOPIC = 'once_events', VALUE_FORMAT = 'JSON', PARTITIONS = 2);
"""
COPIES = "CREATE STREAM copies AS SELECT who, n FROM events EMIT CHANGES;"
COUNTS = "CREATE TABLE counts AS SELECT who, COUNT(*) AS c FROM events GROUP BY who EMIT CHANGES;"
ONCE = {"processing.guarantee": "exactly_once_v2"}
PEOPLE = 10


class Bench:
    """Engines that follow one another, and what they read and write."""

    def __init__(self, make_engine: Callable[[], Engine], servers: str) -> None:
        self._make_engine = make_engine
        self._servers = servers
        self._producer = RecordProducer(servers, linger_ms=5)
        self.engine = make_engine()

    def run(self, text: str, **properties: Any) -> list[Any]:
        return self.engine.execute(Request(text, {"auto.offset.reset": "earliest", **properties}))

    def restart(self) -> None:
        self.engine.stop()
        self.start()

    def start(self) -> None:
        self.engine = self._make_engine()

    def produce(self, numbers: Iterable[int]) -> None:
        for n in numbers:
            self._producer.send_async("once_events", b"p%d" % (n % PEOPLE), b'{"n": %d}' % n)
        self._producer.flush()

    def values(self, topic: str, count: int) -> list[dict[str, Any]]:
        """The committed values of a topic, once there are so many, and all that are there then."""
        found: list[dict[str, Any]] = []
        with TopicReader(self._servers, PREFIX + topic) as reader:
            while len(found) < count:
                batch = reader.poll_batch(TIMEOUT_S)
                assert batch, f"{len(found)} of {count} records came to {topic}"
                found += [json.loads(record.value or b"null") for record in batch]
            for batch in reader.read_to_end():
                found += [json.loads(record.value or b"null") for record in batch]
        return found

    def has_open_transactions(self, topic: str) -> bool:
        """Whether readers of committed records wait for one at a topic's end."""
        ends = KafkaAdmin(self._servers).end_offsets(PREFIX + topic)
        committed = EndOffsets(self._servers)
        try:
            return committed.of([PREFIX + topic]) != ends
        finally:
            committed.close()


@pytest.fixture
def bench(make_engine: Callable[[], Engine], broker: EmbeddedBroker) -> Bench:
    return Bench(make_engine, broker.bootstrap_servers)


def checkpoint(bench: Bench, tmp_path: Path, name: str) -> Path:
    """The folder of the checkpoint of the query that writes ``name``."""
    (query,) = [q for q in bench.engine.services.queries.all() if q.plan.sink.name == name]
    return tmp_path / "checkpoints" / query.id / "0"


def test_what_crashes_between_a_transaction_and_its_checkpoint(bench: Bench, tmp_path: Path) -> None:
    bench.run(EVENTS)
    bench.run(COPIES, **ONCE)
    bench.run(COUNTS, **ONCE)
    folders = [checkpoint(bench, tmp_path, name) for name in ("COPIES", "COUNTS")]
    for produced in (100, 200, 300):
        bench.produce(range(produced - 100, produced))
        bench.values("COPIES", produced)
        bench.values("COUNTS", produced)
        bench.engine.stop()
        for folder in folders:
            # the results of the last batch are visible, and the server was killed before it wrote that down
            last = max(int(path.name) for path in (folder / "commits").glob("[0-9]*"))
            (folder / "commits" / str(last)).unlink()
            if produced == 200:
                (folder / "offsets" / str(last)).unlink()
        bench.start()
    bench.produce(range(300, 310))
    copies, counts = bench.values("COPIES", 310), bench.values("COUNTS", 310)
    assert Counter(value["N"] for value in copies) == Counter(range(310))
    assert Counter(value["C"] for value in counts) == Counter({c: PEOPLE for c in range(1, 32)})


@pytest.mark.long
def test_planned_stops_leave_no_transaction_open(bench: Bench) -> None:
    bench.run(EVENTS)
    bench.run(COPIES, **ONCE)
    # another query with transactions in the same topic
    bench.run(
        "INSERT INTO copies SELECT who, n + 1000000 AS n FROM events WHERE n % 2 = 0 EMIT CHANGES;", **ONCE
    )
    replaced = "CREATE OR REPLACE STREAM again AS SELECT who, n FROM events WHERE n > {} EMIT CHANGES;"
    bench.run(replaced.format(-1), **ONCE)
    produced = 0
    for stop in ("PAUSE ALL; RESUME ALL;", "restart", replaced.format(-2), "restart"):
        bench.produce(range(produced, produced + 200))
        produced += 200
        bench.values("COPIES", produced // 2)  # some are done, others on their way
        if stop == "restart":
            bench.restart()
        else:
            bench.run(stop, **ONCE)
    every = [*range(produced), *range(1_000_000, 1_000_000 + produced, 2)]
    assert Counter(value["N"] for value in bench.values("COPIES", len(every))) == Counter(every)
    assert Counter(value["N"] for value in bench.values("AGAIN", produced)) == Counter(range(produced))
    bench.produce(range(produced, produced + 2000))
    bench.run("TERMINATE ALL;")
    assert not bench.has_open_transactions("COPIES")
    topics = KafkaAdmin(bench.engine.services.admin.servers).topics()
    assert not [name for name in topics if name.endswith("-commits") and PREFIX in name]


def test_a_topic_that_is_made_again_and_state_that_is_computed_anew(bench: Bench, tmp_path: Path) -> None:
    bench.run(EVENTS)
    bench.run(COPIES, **ONCE)
    folder = checkpoint(bench, tmp_path, "COPIES")
    bench.produce(range(100))
    bench.values("COPIES", 100)
    bench.engine.stop()
    last = max(int(path.name) for path in (folder / "commits").glob("[0-9]*"))
    (folder / "commits" / str(last)).unlink()  # the server was killed before it wrote it
    admin = KafkaAdmin(bench.engine.services.admin.servers)
    admin.delete_topics(["once_events"])
    admin.create_topic("once_events", 2, 1)
    bench.start()
    bench.produce(range(100, 150))
    assert Counter(value["N"] for value in bench.values("COPIES", 150)) == Counter(range(150))
    bench.engine.rebuild_state(folder.parent.name)
    again = Counter(value["N"] for value in bench.values("COPIES", 200))
    assert again == Counter(range(150)) + Counter(range(100, 150))
    assert not bench.has_open_transactions("COPIES")


def test_a_query_whose_guarantee_changes(bench: Bench) -> None:
    bench.run(EVENTS)
    text = "CREATE OR REPLACE STREAM copies AS SELECT who, n FROM events WHERE n > {} EMIT CHANGES;"
    produced = 0
    for i, guarantee in enumerate(("at_least_once", "exactly_once_v2", "at_least_once", "exactly_once_v2")):
        bench.run(text.format(-1 - i), **{"processing.guarantee": guarantee})
        (shown,) = bench.run("SHOW QUERIES;")
        assert [query.processing_guarantee for query in shown.queries] == [guarantee]
        bench.produce(range(produced, produced + 100))
        produced += 100
        copies = bench.values("COPIES", produced)
        assert Counter(value["N"] for value in copies) == Counter(range(produced))


def test_what_users_see_of_it(bench: Bench) -> None:
    bench.run(EVENTS)
    bench.run(COUNTS, **ONCE)
    bench.produce(range(100))
    bench.values("COUNTS", 100)
    (query,) = bench.engine.services.queries.all()
    (explained,) = bench.run(f"EXPLAIN {query.id};")
    shown = explained.query_description
    assert shown.processing_guarantee == "exactly_once_v2"
    assert "Guarantee: exactly_once_v2; readers" in shown.execution_plan
    # the view and its end offsets are of committed records; a transaction's marker has an offset, too
    pulled = bench.engine.query(Request("SELECT who, c FROM counts WHERE who = 'p3';"))
    rows = pulled.read(30)
    assert rows is not None and [row.values for row in rows] == [["p3", 10]]
    # a push query needs no transactions
    (explained,) = bench.run("EXPLAIN SELECT who FROM events EMIT CHANGES;", **ONCE)
    assert explained.query_description.processing_guarantee == "at_least_once"


@pytest.mark.long
def test_nothing_is_lost_or_repeated(tmp_path: Path) -> None:
    """A short run of ``make exactly-once``."""
    with (
        EmbeddedBroker(tmp_path / "kafka", port=0) as own,
        World(tmp_path, own.bootstrap_servers, FEW, seed=5, report=print) as world,
    ):
        world.start(rate=200)
        world.kill()
        world.stop()
        world.kill()
        assert world.wrong() == []
