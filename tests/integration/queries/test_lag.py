"""What waits for a query is told while it waits, and no longer."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from confluent_kafka import Producer

from ksql_spark.engine import Engine, metrics
from ksql_spark.engine.request import Request
from ksql_spark.kafka.consumer import TopicReader
from ksql_spark.services.broker import EmbeddedBroker
from tests.waiting import TIMEOUT_S, until

pytestmark = pytest.mark.kafka

PREFIX = "lag_"
STATEMENTS = f"""
CREATE STREAM s (k STRING KEY, v INT) WITH (KAFKA_TOPIC = '{PREFIX}s', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE TABLE t (k STRING PRIMARY KEY, v INT) WITH (KAFKA_TOPIC = '{PREFIX}s', VALUE_FORMAT = 'JSON');
CREATE STREAM j AS SELECT s.k, t.v FROM s JOIN t ON s.k = t.k;
"""


def test_a_micro_batch_that_is_over_leaves_nothing_waiting(
    make_engine: Callable[[], Engine], broker: EmbeddedBroker
) -> None:
    engine = make_engine()
    engine.execute(Request(STATEMENTS, {"auto.offset.reset": "earliest"}))  # it reads a topic twice
    admin, count, deadline = engine.services.admin, 0, time.monotonic() + TIMEOUT_S
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "transactional.id": f"{PREFIX}x"})
    producer.init_transactions(TIMEOUT_S)
    with TopicReader(admin.servers, f"{PREFIX}J") as written:
        for lot in (1, 2):
            producer.begin_transaction()
            for key in "abc":
                producer.produce(f"{PREFIX}s", b'{"V": 1}', key)
            producer.commit_transaction(TIMEOUT_S)
            while count < 3 * lot:
                assert time.monotonic() < deadline
                count += len(written.poll_batch(0.5))
    (query,) = engine.services.queries.all()
    until(lambda: engine.services.queries.figures.traffic()[query.id].waiting_ms is None)


def test_records_that_a_query_has_read_are_no_lag_before_its_checkpoint(
    make_engine: Callable[..., Engine], broker: EmbeddedBroker
) -> None:
    engine = make_engine(**{"ksql.checkpoint.interval.ms": "600000"})
    engine.execute(Request(
        f"""
        CREATE STREAM o (k STRING KEY, v INT)
          WITH (KAFKA_TOPIC = '{PREFIX}o', VALUE_FORMAT = 'JSON', PARTITIONS = 2);
        CREATE STREAM p WITH (KAFKA_TOPIC = '{PREFIX}p') AS SELECT * FROM o;
        """,
        {"auto.offset.reset": "earliest"},
    ))  # fmt: skip
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    for key in "abcdef":
        producer.produce(f"{PREFIX}o", b'{"V": 1}', key)
    assert producer.flush(TIMEOUT_S) == 0
    deadline, count = time.monotonic() + TIMEOUT_S, 0
    with TopicReader(engine.services.admin.servers, f"{PREFIX}p") as written:
        while count < 6:
            assert time.monotonic() < deadline
            count += len(written.poll_batch(0.5))
    (query,) = engine.services.queries.all()
    committed = engine.services.queries.checkpoints.committed_offsets(query)
    assert sum(committed.get(f"{PREFIX}o", {}).values()) == 0
    until(lambda: lag(engine) == 0)


def lag(engine: Engine) -> float | None:
    """The lag of all queries."""
    found = [value for measure, _, value in engine.figures() if measure is metrics.LAG]
    return sum(value for value in found if isinstance(value, float | int)) if found else None
