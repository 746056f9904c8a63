"""Plans do not change unnoticed, and survive being stored.

``make plans`` (or ``UPDATE_PLANS=1 python -m pytest tests/plans``) writes them anew: read the difference
before committing it.
"""

from __future__ import annotations

import json
import os
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ksql_spark.errors import KsqlError
from ksql_spark.expressions import Literal
from ksql_spark.functions.lowering import lower
from ksql_spark.logical import nodes
from ksql_spark.physical import codec, steps
from ksql_spark.types import BYTES, DOUBLE, STRING
from tests.plans.plan_files import FOLDER, planned, snapshot

FILES = sorted(FOLDER.glob("*.sql"))
QUERIES = [query for path in FILES for query in planned(path)]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_snapshot(path: Path) -> None:
    now, expected = snapshot(path), path.with_suffix(".plan")
    if os.environ.get("UPDATE_PLANS"):
        expected.write_text(now, encoding="utf-8")
    assert expected.read_text(encoding="utf-8") == now


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_forced_micro_batches_hold_for_every_stage(path: Path) -> None:
    for query in planned(path, **{"ksql.execution.mode": "microbatch"}):
        assert {stage.mode for stage in query.plan.stages} == {steps.MICROBATCH}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_exactly_once_holds_for_every_stage(path: Path) -> None:
    for query in planned(path, **{"processing.guarantee": "exactly_once_v2"}):
        ids = [stage.transactional_id for stage in query.plan.stages]
        if query.plan.is_transient:  # its topic ends with its client
            assert query.plan.guarantee == steps.AT_LEAST_ONCE and set(ids) == {None}
            continue
        assert query.plan.guarantee == steps.EXACTLY_ONCE
        assert {stage.mode for stage in query.plan.stages} == {steps.MICROBATCH}
        assert len(set(ids)) == len(ids) and None not in ids
        # ACLs may go by the names of internal topics
        assert all(str(name).startswith("_confluent-ksql-default_query_") for name in ids)
        assert codec.decode(json.loads(json.dumps(codec.encode(query.plan)))) == query.plan


def test_idle_timeouts_are_for_what_waits() -> None:
    timed = {
        query.bound.sink.name
        for path in FILES
        for query in planned(path, **{"ksql.idle.window.timeout": 1500})
        if any(stage.has_idle_timeout for stage in query.plan.stages)
    }
    assert {"FINALS"} <= timed
    assert timed.isdisjoint({"PER_MINUTE", "SESSIONS", "SS_INNER", "REPLICATED_AFTER_JOIN"})


def _steps() -> list[steps.Step]:
    return [step for query in QUERIES for stage in query.plan.stages for step in steps.walk(stage.root)]


def test_every_step_and_every_join_is_there() -> None:
    every = {c for c in codec.CLASSES.values() if issubclass(c, steps.Step)}
    assert {type(s) for s in _steps()} == every, "add a query to tests/plans/*.sql"
    joins = (steps.StreamStreamJoin, steps.TableTableJoin)
    kinds = {(type(s), s.join) for s in _steps() if isinstance(s, joins)}
    every_kind = {(step, kind) for step in joins for kind in ("INNER", "LEFT", "RIGHT", "FULL")}
    assert kinds == every_kind | {(steps.StreamStreamJoin, nodes.SEMI)}
    for step in (steps.StreamTableJoin, steps.ForeignKeySubscribe):
        assert {s.join for s in _steps() if isinstance(s, step)} == {"INNER", "LEFT"}


def test_a_step_that_leaves_something_out_cannot_be_made() -> None:
    class Forgetful(steps.OneInputStep):
        pass

    with pytest.raises(TypeError, match=r"abstract methods .*details.*, .*row_expressions"):
        Forgetful()  # type: ignore[abstract]


def test_a_filter_below_a_step_that_keeps_tables_has_no_state() -> None:
    found = {
        type(step)
        for query in QUERIES
        for stage in query.plan.stages
        for step in steps.stateful_steps(stage.root)
        if any(isinstance(child, steps.TableFilter) for child in step.inputs)
    }
    assert found and all(issubclass(step, steps.TableKeepingStep) for step in found)


def test_state_that_a_clause_could_bound_is_told() -> None:
    told = {
        query.bound.sink.name
        for query in QUERIES
        for stage in query.plan.stages
        for step in steps.stateful_steps(stage.root)
        if isinstance(query.bound, nodes.PersistentQuery) and step.unbounded_state is not None
    }
    assert told == {"ONCE_BY_KEY", "REPLAYED_ONCE"}


def test_a_plan_has_the_schema_of_its_query() -> None:
    for query in QUERIES:
        if isinstance(query.bound, nodes.PersistentQuery):
            assert query.plan.root.schema == query.bound.root.schema


# ---- codec --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("query", QUERIES, ids=lambda query: query.text.split("\n")[0][:60])
def test_plans_survive_being_stored(query: Any) -> None:
    both = (query.bound, query.plan)
    stored = json.dumps(codec.encode(both))
    assert codec.decode(json.loads(stored)) == both
    assert json.dumps(codec.encode(both)) == stored


def test_a_field_that_has_its_default_is_not_stored() -> None:
    # so an older release reads a plan that needs nothing new
    count = nodes.AggregateCall("N", "COUNT", (), STRING)
    document = codec.encode(count)
    assert set(document["values"][-1]) == {"@", "name", "function", "arguments", "type"}
    assert codec.decode(document) == count


LITERALS = (
    st.builds(Literal, st.floats(allow_nan=False), st.just(DOUBLE))
    | st.builds(Literal, st.decimals(allow_nan=False, allow_infinity=False), st.just(DOUBLE))
    | st.builds(Literal, st.binary(max_size=8), st.just(BYTES))
    | st.builds(Literal, st.text(max_size=8) | st.integers() | st.booleans() | st.none(), st.just(STRING))
)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.recursive(LITERALS, lambda inner: st.lists(inner).map(tuple) | st.frozensets(inner), max_leaves=8))
def test_values_survive_being_stored(value: Any) -> None:
    again = codec.decode(json.loads(json.dumps(codec.encode(value))))
    assert again == value
    assert repr(again) == repr(value) or isinstance(value, frozenset) or "frozenset" in repr(value)


def test_equal_values_that_differ_stay_apart() -> None:
    values = (
        Literal(0.0, DOUBLE),
        Literal(-0.0, DOUBLE),
        Literal(Decimal("1.0"), DOUBLE),
        Literal(1.0, DOUBLE),
    )
    assert repr(codec.decode(codec.encode(values))) == repr(values)
    assert len(codec.encode((values, values))["values"]) == len(values) + 1


def test_plans_of_newer_releases_are_refused() -> None:
    document = codec.encode(QUERIES[0].plan)
    for newer, what in (
        (document | {"version": 2}, "its version is 2, but this release supports at most 1"),
        (document | {"values": [{"@": "StreamTeleport"}]}, "it has a StreamTeleport"),
        (document | {"values": [{"@": "Primitive", "name": "INTEGER", "unit": "m"}]}, "Primitive has unit"),
    ):
        with pytest.raises(KsqlError) as refused:
            codec.decode(newer)
        assert refused.value.condition == "PLAN_UNREADABLE"
        assert what in refused.value.message and "a later one" in refused.value.message


@pytest.mark.parametrize(
    "change",
    [
        {"root": {"$": 999}},
        {"values": [{"@": "Column"}]},
        {"root": {"strange": 1}},
        {"values": [{}]},
        {"values": 1},
    ],
)
def test_damaged_plans_are_refused(change: dict[str, Any]) -> None:
    with pytest.raises(KsqlError, match=r"The stored plan cannot be read: it is damaged"):
        codec.decode(codec.encode(QUERIES[0].plan) | change)


#: in the text of a DATE, this would run a method of the server's JVM
CODE = "length(java_method('java.lang.System', 'lineSeparator'))"
DATE_TYPE, SCALED = {"@": "Primitive", "name": "DATE"}, {"@": "Decimal", "precision": 9, "scale": CODE}


@pytest.mark.parametrize(
    "values",
    [
        [SCALED],
        [{"@": "Column", "name": "C", "type": CODE, "role": None, "header_key": None}],
        [{"@": "Windowing", "kind": "TUMBLING", "size_ms": CODE}],
        [DATE_TYPE, {"@": "Array", "element": {"double": "1.5"}}],
        [DATE_TYPE, {"@": "Call", "function": "NOW", "arguments": [CODE], "type": {"$": 0}}],
        [DATE_TYPE, {"@": "Call", "function": "NOW", "arguments": CODE, "type": {"$": 0}}],
        [DATE_TYPE, {"@": "MakeStruct", "fields": [["A"]], "type": {"$": 0}}],
    ],
)
def test_values_of_another_type_are_refused(values: list[Any]) -> None:
    document = {"version": codec.VERSION, "values": values, "root": {"$": len(values) - 1}}
    with pytest.raises(KsqlError, match=r"has a value of another type"):
        codec.decode(document)


@pytest.mark.parametrize("name", ["INTEGER", "BIGINT", "DOUBLE", "DATE", "TIME", "TIMESTAMP", "BYTES"])
def test_constants_of_another_type_are_not_written_as_spark_sql(name: str) -> None:
    values = [{"@": "Primitive", "name": name}, {"@": "Literal", "value": CODE, "type": {"$": 0}}]
    forged = codec.decode({"version": codec.VERSION, "values": values, "root": {"$": 1}})
    with pytest.raises((TypeError, ValueError)):
        lower(forged)


def test_only_plans_are_stored() -> None:
    for value in ({"a": 1}, [1], object(), Literal):
        with pytest.raises(TypeError):
            codec.encode(value)
