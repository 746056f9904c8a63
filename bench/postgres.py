"""Pull queries by key over PostgreSQL's protocol and over REST, in turn, and what idle connections cost.

    .venv/bin/python bench/postgres.py [--rows 20000] [--seconds 5] [--rounds 3] [--idle 100]

One connection each, one query at a time: psycopg with a prepared statement, and HTTP/1.1 with keep-alive.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable

import httpx
import psutil
import psycopg

START_TIMEOUT_S = 300.0
READY = re.compile(r"ready: (http://\S+) and postgresql://([\d.]+):(\d+)/")


def rate(query: Callable[[int], None], rows: int, seconds: float) -> float:
    """Queries a second."""
    began, count = time.perf_counter(), 0
    while (passed := time.perf_counter() - began) < seconds:
        query(random.randrange(rows))
        count += 1
    return count / passed


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--idle", type=int, default=100, help="idle connections")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ksql-spark-postgres-") as folder:
        listen = ["--listen", "127.0.0.1:0", "--pg-listen", "127.0.0.1:0", "--data-dir", folder]
        command = [sys.executable, "-m", "ksql_spark.server", *listen, "--exit-with-stdin"]
        server = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        assert server.stdout is not None and server.stdin is not None
        try:
            found = next(match for line in server.stdout if (match := READY.search(line)))
            measure(found[1], found[2], int(found[3]), server.pid, options)
        finally:
            server.stdin.close()
            server.wait(60)


def measure(url: str, host: str, port: int, pid: int, options: argparse.Namespace) -> None:
    """Fill a table, and read it by both protocols in turn."""
    rest = httpx.Client(base_url=url, timeout=START_TIMEOUT_S)
    columns = "id BIGINT PRIMARY KEY, v STRING"
    create = f"CREATE TABLE t ({columns}) WITH (KAFKA_TOPIC = 't', VALUE_FORMAT = 'JSON', PARTITIONS = 1);"
    rest.post("/ksql", json={"ksql": create}).raise_for_status()
    lines = [
        json.dumps({"target": "t"}),
        *(json.dumps({"ID": n, "V": f"value {n}"}) for n in range(options.rows)),
    ]
    rest.post("/inserts-stream", content="\n".join(lines)).raise_for_status()
    copy = {
        "ksql": "CREATE TABLE q AS SELECT * FROM t;",
        "streamsProperties": {"auto.offset.reset": "earliest"},
    }
    rest.post("/ksql", json=copy).raise_for_status()
    connection = psycopg.connect(host=host, port=port, user="bench", dbname="ksql", autocommit=True)
    last = "SELECT * FROM q WHERE id = %s"
    deadline = time.monotonic() + START_TIMEOUT_S
    while connection.execute(last, (options.rows - 1,)).fetchone() is None:
        if time.monotonic() > deadline:
            raise TimeoutError("the table is not filled")
        time.sleep(0.1)

    def by_rest(key: int) -> None:
        body = {"sql": f"SELECT * FROM q WHERE id = {key};"}
        rest.post("/query-stream", json=body).raise_for_status()

    def by_postgres(key: int) -> None:
        connection.execute("SELECT * FROM q WHERE id = %s", (key,), prepare=True).fetchone()

    for query in (by_rest, by_postgres):
        rate(query, options.rows, 2)
    print(f"{'round':>5}{'REST':>10}{'PostgreSQL':>12}{'times':>8}")
    for number in range(options.rounds):
        rates = [rate(query, options.rows, options.seconds) for query in (by_rest, by_postgres)]
        print(
            f"{number + 1:>5}{rates[0]:>8,.0f}/s{rates[1]:>10,.0f}/s{rates[1] / rates[0]:>8.2f}", flush=True
        )
    process = psutil.Process(pid)
    before = process.memory_info().rss
    idle = [psycopg.connect(host=host, port=port, user="bench", dbname="ksql") for _ in range(options.idle)]
    print(f"{len(idle)} idle connections: {(process.memory_info().rss - before) / 1e6:.1f} MB")
    for one in idle:
        one.close()


if __name__ == "__main__":
    main()
