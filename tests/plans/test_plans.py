"""Plans do not change unnoticed, and survive being stored.

``make plans`` (or ``UPDATE_PLANS=1 python -m pytest tests/plans``) writes them anew: read the difference
before committing it.
"""

from __future__ import annotations

import json
import os
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ksql_spark.errors import KsqlError
from ksql_spark.expressions import Literal
from ksql_spark.functions.lowering import lower
from ksql_spark.metastore.serdes import record_spec
from ksql_spark.plan import codec, nodes, operations, planner, stages, trees
from ksql_spark.plan.clauses import AggregateCall
from ksql_spark.plan.queries import Feed, PersistentQuery
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
        assert {stage.mode for stage in query.plan.stages} == {stages.MICROBATCH}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_exactly_once_holds_for_every_stage(path: Path) -> None:
    for query in planned(path, **{"processing.guarantee": "exactly_once_v2"}):
        ids = [stage.transactional_id for stage in query.plan.stages]
        if query.plan.is_transient:  # its topic ends with its client
            assert query.plan.guarantee == stages.AT_LEAST_ONCE and set(ids) == {None}
            continue
        assert query.plan.guarantee == stages.EXACTLY_ONCE
        assert {stage.mode for stage in query.plan.stages} == {stages.MICROBATCH}
        assert len(set(ids)) == len(ids) and None not in ids
        # ACLs may go by the names of internal topics
        assert all(str(name).startswith("_confluent-ksql-default_query_") for name in ids)
        assert codec.decode(json.loads(json.dumps(codec.encode(query.plan)))) == query.plan


def test_rows_that_are_counted_come_once_from_internal_topics_whatever_the_guarantee() -> None:
    plans = {q.bound.sink.name: q.plan for q in QUERIES if q.plan.inner and not q.plan.is_transient}
    exact = {name for name, plan in plans.items() if plan.transactional_ids}
    assert exact == {"OF_TABLE_AT_INTERVALS", "WINDOWS_OF_PAIRS", "COUNTED_AFTER_JOINS"}
    # DISTINCT ON knows a row again, look-ups make the same row again, and a table's row replaces itself
    assert set(plans) >= exact | {"JOINED_ONCE", "ENRICHED", "TT_RESIDUAL", "FK_CHAIN"}
    for name in exact:
        assert plans[name].guarantee == stages.AT_LEAST_ONCE
        assert {stage.guarantee for stage in plans[name].inner} == {stages.EXACTLY_ONCE}


def test_idle_timeouts_are_for_what_waits() -> None:
    timed = {
        query.bound.sink.name
        for path in FILES
        for query in planned(path, **{"ksql.idle.window.timeout": 1500})
        if any(stage.has_idle_timeout for stage in query.plan.stages)
    }
    assert {"FINALS"} <= timed
    assert timed.isdisjoint({"PER_MINUTE", "SESSIONS", "SS_INNER", "REPLICATED_AFTER_JOIN"})


def _operations() -> list[nodes.Node]:
    return [node for query in QUERIES for stage in query.plan.stages for node in stage.operations]


#: checkpoints note those that keep state: a query with another one begins without state
KEEPING = {
    "ForeignKeyAnswer",
    "ForeignKeyLatest",
    "ForeignKeySubscribe",
    "StreamAggregate",
    "StreamDeduplicate",
    "StreamMatchRecognize",
    "StreamOver",
    "StreamStreamJoin",
    "StreamTableJoin",
    "StreamTopN",
    "StreamVersionedTableJoin",
    "StreamWindowedAggregate",
    "TableAggregate",
    "TableChanges",
    "TableExpire",
    "TableFilter",
    "TableKeepUnchanged",
    "TableSetOperation",
    "TableTableJoin",
    "TableTopN",
}
OTHERS = {
    "Exchange",
    "StreamFilter",
    "StreamFlatMap",
    "StreamSelect",
    "StreamSelectKey",
    "StreamSource",
    "StreamUnion",
    "TableSelect",
    "TableSource",
}


def test_every_operation_is_there_and_has_its_name() -> None:
    names = {operations.name(node): operations.keeps_state(node) for node in _operations()}
    assert names == dict.fromkeys(KEEPING, True) | dict.fromkeys(OTHERS, False), "add a query to *.sql"


def test_every_join_is_there() -> None:
    kinds = {(node.type, node.join) for node in _operations() if isinstance(node, nodes.Join)}
    outer = ("INNER", "LEFT", "RIGHT", "FULL")
    every = {(type_, join) for type_ in (nodes.STREAM_STREAM, nodes.TABLE_TABLE) for join in outer}
    every |= {(type_, join) for type_ in (nodes.STREAM_TABLE, nodes.REPLICATED) for join in outer[:2]}
    assert kinds == every | {(nodes.STREAM_STREAM, nodes.SEMI)}
    parts = {node.join for node in _operations() if isinstance(node, nodes.ForeignKeySubscribe)}
    assert parts == {"INNER", "LEFT"}


def test_a_filter_below_an_operation_that_keeps_tables_has_no_state() -> None:
    found = [
        node
        for query in QUERIES
        for stage in query.plan.stages
        for node in stage.stateful
        if any(map(operations.is_table_filter, operations.inputs(node)))
    ]
    assert found and all(map(operations.keeps_tables, found))


def test_state_that_grows_with_time_is_told() -> None:
    told = {
        query.bound.sink.name
        for query in QUERIES
        for stage in query.plan.stages
        for node in stage.stateful
        if isinstance(query.bound, PersistentQuery) and operations.unbounded_state(node) is not None
    }
    assert told == {"CHAINED_SESSIONS", "ONCE_BY_KEY", "REPLAYED_ONCE", "SS_ENDLESS"}


# ---- the tree -----------------------------------------------------------------------------------------


def test_a_plan_without_what_the_planner_put_in_is_what_was_bound() -> None:
    for query in QUERIES:
        assert trees.unplanned(query.plan.root) == query.bound.root
        assert trees.relations(query.plan.root) == trees.relations(query.bound.root)
        made = (nodes.Exchange, nodes.Changes, nodes.ForeignKeyJoin, nodes.KeepUnchanged)
        assert not any(isinstance(node, made) for node in trees.walk(query.bound.root))


def test_a_planned_node_has_the_schema_kind_and_window_of_the_bound_one() -> None:
    messages = (nodes.ForeignKeySubscribe, nodes.ForeignKeyAnswer)
    for query in QUERIES:
        for node in trees.walk(query.plan.root):
            made = node.child if isinstance(node, nodes.Exchange) else node
            if isinstance(made, messages):
                assert node.schema == nodes.MESSAGE
                continue
            bound = trees.unplanned(node)
            assert node.schema == bound.schema
            if not isinstance(made, nodes.Changes):
                assert (node.kind, node.window) == (bound.kind, bound.window)


def test_an_exchange_is_between_two_stages() -> None:
    for query in QUERIES:
        plan = query.plan
        exchanges = [stage.exchange for stage in plan.inner]
        assert [exchange.number for exchange in exchanges if exchange] == list(range(len(exchanges)))
        read = [
            node for stage in plan.stages for node in stage.operations if isinstance(node, nodes.Exchange)
        ]
        assert sorted(node.number for node in read) == list(range(len(exchanges)))


def test_streams_over_one_topic_have_serdes_of_their_own(tmp_path: Path) -> None:
    scene = [
        f"CREATE STREAM {name} (k INT KEY, v INT) WITH (KAFKA_TOPIC = 't', VALUE_FORMAT = '{format_}');"
        for name, format_ in (("a", "JSON"), ("b", "DELIMITED"))
    ]
    union = "CREATE STREAM u AS SELECT * FROM a UNION ALL SELECT * FROM b EMIT CHANGES;"
    (tmp_path / "two.sql").write_text("\n".join([*scene, union]))
    (query,) = planned(tmp_path / "two.sql")
    found = {source.name: records.value.format for source, records in query.plan.serdes.items()}
    assert found == {"A": "JSON", "B": "DELIMITED"}


def test_a_plan_has_the_serdes_of_each_source_in_their_order() -> None:
    for query in QUERIES:
        for source, records in zip(query.plan.sources, query.plan.source_records, strict=True):
            assert records == record_spec(source)


# ---- codec --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("query", QUERIES, ids=lambda query: query.text.split("\n")[0][:60])
def test_plans_survive_being_stored(query: Any) -> None:
    is_push = isinstance(query.bound, Feed)
    value = query.plan if is_push else stages.LoggedQuery.of(query.bound, query.plan)
    stored = json.dumps(codec.encode(value))
    again = codec.decode(json.loads(stored))
    assert again == value and json.dumps(codec.encode(again)) == stored
    assert is_push or again.bound == query.bound


def test_a_field_that_has_its_default_is_not_stored() -> None:
    # so an older release reads a plan that needs nothing new
    count = AggregateCall("N", "COUNT", (), STRING)
    document = codec.encode(count)
    assert set(document["values"][-1]) == {"@", "name", "function", "arguments", "type"}
    assert codec.decode(document) == count


LITERALS = (
    st.builds(Literal, st.floats(allow_nan=False), st.just(DOUBLE))
    | st.builds(Literal, st.decimals(allow_nan=False, allow_infinity=False), st.just(DOUBLE))
    | st.builds(Literal, st.binary(max_size=8), st.just(BYTES))
    | st.builds(Literal, st.text(max_size=8) | st.integers() | st.booleans() | st.none(), st.just(STRING))
)


@settings(max_examples=200, derandomize=True)
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
        (document | {"version": 3}, "its version is 3, but this release supports at most 2"),
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


def test_a_query_that_is_replaced_is_cut_as_it_was() -> None:
    """One of release 0.1.0 has a Spark query for each operation with state, and goes on with their states."""
    (query,) = [each for each in QUERIES if each.text.startswith("CREATE TABLE of_a_table ")]
    new = query.plan
    project = new.root
    assert isinstance(project, nodes.Project) and isinstance(project.child, nodes.Aggregate)
    changes = project.child.child
    assert isinstance(changes, nodes.Changes) and not new.inner
    config = {"ksql.service.id": "default_"}
    topic = "_confluent-ksql-default_query_CTAS_1-0-groupby"
    exchange = nodes.Exchange(changes, changes.group, 0, topic)
    old = replace(new, root=replace(project, child=replace(project.child, child=exchange)))
    assert planner.lower(query.bound.root, new.sink, config, "CTAS_1", running=old).root == old.root
    assert planner.lower(query.bound.root, new.sink, config, "CTAS_1", running=new).root == new.root
    assert planner.lower(query.bound.root, new.sink, config, "CTAS_1").root == new.root
