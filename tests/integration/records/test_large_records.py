"""A record that is too large for its sink is left out and reported; those around it are written, once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ksql_spark.engine import Engine
from ksql_spark.kafka.admin import KafkaAdmin
from ksql_spark.kafka.consumer import TopicReader
from ksql_spark.kafka.producer import RecordProducer

pytestmark = pytest.mark.kafka


def test_a_record_that_the_sink_does_not_take(
    execute: Callable[[str], Any],
    engine: Engine,
    kafka_admin: KafkaAdmin,
    topic_names: Callable[[str], str],
) -> None:
    source, sink = topic_names("in"), topic_names("out")
    execute(f"""
        CREATE STREAM texts (k STRING KEY, v STRING)
          WITH (KAFKA_TOPIC = '{source}', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
        CREATE STREAM longer WITH (KAFKA_TOPIC = '{sink}') AS
          SELECT k, REPLACE(v, 'x', 'xxxxxxxxxx') AS v FROM texts EMIT CHANGES;""")
    producer = RecordProducer(kafka_admin.servers)
    for key, text in (("a", "x"), ("b", "x" * 200_000), ("c", "x")):
        producer.send(source, key.encode(), b'{"V": "%s"}' % text.encode(), 1)
    producer.close()
    keys: list[bytes | None] = []
    with TopicReader(kafka_admin.servers, sink) as reader:
        for _ in range(600):
            keys += [record.key for record in reader.poll_batch(0.1)]
            if b"c" in keys:
                break
    assert keys == [b"a", b"c"]
    (query,) = [q for q in engine.services.queries.all() if q.plan.sink.topic == sink]
    assert query.state == "RUNNING"
    assert engine.services.queries.figures.counts(query.id).failed == 1
