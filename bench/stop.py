"""How long a server takes to stop while Kafka is away.

    python bench/stop.py [--queries 38] [--exactly-once]

A broker of its own ends under a server with that many queries, half of them stateless, half aggregates. Once
the server has noticed, it gets SIGTERM. Printed: seconds until it and all its processes have ended.
"""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
import time
from pathlib import Path

import httpx

sys.path.insert(0, str(Path(__file__).parents[1]))

from ksql_spark.services.broker import EmbeddedBroker
from tests.integration.server_process import ServerProcess
from tests.waiting import TIMEOUT_S

SOURCE = (
    "CREATE STREAM s (k STRING KEY, v INT) WITH (KAFKA_TOPIC = 's', VALUE_FORMAT = 'JSON', PARTITIONS = 2);"
)
KINDS = (
    "CREATE STREAM copy{n} AS SELECT k, v + 1 AS w FROM s EMIT CHANGES;",
    "CREATE TABLE counts{n} AS SELECT k, COUNT(*) AS n FROM s GROUP BY k EMIT CHANGES;",
)


def is_healthy(server: ServerProcess) -> bool:
    """What /healthcheck says."""
    return bool(httpx.get(f"{server.url}/healthcheck", timeout=TIMEOUT_S).json()["isHealthy"])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--queries", type=int, default=38)
    parser.add_argument("--exactly-once", action="store_true")
    options = parser.parse_args()
    properties = {"processing.guarantee": "exactly_once_v2"} if options.exactly_once else {}
    with tempfile.TemporaryDirectory(prefix="ksql-spark-stop-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        with EmbeddedBroker(folder / "kafka", 0) as broker:
            arguments = ("--bootstrap-servers", broker.bootstrap_servers)
            with ServerProcess(folder / "data", *arguments) as server:
                server.ready()
                server.execute(SOURCE)
                for n in range(options.queries):
                    server.execute(KINDS[n % len(KINDS)].format(n=n), **properties)
                server.execute("INSERT INTO s VALUES ('a', 1);" * 10)
                while not server.rows("SELECT n FROM counts1 WHERE k = 'a';"):
                    time.sleep(0.5)
                broker.stop()
                while is_healthy(server):
                    time.sleep(0.5)
                began = time.monotonic()
                server.process.send_signal(signal.SIGTERM)
                server.process.wait()
                server.wait_until_alone()
                print(f"{options.queries} queries: stopped after {time.monotonic() - began:.1f} s")


if __name__ == "__main__":
    main()
