"""Does anything grow, stall, or get lost? Runs queries under load while others are created and dropped.

    python bench/soak.py [--seconds 600] [--queries 20] [--rate 2000] [--pause 0]
                         [--clients 10]

Half of --queries are stateless, half COUNT and SUM by key; --rate records a second go to their inputs in
turn. Meanwhile a loop makes a stateless and a stateful query, sends records, reads a push query and a pull
query, drops all of it, and pauses. Each round brings --clients push clients of the loaded streams, which go a
round later. After each round: resident memory (MB) and threads of the server's Python and of Spark's JVM,
open descriptors of both, files in the data folder without the broker's, their size (MB), and topics; the
longest time that a record of the load has taken from its input to the reader of its result
(ms), and how many took longer than a second. At the end: how these numbers changed between --settle seconds
after the start and the end, and how many records got no result or several.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import multiprocessing
import os
import statistics
import tempfile
import threading
import time
import uuid
from pathlib import Path
from typing import Any

import psutil
from confluent_kafka import Consumer, Producer, TopicPartition

from ksql_spark.config import Config
from ksql_spark.engine import Engine, Request

LOADED = (
    "CREATE STREAM i{n} (k STRING KEY, number BIGINT, sent BIGINT)"
    " WITH (KAFKA_TOPIC = 'i{n}', VALUE_FORMAT = 'JSON', PARTITIONS = 1);",
    "CREATE STREAM o{n} WITH (KAFKA_TOPIC = 'o{n}') AS SELECT k, number, sent FROM i{n} EMIT CHANGES;",
    "CREATE TABLE o{n} WITH (KAFKA_TOPIC = 'o{n}') AS"
    " SELECT k, COUNT(*) AS c, SUM(number) AS total, MAX(sent) AS sent FROM i{n} GROUP BY k EMIT CHANGES;",
)
MAKE = """
CREATE STREAM s (k STRING KEY, v INT) WITH (KAFKA_TOPIC = 's', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE STREAM a AS SELECT k, v + 1 AS w FROM s EMIT CHANGES;
CREATE TABLE t AS SELECT k, COUNT(*) AS n FROM s GROUP BY k EMIT CHANGES;
INSERT INTO s VALUES ('a', 1);
INSERT INTO s VALUES ('b', 2);
"""
DROP = "DROP TABLE t DELETE TOPIC; DROP STREAM a DELETE TOPIC; DROP STREAM s DELETE TOPIC;"
PUSH = "SELECT k, v FROM s EMIT CHANGES LIMIT 2;"
#: what clients that come and go ask: plain, shared, and with a query of Spark of their own
PUSHED = (
    "SELECT * FROM i{n} EMIT CHANGES;",
    "SELECT k, number + 1 AS m FROM i{n} WHERE number % 2 = 0 EMIT CHANGES;",
    "SELECT k, COUNT(*) AS c FROM i{n} GROUP BY k EMIT CHANGES;",
)
PULL = "SELECT n FROM t WHERE k = 'a';"
SIZES = ("py MB", "jvm MB", "py thr", "jvm thr", "py fd", "jvm fd", "files", "files MB", "topics")
COLUMNS = ("seconds", "round", *SIZES, "max ms", "> 1 s")
KEYS = 100
TIMEOUT_S = 120.0
#: a record that takes longer has met a stall, seconds
STALL_S = 1.0


class Load:
    """Sends records to i0, i1 … in turn, and reads the results, in a process of its own.

    Args:
        servers: of Kafka.
        queries: how many inputs there are.
        rate: records a second, for all of them.
    """

    def __init__(self, servers: str, queries: int, rate: float) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_load, args=(theirs, servers, queries, rate), daemon=True)
        self._process.start()
        self._pipe.recv()

    def look(self) -> tuple[float, int]:
        """The longest time of a record since the last call, in ms, and how many took longer than a second."""
        self._pipe.send("look")
        found: tuple[float, int] = self._pipe.recv()
        return found

    def end(self) -> tuple[int, int]:
        """Send no more, wait for results; how many records were sent, and how many results came."""
        self._pipe.send("end")
        found: tuple[int, int] = self._pipe.recv()
        self._process.join()
        return found


def _load(pipe: Any, servers: str, queries: int, rate: float) -> None:
    """The process of a Load."""
    producer = Producer({"bootstrap.servers": servers, "enable.idempotence": True, "log_level": 0})
    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": uuid.uuid4().hex,
            "enable.auto.commit": False,
            "fetch.queue.backoff.ms": 2,
            "log_level": 0,
        }
    )
    consumer.assign([TopicPartition(f"o{n}", 0, 0) for n in range(queries)])
    for name in (f"i{n}" for n in range(queries)):  # the broker has made them a moment ago
        while producer.list_topics(name, TIMEOUT_S).topics[name].error is not None:
            time.sleep(0.1)
    sent, came, longest, stalled = 0, 0, 0.0, 0
    is_ending = threading.Event()

    def send() -> None:
        nonlocal sent
        began = time.time()
        while not is_ending.is_set():
            while sent < (time.time() - began) * rate:
                value = {"NUMBER": sent, "SENT": time.time_ns() // 1000}
                producer.produce(f"i{sent % queries}", json.dumps(value).encode(), b"%d" % (sent % KEYS))
                sent += 1
            producer.poll(0.005)
        producer.flush(60)

    sender = threading.Thread(target=send)
    sender.start()
    pipe.send("running")
    deadline = float("inf")
    while time.monotonic() < deadline and (sender.is_alive() or came < sent):
        for message in consumer.consume(1000, 0.05):
            if not message.error():
                took = time.time() - json.loads(message.value() or b"")["SENT"] / 1e6
                came, longest, stalled = came + 1, max(longest, took), stalled + (took > STALL_S)
        if not pipe.poll():
            continue
        if pipe.recv() == "look":
            pipe.send((longest * 1000, stalled))
            longest, stalled = 0.0, 0
        else:
            is_ending.set()
            deadline = time.monotonic() + TIMEOUT_S
    sender.join()
    pipe.send((sent, came))
    consumer.close()


def rows(engine: Engine, text: str) -> int:
    """How many rows a query that ends has."""
    stream = engine.query(Request(text, {"auto.offset.reset": "earliest"}))
    count = 0
    try:
        while (found := stream.read(0.5)) is not None:
            count += len(found)
    finally:
        stream.close()
    return count


def one_round(engine: Engine) -> None:
    """Make, use and drop everything."""
    engine.execute(Request(MAKE, {"auto.offset.reset": "earliest"}))
    assert rows(engine, PUSH) == 2
    deadline = time.monotonic() + TIMEOUT_S
    while rows(engine, PULL) == 0:
        assert time.monotonic() < deadline, "the table has no row"
    engine.execute(Request(DROP))


class Clients:
    """Push clients, of which each round brings some and takes those of the round before.

    Args:
        count: how many a round brings; every tenth has a query of Spark of its own.
        queries: how many inputs there are.
    """

    def __init__(self, engine: Engine, count: int, queries: int) -> None:
        self._engine, self._count, self._queries = engine, count, queries
        self._open: list[Any] = []
        self.came = 0

    def change(self) -> None:
        """Open, read a little, and close those of the round before."""
        fresh = []
        for _ in range(self._count):
            text = PUSHED[2 if self.came % 10 == 9 else self.came % 2].format(n=self.came % self._queries)
            fresh.append(self._engine.query(Request(text, {"auto.offset.reset": "latest"})))
            self.came += 1
        for each in fresh[::2]:  # the others never read
            each.read(0.1)
        self.close()
        self._open = fresh

    def close(self) -> None:
        """Let all go."""
        for each in self._open:
            each.close()
        self._open = []


def measured(engine: Engine, folder: Path) -> list[float]:
    """What there is now, as SIZES says."""
    own, jvm = psutil.Process(), psutil.Process(engine.services.spark.process.pid)
    sizes = []
    for path, folders, files in os.walk(folder):
        if Path(path) == folder:
            folders.remove("kafka")
        for name in files:
            with contextlib.suppress(OSError):  # removed meanwhile
                sizes.append((Path(path) / name).stat().st_size)
    processes = (own, jvm)
    return [
        *(p.memory_info().rss / 1e6 for p in processes),
        *(p.num_threads() for p in processes),
        *(p.num_fds() for p in processes),
        len(sizes),
        sum(sizes) / 1e6,
        len(engine.services.admin.topics()),
    ]


def changes(found: list[tuple[float, list[float]]], settle_s: float) -> str:
    """How the sizes changed from the first third after ``settle_s`` to the last third, in percent."""
    settled = [sizes for second, sizes in found if second >= settle_s]
    third = max(1, len(settled) // 3)
    if len(settled) < 2:
        return "too short to say what grows"
    texts = []
    for name, first, last in zip(
        SIZES, zip(*settled[:third], strict=True), zip(*settled[-third:], strict=True), strict=True
    ):
        before, after = statistics.median(first), statistics.median(last)
        texts.append(
            f"{name} {before:.0f} -> {after:.0f} ({(after / before - 1) * 100 if before else 0:+.0f} %)"
        )
    return ", ".join(texts)


def main() -> None:
    """Run rounds for the given time."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--settle", type=float, help="default: a third of --seconds, 600 at the most")
    parser.add_argument("--queries", type=int, default=20)
    parser.add_argument("--rate", type=float, default=2000.0)
    parser.add_argument("--pause", type=float, default=0.0, help="seconds from one round to the next")
    parser.add_argument("--clients", type=int, default=10, help="push clients that come and go in a round")
    parser.add_argument("--memory", default="2g", help="heap of Spark's JVM")
    options = parser.parse_args()
    settle_s = options.settle if options.settle is not None else min(600.0, options.seconds / 3)
    with tempfile.TemporaryDirectory(prefix="soak-") as name:
        engine = Engine(Config({"ksql.spark.data.dir": name, "ksql.spark.memory": options.memory}))
        try:
            engine.start(lambda line: print(line, flush=True))
            source, stream, table = LOADED
            for n in range(options.queries):
                text = source + (stream, table)[n % 2]
                engine.execute(Request(text.format(n=n), {"auto.offset.reset": "earliest"}))
            load = Load(engine.services.admin.servers, options.queries, options.rate)
            clients = Clients(engine, options.clients, options.queries)
            began, number, found = time.monotonic(), 0, list[tuple[float, list[float]]]()
            print(" ".join(f"{column:>8}" for column in COLUMNS), flush=True)
            while (second := time.monotonic() - began) < options.seconds:
                number += 1
                one_round(engine)
                clients.change()
                found.append((second, measured(engine, Path(name))))
                values = (second, number, *found[-1][1], *load.look())
                print(" ".join(f"{value:8.0f}" for value in values), flush=True)
                time.sleep(options.pause)
            clients.close()
            sent, came = load.end()
            print(changes(found, settle_s))
            print(f"{sent:,} records, {came:,} results, {number} rounds, {clients.came} push clients")
        finally:
            engine.stop()


if __name__ == "__main__":
    main()
