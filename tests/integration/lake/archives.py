"""A stream with an archive, the queries over it, its records, and what retention and compaction remove."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Collection
from typing import Any

from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

from ksql_spark.kafka.producer import RecordProducer
from tests.integration.server_process import ServerProcess

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


def positions(server: ServerProcess, sink: str = "kept") -> dict[int, int]:
    """How far a sink's table is: partition -> offset."""
    (told,) = server.execute(f"DESCRIBE SINK {sink};")
    return {place["partition"]: place["offset"] for place in told["positions"]}


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

    def sums(self, lost: Collection[int] = ()) -> list[tuple[Any, ...]]:
        """Count and sum of each key, without those of ``lost``."""
        left = [(key, n) for key, n, _ in self.sent if n not in lost]
        counts, sums = Counter(key for key, _ in left), Counter[str]()
        for key, n in left:
            sums[key] += n
        return [(key, counts[key], sums[key]) for key in counts]

    def windows(self) -> list[tuple[Any, ...]]:
        hours = Counter((key, time_ms - time_ms % 3_600_000) for key, _, time_ms in self.sent)
        return [(key, hour, n) for (key, hour), n in hours.items()]


EARLIEST = "SET 'auto.offset.reset' = 'earliest';"
STREAM = "(k STRING KEY, n INT) WITH (KAFKA_TOPIC='{topic}', KEY_FORMAT='KAFKA', VALUE_FORMAT='JSON'{more})"
SUMS = "SELECT k, COUNT(*) AS c, SUM(n) AS s FROM trips GROUP BY k EMIT CHANGES"
HOURS = "SELECT k, COUNT(*) AS c FROM trips WINDOW TUMBLING (SIZE 1 HOUR, GRACE PERIOD 2 HOURS) GROUP BY k"


def archiving(topic: str, path: object, partitions: int = 2, *, of: str = "") -> str:
    """Statements that keep an archive of a topic, which is made: the stream RAW and the sink KEPT."""
    return (
        f"CREATE STREAM raw{of} {STREAM.format(topic=topic, more=f', PARTITIONS={partitions}')};"
        f"{kept(path, of=of)}"
    )


def kept(path: object, *, of: str = "") -> str:
    """The statement that keeps an archive of the stream RAW."""
    return (
        f"CREATE SINK kept{of} FROM raw{of} WITH (TYPE='parquet', PATH='{path}', ARCHIVE=true,"
        " COMMIT_INTERVAL='20 milliseconds');"
    )


def archived(topic: str, path: object, name: str = "trips") -> str:
    """The statement that reads a topic and its archive."""
    archive = f", ARCHIVE='{path}'"
    return f"CREATE STREAM {name} {STREAM.format(topic=topic, more=archive)};"
