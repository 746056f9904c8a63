"""Some of the queries by hand for Kafka Streams: Nexmark.java."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from subprocess import Popen

import orjson

from bench.kafka_streams_process import StreamsProcess
from bench.nexmark.oracle import Row
from bench.nexmark.outside import Outside
from ksql_spark.kafka.admin import KafkaAdmin
from ksql_spark.kafka.consumer import Record

#: whether each query's last record of a key replaces earlier ones
IS_TABLE = {"q0": False, "q3": False, "q5": True, "q8": True, "q11": True, "q17": True}


class KafkaStreams(Outside):
    """Runs queries in a JVM, one after the other."""

    name = "kafka-streams"

    def __init__(self, admin: KafkaAdmin, folder: Path, partitions: int) -> None:
        super().__init__(admin, folder, partitions)
        self._launch()

    def _launch(self) -> None:
        self._jvm = StreamsProcess("Nexmark", self._admin.servers, self._folder / "log")

    @property
    def _process(self) -> Popen[str]:
        return self._jvm.process

    @staticmethod
    def has(query: str) -> bool:
        """Whether there is a query for Kafka Streams."""
        return query in IS_TABLE

    def is_table(self, query: str) -> bool:
        """Whether the last record of a key replaces earlier ones."""
        return IS_TABLE[query]

    def start(self, query: str) -> None:
        """Start a query."""
        self._create_topic(query)
        self._run(query)

    def _run(self, query: str) -> None:
        self._stop = self._jvm.start(query, self._topic, self._folder / self._topic)

    def decode(self, query: str, record: Record) -> Iterator[Row]:
        """The rows of a record of the query's result: several where auctions share a window."""
        if record.value is None:
            return
        row = {name.lower(): value for name, value in orjson.loads(record.value).items()}
        if query == "q17":
            row |= orjson.loads(record.key or b"{}")
        row["written_ms"] = record.timestamp_ms
        for auction in row.pop("auctions", [row.get("auction")]):
            yield row | {"auction": auction}

    def kill(self, query: str) -> None:
        """Kill the JVM, remove its state, and run the query in another one: it restores the changelog."""
        self._process.kill()
        self._process.wait()
        shutil.rmtree(self._folder / self._topic)
        self._launch()
        self._run(query)

    def stop(self, query: str) -> None:
        """Close the query, and remove its topics and state."""
        self._stop()
        made = [name for name in self._admin.topics() if name.startswith(self._topic)]
        self._admin.delete_topics(made)
        shutil.rmtree(self._folder / self._topic, ignore_errors=True)

    def close(self) -> None:
        """End the process."""
        self._jvm.close()
