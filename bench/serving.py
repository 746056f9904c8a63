"""How many look-ups and inserted rows a second the REST API serves, and how long each takes.

    python bench/serving.py [--rows 100000] [--seconds 10] [--url http://HOST:PORT]
        [--only-restart | --only-indexes]

A server is started (or the one at --url used), a table filled through /inserts-stream, and updated all the
time at --updates a second. Each measure has --connections connections, each with one request at a time over
HTTP/1.1, sent by one process that does little else. The same client measures a bare ASGI application, under
uvicorn as it comes, in the same run: the ratio to that says what our own code costs, whatever the machine. It
is measured alone, and once more while the updates go on, since Kafka, Spark and the client that writes need
the same cores as look-ups do. At the end a server of ours is started again, to see how soon it answers.
"""

from __future__ import annotations

import argparse
import gc
import json
import random
import selectors
import socket
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import httpx

ROOT = Path(__file__).parents[1]
START_TIMEOUT_S = 180.0
COLUMNS = "N BIGINT, V STRING"

HELLO = """
import sys, uvicorn
async def app(scope, receive, send):
    while (await receive()).get("more_body"):
        pass
    headers = [(b"content-type", b"application/json"), (b"content-length", b"5")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": b"hello"})
settings = {"log_level": "error", "access_log": False, "lifespan": "off"}
uvicorn.run(app, port=int(sys.argv[1]), http="zttp", http2=True, **settings)
"""


class Measure(NamedTuple):
    """Requests a second, and how long they took, milliseconds."""

    rate: float
    p50: float
    p99: float
    most: float

    def __str__(self) -> str:
        return f"{self.rate:8.0f}/s   p50 {self.p50:6.2f}   p99 {self.p99:7.2f}   max {self.most:7.1f} ms"


def load(url: str, bodies: Callable[[], tuple[str, bytes]], connections: int, seconds: float) -> Measure:
    """Send requests for ``seconds``; ``bodies`` returns a path and a body."""
    place = urlsplit(url)
    address = (place.hostname, place.port)
    selector = selectors.DefaultSelector()
    began: dict[socket.socket, float] = {}
    received: dict[socket.socket, bytes] = {}
    times: list[float] = []

    def send(sock: socket.socket) -> None:
        path, body = bodies()
        head = f"POST {path} HTTP/1.1\r\nHost: {place.netloc}\r\nContent-Length: {len(body)}\r\n\r\n"
        received[sock] = b""
        began[sock] = time.perf_counter()
        sock.sendall(head.encode() + body)

    for _ in range(connections):
        sock = socket.create_connection(address)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        selector.register(sock, selectors.EVENT_READ)
        send(sock)
    start = time.perf_counter()
    while (now := time.perf_counter()) - start < seconds:
        for key, _ in selector.select(0.1):
            sock = key.fileobj  # type: ignore[assignment]
            received[sock] += sock.recv(65536)
            if _is_whole(received[sock]):
                if not received[sock].startswith(b"HTTP/1.1 200"):
                    raise RuntimeError(received[sock].decode(errors="replace"))
                times.append(time.perf_counter() - began[sock])
                send(sock)
    for key in list(selector.get_map().values()):
        key.fileobj.close()  # type: ignore[union-attr]
    times.sort()
    return Measure(
        len(times) / (now - start),
        times[len(times) // 2] * 1000,
        times[int(len(times) * 0.99)] * 1000,
        times[-1] * 1000,
    )


def _is_whole(data: bytes) -> bool:
    head, found, body = data.partition(b"\r\n\r\n")
    if not found:
        return False
    lower = head.lower()
    if (at := lower.find(b"content-length:")) >= 0:
        return len(body) >= int(lower[at + 15 :].split(b"\r\n", 1)[0])
    return body.endswith(b"0\r\n\r\n")


def execute(url: str, text: str) -> None:
    """POST /ksql."""
    shown(url, text)


def shown(url: str, text: str) -> dict[str, Any]:
    """POST /ksql; the last answer."""
    answer = httpx.post(f"{url}/ksql", json={"ksql": text}, timeout=120)
    if answer.status_code != 200:
        raise RuntimeError(answer.text)
    last: dict[str, Any] = answer.json()[-1]
    return last


def insert(url: str, target: str, rows: int, width: int = 20) -> float:
    """Write rows by /inserts-stream; return how many a second."""
    line = '{{"K":{0},"N":{0},"V":"v{0}' + "x" * width + '"}}\n'

    def body() -> Iterator[bytes]:
        yield json.dumps({"target": target}).encode() + b"\n"
        for first in range(0, rows, 1000):
            yield "".join(line.format(number) for number in range(first, min(rows, first + 1000))).encode()

    began = time.perf_counter()
    answer = httpx.post(f"{url}/inserts-stream", content=body(), timeout=600)
    took = time.perf_counter() - began
    if f'"seq":{rows - 1}}}' not in answer.text[-40:] or '"error"' in answer.text:
        raise RuntimeError(answer.text[-300:])
    return rows / took


@contextmanager
def updates(url: str, target: str, rows: int, rate: int) -> Iterator[None]:
    """Update random rows in the background, ``rate`` a second."""
    stop = threading.Event()

    def body() -> Iterator[bytes]:
        yield json.dumps({"target": target}).encode() + b"\n"
        number = 0
        while not stop.wait(0.05):
            some = (random.randrange(rows) for _ in range(rate // 20))
            yield "".join(f'{{"K":{key},"N":{number},"V":"y"}}\n' for key in some).encode()
            number += 1

    def run() -> None:
        httpx.post(f"{url}/inserts-stream", content=body(), timeout=600)

    thread = threading.Thread(target=run)
    if rate:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        if rate:
            thread.join()


def memory(url: str) -> float:
    """The server's own memory (not that of the JVMs it starts), MB."""
    return figure(url, "process_resident_memory_bytes") / 1e6


def figure(url: str, name: str) -> float:
    """A figure of the server's process."""
    for line in httpx.get(f"{url}/metrics").text.splitlines():
        if line.startswith(name):
            return float(line.split()[1])
    return 0.0


def scan(url: str, table: str) -> str:
    """Read a whole table; how many rows a second, and how much memory the server needed for that."""
    before, most, rows = memory(url), 0.0, 0
    began = time.perf_counter()
    with httpx.stream(
        "POST", f"{url}/query-stream", json={"sql": f"SELECT * FROM {table};"}, timeout=600
    ) as all_:
        for number, chunk in enumerate(all_.iter_bytes()):
            rows += chunk.count(b"\n")
            if number % 200 == 0:
                most = max(most, memory(url))
    took = time.perf_counter() - began
    return f"{(rows - 1) / took:8.0f}/s of {rows - 1} rows, memory grew by {max(0.0, most - before):.0f} MB"


def first_answer(url: str, text: str) -> float:
    """Seconds until a query is answered with a row, which waits for a view, and for what fills its table."""
    began = time.perf_counter()
    while True:
        answer = httpx.post(f"{url}/query-stream", json={"sql": text}, timeout=600)
        took = time.perf_counter() - began
        if answer.status_code != 200 or took > START_TIMEOUT_S:
            raise RuntimeError(answer.text)
        if answer.text.count("\n") > 1:
            return took


def push(url: str, stream: str, columns: str, clients: int, rate: int, seconds: float) -> str:
    """Rows to many clients of one push query: how late they come, and what each costs.

    ``columns``: what it selects of ``stream``; K and N come first.
    """
    place = urlsplit(url)
    before = memory(url)
    selector = selectors.DefaultSelector()
    received: dict[socket.socket, int] = {}
    #: the begin of a line whose end is still to come
    begun: dict[socket.socket, bytes] = {}
    body = json.dumps({"sql": f"SELECT {columns} FROM {stream} EMIT CHANGES;"}).encode()
    head = f"POST /query-stream HTTP/1.1\r\nHost: {place.netloc}\r\nContent-Length: {len(body)}\r\n\r\n"
    first: list[float] = []
    for _ in range(clients):
        sock = socket.create_connection((place.hostname, place.port))
        began = time.perf_counter()
        sock.sendall(head.encode() + body)
        data = sock.recv(65536)
        if b"200 OK" not in data:
            raise RuntimeError(data.decode(errors="replace"))
        first.append(time.perf_counter() - began)
        selector.register(sock, selectors.EVENT_READ)
        received[sock], begun[sock] = 0, b""
    stop = threading.Event()
    sent = 0

    def rows() -> Iterator[bytes]:
        nonlocal sent
        yield json.dumps({"target": stream}).encode() + b"\n"
        began = time.perf_counter()
        while not stop.is_set():
            yield f'{{"K":1,"N":{time.time_ns()},"V":"x"}}\n'.encode()
            sent += 1
            stop.wait(max(0.0, began + sent / rate - time.perf_counter()))

    gc.disable()  # a collection here would look like a late row
    sender = threading.Thread(target=lambda: httpx.post(f"{url}/inserts-stream", content=rows(), timeout=600))
    sender.start()
    #: when each row was sent, and how late it came, ms
    late: list[tuple[int, float]] = []
    began_ns = time.time_ns()
    end = time.perf_counter() + seconds
    until = end + 10
    while (now := time.perf_counter()) < until:
        if now > end:
            stop.set()
            if all(count == sent for count in received.values()):
                break
        for key, _ in selector.select(0.1):
            sock = key.fileobj  # type: ignore[assignment]
            data = sock.recv(1 << 20)
            if not data:
                raise RuntimeError("the server has closed a client's connection")
            *lines, begun[sock] = (begun[sock] + data).split(b"\n")
            at = time.time_ns()
            for line in lines:
                if line.startswith(b"[1,") and line.endswith(b"]"):
                    received[sock] += 1
                    sent_ns = int(line.split(b",")[1])
                    late.append((sent_ns, (at - sent_ns) / 1e6))
    stop.set()
    sender.join()
    gc.enable()
    grown = memory(url) - before
    for sock in received:
        sock.close()
    by_second: dict[int, list[float]] = {}
    for at, late_ms in late:
        by_second.setdefault((at - began_ns) // 10**9, []).append(late_ms)
    first.sort()
    return (
        f"{sent} rows to each, {sum(received.values()) / (sent * clients):.1%} arrived, "
        f"p50 and p99 {_shares([late_ms for _, late_ms in late])} ms late, of the rows of each second "
        f"{', '.join(_shares(times) for _, times in sorted(by_second.items()))}; "
        f"{grown / clients:.2f} MB each; started in {first[len(first) // 2] * 1000:.0f} ms (p50)"
    )


def _shares(times: list[float]) -> str:
    """The median, and what 99 of 100 stay below."""
    times = sorted(times)
    return f"{times[len(times) // 2]:.0f}/{times[int(len(times) * 0.99)]:.0f}"


@contextmanager
def statements(url: str, source: str) -> Iterator[list[float]]:
    """Create and drop a stream again and again; yields how long each CREATE took, seconds."""
    stop = threading.Event()
    times: list[float] = []

    def run() -> None:
        while not stop.is_set():
            name = f"c_{uuid.uuid4().hex[:8]}"
            began = time.perf_counter()
            execute(url, f"CREATE STREAM {name} AS SELECT * FROM {source};")
            times.append(time.perf_counter() - began)
            execute(url, f"DROP STREAM {name} DELETE TOPIC;")

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield times
    finally:
        stop.set()
        thread.join()


@contextmanager
def batch_queries(url: str, table: str) -> Iterator[list[float]]:
    """Group all rows of a table again and again; yields how long each query took, seconds."""
    stop = threading.Event()
    times: list[float] = []
    text = f"SELECT N % 10 AS d, COUNT(*) AS c FROM {table} GROUP BY N % 10;"

    def run() -> None:
        while not stop.is_set():
            times.append(first_answer(url, text))

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield times
    finally:
        stop.set()
        thread.join()


@contextmanager
def started(command: list[str], ready: str) -> Iterator[str]:
    """A process; yields its first line of output that starts with ``ready``."""
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        line = next((line for line in process.stdout if line.startswith(ready)), None)
        if line is None:
            raise RuntimeError("it did not start")
        threading.Thread(target=process.stdout.read, daemon=True).start()
        yield line
    finally:
        process.terminate()
        process.wait(60)


@contextmanager
def hello() -> Iterator[str]:
    """The bare ASGI application; yields its URL."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port = sock.getsockname()[1]
    process = subprocess.Popen([sys.executable, "-c", HELLO, str(port)], cwd=ROOT)
    url = f"http://127.0.0.1:{port}"
    try:
        until = time.monotonic() + START_TIMEOUT_S
        while time.monotonic() < until:
            try:
                httpx.get(url)
                break
            except httpx.ConnectError:
                time.sleep(0.05)
        yield url
    finally:
        process.terminate()
        process.wait(60)


def bare_rates(url: str, options: argparse.Namespace) -> dict[int, Measure]:
    """What the bare ASGI application does, by the number of connections."""
    return {n: load(url, lambda: ("/", b"{}"), n, options.seconds / 2) for n in options.connections}


@contextmanager
def server(folder: str) -> Iterator[str]:
    """A server of its own, with its data in ``folder``; yields its URL."""
    properties = Path(folder, "server.properties")
    properties.write_text("ksql.max.push.queries=1000\n")
    command = [sys.executable, "-m", "ksql_spark.server", "--listen", "127.0.0.1:0", "--data-dir", folder]
    command += ["--properties", str(properties)]
    with started(command, "ready: ") as line:
        yield line.split()[1]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--updates", type=int, default=1000, help="updates a second meanwhile")
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--push-clients", type=int, default=0, help="clients of one push query, e.g. 500")
    parser.add_argument("--only-push", action="store_true", help="measure nothing but these clients")
    parser.add_argument("--connections", type=int, nargs="*", default=[1, 8])
    parser.add_argument("--url", help="a server that runs")
    parser.add_argument("--only-restart", action="store_true", help="only fill a table, then start again")
    parser.add_argument("--only-indexes", action="store_true", help="only look up by key and by an index")
    options = parser.parse_args()
    if options.only_indexes:
        with tempfile.TemporaryDirectory(prefix="ksql-spark-serving-") as folder, server(folder) as url:
            by_index(url, fill(url, options.rows), options)
        return
    if options.only_restart:
        with tempfile.TemporaryDirectory(prefix="ksql-spark-serving-") as folder:
            with server(folder) as url:
                name = fill(url, options.rows)
                first_answer(url, f"SELECT * FROM q_{name} WHERE K = {options.rows - 1};")
            for _ in range(2):
                restart(folder, f"q_{name}")
        return
    if options.only_push:
        with tempfile.TemporaryDirectory(prefix="ksql-spark-serving-") as folder, server(folder) as url:
            run(url, options, {})
        return
    with hello() as url:
        bare = bare_rates(url, options)
    for n, measure in bare.items():
        print(f"bare ASGI, {n} connections            {measure}", flush=True)
    if options.url:
        run(options.url, options, bare)
    else:
        with tempfile.TemporaryDirectory(prefix="ksql-spark-serving-") as folder:
            with server(folder) as url:
                table = run(url, options, bare)
            restart(folder, table)


def restart(folder: str, table: str) -> None:
    """Start a server on what another one has left, and look a row up."""
    began = time.perf_counter()
    with server(folder) as url:
        ready = time.perf_counter() - began
        took = first_answer(url, f"SELECT * FROM {table} WHERE K = 1;")
        while not httpx.get(f"{url}/healthcheck", timeout=60).json()["isHealthy"]:
            time.sleep(0.1)
        whole = time.perf_counter() - began
    print(
        f"restart: ready after {ready:.1f} s, the first look-up took {took * 1000:.0f} ms more; "
        f"Spark and all queries ran after {whole:.1f} s"
    )


def fill(url: str, rows: int) -> str:
    """Make a table with ``rows`` rows, one that a query writes of it, and a stream; the first one's name."""
    name = f"bench_{uuid.uuid4().hex[:8]}"
    execute(url, f"CREATE TABLE {name} (K INT PRIMARY KEY, {COLUMNS}) WITH (kafka_topic='{name}', "
            "partitions=1, format='JSON');"
            f"CREATE TABLE q_{name} AS SELECT * FROM {name};")  # fmt: skip
    make_stream(url, f"s_{name}")
    rate = insert(url, f"s_{name}", rows)
    print(f"/inserts-stream, {rows} rows          {rate:8.0f}/s", flush=True)
    rate = insert(url, name, rows)
    print(f"… that a query and its sink follow   {rate:8.0f}/s", flush=True)
    return name


def make_stream(url: str, name: str) -> None:
    """Make an empty stream with the columns of the tables."""
    execute(url, f"CREATE STREAM {name} (K INT KEY, {COLUMNS}) WITH (kafka_topic='{name}', partitions=1, "
            "format='JSON');")  # fmt: skip


def seen(url: str, stream: str, options: argparse.Namespace) -> str:
    """How long after an INSERT a look-up sees it in an aggregate, beside updates of others."""
    table = f"c_{stream}"
    execute(url, f"CREATE TABLE {table} AS SELECT K, COUNT(*) AS C FROM {stream} GROUP BY K;")
    times: list[float] = []
    end = time.perf_counter() + options.seconds * 2
    with httpx.Client(base_url=url, timeout=60) as client:
        while time.perf_counter() < end:
            key = 10**9 + len(times)  # a new one
            began = time.perf_counter()
            answer = client.post("/ksql", json={"ksql": f"INSERT INTO {stream} VALUES ({key}, 1, 'x');"})
            answer.raise_for_status()
            body = {"sql": f"SELECT C FROM {table} WHERE K = {key};"}
            while client.post("/query-stream", json=body).text.count("\n") < 2:
                pass
            times.append((time.perf_counter() - began) * 1000)
    del times[: len(times) // 10]  # warms up
    return f"{len(times)} INSERTs seen in an aggregate: p50/p99 {_shares(times)} ms, max {max(times):.0f}"


def push_clients(url: str, stream: str, options: argparse.Namespace) -> None:
    """Many clients of one push query, without Spark and with it."""
    for what, selected in (("", "*"), (" of a query of Spark", "K, N, UCASE(V) AS V")):
        found = push(url, stream, selected, options.push_clients, 100, options.seconds)
        print(f"{options.push_clients} push clients{what}: {found}", flush=True)


def by_index(url: str, name: str, options: argparse.Namespace) -> None:
    """Look-ups by key and by an index while rows change, and what an index costs for each changed row."""
    columns, count = f"K INT PRIMARY KEY, {COLUMNS}", options.updates * options.seconds
    base = 0.0
    for indexes in (0, 1, 2):
        table = f"v{indexes}_{name}"
        execute(url, f"CREATE SOURCE TABLE {table} ({columns}) WITH (kafka_topic='{name}', format='JSON');")
        first_answer(url, f"SELECT * FROM {table} WHERE K = 1;")
        began = time.perf_counter()
        for column in ("N", "V")[:indexes]:
            execute(url, f"CREATE INDEX ON {table} ({column});")
        while not all(each["ready"] for each in shown(url, f"SHOW INDEXES ON {table};")["indexes"]):
            time.sleep(0.02)
        built_s, before = time.perf_counter() - began, figure(url, "process_cpu_seconds_total")
        with updates(url, name, options.rows, options.updates):
            time.sleep(options.seconds)
        first_answer(url, f"SELECT * FROM {table} WHERE K = 1;")
        cpu_us = (figure(url, "process_cpu_seconds_total") - before) / count * 1e6
        base = base or cpu_us
        print(
            f"{indexes} indexes: ready after {built_s:.2f} s, {cpu_us - base:.0f} µs of CPU an update more",
            flush=True,
        )
        if indexes < 2:
            execute(url, f"DROP TABLE {table};")  # whose view would follow the updates, too
    conditions: dict[str, Callable[[int], str]] = {
        "key": lambda number: f"v2_{name} WHERE K = {number}",
        "index": lambda number: f"v2_{name} WHERE N = {number}",
        "range of an index": lambda number: f"v2_{name} WHERE N > {number} AND N <= {number + 3}",
        "prefix": lambda number: f"v2_{name} WHERE V LIKE 'v{number}x%'",
    }
    with updates(url, name, options.rows, options.updates):
        for what, condition in conditions.items():

            def lookup(condition: Callable[[int], str] = condition) -> tuple[str, bytes]:
                number = random.randrange(options.rows // 2, options.rows)
                return "/query-stream", json.dumps({"sql": f"SELECT * FROM {condition(number)};"}).encode()

            load(url, lookup, 1, 1)  # warms up
            for n in options.connections:
                found = load(url, lookup, n, options.seconds)
                print(f"look-ups by {what}, {n} connections   {found}", flush=True)
        # OR compares a column that is in no index
        took = [
            first_answer(url, f"SELECT * FROM v2_{name} WHERE N = {n} OR K = {n} AND V <> 'z';")
            for n in (7, 8, 9)
        ]
        print(f"a scan for the same took {min(took):.2f} to {max(took):.2f} s", flush=True)


def run(url: str, options: argparse.Namespace, bare: dict[int, Measure]) -> str:
    """All measures of a server; the table of the look-ups."""
    if options.only_push:
        stream = f"s_{uuid.uuid4().hex[:8]}"
        make_stream(url, stream)
        insert(url, stream, options.rows)
        push_clients(url, stream, options)
        return stream
    name = fill(url, options.rows)

    def lookup() -> tuple[str, bytes]:
        text = f"SELECT * FROM q_{name} WHERE K = {random.randrange(options.rows)};"
        return "/query-stream", json.dumps({"sql": text}).encode()

    def values() -> tuple[str, bytes]:
        text = f"INSERT INTO s_{name} VALUES ({random.randrange(options.rows)}, 1, 'x');"
        return "/ksql", json.dumps({"ksql": text}).encode()

    execute(url, f"CREATE SOURCE TABLE v_{name} (K INT PRIMARY KEY, {COLUMNS}) WITH (kafka_topic='{name}', "
            "format='JSON');")  # fmt: skip
    took = first_answer(url, f"SELECT * FROM v_{name} WHERE K = 1;")
    print(f"a view of {options.rows} rows is made          {options.rows / took:8.0f}/s", flush=True)
    first_answer(url, f"SELECT * FROM q_{name} WHERE K = 1;")
    load(url, lookup, 1, 2)  # warms up
    with updates(url, name, options.rows, options.updates):
        with hello() as other:
            beside = bare_rates(other, options)
        for n in options.connections:
            print(f"bare ASGI beside updates, {n}          {beside[n]}", flush=True)
            found = load(url, lookup, n, options.seconds)
            print(
                f"look-ups, {n} connections             {found}   {found.rate / bare[n].rate:.2f} of bare, "
                f"{found.rate / beside[n].rate:.2f} of bare beside the same updates",
                flush=True,
            )
        with updates(url, f"s_{name}", options.rows, options.updates):
            print(seen(url, f"s_{name}", options), flush=True)
        with statements(url, f"s_{name}") as times:
            n = options.connections[-1]
            found = load(url, lookup, n, options.seconds)
        print(f"… while {len(times)} CREATE … AS run         {found}", flush=True)
        if times:
            print(f"    a CREATE … AS took {min(times):.2f} to {max(times):.2f} s", flush=True)
        with batch_queries(url, f"q_{name}") as times:
            found = load(url, lookup, n, options.seconds)
        print(f"… while {len(times)} GROUP BY over all run     {found}", flush=True)
        print(f"    a GROUP BY took {min(times):.2f} to {max(times):.2f} s", flush=True)
    print(f"scan                                {scan(url, f'q_{name}')}", flush=True)
    if options.push_clients:
        push_clients(url, f"s_{name}", options)
    for n in options.connections:
        print(f"INSERT VALUES, {n} connections        {load(url, values, n, options.seconds)}", flush=True)
    return f"q_{name}"


if __name__ == "__main__":
    main()
