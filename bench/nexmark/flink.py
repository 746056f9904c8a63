"""The queries of the folder flink on Flink: its SQL in one JVM, with a cluster of its own for each job.

Three queries are ours alone: q10 writes files and q13 reads a table of a lake, for which Flink needs other
connectors, and the results of q12 come when the clock says.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from string import Template
from typing import Any

import orjson

from bench.nexmark.oracle import Row
from bench.nexmark.outside import Outside
from ksql_spark.kafka.admin import KafkaAdmin
from ksql_spark.kafka.consumer import Record
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
#: rows are joined into batches of two seconds, and DISTINCT is split by value
MINI_BATCH = {
    "table.exec.mini-batch.enabled": "true",
    "table.exec.mini-batch.size": "50000",
    "table.optimizer.distinct-agg.split.enabled": "true",
}
PRODUCER = "'properties.acks' = 'all', 'properties.linger.ms' = '5', 'properties.batch.size' = '131072'"


class Flink(Outside):
    """Runs queries in a JVM, one after the other.

    Args:
        admin: of the broker with the events.
        folder: for checkpoints and logs.
        partitions: of topics; also the parallelism.
        every_s: the seconds of a mini-batch; 0 without.
    """

    name = "flink"

    def __init__(self, admin: KafkaAdmin, folder: Path, partitions: int, every_s: int = 0) -> None:
        super().__init__(admin, folder, partitions)
        self._every = MINI_BATCH | {"table.exec.mini-batch.allow-latency": f"{every_s} s"} if every_s else {}
        self._launch({})

    def _launch(self, more: dict[str, str]) -> None:
        jars = artifacts.fetch(FOLDER / "ivy.xml", "flink", print)
        classes = artifacts.compile_java(FOLDER / "java", jars)
        settings = {
            **OPTIONS,
            **self._every,
            **more,
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
            self._jvm = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True
            )
        self._send(self._script("sources"))

    @property
    def _process(self) -> subprocess.Popen[str]:
        return self._jvm

    @staticmethod
    def has(query: str) -> bool:
        """Whether there is a query for Flink."""
        return (QUERIES / f"{query}.sql").exists()

    def start(self, query: str) -> None:
        """Start a query."""
        self._create_topic(query)
        self._send(self._script(query))

    def is_table(self, query: str) -> bool:
        """Whether the last record of a key replaces earlier ones."""
        return self._key(query) is None

    def _key(self, query: str) -> str | None:
        named = re.search(r"'key.fields' = '(\w+)'", (QUERIES / f"{query}.sql").read_text())
        return named and named[1]

    def decode(self, query: str, record: Record) -> Iterator[Row]:
        """The row of a record of the query's result."""
        if record.value is not None:
            named, key = self._key(query), record.key or b""
            keys = {named: int.from_bytes(key, "big")} if named else orjson.loads(key)
            fields = {**orjson.loads(record.value), **keys}
            row = {name.lower(): _plain(name, field) for name, field in fields.items()}
            yield row | {"written_ms": record.timestamp_ms}

    def kill(self, query: str) -> None:
        """Kill the JVM, and run the query in another one from its last checkpoint."""
        self._jvm.kill()
        self._jvm.wait()
        checkpoints = (self._folder / "checkpoints").glob("*/chk-*/_metadata")
        last = max(checkpoints, key=lambda path: path.stat().st_mtime).parent
        self._launch({"execution.state-recovery.path": last.as_uri()})
        self._send(self._script(query))

    def stop(self, query: str) -> None:
        """Cancel the query, and remove its topic and checkpoints."""
        self._send("")
        self._admin.delete_topics([self._topic])
        shutil.rmtree(self._folder / "checkpoints", ignore_errors=True)

    def close(self) -> None:
        """End the process."""
        assert self._jvm.stdin is not None and self._jvm.stdout is not None
        self._jvm.stdin.close()
        self._jvm.wait(60)
        self._jvm.stdout.close()

    def _script(self, name: str) -> str:
        """A file of the folder flink with the options of its tables filled in."""
        servers = f"'properties.bootstrap.servers' = '{self._admin.servers}'"
        source = f"'connector' = 'kafka', {servers}, 'properties.group.id' = '{self._folder.name}'"
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
        assert self._jvm.stdin is not None and self._jvm.stdout is not None
        self._jvm.stdin.write(line + "\n")
        self._jvm.stdin.flush()
        answer = self._jvm.stdout.readline()
        if not answer:
            raise SystemExit(f"Flink ended:\n{self._log.read_text(errors='replace')[-3000:]}")
        if answer.startswith("failed"):
            raise RuntimeError(answer.strip())


def _plain(name: str, value: Any) -> Any:
    """Times of windows as ours, in ms."""
    if name in ("starts", "ends"):
        return round(datetime.fromisoformat(f"{value}+00:00").timestamp() * 1000)
    return value
