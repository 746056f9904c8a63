"""What a dashboard costs: how long its charts take, and what they do to the stream that keeps their table.

    .venv/bin/python -m bench.dashboard [--rows 100000] [--rate 1000] [--charts 20] [--every 5] [--seconds 60]

It starts a server of its own, with a table that changes all the time. Each chart has a connection to
PostgreSQL's port and asks every few seconds, as Superset does. A record's latency is from its producer to
the table's topic.
"""

from __future__ import annotations

import argparse
import tempfile
import threading
import time
from pathlib import Path

import psycopg

from bench.latency import Meter, percentile
from tests.integration.server_process import ServerProcess
from tests.waiting import until

STATEMENTS = """
CREATE STREAM events (k STRING KEY, n BIGINT, sent BIGINT)
  WITH (KAFKA_TOPIC = 'events', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE TABLE latest AS
  SELECT k, LATEST_BY_OFFSET(n) AS n, LATEST_BY_OFFSET(sent) AS sent, COUNT(*) AS changes,
    LATEST_BY_OFFSET(CAST(n % 7 AS STRING)) AS zone, LATEST_BY_OFFSET(FROM_UNIXTIME(sent / 1000)) AS seen
  FROM events GROUP BY k;
"""
#: a number, bars, a line, a table and its pages: each for several zones
CHARTS = (
    "SELECT COUNT(*) AS count, SUM(n) AS n FROM latest WHERE zone <> '{zone}'",
    "SELECT zone, AVG(n) AS n, MAX(changes) AS changes FROM latest WHERE zone <> '{zone}' GROUP BY zone",
    "SELECT date_trunc('minute', seen) AS seen, COUNT(*) AS n FROM latest WHERE zone <> '{zone}' GROUP BY 1",
    "SELECT k, n, seen FROM latest WHERE zone = '{zone}' ORDER BY n DESC LIMIT 100",
)


class Chart(threading.Thread):
    """A chart that refreshes itself; ``taken`` are the seconds that each answer took."""

    def __init__(self, uri: str, number: int, every_s: float, stopping: threading.Event) -> None:
        super().__init__()
        self.taken: list[float] = []
        self._uri = uri
        self._text = CHARTS[number % len(CHARTS)].format(zone=number // len(CHARTS) % 7)
        self._every_s = every_s
        self._first_s = number * every_s / 20
        self._stopping = stopping

    def run(self) -> None:
        """Ask until it is stopped."""
        with psycopg.connect(self._uri, autocommit=True) as connection:
            wait_s = self._first_s
            while not self._stopping.wait(wait_s):
                began = time.perf_counter()
                connection.execute(self._text.encode()).fetchall()
                self.taken.append(time.perf_counter() - began)
                wait_s = max(0.0, self._every_s - self.taken[-1])


def shown(taken_s: list[float]) -> str:
    """Percentiles of seconds, in milliseconds."""
    taken = sorted(taken_s)
    return ", ".join(f"{share}: {percentile(taken, share) * 1000:.0f} ms" for share in (0.5, 0.99, 1.0))


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--rate", type=float, default=1000, help="changes of the table a second")
    parser.add_argument("--charts", type=int, default=20)
    parser.add_argument("--every", type=float, default=5, help="seconds between two answers of a chart")
    parser.add_argument("--seconds", type=float, default=60, help="of each of the two measures")
    options = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(prefix="ksql-spark-dashboard-") as folder,
        ServerProcess(Path(folder), "--pg-listen", "127.0.0.1:0").ready() as server,
    ):
        (address,) = (
            word for line in server.lines for word in line.split() if word.startswith("postgresql:")
        )
        uri = address.rstrip(",").replace("//", "//ada@")
        server.execute(STATEMENTS, **{"auto.offset.reset": "earliest"})
        with psycopg.connect(uri, autocommit=True) as connection:
            with connection.cursor() as cursor, cursor.copy("COPY events FROM STDIN") as copy:
                for number in range(options.rows):
                    copy.write_row((str(number), number, time.time_ns() // 1000))
            until(lambda: connection.execute("SELECT COUNT(*) FROM latest").fetchone() == (options.rows,))
        meter = Meter(server.bootstrap_servers(), "events", "LATEST", "SENT")
        for name in ("alone", f"beside {options.charts} charts"):
            stopping = threading.Event()
            count = 0 if name == "alone" else options.charts
            charts = [Chart(uri, number, options.every, stopping) for number in range(count)]
            for chart in charts:
                chart.start()
            began = time.time()
            meter.send_for(options.seconds, options.rate, lambda: None)
            time.sleep(2)
            stopping.set()
            for chart in charts:
                chart.join()
            latencies = [received - sent for sent, received in list(meter.received) if sent >= began]
            print(f"stream {name}: {len(latencies)} records, {shown(latencies)}", flush=True)
            if charts:
                answers = [taken for chart in charts for taken in chart.taken]
                print(f"charts: {len(answers)} answers, {shown(answers)}", flush=True)
        meter.close()
        server.stop()


if __name__ == "__main__":
    main()
