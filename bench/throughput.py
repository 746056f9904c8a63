"""Throughput on a backlog: our queries, and the same hand-written for PySpark and Kafka Streams, in one run.

    python bench/throughput.py [--records 2000000] [--keys 10000] [--rounds 5] [--only stateless,by-key,…]
                               [--sides ours,pyspark,streams] [--cpu tasks|processes]

| query | reads | writes |
|---|---|---|
| stateless | bids: JSON, six fields, keyed by auction | a projection of the records that pass a filter |
| by-key | bids | COUNT and SUM by the key of the topic, an update for each record |
| by-value | bids | the same by a field of the value, which requires a repartition |
| stream-table | bids, and a table of 10,000 auctions | each bid with its auction |
| stream-stream | orders and payments, half of the records each | WITHIN 10 SECONDS GRACE PERIOD 10 SECONDS |
| two-steps | bids | by-key, and of that COUNT and SUM by the first two digits of the key |
| three-steps | bids | two-steps, and of that COUNT and SUM by the first digit |
| join-by-value | bids, and the auctions | stream-table, and of that COUNT and SUM by the reserve price |
| by-pair | bids | COUNT by the key of the topic and the price: most records are a new group |
| first-rows | bids | DISTINCT ON the key and the price, of records that have a key |
| top-3 | bids | the three highest bids by the key of the topic, an update for each place that changes |
| lag | bids | each bid with its difference to the one before of the same key |
| match | bids | MATCH_RECOGNIZE: falls of three bids or more of the same key |
| windowed | bids | COUNT and SUM by the key, in windows of 10 seconds with GRACE PERIOD 10 SECONDS |

The last six are ours alone. The target of top-3, lag and match is 0.7 of the speed of by-key in the same run;
of first-rows, 0.7 of that of by-pair, whose state has as many keys.

All topics have two partitions and contain all records before a query starts; two million records of orders
and payments span an hour of event time. Queries read from the beginning, and each writes to its own topic.
Ours and PySpark's run in real-time mode (hand-written PySpark has no joins there, so it does not take part in
those). Time is measured from the first record written to the last. The sinks' producers have the same
settings on all sides. Speed is records read per second, from both topics if there are two.

At the end of each round the sink's contents are checked: the number of records, and sums of fields (in a
table, of each key's last record). If they differ from what is expected, or if the sink has not grown for
--patience seconds, the round is "wrong": its contents are printed instead of a speed.

Each side uses one process for the whole run: Kafka Streams its own JVM, our queries and PySpark's that of
Spark. Sides take turns, round by round, also at being first. The first round warms up the JVMs and does not
count; it is printed as "first", next to the median of the other rounds. (From the second query on, the JVMs
have already run other queries when the first round begins: for a cold one, run ``--only NAME --rounds 0``.)
How much faster ours is, is the median of the rounds' ratios: a machine may be twice as fast in one round as
in another, but hardly between two sides of the same round.

What it costs to keep late rows and errors where there are none: ``--cpu tasks --sides ours,kept,kept-rows``.
The side kept is ours with a processing log, and kept-rows with one that shows records, too (rows.include).
With --cpu tasks, time is that of Spark's tasks and of garbage collection on processors, so that compilers and
what else runs hardly count. Target: 1.02 (ours is at most that many times as fast). With --cpu processes, it
is that of a side's JVM and of the broker; the target of the steps and of join-by-value is 2.0 of Kafka
Streams.

Targets: 0.95 of PySpark's speed in the same mode; of Kafka Streams' 1.15 (stateless), 1.1 (by-value) and 1.0
(all others), and 0.9 in the first round.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import psutil
from functions import task_cpu_s
from kafka_streams_process import StreamsProcess

from ksql_spark.config import Config
from ksql_spark.engine import Engine, Request
from ksql_spark.entities.commands import CommandStatusEntity
from ksql_spark.kafka.admin import KafkaAdmin
from ksql_spark.kafka.consumer import TopicReader
from ksql_spark.kafka.producer import RecordProducer

LINGER_MS = 5
#: starts a query, given its name and output topic; returns a function that stops it
Side = Callable[[str, str], Callable[[], None]]
#: queries that can be hand-written in PySpark for real-time mode
BY_HAND = ("stateless", "by-key", "by-value")
#: keys of orders, and of bids unless --keys says otherwise
AUCTIONS = 10_000
#: bids cycle through the auctions in steps of this prime number
STRIDE = 2_654_435_761
#: event time between two orders, so that a million of them span about an hour
STEP_MS = 4
BID = "auction STRING, bidder BIGINT, price BIGINT, channel STRING, url STRING, extra STRING"
STREAMS = f"""
CREATE STREAM bids ({BID}) WITH (kafka_topic='bids', value_format='JSON');
CREATE STREAM keyed_bids (id STRING KEY, {BID}) WITH (kafka_topic='bids', value_format='JSON');
CREATE TABLE auctions (id STRING PRIMARY KEY, item STRING, reserve BIGINT)
  WITH (kafka_topic='auctions', value_format='JSON');
CREATE STREAM orders (id STRING KEY, number BIGINT, price BIGINT, item STRING, extra STRING)
  WITH (kafka_topic='orders', value_format='JSON');
CREATE STREAM payments (id STRING KEY, number BIGINT, paid BIGINT, method STRING, extra STRING)
  WITH (kafka_topic='payments', value_format='JSON');
"""
AS_STREAM = "CREATE STREAM {out} WITH (kafka_topic='{out}') AS SELECT "
AS_TABLE = "CREATE TABLE {out} WITH (kafka_topic='{out}') AS SELECT "
BY_KEY = "SELECT id, COUNT(*) AS bids, SUM(price) AS total FROM keyed_bids GROUP BY id"
SUMS = "SUM(bids) AS bids, SUM(total) AS total"
OURS = {
    "stateless": AS_STREAM + "auction, bidder, price * 2 AS doubled FROM bids WHERE price > 1000;",
    "by-key": AS_TABLE + "id, COUNT(*) AS bids, SUM(price) AS total FROM keyed_bids GROUP BY id;",
    "by-value": AS_TABLE + "auction, COUNT(*) AS bids, SUM(price) AS total FROM bids GROUP BY auction;",
    "stream-table": AS_STREAM + "b.id AS id, b.bidder AS bidder, b.price AS price, a.item AS item,"
    " a.reserve AS reserve FROM keyed_bids b JOIN auctions a ON b.id = a.id;",
    "stream-stream": AS_STREAM + "o.id AS id, o.number AS number, o.price AS price, p.paid AS paid,"
    " p.method AS method FROM orders o JOIN payments p WITHIN 10 SECONDS GRACE PERIOD 10 SECONDS"
    " ON o.id = p.id;",
    "two-steps": AS_TABLE + f"LEFT(id, 2) AS pair, {SUMS} FROM ({BY_KEY}) t GROUP BY LEFT(id, 2);",
    "three-steps": AS_TABLE + f"LEFT(pair, 1) AS digit, {SUMS} FROM (SELECT LEFT(id, 2) AS pair, {SUMS}"
    f" FROM ({BY_KEY}) t GROUP BY LEFT(id, 2)) u GROUP BY LEFT(pair, 1);",
    "join-by-value": AS_TABLE + "reserve, COUNT(*) AS bids, SUM(price) AS total FROM keyed_bids b"
    " JOIN auctions a ON b.id = a.id GROUP BY reserve;",
    "by-pair": "CREATE TABLE {out} WITH (kafka_topic='{out}', key_format='JSON') AS SELECT id, price,"
    " COUNT(*) AS bids FROM keyed_bids GROUP BY id, price;",
    "first-rows": AS_STREAM + "DISTINCT ON (id, price) id, bidder, price FROM keyed_bids"
    " WHERE id IS NOT NULL;",
    "top-3": "CREATE TABLE {out} WITH (kafka_topic='{out}', key_format='JSON') AS SELECT id,"
    " ROW_NUMBER() OVER (PARTITION BY id ORDER BY price DESC) AS place, price"
    " FROM keyed_bids QUALIFY place <= 3;",
    "lag": AS_STREAM + "id, price - LAG(price, 1, price) OVER (PARTITION BY id ORDER BY ROWTIME) AS change"
    " FROM keyed_bids;",
    "match": AS_STREAM + "* FROM keyed_bids MATCH_RECOGNIZE (PARTITION BY id ORDER BY ROWTIME"
    " MEASURES FIRST(price) AS price, LAST(down.price) AS bottom, COUNT(*) AS bids"
    " PATTERN (top down{{2,}} up) WITHIN 1 HOUR"
    " DEFINE down AS price < PREV(price), up AS price >= PREV(price));",
    "windowed": AS_TABLE + "id, COUNT(*) AS bids, SUM(price) AS total FROM keyed_bids"
    " WINDOW TUMBLING (SIZE 10 SECONDS, GRACE PERIOD 10 SECONDS) GROUP BY id;",
}
#: queries that only our side has
OURS_ALONE = ("by-pair", "first-rows", "top-3", "lag", "match", "windowed")
#: sides that keep late rows and errors -> the properties of their engines
KEPT = {
    "kept": {"topic.auto.create": "true", "stream.auto.create": "true"},
    "kept-rows": {"topic.auto.create": "true", "stream.auto.create": "true", "rows.include": "true"},
}


@dataclass(frozen=True)
class Contents:
    """A sink's contents: the number of records, and sums of fields (in a table, of each key's last one)."""

    records: int
    sums: Mapping[str, int]

    def __str__(self) -> str:
        sums = "".join(f", sum of {name} {total:,}" for name, total in self.sums.items())
        return f"{self.records:,} records{sums}"


def fill(
    admin: KafkaAdmin, producer: RecordProducer, count: int, auctions: int, names: Sequence[str]
) -> dict[str, Contents]:
    """Write the records that the queries ``names`` read; returns the expected contents of each one's sink.

    Args:
        admin: creates the topics.
        producer: writes to them.
        count: of bids; orders and payments are half as many each.
        auctions: how many auctions the bids are for.
        names: of the queries.
    """
    for topic in ("bids", "auctions", "orders", "payments"):
        admin.create_topic(topic, 2, config={"retention.ms": "-1"})
    began_ms = (int(time.time()) - 86_400) * 1000
    for i in range(auctions):
        auction = {"item": f"item {i}", "reserve": reserve(i)}
        producer.send_async("auctions", str(i).encode(), json.dumps(auction).encode(), began_ms)
    rng = random.Random(1)
    passing = doubled = total = reserves = 0
    ranked = Ranked() if set(names) & set(OURS_ALONE) else None
    for i in range(0 if names == ["stream-stream"] else count):
        number, price = i * STRIDE % auctions, rng.randrange(5000)
        total += price
        reserves += reserve(number)
        if price > 1000:
            passing += 1
            doubled += price * 2
        if ranked is not None:
            ranked.add(number, price)
        bid = {
            "auction": str(number),
            "bidder": rng.randrange(100_000),
            "price": price,
            "channel": "Google",
            "url": "https://auctions.example/item?id=1234567",
            "extra": "x" * 60,
        }
        producer.send_async("bids", bid["auction"].encode(), json.dumps(bid).encode(), began_ms + 1 + i)
    totals = Contents(count, {"bids": count, "total": total})
    found = {
        "stateless": Contents(passing, {"doubled": doubled}),
        **dict.fromkeys(
            ("by-key", "by-value", "two-steps", "three-steps", "join-by-value", "windowed"), totals
        ),
        "stream-table": Contents(count, {"price": total, "reserve": reserves}),
        **({} if ranked is None else ranked.contents(count)),
    }
    if "stream-stream" in names:
        found["stream-stream"] = fill_sides(producer, count // 2, began_ms)
    producer.flush(300)
    return found


class Ranked:
    """What the queries write that only our side has."""

    def __init__(self) -> None:
        self._pairs: set[tuple[int, int]] = set()
        self._first_sum = 0
        self._best: dict[int, list[int]] = {}
        self._changes = 0
        self._ends: dict[int, tuple[int, int]] = {}
        self._falls: dict[int, list[int]] = {}
        self._found: list[list[int]] = []

    def add(self, auction: int, price: int) -> None:
        """Take in the next bid."""
        if (auction, price) not in self._pairs:
            self._pairs.add((auction, price))
            self._first_sum += price
        best = self._best.setdefault(auction, [])
        place = sum(other >= price for other in best)
        if place < 3:
            best.insert(place, price)
            del best[3:]
            self._changes += len(best) - place
        first, _ = self._ends.get(auction, (price, price))
        self._ends[auction] = (first, price)
        fall = self._falls.setdefault(auction, [])
        if fall and price >= fall[-1] and len(fall) > 2:
            self._found.append(fall)
            self._falls[auction] = []  # the rising bid belongs to the match
        elif fall and price < fall[-1]:
            fall.append(price)
        else:
            self._falls[auction] = [price]

    def contents(self, count: int) -> dict[str, Contents]:
        """The contents of the sinks, of ``count`` bids."""
        best = sum(map(sum, self._best.values()))
        change = sum(last - first for first, last in self._ends.values())
        return {
            "by-pair": Contents(count, {"bids": count}),
            "first-rows": Contents(len(self._pairs), {"price": self._first_sum}),
            "top-3": Contents(self._changes, {"price": best}),
            "lag": Contents(count, {"change": change}),
            "match": Contents(
                len(self._found),
                {
                    "price": sum(fall[0] for fall in self._found),
                    "bottom": sum(fall[-1] for fall in self._found),
                    "bids": sum(len(fall) + 1 for fall in self._found),
                },
            ),
        }


def reserve(auction: int) -> int:
    """The reserve price of an auction; its sum shows whether bids were joined with the right auctions."""
    return auction * auction % 9973


def fill_sides(producer: RecordProducer, count: int, began_ms: int) -> Contents:
    """Write orders and payments: each order is paid once, at most nine seconds later."""
    rng, numbers, paid = random.Random(2), 0, 0
    payments: list[tuple[int, int, int]] = []
    for number in range(count):
        at_ms, price = began_ms + number * STEP_MS, rng.randrange(5000)
        order = {"number": number, "price": price, "item": f"item {number % 97}", "extra": "x" * 80}
        key = str(number % AUCTIONS).encode()
        producer.send_async("orders", key, json.dumps(order).encode(), at_ms)
        # the key is used again after AUCTIONS * STEP_MS = 40 s, so no payment is near two of its orders
        payments.append((at_ms + rng.randrange(9000), number, price + 1))
        numbers += number
        paid += price + 1
    for at_ms, number, amount in sorted(payments):
        payment = {"number": number, "paid": amount, "method": "card", "extra": "x" * 80}
        key = str(number % AUCTIONS).encode()
        producer.send_async("payments", key, json.dumps(payment).encode(), at_ms)
    return Contents(count, {"number": numbers, "paid": paid})


def handwritten(engine: Engine, name: str, out: str, servers: str, folder: Path) -> Any:
    """The same query as a PySpark user would write it."""
    from pyspark.sql import functions as F

    session = engine.services.spark.process.running_session.newSession()
    session.conf.set("spark.sql.shuffle.partitions", "2")
    raw = session.readStream.format("kafka").option("kafka.bootstrap.servers", servers)
    raw = raw.option("subscribe", "bids").option("startingOffsets", "earliest").load()
    value = F.from_json(F.col("value").cast("string"), BID).alias("b")
    bids = raw.select(F.col("key").cast("string").alias("id"), value).select("id", "b.*")
    if name == "stateless":
        rows = bids.filter("price > 1000").selectExpr("auction", "bidder", "price * 2 AS doubled")
        sink = rows.selectExpr("to_json(struct(*)) AS value")
    else:
        by = "id" if name == "by-key" else "auction"
        rows = bids.groupBy(by).agg(F.count("*").alias("bids"), F.sum("price").alias("total"))
        sink = rows.selectExpr(f"{by} AS key", "to_json(struct(bids, total)) AS value")
    writer = sink.writeStream.format("kafka").option("kafka.bootstrap.servers", servers).option("topic", out)
    writer = writer.option("kafka.linger.ms", str(LINGER_MS)).option("kafka.batch.size", "131072")
    writer = writer.option("checkpointLocation", str(folder / out)).outputMode("update")
    return writer.trigger(realTime="30 seconds").start()


def measure(
    admin: KafkaAdmin,
    out: str,
    expected: int,
    start: Callable[[], Callable[[], None]],
    patience_s: float,
    clock: Callable[[], float],
) -> float | None:
    """Seconds of ``clock`` from the first record in ``out`` to the last; None if records are missing."""
    stop = start()
    began, progress = clock(), time.monotonic()
    first, done, already = 0.0, 0, 0
    try:
        while (now_done := sum(admin.end_offsets(out).values())) < expected:
            now = time.monotonic()
            if now_done > done:
                progress, done = now, now_done
            if now > progress + patience_s:
                return None
            if done and not first:
                first, already = clock(), done
            time.sleep(0.02)
        return (clock() - (first or began)) * expected / max(expected - already, 1)
    finally:
        stop()


def processes_cpu_s(side: str) -> float:
    """The CPU time so far of the broker and of a side's processes."""
    total = 0.0
    for process in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):  # it ended just now
            command = process.cmdline()
            if "kafka.Kafka" in command or ("Bids" in command) == (side == "streams"):
                total += sum(process.cpu_times()[:2])
    return total


def contents(admin: KafkaAdmin, topic: str, fields: Sequence[str], is_table: bool) -> Contents:
    """A topic's contents."""
    values = (value for _, value in records(admin.servers, topic))
    if is_table:
        values = iter(dict(records(admin.servers, topic)).values())
    sums = dict.fromkeys(fields, 0)
    for value in values:
        # our columns are in upper case
        row = {name.lower(): field for name, field in json.loads(value).items()}
        for name in fields:
            sums[name] += row[name]
    return Contents(sum(admin.end_offsets(topic).values()), sums)


def records(servers: str, topic: str) -> Iterator[tuple[bytes, bytes]]:
    """Key and value of each record that is in a topic now."""
    with TopicReader(servers, topic) as reader:
        for batch in reader.read_to_end():
            for record in batch:
                yield record.key or b"", record.value or b"{}"


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--records", type=int, default=2_000_000)
    parser.add_argument("--keys", type=int, default=AUCTIONS, help="auctions of all bids (default 10000)")
    parser.add_argument("--rounds", type=int, default=5, help="rounds after the first one (default 5)")
    parser.add_argument(
        "--only", default=",".join(OURS), help="queries to run, separated by commas (default all)"
    )
    parser.add_argument("--sides", default="ours,pyspark,streams")
    parser.add_argument("--master", default="local", help="where tasks of ours run (ksql.spark.master)")
    parser.add_argument(
        "--patience",
        type=float,
        default=60,
        help="seconds without a new record after which a round is aborted (default 60)",
    )
    parser.add_argument(
        "--cpu",
        choices=("tasks", "processes"),
        help="measure CPU time: of tasks; of a side's JVM and the broker",
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ksql-spark-bench-", ignore_cleanup_errors=True) as folder:
        properties = {
            "ksql.spark.memory": "4g",
            "ksql.spark.master": options.master,
            "ksql.sink.linger.ms": str(LINGER_MS),
            "ksql.spark.warm.up.enabled": "false",  # the first round must be a cold start
        }
        engine = Engine(Config({"ksql.spark.data.dir": folder, **properties}))
        with contextlib.ExitStack() as stack:
            stack.callback(engine.stop)
            engine.start(print)
            admin = engine.services.admin
            producer = RecordProducer(admin.servers, linger_ms=20)
            stack.callback(producer.close)
            names = options.only.split(",")
            expected = fill(admin, producer, options.records, options.keys, names)
            engine.execute(Request(STREAMS))
            sides = make_sides(options.sides.split(","), engine, Path(folder), properties, stack)
            clocks: dict[str, Callable[[], float]] = dict.fromkeys(sides, time.monotonic)
            if options.cpu == "tasks":
                clocks = dict.fromkeys(sides, partial(task_cpu_s, engine.services.spark.process.pid))
            elif options.cpu == "processes":
                clocks = {side: partial(processes_cpu_s, side) for side in sides}
            for name in names:
                lacking = {"pyspark"} if name not in BY_HAND else set()
                lacking |= {"streams"} if name in OURS_ALONE else set()
                by = {side: start for side, start in sides.items() if side not in lacking}
                compare(by, admin, name, expected[name], options, clocks)


def make_sides(
    names: Sequence[str],
    engine: Engine,
    folder: Path,
    properties: Mapping[str, str],
    stack: contextlib.ExitStack,
) -> dict[str, Side]:
    """For each side, the function that starts its queries."""
    servers = engine.services.admin.servers

    def ours(name: str, out: str, engine: Engine = engine) -> Callable[[], None]:
        (answer,) = engine.execute(Request(OURS[name].format(out=out), {"auto.offset.reset": "earliest"}))
        assert isinstance(answer, CommandStatusEntity)
        query_id = answer.command_status.query_id
        return lambda: drop(engine, f"TERMINATE {query_id};")

    def pyspark(name: str, out: str) -> Callable[[], None]:
        query = handwritten(engine, name, out, servers, folder)
        return lambda: query.stop()

    sides: dict[str, Side] = {"ours": ours, "pyspark": pyspark}
    for side in set(names) & KEPT.keys():
        own = {
            "bootstrap.servers": servers,
            "ksql.service.id": f"{side}_",
            "ksql.spark.data.dir": str(folder / side),
            **{f"ksql.logging.processing.{name}": value for name, value in KEPT[side].items()},
        }
        keeping = Engine(Config({**properties, **own}), engine.services.spark.process)
        stack.callback(keeping.stop)
        keeping.start(print)
        keeping.execute(Request(STREAMS))
        sides[side] = partial(ours, engine=keeping)
    if "streams" in names:
        process = StreamsProcess("Bids", servers, folder / "streams.log")
        stack.callback(process.close)
        sides["streams"] = lambda name, out: process.start(name, out, folder / f"streams-{out}")
    return {name: sides[name] for name in names}


def drop(engine: Engine, statement: str) -> None:
    """Run a statement whose answer does not matter."""
    engine.execute(Request(statement))


def compare(
    sides: Mapping[str, Side],
    admin: KafkaAdmin,
    name: str,
    expected: Contents,
    options: argparse.Namespace,
    clocks: Mapping[str, Callable[[], float]],
) -> None:
    """Run one query on all sides, round by round, and print the results."""
    speeds: dict[str, list[float | None]] = {side: [] for side in sides}
    unit = "records per core-second" if options.cpu else "records/s"
    for round_ in range(options.rounds + 1):
        shift = round_ % len(sides)  # each is the first one in turn
        for side, start in [*sides.items()][shift:] + [*sides.items()][:shift]:
            out = f"OUT_{name}_{side}_{round_}".upper().replace("-", "_")
            admin.create_topic(out, 2, config={"retention.ms": "-1"})
            started = partial(start, name, out)
            seconds = measure(admin, out, expected.records, started, options.patience, clocks[side])
            actual = contents(admin, out, tuple(expected.sums), OURS[name].startswith("CREATE TABLE"))
            is_right = seconds is not None and actual == expected
            speeds[side].append(options.records / seconds if is_right else None)
            told = "" if is_right else f"  wrong: {actual}; expected {expected}"
            print(f"{name:13} {side:8} {shown(speeds[side][-1])} {unit}{told}", flush=True)
            admin.delete_topics(t for t in admin.topics() if t == out or t.startswith(f"{out}-"))
    counted = {side: found[1:] or found for side, found in speeds.items()}
    medians = {side: median(found) for side, found in counted.items()}
    print(f"\n{name:13} {'':8} {'first':>10} {'median':>10}  {unit}, median of {options.rounds}")
    for side, speed in medians.items():
        ratio = ratio_of(counted["ours"], counted[side]) if "ours" in counted and side != "ours" else ""
        wrong = sum(found is None for found in speeds[side])
        ratio += f"  {wrong} of {options.rounds + 1} rounds wrong" if wrong else ""
        print(f"{name:13} {side:8} {shown(speeds[side][0])} {shown(speed)}{ratio}")
    print(flush=True)


def ratio_of(ours: Sequence[float | None], theirs: Sequence[float | None]) -> str:
    """How many times as fast we are: the median of the rounds' ratios, and the lowest and highest one."""
    ratios = [our / their for our, their in zip(ours, theirs, strict=True) if our and their]
    if not ratios:
        return ""
    return f"  ours is {statistics.median(ratios):.2f} of it ({min(ratios):.2f} to {max(ratios):.2f})"


def median(speeds: Sequence[float | None]) -> float | None:
    """The median of the correct rounds; None if there are none."""
    right = [speed for speed in speeds if speed is not None]
    return statistics.median(right) if right else None


def shown(speed: float | None) -> str:
    """A speed as text, in the width of a column."""
    return f"{'-':>10}" if speed is None else f"{speed:10,.0f}"


if __name__ == "__main__":
    main()
