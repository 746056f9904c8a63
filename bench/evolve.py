"""What a change beside a running query costs (EVOLVE = 'backfill'): speed, the swap, and the running version.

    python bench/evolve.py [--records 1000000] [--keys 100000] [--rounds 5] [--rate 1000] [--seconds 30]

A table counts a backlog of records by key. Then, in one run:

* speed: a new query and a new version of the table, with the same SELECT, read the backlog in turns. Each is
  timed from the first row in its topic to the last, one for each record. The first round warms up.
* the warm-up: a stream's new version keeps state, and first reads the backlog again without writing; so does
  a new query, which writes, in turns. Each is timed from its statement.
* the running version: records are sent at a rate, first while it runs alone, then while a new version reads
  the backlog. The latency is from the record to the table's topic.
* the swap: the time of SWAP for as many differing keys as there are, while records are sent at the rate, and
  the longest time in which no row comes to the table's topic.

Targets: 0.8 of a new query's speed; p99 at most 3 times as long; a swap of 100,000 keys within a second.
"""

from __future__ import annotations

import argparse
import itertools
import statistics
import tempfile
import threading
import time

from latency import Meter, percentile

from ksql_spark.config import Config
from ksql_spark.engine import Engine, Request
from ksql_spark.entities.commands import CommandStatusEntity
from ksql_spark.entities.versions import EvolutionDescription
from ksql_spark.kafka.producer import RecordProducer

SOURCE = """CREATE STREAM events (k STRING KEY, n BIGINT, sent BIGINT)
  WITH (KAFKA_TOPIC = 'events', VALUE_FORMAT = 'JSON', PARTITIONS = 1);"""
OLD = """CREATE TABLE totals WITH (KAFKA_TOPIC = 'totals') AS
  SELECT k, COUNT(*) AS c, MAX(sent) AS sent FROM events GROUP BY k EMIT CHANGES;"""
SELECT = "SELECT k, SUM(n) + 1000000000 AS c, MAX(sent) AS sent FROM events GROUP BY k EMIT CHANGES;"
NEW = "CREATE TABLE {name} WITH (KAFKA_TOPIC = '{name}') AS " + SELECT
EVOLVE = "CREATE OR REPLACE TABLE totals WITH (EVOLVE = 'backfill', SWAP = 'manual') AS " + SELECT
COPIED = "CREATE STREAM copied WITH (KAFKA_TOPIC = 'copied') AS SELECT k, n FROM events EMIT CHANGES;"
OVER = "SELECT k, n, LAG(n) OVER (PARTITION BY k ORDER BY ROWTIME) AS before FROM events EMIT CHANGES;"
NEW_OVER = "CREATE STREAM {name} WITH (KAFKA_TOPIC = '{name}') AS " + OVER
KEEP = "CREATE OR REPLACE STREAM copied WITH (EVOLVE = 'backfill', HISTORY = 'keep') AS " + OVER
TIMEOUT_S = 1800.0


def run(engine: Engine, text: str) -> None:
    """Execute a statement that must succeed."""
    (entity,) = engine.execute(Request(text, {"auto.offset.reset": "earliest"}))
    if isinstance(entity, CommandStatusEntity) and entity.command_status.status != "SUCCESS":
        raise SystemExit(entity.command_status.message)


def described(engine: Engine, name: str = "totals") -> EvolutionDescription:
    """The evolution of a table or stream."""
    (entity,) = engine.execute(Request(f"DESCRIBE EVOLUTION {name};"))
    assert isinstance(entity, EvolutionDescription)
    return entity


def written_s(engine: Engine, topic: str, count: int) -> float:
    """The time from a topic's first row to its last one, seconds."""
    deadline, began = time.monotonic() + TIMEOUT_S, 0.0
    while (there := sum(engine.services.admin.end_offsets(topic).values())) < count:
        began = began or (time.monotonic() if there else 0.0)
        if time.monotonic() > deadline:
            raise SystemExit(f"{topic} has {there} rows of {count}")
        time.sleep(0.02)
    return time.monotonic() - began


def fill(engine: Engine, count: int, keys: int) -> None:
    """Write the backlog."""
    producer = RecordProducer(engine.services.admin.servers, linger_ms=5)
    for n in range(count):
        producer.send_async("events", b"%d" % (n % keys), b'{"N": %d, "SENT": 0}' % n)
    producer.flush(300)
    producer.close()


def speed(engine: Engine, options: argparse.Namespace) -> None:
    """Read the backlog with a new query and with a new version, in turns."""
    ratios: list[float] = []
    for number in range(options.rounds):
        run(engine, NEW.format(name=f"new_{number}"))
        alone_s = written_s(engine, f"new_{number}", options.records)
        run(engine, f"DROP TABLE new_{number} DELETE TOPIC;")
        run(engine, EVOLVE)
        beside_s = written_s(engine, described(engine).topic, options.records)
        run(engine, "ABORT EVOLUTION totals;")
        rates = " ".join(f"{options.records / s:12,.0f}" for s in (alone_s, beside_s))
        print(f"{'first' if number == 0 else number:>8} {rates} {alone_s / beside_s:8.2f}", flush=True)
        ratios += [alone_s / beside_s] if number else []
    if ratios:
        print(f"speed of a backfill: {statistics.median(ratios):.2f} of a new query's", flush=True)


def warm_up(engine: Engine, options: argparse.Namespace) -> None:
    """Read the backlog with a new query that keeps state, and to warm up a stream's new version, in turns."""
    run(engine, COPIED)
    written_s(engine, "copied", options.records)
    ratios: list[float] = []
    for number in range(options.rounds):
        began = time.monotonic()
        run(engine, NEW_OVER.format(name=f"over_{number}"))
        written_s(engine, f"over_{number}", options.records)
        alone_s = time.monotonic() - began
        run(engine, f"DROP STREAM over_{number} DELETE TOPIC;")
        began = time.monotonic()
        run(engine, KEEP)
        while described(engine, "copied").state != "swapped":
            time.sleep(0.1)
        warm_s = time.monotonic() - began
        turn = "first" if number == 0 else number
        print(f"{turn:>8} new query {alone_s:6.1f} s  warm-up {warm_s:6.1f} s", flush=True)
        ratios += [alone_s / warm_s] if number else []
    run(engine, "DROP STREAM copied DELETE TOPIC;")
    if ratios:
        print(f"speed of a warm-up: {statistics.median(ratios):.2f} of a new query's", flush=True)


def latencies_ms(engine: Engine, meter: Meter, options: argparse.Namespace) -> list[float]:
    """Send records for a while; the latencies of those that came, sorted."""
    began = time.time()
    meter.send_for(options.seconds, options.rate, lambda: None)
    time.sleep(3)
    return sorted((came - sent) * 1000 for sent, came in list(meter.received) if sent >= began)


def running_version(engine: Engine, options: argparse.Namespace) -> None:
    """Compare the running version's latency alone and during a backfill."""
    meter = Meter(engine.services.admin.servers, "events", "totals", "SENT")
    alone = latencies_ms(engine, meter, options)
    starter = threading.Thread(target=run, args=(engine, EVOLVE))
    starter.start()
    beside = latencies_ms(engine, meter, options)
    starter.join()
    meter.close()
    for name, values in (("alone", alone), ("during a backfill", beside)):
        p50, p99 = percentile(values, 0.5), percentile(values, 0.99)
        print(f"running version, {name:18} p50 {p50:8.1f} ms  p99 {p99:8.1f} ms  {len(values):,} records")
    ratio = percentile(beside, 0.99) / percentile(alone, 0.99)
    print(f"p99 during a backfill: {ratio:.1f} times as long", flush=True)


def swap(engine: Engine, options: argparse.Namespace) -> None:
    """Let the new version take over while records come, once it has read everything."""
    meter = Meter(engine.services.admin.servers, "events", "totals", "SENT")
    is_over = threading.Event()

    def send() -> None:
        while not is_over.is_set():
            meter.send_for(1, options.rate, lambda: None)

    sender = threading.Thread(target=send)
    sender.start()
    deadline = time.monotonic() + TIMEOUT_S
    while (shown := described(engine)).state != "caught up":
        if time.monotonic() > deadline:
            raise SystemExit(str(shown))
        time.sleep(1)
    began = time.time()
    run(engine, "SWAP totals;")
    took_s = time.time() - began
    time.sleep(10)
    is_over.set()
    sender.join()
    time.sleep(3)
    meter.close()
    came = sorted(received for _, received in meter.received if received > began - 1)
    pause_s = max(after - before for before, after in itertools.pairwise(came))
    late_s = max(received - sent for sent, received in meter.received if sent > began - 1)
    print(f"swap: {took_s:.2f} s for {shown.keys_changed:,} keys that differ; {pause_s:.2f} s without a row")
    print(f"a record that came meanwhile was answered after at most {late_s:.2f} s", flush=True)


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name, default in (("records", 1_000_000), ("keys", 100_000), ("rounds", 5)):
        parser.add_argument(f"--{name}", type=int, default=default)
    for name, default in (("rate", 1000), ("seconds", 30)):
        parser.add_argument(f"--{name}", type=float, default=default)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ksql-spark-evolve-", ignore_cleanup_errors=True) as folder:
        engine = Engine(Config({"ksql.spark.data.dir": folder, "ksql.checkpoint.interval.ms": "5000"}))
        try:
            engine.start(lambda text: print(f"  {text}", flush=True))
            run(engine, SOURCE)
            fill(engine, options.records, options.keys)
            run(engine, OLD)
            written_s(engine, "totals", options.records)
            print(f"{'round':>8} {'new query/s':>12} {'backfill/s':>12} {'ratio':>8}", flush=True)
            speed(engine, options)
            warm_up(engine, options)
            running_version(engine, options)
            swap(engine, options)
        finally:
            engine.stop()


if __name__ == "__main__":
    main()
