"""What the cache of state saves: CPU time per record of an aggregate, with several bounds of the cache.

    python bench/state_cache.py [--records 400000] [--keys 10000] [--bounds 0,33554432] [--rounds 5]

A topic of one partition, so one task; COUNT and SUM by key, every record gives an update. The bounds take
turns, each round is a query of its own. Prints the CPU time of Spark's JVM per record (decoding, state,
encoding and writing, compilers and collector too) and the records per second: medians, with the least and the
greatest. The first round warms up and does not count. CPU time suffers less than wall time where others use
the machine.
"""

from __future__ import annotations

import argparse
import random
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import psutil

from ksql_spark.config import Config
from ksql_spark.engine import Engine, Request
from ksql_spark.entities.commands import CommandStatusEntity
from ksql_spark.kafka.producer import RecordProducer
from ksql_spark.spark.jvm import bound_cache

STREAM = (
    "CREATE STREAM events (k STRING KEY, n BIGINT)"
    " WITH (KAFKA_TOPIC = 'events', PARTITIONS = 1, VALUE_FORMAT = 'JSON');"
)
TABLE = (
    "CREATE TABLE {out} WITH (KAFKA_TOPIC = '{out}') AS"
    " SELECT k, COUNT(*) AS c, SUM(n) AS total FROM events GROUP BY k;"
)


def fill(servers: str, records: int, keys: int) -> None:
    """Write the records; keys are drawn evenly, times grow."""
    rng, begin = random.Random(1), int(time.time() * 1000) - records
    producer = RecordProducer(servers, linger_ms=20)
    for i in range(records):
        key = b"customer-%d" % rng.randrange(keys)
        producer.send_async("events", key, b'{"N":1}', timestamp_ms=begin + i)
    producer.flush(300)
    producer.close()


def measure(engine: Engine, out: str, records: int) -> tuple[float, float]:
    """Run the query over all records: CPU seconds of Spark's JVM, and seconds."""
    services = engine.services
    process = psutil.Process(services.spark.process.pid)
    before, began = process.cpu_times(), time.monotonic()
    (answer,) = engine.execute(Request(TABLE.format(out=out), {"auto.offset.reset": "earliest"}))
    assert isinstance(answer, CommandStatusEntity)
    query_id = answer.command_status.query_id
    while services.admin.topic(out) is None or sum(services.admin.end_offsets(out).values()) < records:
        time.sleep(0.05)
    took = time.monotonic() - began
    # PAUSE ends the batch, so what a commit writes is counted
    engine.execute(Request(f"PAUSE {query_id};"))
    after = process.cpu_times()
    engine.execute(Request(f"DROP TABLE {out} DELETE TOPIC;"))
    return after.user + after.system - before.user - before.system, took


def shown(values: Sequence[float], digits: int) -> str:
    """Median, and least and greatest."""
    texts = [f"{v:,.{digits}f}" for v in (statistics.median(values), min(values), max(values))]
    return f"{texts[0]} ({texts[1]} … {texts[2]})"


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--records", type=int, default=400_000)
    parser.add_argument("--keys", type=int, default=10_000)
    parser.add_argument("--bounds", default="0,33554432", help="of the cache, bytes")
    parser.add_argument("--rounds", type=int, default=5, help="rounds after the first one (default 5)")
    options = parser.parse_args()
    bounds = [int(bound) for bound in options.bounds.split(",")]
    with tempfile.TemporaryDirectory(prefix="ksql-spark-cache-", ignore_cleanup_errors=True) as folder:
        properties = {"ksql.spark.data.dir": str(Path(folder)), "ksql.spark.warm.up.enabled": "false"}
        engine = Engine(Config(properties))
        try:
            engine.start(print)
            engine.execute(Request(STREAM))
            fill(engine.services.admin.servers, options.records, options.keys)
            found: dict[int, list[tuple[float, float]]] = {bound: [] for bound in bounds}
            for round_ in range(options.rounds + 1):
                for bound in bounds:
                    bound_cache(engine.services.spark.process.running_session, bound)
                    cpu, took = measure(engine, f"OUT_{round_}_{bound}", options.records)
                    print(
                        f"round {round_}  bound {bound:12,}  {cpu:6.2f} s of CPU  {took:6.2f} s", flush=True
                    )
                    found[bound].append((cpu, took))
            print(f"\n{'bound':>12}  {'µs of CPU per record':>28}  {'records/s':>28}")
            for bound, rounds in found.items():
                counted = rounds[1:] or rounds
                cpus = shown([cpu / options.records * 1e6 for cpu, _ in counted], 1)
                speeds = shown([options.records / took for _, took in counted], 0)
                print(f"{bound:12,}  {cpus:>28}  {speeds:>28}")
        finally:
            engine.stop()


if __name__ == "__main__":
    main()
