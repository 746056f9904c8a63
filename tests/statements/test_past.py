"""AS OF and CHANGES without Spark: what they read of a table's topic, and what is refused."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from ksql_spark import analyzer, grammar
from ksql_spark.analyzer.past import Past, with_sources
from ksql_spark.errors import KsqlError, Position
from ksql_spark.grammar.statements.queries import Query
from ksql_spark.kafka.consumer import Record
from ksql_spark.plan.nodes import BatchQuery, relations
from ksql_spark.runtime.reading import past
from tests.statements.world import World

X = "CREATE TABLE x AS SELECT k, COUNT(*) AS n FROM s GROUP BY k EMIT CHANGES;"
NOW_MS = int(time.time() * 1000)
#: partition, event time in seconds from now, key, value
RECORDS = [
    (0, -50, b"a", b"1"), (1, -50, b"b", b"1"), (0, -40, b"a", b"2"), (1, -30, b"b", None),
    (0, -20, b"a", b"3"), (0, -45, b"c", b"late"), (0, -10, None, b"no key"),
]  # fmt: skip


@pytest.fixture
def having(world: World, monkeypatch: pytest.MonkeyPatch) -> World:
    class Reader:
        def __init__(self, servers: str, topic: str, settings: Any) -> None:
            self.topic = topic

        def __enter__(self) -> Reader:
            return self

        def __exit__(self, *_: object) -> None:
            pass

        def read_to_end(self) -> Iterator[list[Record]]:
            for i, (partition, seconds, key, value) in enumerate(RECORDS):
                yield [Record(self.topic, partition, i, NOW_MS + seconds * 1000, key, value)]

    monkeypatch.setattr(past, "TopicReader", Reader)
    world.run(X)
    world.admin.configs["X"] = {"cleanup.policy": "compact", "min.compaction.lag.ms": "3600000"}
    return world


def bound(world: World, text: str) -> tuple[BatchQuery, dict[str, Past]]:
    statement = grammar.parse_one(text)
    assert isinstance(statement, Query)
    return analyzer.bind_past(statement.query, world.services.metastore, world.services.config)


def read(world: World, text: str) -> list[list[tuple[bytes, bytes]]]:
    _, found = bound(world, text)
    (rows,) = (past.read(each, world.admin, None) for each in found.values())  # type: ignore[arg-type]
    return [[(row.key, row.value) for row in some] for some in (rows.rows, rows.deletions)]


def test_the_rows_as_they_were(having: World) -> None:
    def as_of(seconds: int) -> list[list[tuple[bytes, bytes]]]:
        return read(having, f"SELECT * FROM x AS OF TIMESTAMP {NOW_MS + seconds * 1000};")

    assert as_of(-51) == [[], []]
    assert as_of(-50) == [[(b"a", b"1"), (b"b", b"1")], []]
    assert as_of(-45) == [[(b"a", b"1"), (b"b", b"1"), (b"c", b"late")], []]
    assert as_of(-40) == [[(b"b", b"1"), (b"a", b"2"), (b"c", b"late")], []]
    assert as_of(0) == [[(b"a", b"3"), (b"c", b"late")], []]


def test_the_rows_before_a_position(having: World, monkeypatch: pytest.MonkeyPatch) -> None:
    ends = {("X", 0): len(RECORDS), ("X", 1): 4}
    monkeypatch.setattr(having.admin, "end_offsets", lambda *_: ends)
    monkeypatch.setattr(having.admin, "offsets", lambda *_: dict.fromkeys(ends, 1))

    def as_of(position: str) -> list[tuple[bytes, bytes]]:
        return read(having, f"SELECT * FROM x AS OF POSITION '{position}';")[0]

    assert as_of("0:1,1:1") == [(b"a", b"1")]
    assert as_of("0:3, 1:3") == [(b"b", b"1"), (b"a", b"2")]
    assert as_of("1:4,0:7") == [(b"a", b"3"), (b"c", b"late")]
    for position, message in (
        ("0:0,1:4", "keeps all changes for 3,600,000 ms only"),
        ("0:3", "Topic X has a partition 1, too: a position has an offset for each of its 2 partitions"),
        ("0:3,1:3,2:1", "Topic X has no partition 2"),
        ("0:3,1:5", "Partition 1 of topic X ends before offset 5"),
    ):
        with pytest.raises(KsqlError, match=message) as refused:
            as_of(position)
        assert refused.value.position == Position(1, 32, len(position) + 2)


def test_the_changes_between_two_moments(having: World) -> None:
    text = f"SELECT * FROM CHANGES(x) BETWEEN {NOW_MS - 40_000} AND {NOW_MS - 20_000};"
    assert read(having, text) == [[(b"a", b"2"), (b"a", b"3")], [(b"b", b"")]]


def test_the_past_beside_the_present(having: World) -> None:
    text = "SELECT o.n, x.n FROM x AS OF TIMESTAMP '2026-11-26T10:00' o JOIN x ON o.k = x.k;"
    query, found = bound(having, text)
    names = [relation.source.name for relation in relations(query.root)]
    assert [name in found for name in names] == [True, False] and names[1] == "X"
    (only,) = found.values()
    assert (only.table.name, only.first_ms, only.last_ms) == ("X", None, 1795687200000)
    plan = having.one(f"EXPLAIN {text}")["queryDescription"]["executionPlan"]
    assert "Look" not in plan.split("Execution")[1]


@pytest.mark.parametrize(
    ("config", "seconds", "message"),
    [
        ({"cleanup.policy": "compact"}, -10, "keeps all changes for 0 ms only"),
        ({"cleanup.policy": "compact", "min.compaction.lag.ms": "20000"}, -21, "for 20,000 ms only"),
        ({"cleanup.policy": "delete"}, -10, "Kafka has removed old records of topic X"),
    ],
)
def test_a_past_that_may_be_lost(
    having: World, monkeypatch: pytest.MonkeyPatch, config: dict[str, str], seconds: int, message: str
) -> None:
    having.admin.configs["X"] = config
    monkeypatch.setattr(having.admin, "beginning_offsets", lambda *_: {("X", 0): 3})
    with pytest.raises(KsqlError, match=message):
        read(having, f"SELECT * FROM x AS OF TIMESTAMP {NOW_MS + seconds * 1000};")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("SELECT * FROM s AS OF TIMESTAMP 1;", "AS OF is for tables, and S is a stream"),
        ("SELECT * FROM CHANGES(nobody) BETWEEN 1 AND 2;", "NOBODY"),
        ("SELECT * FROM x AS OF TIMESTAMP 'yesterday';", "Expected an ISO 8601 time"),
        ("SELECT * FROM x AS OF POSITION '1,2';", "Expected partition:offset, for each partition once"),
        ("SELECT * FROM x AS OF POSITION '0:1,0:2';", "Expected partition:offset, for each partition once"),
        ("SELECT * FROM NEW(x);", "for VERIFY only"),
        ("SELECT * FROM t AS OF TIMESTAMP 1;", "The `T` table isn't queryable"),
        ("WITH x AS (SELECT * FROM s) SELECT * FROM x AS OF TIMESTAMP 1;", "X is a table of WITH here"),
    ],
)
def test_pasts_that_there_are_not(having: World, text: str, message: str) -> None:
    with pytest.raises(KsqlError, match=message):
        bound(having, text)


@pytest.mark.parametrize("common", ["", "WITH x AS (SELECT k, n FROM x) "])
def test_only_pull_queries_read_the_past(having: World, common: str) -> None:
    refused = having.refused(f"CREATE TABLE y AS {common}SELECT k, n FROM x AS OF TIMESTAMP 1;")
    assert "AS OF of X is for pull queries only" in refused.message


def test_a_table_that_has_moved_has_a_past_from_then_on(having: World) -> None:
    table = having.services.metastore.require("X")
    known = with_sources(having.services.metastore, [replace(table, past_from_ms=NOW_MS - 25_000)])

    def read_at(text: str) -> object:
        statement = grammar.parse_one(text)
        assert isinstance(statement, Query)
        _, found = analyzer.bind_past(statement.query, known, having.services.config)
        return [past.read(each, having.admin, None).rows for each in found.values()]  # type: ignore[arg-type]

    assert read_at(f"SELECT * FROM x AS OF TIMESTAMP {NOW_MS};")
    assert read_at(f"SELECT * FROM CHANGES(x) BETWEEN {NOW_MS - 25_000} AND {NOW_MS};")
    for text in (
        f"SELECT * FROM x AS OF TIMESTAMP {NOW_MS - 30_000};",
        f"SELECT * FROM CHANGES(x) BETWEEN {NOW_MS - 30_000} AND {NOW_MS};",
    ):
        with pytest.raises(KsqlError, match="X has been in topic X since"):
            read_at(text)
