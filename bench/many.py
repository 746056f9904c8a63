"""Many queries on one server: start-up time, idle cost, latency under light load, restart time.

    python bench/many.py [--queries 1,20,100] [--partitions 1] [--seconds 60] [--rate 500]
                         [--kinds stateless,aggregate]

    # recovery with a million groups
    python bench/many.py --queries 20 --state-rows 1000000 --seconds 5 --settle 5

    # pauses at checkpoints, restart, memory and disk of one query with millions of keys
    python bench/many.py --queries 1 --partitions 2 --kinds aggregate --state-rows 3000000 --uniform
        --property ksql.checkpoint.interval.ms=10000

    # the first minute of a server under load, second by second
    python bench/many.py --queries 20 --partitions 2 --only-load --step 1 --settle 0

    # the cost of idle aggregates
    python bench/many.py --queries 10,20,100 --partitions 1,2,12 --kinds aggregate

Half of the queries are stateless, half are COUNT and SUM by key, over topics with --partitions. There is one
server for each number of partitions, to which queries are added. For each number of queries:

* how long the new queries take to start, one statement after the other,
* CPU (cores), resident memory (MB) and threads of the server's processes (Python and Spark's JVM; separately
  the broker) while no records arrive, over --seconds,
* for the last number: latency of records that arrive at a total of --rate, distributed over all queries'
  inputs: p50 and p99 of each --step seconds from the first record on, then percentiles of all records after
  the first --settle seconds,
* for the last number: how long all queries take to respond again after kill -9 of Spark's JVM, and how long a
  stopped server takes to start again, until every query responds. --state-rows puts that many groups into the
  state before; with --uniform, records come for all of them instead of 100 keys.

Targets: 20 queries in at most 0.2 core and 1.2 GB, 6 mcore for each further query, and 100 queries with
p50 <= 50 ms at 500 records/s.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import statistics
import tempfile
import threading
import time
import uuid
from pathlib import Path

import psutil
from confluent_kafka import Consumer, Producer, TopicPartition

from ksql_spark.config import Config
from ksql_spark.engine import Engine, Request
from ksql_spark.kafka.producer import RecordProducer

STATEMENTS = {
    "stateless": "CREATE STREAM o{n} WITH (KAFKA_TOPIC = 'o{n}') AS"
    " SELECT k, n * 2 AS n, sent FROM i{n} WHERE n >= 0 EMIT CHANGES;",
    "aggregate": "CREATE TABLE o{n} WITH (KAFKA_TOPIC = 'o{n}') AS"
    " SELECT k, COUNT(*) AS c, SUM(n) AS total, MAX(sent) AS sent FROM i{n} GROUP BY k EMIT CHANGES;",
    "two-steps": "CREATE TABLE o{n} WITH (KAFKA_TOPIC = 'o{n}') AS"
    " SELECT CONCAT('g', k) AS g, COUNT(*) AS c, SUM(sent) AS sent FROM"
    " (SELECT k, COUNT(*) AS c, MAX(sent) AS sent FROM i{n} GROUP BY k) a"
    " GROUP BY CONCAT('g', k) EMIT CHANGES;",
    "windows": "CREATE TABLE o{n} WITH (KAFKA_TOPIC = 'o{n}') AS SELECT k, COUNT(*) AS c, MAX(sent) AS sent"
    " FROM i{n} WINDOW TUMBLING (SIZE 1 DAY) GROUP BY k EMIT CHANGES;",
    "join": "CREATE TABLE t{n} (id STRING PRIMARY KEY, n BIGINT) WITH (KAFKA_TOPIC = 'i{n}',"
    " VALUE_FORMAT = 'JSON');"
    " CREATE STREAM o{n} WITH (KAFKA_TOPIC = 'o{n}') AS SELECT s.k AS k, s.n + t.n AS n, sent"
    " FROM i{n} s LEFT JOIN t{n} t ON s.k = t.id EMIT CHANGES;",
}
SOURCE = (
    "CREATE STREAM i{n} (k STRING, n BIGINT, sent BIGINT)"
    " WITH (KAFKA_TOPIC = 'i{n}', PARTITIONS = {partitions}, VALUE_FORMAT = 'JSON');"
)
KEYS = 100


class Processes:
    """CPU, memory and threads of this process and its child processes."""

    def __init__(self) -> None:
        self._own = psutil.Process()

    def _members(self) -> dict[str, list[psutil.Process]]:
        found: dict[str, list[psutil.Process]] = {"server": [self._own], "broker": []}
        for child in self._own.children(recursive=True):
            command = " ".join(child.cmdline())
            found["broker" if "kafka.Kafka" in command else "server"].append(child)
        return found

    def cpu_s(self, group: str) -> float:
        """CPU time so far, in seconds."""
        return sum(sum(p.cpu_times()[:2]) for p in self._members()[group])

    def memory_mb(self, group: str) -> float:
        """Resident memory in MB."""
        return sum(p.memory_info().rss for p in self._members()[group]) / 1e6

    def threads(self) -> int:
        """The number of threads of the server's processes."""
        return sum(p.num_threads() for p in self._members()["server"])


class Probe:
    """Sends records to i0, i1 … in turn, and receives the queries' output.

    Args:
        servers: of the cluster.
        count: how many queries there are.
        rows: records are of that many groups; 0 means of KEYS other ones.
    """

    def __init__(self, servers: str, count: int, rows: int = 0) -> None:
        self._producer = Producer({"bootstrap.servers": servers, "linger.ms": 0, "acks": 1, "log_level": 0})
        self._consumer = Consumer(
            {
                "bootstrap.servers": servers,
                "group.id": uuid.uuid4().hex,
                "enable.auto.commit": False,
                "fetch.queue.backoff.ms": 2,
            }
        )
        self._count = count
        self._rows = rows
        partitions = [
            TopicPartition(f"o{n}", p)
            for n in range(count)
            for p in self._consumer.list_topics(f"o{n}").topics[f"o{n}"].partitions
        ]
        for partition in partitions:
            partition.offset = self._consumer.get_watermark_offsets(partition)[1]
        self._consumer.assign(partitions)
        #: a query's number -> (sent, received) of its records, in epoch seconds
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
            body = json.loads(message.value() or b"")
            sent = body["SENT" if "SENT" in body else "sent"] / 1e6
            self.received[int(str(message.topic())[1:])].append((sent, now))

    def send(self, number: int) -> None:
        """Send record ``number`` to the next topic in turn."""
        key = f"g{random.randrange(self._rows)}" if self._rows else str(number % KEYS)
        body = {"k": key, "n": number, "sent": time.time_ns() // 1000}
        self._producer.produce(f"i{number % self._count}", json.dumps(body).encode(), key.encode())
        self._producer.poll(0)

    def send_for(self, seconds: float, rate: float) -> int:
        """Send a total of ``rate`` records per second; returns the number of records."""
        began = time.time()
        total = int(seconds * rate)
        for number in range(total):
            while (wait := began + number / rate - time.time()) > 0:
                time.sleep(wait)
            self.send(number)
        self._producer.flush(10)
        return total

    def wait_for_all(self, timeout_s: float) -> float:
        """Send records until every query has responded; returns how long that took, in seconds."""
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
        raise SystemExit(f"{len(silent)} queries do not respond: {silent[:10]}")

    def close(self) -> None:
        """Stop receiving."""
        self._producer.flush(10)
        self._stopping.set()
        self._thread.join()
        self._consumer.close()


def start_queries(
    engine: Engine, first: int, last: int, partitions: int, options: argparse.Namespace
) -> float:
    """Start the queries ``first`` to ``last`` - 1; returns how long that took, in seconds."""
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
    parser.add_argument("--seconds", type=float, default=60, help="duration of each measurement (default 60)")
    parser.add_argument(
        "--settle", type=float, default=20, help="idle seconds before each measurement (default 20)"
    )
    parser.add_argument(
        "--wait",
        type=float,
        default=0,
        help="seconds before the first query (default 0); 15 lets the server warm up",
    )
    parser.add_argument("--rate", type=float, default=500, help="total records per second (default 500)")
    parser.add_argument(
        "--kinds", default="stateless,aggregate", help="kinds of queries, used in turn, separated by commas"
    )
    parser.add_argument(
        "--partitions",
        default="1",
        help="partitions of each topic; several numbers, separated by commas, run in turn (default 1)",
    )
    parser.add_argument(
        "--step",
        type=float,
        default=10,
        help="report p50 and p99 of each so many seconds of load (default 10)",
    )
    parser.add_argument(
        "--property",
        action="append",
        default=[],
        help="NAME=VALUE, a property of the server; may be repeated",
    )
    parser.add_argument("--state-rows", type=int, default=0, help="groups in all states (default 0)")
    parser.add_argument("--uniform", action="store_true", help="load all groups, not 100 keys")
    parser.add_argument("--no-load", action="store_true", help="measure only the idle cost")
    parser.add_argument(
        "--only-load", action="store_true", help="measure only latency, from when the queries have started"
    )
    options = parser.parse_args()
    for partitions in options.partitions.split(","):
        _measure(int(partitions), options)


def _measure(partitions: int, options: argparse.Namespace) -> None:
    """Run all measurements with this number of partitions, on a new server."""
    numbers = [int(n) for n in options.queries.split(",")]
    print(f"{partitions} partition{'s' if partitions > 1 else ''}", flush=True)
    with tempfile.TemporaryDirectory(prefix="ksql-spark-many-", ignore_cleanup_errors=True) as folder:
        properties = dict(p.split("=", 1) for p in options.property)
        config = Config({"ksql.spark.data.dir": folder, **properties})
        engine = Engine(config)
        try:
            engine.start(lambda text: None)
            time.sleep(options.wait)
            if options.only_load:
                took = start_queries(engine, 0, numbers[-1], partitions, options)
                print(f"{numbers[-1]} queries started in {took:.1f} s", flush=True)
                _load(engine, numbers[-1], options)
                return
            _idle(engine, numbers, partitions, options)
            if not options.no_load:
                if options.state_rows:
                    _fill(engine, numbers[-1], options)
                _load(engine, numbers[-1], options)
                files = (p for p in Path(folder, "checkpoints").rglob("*") if p.is_file())
                print(f"{sum(p.stat().st_size for p in files) / 1e6:.0f} MB of checkpoints", flush=True)
                _kill(engine, numbers[-1])
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
    probe = Probe(engine.services.admin.servers, count, options.state_rows if options.uniform else 0)
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
    shares_of = [_shares(steps[step]) for step in sorted(steps) if len(steps[step]) > 1]
    shown = ", ".join(f"{shares[49]:.1f}/{shares[98]:.0f}" for shares in shares_of)
    print(f"{count} queries, p50/p99 of each {options.step:g} s from the first record on, in ms: {shown}")
    shares = _shares([latency for sent, latency in pairs if sent >= began])
    print(
        f"{count} queries, {options.rate:g} records/s in total: {came} of {total} records,"
        f" p50 {shares[49]:.1f} ms, p95 {shares[94]:.1f}, p99 {shares[98]:.1f}, longest"
        f" {max(latency for _, latency in pairs):.0f}, {cores:.2f} cores,"
        f" {processes.memory_mb('server'):.0f} MB",
        flush=True,
    )


def _shares(latencies: list[float]) -> list[float]:
    """The percentiles, from the first to the 99th."""
    return statistics.quantiles(latencies, n=100)


def _fill(engine: Engine, count: int, options: argparse.Namespace) -> None:
    """Put groups into the state."""
    admin, kinds = engine.services.admin, options.kinds.split(",")
    keeping = [n for n in range(count) if kinds[n % len(kinds)] != "stateless"]
    before = sum(admin.end_offsets(*(f"o{n}" for n in keeping)).values())
    began = time.monotonic()
    producer = RecordProducer(admin.servers, linger_ms=20)
    for number in range(options.state_rows):
        body = b'{"k": "g%d", "n": 1, "sent": 0}' % number
        producer.send_async(f"i{keeping[number % len(keeping)]}", b"g%d" % number, body)
        if number % 10_000 == 0:
            producer.flush(60)
    producer.close()
    while sum(admin.end_offsets(*(f"o{n}" for n in keeping)).values()) < before + options.state_rows:
        time.sleep(0.5)
    took = time.monotonic() - began
    print(f"{options.state_rows:,} groups in {len(keeping)} queries after {took:.0f} s", flush=True)


def _kill(engine: Engine, count: int) -> None:
    began = time.monotonic()
    os.kill(engine.services.spark.process.pid, signal.SIGKILL)
    probe = Probe(engine.services.admin.servers, count)
    probe.wait_for_all(300)
    probe.close()
    print(
        f"kill -9 of the JVM: all {count} queries respond after {time.monotonic() - began:.1f} s", flush=True
    )


def _restart(engine: Engine, count: int) -> None:
    began = time.monotonic()
    engine.start(lambda text: None)
    ready = time.monotonic() - began
    probe = Probe(engine.services.admin.servers, count)
    probe.wait_for_all(300)
    probe.close()
    took = time.monotonic() - began
    print(f"restart: ready after {ready:.1f} s, all {count} queries respond after {took:.1f} s")


if __name__ == "__main__":
    main()
