"""How many rows a second a sink appends to a lake table.

    python bench/lake.py [--rows 2000000] [--type delta] [--partitions 4]

An engine is started with a broker of its own, a topic filled with JSON records of five columns, and then a
sink created: the time is that from CREATE SINK until the table has all rows.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

from confluent_kafka import Producer

from ksql_spark.config import Config
from ksql_spark.engine import Engine, Request


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--type", default="delta")
    parser.add_argument("--partitions", type=int, default=4)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        engine = Engine(Config({"ksql.spark.data.dir": str(Path(folder) / "data")}))
        engine.start()
        try:
            seconds = _measured(engine, given.rows, given.type, given.partitions, Path(folder) / "lake")
        finally:
            engine.stop()
    print(f"{given.type}: {given.rows} rows in {seconds:.1f} s, {given.rows / seconds:,.0f} rows/s")


def _measured(engine: Engine, rows: int, type_: str, partitions: int, path: Path) -> float:
    engine.execute(
        Request(
            "CREATE STREAM s (id BIGINT KEY, region STRING, price DOUBLE, n INT, note STRING)"
            f" WITH (KAFKA_TOPIC = 's', FORMAT = 'JSON', PARTITIONS = {partitions});"
        )
    )
    servers = engine.services.admin.servers
    producer = Producer({"bootstrap.servers": servers, "linger.ms": 20, "compression.type": "lz4"})
    for i in range(rows):
        value = f'{{"REGION":"r{i % 7}","PRICE":{i % 1000}.25,"N":{i % 100},"NOTE":"a note about {i}"}}'
        while True:
            try:
                producer.produce("s", value, str(i))
                break
            except BufferError:
                producer.poll(0.1)
    producer.flush()
    begin = time.monotonic()
    engine.execute(Request(f"CREATE SINK lake FROM s WITH (TYPE = '{type_}', PATH = '{path}');"))
    while (status := engine.services.sink_status("LAKE")).rows < rows:
        if status.reason:
            raise SystemExit(status.reason)
        time.sleep(0.05)
    return time.monotonic() - begin


if __name__ == "__main__":
    main()
