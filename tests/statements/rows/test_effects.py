"""EXPLAIN ROW through several queries, and EXPLAIN RECORD, without Spark: what is asked, told and refused."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.errors import PySparkException

from ksql_spark import analyzer
from ksql_spark.authorization import Rights
from ksql_spark.engine.request import Request
from ksql_spark.errors import KsqlError
from ksql_spark.plan.explain import explain_logical
from ksql_spark.plan.queries import PersistentQuery
from ksql_spark.schema import LATEST_TIME_MS
from ksql_spark.spark import jvm, tracing
from ksql_spark.spark.tracing import Change, Edit, Place, TracedRecords, WrittenRow
from ksql_spark.statements.rows import effects
from ksql_spark.statements.rows import tracing as rows
from ksql_spark.statements.rows.tracing import Decoded
from tests.statements.world import World

CHAIN = """
CREATE STREAM a AS SELECT k, v + 1 AS more, w FROM s WHERE v > 3 EMIT CHANGES;
CREATE TABLE x AS SELECT w, COUNT(*) AS n FROM a GROUP BY w EMIT CHANGES;
CREATE TABLE y AS SELECT w, n FROM x WHERE n > 1 EMIT CHANGES;
"""
PLACE = Place(61_000, 0, 0, 7, None)


class Finding:
    """In place of Spark: keeps what it is asked, and answers."""

    def __init__(self) -> None:
        self.conditions: list[str] = []
        self.edits: list[Any] = []
        self.used: int | None = None

    def find(self, session: Any, consumer: Any, trace: Any, *_: Any, **__: Any) -> TracedRecords:
        self.conditions.append(explain_logical(trace.root))
        found = [PLACE] if self.used is None else []
        return TracedRecords({self.used: 1}, found, found)

    def differences(self, session: Any, consumer: Any, effect: Any, starts: Any, ends: Any, edits: Any,
                    *_: Any, **__: Any) -> tuple[int, list[Change]]:  # fmt: skip
        self.edits.append(edits)
        return 3, [Change(b"key", b'{"C0": "b"}', b'{"C0": "c"}')]


@pytest.fixture
def finding(world: World, monkeypatch: pytest.MonkeyPatch) -> Finding:
    made = Finding()
    decoded = Decoded({"K": "a", "W": "tea", "MORE": 5, "N": 2, "V": 4})
    world.admin.ends[("s", 0)] = 9
    monkeypatch.setattr(tracing, "find", made.find)
    monkeypatch.setattr(tracing, "differences", made.differences)
    monkeypatch.setattr(tracing, "written", lambda *_: {b"key": [WrittenRow(PLACE, b'{"C0": "c"}')]})
    monkeypatch.setattr(rows, "_columns", lambda places, *_: dict.fromkeys(places, decoded))
    monkeypatch.setattr(effects, "columns_at", lambda *_: (61_000, decoded))
    return made


def bound(world: World, name: str) -> PersistentQuery:
    (query,) = (q for q in world.queries.all() if q.plan.sink.name == name)
    assert query.logical is not None
    return query.logical


def test_rows_are_followed_to_source_topics(world: World, finding: Finding) -> None:
    world.run(CHAIN)
    told = world.one("EXPLAIN ROW FROM y WHERE w = 'tea';")
    (x,) = told["upstream"]
    (a,) = x["upstream"]
    assert [(each["name"], each["rows"], each["used"]) for each in (x, a)] == [("X", 1, 1), ("A", 1, 1)]
    assert a["upstream"] == [] and a["topic"] == "s"
    # a table's row by its key; a stream's by its key, its time and what is copied: not by v + 1
    assert "(W = 'tea')" in finding.conditions[1] and "ROWTIME = " not in finding.conditions[1]
    assert "(K = 'a')) AND (W = 'tea')) AND (ROWTIME = 61000)" in finding.conditions[2]
    assert "= 5" not in finding.conditions[2]


def test_a_cycle_ends(world: World, finding: Finding) -> None:
    world.run("CREATE STREAM a AS SELECT k, v, w FROM s; CREATE STREAM b AS SELECT * FROM a;")
    world.run("INSERT INTO a SELECT * FROM b;")
    told = world.one("EXPLAIN ROW FROM b WHERE k = 'x';")
    assert sorted(each["queryId"] for each in told["upstream"]) == ["CSAS_A_2", "INSERTQUERY_4"]
    assert [each["upstream"] for each in told["upstream"]] == [[], []]
    answer = world.one("EXPLAIN RECORD 's' PARTITION 0 OFFSET 7;")
    (a,) = answer["queries"]
    assert [each["name"] for each in a["below"]] == ["B"] and a["below"][0]["below"][0]["name"] == "A"
    assert a["below"][0]["below"][0]["below"] == []


def test_a_walk_ends_in_time(world: World, finding: Finding, monkeypatch: pytest.MonkeyPatch) -> None:
    world.run(CHAIN)
    monkeypatch.setattr(rows, "MOST_SECONDS", -1)
    monkeypatch.setattr(effects, "MOST_SECONDS", -1)
    (x,) = world.one("EXPLAIN ROW FROM y WHERE w = 'tea';")["upstream"]
    assert "EXPLAIN ROW FROM X WHERE … continues here." in x["notes"][0]
    (a,) = world.one("EXPLAIN RECORD 's' PARTITION 0 OFFSET 7;")["queries"]
    assert a["outcome"] == "unknown" and a["below"] == []


def test_a_record_is_followed_to_the_last_table(world: World, finding: Finding) -> None:
    world.run(CHAIN)
    told = world.one("EXPLAIN RECORD 's' PARTITION 0 OFFSET 7;")
    assert (told["names"], told["record"]["offset"], told["record"]["timestamp"]) == (["S"], 7, 61_000)
    (a,) = told["queries"]
    (x,) = a["below"]
    (y,) = x["below"]
    assert [each["outcome"] for each in (a, x, y)] == ["changed"] * 3
    assert (x["rows"][0]["before"]["W"], x["rows"][0]["after"]["W"], x["rows"][0]["offset"]) == ("b", "c", 7)
    assert x["notes"] == ["2 more rows are not followed."]
    # a stream's record is left out, a table's is replaced by the row that would be there
    gone, replaced = Edit(is_gone=True), Edit(row=b'{"C0": "b"}')
    assert finding.edits == [[{(0, 7): gone}], [{(0, 7): gone}], [{(0, 7): replaced}]]


def test_a_job_that_fails(world: World, finding: Finding, monkeypatch: pytest.MonkeyPatch) -> None:
    """The reason is told, as for a query; EXPLAIN RECORD goes on with the next query."""

    def fail(*_: Any, **__: Any) -> TracedRecords:
        raise PySparkException("[SOME_CONDITION] Timed out waiting for a node assignment.")

    world.run(CHAIN)
    monkeypatch.setattr(tracing, "find", fail)
    error = world.refused("EXPLAIN ROW FROM y WHERE w = 'tea';")
    assert error.condition == "INTERNAL" and "Timed out waiting for a node assignment" in error.message
    (a,) = world.one("EXPLAIN RECORD 's' PARTITION 0 OFFSET 7;")["queries"]
    assert a["outcome"] == "unknown" and "Timed out waiting for a node assignment" in a["notes"][0]
    monkeypatch.setattr(jvm, "is_gone", lambda _: True)
    assert world.refused("EXPLAIN ROW FROM y WHERE w = 'tea';").condition == "SPARK_RESTARTING"


def test_a_dropped_record_is_not_followed(world: World, finding: Finding) -> None:
    world.run(CHAIN)
    finding.used = 1
    (a,) = world.one("EXPLAIN RECORD 's' PARTITION 0 OFFSET 7;")["queries"]
    assert (a["outcome"], a["reasons"]) == ("dropped", ["WHERE (V > 3) is not true"])
    assert finding.edits == [] and a["below"] == []


def test_windows(world: World) -> None:
    world.run("""
        CREATE TABLE t1 AS SELECT k, COUNT(*) AS n FROM s WINDOW TUMBLING (SIZE 10 SECONDS) GROUP BY k;
        CREATE TABLE h1 AS SELECT k, COUNT(*) AS n FROM s
          WINDOW HOPPING (SIZE 10 SECONDS, ADVANCE BY 4 SECONDS) GROUP BY k HAVING COUNT(*) > 1;
        CREATE TABLE m1 AS SELECT k, COUNT(*) AS n FROM s WINDOW TUMBLING (SIZE 1 MONTH) GROUP BY k;
        CREATE TABLE s1 AS SELECT k, COUNT(*) AS n FROM s WINDOW SESSION (10 SECONDS) GROUP BY k;
        CREATE TABLE g1 AS SELECT k, COUNT(*) AS n FROM s WINDOW SLIDING (SIZE 10 SECONDS) GROUP BY k;
        CREATE TABLE p1 AS SELECT k, LATEST_BY_OFFSET(v) AS n FROM s GROUP BY k;
    """)
    assert analyzer.windows_of(bound(world, "T1"), 12_345) == [(10_000, 20_000)]
    assert analyzer.windows_of(bound(world, "H1"), 12_345) == [
        (4_000, 14_000),
        (8_000, 18_000),
        (12_000, 22_000),
    ]
    assert analyzer.windows_of(bound(world, "H1"), 4_500) == [(0, 10_000), (4_000, 14_000)]
    assert analyzer.windows_of(bound(world, "S1"), 12_345) == [(0, LATEST_TIME_MS)]
    assert analyzer.windows_of(bound(world, "G1"), 12_345) is None
    assert analyzer.windows_of(bound(world, "M1"), 12_345) == [(0, 31 * 86_400_000)]
    assert analyzer.windows_of(bound(world, "P1"), 12_345) == []
    (effect,) = analyzer.bind_effects(bound(world, "H1"), [(4_000, 14_000), (8_000, 18_000)])
    assert effect.identity == ("K", "WINDOWSTART", "WINDOWEND")
    assert [column.name for column in effect.columns] == ["K", "N", "WINDOWSTART", "WINDOWEND"]
    assert [column.name for column in effect.root.schema.columns] == ["K", "N", "WINDOWSTART", "WINDOWEND"]


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("EXPLAIN RECORD 'nothing' PARTITION 0 OFFSET 0;", "declared over topic 'nothing'"),
        ("EXPLAIN RECORD 's' PARTITION 7 OFFSET 0;", "Topic 's' has no partition 7"),
        ("EXPLAIN RECORD 's' PARTITION 0 OFFSET 9;", "Partition 0 of topic 's' ends at offset 9"),
    ],
)
def test_what_is_refused(world: World, finding: Finding, statement: str, reason: str) -> None:
    assert reason in world.refused(statement).message


@pytest.mark.parametrize(
    ("there", "time_ms", "note"),
    [
        (None, None, "The record is gone."),
        ((5, None), 5, "The record is none of S: its bytes cannot be read so. PRINT shows them."),
    ],
)
def test_a_record_that_cannot_be_read(
    world: World,
    finding: Finding,
    monkeypatch: pytest.MonkeyPatch,
    there: Any,
    time_ms: int | None,
    note: str,
) -> None:
    monkeypatch.setattr(effects, "columns_at", lambda *_: there)
    told = world.one("EXPLAIN RECORD 's' PARTITION 0 OFFSET 7;")
    assert (told["record"]["timestamp"], told["record"]["columns"], told["notes"][0]) == (time_ms, None, note)


def test_only_what_may_be_read_is_told(world: World, finding: Finding) -> None:
    world.run(CHAIN)
    text = "EXPLAIN RECORD 's' PARTITION 0 OFFSET 7;"
    with pytest.raises(KsqlError, match="The topic 's' needs the role reader"):
        world.answers(Request(text, rights=Rights.of(["reader:x"])))
    (answer,) = world.answers(Request(text, rights=Rights.of(["reader:'s'", "reader:s", "reader:a"])))
    (a,) = answer["queries"]
    assert [(x["outcome"], x["notes"]) for x in a["below"]] == [
        ("unknown", ["You may not read all that this query reads and writes."])
    ]
