"""Several servers that share queries; one is killed: how long until its queries go on, and what is lost.

    python bench/cluster.py [--servers 3] [--queries 30] [--kills 20] [--rate 50] [--memory 1g]
    python bench/cluster.py --statements 1000

Servers are processes, each with a JVM of its own; broker and state are on this machine. Half of the queries
are stateless, half are COUNT by key. Records come at --rate all the time. Again and again a random server is
killed with all it has started (kill -9), and another one is asked to carry out a statement. Printed are, in
seconds from the kill on:

* ``accepted``: until the statement has been carried out;
* ``running``: until SHOW QUERIES of another server says that every query runs on a living server;
* ``right``: until all tables have the right counts again, with all records that were written meanwhile; and
  how many records all streams together lack.

Then the killed server is started again: ``shared`` is the time until it has queries. At the end the same
look-up is measured on the server that runs the query and on the others, p50 and p99 in milliseconds.

With --statements, a log of that many statements is written instead. Printed is how long a server with an
empty data folder takes until it answers requests, beside the one that wrote them, and until its Spark runs,
too; and how long the latter takes again. All are of streams, tables and types; no queries start.

Target: ``running`` in at most 20 s (median), nothing lost, look-ups elsewhere at most twice as long (p99); a
new server ready in at most 20 s with 1,000 statements.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx

sys.path.insert(0, str(Path(__file__).parents[1]))

from ksql_spark.kafka.consumer import TopicReader
from ksql_spark.kafka.producer import RecordProducer
from ksql_spark.services.broker import EmbeddedBroker
from tests.integration.server_process import ServerProcess

TIMEOUT_S = 300.0
KEYS = 10
SOURCE = (
    "CREATE STREAM events (k STRING KEY, n INT) WITH (KAFKA_TOPIC = 'events', VALUE_FORMAT = 'JSON',"
    " PARTITIONS = 1);"
)


class Servers:
    """Processes of servers with one service id."""

    def __init__(self, folder: Path, broker: str, memory: str) -> None:
        self._folder, self._broker, self._memory = folder, broker, memory
        self.running: dict[str, ServerProcess] = {}

    def start(self, name: str) -> float:
        """Start a server and wait until all of it runs; the seconds until it answered."""
        properties = self._folder / f"{name}.properties"
        lines = {
            "bootstrap.servers": self._broker,
            "ksql.cluster.enabled": "true",
            "ksql.state.dir": self._folder / "state",
            "ksql.advertised.listener": f"http://{name}:8088",
            "ksql.spark.memory": self._memory,
            "ksql.spark.warm.up.enabled": "false",
            "ksql.spark.connect.enabled": "false",
            "ksql.checkpoint.interval.ms": 5000,
            "ksql.streams.auto.offset.reset": "earliest",
        }
        properties.write_text("".join(f"{key}={value}\n" for key, value in lines.items()))
        began = time.monotonic()
        server = ServerProcess(self._folder / name, "--properties", str(properties))
        self.running[name] = server
        server.serving()
        answers = time.monotonic() - began
        server.until("complete: ")
        return answers

    def kill(self, name: str) -> None:
        """Kill a server and all that it has started."""
        server = self.running.pop(name)
        server.crash()
        server.process.communicate()

    def close(self) -> None:
        """End all, without grace."""
        for name in list(self.running):
            self.kill(name)


class Load:
    """Writes records at a rate, and knows how many there are of each key."""

    def __init__(self, broker: str, rate: float) -> None:
        self._producer = RecordProducer(broker)
        self._rate = rate
        self._stopping = threading.Event()
        self._lock = threading.Lock()
        self.count = 0
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._stopping.wait(1 / self._rate):
            with self._lock:
                n = self.count
                value = json.dumps({"n": n}).encode()
                self._producer.send("events", f"k{n % KEYS}".encode(), value)
                self.count += 1

    def pause(self) -> dict[str, int]:
        """Stop writing until resume(); the number of records by key."""
        self._lock.acquire()
        return dict(Counter(f"k{n % KEYS}" for n in range(self.count)))

    def resume(self) -> None:
        """Write on."""
        self._lock.release()

    def close(self) -> None:
        """Stop."""
        self._stopping.set()
        self._thread.join()
        self._producer.close()


def wait_for(condition: Callable[[], bool], what: str) -> float:
    """Wait; the seconds that it took."""
    began = time.monotonic()
    while not condition():
        if time.monotonic() - began > TIMEOUT_S:
            raise SystemExit(f"not in {TIMEOUT_S:.0f} s: {what}")
        time.sleep(0.1)
    return time.monotonic() - began


def queries(server: ServerProcess) -> dict[str, tuple[str, str | None]]:
    """Id -> state and host of all queries."""
    (answer,) = server.execute("SHOW QUERIES;")
    return {row["id"]: (row["state"], row.get("host")) for row in answer["queries"]}


def all_run(server: ServerProcess, servers: Servers) -> bool:
    """Whether every query runs on a living server."""
    hosts = {f"{name}:8088" for name in servers.running}
    return all(state == "RUNNING" and host in hosts for state, host in queries(server).values())


def counts(server: ServerProcess, table: str) -> dict[str, int]:
    """The rows of a table."""
    return {key: count for key, count in server.rows(f"SELECT k, c FROM {table};")}


def look_ups(server: ServerProcess, table: str, times: int = 500) -> tuple[float, float]:
    """p50 and p99 of a look-up by key, milliseconds."""
    taken = []
    with httpx.Client() as client:
        for _ in range(times):
            began = time.perf_counter()
            body = {"sql": f"SELECT c FROM {table} WHERE k = 'k1';"}
            client.post(f"{server.url}/query-stream", json=body).raise_for_status()
            taken.append((time.perf_counter() - began) * 1000)
    taken.sort()
    return statistics.median(taken), taken[int(len(taken) * 0.99)]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--servers", type=int, default=3)
    parser.add_argument("--queries", type=int, default=30)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--rate", type=float, default=50.0)
    parser.add_argument("--memory", default="1g")
    parser.add_argument("--statements", type=int, default=0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ksql-spark-cluster-", ignore_cleanup_errors=True) as folder:
        if options.statements:
            replay(Path(folder), options)
        else:
            run(Path(folder), options)


def statements(count: int) -> list[str]:
    """So many statements: of each four, a stream, a table, a type, and a column that is added."""
    texts = []
    for n in range(count):
        number = n // 4
        with_topic = "WITH (KAFKA_TOPIC = 'events', VALUE_FORMAT = 'JSON')"
        columns = ", ".join(f"c{i} STRING" for i in range(20))
        texts.append(
            (
                f"CREATE STREAM s{number} (k STRING KEY, {columns}) {with_topic};",
                f"CREATE TABLE t{number} (k STRING PRIMARY KEY, {columns}) {with_topic};",
                f"CREATE TYPE y{number} AS STRUCT<a INT, b ARRAY<STRING>>;",
                f"ALTER STREAM s{number} ADD COLUMN added y{number};",
            )[n % 4]
        )
    return texts


def replay(folder: Path, options: Any) -> None:
    """Measure how long servers take to start with a long log."""
    broker = EmbeddedBroker(folder / "kafka")
    broker.start()
    servers = Servers(folder, broker.bootstrap_servers, options.memory)
    try:
        empty = timed_start(servers, "server0")
        first = servers.running["server0"]
        first.execute(SOURCE)
        began = time.monotonic()
        for text in statements(options.statements):
            first.execute(text)
        print(f"{options.statements} statements: {time.monotonic() - began:.1f} s", flush=True)
        new = timed_start(servers, "server1")
        code, _, errors = servers.running.pop("server0").stop()
        if code:
            raise SystemExit(errors)
        again = timed_start(servers, "server0")
        for what, (ready, complete) in {"without statements": empty, "new": new, "again": again}.items():
            print(f"{what}: answers after {ready:.1f} s, all runs after {complete:.1f} s", flush=True)
    finally:
        servers.close()
        broker.stop()


def timed_start(servers: Servers, name: str) -> tuple[float, float]:
    """Start a server; the seconds until it answers, and until all of it runs."""
    began = time.monotonic()
    answers = servers.start(name)
    return answers, time.monotonic() - began


def run(folder: Path, options: Any) -> None:
    """Measure."""
    broker = EmbeddedBroker(folder / "kafka")
    broker.start()
    servers = Servers(folder, broker.bootstrap_servers, options.memory)
    load: Load | None = None
    try:
        names = [f"server{n}" for n in range(options.servers)]
        with ThreadPoolExecutor() as pool:
            list(pool.map(servers.start, names))
        first = servers.running[names[0]]
        first.execute(SOURCE)
        tables = [f"t{n}" for n in range(options.queries // 2)]
        streams = [f"s{n}" for n in range(options.queries - len(tables))]
        for table in tables:
            first.execute(
                f"CREATE TABLE {table} AS SELECT k, COUNT(*) AS c FROM events GROUP BY k EMIT CHANGES;"
            )
        for stream in streams:
            first.execute(f"CREATE STREAM {stream} AS SELECT k, n FROM events EMIT CHANGES;")
        wait_for(lambda: all_run(first, servers), "all queries run")
        print("queries of servers:", dict(Counter(host for _, host in queries(first).values())), flush=True)
        load = Load(broker.bootstrap_servers, options.rate)
        print(f"{'kill':>4}{'accepted':>10}{'running':>10}{'right':>10}{'lost':>6}{'shared':>10}", flush=True)
        measured = [measure(n, servers, load, names, tables, streams, broker) for n in range(options.kills)]
        for i, what in enumerate(("accepted", "running", "right")):
            figures = [row[i] for row in measured]
            print(f"{what}: median {statistics.median(figures):.1f} s, most {max(figures):.1f} s", flush=True)
        load.pause()
        load.resume()
        owner = queries(servers.running[names[0]])
        host = next(host for query, (_, host) in owner.items() if query.startswith("CTAS_T0_"))
        for name, server in servers.running.items():
            p50, p99 = look_ups(server, tables[0])
            where = "runs the query" if host == f"{name}:8088" else "does not"
            print(f"look-up on {name}, which {where}: p50 {p50:.1f} ms, p99 {p99:.1f} ms", flush=True)
    finally:
        if load is not None:
            load.close()
        servers.close()
        broker.stop()


def measure(
    number: int,
    servers: Servers,
    load: Load,
    names: list[str],
    tables: list[str],
    streams: list[str],
    broker: EmbeddedBroker,
) -> tuple[float, float, float]:
    """Kill a server, and wait until all is as it should be."""
    time.sleep(random.uniform(0, 8))
    victim = random.choice(names)
    other = servers.running[random.choice([name for name in names if name != victim])]
    began = time.monotonic()
    servers.kill(victim)
    other.execute(f"CREATE TYPE after_{number} AS INT;")
    accepted = time.monotonic() - began
    wait_for(lambda: all_run(other, servers), "all queries run")
    running = time.monotonic() - began
    expected = load.pause()
    try:
        for table in tables:
            wait_for(lambda: counts(other, table) == expected, f"the counts of {table}")  # noqa: B023
        right = time.monotonic() - began
        lost = sum(missing(broker.bootstrap_servers, stream, load.count) for stream in streams)
    finally:
        load.resume()
    print(f"{number:>4}{accepted:>10.2f}{running:>10.1f}{right:>10.1f}{lost:>6}", end="", flush=True)
    servers.start(victim)
    shared = wait_for(lambda: any(host == f"{victim}:8088" for _, host in queries(other).values()), "a share")
    print(f"{shared:>10.1f}", flush=True)
    wait_for(lambda: all_run(other, servers), "all queries run")
    return accepted, running, right


def missing(broker: str, stream: str, count: int) -> int:
    """How many of the first ``count`` records a stream lacks."""
    wanted = set(range(count))
    deadline = time.monotonic() + TIMEOUT_S
    with TopicReader(broker, stream.upper()) as reader:
        while wanted and time.monotonic() < deadline:
            for record in reader.poll_batch(0.5):
                wanted.discard(json.loads(record.value or b"{}").get("N"))
    return len(wanted)


if __name__ == "__main__":
    main()
