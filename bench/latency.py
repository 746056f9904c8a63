"""End-to-end latency at a constant rate, of our queries and of the same queries hand-written in PySpark.

    python bench/latency.py [--rate 100] [--seconds 60] [--bootstrap-servers HOST:PORT]
                            [--master 'local-cluster[2,8,1024]']

Each record contains the time at which it was passed to the producer. It goes through Kafka, a query in
real-time mode and Kafka again; its latency ends when a consumer receives it. All queries run in one Spark
process, one after the other. Two of them (a stateless query, and COUNT and SUM by key) also run hand-written,
with the same trigger and the same settings of session and sink. The first line is Kafka alone: a producer and
a consumer without a query.

At the end of each checkpoint interval Spark commits, and records wait. Records sent within --boundary seconds
of such an end are listed separately. The main percentiles are those of the other records, or with
--boundaries-included those of all. The pause at an end is the longest latency near it; with --interval 5000
there are many.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, Producer, TopicPartition

from ksql_spark.config import Config
from ksql_spark.engine import Engine, Request
from ksql_spark.kafka.admin import KafkaAdmin

KEYS = 100
SCHEMA = "k STRING, n BIGINT, sent BIGINT"
#: how long a query may take until its first output
START_TIMEOUT_S = 120.0
#: Spark keeps the progress of a query's last five intervals, each at least five seconds long
LOOK_EVERY_S = 10

STREAM = (
    "CREATE STREAM {source} (k STRING, n BIGINT, sent BIGINT)"
    " WITH (KAFKA_TOPIC = '{source}', VALUE_FORMAT = 'JSON');"
)
#: the same topic as a table, and a second topic with one record for each key: as a table, as a stream
TABLE = (
    "CREATE TABLE {source}_a (k STRING PRIMARY KEY, n BIGINT, sent BIGINT)"
    " WITH (KAFKA_TOPIC = '{source}', VALUE_FORMAT = 'JSON');"
)
OTHER_TABLE = (
    "CREATE TABLE {source}_t (k STRING PRIMARY KEY, name STRING)"
    " WITH (KAFKA_TOPIC = '{source}_other', PARTITIONS = 1, VALUE_FORMAT = 'JSON');"
)
OTHER_STREAM = (
    "CREATE STREAM {source}_s (k STRING KEY, name STRING)"
    " WITH (KAFKA_TOPIC = '{source}_other', PARTITIONS = 1, VALUE_FORMAT = 'JSON');"
)
INTO = "CREATE {kind} {{sink}} WITH (KAFKA_TOPIC = '{{sink}}') AS SELECT "
AS_STREAM, AS_TABLE = INTO.format(kind="STREAM"), INTO.format(kind="TABLE")


@dataclass(frozen=True)
class Case:
    """A query: its statement, and the sources that it needs besides the stream."""

    statement: str
    sources: tuple[str, ...] = ()
    also_by_hand: bool = False

    @property
    def kind(self) -> str:
        """The kind of the sink: STREAM or TABLE."""
        return self.statement.split()[1]


CASES = {
    "stateless": Case(
        AS_STREAM + "k, n * 2 AS n, sent FROM {source} WHERE n >= 0 EMIT CHANGES;", also_by_hand=True
    ),
    "aggregate": Case(
        AS_TABLE + "k, COUNT(*) AS c, SUM(n) AS total, MAX(sent) AS sent FROM {source} GROUP BY k"
        " EMIT CHANGES;",
        also_by_hand=True,
    ),
    "tumbling": Case(
        AS_TABLE + "k, COUNT(*) AS c, MAX(sent) AS sent FROM {source} WINDOW TUMBLING (SIZE 1 MINUTE)"
        " GROUP BY k EMIT CHANGES;"
    ),
    "stream-table": Case(
        AS_STREAM + "s.k AS k, n, sent, name FROM {source} s JOIN {source}_t t ON s.k = t.k EMIT CHANGES;",
        (OTHER_TABLE,),
    ),
    "table-table": Case(
        AS_TABLE + "a.k AS k, n, sent, name FROM {source}_a a JOIN {source}_t t ON a.k = t.k EMIT CHANGES;",
        (TABLE, OTHER_TABLE),
    ),
    "session": Case(
        AS_TABLE + "k, COUNT(*) AS c, MAX(sent) AS sent FROM {source} WINDOW SESSION (10 SECONDS)"
        " GROUP BY k EMIT CHANGES;"
    ),
    "foreign-key": Case(
        AS_TABLE + "a.k AS k, n, sent, name FROM {source}_a a"
        " JOIN {source}_t t ON CAST(a.n % 100 AS STRING) = t.k EMIT CHANGES;",
        (TABLE, OTHER_TABLE),
    ),
    "stream-stream": Case(
        AS_STREAM + "s.k AS k, n, sent, name FROM {source} s JOIN {source}_s t WITHIN 1 HOUR ON s.k = t.k"
        " EMIT CHANGES;",
        (OTHER_STREAM,),
    ),
    # an aggregate of each row of another, whose group is not its key
    "two-steps": Case(
        AS_TABLE + "CONCAT('g', k) AS g, COUNT(*) AS c, SUM(sent) AS sent"
        " FROM (SELECT k, COUNT(*) AS c, MAX(sent) AS sent FROM {source} GROUP BY k) a"
        " GROUP BY CONCAT('g', k) EMIT CHANGES;"
    ),
    "join-aggregate": Case(
        AS_TABLE + "name, COUNT(*) AS c, MAX(sent) AS sent"
        " FROM (SELECT s.k AS k, sent, name FROM {source} s JOIN {source}_t t ON s.k = t.k) j"
        " GROUP BY name EMIT CHANGES;",
        (OTHER_TABLE,),
    ),
}


@dataclass
class Latencies:
    """Results of a run: (sent, received) of each record, and the ends of intervals, in epoch seconds."""

    records: list[tuple[float, float]] = field(default_factory=list)
    boundaries: set[float] = field(default_factory=set)

    def split(self, around_s: float) -> tuple[list[float], list[float]]:
        """Sorted latencies in ms: away from the boundaries, and near them."""
        outside: list[float] = []
        near: list[float] = []
        for sent, received in self.records:
            is_near = any(abs(sent - b) <= around_s for b in self.boundaries)
            (near if is_near else outside).append((received - sent) * 1000)
        return sorted(outside), sorted(near)

    def pauses(self, around_s: float) -> list[float]:
        """The longest latency near each end of an interval, in ms, sorted."""
        found: list[float] = []
        ends = sorted(self.boundaries)
        # an interval ends a few ms before the next one begins: count that as one pause
        apart = [e for e, before in zip(ends, [0.0, *ends], strict=False) if e - before > 2 * around_s]
        for end in apart:
            near = [(r - s) * 1000 for s, r in self.records if abs(s - end) <= around_s]
            if near:
                found.append(max(near))
        return sorted(found)


def percentile(values: list[float], share: float) -> float:
    """The value that a ``share`` of the sorted ``values`` does not exceed; NaN if there are none."""
    return values[min(int(len(values) * share), len(values) - 1)] if values else float("nan")


class Meter:
    """Sends records at a rate to one topic and receives them from another."""

    def __init__(self, servers: str, source: str, sink: str, sent_field: str) -> None:
        self._source = source
        self._sent_field = sent_field
        self._producer = Producer(
            {
                "bootstrap.servers": servers,
                "linger.ms": 0,
                "acks": 1,
                "socket.nagle.disable": True,
                "log_level": 0,
            }
        )
        self._consumer = Consumer(
            {
                "bootstrap.servers": servers,
                "group.id": uuid.uuid4().hex,
                "enable.auto.commit": False,
                "fetch.min.bytes": 1,
                "fetch.queue.backoff.ms": 2,
                "socket.nagle.disable": True,
            }
        )
        self._consumer.assign([TopicPartition(sink, 0, 0)])
        self.received: list[tuple[float, float]] = []
        self._stopping = threading.Event()
        self._receiver = threading.Thread(target=self._receive, daemon=True)
        self._receiver.start()

    def _receive(self) -> None:
        name = self._sent_field
        while not self._stopping.is_set():
            message = self._consumer.poll(0.2)
            if message is None or message.error() or message.value() is None:
                continue
            now = time.time()
            self.received.append((json.loads(message.value())[name] / 1e6, now))

    def send(self, number: int) -> None:
        """Send one record with the current time."""
        key = str(number % KEYS)
        body = {"k": key, "n": number, "sent": time.time_ns() // 1000}
        self._producer.produce(self._source, json.dumps(body).encode(), key.encode())
        self._producer.poll(0)

    def send_for(self, seconds: float, rate: float, now_and_then: Callable[[], None]) -> None:
        """Send ``rate`` records per second; call ``now_and_then`` every few seconds."""
        began = time.time()
        done = 0
        for number in range(int(seconds * rate)):
            due = began + number / rate
            while (wait := due - time.time()) > 0:
                time.sleep(wait)
            self.send(number)
            if time.time() - began > done + LOOK_EVERY_S:
                done += LOOK_EVERY_S
                now_and_then()

    def close(self) -> None:
        """Stop receiving."""
        self._producer.flush(10)
        self._stopping.set()
        self._receiver.join()
        self._consumer.close()


def handwritten(engine: Engine, name: str, source: str, sink: str, folder: Path, config: Config) -> Any:
    """Start the same query, as a user of PySpark would write it."""
    from pyspark.sql import functions as F

    session = engine.services.spark.process.running_session.newSession()
    session.conf.set("spark.sql.shuffle.partitions", "1")
    servers = engine.services.admin.servers
    raw = session.readStream.format("kafka").option("kafka.bootstrap.servers", servers)
    raw = raw.option("subscribe", source).option("startingOffsets", "latest").load()
    rows = raw.select(F.from_json(F.col("value").cast("string"), SCHEMA).alias("r")).select("r.*")
    if name == "stateless":
        result = rows.where("n >= 0").selectExpr("k AS key", "to_json(struct(n * 2 AS n, sent)) AS value")
    else:
        counted = rows.groupBy("k").agg(
            F.count("*").alias("c"), F.sum("n").alias("total"), F.max("sent").alias("sent")
        )
        result = counted.selectExpr("k AS key", "to_json(struct(c, total, sent)) AS value")
    writer = (
        result.writeStream.format("kafka").option("kafka.bootstrap.servers", servers).option("topic", sink)
    )
    writer = (
        writer.queryName(sink).option("checkpointLocation", (folder / sink).as_uri()).outputMode("update")
    )
    writer = writer.option("kafka.linger.ms", str(config["ksql.sink.linger.ms"]))
    interval = f"{config['ksql.checkpoint.interval.ms']} milliseconds"
    return writer.trigger(realTime=interval).start()


@contextmanager
def running(
    engine: Engine, kind: str, name: str, names: dict[str, str], folder: Path, config: Config
) -> Iterator[None]:
    """Run a query (ours or the hand-written one) for the duration of the block."""
    if kind == "ours":
        case = CASES[name]
        for source in case.sources:
            engine.execute(Request(source.format(**names)))
        if case.sources:
            producer = Producer({"bootstrap.servers": engine.services.admin.servers, "log_level": 0})
            for key in map(str, range(KEYS)):
                producer.produce(f"{names['source']}_other", json.dumps({"name": f"name {key}"}), key)
            producer.flush(10)
        properties = {"auto.offset.reset": "earliest"}
        engine.execute(Request(case.statement.format(**names), properties))
        yield
        engine.execute(Request(f"DROP {case.kind} {names['sink']} DELETE TOPIC;"))
        for source in reversed(case.sources):
            what, made = source.format(**names).split()[1:3]
            engine.execute(Request(f"DROP {what} {made};"))
        if case.sources:
            engine.services.admin.delete_topics([f"{names['source']}_other"])
        return
    query = handwritten(engine, name, names["source"], names["sink"], folder, config)
    try:
        yield
    finally:
        query.stop()


def boundaries(engine: Engine, found: set[float]) -> None:
    """Add the begins and ends of all queries' intervals that Spark reports now."""
    session = engine.services.spark.process.running_session
    for query in session._jsparkSession.sharedState().activeStreamingQueries().values():
        for progress in query.recentProgress():
            reported = json.loads(progress.json())
            began = datetime.fromisoformat(reported["timestamp"].replace("Z", "+00:00")).timestamp()
            found |= {began, began + reported["durationMs"].get("triggerExecution", 0) / 1000}


def measure(
    engine: Engine,
    admin: KafkaAdmin,
    kind: str,
    name: str,
    folder: Path,
    options: argparse.Namespace,
    config: Config,
) -> Latencies:
    """The latencies of one query over ``options.seconds``, after a warm-up."""
    suffix = f"{kind}_{name}".replace("-", "_")
    names = {"source": f"in_{suffix}", "sink": f"out_{suffix}"}
    admin.create_topic(names["source"], 1)
    engine.execute(Request(STREAM.format(**names)))
    if kind != "ours":
        admin.create_topic(names["sink"], 1)
    result = Latencies()
    with running(engine, kind, name, names, folder, config):
        meter = Meter(admin.servers, names["source"], names["sink"], "SENT" if kind == "ours" else "sent")
        try:
            result.records = _sent_and_received(meter, options, lambda: boundaries(engine, result.boundaries))
            time.sleep(1)  # Spark reports an interval shortly after its end
            boundaries(engine, result.boundaries)
        finally:
            meter.close()
    engine.execute(Request(f"DROP STREAM {names['source']} DELETE TOPIC;"))
    admin.delete_topics([names["sink"]])
    return result


def _sent_and_received(
    meter: Meter, options: argparse.Namespace, now_and_then: Callable[[], None]
) -> list[tuple[float, float]]:
    deadline = time.time() + START_TIMEOUT_S
    while not meter.received:  # a query that starts at the latest offset misses earlier records
        if time.time() > deadline:
            raise SystemExit("the query does not respond")
        meter.send(0)
        time.sleep(0.1)
    meter.send_for(options.warm_up, options.rate, lambda: None)
    began = time.time_ns() // 1000 / 1e6
    meter.send_for(options.seconds, options.rate, now_and_then)
    count = int(options.seconds * options.rate)
    deadline = time.time() + 60
    while (done := sum(sent >= began for sent, _ in list(meter.received))) < count and time.time() < deadline:
        time.sleep(0.05)
    if done < count:
        raise SystemExit(f"received only {done} of {count} records")
    return [pair for pair in meter.received if pair[0] >= began]


def kafka_alone(admin: KafkaAdmin, options: argparse.Namespace) -> Latencies:
    """The latencies of a producer and a consumer without a query."""
    admin.create_topic("alone", 1)
    meter = Meter(admin.servers, "alone", "alone", "sent")
    try:
        return Latencies(_sent_and_received(meter, options, lambda: None))
    finally:
        meter.close()
        admin.delete_topics(["alone"])


def line(title: str, latencies: Latencies, options: argparse.Namespace) -> str:
    """One line of the table."""
    around_s = options.boundary
    outside, near = latencies.split(around_s)
    if options.boundaries_included:
        outside = sorted(outside + near)
    shares = (0.5, 0.95, 0.99, 1.0)
    numbers = [percentile(outside, s) for s in shares], [percentile(near, s) for s in shares[:3]]
    first = "".join(f"{n:9.1f}" for n in numbers[0])
    second = "".join(f"{n:9.1f}" for n in numbers[1]) if near else f"{'-':>9}" * 3
    pauses = latencies.pauses(around_s)
    last = "".join(f"{percentile(pauses, s):9.0f}" for s in (0.5, 1.0)) if pauses else f"{'-':>9}" * 2
    return f"{title:22}{first}{len(outside):9}  |{second}{len(near):9}  |{last}{len(pauses):7}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rate", type=float, default=100, help="records per second (default 100)")
    parser.add_argument("--seconds", type=float, default=60, help="duration of each measurement (default 60)")
    parser.add_argument(
        "--warm-up", type=float, default=10, help="seconds before each measurement (default 10)"
    )
    parser.add_argument(
        "--boundary",
        type=float,
        default=1,
        help="seconds before and after the end of an interval (default 1)",
    )
    parser.add_argument(
        "--boundaries-included",
        action="store_true",
        help="compute the main percentiles from all records, also those near the end of an interval",
    )
    parser.add_argument("--interval", type=int, help="checkpoint interval in ms (default: the engine's)")
    parser.add_argument("--master", default="local", help="where tasks run (ksql.spark.master)")
    parser.add_argument("--only", help=f"queries to run, separated by commas: {', '.join(CASES)}")
    parser.add_argument("--ours", action="store_true", help="without the hand-written queries")
    parser.add_argument(
        "--bootstrap-servers", help="an existing Kafka; by default a broker is started for the run"
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ksql-spark-latency-", ignore_cleanup_errors=True) as folder:
        settings = {"ksql.spark.data.dir": folder, "ksql.spark.master": options.master}
        if options.interval:
            settings["ksql.checkpoint.interval.ms"] = str(options.interval)
        if options.bootstrap_servers:
            settings["bootstrap.servers"] = options.bootstrap_servers
        config = Config(settings)
        engine = Engine(config)
        try:
            engine.start(lambda text: print(f"  {text}", flush=True))
            _run(engine, Path(folder), options, config)
        finally:
            engine.stop()


def _run(engine: Engine, folder: Path, options: argparse.Namespace, config: Config) -> None:
    admin = engine.services.admin
    interval = config["ksql.checkpoint.interval.ms"] / 1000
    print(f"\n{options.rate:g} records/s, {options.seconds:g} s each, checkpoints every {interval:g} s")
    near = f"|  within {options.boundary:g} s of a checkpoint"
    which = "of all records" if options.boundaries_included else "otherwise"
    print(f"{'':22}{f'latency in ms, {which}':45}  {near}")
    head = "".join(f"{name:>9}" for name in ("p50", "p95", "p99", "max", "records"))
    second = "".join(f"{name:>9}" for name in ("p50", "p95", "p99", "records"))
    print(f"{'':22}{head}  |{second}  |{'pause p50':>9}{'max':>9}{'ends':>7}", flush=True)
    print(line("Kafka alone", kafka_alone(admin, options), options), flush=True)
    for name in options.only.split(",") if options.only else CASES:
        for kind in ("ours", "by hand") if CASES[name].also_by_hand and not options.ours else ("ours",):
            result = measure(engine, admin, kind.replace(" ", "_"), name, folder, options, config)
            print(line(f"{name}, {kind}", result, options), flush=True)


if __name__ == "__main__":
    main()
