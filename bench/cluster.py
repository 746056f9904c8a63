"""Several servers that share queries; one is killed: how long until its queries go on, and what is lost.

    python bench/cluster.py [--servers 3] [--queries 30] [--kills 20] [--rate 50] [--memory 1g]
    python bench/cluster.py --statements 1000
    python bench/cluster.py --executors 1,2,4 [--records 1000000] [--warm-up 1] [--rounds 5]

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

With --executors, there is one server for each of the numbers. It runs four queries, COUNT and SUM by key of a
topic with one partition each, in so many executors, with four slots altogether. Servers take turns, round by
round: the four topics get --records together, as fast as one producer writes. Printed is how much of the
processor a record costs, in all processes of that server (without broker and producer), and how much they
need while there are no records. Medians are those of --rounds after --warm-up.

Target: ``running`` in at most 20 s (median), nothing lost, look-ups elsewhere at most twice as long (p99); a
new server ready in at most 20 s with 1,000 statements; a record costs at most 10 % more in four executors
than in one.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import statistics
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import httpx

sys.path.insert(0, str(Path(__file__).parents[1]))

from ksql_spark.kafka.admin import KafkaAdmin
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

    def start(self, name: str, **more: Any) -> float:
        """Start a server and wait until all of it runs; the seconds until it answered.

        ``more``: properties, with ``__`` for the dots of their names.
        """
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
            **{key.replace("__", "."): value for key, value in more.items()},
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
    parser.add_argument("--executors", default="")
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--warm-up", type=int, default=1, help="rounds that do not count (default 1)")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ksql-spark-cluster-", ignore_cleanup_errors=True) as folder:
        if options.statements:
            replay(Path(folder), options)
        elif options.executors:
            costs(Path(folder), options)
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


#: how many queries there are with --executors, each with one task
TASKS = 4
#: how long processes are watched while there are no records, seconds
IDLE_S = 10.0


def costs(folder: Path, options: Any) -> None:
    """Measure how much of the processor a record costs in some executors."""
    numbers = [int(number) for number in options.executors.split(",")]
    broker = EmbeddedBroker(folder / "kafka")
    broker.start()
    admin = KafkaAdmin(broker.bootstrap_servers)
    servers = Servers(folder, broker.bootstrap_servers, options.memory)
    each = options.records // TASKS
    try:
        with ThreadPoolExecutor() as pool:
            list(pool.map(partial(start_with_executors, servers), numbers))
        spent: dict[int, list[float]] = {number: [] for number in numbers}
        for round_ in range(options.warm_up + options.rounds):
            for number in numbers:
                server = servers.running[f"on{number}"]
                before, compiling, began = processor_s(server), compiling_s(server), time.monotonic()
                fill(broker.bootstrap_servers, number, each)
                sinks = [f"t_on{number}_{n}" for n in range(TASKS)]
                wanted = each * (round_ + 1)
                wait_for(lambda: min(admin.end_offsets(*sinks).values()) >= wanted, "all records")  # noqa: B023
                cost_us = (processor_s(server) - before) / (each * TASKS) * 1e6
                jit_us = (compiling_s(server) - compiling) / (each * TASKS) * 1e6
                rate = each * TASKS / (time.monotonic() - began)
                spent[number].append(cost_us)
                shown = f"{cost_us:.2f} us of the processor a record, {jit_us:.2f} of them for compiling"
                shown += f", {rate:,.0f} records/s"
                print(f"round {round_}: {number} executors: {shown}", flush=True)
        medians = {number: statistics.median(found[options.warm_up :]) for number, found in spent.items()}
        for number, cost_us in medians.items():
            server = servers.running[f"on{number}"]
            before = processor_s(server)
            time.sleep(IDLE_S)
            idle = (processor_s(server) - before) / IDLE_S * 1000
            ratio = cost_us / medians[numbers[0]]
            print(f"{number} executors: median {cost_us:.2f} us a record, {ratio:.2f} times that of")
            print(f"  {numbers[0]}; idle {idle:.0f} thousandths of a core", flush=True)
            found = [sum(counts(server, f"t{n}").values()) for n in range(TASKS)]
            if found != [each * (options.warm_up + options.rounds)] * TASKS:
                raise SystemExit(f"wrong: {found}")
    finally:
        servers.close()
        broker.stop()


def start_with_executors(servers: Servers, number: int) -> None:
    """Start the server with so many executors, and its queries."""
    name = f"on{number}"
    servers.start(
        name,
        ksql__cluster__enabled="false",
        ksql__service__id=f"{name}_",
        ksql__state__dir="",
        ksql__spark__master=f"local-cluster[{number},{TASKS // number},1024]",
    )
    for n in range(TASKS):
        servers.running[name].execute(
            f"CREATE STREAM e{n} (k STRING KEY, n INT, extra STRING) WITH"
            f" (KAFKA_TOPIC = 'e_{name}_{n}', VALUE_FORMAT = 'JSON', PARTITIONS = 1);"
            f" CREATE TABLE t{n} WITH (KAFKA_TOPIC = 't_{name}_{n}') AS"
            f" SELECT k, COUNT(*) AS c, SUM(n) AS total FROM e{n} GROUP BY k EMIT CHANGES;"
        )


def fill(broker: str, number: int, each: int) -> None:
    """Write so many records to each topic of the server with ``number`` executors."""
    values = [json.dumps({"n": n, "extra": "x" * 80}).encode() for n in range(1000)]
    with contextlib.closing(RecordProducer(broker, linger_ms=20)) as producer:
        for i in range(each):
            for n in range(TASKS):
                producer.send_async(f"e_on{number}_{n}", b"k%d" % (i % 1000), values[i % 1000])


def processor_s(server: ServerProcess) -> float:
    """How long the processes of a server have run so far, seconds."""
    ticks = 0
    for pid in server.pids():
        with contextlib.suppress(OSError):  # it has just ended
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
            ticks += sum(map(int, fields[11:13]))
    return ticks / os.sysconf("SC_CLK_TCK")


def compiling_s(server: ServerProcess) -> float:
    """How long the compilers of a server's JVMs have run so far, seconds."""
    ticks = 0
    for pid in server.pids():
        for thread in Path(f"/proc/{pid}/task").glob("*"):
            with contextlib.suppress(OSError):
                name, _, rest = (thread / "stat").read_text().partition("(")[2].rpartition(") ")
                if name.startswith(("C1 Compiler", "C2 Compiler")):
                    ticks += sum(map(int, rest.split()[11:13]))
    return ticks / os.sysconf("SC_CLK_TCK")


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
