"""Servers of one cluster, each a process of its own; records for their queries, and what comes of them."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from ksql_spark.kafka.consumer import TopicReader
from ksql_spark.kafka.producer import RecordProducer
from tests.integration.server_process import ROOT, ServerProcess
from tests.waiting import TIMEOUT_S

PREFIX = "server_loss_"
TABLES = [f"t{n}" for n in range(3)]
SOURCE = (
    f"CREATE STREAM e (k STRING KEY, n INT) WITH (KAFKA_TOPIC='{PREFIX}e', VALUE_FORMAT='JSON',"
    " PARTITIONS=1);"
)


def server(folder: Path, name: str, broker: str, *, root: Path = ROOT, **more: str) -> ServerProcess:
    """Start a server with properties ``more``, of the code in ``root``."""
    properties = folder / f"{name}.properties"
    lines = {
        "bootstrap.servers": broker,
        "ksql.service.id": PREFIX,
        "ksql.output.topic.name.prefix": PREFIX,
        "ksql.cluster.enabled": "true",
        "ksql.state.dir": (folder / "state").as_uri(),
        "ksql.advertised.listener": f"http://{name}:8088",
        "ksql.spark.memory": "1g",
        "ksql.spark.warm.up.enabled": "false",
        "ksql.checkpoint.interval.ms": "5000",
        "ksql.streams.auto.offset.reset": "earliest",
        **more,
    }
    properties.write_text("".join(f"{key}={value}\n" for key, value in lines.items()))
    environment = {"PYTHONPATH": str(root)}
    return ServerProcess(folder / name, "--properties", str(properties), environment=environment, root=root)


def produce(broker: str, numbers: Iterable[int], topic: str = "e") -> None:
    with contextlib.closing(RecordProducer(broker, linger_ms=5)) as producer:
        send(producer, numbers, topic)


def send(producer: RecordProducer, numbers: Iterable[int], topic: str) -> None:
    for n in numbers:
        producer.send_async(f"{PREFIX}{topic}", b"k%d" % (n % 10), json.dumps({"n": n}).encode())
    producer.flush()


def hosts(server: ServerProcess) -> dict[str, str | None]:
    """Query -> the host that runs it."""
    (answer,) = server.execute("SHOW QUERIES;")
    return {row["id"]: row.get("host") if row["state"] == "RUNNING" else None for row in answer["queries"]}


def are_right(server: ServerProcess, count: int, tables: Iterable[str] = TABLES) -> bool:
    """Whether the tables are what ``count`` records make of them; more than that is an error at once."""
    right = Counter(f"k{n % 10}" for n in range(count))
    for table in tables:
        counts = {key: counted for key, counted in server.rows(f"SELECT k, c FROM {table};")}
        over = {key: counted for key, counted in counts.items() if counted > right[key]}
        assert not over, (table, over)
        if counts != right:
            return False
    return True


class Feed:
    """Writes records to some topics, in small pieces, until it is left.

    Args:
        broker: addresses of Kafka.
        topics: without the prefix; each gets the same records.
    """

    PIECE, PAUSE_S = 100, 0.2

    def __init__(self, broker: str, topics: Iterable[str]) -> None:
        self._broker, self._topics = broker, list(topics)
        self._stopping = threading.Event()
        #: how many records each topic has
        self.count = 0
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Feed:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Write no more."""
        self._stopping.set()
        self._thread.join()

    def _run(self) -> None:
        with contextlib.closing(RecordProducer(self._broker, linger_ms=5)) as producer:
            while not self._stopping.wait(self.PAUSE_S):
                for topic in self._topics:
                    send(producer, range(self.count, self.count + self.PIECE), topic)
                self.count += self.PIECE


def check_copy(broker: str, name: str, count: int) -> None:
    """Each of the first ``count`` records is in a stream once, in order."""
    numbers: list[int] = []
    deadline = time.monotonic() + TIMEOUT_S
    with TopicReader(broker, f"{PREFIX}{name.upper()}") as reader:
        while len(numbers) < count:
            assert time.monotonic() < deadline, (name, len(numbers), count)
            numbers += [json.loads(record.value or b"{}")["N"] for record in reader.poll_batch(0.5)]
    assert numbers == list(range(count)), name
