"""The queries of the folder flink on Flink: its SQL in one JVM, with a cluster of its own for each job.

Three queries are ours alone: q10 writes files and q13 reads a table of a lake, for which Flink needs other
connectors, and the results of q12 come when the clock says.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from datetime import datetime
from pathlib import Path
from string import Template
from typing import Any

import orjson
import psutil

from bench.nexmark.oracle import Row
from ksql_spark.kafka.admin import KafkaAdmin
from ksql_spark.kafka.consumer import TopicReader
from ksql_spark.services import artifacts
from ksql_spark.services.java import java_binary

FOLDER = Path(__file__).parent
QUERIES = FOLDER / "flink"
#: what Flink's own start script opens
OPENED = (
    "lang",
    "net",
    "io",
    "nio",
    "lang.reflect",
    "text",
    "time",
    "util",
    "util.concurrent",
    "util.concurrent.atomic",
)
#: the heap and checkpoints are those of ours; managed memory is RocksDB's
OPTIONS = {
    "state.backend.type": "rocksdb",
    "execution.checkpointing.interval": "30 s",
    "execution.checkpointing.mode": "AT_LEAST_ONCE",
    "pipeline.object-reuse": "true",
    "taskmanager.memory.managed.size": "1g",
    "taskmanager.memory.network.min": "256m",
    "taskmanager.memory.network.max": "256m",
    "table.local-time-zone": "UTC",
    "rest.bind-port": "0",
}
PRODUCER = "'properties.acks' = 'all', 'properties.linger.ms' = '5', 'properties.batch.size' = '131072'"


def has(query: str) -> bool:
    """Whether there is a query for Flink."""
    return (QUERIES / f"{query}.sql").exists()


class Flink:
    """Runs queries in a JVM, one after the other.

    Args:
        admin: of the broker with the events.
        folder: for checkpoints and logs.
        partitions: of topics; also the parallelism.
    """

    name = "flink"

    def __init__(self, admin: KafkaAdmin, folder: Path, partitions: int) -> None:
        self._admin, self._folder = admin, folder / "flink"
        self._folder.mkdir()
        self._partitions = partitions
        self._runs = 0
        self._topic = ""
        jars = artifacts.fetch(FOLDER / "ivy.xml", "flink", print)
        classes = artifacts.compile_java(FOLDER / "java", jars)
        settings = {
            **OPTIONS,
            "parallelism.default": str(self._partitions),
            "execution.checkpointing.dir": (self._folder / "checkpoints").as_uri(),
            "io.tmp.dirs": str(self._folder),
        }
        command = [
            str(java_binary()),
            "-Xmx4g",
            *(f"--add-opens=java.base/java.{package}=ALL-UNNAMED" for package in OPENED),
            "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED",
            *("-cp", ":".join(map(str, [classes, *jars])), "FlinkQueries"),
            *(f"{name}={value}" for name, value in settings.items()),
        ]
        self._log = self._folder / "flink.log"
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True
            )
        self._send(self._script("sources"))

    def start(self, query: str) -> None:
        """Start a query."""
        self._runs += 1
        self._topic = f"flink_{query}_{self._runs}"
        self._admin.create_topic(self._topic, self._partitions, config={"retention.ms": "-1"})
        self._send(self._script(query))

    def written(self, query: str) -> int:
        """How many records the query has written."""
        return sum(self._admin.end_offsets(self._topic).values())

    def rows(self, query: str) -> list[Row]:
        """The contents of the query's result, by column names in lower case."""
        text = (QUERIES / f"{query}.sql").read_text()
        named = re.search(r"'key.fields' = '(\w+)'", text)
        with TopicReader(self._admin.servers, self._topic) as reader:
            records = [
                (record.key or b"", record.value) for batch in reader.read_to_end() for record in batch
            ]
        if named is None:
            records = list(dict(records).items())
        rows = []
        for key, value in records:
            if value is not None:
                keys = {named[1]: int.from_bytes(key, "big")} if named else orjson.loads(key)
                fields = {**orjson.loads(value), **keys}
                rows.append({name.lower(): _plain(name, field) for name, field in fields.items()})
        return rows

    def cpu_s(self) -> float:
        """The CPU time of the JVM so far."""
        return sum(psutil.Process(self._process.pid).cpu_times()[:2])

    def stop(self, query: str) -> None:
        """Cancel the query, and remove its topic and checkpoints."""
        self._send("")
        self._admin.delete_topics([self._topic])
        shutil.rmtree(self._folder / "checkpoints", ignore_errors=True)

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(60)
        self._process.stdout.close()

    def _script(self, name: str) -> str:
        """A file of the folder flink with the options of its tables filled in."""
        servers = f"'properties.bootstrap.servers' = '{self._admin.servers}'"
        source = f"'connector' = 'kafka', {servers}, 'properties.group.id' = 'flink_{self._runs}'"
        source += ", 'scan.startup.mode' = 'earliest-offset', 'format' = 'json'"
        sink = f"{servers}, 'topic' = '{self._topic}', {PRODUCER}, 'value.format' = 'json'"
        sink += ", 'value.fields-include' = 'EXCEPT_KEY', 'sink.delivery-guarantee' = 'at-least-once'"
        text = Template((QUERIES / f"{name}.sql").read_text()).substitute(
            source=source,
            stream=f"'connector' = 'kafka', {sink}, 'key.format' = 'raw'",
            table=f"'connector' = 'upsert-kafka', {sink}, 'key.format' = 'json'",
        )
        script = self._folder / f"{name}.sql"
        script.write_text(f"DROP TABLE IF EXISTS {name};\n{text}")
        return str(script)

    def _send(self, line: str) -> None:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            raise SystemExit(f"Flink ended:\n{self._log.read_text(errors='replace')[-3000:]}")
        if answer.startswith("failed"):
            raise RuntimeError(answer.strip())


def _plain(name: str, value: Any) -> Any:
    """Times of windows as ours, in ms."""
    if name in ("starts", "ends"):
        return round(datetime.fromisoformat(f"{value}+00:00").timestamp() * 1000)
    return value
