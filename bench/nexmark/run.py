"""Nexmark: its queries on generated events, checked against DuckDB, or measured beside Flink.

    python -m bench.nexmark.run [--query q0,q5] [--sides ours,flink] [--records 1000000] [--rounds 3]
    python -m bench.nexmark.run --every 2 --query q15,q16,q17
    python -m bench.nexmark.run --latency 2000 --query q0,q17 [--seconds 600]
    python -m bench.nexmark.run --restore 1000000
    python -m bench.nexmark.run --check [--kill] [--partitions 1,4] [--format AVRO]

Without --check, queries run one after the other on a backlog, in turn on each side, in a warm process: the
first round does not count. The contents of its result are checked, and those of other rounds by their number
of records. Rates and CPU time are those between the first record written and the last one, scaled to all
events that the query reads. CPU time is that of the engine's JVM and its child processes, without the broker
and this program. Results are appended to --results, which report.py shows.

With --every, Flink merges changes in mini-batches of so many seconds, and our queries end with EMIT CHANGES
EVERY; rates and CPU time then include the start. --latency and --restore are described in steady.py.

With --check, the result of every query is compared with what DuckDB returns, for each number of partitions.
With --kill, all queries run at once, exactly_once_v2, and the JVM is killed when half of the events are
written.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

import orjson

from bench.nexmark.flink import Flink
from bench.nexmark.generator import COLUMNS, Options, count_of, events
from bench.nexmark.oracle import Oracle, Row, Verdict
from bench.nexmark.ours import NAMES, Ours
from bench.nexmark.streams import KafkaStreams
from ksql_spark.config import Config
from ksql_spark.engine import Engine
from ksql_spark.errors import KsqlError
from ksql_spark.kafka.admin import KafkaAdmin
from ksql_spark.kafka.producer import RecordProducer

#: what queries read that do not read bids alone
READS = {
    "q3": ("person", "auction"),
    "q4": ("auction", "bid"),
    "q6": ("auction", "bid"),
    "q8": ("person", "auction"),
    "q9": ("auction", "bid"),
    "q20": ("auction", "bid"),
}
RESULTS = Path("build/nexmark.jsonl")
#: so many events are in memory
CHUNK = 100_000
#: a result that has not grown for so long is complete
QUIET_S = 6.0
#: a result that has not grown for so many seconds is complete; after a kill, when all queries start again
PATIENCE_S, RECOVERY_S = 40.0, 240.0
FIRST_S = 90.0
PROPERTIES = {
    "ksql.spark.memory": "4g",
    "ksql.spark.warm.up.enabled": "false",
    "ksql.sink.linger.ms": "5",
    "ksql.create.function.enabled": "true",
}


class Side(Protocol):
    """An engine with its queries."""

    name: str

    def has(self, query: str) -> bool:
        """Whether it has the query."""

    def start(self, query: str) -> None:
        """Start a query."""

    def topic(self, query: str) -> str:
        """The topic of its result."""

    def written(self, query: str) -> int:
        """How many records the query has written."""

    def rows(self, query: str, every_change: bool = False) -> list[Row]:
        """The contents of its result; of a table, the last row of each key, or all that were written."""

    def cpu_s(self) -> float:
        """The CPU time of the engine so far."""

    def kill(self, query: str) -> None:
        """Kill the engine's JVM, and let the query run on in another one."""

    def stop(self, query: str) -> None:
        """End a query and remove what it has made."""


@dataclass(frozen=True)
class Round:
    """One run of a query: seconds and CPU seconds for all events, the records written, and what was wrong."""

    seconds: float
    cpu_s: float
    written: int
    problem: str = ""


def write(
    admin: KafkaAdmin, oracle: Oracle, stream: Iterator[tuple[str, Row]], encode: Callable[[str, Row], bytes]
) -> None:
    """Write events to their topics, and to DuckDB."""
    producer = RecordProducer(admin.servers, linger_ms=20)
    while chunk := list(itertools.islice(stream, CHUNK)):
        for topic, row in chunk:
            produce(producer, topic, row, encode)
        oracle.add(chunk)
    producer.close()


def produce(producer: RecordProducer, topic: str, row: Row, encode: Callable[[str, Row], bytes]) -> None:
    """Send an event."""
    key = row[next(iter(COLUMNS[topic]))].to_bytes(8, "big")
    producer.send_async(topic, key, encode(topic, row), row["dateTime"])


def as_json(topic: str, row: Row) -> bytes:
    """The value of an event's record."""
    return orjson.dumps(row)


def check(query: str, side: Side, oracle: Oracle, patience_s: float) -> Verdict:
    """Wait until a result is right, or has not grown for ``patience_s`` seconds."""
    deadline, written = time.monotonic() + patience_s, -1
    while True:
        now = side.written(query)
        if now == written:
            verdict = oracle.check(query, side.rows(query))
            if verdict.is_right or time.monotonic() > deadline:
                return verdict
        else:
            written, deadline = now, time.monotonic() + patience_s
        time.sleep(1.0)


def check_all(
    names: Sequence[str], partitions: int, options: argparse.Namespace
) -> Iterator[tuple[str, Verdict]]:
    """Run queries at once on a new engine; how each result differs from DuckDB's."""
    properties = {"processing.guarantee": "exactly_once_v2"} if options.kill else {}
    with started(partitions) as (engine, oracle):
        side: Side = Ours(engine, oracle, options.format, properties)
        stream, encode = events(options.generated), encoder(engine, options.format)
        if not options.kill:
            write(engine.services.admin, oracle, stream, encode)
            for name in names:
                side.start(name)
                yield name, check(name, side, oracle, PATIENCE_S)
                side.stop(name)
            return
        for name in names:
            side.start(name)
        write(engine.services.admin, oracle, itertools.islice(stream, options.records // 2), encode)
        wait_for_output(side, names)
        side.kill("")
        write(engine.services.admin, oracle, stream, encode)
        for name in names:
            yield name, check(name, side, oracle, RECOVERY_S)


def wait_for_output(side: Side, names: Sequence[str]) -> None:
    """Wait until all queries have written something."""
    deadline = time.monotonic() + FIRST_S
    while not all(side.written(name) for name in names) and time.monotonic() < deadline:
        time.sleep(0.5)


def encoder(engine: Engine, format_: str) -> Callable[[str, Row], bytes]:
    """Encodes the values of events; the streams over their topics must exist."""
    if format_ == "JSON":
        return as_json
    from ksql_spark.metastore.serdes import writing_serdes

    serdes, columns = {}, {}
    for topic in COLUMNS:
        source = engine.services.metastore.find(topic.upper())
        assert source is not None
        serdes[topic] = writing_serdes(source, engine.services.registry)[1]
        spelled = {name.upper(): name for name in COLUMNS[topic]}
        columns[topic] = [spelled[column.name] for column in source.schema.value]

    def encode(topic: str, row: Row) -> bytes:
        return serdes[topic].encode([row[name] for name in columns[topic]]) or b""

    return encode


def measured(side: Side, query: str, expected: int | None, quiet_s: float, is_whole: bool = False) -> Round:
    """Run a query over the backlog until its result has as many records as expected, or grows no more.

    With ``is_whole``, time counts from the start, and not from the first record written.
    """
    began, began_cpu_s = time.monotonic(), side.cpu_s()
    try:
        side.start(query)
    except (RuntimeError, KsqlError) as error:
        return Round(0, 0, 0, str(error))
    now = time.monotonic()
    first: tuple[float, float, int] | None = None
    last = (now, 0.0, 0)
    while expected is None or last[2] < expected:
        written = side.written(query)
        now = time.monotonic()
        if written > last[2]:
            last = (now, side.cpu_s(), written)
            first = first or ((began, began_cpu_s, 0) if is_whole else last)
        elif now - last[0] > (quiet_s if first else FIRST_S):
            break
        time.sleep(0.02)
    if first is None:
        return Round(0, 0, 0, "no output")
    scale = last[2] / max(last[2] - first[2], 1)
    return Round((last[0] - first[0]) * scale, (last[1] - first[1]) * scale, last[2])


def compare(query: str, sides: Sequence[Side], oracle: Oracle, options: argparse.Namespace) -> None:
    """Measure a query on all sides in turn, and print and keep the result."""
    read = sum(count_of(topic, options.records) for topic in READS.get(query, ("bid",)))
    found: dict[str, list[Round]] = {side.name: [] for side in sides}
    for _ in range(options.rounds + 1):
        for side in sides:
            earlier = found[side.name]
            if earlier and not earlier[0].written:
                continue
            try:
                expected = earlier[0].written if earlier and not options.every else None
                round_ = measured(side, query, expected, options.quiet, bool(options.every))
                if not earlier and round_.written:
                    verdict = oracle.check(query, side.rows(query))
                    round_ = replace(round_, problem="" if verdict.is_right else str(verdict))
            finally:
                side.stop(query)
            earlier.append(round_)
            print(f"  {query:4} {side.name:13} {shown(round_, read)} {round_.problem}", flush=True)
    for name, rounds in found.items():
        entry = {
            "query": query,
            "side": name,
            "records": options.records,
            "read": read,
            "partitions": int(options.partitions.split(",")[0]),
            "format": options.format,
            "every": options.every,
            "first": asdict(rounds[0]),
            "rounds": [asdict(round_) for round_ in rounds[1:]],
        }
        keep(options.results, entry)
        if counted := rounds[1:]:
            middle = Round(
                statistics.median(r.seconds for r in counted), statistics.median(r.cpu_s for r in counted), 0
            )
            print(f"{query:5} {name:13} {shown(middle, read)}  median of {len(counted)}", flush=True)


def keep(results: Path, entry: dict[str, Any]) -> None:
    """Append a result to a file."""
    results.parent.mkdir(parents=True, exist_ok=True)
    with results.open("a") as file:
        file.write(json.dumps({"at": datetime.now(UTC).isoformat(timespec="seconds"), **entry}) + "\n")


def shown(round_: Round, read: int) -> str:
    """Rate and CPU time as text."""
    rate = read / round_.seconds if round_.seconds else 0
    return f"{rate:12,.0f} events/s {round_.cpu_s * 1e6 / read:8.2f} core-s per million"


@contextlib.contextmanager
def started(partitions: int) -> Iterator[tuple[Engine, Oracle]]:
    """An engine with a broker of its own, where the topics of the events are."""
    with tempfile.TemporaryDirectory(prefix="ksql-spark-nexmark-", ignore_cleanup_errors=True) as folder:
        engine = Engine(Config({"ksql.spark.data.dir": f"{folder}/data", **PROPERTIES}))
        try:
            engine.start(lambda text: None)
            for topic in COLUMNS:
                engine.services.admin.create_topic(topic, partitions, config={"retention.ms": "-1"})
            yield engine, Oracle(Path(folder))
        finally:
            engine.stop()


@contextlib.contextmanager
def sides(
    engine: Engine, oracle: Oracle, partitions: int, options: argparse.Namespace, ours: Side | None = None
) -> Iterator[list[Side]]:
    """The engines to measure, in their order; ``ours`` is used if it is already there."""
    with contextlib.ExitStack() as stack:
        made: list[Side] = []
        for name in options.sides:
            if name == "ours":
                made.append(ours or Ours(engine, oracle, options.format, every_s=options.every))
                continue
            folder = oracle.side_input.parent
            other: Flink | KafkaStreams
            if name == "flink":
                other = Flink(engine.services.admin, folder, partitions, options.every)
            else:
                other = KafkaStreams(engine.services.admin, folder, partitions)
            stack.callback(other.close)
            made.append(other)
        yield made


def measure(names: Sequence[str], partitions: int, options: argparse.Namespace) -> None:
    """Measure queries, one after the other."""
    with started(partitions) as (engine, oracle), sides(engine, oracle, partitions, options) as found:
        stream = events(options.generated)
        write(engine.services.admin, oracle, stream, encoder(engine, options.format))
        for query in names:
            compare(query, [side for side in found if side.has(query)], oracle, options)


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--query", default=",".join(NAMES), help="queries, separated by commas (default all)")
    parser.add_argument("--sides", default="ours,flink", type=lambda text: text.split(","))
    parser.add_argument("--records", type=int, default=1_000_000, help="events; of 50, 46 are bids")
    parser.add_argument("--rate", type=float, default=1000, help="events in a second of event time")
    parser.add_argument("--disorder", type=int, default=500, help="how late events come at most, ms")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3, help="rounds after the first one")
    parser.add_argument(
        "--partitions", default="2", help="with --check, several numbers, separated by commas"
    )
    parser.add_argument("--format", default="JSON", choices=("JSON", "AVRO"), help="the format of the events")
    parser.add_argument(
        "--quiet", type=float, default=QUIET_S, help="a result is complete after so many quiet seconds"
    )
    parser.add_argument("--every", type=int, default=0, help="changes are written after so many seconds")
    parser.add_argument("--latency", type=float, help="measure latencies, at so many events in a second")
    parser.add_argument("--seconds", type=float, default=600, help="with --latency, for how long")
    parser.add_argument("--restore", type=int, help="measure a restart after a kill, with so many keys")
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument(
        "--check", action="store_true", help="compare results with DuckDB instead of measuring"
    )
    parser.add_argument("--kill", action="store_true", help="with --check: kill the JVM in the middle")
    options = parser.parse_args()
    options.generated = Options(options.records, options.rate, options.disorder, options.seed)
    names = options.query.split(",")
    if options.latency or options.restore:
        from bench.nexmark import steady

        return steady.measure(names, int(options.partitions.split(",")[0]), options)
    if not options.check:
        return measure(names, int(options.partitions.split(",")[0]), options)
    is_right = True
    for partitions in map(int, options.partitions.split(",")):
        for query, verdict in check_all(names, partitions, options):
            print(f"{query:4} {partitions} partitions: {verdict}", flush=True)
            is_right &= verdict.is_right
    if not is_right:
        raise SystemExit(1)
    return None


if __name__ == "__main__":
    main()
