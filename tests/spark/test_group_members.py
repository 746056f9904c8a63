"""Static members of Kafka's groups: Kafka forgets one at once when it is told to, and not before."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import Consumer
from py4j.protocol import Py4JJavaError

from ksql_spark.kafka.admin import KafkaAdmin
from ksql_spark.spark.jvm import remove_member
from ksql_spark.spark.session import SparkProcess
from tests.waiting import TIMEOUT_S

pytestmark = pytest.mark.kafka

#: Kafka would forget a member by itself only after that; a test that waits for it fails, seconds
SESSION_S = 240.0


def member(admin: KafkaAdmin, group: str, name: str, topic: str) -> Consumer:
    """A static member of a group; with partitions once assigned() has returned."""
    consumer = Consumer(
        {
            "bootstrap.servers": admin.servers,
            "group.id": group,
            "group.instance.id": name,
            "client.id": name,
            "session.timeout.ms": int(SESSION_S * 1000),
        }
    )
    consumer.subscribe([topic])
    return consumer


def assigned(consumer: Consumer) -> set[int]:
    """The partitions that a member has, once it has some."""
    deadline = time.monotonic() + TIMEOUT_S
    while not consumer.assignment():
        assert time.monotonic() < deadline
        consumer.poll(0.1)
    return {place.partition for place in consumer.assignment()}


def test_a_removed_member_leaves_its_partitions_at_once(
    kafka_admin: KafkaAdmin, spark_process: SparkProcess, topic_names: Callable[[str], str]
) -> None:
    topic, group = topic_names("members"), f"members_{uuid.uuid4().hex[:8]}"
    kafka_admin.create_topic(topic, 2)
    first = member(kafka_admin, group, "first", topic)
    try:
        assert assigned(first) == {0, 1}
    finally:
        first.close()  # a static member does not leave: it may be back
    assert kafka_admin.members(group) == ["first"]
    session: Any = spark_process.session
    remove_member(session, {"bootstrap.servers": kafka_admin.servers}, group, "first")
    assert kafka_admin.members(group) == []
    second = member(kafka_admin, group, "second", topic)
    try:
        assert assigned(second) == {0, 1}
    finally:
        second.close()
    with pytest.raises(Py4JJavaError, match="UnknownMemberId"):
        remove_member(session, {"bootstrap.servers": kafka_admin.servers}, group, "first")
