"""Does anything grow? Creates, drops and pushes in a loop, and prints what the server has after each round.

    python bench/soak.py [--seconds 300]

A round makes a stateless and a stateful query, sends records, reads a push query and a pull query, and drops
all of it. After each round: resident memory (MB) and threads of the server's Python and of Spark's JVM, open
descriptors of both, files in the data folder without the broker's, their size (MB), and topics. The first
rounds load and compile; from then on the numbers should stay where they are.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import tempfile
import time
from pathlib import Path

import psutil

from ksql_spark.config import Config
from ksql_spark.engine import Engine, Request

MAKE = """
CREATE STREAM s (k STRING KEY, v INT) WITH (KAFKA_TOPIC = 's', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE STREAM a AS SELECT k, v + 1 AS w FROM s EMIT CHANGES;
CREATE TABLE t AS SELECT k, COUNT(*) AS n FROM s GROUP BY k EMIT CHANGES;
INSERT INTO s VALUES ('a', 1);
INSERT INTO s VALUES ('b', 2);
"""
DROP = "DROP TABLE t DELETE TOPIC; DROP STREAM a DELETE TOPIC; DROP STREAM s DELETE TOPIC;"
PUSH = "SELECT k, v FROM s EMIT CHANGES LIMIT 2;"
PULL = "SELECT n FROM t WHERE k = 'a';"
COLUMNS = ("round", "py MB", "jvm MB", "py thr", "jvm thr", "py fd", "jvm fd", "files", "files MB", "topics")
TIMEOUT_S = 120.0


def rows(engine: Engine, text: str) -> int:
    """How many rows a query that ends has."""
    stream = engine.query(Request(text, {"auto.offset.reset": "earliest"}))
    count = 0
    try:
        while (found := stream.read(0.5)) is not None:
            count += len(found)
    finally:
        stream.close()
    return count


def one_round(engine: Engine) -> None:
    """Make, use and drop everything."""
    engine.execute(Request(MAKE, {"auto.offset.reset": "earliest"}))
    assert rows(engine, PUSH) == 2
    deadline = time.monotonic() + TIMEOUT_S
    while rows(engine, PULL) == 0:
        assert time.monotonic() < deadline, "the table has no row"
    engine.execute(Request(DROP))


def measured(engine: Engine, folder: Path) -> list[float]:
    """What there is now, as COLUMNS says."""
    own, jvm = psutil.Process(), psutil.Process(engine.services.spark.pid)
    sizes = []
    for path, folders, files in os.walk(folder):
        if Path(path) == folder:
            folders.remove("kafka")
        for name in files:
            with contextlib.suppress(OSError):  # removed meanwhile
                sizes.append((Path(path) / name).stat().st_size)
    processes = (own, jvm)
    return [
        *(p.memory_info().rss / 1e6 for p in processes),
        *(p.num_threads() for p in processes),
        *(p.num_fds() for p in processes),
        len(sizes),
        sum(sizes) / 1e6,
        len(engine.services.admin.topics()),
    ]


def main() -> None:
    """Run rounds for the given time."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seconds", type=float, default=300.0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="soak-") as name:
        engine = Engine(Config({"ksql.spark.data.dir": name}))
        engine.start(lambda line: print(line, flush=True))
        try:
            end, number = time.monotonic() + options.seconds, 0
            print(" ".join(f"{column:>8}" for column in COLUMNS), flush=True)
            while time.monotonic() < end:
                number += 1
                one_round(engine)
                found = measured(engine, Path(name))
                print(" ".join(f"{value:8.0f}" for value in (number, *found)), flush=True)
        finally:
            engine.stop()


if __name__ == "__main__":
    main()
