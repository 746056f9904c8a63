"""Partitions that a topic gets while it is read, on the shared broker."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewPartitions

from ksql_spark.kafka import consumer
from ksql_spark.kafka.admin import KafkaAdmin
from ksql_spark.kafka.consumer import EndOffsets, TopicReader
from ksql_spark.metastore.sources import TABLE, DataSource, FormatSpec
from ksql_spark.runtime.reading.topic_feeds import Feeds, Subscription
from ksql_spark.runtime.reading.views import Views
from ksql_spark.schema import Column, Role, Schema
from ksql_spark.types import STRING
from tests.waiting import until

pytestmark = pytest.mark.kafka

SOON_S = 60.0


@pytest.fixture(autouse=True)
def looks_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(consumer, "PARTITIONS_EVERY_S", 0.1)
    monkeypatch.setattr(EndOffsets, "KNOWN_S", 0.1)


class GrowingTopic:
    """A topic that begins with one partition."""

    def __init__(self, admin: KafkaAdmin, name: str) -> None:
        self.name = name
        self._admin = admin
        self._producer = Producer({"bootstrap.servers": admin.servers})
        admin.create_topic(name)

    def write(self, value: bytes, partition: int) -> None:
        """Write a record whose key is its value."""
        while partition not in self._producer.list_topics(self.name).topics[self.name].partitions:
            pass  # a producer knows only the partitions that the broker has told it of
        self._producer.produce(self.name, value, value, partition)
        assert self._producer.flush(SOON_S) == 0

    def grow(self, partitions: int) -> None:
        """Let it have so many partitions."""
        client = AdminClient({"bootstrap.servers": self._admin.servers, "log_level": 0})
        for future in client.create_partitions([NewPartitions(self.name, partitions)]).values():
            future.result()
        until(lambda: self._admin.require_topic(self.name).partitions >= partitions)


@pytest.fixture
def topic(kafka_admin: KafkaAdmin, topic_names: Callable[[str], str]) -> Iterator[GrowingTopic]:
    yield GrowingTopic(kafka_admin, topic_names("grows"))


def values(read: Callable[[], list[bytes]], count: int) -> list[bytes]:
    """The next ``count`` values that ``read`` returns."""
    found: list[bytes] = []
    deadline = time.monotonic() + SOON_S
    while len(found) < count:
        assert time.monotonic() < deadline, found
        found += read()
    return sorted(found)


def test_a_reader_reads_them_from_their_beginning(kafka_admin: KafkaAdmin, topic: GrowingTopic) -> None:
    topic.write(b"old", 0)
    with TopicReader(kafka_admin.servers, topic.name, "latest") as reader:
        topic.grow(3)
        for partition in range(3):
            topic.write(b"new%d" % partition, partition)

        def read() -> list[bytes]:
            return [record.value or b"" for record in reader.poll_batch(0.1)]

        assert values(read, 3) == [b"new0", b"new1", b"new2"]
        assert reader.positions == {0: 2, 1: 1, 2: 1}
        assert reader.starts == {0: 1, 1: 0, 2: 0}


def test_a_view_has_their_rows(kafka_admin: KafkaAdmin, topic: GrowingTopic, tmp_path: Path) -> None:
    columns = (Column("K", STRING, Role.KEY), Column("V", STRING, Role.VALUE))
    format_ = FormatSpec("KAFKA")
    table = DataSource("T", TABLE, Schema(columns), topic.name, format_, format_, is_sink=True)
    views = Views(kafka_admin, tmp_path)
    try:
        topic.write(b"old", 0)
        assert [row.key for row in views.current(table, SOON_S).scan()] == [b"old"]
        topic.grow(2)
        topic.write(b"new", 1)
        while views.ends([topic.name])[topic.name] != {0: 1, 1: 1}:
            pass
        assert [row.key for row in views.current(table, SOON_S).scan()] == [b"new", b"old"]
    finally:
        views.close()


def test_push_queries_get_their_records(kafka_admin: KafkaAdmin, topic: GrowingTopic) -> None:
    feeds = Feeds(kafka_admin, 256 * 1024 * 1024)

    def subscribed(starts: dict[int, int]) -> Subscription:
        return feeds.subscribe(topic.name, starts, read_committed=True, from_now=True)

    def read(subscription: Subscription) -> list[bytes]:
        return [r.value or b"" for batch in subscription.read(0.1) for r in batch.records]

    before = subscribed({0: 0})
    try:
        topic.grow(2)
        topic.write(b"new", 1)
        assert values(lambda: read(before), 1) == [b"new"]
        assert before.next == {0: 0, 1: 1}
        after = subscribed({0: 0, 1: 0})
        assert after.is_live and values(lambda: read(after), 1) == [b"new"]
        topic.write(b"newer", 1)
        assert values(lambda: read(before), 1) == values(lambda: read(after), 1) == [b"newer"]
        before.close()
        after.close()
    finally:
        feeds.close()
