"""A cluster of librdkafka's own, in this process: topics, records and offsets, without Java.

It knows no topic ids and no descriptions of topics, which MockAdmin makes up.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from confluent_kafka import Producer

from ksql_spark.kafka.admin import KafkaAdmin, Partition, Topic
from ksql_spark.kafka.consumer import EndOffsets

#: of each of its topics
PARTITIONS = 4


class MockCluster:
    """A cluster with one broker, while the object lives; topics come into being when they are written to."""

    def __init__(self) -> None:
        self._producer = Producer(
            {"test.mock.num.brokers": 1, "bootstrap.servers": "none", "log_level": 0, "linger.ms": 0}
        )
        (broker,) = self._producer.list_topics(timeout=10).brokers.values()
        self.servers = f"{broker.host}:{broker.port}"

    def create(self, *topics: str) -> None:
        """Create topics."""
        for topic in topics:
            self._producer.list_topics(topic, timeout=10)

    def write(self, topic: str, *records: tuple[bytes | None, bytes | None], partition: int = 0) -> None:
        """Write keys and values."""
        for key, value in records:
            self._producer.produce(topic, value, key, partition)
        assert self._producer.flush(10) == 0


class MockAdmin(KafkaAdmin):
    """Its administrator; ``ids`` may be changed, as if a topic had been made anew."""

    def __init__(self, cluster: MockCluster) -> None:
        # the mock broker does not answer a waiting fetch when a record comes
        super().__init__(cluster.servers, {"fetch.wait.max.ms": 5})
        self.ids: dict[str, str] = {}
        #: the first offset of each partition of a topic
        self.first: dict[str, int] = {}
        self.configs: dict[str, dict[str, str]] = {}
        self._ends = EndOffsets(self.servers, self.settings)

    def topic_id(self, name: str) -> str | None:
        return self.ids.get(name, name)

    def topic(self, name: str) -> Topic | None:
        return Topic(name, (1,) * PARTITIONS)

    def config(self, topic: str) -> dict[str, str]:
        return self.configs.get(topic, {"cleanup.policy": "compact", "delete.retention.ms": "86400000"})

    def beginning_offsets(self, *topics: str) -> dict[Partition, int]:
        return {key: self.first.get(key[0], 0) for key in self.end_offsets(*topics)}

    def end_offsets(self, *topics: str) -> dict[Partition, int]:
        return self._ends.of(topics)

    def topics(self) -> dict[str, Topic]:
        return {}

    def create_topic(self, name: str, *_: Any, **__: Any) -> None:
        pass

    def delete_topics(self, names: Iterable[str]) -> None:
        pass

    def close(self) -> None:
        self._ends.close()
