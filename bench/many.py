"""Many queries on one server: start, idle cost, latency under a small load, restart.

    python bench/many.py [--queries 1,20,100] [--partitions 1] [--seconds 60] [--rate 500]
                         [--kinds stateless,aggregate]

    # what aggregates cost while idle
    python bench/many.py --queries 10,20,100 --partitions 1,2,12 --kinds aggregate

For each number of queries, in one server process that goes on (half of the queries stateless, half COUNT and
SUM by key, over topics of --partitions; a new server for each number of partitions):

* how long the new queries took to start, one statement after the other,
* CPU (cores), resident memory (MB) and threads of the server's processes (Python and Spark's JVM; the broker
  apart) while nothing arrives, over --seconds,
* for the last number: latency of records that arrive at --rate in all, spread over all queries' inputs: the
  p50 of each --step seconds from the first load on, then all that came after the first --settle seconds,
* for the last number: the server is stopped and started again; how long until every query answers.

The aim: 20 queries in at most 0.2 core and 1.2 GB, 6 mcore for each further one, and 100 queries with
p50 <= 50 ms at 500 records/s.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import threading
import time
import uuid

import psutil
from confluent_kafka import Consumer, Producer, TopicPartition

from ksql_spark.config import Config
from ksql_spark.engine import Engine, Request

STATEMENTS = {
    "stateless": "CREATE STREAM o{n} WITH (KAFKA_TOPIC = 'o{n}') AS"
    " SELECT k, n * 2 AS n, sent FROM i{n} WHERE n >= 0 EMIT CHANGES;",
    "aggregate": "CREATE TABLE o{n} WITH (KAFKA_TOPIC = 'o{n}') AS"
    " SELECT k, COUNT(*) AS c, SUM(n) AS total, MAX(sent) AS sent FROM i{n} GROUP BY k EMIT CHANGES;",
}
SOURCE = (
    "CREATE STREAM i{n} (k STRING, n BIGINT, sent BIGINT)"
    " WITH (KAFKA_TOPIC = 'i{n}', PARTITIONS = {partitions}, VALUE_FORMAT = 'JSON');"
)
KEYS = 100


class Processes:
    """CPU and memory of this process and the JVMs it started."""

    def __init__(self) -> None:
        self._own = psutil.Process()

    def _members(self) -> dict[str, list[psutil.Process]]:
        found: dict[str, list[psutil.Process]] = {"server": [self._own], "broker": []}
        for child in self._own.children(recursive=True):
            command = " ".join(child.cmdline())
            found["broker" if "kafka.Kafka" in command else "server"].append(child)
        return found

    def cpu_s(self, group: str) -> float:
        """CPU seconds used so far."""
        return sum(sum(p.cpu_times()[:2]) for p in self._members()[group])

    def memory_mb(self, group: str) -> float:
        """Resident memory."""
        return sum(p.memory_info().rss for p in self._members()[group]) / 1e6

    def threads(self) -> int:
        """Threads of the server's processes."""
        return sum(p.num_threads() for p in self._members()["server"])


class Probe:
    """Sends records to i0 … in turn and receives what the queries write."""

    def __init__(self, servers: str, count: int) -> None:
        self._producer = Producer({"bootstrap.servers": servers, "linger.ms": 0, "acks": 1})
        self._consumer = Consumer(
            {
                "bootstrap.servers": servers,
                "group.id": uuid.uuid4().hex,
                "enable.auto.commit": False,
                "fetch.queue.backoff.ms": 2,
            }
        )
        self._count = count
        partitions = [
            TopicPartition(f"o{n}", p)
            for n in range(count)
            for p in self._consumer.list_topics(f"o{n}").topics[f"o{n}"].partitions
        ]
        for partition in partitions:
            partition.offset = self._consumer.get_watermark_offsets(partition)[1]
        self._consumer.assign(partitions)
        #: number of the query -> (sent, received), epoch seconds
        self.received: dict[int, list[tuple[float, float]]] = {n: [] for n in range(count)}
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._receive, daemon=True)
        self._thread.start()

    def _receive(self) -> None:
        while not self._stopping.is_set():
            message = self._consumer.poll(0.2)
            if message is None or message.error() or message.value() is None:
                continue
            now = time.time()
            sent = json.loads(message.value())["SENT"] / 1e6
            self.received[int(str(message.topic())[1:])].append((sent, now))

    def send(self, number: int) -> None:
        """Send record ``number`` to the next topic in turn."""
        key = str(number % KEYS)
        body = {"k": key, "n": number, "sent": time.time_ns() // 1000}
        self._producer.produce(f"i{number % self._count}", json.dumps(body).encode(), key.encode())
        self._producer.poll(0)

    def send_for(self, seconds: float, rate: float) -> int:
        """Send at ``rate`` records a second in all; returns how many."""
        began = time.time()
        total = int(seconds * rate)
        for number in range(total):
            while (wait := began + number / rate - time.time()) > 0:
                time.sleep(wait)
            self.send(number)
        self._producer.flush(10)
        return total

    def wait_for_all(self, timeout_s: float) -> float:
        """Send to every query until each has answered since now; returns the seconds that took."""
        began = time.time()
        number = 0
        while time.time() - began < timeout_s:
            silent = [n for n, pairs in self.received.items() if not any(r >= began for _, r in pairs[-5:])]
            if not silent:
                return time.time() - began
            for n in silent:
                number += 1
                self.send(n + self._count * number)
            time.sleep(0.25)
        raise SystemExit(f"{len(silent)} queries do not answer: {silent[:10]}")

    def close(self) -> None:
        """Stop receiving."""
        self._producer.flush(10)
        self._stopping.set()
        self._thread.join()
        self._consumer.close()


def start_queries(
    engine: Engine, first: int, last: int, partitions: int, options: argparse.Namespace
) -> float:
    """Start queries number ``first`` to ``last`` - 1; returns the seconds that took."""
    kinds = options.kinds.split(",")
    for n in range(first, last):
        engine.execute(Request(SOURCE.format(n=n, partitions=partitions)))
    began = time.monotonic()
    for n in range(first, last):
        text = STATEMENTS[kinds[n % len(kinds)]].format(n=n)
        engine.execute(Request(text, {"auto.offset.reset": "earliest"}))
    return time.monotonic() - began


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--queries", default="1,20,100", help="numbers of queries (default 1,20,100)")
    parser.add_argument("--seconds", type=float, default=60, help="how long each is measured (default 60)")
    parser.add_argument("--settle", type=float, default=20, help="seconds of rest before (default 20)")
    parser.add_argument(
        "--wait", type=float, default=0, help="seconds before the first query: 15 for a server that warmed up"
    )
    parser.add_argument("--rate", type=float, default=500, help="records per second in all (default 500)")
    parser.add_argument("--kinds", default="stateless,aggregate", help="taken in turn")
    parser.add_argument(
        "--partitions", default="1", help="of each topic, with commas between numbers (default 1)"
    )
    parser.add_argument(
        "--step", type=float, default=10, help="seconds of load with a p50 of their own (default 10)"
    )
    parser.add_argument("--property", action="append", default=[], help="NAME=VALUE of the server")
    parser.add_argument("--no-load", action="store_true", help="only the idle cost")
    options = parser.parse_args()
    for partitions in options.partitions.split(","):
        _measure(int(partitions), options)


def _measure(partitions: int, options: argparse.Namespace) -> None:
    """All there is to measure over topics of so many partitions, on a server of its own."""
    numbers = [int(n) for n in options.queries.split(",")]
    print(f"{partitions} partition{'s' if partitions > 1 else ''}", flush=True)
    with tempfile.TemporaryDirectory(prefix="ksql-spark-many-", ignore_cleanup_errors=True) as folder:
        properties = dict(p.split("=", 1) for p in options.property)
        config = Config({"ksql.spark.data.dir": folder, **properties})
        engine = Engine(config)
        try:
            engine.start(lambda text: None)
            time.sleep(options.wait)
            _idle(engine, numbers, partitions, options)
            if not options.no_load:
                _load(engine, numbers[-1], options)
                engine.stop()
                engine = Engine(config)
                _restart(engine, numbers[-1])
        finally:
            engine.stop()


def _idle(engine: Engine, numbers: list[int], partitions: int, options: argparse.Namespace) -> None:
    processes, running = Processes(), 0
    admin = engine.services.admin
    print(f"{'queries':>8}{'started in s':>14}{'cores':>8}{'broker':>8}{'MB':>8}{'broker':>8}{'threads':>9}")
    for wanted in numbers:
        took = start_queries(engine, running, wanted, partitions, options)
        running = wanted
        probe = Probe(admin.servers, wanted)
        probe.wait_for_all(300)
        probe.close()
        time.sleep(options.settle)
        before = {g: processes.cpu_s(g) for g in ("server", "broker")}
        began = time.monotonic()
        time.sleep(options.seconds)
        elapsed = time.monotonic() - began
        cores = {g: (processes.cpu_s(g) - before[g]) / elapsed for g in before}
        memory = {g: processes.memory_mb(g) for g in before}
        print(
            f"{wanted:8}{took:14.1f}{cores['server']:8.3f}{cores['broker']:8.3f}"
            f"{memory['server']:8.0f}{memory['broker']:8.0f}{processes.threads():9}",
            flush=True,
        )


def _load(engine: Engine, count: int, options: argparse.Namespace) -> None:
    processes = Processes()
    probe = Probe(engine.services.admin.servers, count)
    first = time.time()
    total = probe.send_for(options.settle, options.rate)
    began, cpu = time.time(), processes.cpu_s("server")
    total += probe.send_for(options.seconds, options.rate)
    cores = (processes.cpu_s("server") - cpu) / (time.time() - began)
    deadline = time.time() + 60
    while (came := sum(map(len, probe.received.values()))) < total and time.time() < deadline:
        time.sleep(0.2)
    probe.close()
    pairs = [(sent, (received - sent) * 1000) for many in probe.received.values() for sent, received in many]
    steps: dict[int, list[float]] = {}
    for sent, latency in pairs:
        steps.setdefault(int((sent - first) / options.step), []).append(latency)
    medians = ", ".join(f"{statistics.median(steps[step]):.1f}" for step in sorted(steps))
    print(f"{count} queries, p50 of each {options.step:g} s from the first load on, in ms: {medians}")
    shares = statistics.quantiles([latency for sent, latency in pairs if sent >= began], n=100)
    print(
        f"{count} queries, {options.rate:g} records/s in all: {came} of {total} records,"
        f" p50 {shares[49]:.1f} ms, p95 {shares[94]:.1f}, p99 {shares[98]:.1f}, {cores:.2f} cores",
        flush=True,
    )


def _restart(engine: Engine, count: int) -> None:
    began = time.monotonic()
    engine.start(lambda text: None)
    ready = time.monotonic() - began
    probe = Probe(engine.services.admin.servers, count)
    probe.wait_for_all(300)
    probe.close()
    took = time.monotonic() - began
    print(f"restart: ready after {ready:.1f} s, all {count} queries answer after {took:.1f} s")


if __name__ == "__main__":
    main()
