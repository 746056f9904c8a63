"""Throughput on a backlog: our queries beside the same by hand, in PySpark and for Kafka Streams, in one run.

    python bench/throughput.py [--records 2000000] [--rounds 5] [--only stateless,aggregate]
                               [--sides ours,pyspark,streams]

Records are JSON auction bids (six fields) in a topic of two partitions; every query reads them from the
beginning and writes to a topic of its own, the Spark ones in real-time mode. The aggregate groups by a field
of the value, so there is a repartition, and gives one update for each record. The clock runs from the first
record written to the last; the settings of the sinks' producers are the same on all sides.

Each side stays in one process for the whole run: Kafka Streams in a JVM of its own, ours and PySpark by hand
in Spark's. Sides take turns, round by round. The first round warms their JVMs up and does not count; it is
printed as "first", beside the median of the rounds after it. (The first round of a query that is not the
first of the run finds JVMs that have run another one.)

The aim: 0.95 of PySpark in the same mode; 0.8 (stateless) and 1.1 (aggregate) of Kafka Streams.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import statistics
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ksql_spark.config import Config
from ksql_spark.engine import Engine, Request
from ksql_spark.kafka.admin import KafkaAdmin
from ksql_spark.kafka.producer import RecordProducer
from ksql_spark.services import artifacts, cache, java

STREAMS_SOURCES = Path(__file__).parent / "kafka_streams"
STREAMS_JARS = (
    "org/apache/kafka/kafka-streams/4.3.1/kafka-streams-4.3.1.jar",
    "org/rocksdb/rocksdbjni/10.1.3/rocksdbjni-10.1.3.jar",
)
LINGER_MS = 5
#: starts a query by its name, into a topic, and gives what stops it
Side = Callable[[str, str], Callable[[], None]]
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

    session = engine.services.spark.running_session.newSession()
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
    writer = writer.option("kafka.linger.ms", str(LINGER_MS)).option("kafka.batch.size", "131072")
    writer = writer.option("checkpointLocation", str(folder / out)).outputMode("update")
    return writer.trigger(realTime="30 seconds").start()


def streams_classpath() -> str:
    """Our Kafka Streams program, compiled, and its jars: those of the broker and two more."""
    needed = list(artifacts.jars("broker"))
    for path in STREAMS_JARS:
        jar = cache.cache_dir() / "bench" / Path(path).name
        if not jar.exists():
            jar.parent.mkdir(parents=True, exist_ok=True)
            part, _ = urllib.request.urlretrieve(artifacts.repository() + path, f"{jar}.part")
            os.replace(part, jar)
        needed.append(jar)
    return os.pathsep.join(map(str, [artifacts.compile_java(STREAMS_SOURCES, needed), *needed]))


class StreamsProcess:
    """A JVM that runs the queries for Kafka Streams, one after another."""

    def __init__(self, servers: str, log: Path) -> None:
        command = [str(java.java_binary()), "-Xmx4g", "-cp", streams_classpath(), "Bids", servers]
        with log.open("wb") as file:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=file, text=True
            )
        self._log = log

    def start(self, name: str, out: str, folder: Path) -> Callable[[], None]:
        """Start a query; gives what stops it."""
        self._ask(f"{name} {out} {folder / f'streams-{out}'}")
        return lambda: self._ask("")

    def _ask(self, line: str) -> None:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()
        if not self._process.stdout.readline():
            raise SystemExit(f"Kafka Streams ended:\n{self._log.read_text(errors='replace')[-2000:]}")

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(60)
        self._process.stdout.close()


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
    parser.add_argument("--rounds", type=int, default=5, help="rounds after the first one (default 5)")
    parser.add_argument("--only", default="stateless,aggregate")
    parser.add_argument("--sides", default="ours,pyspark,streams")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ksql-spark-bench-", ignore_cleanup_errors=True) as folder:
        properties = {
            "ksql.spark.memory": "4g",
            "ksql.sink.linger.ms": str(LINGER_MS),
            "ksql.spark.warm.up.enabled": "false",  # the first round is to be a cold one
        }
        engine = Engine(Config({"ksql.spark.data.dir": folder, **properties}))
        with contextlib.ExitStack() as stack:
            stack.callback(engine.stop)
            engine.start(print)
            admin = engine.services.admin
            producer = RecordProducer(admin.servers, linger_ms=20)
            stack.callback(producer.close)
            expected = fill(admin, producer, options.records)
            engine.execute(Request(STREAM))
            sides = make_sides(options.sides.split(","), engine, Path(folder), stack)
            for name in options.only.split(","):
                compare(sides, admin, name, expected[name], options)


def make_sides(
    names: Sequence[str], engine: Engine, folder: Path, stack: contextlib.ExitStack
) -> dict[str, Side]:
    """What starts a query (its name, its topic) on each side, and gives what stops it."""
    servers = engine.services.admin.servers

    def ours(name: str, out: str) -> Callable[[], None]:
        answer = engine.execute(Request(OURS[name].format(out=out), {"auto.offset.reset": "earliest"}))
        query_id = answer[0]["commandStatus"]["queryId"]
        return lambda: drop(engine, f"TERMINATE {query_id};")

    def pyspark(name: str, out: str) -> Callable[[], None]:
        query = handwritten(engine, name, out, servers, folder)
        return lambda: query.stop()

    sides: dict[str, Side] = {"ours": ours, "pyspark": pyspark}
    if "streams" in names:
        process = StreamsProcess(servers, folder / "streams.log")
        stack.callback(process.close)
        sides["streams"] = lambda name, out: process.start(name, out, folder)
    return {name: sides[name] for name in names}


def drop(engine: Engine, statement: str) -> None:
    """Run a statement whose answer does not matter."""
    engine.execute(Request(statement))


def compare(
    sides: Mapping[str, Side], admin: KafkaAdmin, name: str, expected: int, options: argparse.Namespace
) -> None:
    """Run one query on all sides, round by round, and print what came out."""
    speeds: dict[str, list[float]] = {side: [] for side in sides}
    for round_ in range(options.rounds + 1):
        for side, start in sides.items():
            out = f"OUT_{name}_{side}_{round_}".upper()
            admin.create_topic(out, 2, config={"retention.ms": "-1"})
            seconds = measure(admin, out, expected, lambda: start(name, out))  # noqa: B023 (called at once)
            speeds[side].append(options.records / seconds)
            print(f"{name:10} {side:8} {options.records / seconds:10,.0f} records/s", flush=True)
            admin.delete_topics([out])
    medians = {side: statistics.median(found[1:] or found) for side, found in speeds.items()}
    print(f"\n{name:10} {'':8} {'first':>10} {'median':>10}  records/s, median of {options.rounds}")
    for side, speed in medians.items():
        ratio = (
            f"  ours is {medians['ours'] / speed:.2f} of it" if side != "ours" and "ours" in medians else ""
        )
        print(f"{name:10} {side:8} {speeds[side][0]:10,.0f} {speed:10,.0f}{ratio}")
    print(flush=True)


if __name__ == "__main__":
    main()
