"""How long a restart takes until all queries answer: ours, and the same queries hand-written in PySpark.

    python bench/restart.py [--queries 50] [--kinds stateless,aggregate] [--rounds 2]

Each side has a data folder with a broker of its own. Queries are created, answer a record each, and the
server stops, as a planned stop. Then it starts in a new JVM, and records are sent until every query has
answered one: that is the time, with the JVM's CPU time of it. The hand-written queries have the same settings
of JVM and session, and the same trigger; four threads start them from their checkpoints. Their time, too,
begins with the start of broker and JVM.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psutil
from latency import handwritten
from many import SOURCE, Probe, start_queries

from ksql_spark.config import Config
from ksql_spark.engine import Engine, Request

SIDES = ("ours", "by hand")
THREADS = 4


def start(engine: Engine, side: str, options: argparse.Namespace, folder: Path, config: Config) -> list[Any]:
    """Start all hand-written queries; ours have started by themselves."""
    if side == "ours":
        return []
    kinds = options.kinds.split(",")

    def one(n: int) -> Any:
        return handwritten(engine, kinds[n % len(kinds)], f"i{n}", f"o{n}", folder, config)

    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(one, range(options.queries)))


def answer(engine: Engine, options: argparse.Namespace) -> None:
    """Wait until every query has answered a record."""
    probe = Probe(engine.services.admin.servers, options.queries)
    probe.wait_for_all(300)
    probe.close()


def cpu_s(engine: Engine) -> float:
    """CPU time of Spark's JVM, seconds."""
    times = psutil.Process(engine.services.spark.process.pid).cpu_times()
    return float(times.user + times.system)


def measure(side: str, options: argparse.Namespace) -> None:
    """Create the queries, restart ``--rounds`` times, print a line for each."""
    with tempfile.TemporaryDirectory(prefix="ksql-spark-restart-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        config = Config({"ksql.spark.data.dir": str(folder / "data"), "ksql.spark.warm.up.enabled": "false"})
        engine = Engine(config)
        try:
            engine.start(lambda text: None)
            if side == "ours":
                start_queries(engine, 0, options.queries, 1, options)
            else:
                for n in range(options.queries):
                    engine.execute(Request(SOURCE.format(n=n, partitions=1)))
                    engine.services.admin.create_topic(f"o{n}", 1, 1)
            queries = start(engine, side, options, folder, config)
            answer(engine, options)
            for _ in range(options.rounds):
                for query in queries:
                    query.stop()
                engine.stop()
                engine = Engine(config)
                began = time.monotonic()
                served: list[float] = []
                engine.start(lambda text: None, lambda at=served: at.append(time.monotonic()))
                ready = time.monotonic() - began
                queries = start(engine, side, options, folder, config)
                answer(engine, options)
                took = time.monotonic() - began
                print(
                    f"{side:10}{options.queries:8}{served[0] - began:10.1f}{ready:10.1f}{took:10.1f}"
                    f"{cpu_s(engine):10.1f}",
                    flush=True,
                )
        finally:
            engine.stop()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--queries", type=int, default=50, help="number of queries (default 50)")
    parser.add_argument("--kinds", default="stateless,aggregate", help="kinds, used in turn")
    parser.add_argument("--rounds", type=int, default=2, help="restarts of each side (default 2)")
    parser.add_argument("--sides", default=",".join(SIDES), help="sides, separated by commas")
    options = parser.parse_args()
    print(f"{'side':10}{'queries':>8}{'serves, s':>10}{'starts, s':>10}{'all, s':>10}{'CPU, s':>10}")
    for side in options.sides.split(","):
        measure(side, options)


if __name__ == "__main__":
    main()
