"""The cost of user functions in Python in real-time mode: latency and rows per second, next to built-in ones.

    python bench/user_functions.py [--rate 100] [--seconds 15] [--rows 200000]

Each line is a query. First, records with the time at which they were sent arrive at a constant rate, for the
latency; then a backlog, as fast as the producer can send it, for the speed.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

from confluent_kafka import Producer
from latency import STREAM, Meter, _sent_and_received, percentile

from ksql_spark.config import Config
from ksql_spark.engine import Engine, Request

FUNCTIONS = """
import pyarrow.compute

from ksql_spark.udf import Vector, aggregate_function, scalar_function


@scalar_function
def twice(n: int) -> int:
    return 2 * n


@scalar_function
def twice_all(n: Vector[int]) -> Vector[int]:
    return pyarrow.compute.multiply(n, 2)


@aggregate_function
class Total:
    def initialize(self) -> int:
        return 0

    def aggregate(self, state: int, n: int) -> int:
        return state + n

    def result(self, state: int) -> int:
        return state
"""

#: title -> the query, and its share of --rows
QUERIES = {
    "n * 2": ("SELECT k, n * 2 AS n, sent FROM {source}", 1.0),
    "called with vectors": ("SELECT k, TWICE_ALL(n) AS n, sent FROM {source}", 1.0),
    "called for batches": ("SELECT k, TWICE(n) AS n, sent FROM {source}", 1.0),
    "called in a CASE": ("SELECT k, CASE WHEN n >= 0 THEN TWICE(n) END AS n, sent FROM {source}", 0.2),
    "SUM": ("SELECT k, SUM(n) AS n, MAX(sent) AS sent FROM {source} GROUP BY k", 1.0),
    "aggregate in Python": ("SELECT k, TOTAL(n) AS n, MAX(sent) AS sent FROM {source} GROUP BY k", 0.2),
}
TIMEOUT_S = 120.0


def backlog(meter: Meter, servers: str, topic: str, rows: int) -> float:
    """Rows per second for ``rows`` records that are sent at once."""
    producer = Producer(
        {
            "bootstrap.servers": servers,
            "linger.ms": 20,
            "queue.buffering.max.messages": rows + 1,
            "log_level": 0,
        }
    )
    before, began = len(meter.received), time.perf_counter()
    for n in range(rows):
        producer.produce(topic, b'{"k": "%d", "n": %d, "sent": 1}' % (n % 100, n), b"%d" % (n % 100))
        if n % 10_000 == 0:
            producer.poll(0)
    producer.flush()
    while len(meter.received) < before + rows and time.perf_counter() < began + TIMEOUT_S:
        time.sleep(0.01)
    return (len(meter.received) - before) / (time.perf_counter() - began)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rate", type=float, default=100, help="records per second (default 100)")
    parser.add_argument(
        "--seconds", type=float, default=15, help="duration at that rate, per query (default 15)"
    )
    parser.add_argument("--rows", type=int, default=200_000, help="records of the backlog (default 200,000)")
    options = parser.parse_args()
    options.warm_up = 4.0
    with tempfile.TemporaryDirectory(prefix="ksql-spark-functions-", ignore_cleanup_errors=True) as folder:
        extensions = Path(folder) / "ext"
        extensions.mkdir()
        (extensions / "measured.py").write_text(FUNCTIONS)
        engine = Engine(Config({"ksql.spark.data.dir": folder}))
        try:
            engine.start(lambda text: print(f"  {text}", flush=True))
            _run(engine, options)
        finally:
            engine.stop()


def _run(engine: Engine, options: argparse.Namespace) -> None:
    admin = engine.services.admin
    print(f"\n{'':22}{'p50 ms':>9}{'p95 ms':>9}{'p99 ms':>9}{'rows/s':>12}", flush=True)
    for i, (title, (query, share)) in enumerate(QUERIES.items()):
        source, sink = f"in_{i}", f"out_{i}"
        admin.create_topic(source, 1)
        engine.execute(Request(STREAM.format(source=source)))
        kind = "TABLE" if "GROUP BY" in query else "STREAM"
        made = f"CREATE {kind} {sink} WITH (KAFKA_TOPIC = '{sink}') AS {query.format(source=source)};"
        engine.execute(Request(made, {"auto.offset.reset": "latest"}))
        meter = Meter(admin.servers, source, sink, "SENT")
        try:
            pairs = _sent_and_received(meter, options, lambda: None)
            taken = sorted((received - sent) * 1000 for sent, received in pairs)
            speed = backlog(meter, admin.servers, source, int(options.rows * share))
        finally:
            meter.close()
        numbers = "".join(f"{percentile(taken, share):9.1f}" for share in (0.5, 0.95, 0.99))
        print(f"{title:22}{numbers}{speed:12,.0f}", flush=True)
        engine.execute(Request(f"DROP {kind} {sink} DELETE TOPIC; DROP STREAM {source} DELETE TOPIC;"))


if __name__ == "__main__":
    main()
