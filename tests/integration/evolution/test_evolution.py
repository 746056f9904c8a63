"""Streams and tables evolve while records arrive: a table's topic is then what the new version makes of the
whole input, and each record of a stream is answered once, by the old version or by the new one."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from ksql_spark.engine import Engine
from ksql_spark.kafka.consumer import TopicReader
from ksql_spark.kafka.producer import RecordProducer
from ksql_spark.runtime.queries.differences import latest
from ksql_spark.services.broker import EmbeddedBroker
from tests.integration.answers import run
from tests.waiting import TIMEOUT_S

pytestmark = pytest.mark.kafka

PREFIX = "evolve_"
STATEMENTS = f"""
CREATE STREAM events (who STRING KEY, n BIGINT)
  WITH (KAFKA_TOPIC = '{PREFIX}events', VALUE_FORMAT = 'JSON', PARTITIONS = 2);
CREATE TABLE totals AS SELECT who, COUNT(*) AS c FROM events GROUP BY who EMIT CHANGES;
CREATE TABLE large AS SELECT who, c FROM totals WHERE c > 9 EMIT CHANGES;
"""
EVOLVE = """
CREATE OR REPLACE TABLE totals WITH (EVOLVE = 'backfill', SWAP = 'manual') AS
  SELECT who, SUM(n) AS c FROM events WHERE n % 3 > 0 GROUP BY who EMIT CHANGES;
"""
#: of each six keys the new version never has two
PEOPLE = 12


class Input:
    """Numbered events, which keep coming while ``arriving``."""

    def __init__(self, broker: EmbeddedBroker) -> None:
        self.count = 0
        self._producer = RecordProducer(broker.bootstrap_servers, linger_ms=5)

    def send(self, count: int) -> None:
        for n in range(self.count, self.count + count):
            self._producer.send_async(f"{PREFIX}events", b"p%d" % (n % PEOPLE), b'{"N": %d}' % n)
        self._producer.flush()
        self.count += count

    @contextmanager
    def arriving(self, every_s: float = 0.1) -> Iterator[None]:
        is_over = threading.Event()

        def run() -> None:
            while not is_over.wait(every_s):
                self.send(20)

        thread = threading.Thread(target=run)
        thread.start()
        try:
            yield
        finally:
            is_over.set()
            thread.join()

    def close(self) -> None:
        self._producer.close()

    def old_version(self) -> dict[str, int]:
        return dict(Counter(f"p{n % PEOPLE}" for n in range(self.count)))

    def new_version(self) -> dict[str, int]:
        sums: Counter[str] = Counter()
        for n in range(self.count):
            if n % 3:
                sums[f"p{n % PEOPLE}"] += n
        return dict(sums)


def rows(engine: Engine, topic: str) -> dict[str, int]:
    """A table's topic, folded by key."""
    admin = engine.services.admin
    with TopicReader(admin.servers, PREFIX + topic) as reader:
        found = latest(record for records in reader.read_to_end() for record in records)
    assert len({key for _, key in found}) == len(found)
    return {
        record.key.decode(): json.loads(record.value)["C"]
        for record in found.values()
        if record.key is not None and record.value is not None
    }


def until_rows(engine: Engine, topic: str, wanted: dict[str, int]) -> None:
    deadline = time.monotonic() + TIMEOUT_S
    while (found := rows(engine, topic)) != wanted:
        assert time.monotonic() < deadline, (topic, found, wanted)
        time.sleep(0.3)


def until_state(engine: Engine, state: str) -> dict[str, Any]:
    deadline = time.monotonic() + TIMEOUT_S
    while (shown := run(engine, "DESCRIBE EVOLUTION totals;"))["state"] != state:
        assert time.monotonic() < deadline and shown["state"] != "failed", shown
        time.sleep(0.5)
    return shown


@pytest.mark.parametrize(
    "guarantee", ["at_least_once", pytest.param("exactly_once_v2", marks=pytest.mark.long)]
)
def test_a_table_evolves(make_engine: Callable[..., Engine], broker: EmbeddedBroker, guarantee: str) -> None:
    config = {
        "processing.guarantee": guarantee,
        "ksql.checkpoint.interval.ms": "5000",
        "ksql.evolution.max.lag": "5000",
    }
    engine = make_engine(**config)
    run(engine, STATEMENTS)
    events = Input(broker)
    events.send(1200)
    until_rows(engine, "TOTALS", events.old_version())

    def restart() -> None:
        nonlocal engine
        engine.stop()
        engine = make_engine(**config)

    with events.arriving():
        run(engine, EVOLVE)
        restart()
        topic = until_state(engine, "caught up")["topic"]
        restart()
        deadline = time.monotonic() + TIMEOUT_S
        while (shown := until_state(engine, "caught up"))["keysRemoved"] != PEOPLE / 3:
            assert time.monotonic() < deadline, shown
            time.sleep(0.5)
        assert len(engine.services.queries.all()) == 3
        status = run(engine, "SWAP totals;")["commandStatus"]
        assert status["status"] == "SUCCESS" and "writes TOTALS from now on" in status["message"], status
    until_rows(engine, "TOTALS", events.new_version())
    until_rows(engine, "LARGE", {who: c for who, c in events.new_version().items() if c > 9})
    assert run(engine, "DESCRIBE EVOLUTION totals;")["state"] == "swapped"
    assert len(engine.services.queries.all()) == 2
    assert engine.services.admin.topic(topic) is None

    restart()
    events.send(600)
    until_rows(engine, "TOTALS", events.new_version())
    until_rows(engine, "LARGE", {who: c for who, c in events.new_version().items() if c > 9})
    events.close()


def own_topics(engine: Engine) -> set[str]:
    """The topics of this module on the broker, which others use as well."""
    return {name for name in engine.services.admin.topics() if PREFIX in name}


def test_an_automatic_swap_and_an_abort(make_engine: Callable[..., Engine], broker: EmbeddedBroker) -> None:
    engine = make_engine(**{"ksql.checkpoint.interval.ms": "5000"})
    run(engine, STATEMENTS)
    events = Input(broker)
    events.send(600)
    until_rows(engine, "TOTALS", events.old_version())
    before = own_topics(engine)
    run(engine, EVOLVE)
    run(engine, "ABORT EVOLUTION totals;")
    assert own_topics(engine) == before
    run(engine, EVOLVE.replace(", SWAP = 'manual'", ""))
    until_state(engine, "swapped")
    until_rows(engine, "TOTALS", events.new_version())
    events.close()


STREAM = """
CREATE STREAM events (who STRING KEY, n BIGINT)
  WITH (KAFKA_TOPIC = '{PREFIX}events', VALUE_FORMAT = 'JSON', PARTITIONS = 2);
CREATE STREAM numbers AS SELECT who, n AS c FROM events EMIT CHANGES;
"""
KEEP = """
CREATE OR REPLACE STREAM numbers WITH (EVOLVE = 'backfill', HISTORY = 'keep') AS
  SELECT who, -n AS c FROM events EMIT CHANGES;
"""


#: the same with state: each row has the number that its person had before
KEEP_WITH_STATE = KEEP.replace(
    "-n AS c", "-n AS c, LAG(n) OVER (PARTITION BY who ORDER BY ROWTIME) AS before"
)


def values(engine: Engine, topic: str) -> list[dict[str, int]]:
    """What a stream's topic holds, for readers of committed records."""
    admin = engine.services.admin
    with TopicReader(admin.servers, PREFIX + topic) as reader:
        found = [record.value for records in reader.read_to_end() for record in records]
    return [json.loads(value) for value in found if value is not None]


@pytest.mark.parametrize("keep", [KEEP, KEEP_WITH_STATE])
@pytest.mark.parametrize(
    "guarantee", ["at_least_once", pytest.param("exactly_once_v2", marks=pytest.mark.long)]
)
def test_a_stream_evolves(
    make_engine: Callable[..., Engine], broker: EmbeddedBroker, guarantee: str, keep: str
) -> None:
    config = {"processing.guarantee": guarantee, "ksql.checkpoint.interval.ms": "5000"}
    engine = make_engine(**config)
    run(engine, STREAM.replace("{PREFIX}", PREFIX))
    events = Input(broker)
    events.send(300)

    def until_answered() -> list[int]:
        deadline = time.monotonic() + TIMEOUT_S
        while len(found := [row["C"] for row in values(engine, "NUMBERS")]) < events.count:
            assert time.monotonic() < deadline, (len(found), events.count)
            time.sleep(0.3)
        assert sorted(map(abs, found)) == list(range(events.count))
        return found

    until_answered()
    with events.arriving():
        status = run(engine, keep)["commandStatus"]
        assert status["status"] == "SUCCESS", status
        engine.stop()
        engine = make_engine(**config)
    events.send(300)
    found = until_answered()
    switched = min(abs(value) for value in found if value < 0)
    # in each partition the new version follows the old one; both have the numbers in turn
    assert 300 <= switched < events.count - 300
    assert sum(value > 0 for value in found) > 250
    for row in values(engine, "NUMBERS"):
        assert "BEFORE" not in row or row["BEFORE"] == -row["C"] - PEOPLE
    events.close()


@pytest.mark.long
@pytest.mark.parametrize(
    "guarantee", ["at_least_once", pytest.param("exactly_once_v2", marks=pytest.mark.long)]
)
def test_statements_while_many_records_arrive(
    make_engine: Callable[..., Engine], broker: EmbeddedBroker, guarantee: str
) -> None:
    """ABORT EVOLUTION, ROLLBACK and UNDROP with about 1,000 records a second: nothing is missing or repeated.

    A table is what its last version makes of all records, and so is a stream, whatever came in between.
    """
    engine = make_engine(**{"processing.guarantee": guarantee, "ksql.checkpoint.interval.ms": "5000"})
    run(engine, STATEMENTS)
    run(engine, "CREATE STREAM numbers AS SELECT who, n AS c FROM events EMIT CHANGES;")
    events = Input(broker)
    events.send(1000)
    until_rows(engine, "TOTALS", events.old_version())

    def more(count: int) -> None:
        """Wait until so many more records have come."""
        end = events.count + count
        deadline = time.monotonic() + TIMEOUT_S
        while events.count < end:
            assert time.monotonic() < deadline
            time.sleep(0.1)

    def succeeds(statement: str) -> None:
        status = run(engine, statement)["commandStatus"]
        assert status["status"] == "SUCCESS", status

    with events.arriving(0.02):
        # an abortion while the new version still reads, and one that has caught up
        run(engine, EVOLVE)
        more(1000)
        succeeds("ABORT EVOLUTION totals;")
        assert run(engine, "DESCRIBE EVOLUTION totals;")["state"] == "aborted"
        run(engine, EVOLVE)
        until_state(engine, "caught up")
        succeeds("ABORT EVOLUTION totals;")
        more(1000)
    until_rows(engine, "TOTALS", events.old_version())

    with events.arriving(0.02):
        run(engine, EVOLVE.replace(", SWAP = 'manual'", ""))
        until_state(engine, "swapped")
        more(1000)
        succeeds("ROLLBACK totals;")
        until_state(engine, "swapped")
        more(1000)
    until_rows(engine, "TOTALS", events.old_version())
    until_rows(engine, "LARGE", {who: c for who, c in events.old_version().items() if c > 9})

    with events.arriving(0.02):
        succeeds("DROP STREAM numbers;")
        succeeds("DROP TABLE large;")
        succeeds("DROP TABLE totals;")
        more(1000)
        succeeds("UNDROP STREAM numbers;")
        succeeds("UNDROP TABLE totals;")
        succeeds("UNDROP TABLE large;")
        more(2000)
    until_rows(engine, "TOTALS", events.old_version())
    until_rows(engine, "LARGE", {who: c for who, c in events.old_version().items() if c > 9})
    deadline = time.monotonic() + TIMEOUT_S
    while len(found := [row["C"] for row in values(engine, "NUMBERS")]) < events.count:
        assert time.monotonic() < deadline, (len(found), events.count)
        time.sleep(0.3)
    assert sorted(found) == list(range(events.count))
    events.close()
