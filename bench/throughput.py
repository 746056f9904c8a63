"""Throughput on a backlog: our queries beside the same ones written by hand in PySpark, in one run.

    python bench/throughput.py [--records 2000000] [--rounds 3] [--only stateless,aggregate]

Records are JSON auction bids (six fields) in a topic of two partitions; every query reads them from the
beginning in real-time mode and writes to a topic of its own. The clock runs from the first record written
to the last; the sink's producer settings are the same on both sides. Prints records read per second and
the ratio of the medians.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ksql_spark.config import Config
from ksql_spark.engine import Engine, Request
from ksql_spark.kafka.admin import KafkaAdmin
from ksql_spark.kafka.producer import RecordProducer

BIDS = "bids"
STREAM = (
    "CREATE STREAM bids (auction STRING, bidder BIGINT, price BIGINT, channel STRING, url STRING,"
    " extra STRING) WITH (kafka_topic='bids', value_format='JSON');"
)
OURS = {
    "stateless": "CREATE STREAM {out} WITH (kafka_topic='{out}') AS"
    " SELECT auction, bidder, price * 2 AS doubled FROM bids WHERE price > 1000;",
    "aggregate": "CREATE TABLE {out} WITH (kafka_topic='{out}') AS"
    " SELECT auction, COUNT(*) AS bids, SUM(price) AS total FROM bids GROUP BY auction;",
}


def fill(admin: KafkaAdmin, producer: RecordProducer, count: int) -> dict[str, int]:
    """Write the bids; returns how many records each query will write."""
    admin.create_topic(BIDS, 2, config={"retention.ms": "-1"})
    rng, passing = random.Random(1), 0
    for i in range(count):
        price = rng.randrange(5000)
        passing += price > 1000
        bid = {
            "auction": str(i % 10_000),
            "bidder": rng.randrange(100_000),
            "price": price,
            "channel": "Google",
            "url": "https://auctions.example/item?id=1234567",
            "extra": "x" * 60,
        }
        producer.send_async(BIDS, bid["auction"].encode(), json.dumps(bid).encode())
    producer.flush(300)
    return {"stateless": passing, "aggregate": count}


def handwritten(engine: Engine, name: str, out: str, servers: str, folder: Path) -> Any:
    """The same query as a PySpark user would write it."""
    from pyspark.sql import functions as F

    session = engine._spark.session.newSession()
    session.conf.set("spark.sql.shuffle.partitions", "2")
    raw = session.readStream.format("kafka").option("kafka.bootstrap.servers", servers)
    raw = raw.option("subscribe", BIDS).option("startingOffsets", "earliest").load()
    schema = "auction string, bidder bigint, price bigint, channel string, url string, extra string"
    bids = raw.select(F.from_json(F.col("value").cast("string"), schema).alias("b")).select("b.*")
    if name == "stateless":
        rows = bids.filter("price > 1000").selectExpr("auction", "bidder", "price * 2 AS doubled")
        sink = rows.selectExpr("to_json(struct(*)) AS value")
    else:
        rows = bids.groupBy("auction").agg(F.count("*").alias("bids"), F.sum("price").alias("total"))
        sink = rows.selectExpr("auction AS key", "to_json(struct(bids, total)) AS value")
    writer = sink.writeStream.format("kafka").option("kafka.bootstrap.servers", servers).option("topic", out)
    writer = writer.option("kafka.linger.ms", "0").option("kafka.batch.size", "131072")
    writer = writer.option("checkpointLocation", str(folder / out)).outputMode("update")
    return writer.trigger(realTime="30 seconds").start()


def measure(admin: KafkaAdmin, out: str, expected: int, start: Callable[[], Callable[[], None]]) -> float:
    """Seconds from the first record in ``out`` to the last."""
    stop, first = start(), 0.0
    while (done := sum(admin.end_offsets(out).values())) < expected:
        now = time.monotonic()
        if done and not first:
            first, already = now, done
        time.sleep(0.02)
    seconds = (time.monotonic() - first) * expected / max(expected - already, 1)
    stop()
    return seconds


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--records", type=int, default=2_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="stateless,aggregate")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ksql-spark-bench-") as folder:
        engine = Engine(Config({"ksql.spark.data.dir": folder, "ksql.spark.memory": "4g"}))
        engine.start(print)
        try:
            servers = engine._services.admin.servers
            admin, producer = KafkaAdmin(servers), RecordProducer(servers, linger_ms=20)
            expected = fill(admin, producer, options.records)
            engine.execute(Request(STREAM))
            for name in options.only.split(","):
                speeds: dict[str, list[float]] = {"ours": [], "by hand": []}
                for round_ in range(options.rounds):
                    for side in speeds:
                        out = f"OUT_{name}_{side.replace(' ', '')}_{round_}".upper()
                        admin.create_topic(out, 2, config={"retention.ms": "-1"})

                        def start(side: str = side, out: str = out, name: str = name) -> Callable[[], None]:
                            if side == "by hand":
                                return handwritten(engine, name, out, servers, Path(folder)).stop
                            text = OURS[name].format(out=out)
                            answer = engine.execute(Request(text, {"auto.offset.reset": "earliest"}))
                            query_id = answer[0]["commandStatus"]["queryId"]
                            return lambda: engine.execute(Request(f"TERMINATE {query_id};")) and None

                        seconds = measure(admin, out, expected[name], start)
                        speeds[side].append(options.records / seconds)
                        print(f"{name:10} {side:8} {options.records / seconds:10,.0f} records/s", flush=True)
                        admin.delete_topics([out])
                ours, theirs = (statistics.median(speeds[s]) for s in ("ours", "by hand"))
                print(f"{name:10} ours {ours:,.0f}/s, by hand {theirs:,.0f}/s, ratio {ours / theirs:.2f}")
            producer.close()
        finally:
            engine.stop()


if __name__ == "__main__":
    main()
