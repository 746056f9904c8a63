"""What exactly once costs: throughput on a backlog, and how long a result takes to be visible.

    python bench/exactly_once.py [--records 1000000] [--rounds 5] [--only stateless,by-key] [--seconds 20]
                                 [--master 'local-cluster[2,8,1024]']

Throughput: the queries of throughput.py (the same records), in micro-batches with both guarantees, in turn,
in one process. Time runs from the end of CREATE … AS until the query has committed the offsets of all
records, so until all results are visible. The first round warms up and does not count. The sink's contents,
as a reader of committed records sees them, are checked after each round. Target: exactly once has 0.9 of the
throughput of at least once.

Latency: 100 records a second, from writing a record until a reader of committed records has its result; also
for at least once in real time.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from throughput import AUCTIONS, OURS, STREAMS, Contents, contents, fill, median, shown

from ksql_spark.config import Config
from ksql_spark.engine import Engine, Request
from ksql_spark.entities.commands import CommandStatusEntity
from ksql_spark.kafka.consumer import TopicReader
from ksql_spark.kafka.producer import RecordProducer

SIDES = {
    "at least once": {"processing.guarantee": "at_least_once", "ksql.execution.mode": "microbatch"},
    "exactly once": {"processing.guarantee": "exactly_once_v2"},
}
REALTIME = {"processing.guarantee": "at_least_once", "ksql.execution.mode": "realtime"}
PATIENCE_S = 300.0
RATE = 100
LATENCY = {
    "stateless": "CREATE STREAM {out} WITH (kafka_topic='{out}') AS SELECT k, sent FROM pings EMIT CHANGES;",
    "by-key": "CREATE TABLE {out} WITH (kafka_topic='{out}') AS"
    " SELECT k, MAX(sent) AS sent FROM pings GROUP BY k EMIT CHANGES;",
}


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5, help="rounds after the first one (default 5)")
    parser.add_argument("--only", default="stateless,by-key", help="queries to run, separated by commas")
    parser.add_argument("--seconds", type=float, default=20, help="of latency, for each query and side")
    parser.add_argument("--master", default="local", help="where tasks run (ksql.spark.master)")
    options = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(prefix="ksql-spark-bench-", ignore_cleanup_errors=True) as folder,
        contextlib.ExitStack() as stack,
    ):
        properties = {"ksql.spark.memory": "3g", "ksql.spark.master": options.master}
        engine = Engine(Config({"ksql.spark.data.dir": str(Path(folder)), **properties}))
        stack.callback(engine.stop)
        engine.start(print)
        producer = RecordProducer(engine.services.admin.servers, linger_ms=20)
        stack.callback(producer.close)
        names = options.only.split(",")
        if options.records:
            expected = fill(engine.services.admin, producer, options.records, AUCTIONS)
            engine.execute(Request(STREAMS))
            for name in names:
                compare(engine, name, expected[name], options.records, options.rounds)
        if options.seconds:
            engine.execute(
                Request(
                    "CREATE STREAM pings (k STRING KEY, sent BIGINT)"
                    " WITH (kafka_topic='pings', value_format='JSON', partitions=2);"
                )
            )
            for name in names:
                for side, properties in {**SIDES, "at least once, real time": REALTIME}.items():
                    print_latency(engine, name, side, properties, options.seconds)


def start(engine: Engine, text: str, out: str, properties: dict[str, str]) -> str:
    """Start a query that writes ``out``; returns its id."""
    engine.services.admin.create_topic(out, 2, config={"retention.ms": "-1"})
    (answer,) = engine.execute(Request(text.format(out=out), {"auto.offset.reset": "earliest", **properties}))
    assert isinstance(answer, CommandStatusEntity)
    return str(answer.command_status.query_id)


def compare(engine: Engine, name: str, expected: Contents, count: int, rounds: int) -> None:
    """Run one query with both guarantees, round by round, and print the results."""
    admin, queries = engine.services.admin, engine.services.queries
    speeds: dict[str, list[float | None]] = {side: [] for side in SIDES}
    for round_ in range(rounds + 1):
        for side, properties in SIDES.items():
            out = f"OUT_{name}_{side}_{round_}".upper().replace("-", "_").replace(" ", "_")
            query_id = start(engine, OURS[name], out, properties)
            query = queries.find(query_id)
            assert query is not None
            began = time.monotonic()
            ends = admin.end_offsets(*{source.topic for source in query.plan.sources})
            while True:
                reached = queries.checkpoints.committed_offsets(query)
                if all(reached[topic].get(partition, 0) >= end for (topic, partition), end in ends.items()):
                    break
                assert time.monotonic() < began + PATIENCE_S, reached
                time.sleep(0.01)
            seconds = time.monotonic() - began
            actual = seen(engine, out, expected, OURS[name].startswith("CREATE TABLE"))
            speeds[side].append(count / seconds if actual == expected else None)
            told = "" if actual == expected else f"  wrong: {actual}; expected {expected}"
            print(f"{name:13} {side:14} {shown(speeds[side][-1])} records/s{told}", flush=True)
            engine.execute(Request(f"TERMINATE {query_id};"))
            admin.delete_topics([out])
    medians = {side: median(found[1:] or found) for side, found in speeds.items()}
    for side, speed in medians.items():
        print(f"{name:13} {side:14} {shown(speed)} records/s, median of {rounds}")
    least, once = medians["at least once"], medians["exactly once"]
    if least and once:
        print(f"{name:13} exactly once has {once / least:.2f} of the throughput\n", flush=True)


def seen(engine: Engine, topic: str, expected: Contents, is_table: bool) -> Contents:
    """A topic's contents; transactions have records of their own, so records are counted by reading them."""
    with TopicReader(engine.services.admin.servers, topic) as reader:
        count = sum(map(len, reader.read_to_end()))
    return Contents(count, contents(engine.services.admin, topic, tuple(expected.sums), is_table).sums)


def print_latency(engine: Engine, name: str, side: str, properties: dict[str, str], seconds: float) -> None:
    """Measure the time until results are visible, and print it."""
    servers = engine.services.admin.servers
    out = f"LATENCY_{name}_{side}".upper().replace("-", "_").replace(" ", "_").replace(",", "")
    reset = {"auto.offset.reset": "latest"}
    query_id = start(engine, LATENCY[name], out, properties | reset)
    found: list[float] = []
    is_over = threading.Event()

    def read() -> None:
        with TopicReader(servers, out) as reader:
            while not is_over.is_set():
                for record in reader.poll_batch(0.1):
                    now = time.monotonic_ns()
                    found.append((now - json.loads(record.value or b"{}")["SENT"]) / 1e6)

    reading = threading.Thread(target=read)
    reading.start()
    producer = RecordProducer(servers)
    count, began = int(seconds * RATE), time.monotonic()
    for n in range(count):
        time.sleep(max(0.0, began + n / RATE - time.monotonic()))
        producer.send_async("pings", b"%d" % (n % 50), b'{"sent": %d}' % time.monotonic_ns())
    producer.flush()
    deadline = time.monotonic() + PATIENCE_S
    while len(found) < count and time.monotonic() < deadline:
        time.sleep(0.1)
    is_over.set()
    reading.join()
    producer.close()
    engine.execute(Request(f"TERMINATE {query_id};"))
    # the first seconds compile
    warm = sorted(found[count // 4 :])
    told = "" if len(found) == count else f"  wrong: {len(found)} of {count} results"
    print(f"{name:13} {side:25} {quantiles(warm)} ms until visible{told}", flush=True)


def quantiles(values: Sequence[float]) -> str:
    """Quantiles of sorted values, as text."""
    return ", ".join(
        f"p{p} {values[min(len(values) - 1, len(values) * p // 100)]:,.0f}" for p in (50, 95, 99)
    )


if __name__ == "__main__":
    main()
