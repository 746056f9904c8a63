"""Look-ups and plain push queries: the product's, in Python, and those of a JVM with the queries' decoders.

    python bench/jvm_reads/compare.py [--rounds 5] [--seconds 5] [--rows 100000 1000000]
        [--only look-ups,push,memory,start]

One broker and the same rows in JSON for all sides, which take turns in each round:

* *product*: its server, with its view in SQLite and its Python decoders;
* *product by JVM*: the same server; only the view and its decoder are those of java/Reads.java, a process
  behind a Unix socket (serve.py);
* *pass on*: a bare ASGI application that passes the JVM's bytes on (pass_on.py). It has no checks, no plans
  and no wait for freshness, so it shows what the JVM's side could reach at most.

Printed are the medians of the rounds, and the median, least and greatest ratio to the product's in a round.
Look-ups run while a thousand rows a second are updated. Push queries get bursts, half of which passes their
filter; the rate counts the rows of all clients. Memory is how much larger a process is with a view than
without (RSS); for the JVM also its heap after a collection. A start lasts from the start of the processes
until the first look-up is answered: the product finds the file of its view, the JVM reads the topic into
memory, or finds its RocksDB. Server and JVM start together. The processor time of a look-up or a row is that
of all processes that serve it, without Kafka's.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import random
import selectors
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import psutil
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "bench")]

from reads import ReadsProcess  # noqa: E402
from serving import execute, first_answer, load  # noqa: E402

from ksql_spark.services import artifacts  # noqa: E402
from ksql_spark.services.broker import EmbeddedBroker  # noqa: E402
from ksql_spark.services.ports import free_port  # noqa: E402

SIDES = ("product", "product by JVM", "pass on")
CONNECTIONS = (8, 32)
CLIENTS = (1, 100)
#: records of a burst; a subscription of the product lets 10,000 wait
BURST, BURSTS = 8_000, 6
#: bursts before the first one that counts: until then, the JVM compiles
WARM = 40
KEY, VALUE = "K INT", "N BIGINT, V STRING"
HEAD = '"columnNames":["K","N","V"],"columnTypes":["INTEGER","BIGINT","STRING"]}\n'
SQL_COLUMNS = f"{KEY} {{}}, {VALUE}"
UPDATES = 1_000


def connected(brokers: str) -> Producer:
    """A producer."""
    return Producer({"bootstrap.servers": brokers, "linger.ms": 5, "queue.buffering.max.messages": 10**7})


def produce(producer: Producer, topic: str, rows: int) -> None:
    """Write rows with the keys and numbers from 0, and wait for their acknowledgement."""
    for key in range(rows):
        producer.produce(topic, b'{"N":%d,"V":"%b"}' % (key, b"x" * 20), b"%d" % key)
    producer.flush()


def make_topic(brokers: str, topic: str, rows: int = 0) -> None:
    """A compacted topic of one partition with so many keys."""
    admin = AdminClient({"bootstrap.servers": brokers})
    for made in admin.create_topics([NewTopic(topic, 1, 1, config={"cleanup.policy": "compact"})]).values():
        made.result()
    produce(connected(brokers), topic, rows)


def update(brokers: str, topic: str, rows: int) -> None:
    """Update random rows for ever; a process of its own."""
    producer = connected(brokers)
    while True:
        for _ in range(UPDATES // 20):
            producer.produce(topic, b'{"N":1,"V":"y"}', b"%d" % random.randrange(rows))
        producer.poll(0)
        time.sleep(0.05)


@contextmanager
def updates(brokers: str, topic: str, rows: int) -> Iterator[None]:
    """``update`` in the background."""
    process = multiprocessing.get_context("spawn").Process(target=update, args=(brokers, topic, rows))
    process.start()
    try:
        yield
    finally:
        process.terminate()
        process.join()


class Server:
    """The product's server, see serve.py; ``until`` waits for lines of its output."""

    def __init__(self, folder: Path, brokers: str, socket_: Path | str = "") -> None:
        properties = folder.with_suffix(".properties")
        properties.write_text("ksql.max.push.queries=1000\n", encoding="utf-8")
        arguments = ["--listen", "127.0.0.1:0", "--data-dir", str(folder), "--bootstrap-servers", brokers]
        command = [sys.executable, str(HERE / "serve.py"), *arguments, "--properties", str(properties)]
        environment = {**os.environ, "READS_SOCKET": str(socket_), "PYTHONPATH": str(ROOT)}
        self.began = time.perf_counter()
        self.process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
        self.url = ""

    def until(self, start: str) -> float:
        """Seconds from its start until it prints a line that begins so."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line.startswith("ready: "):
                self.url = line.split()[1]
            if line.startswith(start):
                return time.perf_counter() - self.began
        raise RuntimeError("the server has ended")

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *error: object) -> None:
        self.process.terminate()
        self.process.communicate(timeout=120)


@contextmanager
def passed_on(kind: str, reads: ReadsProcess) -> Iterator[tuple[str, int]]:
    """pass_on.py; yields its URL and its process id."""
    port = free_port()
    command = [sys.executable, str(HERE / "pass_on.py"), str(port), kind, str(reads.socket)]
    process = subprocess.Popen(command, env={**os.environ, "PYTHONPATH": str(ROOT)})
    try:
        while process.poll() is None:
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                break
            except OSError:
                time.sleep(0.05)
        yield f"http://127.0.0.1:{port}", process.pid
    finally:
        process.kill()
        process.wait()


def make_table(url: str, topic: str) -> None:
    """The product's table over a topic, and its view."""
    columns = SQL_COLUMNS.format("PRIMARY KEY")
    execute(url, f"CREATE SOURCE TABLE {topic} ({columns}) WITH (kafka_topic='{topic}', format='JSON');")
    while True:
        try:
            first_answer(url, f"SELECT * FROM {topic} WHERE K = 1;")
            break
        except RuntimeError as error:  # a view has 30 s to read its topic
            if "Try again" not in str(error):
                raise


def cpu_s(pids: Sequence[int]) -> float:
    """The processor time of processes until now."""
    times = [psutil.Process(pid).cpu_times() for pid in pids]
    return sum(float(t.user + t.system) for t in times)


def in_turn(
    title: str, rounds: int, units: Sequence[str], sides: Mapping[str, Callable[[], Sequence[float]]]
) -> None:
    """Measure each side in each round, which begins with another side each time; print a line for each.

    Args:
        title: what is measured.
        rounds: how often.
        units: of the figures that a side returns.
        sides: by name; the first one is what the others are compared with.
    """
    found: dict[str, list[Sequence[float]]] = {side: [] for side in sides}
    names = list(sides)
    for number in range(rounds):
        for at in range(len(names)):
            side = names[(at + number) % len(names)]
            found[side].append(sides[side]())
    for unit, at in zip(units, range(len(units)), strict=True):
        for side, figures in found.items():
            values = [figure[at] for figure in figures]
            ratios = [value / base[at] for value, base in zip(values, found[names[0]], strict=True)]
            shown = f"{statistics.median(ratios):5.2f} ({min(ratios):.2f} to {max(ratios):.2f})"
            print(f"{title:28}{side:16}{statistics.median(values):12,.1f} {unit:9}{shown}", flush=True)


# ---- look-ups ------------------------------------------------------------------------------------------


def look_ups(folder: Path, brokers: str, options: argparse.Namespace) -> None:
    """Look-ups a second, and the time that 99 of 100 take at most."""
    rows = options.rows[0]
    make_topic(brokers, "t", rows)
    with ExitStack() as stack:
        reads = stack.enter_context(_table(folder, brokers, "t"))
        reads.ready()
        server = stack.enter_context(Server(folder / "look-ups", brokers, reads.socket))
        server.until("complete: ")
        make_table(server.url, "t")
        bare, bare_pid = stack.enter_context(passed_on("look-ups", reads))
        urls = dict(zip(SIDES, (server.url, server.url, bare), strict=True))
        paths = dict(zip(SIDES, ("/query-stream", "/query-stream?jvm", "/query-stream"), strict=True))
        server_pid, jvm_pid = server.process.pid, reads.process.pid
        pids = dict(zip(SIDES, ([server_pid], [server_pid, jvm_pid], [bare_pid, jvm_pid]), strict=True))

        def body(key: int) -> bytes:
            return json.dumps({"sql": f"SELECT * FROM t WHERE K = {key};"}).encode()

        def measure(side: str, connections: int) -> Sequence[float]:
            spent = cpu_s(pids[side])
            found = load(
                urls[side], lambda: (paths[side], body(random.randrange(rows))), connections, options.seconds
            )
            spent = cpu_s(pids[side]) - spent
            return found.rate, found.p99, spent / (found.rate * options.seconds) * 1e6

        answers = {side: httpx.post(urls[side] + paths[side], content=body(7)).text for side in SIDES}
        rest = {answer.partition(",")[2] for answer in answers.values()}
        if rest != {HEAD + '[7,7,"' + "x" * 20 + '"]\n'}:
            raise RuntimeError(f"the sides answer differently: {answers}")
        for side in SIDES:
            measure(side, 8)  # warms up
        stack.enter_context(updates(brokers, "t", rows))
        for connections in CONNECTIONS:
            sides = {side: partial(measure, side, connections) for side in SIDES}
            title = f"look-ups, {connections} connections"
            in_turn(title, options.rounds, ("/s", "ms, p99", "µs of CPU"), sides)


def _table(place: Path, brokers: str, topic: str, **more: str) -> ReadsProcess:
    return ReadsProcess(place, brokers=brokers, topic=topic, key=KEY, value=VALUE, head=HEAD, **more)


# ---- push queries --------------------------------------------------------------------------------------


class Clients:
    """Clients of one push query."""

    def __init__(self, url: str, text: str, number: int) -> None:
        place = urlsplit(url)
        body = json.dumps({"sql": text}).encode()
        head = f"POST /query-stream HTTP/1.1\r\nHost: {place.netloc}\r\nContent-Length: {len(body)}\r\n\r\n"
        self._selector = selectors.DefaultSelector()
        for _ in range(number):
            sock = socket.create_connection((place.hostname, place.port))
            sock.sendall(head.encode() + body)
            while b"}\n" not in (found := sock.recv(65536)):
                if not found.startswith(b"HTTP/1.1 200"):
                    raise RuntimeError(found.decode(errors="replace"))
            self._selector.register(sock, selectors.EVENT_READ)

    def read(self, rows: int) -> None:
        """Wait until all of them together have got so many rows."""
        while rows > 0:
            for key, _ in self._selector.select():
                data = key.fileobj.recv(1 << 20)  # type: ignore[union-attr]
                if not data:
                    raise RuntimeError("a client was disconnected")
                rows -= data.count(b"]\n")

    def close(self) -> None:
        """Disconnect."""
        for key in list(self._selector.get_map().values()):
            key.fileobj.close()  # type: ignore[union-attr]


def push(folder: Path, brokers: str, options: argparse.Namespace) -> None:
    """Rows that clients of one push query get in a second."""
    for topic in ("s", "j"):
        make_topic(brokers, topic)
    producer = connected(brokers)
    text = f"SELECT * FROM s WHERE N >= {BURST // 2} EMIT CHANGES;"
    feed = {"key": KEY, "value": VALUE, "filter": f"N >= {BURST // 2}L"}
    with (
        Server(folder / "push", brokers) as server,
        ReadsProcess(folder, brokers=brokers, topic="j", **feed) as reads,
        passed_on("feed", reads) as (bare, bare_pid),
    ):
        server.until("complete: ")
        columns = SQL_COLUMNS.format("KEY")
        execute(server.url, f"CREATE STREAM s ({columns}) WITH (kafka_topic='s', format='JSON');")

        def rate(url: str, topic: str, pids: Sequence[int], number: int, bursts: int) -> Sequence[float]:
            clients = Clients(url, text, number)
            times = []
            spent = 0.0
            for burst in range(bursts + 2):
                sending = threading.Thread(target=produce, args=(producer, topic, BURST))
                began = time.perf_counter()
                sending.start()
                clients.read(BURST // 2 * number)
                if burst > 1:
                    times.append(time.perf_counter() - began)
                else:
                    spent = cpu_s(pids)
                sending.join()
            spent = cpu_s(pids) - spent
            clients.close()
            rows = BURST // 2 * number
            return rows / statistics.median(times), spent / (rows * bursts) * 1e6

        places = {
            "product": (server.url, "s", [server.process.pid]),
            "pass on": (bare, "j", [bare_pid, reads.process.pid]),
        }
        for number in CLIENTS:
            sides = {}
            for side, place in places.items():
                rate(*place, number, WARM)
                sides[side] = partial(rate, *place, number, BURSTS)
            in_turn(f"push rows, {number} clients", options.rounds, ("/s", "µs of CPU"), sides)


# ---- memory and start ----------------------------------------------------------------------------------


def resident_mb(pid: int) -> float:
    """Its resident memory."""
    return float(psutil.Process(pid).memory_info().rss / 1e6)


def memory(folder: Path, brokers: str, options: argparse.Namespace) -> None:
    """What a view needs."""
    make_topic(brokers, "m_0")
    with _table(folder, brokers, "m_0") as reads:
        reads.ready()
        empty = resident_mb(reads.process.pid)
    print(f"memory: a JVM without rows has {empty:.0f} MB")
    with Server(folder / "memory", brokers) as server:
        server.until("complete: ")
        for rows in options.rows:
            topic = f"m_{rows}"
            make_topic(brokers, topic, rows)
            before = resident_mb(server.process.pid)
            make_table(server.url, topic)
            grown = resident_mb(server.process.pid) - before
            size = sum(file.stat().st_size for file in (folder / "memory").rglob("*.db*")) / 1e6
            print(
                f"memory, {rows:,} rows: product {grown:+.0f} MB, all views {size:.0f} MB on disk", flush=True
            )
            for name, more in (("memory", {}), ("RocksDB", {"folder": str(folder / f"rocks-{rows}")})):
                with _table(folder, brokers, topic, weigh="yes", **more) as reads:
                    reads.ready()
                    assert reads.process.stdout is not None
                    heap = float(reads.process.stdout.readline())
                    grown = resident_mb(reads.process.pid) - empty
                print(f"memory, {rows:,} rows: JVM, {name} {grown:+.0f} MB, heap {heap:.0f} MB", flush=True)


def start(folder: Path, brokers: str, options: argparse.Namespace) -> None:
    """Seconds until the first look-up is answered."""
    rows = options.rows[-1]
    make_topic(brokers, "r", rows)
    data, rocks = folder / "start", {"folder": str(folder / "rocks")}
    with Server(data, brokers) as server, _table(folder, brokers, "r", **rocks) as reads:
        server.until("complete: ")
        began = time.perf_counter()
        make_table(server.url, "r")
        print(f"start: the product's first view of {rows:,} records took {time.perf_counter() - began:.1f} s")
        print(f"start: the JVM's first RocksDB of them took {reads.ready():.1f} s", flush=True)
    all_runs: list[float] = []

    def answered(reads: ReadsProcess | None) -> Sequence[float]:
        with Server(data, brokers) as server:
            server.until("ready: ")
            first_answer(server.url, "SELECT * FROM r WHERE K = 1;")
            took = time.perf_counter() - server.began
            spent = cpu_s([server.process.pid])
            if reads is not None:
                took = max(took, reads.ready())
                spent += cpu_s([reads.process.pid])
            else:
                all_runs.append(server.until("complete: "))
        return took, spent

    def with_jvm(more: Mapping[str, str]) -> Sequence[float]:
        with _table(folder, brokers, "r", **more) as reads:
            return answered(reads)

    sides = {
        "product": lambda: answered(None),
        "JVM, memory": lambda: with_jvm({}),
        "JVM, RocksDB": lambda: with_jvm(rocks),
    }
    in_turn("first look-up after a start", options.rounds, ("s", "s of CPU"), sides)
    print(f"start: the JVM of Spark and all else ran after {statistics.median(all_runs):.1f} s")


PARTS = {"look-ups": look_ups, "push": push, "memory": memory, "start": start}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=5, help="of each measure of look-ups")
    parser.add_argument("--rows", type=int, nargs="*", default=[100_000, 1_000_000])
    parser.add_argument("--only", help=f"parts, separated by commas: {', '.join(PARTS)}")
    options = parser.parse_args()
    artifacts.ensure(report=print)
    with (
        tempfile.TemporaryDirectory(prefix="ksql-spark-reads-", ignore_cleanup_errors=True) as name,
        EmbeddedBroker(Path(name) / "broker", 0) as broker,
    ):
        for part in options.only.split(",") if options.only else PARTS:
            PARTS[part](Path(name), broker.bootstrap_servers, options)


if __name__ == "__main__":
    main()
