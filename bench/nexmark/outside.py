"""What the engines have in common that run in a process beside ours: topics for results, and a folder."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from subprocess import Popen

import psutil

from bench.nexmark.oracle import Row
from ksql_spark.kafka.admin import KafkaAdmin
from ksql_spark.kafka.consumer import Record, TopicReader


def records(servers: str, topic: str) -> Iterator[Record]:
    """All records that a topic has now."""
    with TopicReader(servers, topic) as reader:
        for batch in reader.read_to_end():
            yield from batch


class Outside:
    """Runs queries in a JVM, one after the other.

    Args:
        admin: of the broker with the events.
        folder: for state and logs.
        partitions: of topics.
    """

    name: str

    def __init__(self, admin: KafkaAdmin, folder: Path, partitions: int) -> None:
        self._admin, self._partitions = admin, partitions
        self._folder = Path(tempfile.mkdtemp(prefix=f"{self.name}-", dir=folder))
        self._runs = 0
        self._topic = ""

    @property
    def _process(self) -> Popen[str]:
        raise NotImplementedError

    def is_table(self, query: str) -> bool:
        """Whether the last record of a key replaces earlier ones."""
        raise NotImplementedError

    def decode(self, query: str, record: Record) -> Iterator[Row]:
        """The rows of a record of the query's result."""
        raise NotImplementedError

    def _create_topic(self, query: str) -> None:
        self._runs += 1
        self._topic = f"{self.name}_{query}_{self._runs}"
        self._admin.create_topic(self._topic, self._partitions, config={"retention.ms": "-1"})

    def topic(self, query: str) -> str:
        """The topic of the query's result."""
        return self._topic

    def written(self, query: str) -> int:
        """How many records the query has written."""
        return sum(self._admin.end_offsets(self._topic).values())

    def rows(self, query: str, every_change: bool = False) -> list[Row]:
        """The contents of the query's result, by column names in lower case; of tables also earlier ones."""
        found = records(self._admin.servers, self._topic)
        if self.is_table(query) and not every_change:
            found = iter({record.key: record for record in found}.values())
        return [row for record in found for row in self.decode(query, record)]

    def cpu_s(self) -> float:
        """The CPU time of the JVM so far."""
        return sum(psutil.Process(self._process.pid).cpu_times()[:2])
