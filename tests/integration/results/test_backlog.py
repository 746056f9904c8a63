"""Queries over a backlog give what Kafka Streams would: all records, in the order of their times.

An hour of events waits in topics of 1, 4 and 12 partitions before a query is created; what comes out is
compared with kafka_streams_model.py, record by record. Nothing may be missing, nothing may be there twice.
Times are those of the records or, in the backlog "with a column", those of a column that TIMESTAMP names.

Two kinds of queries have results that no order of reading determines, and are compared by what is there in
the end: joins on a foreign key, and groups by a value of several partitions. There the grace period is longer
than the backlog, since a partition that is read ahead of the others moves stream time for all.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from ksql_spark.engine import Engine, Request
from ksql_spark.entities.commands import CommandStatusEntity
from ksql_spark.kafka.consumer import Record, TopicReader
from ksql_spark.kafka.producer import RecordProducer
from tests.integration.results import kafka_streams_model as model
from tests.integration.results.comparing import BEGAN_MS, HOUR_MS, Sink, same_changes, same_rows
from tests.integration.results.kafka_streams_model import Changes, Event, Topic

pytestmark = pytest.mark.kafka

WITHIN_MS = 30_000
SIZE_MS = 300_000
GRACE_MS = 60_000
LONG_GRACE_MS = 2 * HOUR_MS
GAP_MS = 15_000
#: records of a source; one key comes every 72 s
ROWS = 2_000
#: of a source whose queries are interrupted: not all done in an instant
MANY_ROWS = 20_000
#: of a source whose times are in a column
TIMED_ROWS = 10_000
KEYS = 40
REFERENCES = 20
#: a record comes at most so long after one with a later time, unless it is one of those that are too late
DISORDER_MS = 3_000
#: all records of a topic whose times are in a column were written at this one, which means nothing
WRITTEN_MS = BEGAN_MS + 10 * HOUR_MS
#: how many keys the last records of a stream have; they reach every partition
LAST_KEYS = 100
#: topics by the letter that stands for them in STATEMENTS
TOPICS = ("l", "r", "t", "u", "v", "a")
SOURCES = """
CREATE STREAM l{x} (k STRING KEY, n INT) WITH (KAFKA_TOPIC = 'l{x}', VALUE_FORMAT = 'JSON');
CREATE STREAM r{x} (k STRING KEY, n INT) WITH (KAFKA_TOPIC = 'r{x}', VALUE_FORMAT = 'JSON');
CREATE TABLE t{x} (k STRING PRIMARY KEY, n INT, v STRING) WITH (KAFKA_TOPIC = 't{x}', VALUE_FORMAT = 'JSON');
CREATE TABLE u{x} (k STRING PRIMARY KEY, n INT) WITH (KAFKA_TOPIC = 'u{x}', VALUE_FORMAT = 'JSON');
CREATE TABLE v{x} (k STRING PRIMARY KEY, n INT) WITH (KAFKA_TOPIC = 'v{x}', VALUE_FORMAT = 'JSON');
CREATE STREAM a{x} (k STRING KEY, n INT, g STRING) WITH (KAFKA_TOPIC = 'a{x}', VALUE_FORMAT = 'JSON');
"""
AS_STREAM = "CREATE STREAM {sink} WITH (KAFKA_TOPIC = '{sink}', VALUE_FORMAT = 'JSON') AS SELECT "
AS_TABLE = "CREATE TABLE {sink} WITH (KAFKA_TOPIC = '{sink}', VALUE_FORMAT = 'JSON') AS SELECT "
WITHIN = "WITHIN 30 SECONDS GRACE PERIOD 20 SECONDS ON l.k = r.k"
TUMBLING = (
    "COUNT(*) AS c, SUM(n) AS s FROM a{x} WINDOW TUMBLING (SIZE 5 MINUTES, RETENTION 1 DAY, GRACE PERIOD "
)
SESSION = "COUNT(*) AS c FROM a{x} WINDOW SESSION (15 SECONDS, RETENTION 1 DAY, GRACE PERIOD "
STREAM_STREAM = {
    "INNER": AS_STREAM + f"l.k AS k, l.n AS l, r.n AS r FROM l{{x}} l JOIN r{{x}} r {WITHIN} EMIT CHANGES;",
    "LEFT": AS_STREAM
    + f"l.k AS k, l.n AS l, r.n AS r FROM l{{x}} l LEFT JOIN r{{x}} r {WITHIN} EMIT CHANGES;",
    "FULL": AS_STREAM
    + f"ROWKEY AS k, l.n AS l, r.n AS r FROM l{{x}} l FULL JOIN r{{x}} r {WITHIN} EMIT CHANGES;",
}
STREAM_TABLE = {
    kind: AS_STREAM
    + f"l.k AS k, l.n AS l, t.n AS r FROM l{{x}} l {kind} JOIN t{{x}} t ON l.k = t.k EMIT CHANGES;"
    for kind in ("INNER", "LEFT")
}
TABLE_TABLE = (
    AS_TABLE + "ROWKEY AS k, t.n AS t, u.n AS u FROM t{x} t FULL JOIN u{x} u ON t.k = u.k EMIT CHANGES;"
)


FIRST_ROWS = AS_STREAM + "DISTINCT ON (k) k, n FROM %s{x} WITHIN 30 SECONDS WHERE k IS NOT NULL EMIT CHANGES;"


@dataclass(frozen=True)
class Backlog:
    """Topics with records, declared as sources: ``x`` is what follows the letter in each name."""

    x: str
    topics: Mapping[str, Topic]

    @property
    def partitions(self) -> int:
        """Of each topic."""
        return 1 + max(event.partition for event in self.topics["l"])


# ---- the backlog -------------------------------------------------------------------------------------


def events(rows: int) -> dict[str, list[tuple[int, str, dict[str, Any] | None]]]:
    """(time, key, value) of the records of each topic, in the order in which they are written."""
    rng = random.Random(rows)
    keys = [f"k{i}" for i in range(KEYS * rows // ROWS)]
    references = [f"v{i}" for i in range(REFERENCES)]
    times = iter(rng.sample(range(HOUR_MS), 5 * rows + rows // 4))

    def took_place(count: int) -> list[int]:
        return sorted(BEGAN_MS + next(times) for _ in range(count))

    def late(at_ms: int) -> float:
        """When a record of this time is written."""
        return at_ms + rng.uniform(0, DISORDER_MS)

    made: dict[str, list[tuple[int, str, dict[str, Any] | None]]] = {}
    for topic in ("l", "r"):
        made[topic] = [
            (at_ms, rng.choice(keys), {"n": n}) for n, at_ms in enumerate(sorted(took_place(rows), key=late))
        ]
    for topic in ("t", "u"):
        made[topic] = [
            (
                at_ms,
                rng.choice(keys),
                {"n": n, "v": rng.choice(references)} if rng.random() > 0.1 else None,
            )
            for n, at_ms in enumerate(took_place(rows))
        ]
    made["v"] = [
        (at_ms, rng.choice([*references, *keys]), {"n": n} if rng.random() > 0.1 else None)
        for n, at_ms in enumerate(took_place(rows // 4))
    ]

    def very_late(at_ms: int) -> float:
        return at_ms + (rng.uniform(5, 10) * 60_000 if rng.random() < 0.05 else rng.uniform(0, DISORDER_MS))

    made["a"] = [
        (at_ms, rng.choice(keys), {"n": n, "g": f"g{rng.randrange(REFERENCES)}"})
        for n, at_ms in enumerate(sorted(took_place(rows), key=very_late))
    ]
    # long after all others, on both sides: what has found no match by now leaves
    for side, topic in enumerate(("l", "r")):
        made[topic] += [
            (BEGAN_MS + 2 * HOUR_MS + 2 * i + side, f"last{i}", {"n": -i}) for i in range(LAST_KEYS)
        ]
    return made


def produced(engine: Engine, x: str, partitions: int, rows: int, *, in_column: bool = False) -> Backlog:
    """Topics with their records, and sources over them; ``in_column``: their times are in a column."""
    admin = engine.services.admin
    producer = RecordProducer(admin.servers, linger_ms=5)
    made = events(rows)
    for topic, records in made.items():
        admin.create_topic(topic + x, partitions, config={"retention.ms": "-1"})
        for at_ms, key, value in records:
            is_told = in_column and value is not None  # a deletion has no columns
            body = None if value is None else json.dumps({**value, "ts": at_ms} if is_told else value)
            producer.send_async(
                topic + x, key.encode(), body and body.encode(), WRITTEN_MS if is_told else at_ms
            )
    producer.close()
    sources = SOURCES.format(x=x)
    if in_column:
        sources = sources.replace("n INT", "n INT, ts BIGINT").replace(" WITH (", " WITH (TIMESTAMP = 'ts', ")
    engine.execute(Request(sources))
    found = {}
    for topic in made:
        with TopicReader(admin.servers, topic + x) as reader:
            found[topic] = [event(record) for batch in reader.read_to_end() for record in batch]
        found[topic].sort(key=lambda e: e.partition)  # a stable sort: by offset in each
    assert model.covered([found["l"], found["r"]], partitions)
    return Backlog(x, found)


def event(record: Record) -> Event:
    assert record.key is not None
    value = None if record.value is None else json.loads(record.value)
    at_ms = record.timestamp_ms if value is None else value.pop("ts", record.timestamp_ms)
    return Event(record.partition, at_ms, record.key.decode(), value)


def removed(engine: Engine, backlog: Backlog) -> None:
    for letter in backlog.topics:
        kind = "TABLE" if letter in "tuv" else "STREAM"
        engine.execute(Request(f"DROP {kind} {letter}{backlog.x};"))
    engine.services.admin.delete_topics(letter + backlog.x for letter in backlog.topics)


#: make test-long tries the least and the most
PARTITIONS = [
    pytest.param(1, id="one", marks=pytest.mark.long),
    pytest.param(4, id="four"),
    pytest.param(12, id="twelve", marks=pytest.mark.long),
]


@pytest.fixture(scope="module", params=PARTITIONS)
def backlog(request: pytest.FixtureRequest, engine: Engine) -> Iterator[Backlog]:
    made = produced(engine, f"_backlog_{request.param}", request.param, ROWS)
    yield made
    removed(engine, made)


@pytest.fixture(scope="module")
def long_backlog(engine: Engine) -> Iterator[Backlog]:
    made = produced(engine, "_long_backlog", 4, MANY_ROWS)
    yield made
    removed(engine, made)


@pytest.fixture(scope="module", params=PARTITIONS)
def backlog_with_a_column(request: pytest.FixtureRequest, engine: Engine) -> Iterator[Backlog]:
    made = produced(engine, f"_timed_backlog_{request.param}", request.param, TIMED_ROWS, in_column=True)
    yield made
    removed(engine, made)


# ---- queries -----------------------------------------------------------------------------------------


class Running:
    """A query that was created; a context that drops it and its sink."""

    def __init__(self, engine: Engine, statement: str, backlog: Backlog, **properties: str) -> None:
        self._engine = engine
        self._kind = statement.split()[1]
        self._name = f"sink{backlog.x}"
        text = statement.format(sink=self._name, x=backlog.x)
        request = Request(text, {"auto.offset.reset": "earliest", **properties})
        (answer,) = engine.execute(request)
        assert isinstance(answer, CommandStatusEntity) and answer.command_status.query_id is not None
        self.id: str = answer.command_status.query_id
        self.sink = Sink(engine.services.admin.servers, self._name)

    def __enter__(self) -> Running:
        return self

    def __exit__(self, *_: object) -> None:
        self._engine.execute(Request(f"DROP {self._kind} {self._name} DELETE TOPIC;"))

    def end(self) -> Sink:
        """Let it finish what it has read; the sink with all that there will be."""
        self._engine.execute(Request(f"TERMINATE {self.id};"))
        self.sink.close()
        return self.sink


def check_rows(
    engine: Engine, backlog: Backlog, statement: str, rows: Sequence[tuple[Any, ...]], **properties: str
) -> None:
    """The query writes these rows to a stream, in any order."""
    with Running(engine, statement, backlog, **properties) as query:
        query.sink.wait(lambda sink: len(sink.records) >= len(rows))
        same_rows(query.end().rows(), Counter(rows))


def check_changes(
    engine: Engine, backlog: Backlog, statement: str, changes: Changes, bounds: str = ""
) -> None:
    """The query writes these changes to a table, those of a key in their order."""
    count = sum(map(len, changes.values()))
    with Running(engine, statement, backlog) as query:
        query.sink.wait(lambda sink: len(sink.records) >= count)
        same_changes(query.end().changes(bounds), changes)


def check_table(engine: Engine, backlog: Backlog, statement: str, rows: Changes, bounds: str = "") -> None:
    """The query makes a table that is so in the end."""
    with Running(engine, statement, backlog) as query:
        query.sink.wait(lambda sink: model.folded(sink.changes(bounds)) == rows)
        same_changes(model.folded(query.end().changes(bounds)), rows)


# FULL has the rows of the others, as LEFT has those of INNER
@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=pytest.mark.long if kind != "FULL" else ()) for kind in STREAM_STREAM]
)
def test_stream_with_stream(engine: Engine, backlog: Backlog, kind: str) -> None:
    rows = model.stream_stream(backlog.topics["l"], backlog.topics["r"], WITHIN_MS, kind)
    check_rows(engine, backlog, STREAM_STREAM[kind], rows)


@pytest.mark.parametrize("kind", [pytest.param("INNER", marks=pytest.mark.long), "LEFT"])
def test_stream_with_the_table_of_that_time(engine: Engine, backlog: Backlog, kind: str) -> None:
    rows = model.stream_table(backlog.topics["l"], backlog.topics["t"], kind)
    check_rows(engine, backlog, STREAM_TABLE[kind], rows)


def test_first_rows_by_key(engine: Engine, backlog: Backlog) -> None:
    rows = model.first_rows(backlog.topics["a"], WITHIN_MS)
    assert len({key for _, key, _ in rows}) < len(rows) < ROWS
    check_rows(engine, backlog, FIRST_ROWS % "a", rows)


def test_first_rows_by_a_value(engine: Engine, backlog: Backlog) -> None:
    statement = AS_STREAM + "DISTINCT ON (g) k, g, n FROM a{x} EMIT CHANGES;"
    given = {(e.time, e.key, e.get("g"), e.get("n")) for e in backlog.topics["a"]}
    with Running(engine, statement, backlog) as query:
        query.sink.wait(lambda sink: len(sink.records) >= REFERENCES)
        found = query.end().rows()
    assert set(found) <= given
    assert sorted(g for _, _, g, _ in found.elements()) == sorted({g for _, _, g, _ in given})


def test_table_with_table(engine: Engine, backlog: Backlog) -> None:
    check_changes(engine, backlog, TABLE_TABLE, model.table_table(backlog.topics["t"], backlog.topics["u"]))


def test_tables_by_a_foreign_key(engine: Engine, backlog: Backlog) -> None:
    statement = (
        AS_TABLE + "t.k AS k, t.n AS n, v.n AS v FROM t{x} t LEFT JOIN v{x} v ON t.v = v.k EMIT CHANGES;"
    )
    right = model.last(backlog.topics["v"])
    rows: Changes = {
        key: [[row["n"], right.get(row["v"], {"n": None})["n"]]]
        for key, row in model.last(backlog.topics["t"]).items()
    }
    check_table(engine, backlog, statement, rows)


@pytest.mark.parametrize(
    "linger_ms", [pytest.param("0", id="at_once", marks=pytest.mark.long), pytest.param("1000", id="later")]
)
def test_two_streams_and_the_table_of_that_time(engine: Engine, backlog: Backlog, linger_ms: str) -> None:
    # results of the first join may take any time until they are in the topic between the two
    statement = (
        AS_STREAM
        + f"l.k AS k, l.n AS l, r.n AS r, t.n AS t FROM l{{x}} l JOIN r{{x}} r {WITHIN}"
        + " LEFT JOIN t{x} t ON l.k = t.k EMIT CHANGES;"
    )
    topics = backlog.topics
    rows = model.stream_stream_table(topics["l"], topics["r"], topics["t"], WITHIN_MS)
    check_rows(engine, backlog, statement, rows, **{"ksql.sink.linger.ms": linger_ms})


def test_a_topic_with_itself_and_the_table_of_that_time(engine: Engine, backlog: Backlog) -> None:
    # the first join runs in micro-batches, since it reads a topic twice, the second one in real time
    again = f"CREATE STREAM again{backlog.x} (k STRING KEY, n INT)"
    engine.execute(Request(f"{again} WITH (KAFKA_TOPIC = 'l{backlog.x}', VALUE_FORMAT = 'JSON');"))
    statement = (
        AS_STREAM
        + f"l.k AS k, l.n AS l, r.n AS r, t.n AS t FROM l{{x}} l JOIN again{{x}} r {WITHIN}"
        + " LEFT JOIN t{x} t ON l.k = t.k EMIT CHANGES;"
    )
    left, table = backlog.topics["l"], backlog.topics["t"]
    rows = model.stream_stream_table(left, left, table, WITHIN_MS)
    try:
        check_rows(engine, backlog, statement, rows)
    finally:
        engine.execute(Request(f"DROP STREAM again{backlog.x};"))


def test_three_tables(engine: Engine, backlog: Backlog) -> None:
    statement = (
        AS_TABLE + "t.k AS k, t.n AS t, u.n AS u, v.n AS v FROM t{x} t LEFT JOIN u{x} u ON t.k = u.k"
        " LEFT JOIN v{x} v ON t.k = v.k EMIT CHANGES;"
    )
    left, *others = (model.last(backlog.topics[letter]) for letter in "tuv")
    rows: Changes = {
        key: [[row["n"], *(other.get(key, {"n": None})["n"] for other in others)]]
        for key, row in left.items()
    }
    check_table(engine, backlog, statement, rows)


def test_windows_by_key(engine: Engine, backlog: Backlog) -> None:
    statement = AS_TABLE + "k, " + TUMBLING + "1 MINUTE) GROUP BY k EMIT CHANGES;"
    changes = model.tumbling(backlog.topics["a"], None, SIZE_MS, GRACE_MS)
    accepted = sum(map(len, changes.values()))
    assert 0 < accepted < ROWS  # some are too late
    check_changes(engine, backlog, statement, changes, ">q")


def test_windows_by_a_value(engine: Engine, backlog: Backlog) -> None:
    if backlog.partitions == 1:
        statement = AS_TABLE + "g, " + TUMBLING + "1 MINUTE) GROUP BY g EMIT CHANGES;"
        changes = model.tumbling(backlog.topics["a"], "g", SIZE_MS, GRACE_MS)
        check_changes(engine, backlog, statement, changes, ">q")
    else:
        statement = AS_TABLE + "g, " + TUMBLING + "2 HOURS) GROUP BY g EMIT CHANGES;"
        rows = model.unordered_tumbling(backlog.topics["a"], "g", SIZE_MS)
        check_table(engine, backlog, statement, rows, ">q")


def test_sessions_by_key(engine: Engine, backlog: Backlog) -> None:
    statement = AS_TABLE + "k, " + SESSION + "1 MINUTE) GROUP BY k EMIT CHANGES;"
    changes = model.ends_first(model.sessions(backlog.topics["a"], None, GAP_MS, GRACE_MS))
    check_changes(engine, backlog, statement, changes, ">qq")


def test_sessions_by_a_value(engine: Engine, backlog: Backlog) -> None:
    if backlog.partitions == 1:
        statement = AS_TABLE + "g, " + SESSION + "1 MINUTE) GROUP BY g EMIT CHANGES;"
        changes = model.ends_first(model.sessions(backlog.topics["a"], "g", GAP_MS, GRACE_MS))
        check_changes(engine, backlog, statement, changes, ">qq")
    else:
        statement = AS_TABLE + "g, " + SESSION + "2 HOURS) GROUP BY g EMIT CHANGES;"
        rows = model.ends_first(model.unordered_sessions(backlog.topics["a"], "g", GAP_MS))
        check_table(engine, backlog, statement, rows, ">qq")


# ---- interrupted -------------------------------------------------------------------------------------


def interrupt(engine: Engine, query: Running, count: int, verb: str) -> None:
    """Stop or kill a query twice while it works the backlog off, of which ``count`` records come."""
    queries = engine.services.queries
    for share in (0.1, 0.5):
        query.sink.wait(lambda sink: len(sink.records) >= share * count)  # noqa: B023 (called at once)
        if verb == "restart":
            queries.restart(query.id)
        else:
            killed = queries.find(query.id)
            assert killed is not None
            with killed.control:
                queries._runs.end(killed)
                queries.start(killed)


def check_interrupted(
    engine: Engine, backlog: Backlog, statement: str, rows: list[tuple[Any, ...]], verb: str
) -> None:
    """The query writes these rows to a stream, those that were repeated after a kill once more."""
    with Running(engine, statement, backlog) as query:
        interrupt(engine, query, len(rows), verb)
        query.sink.wait(lambda sink: len(sink.rows() if verb == "kill" else sink.records) >= len(rows))
        actual = query.end().rows()
    same_rows(Counter(set(actual)) if verb == "kill" else actual, Counter(rows))


def check_interrupted_table(
    engine: Engine, backlog: Backlog, statement: str, changes: Changes, verb: str
) -> None:
    """The query makes a table of these changes; after a kill some are repeated, and the table is the same."""
    count = sum(map(len, changes.values()))
    with Running(engine, statement, backlog) as query:
        interrupt(engine, query, count, verb)
        if verb == "kill":
            query.sink.wait(lambda sink: model.folded(sink.changes()) == model.folded(changes))
            same_changes(model.folded(query.end().changes()), model.folded(changes))
        else:
            query.sink.wait(lambda sink: len(sink.records) >= count)
            same_changes(query.end().changes(), changes)


@pytest.mark.parametrize("verb", [pytest.param("restart", marks=pytest.mark.long), "kill"])
def test_stream_with_stream_goes_on(engine: Engine, long_backlog: Backlog, verb: str) -> None:
    rows = model.stream_stream(long_backlog.topics["l"], long_backlog.topics["r"], WITHIN_MS, "LEFT")
    check_interrupted(engine, long_backlog, STREAM_STREAM["LEFT"], rows, verb)


@pytest.mark.parametrize("verb", [pytest.param("restart", marks=pytest.mark.long), "kill"])
def test_stream_with_table_goes_on(engine: Engine, long_backlog: Backlog, verb: str) -> None:
    rows = model.stream_table(long_backlog.topics["l"], long_backlog.topics["t"], "LEFT")
    check_interrupted(engine, long_backlog, STREAM_TABLE["LEFT"], rows, verb)


@pytest.mark.parametrize("verb", [pytest.param("restart", marks=pytest.mark.long), "kill"])
def test_first_rows_go_on(engine: Engine, long_backlog: Backlog, verb: str) -> None:
    rows = model.first_rows(long_backlog.topics["l"], WITHIN_MS)
    check_interrupted(engine, long_backlog, FIRST_ROWS % "l", rows, verb)


@pytest.mark.parametrize("verb", [pytest.param("restart", marks=pytest.mark.long), "kill"])
def test_streams_with_times_in_a_column_go_on(
    engine: Engine, backlog_with_a_column: Backlog, verb: str
) -> None:
    topics = backlog_with_a_column.topics
    rows = model.stream_stream(topics["l"], topics["r"], WITHIN_MS, "LEFT")
    check_interrupted(engine, backlog_with_a_column, STREAM_STREAM["LEFT"], rows, verb)


@pytest.mark.parametrize("verb", [pytest.param("restart", marks=pytest.mark.long), "kill"])
def test_a_stream_and_a_table_with_times_in_a_column_go_on(
    engine: Engine, backlog_with_a_column: Backlog, verb: str
) -> None:
    topics = backlog_with_a_column.topics
    rows = model.stream_table(topics["l"], topics["t"], "LEFT")
    check_interrupted(engine, backlog_with_a_column, STREAM_TABLE["LEFT"], rows, verb)


@pytest.mark.parametrize("verb", [pytest.param("restart", marks=pytest.mark.long), "kill"])
def test_tables_with_times_in_a_column_go_on(
    engine: Engine, backlog_with_a_column: Backlog, verb: str
) -> None:
    topics = backlog_with_a_column.topics
    changes = model.table_table(topics["t"], topics["u"])
    check_interrupted_table(engine, backlog_with_a_column, TABLE_TABLE, changes, verb)
