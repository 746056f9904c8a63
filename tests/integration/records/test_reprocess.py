"""Whatever is killed, results are what a model in Python makes of the whole log: nothing lost, twice, wrong.

``REPROCESS_SEEDS=1-48 pytest -m long tests/integration/records/test_reprocess.py`` makes 48 runs, 16 of which
(``TOGETHER``) share a server and its kills; these strike each one at another moment. A run has topics of its
own with late, bad and repeated records, a table that REPROCESS corrects, and a query that must be right as it
is. ``python -m ksql_spark.prepare`` before makes servers start faster: those here never live to write an
archive of classes.
"""

from __future__ import annotations

import itertools
import json
import os
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from ksql_spark.kafka.admin import KafkaAdmin
from ksql_spark.kafka.consumer import TopicReader
from ksql_spark.kafka.producer import RecordProducer
from tests.integration.records.truth import (
    CORRECTED,
    EXACT,
    LATER_MS,
    SOURCES,
    START_MS,
    Corrected,
    Exact,
    Log,
    events,
)
from tests.integration.results import kafka_streams_model as model
from tests.integration.results.comparing import Sink, wrong_changes, wrong_rows
from tests.integration.server_process import ServerProcess
from tests.waiting import TIMEOUT_S, until

pytestmark = [pytest.mark.kafka, pytest.mark.long]

PREFIX = "truth_"
#: what the JVM's second compiler makes does not pay within a minute
SHORT_LIVED = {"JAVA_TOOL_OPTIONS": "-XX:TieredStopAtLevel=1"}
TOGETHER = int(os.environ.get("TOGETHER", "16"))
KEYS = 8
#: windows that begin earlier are closed in the end
CLOSED_MS = START_MS + LATER_MS - 30_000
#: how many tables that are corrected a run has, and how many queries that need no correction
TABLES, DRAWN = 1, 1
#: how long a server lives at most once most runs correct their tables, seconds
AT_MOST_S = 10.0
#: how long results may take after the last kill, seconds
PATIENCE_S = 180.0


def seeds(text: str) -> Iterator[int]:
    """``1-3 103`` is 1, 2, 3 and 103."""
    for part in text.split():
        first, _, last = part.partition("-")
        yield from range(int(first), int(last or first) + 1)


SEEDS = list(seeds(os.environ.get("REPROCESS_SEEDS", "1-4")))


class Life:
    """A server until it is killed.

    Args:
        server: it.
    """

    def __init__(self, server: ServerProcess) -> None:
        self.server = server
        self._is_ending = threading.Event()
        #: how many statements it has not answered
        self.busy = 0
        self._asking = threading.Lock()

    def ask(self, statement: str) -> list[dict[str, Any]] | None:
        """The answer; None if the server was killed instead.

        Raises:
            AssertionError: the answer is an error, though the server lives.
        """
        with self._asking:
            self.busy += 1
        try:
            answer = httpx.post(f"{self.server.url}/ksql", json={"ksql": statement}, timeout=TIMEOUT_S)
        except httpx.HTTPError:
            assert self._is_ending.wait(TIMEOUT_S), statement
            return None
        if answer.status_code != 200:
            # its JVM may have been killed before it
            assert self._is_ending.wait(1), f"{statement}: {answer.text}"
            return None
        with self._asking:
            self.busy -= 1
        entities: list[dict[str, Any]] = answer.json()
        return entities

    def end(self) -> int:
        """Kill it; how many statements it was busy with."""
        with self._asking:
            self._is_ending.set()
            busy = self.busy
        self.server.crash()
        self.server.process.communicate()
        return busy


class Run:
    """The topics and queries of one seed."""

    def __init__(self, seed: int, admin: KafkaAdmin, producer: RecordProducer) -> None:
        self.random = random.Random(seed)
        self.seed, self.name = seed, f"{PREFIX}{seed}"
        self.guarantee = ("at_least_once", "exactly_once_v2")[seed % 2]
        self.is_exactly_once = seed % 2 == 1
        self.partitions = (1, 4)[seed % 4 // 2]
        self.tables = self.random.sample([*CORRECTED], TABLES)
        possible = [name for name, each in EXACT.items() if self.is_exactly_once or not each.is_once_only]
        self.drawn = sorted(self.random.sample(possible, DRAWN))
        self.queries: dict[str, str] = {}
        self._admin, self._producer = admin, producer
        self._front_ms = START_MS
        self._times: set[int] = set()
        self._numbers = itertools.count()

    def __str__(self) -> str:
        return f"{self.name}: {self.partitions} partitions, {self.guarantee}: {[*self.tables, *self.drawn]}"

    def begin(self, life: Life) -> None:
        """Create the sources, fill the table that streams look rows up in, and create the queries."""
        life.server.execute(SOURCES.format(x=self.name, partitions=self.partitions))
        for key in range(0, KEYS, 2):
            self._put("t", b"k%d" % key, START_MS - 1 - key)
        self._producer.flush()
        properties = {"processing.guarantee": self.guarantee, "auto.offset.reset": "earliest"}
        queries: dict[str, Corrected | Exact] = {name: CORRECTED[name] for name in self.tables}
        queries |= {name: EXACT[name] for name in self.drawn}
        for name, each in queries.items():
            if name in EXACT:  # each change counts, so nothing may compact it
                config = {"cleanup.policy": "delete", "retention.ms": "-1"}
                self._admin.create_topic(self._sink(name), self.partitions, config=config)
            (made,) = life.server.execute(each.statement(name, self.name), **properties)
            self.queries[name] = made["commandStatus"]["queryId"]

    def _sink(self, name: str) -> str:
        return f"{name}_{self.name}".upper()

    def send(self, count: int) -> None:
        """Records whose times go on: a third is up to 40 s late, some are bad, some are sent twice."""
        for _ in range(count):
            self._front_ms += self.random.randrange(400)
            late_ms = self.random.randrange(40_000) if self.random.random() < 0.3 else 0
            key = b"k%d" % self.random.randrange(KEYS)
            topic = "s" if self.random.random() < 0.7 else "r"
            self._put(topic, key, max(START_MS, self._front_ms - late_ms))
            if self.random.random() < 0.03:
                bad = self.random.choice((b"{bad", b'{"n": "x", "g": 0, "a": 1}', None))
                self._producer.send_async(f"{topic}_{self.name}", key, bad, self._free(self._front_ms))
        self._producer.flush()

    def _free(self, time_ms: int) -> int:
        """A time that no other record has."""
        while time_ms in self._times:
            time_ms += 1
        self._times.add(time_ms)
        return time_ms

    def _put(self, topic: str, key: bytes, time_ms: int, group: int | None = None) -> None:
        time_ms = self._free(time_ms)
        g = self.random.randrange(3) if group is None else group
        value = {"n": next(self._numbers), "g": g, "a": self.random.randrange(100)}
        for _ in range(2 if self.random.random() < 0.05 else 1):
            self._producer.send_async(f"{topic}_{self.name}", key, json.dumps(value).encode(), time_ms)

    def end(self, after_ms: int = 0) -> None:
        """Send records far in the future, which close the windows of all keys before."""
        for key in range(KEYS):
            for topic in ("s", "r"):
                self._put(topic, b"k%d" % key, START_MS + LATER_MS + after_ms, key % 3)
        self._producer.flush()

    def live(self, life: Life, count: int, *, ends: bool) -> None:
        """Send records and correct tables, until the server is killed; ``ends``: send the last ones, too."""
        time.sleep(self.random.random())
        parts = [self.random.randrange(50, 400) for _ in range(count // 400)]
        parts.append(count - sum(parts))
        is_alive = True
        while is_alive or parts:
            if parts:
                self.send(parts.pop())
                if ends and not parts:
                    self.end()
            if is_alive:
                is_alive = life.ask(self._correction()) is not None

    def _correction(self) -> str:
        table = self.random.choice(self.tables)
        return self.random.choice(
            (
                f"REPROCESS {table}_{self.name};",
                f"REPROCESS {table}_{self.name} FROM {self._front_ms - 60_000} TO {self._front_ms};",
                f"REPLAY LATE ROWS OF {self.queries[table]};",
            )
        )

    def log(self) -> Log:
        """The records of its topics."""
        return Log(*(events(_records(self._admin, f"{topic}_{self.name}")) for topic in "srt"))

    def wrong(self, server: ServerProcess, log: Log) -> Iterator[str]:
        """What is wrong now."""
        for name in self.tables:
            found = server.rows(f"SELECT * FROM {name}_{self.name} WHERE windowstart < {CLOSED_MS};")
            rows = {(group, start): [[n, total]] for group, start, _, n, total in found}
            truth = {
                key: [row] for key, row in CORRECTED[name].truth(log.stream).items() if key[1] < CLOSED_MS
            }
            if wrong := wrong_changes(rows, truth):
                yield f"{name}_{self.name}: {wrong}"
        for name in self.drawn:
            if wrong := self._wrong(name, EXACT[name], log):
                yield f"{name}_{self.name} ({self.guarantee}): {wrong}"

    def _wrong(self, name: str, exact: Exact, log: Log) -> str:
        sink = Sink(self._admin.servers, self._sink(name))
        sink.close()
        truth = exact.truth(log)
        if isinstance(truth, list):
            rows, expected = sink.rows(), Counter(truth)
            if not self.is_exactly_once:
                rows, expected = Counter(set(rows)), Counter(set(expected))
            return wrong_rows(rows, expected)
        changes = sink.changes(exact.bounds)
        if exact.is_last or not self.is_exactly_once:
            return wrong_changes(model.folded(changes), model.folded(truth))
        return wrong_changes(changes, truth)

    def correct(self, life: Life) -> None:
        """Correct its tables."""
        for table in self.tables:
            life.ask(f"REPROCESS {table}_{self.name} TO {CLOSED_MS};")


def _records(admin: KafkaAdmin, topic: str) -> list[Any]:
    with TopicReader(admin.servers, topic) as reader:
        return [record for batch in reader.read_to_end() for record in batch]


class Together:
    """Runs that share a server and its kills."""

    def __init__(self, runs: Sequence[Run], folder: Path, admin: KafkaAdmin) -> None:
        self._runs, self._folder = runs, folder
        self._began = time.monotonic()
        some = " ".join(str(run.seed) for run in runs)
        self.report("\n".join([f"REPROCESS_SEEDS='{some}' TOGETHER={len(runs)}", *map(str, runs)]))
        self._properties = folder / "server.properties"
        self._properties.write_text(
            f"bootstrap.servers={admin.servers}\nksql.service.id={PREFIX}\n"
            "ksql.logging.processing.topic.auto.create=true\nksql.logging.processing.stream.auto.create=true\n"
            "ksql.spark.memory=4g\nksql.spark.warm.up.enabled=false\n",
            encoding="utf-8",
        )

    def start(self) -> Life:
        server = ServerProcess(
            self._folder / "data", "--properties", str(self._properties), environment=SHORT_LIVED
        )
        life = Life(server.ready())
        self.report("started")
        return life

    def report(self, what: str) -> None:
        print(f"{time.monotonic() - self._began:5.0f} s: {what}", flush=True)

    def each(self, do: Callable[[Run], object]) -> None:
        """Do something for all runs at once."""
        with ThreadPoolExecutor(len(self._runs)) as pool:
            list(pool.map(do, self._runs))

    def live(self, life: Life, count: int, *, ends: bool = False) -> None:
        """Let each run send records and correct tables, and kill the server in between."""
        after_s = self._runs[0].random.uniform(0, AT_MOST_S)

        def kill() -> None:
            until(lambda: life.busy > len(self._runs) // 2)
            time.sleep(after_s)
            self.report(f"killed with {life.end()} statements in it, after {after_s:.1f} s")

        with ThreadPoolExecutor(1) as pool:
            killed = pool.submit(kill)
            self.each(lambda run: run.live(life, count, ends=ends))
            killed.result()

    def until_right(self, life: Life, *, correct: bool) -> None:
        """Wait until all is as the model says; ``correct``: by REPROCESS."""
        deadline = time.monotonic() + PATIENCE_S
        logs = {run: run.log() for run in self._runs}
        problems: dict[Run, list[str]] = {}

        def is_wrong(run: Run) -> bool:
            if correct:
                run.correct(life)
            problems[run] = [*run.wrong(life.server, logs[run])]
            return bool(problems[run])

        left, before = self._runs, 0
        while left:
            with ThreadPoolExecutor(len(left)) as pool:
                left = [run for run, wrong in zip(left, pool.map(is_wrong, left), strict=True) if wrong]
            texts = [text for run in left for text in problems[run]]
            if len(texts) != before:
                self.report("\n".join([f"{len(texts)} results are not right yet", *texts]))
            before = len(texts)
            assert time.monotonic() < deadline, "\n".join(texts)
        self.report("right")


TOGETHERS = [SEEDS[at : at + TOGETHER] for at in range(0, len(SEEDS), TOGETHER)]


@pytest.mark.parametrize("some", TOGETHERS, ids=lambda some: f"{some[0]}-{some[-1]}")
def test_nothing_is_lost_twice_or_wrong(some: list[int], kafka_admin: KafkaAdmin, tmp_path: Path) -> None:
    producer = RecordProducer(kafka_admin.servers, linger_ms=5)
    runs = [Run(seed, kafka_admin, producer) for seed in some]
    together = Together(runs, tmp_path, kafka_admin)
    lives = []
    try:
        lives.append(together.start())
        together.each(lambda run: run.begin(lives[-1]))
        together.report("begun")
        together.live(lives[-1], 1_500)
        lives.append(together.start())
        together.live(lives[-1], 1_000, ends=True)
        lives.append(together.start())
        together.until_right(lives[-1], correct=True)
        lives[-1].end()
        lives.append(together.start())
        for run in runs:
            run.end(after_ms=1_000)  # what it repeats undoes nothing
        together.until_right(lives[-1], correct=False)
    finally:
        for life in lives:
            life.end()
        producer.close()
        names = kafka_admin.topics()
        kafka_admin.delete_topics(name for name in names if PREFIX in name or PREFIX.upper() in name)
