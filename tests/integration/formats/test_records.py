"""What sinks hold, as any Kafka client sees it: bytes of keys, JSON of values, timestamps."""

from __future__ import annotations

import json
import struct
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import Consumer, TopicPartition

from ksql_spark.services.broker import EmbeddedBroker
from tests.waiting import TIMEOUT_S

pytestmark = pytest.mark.kafka


def read(servers: str, topic: str, count: int) -> list[Any]:
    """The first records of a topic of one partition, by a client that knows nothing of us."""
    consumer = Consumer({"bootstrap.servers": servers, "group.id": uuid.uuid4().hex, "log_level": 0})
    try:
        consumer.assign([TopicPartition(topic, 0, 0)])
        found: list[Any] = []
        while len(found) < count:
            messages = consumer.consume(count - len(found), timeout=TIMEOUT_S)
            assert messages, f"{len(found)} of {count} records came"
            found += messages
        return found
    finally:
        consumer.close()


def test_a_stream(
    execute: Callable[[str], Any], broker: EmbeddedBroker, topic_names: Callable[[str], str]
) -> None:
    source, sink = topic_names("in"), topic_names("out")
    execute(f"""
        CREATE STREAM plain (id INT KEY, "name" STRING, price DOUBLE, tags ARRAY<STRING>)
          WITH (KAFKA_TOPIC = '{source}', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
        CREATE STREAM copied WITH (KAFKA_TOPIC = '{sink}') AS
          SELECT id, "name", price * 2 AS price, tags FROM plain EMIT CHANGES;
        INSERT INTO plain (ROWTIME, id, "name", price, tags)
          VALUES (1700000000123, -2, 'é', 1.25, ARRAY['x']);
        INSERT INTO plain (ROWTIME, "name") VALUES (1700000000000, 'no key');
    """)
    first, second = read(broker.bootstrap_servers, sink, 2)
    assert first.key() == struct.pack(">i", -2)
    assert json.loads(first.value()) == {"name": "é", "PRICE": 2.5, "TAGS": ["x"]}
    assert first.timestamp()[1] == 1700000000123
    assert first.headers() is None
    assert second.key() is None
    assert json.loads(second.value()) == {"name": "no key", "PRICE": None, "TAGS": None}
    assert second.timestamp()[1] == 1700000000000


def test_a_windowed_table(
    execute: Callable[[str], Any], broker: EmbeddedBroker, topic_names: Callable[[str], str]
) -> None:
    source, sink = topic_names("in"), topic_names("out")
    execute(f"""
        CREATE STREAM visits (who STRING KEY, n INT)
          WITH (KAFKA_TOPIC = '{source}', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
        CREATE TABLE per_minute WITH (KAFKA_TOPIC = '{sink}') AS
          SELECT who, COUNT(*) AS visits, SUM(n) AS total FROM visits
          WINDOW TUMBLING (SIZE 1 MINUTE) GROUP BY who EMIT CHANGES;
        INSERT INTO visits (ROWTIME, who, n) VALUES (1700000000123, 'ann', 7);
        INSERT INTO visits (ROWTIME, who, n) VALUES (1700000000100, 'ann', 8);
    """)
    first, second = read(broker.bootstrap_servers, sink, 2)
    window = 1700000000123 // 60_000 * 60_000
    assert first.key() == second.key() == b"ann" + struct.pack(">q", window)
    assert json.loads(second.value()) == {"VISITS": 2, "TOTAL": 15}
    assert [m.timestamp()[1] for m in (first, second)] == [1700000000123, 1700000000123]
