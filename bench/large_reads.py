"""What reads of a large table cost: a table of a million rows, grouped, read whole as Arrow and pandas, and a
read that is given up.

    python bench/large_reads.py [--rows 1000000] [--rounds 5]

It starts an engine of its own. Times are of a client in this process, in seconds: each of the rounds, the
first of which is cold.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import httpx
import psutil
from confluent_kafka import Producer

import ksql_spark
from tests.integration.server_process import ServerProcess

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
    options = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(prefix="ksql-spark-reads-") as folder,
        ServerProcess(Path(folder)).ready() as server,
    ):
        db = ksql_spark.connect(server.url)
        server.execute(TOPIC)
        fill(server.bootstrap_servers(), options.rows)
        server.execute(TABLE)
        timed("a view of the table is there", 1, lambda: server.rows("SELECT * FROM big WHERE id = 1;"))
        timed("GROUP BY", options.rounds, lambda: server.rows(GROUPED))
        timed("Arrow", options.rounds, lambda: db.sql(ALL).arrow())
        timed("pandas", options.rounds, lambda: db.sql(ALL).df())
        given_up(server)
        db.close()


if __name__ == "__main__":
    main()
