"""What reads of a large table cost: a million rows that are grouped, read whole as Arrow and pandas, and
copied, a read that is given up, and a stream that runs beside them.

    python bench/large_reads.py [--rows 1000000] [--rounds 5] [--only-beside]

It starts an engine of its own. Times are of a client in this process, in seconds: each of the rounds, the
first of which is cold. The stream copies 100 records a second; its latency is that of bench/latency.py.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import httpx
import psutil
import psycopg
from confluent_kafka import Producer

import ksql_spark
from bench.latency import Meter, percentile
from tests.integration.server_process import ServerProcess
from tests.waiting import until

TABLE = """CREATE SOURCE TABLE big (id BIGINT PRIMARY KEY, g INT, v DOUBLE, s STRING)
  WITH (KAFKA_TOPIC = 'big', KEY_FORMAT = 'KAFKA', VALUE_FORMAT = 'JSON');"""
TOPIC = """CREATE TABLE made (id BIGINT PRIMARY KEY, g INT, v DOUBLE, s STRING)
  WITH (KAFKA_TOPIC = 'big', KEY_FORMAT = 'KAFKA', VALUE_FORMAT = 'JSON', PARTITIONS = 4);"""
GROUPED = "SELECT g, COUNT(*) AS n, SUM(v) AS total FROM big GROUP BY g;"
ALL = "SELECT * FROM big;"
#: a join of a million rows with ten thousand each
ENDLESS = "SELECT COUNT(*) AS n FROM big a JOIN big b ON a.g = b.g WHERE a.v + b.v > 1;"


def fill(servers: str, rows: int) -> None:
    producer = Producer(
        {"bootstrap.servers": servers, "linger.ms": 50, "queue.buffering.max.messages": 1_000_000}
    )
    for i in range(rows):
        value = json.dumps({"G": i % 100, "V": i / 3, "S": f"name {i % 5000}"}).encode()
        producer.produce("big", value, i.to_bytes(8, "big"), partition=i % 4)
        if i % 20_000 == 0:
            producer.poll(0)
    producer.flush()


def timed(what: str, rounds: int, read: Callable[[], object]) -> None:
    times = []
    for _ in range(rounds):
        began = time.perf_counter()
        read()
        times.append(f"{time.perf_counter() - began:.2f}")
    print(f"{what}: {', '.join(times)} s (load {os.getloadavg()[0]:.1f})", flush=True)


def given_up(server: ServerProcess) -> None:
    """How long after a client has closed its connection the queries of a heavy read are gone."""
    with httpx.Client(base_url=server.url, timeout=60) as client:
        reading = client.stream("POST", "/query-stream", json={"sql": ENDLESS})
        with contextlib.suppress(httpx.ReadTimeout), reading as answer:
            for _ in answer.iter_lines():
                break
            time.sleep(5)
    began = time.perf_counter()
    while busy(server):
        pass
    print(f"given up: Spark is idle after {time.perf_counter() - began:.2f} s", flush=True)


def beside(server: ServerProcess, seconds: float = 30.0, rate: float = 100.0) -> None:
    """The latency of a stream, alone and while the table is grouped again and again."""
    server.execute(
        "CREATE STREAM events (k STRING, n BIGINT, sent BIGINT)"
        " WITH (KAFKA_TOPIC = 'events', VALUE_FORMAT = 'JSON', PARTITIONS = 1);"
        "CREATE STREAM passed AS SELECT * FROM events EMIT CHANGES;"
    )
    meter = Meter(server.bootstrap_servers(), "events", "PASSED", "SENT")
    until(lambda: meter.send(0) or meter.received)
    meter.send_for(10, rate, lambda: None)
    for name in ("alone", "beside GROUP BY", "alone", "beside GROUP BY"):
        stopping, reads = threading.Event(), [0]

        def group(stopping: threading.Event = stopping, reads: list[int] = reads) -> None:
            while not stopping.is_set():
                server.rows(GROUPED)
                reads[0] += 1

        reader = threading.Thread(target=group)
        if name != "alone":
            reader.start()
        began = time.time()
        meter.send_for(seconds, rate, lambda: None)
        time.sleep(2)
        stopping.set()
        if name != "alone":
            reader.join()
        taken = sorted((received - sent) * 1000 for sent, received in list(meter.received) if sent >= began)
        shares = ", ".join(f"{share}: {percentile(taken, share):.1f}" for share in (0.5, 0.99, 1.0))
        print(
            f"stream {name}: {len(taken)} of {seconds * rate:.0f} records, {shares} ms; {reads[0]} reads",
            flush=True,
        )
    meter.close()


def copied(server: ServerProcess, rows: int) -> None:
    """COPY of rows from PostgreSQL's protocol, in one transaction."""
    server.execute(
        "CREATE STREAM copies (id BIGINT KEY, v DOUBLE)"
        " WITH (KAFKA_TOPIC = 'copies', VALUE_FORMAT = 'JSON', PARTITIONS = 4);"
    )
    (url,) = (word for line in server.lines for word in line.split() if word.startswith("postgresql:"))
    with psycopg.connect(url.rstrip(",").replace("//", "//ada@"), autocommit=True) as connection:
        connection.execute("SET 'ksql.streams.processing.guarantee' = 'exactly_once_v2'")
        with connection.cursor() as cursor, cursor.copy("COPY copies FROM STDIN") as copy:
            for first in range(0, rows, 1000):
                copy.write("".join(f"{i}\t{i / 3}\n" for i in range(first, first + 1000)))


def busy(server: ServerProcess) -> bool:
    """Whether the server's processes use more than a fifth of a core for a quarter of a second."""
    processes = [psutil.Process(pid) for pid in server.pids()]

    def used_s() -> float:
        return sum(sum(process.cpu_times()[:2]) for process in processes)

    before = used_s()
    time.sleep(0.25)
    return used_s() - before > 0.05


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only-beside", action="store_true", help="measure the stream, and nothing else")
    options = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(prefix="ksql-spark-reads-") as folder,
        ServerProcess(Path(folder), "--pg-listen", "127.0.0.1:0").ready() as server,
    ):
        db = ksql_spark.connect(server.url)
        server.execute(TOPIC)
        fill(server.bootstrap_servers(), options.rows)
        server.execute(TABLE)
        timed("a view of the table is there", 1, lambda: server.rows("SELECT * FROM big WHERE id = 1;"))
        timed("GROUP BY", options.rounds, lambda: server.rows(GROUPED))
        if not options.only_beside:
            timed("Arrow", options.rounds, lambda: db.sql(ALL).arrow())
            timed("pandas of Arrow", options.rounds, lambda: db.sql(ALL).arrow().to_pandas())
            timed("pandas of JSON", 2, lambda: db.sql(ALL).df())
            timed("COPY", 1, lambda: copied(server, options.rows))
            given_up(server)
        beside(server)
        db.close()


if __name__ == "__main__":
    main()
