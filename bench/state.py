"""One aggregate with many keys: memory while records are counted, and how long a restart takes.

    python bench/state.py [--keys 5000000] [--memory 2g]

The query computes COUNT and SUM by key over a stream of two partitions, with one record for each key and then
another one for every tenth key; every record causes an update. Printed are records per second, the peak
resident memory of Spark's JVM (whose heap is --memory; the engine limits RocksDB's memory), the size of the
state on disk, the number of wrong counts, and how long a restarted server takes until the query continues.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import tempfile
import threading
import time
import uuid
from pathlib import Path

import psutil
from confluent_kafka import Consumer, TopicPartition

from ksql_spark.config import Config
from ksql_spark.engine import Engine, Request
from ksql_spark.kafka.admin import KafkaAdmin
from ksql_spark.kafka.producer import RecordProducer

STATEMENTS = (
    "CREATE STREAM events (k STRING KEY, n BIGINT)"
    " WITH (KAFKA_TOPIC = 'events', PARTITIONS = 2, VALUE_FORMAT = 'JSON');"
    "CREATE TABLE totals WITH (KAFKA_TOPIC = 'totals') AS"
    " SELECT k, COUNT(*) AS c, SUM(n) AS total FROM events GROUP BY k;"
)


class Watch:
    """The peak resident memory of Spark's JVM since the start, in MB."""

    def __init__(self) -> None:
        self.peak = 0.0
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def _look(self) -> None:
        while not self._stopping.wait(0.5):
            with contextlib.suppress(psutil.NoSuchProcess):
                self._look_once()

    def _look_once(self) -> None:
        for child in psutil.Process().children():
            if "org.apache.spark.deploy.SparkSubmit" in child.cmdline():
                self.peak = max(self.peak, child.memory_info().rss / 1e6)

    def stop(self) -> None:
        """Stop watching."""
        self._stopping.set()
        self._thread.join()


def produce(servers: str, keys: range) -> None:
    """Write one record for each number."""
    producer = RecordProducer(servers, linger_ms=20)
    for number in keys:
        producer.send_async("events", b"customer-%d" % number, b'{"N":1}')
    producer.flush(300)
    producer.close()


def wait(admin: KafkaAdmin, expected: int) -> None:
    """Wait until the sink has ``expected`` records; shows how many there are."""
    while (done := sum(admin.end_offsets("totals").values())) < expected:
        print(f"\r  {done:,} of {expected:,} ", end="", flush=True)
        time.sleep(0.5)
    print("\r", end="")


def wrong(servers: str, keys: int, every: int) -> int:
    """The number of keys whose last count is wrong."""
    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": uuid.uuid4().hex,
            "enable.auto.commit": False,
            "fetch.queue.backoff.ms": 2,
        }
    )
    partitions = [TopicPartition("totals", p, 0) for p in range(2)]
    left = sum(consumer.get_watermark_offsets(p)[1] for p in partitions)
    consumer.assign(partitions)
    counts: dict[bytes, int] = {}
    while left:
        messages = consumer.consume(10_000, 1.0)
        for message in messages:
            counts[message.key()] = json.loads(message.value())["C"]
        left -= len(messages)
    consumer.close()
    right = sum(
        counts.get(b"customer-%d" % number) == (2 if number % every == 0 else 1) for number in range(keys)
    )
    return keys - right


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--keys", type=int, default=5_000_000)
    parser.add_argument("--memory", default="2g", help="heap of Spark's JVM (default 2g)")
    options = parser.parse_args()
    every = 10
    again = len(range(0, options.keys, every))
    with tempfile.TemporaryDirectory(prefix="ksql-spark-state-", ignore_cleanup_errors=True) as folder:
        config = Config({"ksql.spark.data.dir": folder, "ksql.spark.memory": options.memory})
        engine, watch = Engine(config), Watch()
        try:
            engine.start(print)
            admin = engine.services.admin
            engine.execute(Request(STATEMENTS, {"auto.offset.reset": "earliest"}))
            began = time.monotonic()
            produce(admin.servers, range(options.keys))
            wait(admin, options.keys)
            took = time.monotonic() - began
            speed = options.keys / took
            print(f"{options.keys:,} keys in {took:.0f} s ({speed:,.0f}/s), peak {watch.peak:.0f} MB")
            produce(admin.servers, range(0, options.keys, every))
            wait(admin, options.keys + again)
            size = sum(p.stat().st_size for p in Path(folder, "checkpoints").rglob("*") if p.is_file()) / 1e6
            failed = wrong(admin.servers, options.keys, every)
            print(f"state on disk {size:.0f} MB; keys with a wrong count: {failed}")
            engine.stop()
            engine = Engine(config)
            began = time.monotonic()
            engine.start(print)
            admin = engine.services.admin
            written = sum(admin.end_offsets("totals").values())
            produce(admin.servers, range(0, options.keys, every * 10))
            wait(admin, written + again // 10)
            took = time.monotonic() - began
            print(f"restarted; the query continues after {took:.0f} s, peak {watch.peak:.0f} MB")
        finally:
            engine.stop()
            watch.stop()


if __name__ == "__main__":
    main()
