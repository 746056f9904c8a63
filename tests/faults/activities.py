"""What goes on beside the twenty queries while a fault strikes: changes of queries, sinks, archives, clients.

An activity makes one round in each run, in a thread of its own: for instance, a table gets a new version. The
fault strikes at a moment that the activity tells, such as between two steps of a commit. However often the
server is lost, the round must come to its end, and the results must be those of a few lines of Python.
"""

from __future__ import annotations

import contextlib
import os
import random
import re
import socket
import struct
import subprocess
import sys
import threading
import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import httpx
import psycopg
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient
from deltalake import DeltaTable

from tests.faults.scene import KEYS, Difference, statements
from tests.integration.server_process import ROOT
from tests.waiting import TIMEOUT_S

if TYPE_CHECKING:
    from tests.faults.faults import Run
    from tests.faults.scene import Scene

#: a round that takes longer is stuck, seconds
ROUND_S = 300.0
#: how often the server is asked whether something is over, seconds
_LOOK_S = 0.3
EARLIEST = {"auto.offset.reset": "earliest"}
#: the key of a row -> its value
Rows = Mapping[bytes, Mapping[str, Any]]


class Server:
    """The server of a run as those see it who try again until it answers.

    Args:
        run: whose server may be another one by now.
    """

    def __init__(self, run: Run) -> None:
        self._run = run
        #: what was answered last instead of a result
        self.problem = ""

    @property
    def url(self) -> str:
        """Where the server is now; empty while it starts."""
        return self._run.server.url

    def ask(self, text: str) -> list[dict[str, Any]] | None:
        """The entities of a request; None if there was no result."""
        try:
            body = {"ksql": text, "streamsProperties": EARLIEST}
            answer = httpx.post(f"{self.url}/ksql", json=body, timeout=TIMEOUT_S)
            if answer.status_code == 200:
                entities: list[dict[str, Any]] = answer.json()
                return entities
            self.problem = f"{text[:80]}: {answer.text}"
        except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
            self.problem = f"{text[:80]}: {error!r}"
        return None

    def one(self, text: str) -> dict[str, Any]:
        """The entity of a request, which has an answer as soon as there is a server."""
        entities: list[dict[str, Any]] = []

        def is_answered() -> bool:
            entities[:] = self.ask(text) or []
            return bool(entities)

        self.until(is_answered)
        return entities[0]

    def does(self, text: str, is_done: Callable[[], bool]) -> None:
        """Have a statement carried out; ``is_done``: whether it was, where the answer was lost."""
        self.until(lambda: self.ask(text) is not None or is_done())

    def until(self, condition: Callable[[], bool]) -> None:
        """Wait until something holds.

        Raises:
            AssertionError: it never does.
        """
        deadline = time.monotonic() + ROUND_S
        while not condition():
            assert time.monotonic() < deadline, self.problem or "nothing happens"
            time.sleep(_LOOK_S)

    def has(self, name: str) -> bool:
        """Whether there is a stream or table."""
        (streams, tables) = (self.one(f"SHOW {kind};") for kind in ("STREAMS", "TABLES"))
        return name.upper() in {each["name"] for each in (*streams["streams"], *tables["tables"])}


class Activity(ABC):
    """One activity.

    Args:
        run: which it is part of.
    """

    #: what it needs, with ``{n}`` for the number of partitions and ``{lake}`` for a folder
    STATEMENTS = ""
    #: whether it goes on in every run; others only where they are aimed at, or drawn
    IS_STEADY = False

    def __init__(self, run: Run) -> None:
        self.run = run
        self.server = Server(run)
        self.n = run.scene.partitions[-1]
        self.lake = run.data_dir / "lake"
        self.numbers = random.Random(run.numbers.random())
        #: is set in the moment at which the fault shall strike
        self.moment = threading.Event()
        self._steps = 0
        self._fatal = 0

    @property
    def scene(self) -> Scene:
        """The queries beside it."""
        return self.run.scene

    def statements(self) -> list[str]:
        """What creates what it needs."""
        return statements(self.STATEMENTS.format(n=self.n, lake=self.lake))

    def make(self, execute: Callable[[str], Any]) -> None:
        """Create what it needs."""
        for each in self.statements():
            execute(each)

    def aim(self, steps: int) -> None:
        """Choose at which of ``steps`` of the next round the fault shall strike."""
        self._fatal, self._steps = self.numbers.randrange(steps), 0

    def step(self) -> None:
        """The next step of a round begins now."""
        if self._steps == self._fatal:
            self.moment.set()
        self._steps += 1

    def prepare(self) -> None:
        """Get ready for a round, while nothing is sent."""
        self.moment.clear()

    def is_now(self) -> bool:
        """Whether it is the moment for a fault."""
        return self.moment.is_set()

    def delay_s(self) -> float:
        """How long after that moment the fault shall strike."""
        return self.numbers.choice((0.0, self.numbers.uniform(0.0, 0.2), self.numbers.uniform(0.2, 3.0)))

    @abstractmethod
    def round(self) -> None:
        """Do what it does, until that is over."""

    @abstractmethod
    def compare(self, difference: Difference) -> None:
        """Add how its results differ from the truth."""

    def compare_rows(self, difference: Difference, topic: str, truth: Rows) -> None:
        """Compare the topic of a table."""
        rows = self.scene.table(topic)
        absent = [key for key in truth if key not in rows]
        wrong = [
            f"{key!r} is {row}, not {truth.get(key)}" for key, row in rows.items() if truth.get(key) != row
        ]
        add(difference, topic, len(absent), len(wrong), [*absent[:2], *wrong[:2]])

    def events(self) -> Iterator[tuple[bytes, int, int]]:
        """Key, number and how many times it is there, of each record of ``s``."""
        times = self.scene.times(f"s{self.n}")
        for number in range(self.scene.sent):
            yield KEYS[number % len(KEYS)].encode(), number, max(1, times[number])


def add(difference: Difference, where: str, lost: int, wrong: int, which: object = "") -> None:
    """Add what is missing or wrong somewhere."""
    difference.lost += lost
    difference.wrong += wrong
    if lost or wrong:
        difference.where.append(f"{where}: {lost} missing, {wrong} wrong {which}")


class Version:
    """One of the versions of a table.

    Args:
        select: its query.
        row: key, and how often each number is there -> the row, or None if there is none.
    """

    def __init__(self, select: str, row: Callable[[bytes, Counter[int]], dict[str, Any] | None]) -> None:
        self.select, self._row = select, row

    def truth(self, events: Iterator[tuple[bytes, int, int]]) -> Rows:
        """All rows."""
        groups: dict[bytes, Counter[int]] = {}
        for key, number, times in events:
            groups.setdefault(key, Counter())[number] += times
        rows = ((key, self._row(key, numbers)) for key, numbers in groups.items())
        return {key: row for key, row in rows if row is not None}


def _n(numbers: Counter[int]) -> int:
    return sum(numbers.values())


#: versions of a table, of which each takes the place of any other by a backfill: aggregates, joins of a
#: stream with a table, of two tables, and by a foreign key
BACKFILLED = (
    Version("SELECT k, COUNT(*) AS n FROM s{n} GROUP BY k", lambda key, numbers: {"N": _n(numbers)}),
    Version(
        "SELECT k, SUM(v) AS n FROM s{n} WHERE v % 3 > 0 GROUP BY k",
        lambda key, numbers: {"N": sum(n % 10 * times for n, times in numbers.items() if n % 10 % 3)},
    ),
    Version(
        "SELECT s.k AS k, COUNT(name) AS n FROM s{n} s JOIN names{n} t ON s.k = t.k WHERE v > 4 GROUP BY s.k",
        lambda key, numbers: {"N": sum(times for n, times in numbers.items() if n % 10 > 4)},
    ),
    Version(
        "SELECT k, SUM(n) AS n FROM (SELECT k, v, COUNT(*) AS n FROM s{n} GROUP BY k, v) d GROUP BY k",
        lambda key, numbers: {"N": _n(numbers)},
    ),
    Version(
        "SELECT t.k AS k, n + LEN(name) AS n FROM sums{n} t LEFT JOIN names{n} u ON t.k = u.k",
        lambda key, numbers: {"N": _n(numbers) + len(f"name of {key.decode()}")},
    ),
    Version(
        "SELECT t.k AS k, n * 2 AS n FROM sums{n} t JOIN names{n} u"
        " ON CONCAT('k', CAST(t.n % 7 AS STRING)) = u.k",
        lambda key, numbers: {"N": _n(numbers) * 2},
    ),
)
#: versions that take each other's place with the state
IN_PLACE = (
    Version("SELECT k, COUNT(*) AS n FROM s{n} GROUP BY k", lambda key, numbers: {"N": _n(numbers)}),
    Version("SELECT k, COUNT(*) * 10 AS n FROM s{n} GROUP BY k", lambda key, ns: {"N": _n(ns) * 10}),
    Version(
        "SELECT k, COUNT(*) - 1 AS n FROM s{n} GROUP BY k HAVING COUNT(*) % 2 = 0",
        lambda key, numbers: {"N": _n(numbers) - 1} if _n(numbers) % 2 == 0 else None,
    ),
)


class Evolving(Activity):
    """A table gets new versions; which one is in force, and how to come to the next one.

    Args:
        run: which it is part of.
    """

    NAME, KIND = "evolving", "TABLE"
    VERSIONS: Sequence[Version] = BACKFILLED

    def __init__(self, run: Run) -> None:
        super().__init__(run)
        self.table = f"{self.NAME}{self.n}"
        self.version = 0

    def make(self, execute: Callable[[str], Any]) -> None:
        """Create the table."""
        execute(f"CREATE {self.KIND} {self.table} AS {self.select()} EMIT CHANGES;")

    def select(self) -> str:
        """The query of the version that is in force."""
        return self.VERSIONS[self.version].select.format(n=self.n)

    def replacement(self, more: str) -> str:
        """The statement that brings it in force; ``more``: in WITH."""
        return f"CREATE OR REPLACE {self.KIND} {self.table} WITH ({more}) AS {self.select()} EMIT CHANGES;"

    def versions(self) -> int:
        """How many versions there were."""
        return len(self.server.one(f"SHOW VERSIONS OF {self.table};")["versions"])

    def compare(self, difference: Difference) -> None:
        """Compare its rows."""
        version = self.VERSIONS[self.version]
        truth = dict(version.truth(self.events()))
        self.compare_rows(difference, self.table.upper(), truth)

    def evolution(self) -> tuple[str, str]:
        """State of the latest evolution, and its query; nothing if there was none."""
        entities = self.server.ask(f"DESCRIBE EVOLUTION {self.table};")
        return (entities[0]["state"], entities[0]["queryId"]) if entities else ("", "")

    def known_evolution(self) -> str:
        """The query of the latest evolution, as soon as there is a server."""
        self.server.one("SHOW QUERIES;")
        return self.evolution()[1]

    def until_evolution(self, *states: str) -> None:
        """Wait until the latest evolution is in one of these states."""

        def is_there() -> bool:
            self.server.one("SHOW QUERIES;")
            state, _ = self.evolution()
            self.server.problem = f"{self.table} is {state}, not {states}: {self.server.problem}"
            return state in states

        self.server.until(is_there)

    def choose(self) -> None:
        """Choose another version."""
        others = [each for each in range(len(self.VERSIONS)) if each != self.version]
        self.version = self.numbers.choice(others)

    def replace(self, more: str) -> None:
        """Send the chosen version."""
        before = self.known_evolution()
        self.server.does(self.replacement(more), lambda: self.evolution()[1] not in ("", before))

    def round(self) -> None:
        """A backfill, now and then an aborted one before it, and a swap."""
        self.aim(4)
        self.choose()
        more = "EVOLVE = 'backfill', SWAP = 'manual'"
        if self.numbers.random() < 0.3:
            self.replace(more)
            self.server.does(
                f"ABORT EVOLUTION {self.table};", lambda: self.evolution()[0] in ("aborted", "swapped")
            )
        self.step()
        self.replace(more)
        self.step()
        self.until_evolution("caught up")
        self.step()
        self.step()
        self.server.does(f"SWAP {self.table};", lambda: self.evolution()[0] in ("swapping", "swapped"))
        self.until_evolution("swapped")


class RollingBack(Evolving):
    """A table that goes back to the version before, by a backfill that swaps by itself."""

    NAME = "rolled"
    VERSIONS = BACKFILLED[:2]

    def make(self, execute: Callable[[str], Any]) -> None:
        """Create it, and another version, so that there is one to go back to."""
        super().make(execute)
        self.version = 1
        execute(self.replacement("EVOLVE = 'backfill'"))
        self.until_evolution("swapped")

    def round(self) -> None:
        """ROLLBACK."""
        self.aim(2)
        self.choose()
        before = self.known_evolution()
        self.step()
        self.server.does(f"ROLLBACK {self.table};", lambda: self.evolution()[1] not in ("", before))
        self.step()
        self.until_evolution("swapped")


class InPlace(Evolving):
    """A table whose query is changed in place."""

    NAME = "sized"
    VERSIONS = IN_PLACE

    def round(self) -> None:
        """Two changes, the last of which counts."""
        self.aim(2)
        for _ in range(2):
            self.choose()
            before = self.versions()
            self.step()
            text = self.replacement("EVOLVE = 'in-place'")
            self.server.does(text, lambda before=before: self.versions() > before)  # type: ignore[misc]


class KeptStream(Evolving):
    """A stream gets new versions with HISTORY = 'keep', some of which have state."""

    NAME, KIND = "marked", "STREAM"
    SELECTS = (
        "SELECT k, id, CAST(v AS BIGINT) AS w, 'plain' AS mark FROM s{n}",
        "SELECT k, id, LAG(id, 1, CAST(-1 AS BIGINT)) OVER (PARTITION BY k ORDER BY ROWTIME) AS w,"
        " 'before' AS mark FROM s{n}",
        "SELECT s.k AS k, id, CAST(LEN(name) AS BIGINT) AS w, 'named' AS mark"
        " FROM s{n} s JOIN names{n} t ON s.k = t.k",
    )

    def __init__(self, run: Run) -> None:
        super().__init__(run)
        #: the number of the record -> the mark of the version that must answer from there on
        self._since: tuple[int, str] = (0, "plain")
        self._ids: Counter[int] = Counter()
        self._wrong: list[Any] = []

    def select(self) -> str:
        """The query of the version that is in force."""
        return self.SELECTS[self.version].format(n=self.n)

    def choose(self) -> None:
        """Choose another version."""
        self.version = self.numbers.choice([n for n in range(len(self.SELECTS)) if n != self.version])

    def round(self) -> None:
        """A new version that begins where the old one ends."""
        self.aim(2)
        self.choose()
        before = self.versions()
        self.step()
        text = self.replacement("EVOLVE = 'backfill', HISTORY = 'keep'")
        self.server.does(text, lambda: self.versions() > before)
        self.step()
        self.until_evolution("swapped", "")  # one without state does not warm up
        mark = ("plain", "before", "named")[self.version]
        self._since = (self.scene.sent, mark)

    def compare(self, difference: Difference) -> None:
        """Each record is answered once, as one of the versions answers; the latest by the latest version."""
        topic, times = self.table.upper(), self.scene.times(f"s{self.n}")
        first, mark = self._since
        for row in self.scene.new_rows(topic):
            number = row["ID"]
            self._ids[number] += 1
            allowed = {
                "plain": {number % 10},
                "before": {max(number - len(KEYS), -1)},
                "named": {len("name of k0")},
            }[row["MARK"]]
            if row["MARK"] == "before" and max(times[number], times[number - len(KEYS)]) > 1:
                allowed.add(number)
            if row["W"] not in allowed or (number >= first and row["MARK"] != mark):
                self._wrong.append(row)
        missing = sorted(set(range(self.scene.sent)) - self._ids.keys())
        add(difference, topic, len(missing), len(self._wrong), [*missing[:5], *self._wrong[:3]])
        again = {each: count for each, count in self._ids.items() if count > max(1, times[each])}
        if again:
            difference.again.append(f"{topic}: {len(again)} again {sorted(again)[:5]}")
        difference.repeated += sum(count - max(1, times[each]) for each, count in again.items())


class Dropping(Activity):
    """A stream and a table are dropped and come back."""

    STATEMENTS = """
CREATE STREAM dropped{n} AS SELECT k, id, v FROM s{n} EMIT CHANGES;
CREATE TABLE undone{n} AS SELECT k, COUNT(*) AS n FROM s{n} GROUP BY k EMIT CHANGES;
"""

    def __init__(self, run: Run) -> None:
        super().__init__(run)
        self._ids: Counter[int] = Counter()

    def round(self) -> None:
        """DROP and UNDROP of both."""
        self.aim(4)
        names = [("STREAM", f"dropped{self.n}"), ("TABLE", f"undone{self.n}")]
        self.numbers.shuffle(names)
        for kind, name in names:
            self.step()
            self.server.does(f"DROP {kind} {name};", lambda name=name: not self.server.has(name))  # type: ignore[misc]
            time.sleep(self.numbers.choice((0.0, 0.0, 1.0)))
            self.step()
            self.server.does(f"UNDROP {kind} {name};", lambda name=name: self.server.has(name))  # type: ignore[misc]

    def compare(self, difference: Difference) -> None:
        """Each record once in the stream, and all of them in the table."""
        topic, times = f"DROPPED{self.n}", self.scene.times(f"s{self.n}")
        self._ids.update(row["ID"] for row in self.scene.new_rows(topic))
        missing = sorted(set(range(self.scene.sent)) - self._ids.keys())
        add(difference, topic, len(missing), 0, missing[:5])
        again = {each: count for each, count in self._ids.items() if count > max(1, times[each])}
        if again:
            difference.again.append(f"{topic}: {len(again)} again {sorted(again)[:5]}")
        difference.repeated += sum(count - max(1, times[each]) for each, count in again.items())
        self.compare_rows(difference, f"UNDONE{self.n}", IN_PLACE[0].truth(self.events()))


class Branching(Evolving):
    """A branch is made, a table changed in it, promoted, and the branch dropped."""

    NAME = "branched"
    VERSIONS = BACKFILLED[:3]

    def _branch(self, action: str, *more: str) -> bool:
        """Run ``ksql-spark branch``; whether it succeeded."""
        if not self.server.url:
            return False
        code = "import sys; from ksql_spark.shell.main import main; sys.exit(main(sys.argv[1:]))"
        at = ["--server", self.server.url]
        command = [sys.executable, "-c", code, "branch", action, "dev", *more, *at]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        self.server.problem = f"branch {action}: {done.stdout}{done.stderr}"
        return done.returncode == 0

    def round(self) -> None:
        """The whole way."""
        self.aim(4)
        self.choose()
        copy = f"dev__{self.table}"
        self.step()
        self.server.until(lambda: self._branch("create", "--only", self.table) or self._begin_again())
        self.step()
        text = f"CREATE OR REPLACE TABLE {copy} WITH (EVOLVE = 'backfill') AS {self.select()} EMIT CHANGES;"
        self.server.does(text, lambda: bool(self.server.ask(f"DESCRIBE EVOLUTION {copy};")))
        self.server.until(lambda: self.server.one(f"DESCRIBE EVOLUTION {copy};")["state"] == "swapped")
        self.step()
        self.server.until(lambda: self._branch("promote"))
        self.step()
        self.server.until(lambda: self._branch("drop") or not self.server.has(copy))

    def _begin_again(self) -> bool:
        self._branch("drop")
        return False


class Sinks(Activity):
    """Sinks write a stream into files and into Delta Lake, and a table into Delta Lake."""

    IS_STEADY = True
    STATEMENTS = """
CREATE SINK files{n} FROM s{n}
  WITH (TYPE = 'parquet', PATH = '{lake}/files', COMMIT_INTERVAL = '500 milliseconds');
CREATE SINK rows{n} FROM s{n}
  WITH (TYPE = 'delta', PATH = '{lake}/rows', COMMIT_INTERVAL = '500 milliseconds');
CREATE SINK latest{n} FROM sums{n}
  WITH (TYPE = 'delta', PATH = '{lake}/latest', COMMIT_INTERVAL = '1 second');
"""
    #: which files show that a commit has begun, and is not over
    STAGED = ("files/_ksql/*.tmp", "rows/*.parquet", "latest/*.parquet", "latest/_delta_log/*")

    def __init__(self, run: Run) -> None:
        super().__init__(run)
        self._pattern = self.STAGED[0]
        self._before: set[Path] = set()

    def prepare(self) -> None:
        """Choose the commit in which a fault shall strike."""
        super().prepare()
        self._pattern = self.numbers.choice(self.STAGED)
        self._before = set(self.lake.glob(self._pattern))

    def is_now(self) -> bool:
        """Whether a file is there that was not."""
        return not set(self.lake.glob(self._pattern)) <= self._before

    def delay_s(self) -> float:
        """Commits are short."""
        return self.numbers.choice((0.0, 0.0, self.numbers.uniform(0.0, 0.03)))

    def round(self) -> None:
        """One of them may be dropped; another one with its table goes on where it has stopped."""
        statements = [
            each for each in self.STATEMENTS.format(n=self.n, lake=self.lake).split(";\n") if each.strip()
        ]
        text = self.numbers.choice(statements)
        name = text.split()[2]
        if self.numbers.random() < 0.5:
            self.server.does(f"DROP SINK {name};", lambda: not self._has(name))
            self.server.does(f"{text};", lambda: self._has(name))

    def _has(self, name: str) -> bool:
        return name.upper() in {each["name"] for each in self.server.one("SHOW SINKS;")["sinks"]}

    def compare(self, difference: Difference) -> None:
        """Each record of the topic is there once."""
        times = self.scene.times(f"s{self.n}")
        for name, ids in (("files", self._files), ("rows", self._rows)):
            there = ids()
            missing = sorted((times - there).keys())
            add(difference, f"lake {name}", len(missing), len(there.keys() - times.keys()), missing[:5])
            if again := there - times:
                difference.wrong += sum(again.values())
                difference.where.append(f"lake {name}: {len(again)} again {sorted(again)[:5]}")
        truth = {key.decode(): row for key, row in self.scene.truth(f"SUMS{self.n}").items()}
        latest = self._latest()
        wrong = [(key, row) for key, row in latest.items() if truth.get(key) != row]
        add(difference, "lake latest", len(truth.keys() - latest.keys()), len(wrong), wrong[:2])

    def _files(self) -> Counter[int]:
        files = sorted(map(str, (self.lake / "files").glob("*.parquet")))
        if not files:
            return Counter()
        return Counter(row[0] for row in duckdb.read_parquet(files).select("ID").fetchall())

    def _rows(self) -> Counter[int]:
        if not DeltaTable.is_deltatable(str(self.lake / "rows")):
            return Counter()
        return Counter(DeltaTable(str(self.lake / "rows")).to_pyarrow_table(columns=["ID"])["ID"].to_pylist())

    def _latest(self) -> dict[str, dict[str, Any]]:
        if not DeltaTable.is_deltatable(str(self.lake / "latest")):
            return {}
        rows = DeltaTable(str(self.lake / "latest")).to_pyarrow_table().to_pylist()
        assert len({row["K"] for row in rows}) == len(rows), "the lake has a key twice"
        return {row["K"]: {"N": row["N"], "TOTAL": row["TOTAL"]} for row in rows}


class Compacting(Activity):
    """COMPACT of these sinks, and of an archive."""

    STAGED: Mapping[str, str] = {
        "files": "files/_ksql/*.tmp", "rows": "rows/*.parquet", "latest": "latest/_delta_log/*",
        "kept": "kept/_ksql/*.tmp",
    }  # fmt: skip

    def __init__(self, run: Run) -> None:
        super().__init__(run)
        self._sink = "files"
        self._before: set[Path] = set()

    def prepare(self) -> None:
        """Choose a sink."""
        super().prepare()
        self._sink = self.numbers.choice([*self.STAGED])

    def is_now(self) -> bool:
        """Whether a file is there that was not when COMPACT was sent."""
        return super().is_now() and not set(self.lake.glob(self.STAGED[self._sink])) <= self._before

    def delay_s(self) -> float:
        """COMPACT is short while there is little."""
        return self.numbers.choice((0.0, self.numbers.uniform(0.0, 0.05), self.numbers.uniform(0.0, 0.3)))

    def round(self) -> None:
        """COMPACT SINK; whether the fault leaves it undone is no matter."""
        self._before = set(self.lake.glob(self.STAGED[self._sink]))
        self.moment.set()
        self.server.does(f"COMPACT SINK {self._sink}{self.n};", lambda: False)

    def compare(self, difference: Difference) -> None:
        """The sinks' own activities compare their rows."""


class Archiving(Activity):
    """Retention removes what an archive has, and a new query reads both each time."""

    IS_STEADY = False
    STATEMENTS = """
CREATE STREAM kept{n} (k STRING KEY, id BIGINT, v INT)
  WITH (KAFKA_TOPIC = 'kept{n}', VALUE_FORMAT = 'JSON', PARTITIONS = {n});
CREATE SINK kept{n} FROM kept{n} WITH (TYPE = 'parquet', PATH = '{lake}/kept', ARCHIVE = true,
  COMMIT_INTERVAL = '500 milliseconds');
CREATE STREAM whole{n} (k STRING KEY, id BIGINT, v INT)
  WITH (KAFKA_TOPIC = 'kept{n}', VALUE_FORMAT = 'JSON', ARCHIVE = '{lake}/kept');
CREATE TABLE archived{n} AS SELECT k, COUNT(*) AS n FROM whole{n} GROUP BY k EMIT CHANGES;
"""

    def __init__(self, run: Run) -> None:
        super().__init__(run)
        self._before: set[Path] = set()
        self._is_by_file = False

    def prepare(self) -> None:
        """Let retention remove a part of what the archive has."""
        super().prepare()
        self.scene.flush()
        self.scene.times(f"kept{self.n}")  # so that it was read
        description = self.server.one(f"DESCRIBE SINK kept{self.n};")
        ends = {each["partition"]: each["offset"] for each in description["positions"]}
        admin = AdminClient({"bootstrap.servers": self.run.servers, "log_level": 0})
        removed = [
            TopicPartition(f"kept{self.n}", p, self.numbers.randrange(end // 2, end + 1))
            for p, end in ends.items()
            if end
        ]
        if removed:
            for done in admin.delete_records(removed).values():
                done.result(TIMEOUT_S)
        self._is_by_file = self.numbers.random() < 0.5
        self._before = set(self.lake.glob("kept/_ksql/*.tmp"))

    def is_now(self) -> bool:
        """While the archive commits, or while the query starts."""
        if self._is_by_file:
            return not set(self.lake.glob("kept/_ksql/*.tmp")) <= self._before
        return super().is_now()

    def delay_s(self) -> float:
        """Commits are short."""
        return self.numbers.uniform(0.0, 0.03) if self._is_by_file else super().delay_s()

    def round(self) -> None:
        """Another query takes the place of the one before."""
        self.aim(2)
        name = f"archived{self.n}"
        self.server.does(f"DROP TABLE {name} DELETE TOPIC;", lambda: not self.server.has(name))
        self.scene.forget(name.upper())
        self.step()
        text = f"CREATE TABLE {name} AS SELECT k, COUNT(*) AS n FROM whole{self.n} GROUP BY k EMIT CHANGES;"
        self.server.does(text, lambda: self.server.has(name))
        self.step()

    def compare(self, difference: Difference) -> None:
        """The query has counted each record once, and the archive has each once."""
        times = self.scene.times(f"kept{self.n}")
        counts: Counter[bytes] = Counter()
        for number, count in times.items():
            counts[KEYS[number % len(KEYS)].encode()] += count
        self.compare_rows(
            difference, f"ARCHIVED{self.n}", {key: {"N": count} for key, count in counts.items()}
        )
        files = sorted(map(str, (self.lake / "kept").glob("*/*/*.parquet")))
        there: list[tuple[int, int]] = []
        if files:
            rows = duckdb.read_parquet(files, hive_partitioning=True).select('partition, "offset"')
            there = rows.fetchall()
        add(difference, "archive", times.total() - len(set(there)), len(there) - len(set(there)))


#: what a client may be told, instead of a result, while its server is lost
_LOST = (psycopg.OperationalError, OSError)
_HOSTILE = (
    "SELECT", "SELECT * FROM nothing;", "SELECT * FROM s{n} WHERE;", "'", '"', "$1", "SELECT $1::int",
    "SELECT * FROM pg_catalog.pg_class WHERE relname = ''''", "BEGIN; SELECT 1; SELEC", "\\d",
    "SELECT * FROM sums{n} WHERE k = 'k" + "'' OR 1=1 --" * 50 + "';", "DECLARE c CURSOR FOR SELECT 1",
    "FETCH 10 FROM nothing", "SELECT " + "(" * 500 + "1",
    "SELECT '" + "x" * 100_000 + "'", "SELECT * FROM sums{n} WHERE k LIKE '%" + "_%" * 300 + "';",
    "SET 'processing.guarantee' = 'nonsense';", "SELECT \N{SNOWMAN} FROM s{n}", "TERMINATE nothing;",
)  # fmt: skip


class PostgresClients(Activity):
    """Clients of PostgreSQL look up, push, cancel, go away, and send what is wrong."""

    IS_STEADY = True
    THREADS = 3

    def __init__(self, run: Run) -> None:
        super().__init__(run)
        self._wrong: list[str] = []
        #: what was done how often
        self.did: Counter[str] = Counter()
        self._is_over = threading.Event()
        self._threads: ThreadPoolExecutor | None = None

    def make(self, execute: Callable[[str], Any]) -> None:
        """They use what is there."""

    def prepare(self) -> None:
        """Begin."""
        super().prepare()
        self._is_over.clear()
        self._threads = ThreadPoolExecutor(self.THREADS)
        for _ in range(self.THREADS):
            self._threads.submit(self._come_and_go, random.Random(self.numbers.random()))

    def round(self) -> None:
        """Strike while they are busy."""
        self.aim(1)
        time.sleep(self.numbers.uniform(0.5, 3.0))
        self.step()

    def end(self) -> list[str]:
        """No more come; what they were told that is wrong."""
        self._is_over.set()
        if self._threads is not None:
            self._threads.shutdown()
        wrong, self._wrong = self._wrong, []
        return wrong

    def _come_and_go(self, numbers: random.Random) -> None:
        while not self._is_over.is_set():
            what = numbers.choice(
                (
                    self._look_up,
                    self._look_up,
                    self._push,
                    self._cancel,
                    self._leave,
                    self._be_hostile,
                    self._send_bytes,
                )
            )
            try:
                what(numbers)
                self.did[what.__name__] += 1
            except _LOST:
                time.sleep(0.3)
            except Exception as error:
                self._wrong.append(f"{what.__name__}: {error!r}")
                time.sleep(0.3)

    def _connect(self) -> psycopg.Connection[Any]:
        address = next(
            (
                match
                for line in self.run.server.lines
                if (match := re.search(r"postgresql://([\d.]+):(\d+)", line))
            ),
            None,
        )
        if address is None or not self.run.server.url:
            raise OSError("no server is there")
        text = f"host={address[1]} port={address[2]} user=me dbname=ksql connect_timeout=20"
        return psycopg.connect(text, autocommit=True)

    def _look_up(self, numbers: random.Random) -> None:
        key = numbers.choice(KEYS)
        with self._connect() as connection:
            for _ in range(numbers.randrange(1, 20)):
                rows = connection.execute(f"SELECT k, n FROM sums{self.n} WHERE k = %s", (key,)).fetchall()
                if len(rows) > 1 or any(
                    row[0] != key or not 0 < row[1] <= 2 * self.scene.sent + 1000 for row in rows
                ):
                    self._wrong.append(f"look-up of {key}: {rows}")

    def _push(self, numbers: random.Random) -> None:
        with self._connect() as connection:
            connection.execute("SET 'auto.offset.reset' = 'earliest'")
            connection.execute("BEGIN")
            connection.execute(f"DECLARE c CURSOR FOR SELECT id, w FROM copy{self.n} EMIT CHANGES")
            for _ in range(numbers.randrange(1, 4)):
                for number, w in connection.execute("FETCH 50 FROM c WITH (timeout = '1s')").fetchall():
                    if w != number % 10 * 2:
                        self._wrong.append(f"pushed {number}, {w}")

    def _cancel(self, numbers: random.Random) -> None:
        with self._connect() as connection:
            is_over = threading.Event()

            def cancel() -> None:
                # more than once: a request that comes before the statement cancels nothing
                pause_s = numbers.uniform(0.0, 1.0)
                while not is_over.wait(pause_s):
                    connection.cancel()
                    pause_s = 0.5

            cancelling = threading.Thread(target=cancel)
            cancelling.start()
            try:
                for _ in connection.cursor().stream(f"SELECT id FROM s{self.n} EMIT CHANGES"):
                    pass
            except psycopg.errors.QueryCanceled:
                pass
            finally:
                is_over.set()
                cancelling.join()
            connection.execute("SHOW QUERIES")

    def _leave(self, numbers: random.Random) -> None:
        connection = self._connect()
        connection.pgconn.send_query(
            f"SELECT k, COUNT(*) AS n FROM s{self.n} GROUP BY k EMIT CHANGES".encode()
        )
        time.sleep(numbers.uniform(0.0, 1.0))
        with socket.socket(fileno=os.dup(connection.pgconn.socket)) as sock:
            if numbers.random() < 0.5:
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            else:
                sock.shutdown(socket.SHUT_RDWR)
        connection.close()

    def _be_hostile(self, numbers: random.Random) -> None:
        with self._connect() as connection:
            for text in numbers.sample(_HOSTILE, 5):
                cursor = psycopg.ClientCursor(connection)
                try:
                    cursor.execute(text.replace("{n}", str(self.n)).encode())
                except _LOST as error:
                    if error.sqlstate is None:  # type: ignore[union-attr]
                        raise
                except psycopg.Error as error:
                    if error.sqlstate in (None, "XX000"):
                        self._wrong.append(f"{text[:60]}: {error!r}")

    def _send_bytes(self, numbers: random.Random) -> None:
        connection = self._connect()
        with socket.socket(fileno=os.dup(connection.pgconn.socket)) as sock:
            length = numbers.choice((0, 3, 4, 100, 1 << 30, 0xFFFFFFFF))
            sock.sendall(
                numbers.choice(b"QPBEDCSHXdcfp\xff").to_bytes()
                + struct.pack(">I", length)
                + numbers.randbytes(200)
            )
            sock.settimeout(numbers.uniform(0.0, 0.5) + 0.01)
            with contextlib.suppress(TimeoutError):
                sock.recv(1000)
        connection.close()

    def compare(self, difference: Difference) -> None:
        """What they were told is known when they end."""


#: by the name of the fault that is aimed at it
ACTIVITIES: Mapping[str, type[Activity]] = {
    "table_evolves": Evolving, "rolled_back": RollingBack, "changed_in_place": InPlace,
    "stream_evolves": KeptStream, "dropped": Dropping, "branched": Branching, "sinks_commit": Sinks,
    "sinks_compacted": Compacting, "archived": Archiving, "postgres_clients": PostgresClients,
}  # fmt: skip

__all__ = ["ACTIVITIES", "Activity", "PostgresClients"]
