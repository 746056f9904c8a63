"""Aggregates in the operator that queries use, record by record, against plain Python models of them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import permutations
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import DataFrame

from ksql_spark.expressions import ColumnRef, Expression, Literal
from ksql_spark.functions import registry
from ksql_spark.functions.lowering import lower
from ksql_spark.functions.spark_text import spark_type
from ksql_spark.functions.spec import expression
from ksql_spark.plan.clauses import AggregateCall
from ksql_spark.spark import aggregate_calls
from ksql_spark.types import BOOLEAN, Array, Map, SqlType, Struct, quote_identifier

from .aggregate_models import COLUMNS, MODELS, Model, Row, State
from .binding import bind, canonical

pytestmark = pytest.mark.spark

GAP_MS = 10
#: one Spark query runs for each example, so failures are shown as they are found
FEW = settings(
    max_examples=6,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
)

DDL = ", ".join(f"{name} {spark_type(type_)}" for name, type_ in COLUMNS.items()) + ", sign int"
NUMBERS = st.none() | st.integers(-3, 3) | st.sampled_from([2**31 - 1, -(2**31)])
ROWS = st.fixed_dictionaries(
    {
        "i": NUMBERS,
        "b": NUMBERS | st.just(2**63 - 1),
        "d": st.none() | st.integers(-4, 4).map(lambda n: 1e6 + n / 4),
        "s": st.none() | st.sampled_from(["a", "b", "ä", "", "😀", "\uff5e"]),
        "l": st.none() | st.lists(st.none() | st.integers(0, 2), max_size=2),
        "t": st.none() | st.booleans(),
        "m": st.none() | st.sampled_from([{}, {"x": 1}, {"x": 1, "y": 2}, {"y": 2, "x": 1}]),
    }
)


def _call(model: Model) -> Any:
    arguments: list[Expression] = [
        ColumnRef(a, COLUMNS[a]) if a in COLUMNS else expression(a) for a in model.arguments
    ]
    return bind(model.function, arguments)


def _updates(
    session: Any,
    models: Sequence[Model],
    rows: Sequence[tuple[int, Row, int]],
    kind: str = "NONE",
    condition: Expression | None = None,
) -> list[list[Any]]:
    """What the aggregates give after each row (time, row, sign); sign 0: rows are never taken back.

    ``condition``: FILTER of all of them.
    """
    has_sign = any(sign for *_, sign in rows)
    results: list[str] = []
    types: list[SqlType] = []
    inputs: dict[str, SqlType] = dict(COLUMNS)
    columns = [*COLUMNS]
    for number, model in enumerate(models):
        node = _call(model)
        spec = registry.require(model.function)
        lowering = spec.spark_merged if kind == "SESSION" and spec.spark_merged else spec.spark
        texts = [lower(a) for a in node.arguments]
        if condition is not None:
            call = AggregateCall("c", model.function, node.arguments, node.type, condition=condition)
            texts = aggregate_calls.arguments(
                call, number, lambda e, _: lower(e), lambda _: "", inputs, columns
            )[: max(1, len(texts))]
        texts += model.settings
        if has_sign:
            lowering, texts = spec.spark_table, [*texts, "`sign`"]
        assert lowering is not None
        text = lowering(texts, [a.type for a in node.arguments])
        results.append(f"cast({text} as {spark_type(node.type)}) as c{len(results)}")
        types.append(node.type)
    operators = session._jvm.org.ksqlspark.state.KeyedOperators
    aggregator = operators.aggregator(_template(session, *results, inputs=inputs), False, 0)
    data = [(ts, *(row[name] for name in COLUMNS), sign) for ts, row, sign in rows]
    packed = f"ksql.pack(struct({', '.join([*inputs, 'sign'])}))"
    given = session.createDataFrame(data, f"ts bigint, {DDL}").selectExpr("ts", *columns, "sign")
    frame = given.selectExpr(
        "0 as task", "X'01' as k", "0 as side", "ts", f"{packed} as v", "cast(NULL AS binary) AS h"
    )
    bounds = (kind, GAP_MS, 0, "", "", 10**9)
    done = operators.aggregate(frame._jdf, aggregator, *bounds, False, False, 0, 0)
    columns = ", ".join(f"c{i} {spark_type(t)}" for i, t in enumerate(types))
    given = (
        DataFrame(done, session)
        .filter("l is not null")
        .selectExpr(f"ksql.{quote_identifier(f'unpack:{columns}')}(l) as r")
    )
    return [[canonical(v, t) for v, t in zip(r[0], types, strict=True)] for r in given.collect()]


def _template(session: Any, *aggregates: str, inputs: Mapping[str, SqlType] = COLUMNS) -> Any:
    """The JVM's frame of these aggregates over the columns."""
    ddl = ", ".join(f"{name} {spark_type(type_)}" for name, type_ in inputs.items()) + ", sign int"
    empty = session._jsparkSession.createDataFrame(
        session._jsparkSession.emptyDataFrame().javaRDD(),
        session._jvm.org.apache.spark.sql.types.StructType.fromDDL(ddl),
    )
    return DataFrame(empty, session).selectExpr(*aggregates)._jdf


def test_each_aggregate_has_its_own_part_of_the_buffer(local_spark: Any) -> None:
    operators = local_spark._jvm.org.ksqlspark.state.KeyedOperators
    calls = ("count(1)", "count(1)", "if(min(i) = max(i), min(i), 0)", "cast(sum(i) as double) / count(i)")
    condition = "count(1) > 1 and sum(i) between 1 and 2 and max(s) > 'a'"
    counted, extremes = "count(count BIGINT NOT NULL)", "min(min INT), max(max INT)"
    layout = operators.aggregator(_template(local_spark, *calls, condition), True, 0).layout()
    assert list(layout) == [counted, counted, extremes, f"sum(sum BIGINT), {counted}", "max(max STRING)"]
    assert list(operators.aggregator(_template(local_spark, *calls), False, 0).layout()) == list(layout)[:4]


def test_the_state_of_a_function_of_ours_has_a_version(local_spark: Any) -> None:
    operators = local_spark._jvm.org.ksqlspark.state.KeyedOperators
    layout = operators.aggregator(
        _template(local_spark, "ksql.`collect_list:9`(struct(i))"), False, 0
    ).layout()
    assert list(layout) == ["collect_list:9 version 1(buf BINARY)"]


def _is_like(got: Any, wanted: Any, type_: SqlType) -> bool:
    """Equal; doubles nearly so, since every way to add them up rounds in its own way."""
    match got, wanted, type_:
        case float(), float(), _:
            if math.isnan(wanted):
                return math.isnan(got)
            return math.isclose(got, wanted, rel_tol=1e-9, abs_tol=1e-6)
        case list(), list(), Array(element):
            return len(got) == len(wanted) and all(
                _is_like(a, b, element) for a, b in zip(got, wanted, strict=True)
            )
        case dict(), dict(), Map() | Struct():
            return bool(got == wanted)
    return type(got) is type(wanted) and bool(got == wanted)


def _check(models: Sequence[Model], got: Sequence[list[Any]], states: Sequence[Sequence[State]]) -> None:
    assert len(got) == len(states)
    for at, (values, held) in enumerate(zip(got, states, strict=True)):
        for model, value, state in zip(models, values, held, strict=True):
            wanted = model.result(state)
            assert _is_like(value, wanted, _call(model).type), (
                f"{model} gave {value!r}, not {wanted!r}, after row {at}"
            )


@FEW
@given(st.lists(ROWS, min_size=1, max_size=12))
def test_each_update_is_that_of_the_model(local_spark: Any, values: list[dict[str, Any]]) -> None:
    rows = [Row(i, v) for i, v in enumerate(values)]
    states: list[list[State]] = []
    held: list[State] = [[] for _ in MODELS]
    for row in rows:
        held = [model.add(state, row) for model, state in zip(MODELS, held, strict=True)]
        states.append(held)
    _check(MODELS, _updates(local_spark, MODELS, [(0, row, 0) for row in rows]), states)


@FEW
@given(st.lists(ROWS, min_size=1, max_size=12))
def test_filter_leaves_rows_out(local_spark: Any, values: list[dict[str, Any]]) -> None:
    rows = [Row(i, v) for i, v in enumerate(values)]
    states: list[list[State]] = []
    held: list[State] = [[] for _ in MODELS]
    for row in rows:
        if row["t"]:
            held = [model.add(state, row) for model, state in zip(MODELS, held, strict=True)]
        states.append(held)
    condition = ColumnRef("t", BOOLEAN)
    got = _updates(local_spark, MODELS, [(0, row, 0) for row in rows], condition=condition)
    _check(MODELS, got, states)


@FEW
@given(st.lists(st.tuples(st.integers(0, 60), ROWS), min_size=1, max_size=12))
def test_sessions_merge_as_the_models_do(local_spark: Any, values: list[tuple[int, dict[str, Any]]]) -> None:
    rows = [(ts, Row(i, v)) for i, (ts, v) in enumerate(values)]
    sessions: list[tuple[int, int, list[State]]] = []
    states = []
    for ts, row in rows:
        near = sorted(s for s in sessions if s[1] >= ts - GAP_MS and s[0] <= ts + GAP_MS)
        held = [
            model.add(model.merge([session[2][m] for session in near]), row) for m, model in enumerate(MODELS)
        ]
        sessions = [s for s in sessions if s not in near]
        sessions.append((min([ts, *(s[0] for s in near)]), max([ts, *(s[1] for s in near)]), held))
        states.append(held)
    _check(MODELS, _updates(local_spark, MODELS, [(ts, row, 0) for ts, row in rows], "SESSION"), states)


@FEW
@given(st.lists(ROWS, min_size=1, max_size=6), st.randoms(use_true_random=False))
def test_undo_takes_back_what_was_applied(
    local_spark: Any, values: list[dict[str, Any]], chance: Any
) -> None:
    # a limit that was reached has dropped rows, and nothing can bring them back
    models = [m for m in MODELS if registry.require(m.function).undo and not m.settings]
    changes: list[tuple[int, Row, int]] = []
    left = [Row(i, v) for i, v in enumerate(values)]
    applied: list[Row] = []
    while left or applied:
        if left and (not applied or chance.random() < 0.6):
            row = left.pop(0)
            applied.append(row)
            changes.append((0, row, 1))
        else:
            row = applied.pop(chance.randrange(len(applied)))
            changes.append((0, row, -1))
    states: list[list[State]] = []
    held: list[State] = [[] for _ in models]
    for _, row, sign in changes:
        change = Model.add if sign > 0 else Model.undo
        held = [change(model, state, row) for model, state in zip(models, held, strict=True)]
        states.append(held)
    _check(models, _updates(local_spark, models, changes), states)
    assert all(state == [] for state in states[-1])


def test_every_other_lowering_has_a_model() -> None:
    others = {s.name for s in registry.all_specs() if s.merge or s.spark_table or s.spark_merged}
    assert others == {m.function for m in MODELS}


def test_literals_of_models_stay_literals() -> None:
    node = _call(next(m for m in MODELS if m.function == "TOPK"))
    assert isinstance(node.arguments[-1], Literal)


def _depends_on_order(model: Model) -> bool:
    """Whether some rows give another result in another order."""
    given = [
        {"i": i, "b": i, "d": float(i), "s": text, "l": [i], "m": {text: i}, "t": i > 1}
        for i, text in ((1, "a"), (1, "b"), (2, "c"), (2, "d"))
    ]
    results = []
    for order in permutations(given):
        state: list[Row] = []
        for number, values in enumerate(order):
            state = model.add(state, Row(number, values))
        results.append(model.result(state))
    return any(result != results[0] for result in results)


def test_aggregates_that_depend_on_the_order_of_rows_say_so() -> None:
    dependent = {model.function for model in MODELS if _depends_on_order(model)}
    # of more than 1000 values those that came first
    assert dependent | {"HISTOGRAM"} == {spec.name for spec in registry.all_specs() if spec.by_arrival}
