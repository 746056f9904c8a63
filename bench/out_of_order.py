"""Records out of order on both sides of a join: what ours gives, and what Kafka Streams gives.

    python bench/out_of_order.py [--rounds 5] [--kinds INNER,LEFT,RIGHT,FULL]

A join of two streams WITHIN 1 MINUTE GRACE PERIOD 1 MINUTE. A record of the left side (of FULL, of the right
one) moves time on to 330 s; after it come records of both sides for keys 2 and 3 with times of 60 and 90 s.
Were each record processed before the next one is written, the first of these of each key would be too late to
be kept, so the two do not meet. A task that has records of both sides before it takes the oldest first, and
they meet.

A producer writes the runs of records of one topic one after the other, each when the broker has the one
before. "waiting": the records are there before the join starts. "live": the join has answered two records
before. Both sides read the same topics at the same time, with their settings as they come (max.task.idle.ms
is 0).

Printed for each kind and situation: how often each side gave what one record at a time gives ("in turn"),
what merging by time gives ("merged"), or something else, which is printed too.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from confluent_kafka import Producer
from kafka_streams_process import StreamsProcess

from ksql_spark.config import Config
from ksql_spark.engine import Engine, Request
from ksql_spark.entities.commands import CommandStatusEntity
from ksql_spark.kafka.admin import KafkaAdmin
from ksql_spark.kafka.consumer import TopicReader

#: what a producer writes, in order: side, key, time in ms
Input = tuple[str, int, int]
#: a result: key, whether it has a left and a right side
Result = tuple[int, bool, bool]
INPUTS: list[Input] = [("L", 0, 1_000), ("R", 0, 60_000)]
LATER: list[Input] = [("L", 2, 90_000), ("R", 2, 90_000), ("L", 3, 60_000), ("R", 3, 60_000)]
KINDS = {"INNER": "JOIN", "LEFT": "LEFT JOIN", "RIGHT": "RIGHT JOIN", "FULL": "FULL OUTER JOIN"}
#: what the join answers before the records of "live" are written
FIRST: list[Input] = [("L", 99, 1_000), ("R", 99, 1_000)]
#: so long after the last result there are no more, seconds
QUIET_S = 4.0
SOURCES = """
CREATE STREAM l{n} (id BIGINT KEY, v STRING) WITH (KAFKA_TOPIC = 'L{n}', VALUE_FORMAT = 'DELIMITED');
CREATE STREAM r{n} (id BIGINT KEY, v STRING) WITH (KAFKA_TOPIC = 'R{n}', VALUE_FORMAT = 'DELIMITED');
"""
JOIN = """
CREATE STREAM ours{n} WITH (KAFKA_TOPIC = 'OURS{n}', VALUE_FORMAT = 'JSON') AS
  SELECT {key}, l.v AS l, r.v AS r FROM l{n} l {kind} r{n} r
  WITHIN 1 MINUTE GRACE PERIOD 1 MINUTE ON l.id = r.id;
"""


def inputs(kind: str) -> list[Input]:
    """What is written for a kind of join."""
    ahead = "R" if kind == "FULL" else "L"
    later = [("R" if side == "L" else "L", key, at) for side, key, at in LATER] if kind == "FULL" else LATER
    return [*INPUTS, (ahead, 1, 330_000), *later]


def expected(kind: str, in_turn: bool) -> Counter[Result]:
    """The results, if each record is processed before the next one is written, or if they are merged by time.

    The record that is ahead waits for its side without a partner to the end, so it has no result.
    """
    found: Counter[Result] = Counter({(0, True, True): 1})
    for key in (2, 3):
        if in_turn:
            if kind in ("LEFT", "FULL"):
                found[key, True, False] = 1
            if kind in ("RIGHT", "FULL"):
                found[key, False, True] = 1
        else:
            found[key, True, True] = 1
    return found


def write(servers: str, number: int, records: list[Input]) -> None:
    """Write records; each run of one topic when the broker has the run before."""
    producer = Producer({"bootstrap.servers": servers, "linger.ms": 50, "acks": "all"})
    for place, (side, key, at) in enumerate(records):
        topic = f"{side}{number}"
        producer.produce(topic, value=f"{side}{key}", key=key.to_bytes(8, "big"), timestamp=at)
        if place + 1 == len(records) or records[place + 1][0] != side:
            producer.flush(30)


class Results:
    """The results in a topic, but for those of FIRST."""

    def __init__(self, servers: str, topic: str, sides: Callable[[bytes], tuple[bool, bool]]) -> None:
        self._reader = TopicReader(servers, topic)
        self._sides = sides
        self.found: Counter[Result] = Counter()
        self.has_first = False

    def read(self) -> bool:
        """Whether there were some more."""
        records = self._reader.poll_batch(0.1)
        for record in records:
            assert record.key is not None and record.value is not None
            key = int.from_bytes(record.key, "big")
            if key == FIRST[0][1]:
                self.has_first = True
            else:
                self.found[(key, *self._sides(record.value))] += 1
        return bool(records)

    def close(self) -> None:
        """End reading."""
        self._reader.close()


def sides_of_ours(value: bytes) -> tuple[bool, bool]:
    """Which sides a result of ours has."""
    row = json.loads(value)
    return row["L"] is not None, row["R"] is not None


def sides_of_streams(value: bytes) -> tuple[bool, bool]:
    """Which sides a result of Kafka Streams has."""
    left, right = value.split(b"|")
    return bool(left), bool(right)


def one_round(
    engine: Engine, process: StreamsProcess, folder: Path, number: int, kind: str, is_live: bool
) -> dict[str, Counter[Result]]:
    """Run a join on both sides, on the same records; returns the results of each."""
    admin: KafkaAdmin = engine.services.admin
    topics = [f"{name}{number}" for name in ("L", "R", "OURS", "STREAMS")]
    for topic in topics:
        admin.create_topic(topic, 1, config={"retention.ms": "-1"})
    engine.execute(Request(SOURCES.format(n=number)))
    if not is_live:
        write(admin.servers, number, inputs(kind))
    stop = process.start(kind, topics[0], topics[1], topics[3], folder / topics[3])
    key = "ROWKEY AS id" if kind == "FULL" else "r.id AS id" if kind == "RIGHT" else "l.id AS id"
    join = JOIN.format(n=number, kind=KINDS[kind], key=key)
    (answer,) = engine.execute(Request(join, {"auto.offset.reset": "earliest"}))
    assert isinstance(answer, CommandStatusEntity)
    results = {
        "ours": Results(admin.servers, topics[2], sides_of_ours),
        "streams": Results(admin.servers, topics[3], sides_of_streams),
    }
    with contextlib.ExitStack() as stack:
        stack.callback(admin.delete_topics, topics)
        stack.callback(engine.execute, Request(f"TERMINATE {answer.command_status.query_id};"))
        stack.callback(stop)
        for result in results.values():
            stack.callback(result.close)
        if is_live:
            write(admin.servers, number, FIRST)
            while not all(result.has_first for result in results.values()):
                for result in results.values():
                    result.read()
            write(admin.servers, number, inputs(kind))
        last = time.monotonic()
        while time.monotonic() < last + QUIET_S or not all(result.found for result in results.values()):
            if any([result.read() for result in results.values()]):
                last = time.monotonic()
        return {side: result.found for side, result in results.items()}


def judged(kind: str, found: Counter[Result]) -> str:
    """What results are."""
    if found == expected(kind, in_turn=True):
        return "in turn"
    if found == expected(kind, in_turn=False):
        return "merged"
    return f"else: {sorted(found.elements())}"


def main() -> None:
    """Run the comparison."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--kinds", default=",".join(KINDS))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ksql-spark-bench-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        engine = Engine(Config({"ksql.spark.data.dir": name}))
        with contextlib.ExitStack() as stack:
            stack.callback(engine.stop)
            engine.start(print)
            process = StreamsProcess("Joins", engine.services.admin.servers, folder / "streams.log")
            stack.callback(process.close)
            number = 0
            for situation in ("waiting", "live"):
                for kind in options.kinds.split(","):
                    told: dict[str, Counter[str]] = {"ours": Counter(), "streams": Counter()}
                    for _ in range(options.rounds):
                        number += 1
                        found = one_round(engine, process, folder, number, kind, situation == "live")
                        for side, results in found.items():
                            told[side][judged(kind, results)] += 1
                    for side, counts in told.items():
                        shown = ", ".join(f"{times} {what}" for what, times in counts.most_common())
                        print(f"{situation:8} {kind:6} {side:8} {shown}", flush=True)


if __name__ == "__main__":
    main()
