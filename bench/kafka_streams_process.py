"""Programs for Kafka Streams, compiled and run in a JVM of their own."""

from __future__ import annotations

import os
import subprocess
import urllib.request
from collections.abc import Callable
from pathlib import Path

from ksql_spark.services import artifacts, cache, java

SOURCES = Path(__file__).parent / "kafka_streams"
JARS = (
    "org/apache/kafka/kafka-streams/4.3.1/kafka-streams-4.3.1.jar",
    "org/rocksdb/rocksdbjni/10.1.3/rocksdbjni-10.1.3.jar",
)


def classpath() -> str:
    """Classpath of our compiled Kafka Streams program and its jars: those of the broker and two more."""
    needed = list(artifacts.jars("broker"))
    for path in JARS:
        jar = cache.cache_dir() / "bench" / Path(path).name
        if not jar.exists():
            jar.parent.mkdir(parents=True, exist_ok=True)
            part, _ = urllib.request.urlretrieve(artifacts.repository() + path, f"{jar}.part")
            os.replace(part, jar)
        needed.append(jar)
    return os.pathsep.join(map(str, [artifacts.compile_java(SOURCES, needed), *needed]))


class StreamsProcess:
    """A JVM that runs queries for Kafka Streams, one after another.

    Args:
        program: a class in the folder ``kafka_streams``.
        servers: ``host:port`` pairs, separated by commas.
        log: the file for what it has to say.
    """

    def __init__(self, program: str, servers: str, log: Path) -> None:
        command = [str(java.java_binary()), "-Xmx4g", "-cp", classpath(), program, servers]
        with log.open("wb") as file:
            self.process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=file, text=True
            )
        self._log = log

    def start(self, *words: object) -> Callable[[], None]:
        """Start a query, which these words tell the program; returns a function that stops it."""
        self._ask(" ".join(map(str, words)))
        return lambda: self._ask("")

    def _ask(self, line: str) -> None:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        if not self.process.stdout.readline():
            raise SystemExit(f"Kafka Streams ended:\n{self._log.read_text(errors='replace')[-2000:]}")

    def close(self) -> None:
        """End the process."""
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.close()
        self.process.wait(60)
        self.process.stdout.close()
