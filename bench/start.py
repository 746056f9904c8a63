"""How long a new server's first queries take, from the statement to the first row in the sink.

    python bench/start.py [--wait 10] [--only stateless,aggregate,join,join-aggregate]

For each query, a new server with its own broker and an empty data folder is started. After --wait seconds (a
user's time to type), the query is run twice. Printed are seconds: until everything runs, until the
statement has run, and until the first row is in the sink's topic; the latter two again for the second run.
"""

from __future__ import annotations

import argparse
import tempfile
import time

from ksql_spark.config import Config
from ksql_spark.engine import Engine, Request

SOURCES = """
CREATE TABLE users (id STRING PRIMARY KEY, name STRING, city STRING)
  WITH (KAFKA_TOPIC = 'users', VALUE_FORMAT = 'JSON', PARTITIONS = 2);
CREATE STREAM clicks (id STRING KEY, page STRING, ms BIGINT)
  WITH (KAFKA_TOPIC = 'clicks', VALUE_FORMAT = 'JSON', PARTITIONS = 2);
INSERT INTO users VALUES ('u1', 'Ann', 'Oslo');
INSERT INTO clicks VALUES ('u1', '/a', 10);
"""
QUERIES = {
    "stateless": "CREATE STREAM {sink} AS SELECT id, ms * 2 AS twice FROM clicks EMIT CHANGES;",
    "aggregate": "CREATE TABLE {sink} AS SELECT page, COUNT(*) AS n FROM clicks GROUP BY page EMIT CHANGES;",
    "join": (
        "CREATE STREAM {sink} AS SELECT c.id AS id, city, ms FROM clicks c JOIN users u ON c.id = u.id"
        " EMIT CHANGES;"
    ),
    "join-aggregate": (
        "CREATE TABLE {sink} AS SELECT city, COUNT(*) AS n FROM clicks c JOIN users u ON c.id = u.id"
        " WINDOW TUMBLING (SIZE 1 HOUR) GROUP BY city EMIT CHANGES;"
    ),
}
TIMEOUT_S = 120.0


def first_row(engine: Engine, statement: str, sink: str) -> tuple[float, float]:
    """Seconds until the statement has run, and until its sink has a record."""
    began = time.monotonic()
    engine.execute(Request(statement.format(sink=sink), {"auto.offset.reset": "earliest"}))
    done = time.monotonic() - began
    admin = engine.services.admin
    while not any(admin.end_offsets(sink.upper()).values()):
        if time.monotonic() - began > TIMEOUT_S:
            raise SystemExit("no row arrived")
        time.sleep(0.01)
    return done, time.monotonic() - began


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--wait", type=float, default=10, help="seconds before the statement (default 10)")
    parser.add_argument("--only", help=f"queries to run, separated by commas: {', '.join(QUERIES)}")
    options = parser.parse_args()
    print(f"{'':16}{'ready':>8}  |{'done':>8}{'row':>8}  |{'again':>8}{'row':>8}")
    for name in options.only.split(",") if options.only else QUERIES:
        with tempfile.TemporaryDirectory(prefix="ksql-spark-start-", ignore_cleanup_errors=True) as folder:
            engine = Engine(Config({"ksql.spark.data.dir": folder}))
            began = time.monotonic()
            try:
                engine.start()
                ready = time.monotonic() - began
                time.sleep(options.wait)
                engine.execute(Request(SOURCES))
                times = [first_row(engine, QUERIES[name], f"sink_{n}") for n in range(2)]
            finally:
                engine.stop()
        pairs = "".join(f"  |{done:8.2f}{row:8.2f}" for done, row in times)
        print(f"{name:16}{ready:8.2f}{pairs}", flush=True)


if __name__ == "__main__":
    main()
