"""Whether RecordLimits knows what a broker refuses."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from ksql_spark.errors import KsqlError
from ksql_spark.kafka.admin import KafkaAdmin
from ksql_spark.kafka.producer import RecordProducer
from ksql_spark.kafka.record_limits import Record, RecordLimits

NOW_MS = int(time.time() * 1000)
#: a run may take hours: NOW_MS is that of its beginning
DAY_MS = 24 * 3600 * 1000
LIMITED = {"message.timestamp.before.max.ms": str(DAY_MS), "message.timestamp.after.max.ms": str(DAY_MS)}
SMALL = {"max.message.bytes": "5000"}


@pytest.mark.kafka
@pytest.mark.parametrize(
    ("config", "taken", "refused"),
    [
        ({"cleanup.policy": "compact"}, (b"k", None, NOW_MS), (None, b"v", NOW_MS)),
        ({"cleanup.policy": "compact,delete"}, (b"k", None, NOW_MS), (None, b"v", NOW_MS)),
        (SMALL, (b"k", b"x" * 4929, NOW_MS), (b"k", b"x" * 4930, NOW_MS)),
        (SMALL, (None, b"x" * 4930, NOW_MS), (None, b"x" * 4931, NOW_MS)),
        ({}, (b"k", b"x" * 999_963, NOW_MS), (b"k", b"x" * 999_964, NOW_MS)),
        (LIMITED, (b"k", b"v", NOW_MS - DAY_MS // 2), (b"k", b"v", NOW_MS - 2 * DAY_MS)),
        (LIMITED, (b"k", b"v", NOW_MS + DAY_MS // 2), (b"k", b"v", NOW_MS + 2 * DAY_MS)),
        ({**LIMITED, "message.timestamp.type": "LogAppendTime"}, (b"k", b"v", NOW_MS + 2 * DAY_MS), None),
    ],
)
def test_it_refuses_what_the_broker_refuses(
    config: dict[str, str],
    taken: Record,
    refused: Record | None,
    kafka_admin: KafkaAdmin,
    topic_names: Callable[[str], str],
) -> None:
    topic, producer = topic_names("limits"), RecordProducer(kafka_admin.servers)
    kafka_admin.create_topic(topic, config=config)
    limits = RecordLimits.of(topic, kafka_admin)
    try:
        limits.check(taken, NOW_MS)
        producer.send(topic, *taken)
        if refused is not None:
            with pytest.raises(ValueError, match=topic):
                limits.check(refused, NOW_MS)
            with pytest.raises(KsqlError, match="Kafka refused to write"):
                producer.send(topic, *refused)
    finally:
        producer.close()


@pytest.mark.kafka
def test_each_part_fits_a_batch(kafka_admin: KafkaAdmin, topic_names: Callable[[str], str]) -> None:
    topic, producer = topic_names("parts"), RecordProducer(kafka_admin.servers)
    kafka_admin.create_topic(topic, config=SMALL)
    records = [(b"k", b"x" * size, NOW_MS) for size in (*range(1, 100), *range(4800, 4930, 10))]
    limits = RecordLimits.of(topic, kafka_admin)
    parts = list(limits.parts(records))
    for part in parts:
        producer.send_all(topic, part)
    producer.close()
    assert [record for part in parts for record in part] == records
    assert kafka_admin.end_offsets(topic) == {(topic, 0): len(records)} and len(parts) < 20
