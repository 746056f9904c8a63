"""A stream with an archive, the queries over it, its records, and what retention and compaction remove."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

from ksql_spark.kafka.producer import RecordProducer

START_MS = 1_767_225_600_000  # 2026


def remove(servers: str, topic: str, ends: dict[int, int]) -> None:
    """What retention does: remove the records before these offsets."""
    admin = AdminClient({"bootstrap.servers": servers})
    for done in admin.delete_records([TopicPartition(topic, p, end) for p, end in ends.items()]).values():
        done.result()


def configure(servers: str, topic: str, values: dict[str, str]) -> None:
    """Change a topic's configuration."""
    entries = [
        ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
        for name, value in values.items()
    ]
    resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=entries)
    admin = AdminClient({"bootstrap.servers": servers})
    admin.incremental_alter_configs([resource])[resource].result()


class Records:
    """Records of a topic, which are sent in the order of their times."""

    def __init__(self, servers: str, topic: str, seed: int) -> None:
        self._producer = RecordProducer(servers)
        self.topic, self._choose = topic, random.Random(seed)
        self.sent: list[tuple[str, int, int]] = []

    def send(self, count: int) -> None:
        for _ in range(count):
            key, n = f"k{self._choose.randrange(5)}", len(self.sent)
            time_ms = START_MS + n * 40_000 + self._choose.randrange(30_000)
            self._producer.send_async(self.topic, key.encode(), f'{{"N": {n}}}'.encode(), time_ms)
            self.sent.append((key, n, time_ms))
        self._producer.flush()

    def moved(self, servers: str) -> Records:
        """Go on where a cluster is elsewhere now."""
        self._producer = RecordProducer(servers)
        return self

    def sums(self) -> list[tuple[Any, ...]]:
        counts, sums = Counter(k for k, _, _ in self.sent), Counter[str]()
        for key, n, _ in self.sent:
            sums[key] += n
        return [(key, counts[key], sums[key]) for key in counts]

    def windows(self) -> list[tuple[Any, ...]]:
        hours = Counter((key, time_ms - time_ms % 3_600_000) for key, _, time_ms in self.sent)
        return [(key, hour, n) for (key, hour), n in hours.items()]


STREAM = "(k STRING KEY, n INT) WITH (KAFKA_TOPIC='{topic}', KEY_FORMAT='KAFKA', VALUE_FORMAT='JSON'{more})"
SUMS = "SELECT k, COUNT(*) AS c, SUM(n) AS s FROM trips GROUP BY k EMIT CHANGES"
HOURS = "SELECT k, COUNT(*) AS c FROM trips WINDOW TUMBLING (SIZE 1 HOUR, GRACE PERIOD 2 HOURS) GROUP BY k"
