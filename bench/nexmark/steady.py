"""Latencies at a fixed rate, and the time to the first result after a kill.

With --latency, all sides run all queries at once, over the same events, for --seconds after half a minute
that is not counted. A latency is the time from the timestamp of a bid, which is when it was produced, to that
of the result's record, which the broker sets when it appends it. Queries: those that write a record for each
bid, q0 and q17.

With --restore, q17 counts so many auctions with a bid each, on one side after the other. 40 seconds after
its last record, when checkpoints have been taken, the JVM is killed (kill -9) and started again; bids come
all the time. It is measured when the first record is written, and whether the state was whole.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import statistics
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

from bench.nexmark.generator import EVENTS, Options, events
from bench.nexmark.outside import records
from bench.nexmark.run import Side, as_json, keep, produce, sides, started
from ksql_spark.engine import Engine
from ksql_spark.kafka.producer import RecordProducer

QUERY = "q17"
WARM_UP_S, SETTLE_S, CHECKPOINT_S, TIMEOUT_S = 30.0, 5.0, 40.0, 300.0


def measure(names: Sequence[str], partitions: int, options: argparse.Namespace) -> None:
    """Measure, print and keep the results."""
    with contextlib.ExitStack() as stack:
        engine, oracle = stack.enter_context(started(partitions))
        if options.restore:
            made = stack.enter_context(sides(engine, oracle, partitions, options))
            write_keys(engine, options.restore)
            for side in made:
                found = restore(side, engine, options.restore)
                print(f"{side.name:13} {found}", flush=True)
                keep(options.results, {"restore": options.restore, "side": side.name, **found})
            return
        running: list[tuple[str, Side]] = []
        ours: Side | None = None
        for query in names:  # an engine of the others runs one query
            for side in stack.enter_context(sides(engine, oracle, partitions, options, ours)):
                ours = side if side.name == "ours" else ours
                if side.has(query):
                    side.start(query)
                    running.append((query, side))
                    append_times(engine, side.topic(query))
        began_ms = send(engine, options)
        for query, side in running:
            result = latencies(side, query, engine, began_ms)
            print(f"{query:5} {side.name:13} {result}", flush=True)
            entry = {"query": query, "side": side.name, "latency": options.latency, **result}
            keep(options.results, entry | {"seconds": options.seconds})


def append_times(engine: Engine, topic: str) -> None:
    """Let the broker set the timestamps of a topic's records."""
    resource = ConfigResource(ResourceType.TOPIC, topic)
    operation = AlterConfigOpType.SET
    entry = ConfigEntry("message.timestamp.type", "LogAppendTime", incremental_operation=operation)
    resource.add_incremental_config(entry)
    admin = AdminClient({"bootstrap.servers": engine.services.admin.servers})
    admin.incremental_alter_configs([resource])[resource].result(10)


def send(engine: Engine, options: argparse.Namespace) -> float:
    """Send events at a rate; returns the time from which they count."""
    producer = RecordProducer(engine.services.admin.servers)
    count = int((WARM_UP_S + options.seconds) * options.latency)
    began = time.time()
    for number, (topic, row) in enumerate(events(Options(count, seed=options.seed))):
        while (wait_s := began + number / options.latency - time.time()) > 0:
            time.sleep(wait_s)
        produce(producer, topic, {**row, "dateTime": int(time.time() * 1000)}, as_json)
    producer.close()
    time.sleep(SETTLE_S)
    return (began + WARM_UP_S) * 1000


def latencies(side: Side, query: str, engine: Engine, began_ms: float) -> dict[str, Any]:
    """Milliseconds from each bid to its result: the n-th record of an auction is that of its n-th bid."""
    sent: dict[tuple[int, int], int] = {}
    for key, record in numbered(
        (int.from_bytes(record.key or b"", "big"), record)
        for record in records(engine.services.admin.servers, "bid")
    ):
        sent[key] = record.timestamp_ms
    found = []
    for key, row in numbered((row["auction"], row) for row in side.rows(query, every_change=True)):
        at_ms = sent.pop(key)
        if at_ms >= began_ms:
            found.append(row["written_ms"] - at_ms)
    lost = len(sent)
    cuts = statistics.quantiles(found, n=1000)
    return {"p50": cuts[499], "p99": cuts[989], "p999": cuts[998], "max": max(found), "lost": lost}


def numbered(pairs: Iterator[tuple[int, Any]]) -> Iterator[tuple[tuple[int, int], Any]]:
    """Each value with its key and how many of that key have come."""
    counts: Counter[int] = Counter()
    for key, value in pairs:
        counts[key] += 1
        yield (key, counts[key]), value


def write_keys(engine: Engine, count: int) -> None:
    """Write a bid for each of so many auctions."""
    producer = RecordProducer(engine.services.admin.servers, linger_ms=20)
    bids = (row for topic, row in events(Options(2 * count)) if topic == "bid")
    for number, row in enumerate(itertools.islice(bids, count)):
        produce(producer, "bid", {**row, "auction": number}, as_json)
    producer.close()


def restore(side: Side, engine: Engine, count: int) -> dict[str, Any]:
    """Seconds from a kill to the first result, and whether the auctions were still counted."""
    side.start(QUERY)
    append_times(engine, side.topic(QUERY))
    before = settled(side, count)
    time.sleep(CHECKPOINT_S)
    (_, bid), *_ = (found for found in events(Options(EVENTS)) if found[0] == "bid")
    producer = RecordProducer(engine.services.admin.servers)
    numbers = itertools.cycle(range(count))
    began, began_ms = time.monotonic(), time.time() * 1000
    with ThreadPoolExecutor(1) as pool:
        killed = pool.submit(side.kill, QUERY)
        while not killed.done() or side.written(QUERY) <= before:
            produce(producer, "bid", {**bid, "auction": next(numbers)}, as_json)
            time.sleep(0.05)
            if time.monotonic() - began > TIMEOUT_S:
                break
        seconds = time.monotonic() - began
        killed.result()
    producer.close()
    time.sleep(SETTLE_S)
    rows = side.rows(QUERY, every_change=True)
    totals = [row["total_bids"] for row in rows if row["written_ms"] >= began_ms]
    side.stop(QUERY)
    return {"seconds": round(seconds, 1), "results": len(totals), "new": totals.count(1)}


def settled(side: Side, count: int) -> int:
    """Wait until a query has written so many records, and returns how many there are."""
    deadline = time.monotonic() + TIMEOUT_S
    while (written := side.written(QUERY)) < count and time.monotonic() < deadline:
        time.sleep(0.5)
    return written
