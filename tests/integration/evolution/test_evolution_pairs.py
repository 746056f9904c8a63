"""Generated pairs of versions: after the swap a table is what the new version makes of the whole input alone,
and after a change in place what the old version has made of the first half and the new one of the second.

``PAIRS=100 pytest tests/integration/evolution/test_evolution_pairs.py -m long`` tries that many.
"""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from ksql_spark.engine import Engine, Request
from ksql_spark.kafka.consumer import TopicReader
from ksql_spark.kafka.producer import RecordProducer
from ksql_spark.runtime.queries import differences
from tests.waiting import until

pytestmark = [pytest.mark.kafka, pytest.mark.long]

PREFIX = "pairs_"
PAIRS = int(os.environ.get("PAIRS", "8"))
#: so many evolve at the same time
AT_ONCE = 4
SOURCES = f"""
CREATE STREAM events (who STRING KEY, n BIGINT, name STRING)
  WITH (KAFKA_TOPIC = '{PREFIX}events', VALUE_FORMAT = 'JSON', PARTITIONS = 2);
CREATE TABLE latest (who STRING PRIMARY KEY, n BIGINT, name STRING)
  WITH (KAFKA_TOPIC = '{PREFIX}events', VALUE_FORMAT = 'JSON');
CREATE TABLE people (who STRING PRIMARY KEY, city STRING, age INT)
  WITH (KAFKA_TOPIC = '{PREFIX}people', VALUE_FORMAT = 'JSON', PARTITIONS = 2);
"""
FIRST_MS = 1_700_000_000_000
SETTINGS = {"ksql.checkpoint.interval.ms": "5000"}
EARLIEST = {"auto.offset.reset": "earliest"}

AGGREGATES = (
    "COUNT(*)", "SUM(n)", "MIN(n)", "MAX(n)", "AVG(n)", "LATEST_BY_OFFSET(n)", "EARLIEST_BY_OFFSET(name)",
    "COLLECT_SET(name)", "COUNT_DISTINCT(name)", "TOPK(n, 3)", "MAX(n) - MIN(n)", "SUM(n * 2) + 1",
)  # fmt: skip
FILTERS = (
    "", "WHERE n % 3 > 0", "WHERE n > 200", "WHERE name LIKE 'b%'", "WHERE n BETWEEN 10 AND 495",
    "WHERE name IS NOT NULL",
)  # fmt: skip
HAVING = ("", "", "HAVING COUNT(*) > 5", "HAVING SUM(n) % 5 > 1")
#: what two versions may have in turn: the bounds that a key has stay the same
WINDOWS = (
    ("",),
    ("WINDOW TUMBLING (SIZE 10 SECONDS)", "WINDOW TUMBLING (SIZE 20 SECONDS)",
     "WINDOW HOPPING (SIZE 20 SECONDS, ADVANCE BY 5 SECONDS)"),
    ("WINDOW SESSION (2 SECONDS)", "WINDOW SESSION (9 SECONDS)"),
)  # fmt: skip


#: of a table's row, and of two that are joined
COLUMNS = ("n", "n * 2", "UCASE(name)", "COALESCE(name, '?')", "CASE WHEN n > 300 THEN 'b' ELSE name END")
JOINED = ("city", "age", "age + n", "CONCAT(city, name)", "IFNULL(city, 'nowhere')")


def pair(chance: random.Random) -> tuple[str, str]:
    """The SELECTs of two versions of a table."""
    windows = chance.choice(WINDOWS)
    return version(chance, windows), version(chance, windows)


def version(chance: random.Random, windows: tuple[str, ...]) -> str:
    """A SELECT with one of these windows: an aggregate, a projection, or either of a join."""
    is_joined, is_aggregate = chance.random() < 0.3, windows != ("",) or chance.random() < 0.6
    calls = (*AGGREGATES, "MAX(age)", "LATEST_BY_OFFSET(city)") if is_joined else AGGREGATES
    offered = calls if is_aggregate else COLUMNS + JOINED * is_joined
    columns = [f"{call} AS a{i}" for i, call in enumerate(chance.sample(offered, chance.randint(1, 4)))]
    left, where = "events" if is_aggregate else "latest", chance.choice(FILTERS)
    key, source = "who", left
    if is_joined:
        key, source = "l.who", f"{left} l {chance.choice(('', 'LEFT '))}JOIN people p ON l.who = p.who"
    if not is_aggregate:
        return f"SELECT {', '.join([f'{key} AS who', *columns])} FROM {source} {where} EMIT CHANGES;"
    # rows that come late for a closed window would depend on how far the tasks are
    window = chance.choice(windows).replace(")", ", GRACE PERIOD 1 DAY)")
    return (
        f"SELECT {', '.join([f'{key} AS who', *columns])} FROM {source} {window} {where} GROUP BY {key}"
        f" {chance.choice(HAVING)} EMIT CHANGES;"
    )


def send_people(servers: str) -> None:
    """Before all events, so that joins of streams do not depend on how far the tasks are."""
    producer = RecordProducer(servers, linger_ms=5)
    for n in range(5):
        value = b'{"CITY": "c%d", "AGE": %d}' % (n % 3, 20 + n)
        producer.send_async(f"{PREFIX}people", b"p%d" % n, value, FIRST_MS - 1000)
    producer.flush()
    producer.close()


def send(servers: str, first: int, count: int) -> None:
    producer = RecordProducer(servers, linger_ms=5)
    for n in range(first, first + count):
        name = b"null" if n % 11 == 0 else b'"%s"' % (b"abc"[n % 3 : n % 3 + 1] * (1 + n % 2))
        value = b'{"N": %d, "NAME": %s}' % (n, name)
        # pauses, so that there are several sessions
        time_ms = FIRST_MS + n * 100 + n // 50 * 5000
        producer.send_async(f"{PREFIX}events", b"p%d" % (n % 7), value, time_ms)
    producer.flush()
    producer.close()


class Server:
    """An engine that may be killed and started again, and what its tables hold."""

    def __init__(self, make_engine: Callable[..., Engine], **settings: str) -> None:
        self._make, self._settings = make_engine, SETTINGS | settings
        self.start()

    def start(self) -> None:
        self.engine = self._make(**self._settings)
        self.admin = self.engine.services.admin

    def restart(self, is_killed: bool) -> None:
        if is_killed:
            self.engine.services.queries.fence("It is killed.")
        self.engine.stop()
        self.start()

    def run(self, text: str) -> Any:
        return self.engine.execute(Request(text, EARLIEST))[-1]

    def until_all_is_read(self) -> None:
        """Wait until each query has committed all that there is."""
        queries = self.engine.services.queries

        def are_done() -> bool:
            return all(
                queries.checkpoints.has_reached(query, number, self.admin.committed_ends(*stage.topics))
                for query in queries.all()
                for number, stage in enumerate(query.plan.stages)
            )

        until(are_done, lambda: [(query.id, query.why_failed) for query in queries.all()])


#: of an evolution, in their order
STATES = ("backfilling", "caught up", "swapping", "swapped")


@pytest.mark.parametrize("first", range(0, PAIRS, AT_ONCE))
def test_pairs(make_engine: Callable[..., Engine], first: int) -> None:
    """Tables evolve while records come; the engines of every second test are killed meanwhile."""
    server, chance = Server(make_engine), random.Random(first)
    pairs = {f"X{n}": pair(random.Random(n)) for n in range(first, min(first + AT_ONCE, PAIRS))}

    def rows(table: str) -> dict[differences.Place, bytes | None]:
        found = differences.rows(server.admin, f"{PREFIX}{table}")
        return {place: record.value for place, record in found.items()}

    def has_come_to(table: str, state: str) -> bool:
        return STATES.index(server.run(f"DESCRIBE EVOLUTION {table};").state) >= STATES.index(state)

    server.run(SOURCES)
    send_people(server.admin.servers)
    send(server.admin.servers, 0, 300)
    for table, (old, _) in pairs.items():
        server.run(f"CREATE TABLE {table} AS {old}")
    server.until_all_is_read()
    for table, (_, new) in pairs.items():
        server.run(f"CREATE OR REPLACE TABLE {table} WITH (EVOLVE = 'backfill') AS {new}")
    send(server.admin.servers, 300, 100)
    if first // AT_ONCE % 2:
        moment = chance.choice(list(pairs)), chance.choice(STATES)
        until(lambda: has_come_to(*moment), moment.__str__)
        server.restart(is_killed=True)
    for table, versions in pairs.items():
        until(lambda table=table: has_come_to(table, "swapped"), versions.__str__)
    send(server.admin.servers, 400, 100)
    for table, (_, new) in pairs.items():
        server.run(f"CREATE TABLE {table}_ALONE AS {new}")
    server.until_all_is_read()
    for table, versions in pairs.items():
        until(
            lambda table=table: rows(table) == rows(f"{table}_ALONE") != {},
            lambda table=table, versions=versions: (versions, rows(table), rows(f"{table}_ALONE")),
        )


# ---- in place -----------------------------------------------------------------------------------------

#: an event: its number, and its name
Event = tuple[int, str | None]
#: aggregates of a group's events
CALLS: Mapping[str, Callable[[list[Event]], object]] = {
    "COUNT(*)": len,
    "SUM(n)": lambda events: sum(n for n, _ in events) if events else None,
    "MIN(n)": lambda events: min((n for n, _ in events), default=None),
    "MAX(name)": lambda events: max((name for _, name in events if name is not None), default=None),
    "AVG(n)": lambda events: sum(n for n, _ in events) / len(events) if events else None,
    "COUNT_DISTINCT(name)": lambda events: len({name for _, name in events if name is not None}),
    "LATEST_BY_OFFSET(n)": lambda events: events[-1][0] if events else None,
    "COLLECT_LIST(n)": lambda events: [n for n, _ in events],
}
PROJECTED: Mapping[str, Callable[[Event], object]] = {
    "n": lambda event: event[0],
    "n * 2": lambda event: event[0] * 2,
    "UCASE(name)": lambda event: event[1] and event[1].upper(),
    "COALESCE(name, '?')": lambda event: event[1] or "?",
}
WHERE: Mapping[str, Callable[[Event], bool]] = {
    "": lambda event: True,
    "WHERE n % 3 > 0": lambda event: event[0] % 3 > 0,
    "WHERE n > 200": lambda event: event[0] > 200,
    "WHERE name IS NOT NULL": lambda event: event[1] is not None,
}
WINDOW_MS = 10_000
HALF = 300
#: of a row: its key, and the start of its window
Group = tuple[str, int]


@dataclass(frozen=True)
class Version:
    """One version: columns by name, and its other clauses."""

    columns: Mapping[str, str]
    where: str
    having: int | None

    def text(self, window: str, is_table: bool) -> str:
        columns = ", ".join(["who", *(f"{call} AS {name}" for name, call in self.columns.items())])
        if not is_table:
            return f"SELECT {columns} FROM events {self.where} EMIT CHANGES;"
        having = "" if self.having is None else f"HAVING COUNT(*) > {self.having}"
        return f"SELECT {columns} FROM events {window} {self.where} GROUP BY who {having} EMIT CHANGES;"


def pair_in_place(chance: random.Random, is_table: bool) -> tuple[Version, Version]:
    """Columns are dropped, renamed, reordered and appended; the filters change."""
    calls = list(CALLS if is_table else PROJECTED)
    chance.shuffle(calls)
    first, appended = calls[: len(calls) // 2], calls[len(calls) // 2 :]
    having = chance.choice((None, None, 4)) if is_table else None
    old = Version({f"a{calls.index(call)}": call for call in first}, chance.choice(list(WHERE)), having)
    columns = {}
    for call in chance.sample(first, chance.randint(1, len(first))):
        columns[f"{chance.choice('ar')}{calls.index(call)}"] = call
    for call in chance.sample(appended, chance.randint(0, len(appended))):
        columns[f"b{calls.index(call)}"] = call
    names = chance.sample(list(columns), len(columns))
    having = chance.choice((None, 4)) if is_table else None
    return old, Version({name: columns[name] for name in names}, chance.choice(list(WHERE)), having)


def event(n: int) -> Event:
    """As ``send`` sends it."""
    return n, None if n % 11 == 0 else "abc"[n % 3] * (1 + n % 2)


def group(n: int, has_window: bool) -> Group:
    return f"p{n % 7}", (FIRST_MS + n * 100 + n // 50 * 5000) // WINDOW_MS * WINDOW_MS if has_window else 0


def table_of(old: Version, new: Version, has_window: bool, count: int) -> dict[Group, dict[str, object]]:
    """The rows after so many events, of which the new version has had those of the second half."""
    rows: dict[Group, dict[str, object]] = {}
    state: dict[Group, list[Event]] = {}
    since: dict[Group, list[Event]] = {}
    known = {*old.columns.values(), *(() if old.having is None else ("COUNT(*)",))}
    for n in range(count):
        version, place = (old if n < HALF else new), group(n, has_window)
        if not WHERE[version.where](event(n)):
            continue
        state.setdefault(place, []).append(event(n))
        if n >= HALF:
            since.setdefault(place, []).append(event(n))

        def value(call: str) -> object:
            return CALLS[call]((state if call in known else since).get(place, []))  # noqa: B023

        rows.pop(place, None)
        if version.having is None or int(str(value("COUNT(*)"))) > version.having:
            rows[place] = {name.upper(): value(call) for name, call in version.columns.items()}
    return rows


def stream_of(old: Version, new: Version, count: int) -> list[str]:
    """The rows that both versions make of so many events, as sorted lines of JSON."""
    found = []
    for n in range(count):
        version = old if n < HALF else new
        if WHERE[version.where](event(n)):
            row = {name.upper(): PROJECTED[call](event(n)) for name, call in version.columns.items()}
            found.append(json.dumps(row, sort_keys=True))
    return sorted(found)


@pytest.mark.parametrize("first", range(0, PAIRS, AT_ONCE))
def test_pairs_in_place(make_engine: Callable[..., Engine], first: int) -> None:
    """Tables with and without windows, and streams, in real time and in micro-batches, over a restart."""
    server = Server(
        make_engine, **{"processing.guarantee": ("at_least_once", "exactly_once_v2")[first // AT_ONCE % 2]}
    )
    # tables, tables with windows, streams
    kinds = {f"Y{n}": n % 3 for n in range(first, min(first + AT_ONCE, PAIRS))}
    versions = {sink: pair_in_place(random.Random(sink), kind < 2) for sink, kind in kinds.items()}

    def text(sink: str, which: int) -> str:
        window = "WINDOW TUMBLING (SIZE 10 SECONDS, GRACE PERIOD 1 DAY)" if kinds[sink] == 1 else ""
        return versions[sink][which].text(window, kinds[sink] < 2)

    def rows(sink: str, has_window: bool) -> dict[Group, dict[str, object]]:
        found = {}
        for (_, key), record in differences.rows(server.admin, f"{PREFIX}{sink}").items():
            assert key is not None and record.value is not None
            place = (key[:-8].decode(), int.from_bytes(key[-8:])) if has_window else (key.decode(), 0)
            found[place] = json.loads(record.value)
        return found

    def written(sink: str) -> list[str]:
        with TopicReader(server.admin.servers, f"{PREFIX}{sink}") as reader:
            values = [record.value for records in reader.read_to_end() for record in records]
        return sorted(json.dumps(json.loads(value), sort_keys=True) for value in values if value is not None)

    def compared(sink: str, count: int) -> tuple[object, object]:
        """What there is, and what there should be."""
        if kinds[sink] < 2:
            return rows(sink, kinds[sink] == 1), table_of(*versions[sink], kinds[sink] == 1, count)
        return written(sink), stream_of(*versions[sink], count)

    def all_are_so(count: int) -> None:
        server.until_all_is_read()
        for sink in kinds:
            until(
                lambda sink=sink: (found := compared(sink, count))[0] == found[1],
                lambda sink=sink: (versions[sink], *compared(sink, count)),
            )

    server.run(SOURCES)
    send(server.admin.servers, 0, HALF)
    for sink, kind in kinds.items():
        server.run(f"CREATE {'TABLE' if kind < 2 else 'STREAM'} {sink} AS {text(sink, 0)}")
    all_are_so(HALF)
    for sink, kind in kinds.items():
        name = f"{'TABLE' if kind < 2 else 'STREAM'} {sink} WITH (EVOLVE = 'in-place')"
        server.run(f"CREATE OR REPLACE {name} AS {text(sink, 1)}")
    send(server.admin.servers, HALF, 100)
    server.restart(is_killed=False)
    send(server.admin.servers, HALF + 100, HALF - 100)
    all_are_so(2 * HALF)
