"""EXPLAIN EVOLUTION: what CREATE OR REPLACE would change, told before it happens."""

from __future__ import annotations

from pathlib import Path

import pytest

from ksql_spark.authorization import Rights
from ksql_spark.engine.request import Request
from ksql_spark.kafka.admin import Consumers
from ksql_spark.spark.traffic import Times, Traffic, Volume
from tests.statements.world import World

A = "CREATE STREAM a AS SELECT k, v FROM s EMIT CHANGES;"
N = "CREATE TABLE counts AS SELECT k, COUNT(*) AS n FROM s GROUP BY k EMIT CHANGES;"


def report(world: World, statement: str) -> list[str]:
    described = world.one(f"EXPLAIN EVOLUTION {statement}")["queryDescription"]
    return str(described["executionPlan"]).splitlines()


def test_a_change_in_place(world: World) -> None:
    world.run(A + "CREATE STREAM b AS SELECT * FROM a EMIT CHANGES;")
    before = [(query.id, query.statement) for query in world.queries.all()]
    lines = report(world, "CREATE OR REPLACE STREAM a AS SELECT k, v, w FROM s WHERE v > 3 EMIT CHANGES;")
    first, second = world.ids()
    assert lines[0] == f"In place: {first} continues from its current position, with its state."
    assert lines[1:3] == ["Columns", "  + W STRING"]
    assert lines[3:7] == [
        "Plan",
        "  - Project | Key: K | Values: V",
        "  + Project | Key: K | Values: V, W",
        "  + Filter | (V > 3)",
    ]
    assert lines[-2:] == [
        "Reads again: nothing. Rows that are already written stay as they are.",
        f"Read by: {second}; 0 consumer groups of topic A",
    ]
    assert [(query.id, query.statement) for query in world.queries.all()] == before


@pytest.mark.parametrize(
    ("groups", "text"),
    [
        (("billing",), "1 consumer group of topic A: billing"),
        (("a", "connect-crm"), "2 consumer groups of topic A: a, connect-crm (connector crm)"),
        (tuple("abcdefg"), "7 consumer groups of topic A: a, b, c, d, e and 2 more"),
    ],
)
def test_consumer_groups(
    world: World, monkeypatch: pytest.MonkeyPatch, groups: tuple[str, ...], text: str
) -> None:
    world.run(A)
    monkeypatch.setattr(world.admin, "consumers", lambda: {"A": Consumers(1, groups)})
    lines = report(world, "CREATE OR REPLACE STREAM a AS SELECT k, v, w FROM s EMIT CHANGES;")
    assert lines[-1] == f"Read by: no query; {text}"


def test_what_a_backfill_costs(world: World, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    world.run(N + f"CREATE SINK lake FROM counts WITH (TYPE = 'delta', PATH = '{tmp_path}');")
    (query_id,) = world.ids()
    world.admin.ends[("s", 0)] = 1200
    query = world.queries.find(query_id)
    assert query is not None
    batches = [{"numInputRows": 50, "batchDuration": 1000}, {"numInputRows": 200, "batchDuration": 2000}]
    monkeypatch.setattr(query.spark[0], "recent", batches)
    none = Times((), (0,), 0.0)
    traffic = {query_id: Traffic({"s": Volume(10, 1000)}, {}, {}, none, None, {})}
    monkeypatch.setattr(world.queries.figures, "traffic", lambda: traffic)
    backfill = "CREATE OR REPLACE TABLE counts WITH (EVOLVE = 'backfill') AS "
    lines = report(world, backfill + "SELECT k, COUNT(*) AS n FROM s WHERE v > 3 GROUP BY k;")
    at = lines.index("Reads again, unless START says otherwise:")
    assert lines[at + 1 :] == [
        "  topic s: at most 1,200 records, about 120,000 bytes, from 2023-11-14T22:13:20Z on",
        f"  about 12 s, at the 100 records/s that {query_id} has reached",
        "Read by: sink LAKE; 0 consumer groups of topic COUNTS",
        "  sink LAKE receives an update of each key that differs",
    ]


def test_a_change_that_needs_a_new_query(world: World) -> None:
    world.run(N)
    world.admin.ends[("s", 0)] = 1234
    lines = report(
        world, "CREATE OR REPLACE TABLE counts AS SELECT k, SUM(v) AS n FROM s GROUP BY k EMIT CHANGES;"
    )
    assert lines[0].startswith("Not possible in place: ") and "changed, missing or reordered" in lines[0]
    assert {"Possible as a backfill: WITH (EVOLVE = 'backfill').", "The backfill reads:"} <= set(lines)
    assert {"  - N BIGINT", "  + N INTEGER"} <= set(lines)
    assert "  topic s: at most 1,234 records, from 2023-11-14T22:13:20Z on" in lines
    assert world.message("CREATE OR REPLACE TABLE counts AS SELECT k, COUNT(*) AS n FROM s GROUP BY k;")


def test_a_change_that_only_evolve_makes_in_place(world: World) -> None:
    world.run(
        "CREATE TABLE counts AS SELECT k, COUNT(*) AS n, SUM(v) AS total FROM s GROUP BY k EMIT CHANGES;"
    )
    new = "CREATE OR REPLACE TABLE counts{} AS SELECT k, COUNT(*) AS many FROM s GROUP BY k EMIT CHANGES;"
    lines = report(world, new.format(""))
    assert lines[0].startswith("Not possible in place: ")
    ways = [
        "in place, with its state: WITH (EVOLVE = 'in-place').",
        "as a backfill: WITH (EVOLVE = 'backfill').",
    ]
    assert {f"Possible {way}" for way in ways} <= set(lines)
    (old,) = world.ids()
    lines = report(world, new.format(" WITH (EVOLVE = 'in-place')"))
    assert lines[0] == f"In place: {old} continues from its current position, with its state."
    assert {"  - N BIGINT", "  - TOTAL INTEGER", "  + MANY BIGINT"} <= set(lines)
    assert "Reads again: nothing. Rows that are already written stay as they are." in lines
    appended = new.format(" WITH (EVOLVE = 'in-place')").replace("COUNT(*)", "MAX(v)")
    told = "  MAX(V) begins empty: only records from now on count, also in groups that exist."
    assert told in report(world, appended)
    lines = report(world, appended.replace(" WITH (EVOLVE = 'in-place')", ""))
    assert lines[lines.index("Possible in place, with its state: WITH (EVOLVE = 'in-place').") + 1] == told
    (answer,) = world.run(appended)
    assert [warning["message"] for warning in answer["warnings"]] == [
        "MAX(V) begins empty: records from before this statement do not count."
    ]
    assert told not in report(world, appended.replace("many", "most"))
    world.restart()
    assert told not in report(world, appended.replace("many", "most"))


def test_a_backfill(world: World) -> None:
    world.run(N + "CREATE TABLE d AS SELECT * FROM counts EMIT CHANGES;")
    world.admin.ends[("s", 0)] = 1234
    way = "CREATE OR REPLACE TABLE counts WITH (EVOLVE = 'backfill'{}) AS SELECT k, {} FROM s GROUP BY k;"
    lines = report(world, way.format(", SWAP = 'manual'", "COUNT(*) AS n, SUM(v) AS total"))
    old, reader = world.ids()
    assert lines[:3] == [
        f"Backfill: a new query runs beside {old}, from its start.",
        "SWAP COUNTS; then writes what differs to topic COUNTS, and the new query goes on there.",
        "Until then ABORT EVOLUTION COUNTS; leaves everything as it is; a swap cannot be undone.",
    ]
    assert lines[-4:] == [
        "Reads again, unless START says otherwise:",
        "  topic s: at most 1,234 records, from 2023-11-14T22:13:20Z on",
        f"Read by: {reader}; 0 consumer groups of topic COUNTS",
        f"  {reader} receives an update of each key that differs, without TOTAL",
    ]
    lines = report(world, way.format(", VERIFY = 'rows, values .10'", "COUNT(*) AS n"))
    assert "The swap is refused while VERIFY does not hold: rows, values 0.1." in lines
    lines = report(world, way.format("", "SUM(v) AS n"))
    assert lines[0].startswith(
        "Not possible as a backfill: COUNTS cannot evolve: columns can only be appended"
    )
    assert world.ids() == [old, reader]


def test_a_new_version_that_begins_where_the_old_one_ends(world: World) -> None:
    world.run(A + N)
    world.admin.ends[("s", 0)] = 1234
    stream, table = world.ids()
    changed = "CREATE OR REPLACE STREAM a {}AS SELECT k, v + 1 AS v FROM s EMIT CHANGES;"
    keeps = "WITH (EVOLVE = 'backfill', HISTORY = 'keep') "
    nothing = "Reads again: nothing. Rows that are already written stay as they are."
    lines = report(world, changed.format(keeps))
    assert lines[0] == f"From now: {stream} ends. The new version begins at its position, without its state."
    assert nothing in lines
    lines = report(world, changed.format(""))
    assert lines[0].startswith("Not possible in place: ") and nothing in lines
    assert lines[1:3] == [
        "Possible in place, with its state: WITH (EVOLVE = 'in-place').",
        "Possible as a backfill: WITH (EVOLVE = 'backfill', HISTORY = 'keep').",
    ]
    # what needs state reads the history again
    distinct = "CREATE OR REPLACE STREAM a {}AS SELECT DISTINCT ON (k) k, v FROM s WITHIN 1 DAY EMIT CHANGES;"
    lines = report(world, distinct.format(keeps))
    assert lines[0] == f"Warm-up: {stream} ends. The new version reads again what it has read, for its state."
    assert "  topic s: at most 1,234 records, from 2023-11-14T22:13:20Z on" in lines
    from_now = "WITH (EVOLVE = 'from-now') "
    assert report(world, distinct.format(from_now))[0].startswith(f"From now: {stream} ends.")
    counts = f"CREATE OR REPLACE TABLE counts {from_now}AS SELECT k, COUNT(v) AS n FROM s GROUP BY k;"
    assert report(world, counts)[0].startswith(f"From now: {table} ends.") and nothing in report(
        world, counts
    )
    assert world.ids() == [stream, table]


def test_a_sink_that_no_query_writes_any_more(world: World) -> None:
    world.run(A + "TERMINATE ALL;")
    lines = report(world, A.replace("CREATE", "CREATE OR REPLACE"))
    assert lines[:2] == ["New query: no query writes the sink now.", "Columns: unchanged"]


def test_what_the_statement_itself_would_be_refused_for(world: World) -> None:
    world.run(A)
    same = "CREATE OR REPLACE STREAM a {} AS SELECT k, v FROM s EMIT CHANGES;"
    first = report(world, same.format("WITH (START = 'earliest')"))[0]
    assert first.startswith("Not possible in place: ") and "START is only for new queries" in first
    off = world.one(f"EXPLAIN EVOLUTION {same.format('')}", **{"ksql.create.or.replace.enabled": "false"})[
        "queryDescription"
    ]["executionPlan"]
    assert off.startswith("Not possible in place: CREATE OR REPLACE is disabled")


@pytest.mark.parametrize(
    ("statement", "condition"),
    [
        (A, "INVALID_STATEMENT"),
        ("SELECT * FROM s EMIT CHANGES;", "INVALID_STATEMENT"),
        ("CREATE OR REPLACE STREAM b AS SELECT k FROM s;", "SOURCE_UNKNOWN"),
        ("CREATE OR REPLACE STREAM a AS SELECT nothing FROM s;", "COLUMN_UNKNOWN"),
    ],
)
def test_what_is_refused(world: World, statement: str, condition: str) -> None:
    world.run(A)
    assert world.refused(f"EXPLAIN EVOLUTION {statement}").condition == condition


def test_who_may_not_read_the_sources_of_the_running_version_does_not_see_its_plan(world: World) -> None:
    world.run(A + "CREATE STREAM other (k STRING KEY, v INT) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');")
    text = "EXPLAIN EVOLUTION CREATE OR REPLACE STREAM a AS SELECT k, v FROM other EMIT CHANGES;"
    (entity,) = world.answers(Request(text, rights=Rights.of(["reader:A", "reader:OTHER"])))
    shown = entity["queryDescription"]["executionPlan"]
    assert "Plan: not shown" in shown and "STREAM S" not in shown
