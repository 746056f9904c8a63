"""Every example of every spec, on Spark: scalars and operators in one projection, aggregates one by one."""

from __future__ import annotations

from typing import Any

import pytest

from ksql_spark.expressions import ColumnRef, Expression
from ksql_spark.functions import registry
from ksql_spark.functions.lowering import lower
from ksql_spark.functions.spark_text import spark_type
from ksql_spark.functions.spec import Kind, Spec, expression
from ksql_spark.types import Array

from .binding import bind, call, canonical, same

pytestmark = pytest.mark.spark

PROJECTED = [
    (spec, example)
    for spec in registry.all_specs()
    for example in spec.examples
    if spec.spark is not None and spec.kind is not Kind.AGGREGATE
]
AGGREGATED = [
    (spec, example)
    for spec in registry.all_specs()
    for example in spec.examples
    if spec.spark is not None and spec.kind is Kind.AGGREGATE
]


def _title(spec: Spec, bound: Expression) -> str:
    return f"{spec.name}: {bound}"


NO_FOLDING = "org.apache.spark.sql.catalyst.optimizer.ConstantFolding"
#: how many examples go into one projection: compiling very wide ones takes Spark longer than several queries
_BATCH = 40


@pytest.mark.parametrize("start", range(0, len(PROJECTED), _BATCH))
def test_scalar_and_operator_examples(local_spark: Any, start: int) -> None:
    examples = PROJECTED[start : start + _BATCH]
    bound = [call(spec.name, *example.args) for spec, example in examples]
    texts = [lower(b) for b in bound]
    columns = [f"{t} as c{i}" for i, t in enumerate(texts)]
    # folding would run the interpreted form of every function; queries run the compiled one
    local_spark.conf.set("spark.sql.optimizer.excludedRules", NO_FOLDING)
    try:
        rows: list[Any] = list(local_spark.range(1).selectExpr(*columns).collect()[0])
    except Exception:
        rows = []
        for column in columns:
            local_spark.conf.set("spark.sql.optimizer.excludedRules", NO_FOLDING)
            rows.append(_alone(local_spark, column))
    finally:
        local_spark.conf.unset("spark.sql.optimizer.excludedRules")
    wrong = []
    for (spec, example), node, text, raw in zip(examples, bound, texts, rows, strict=True):
        type_ = Array(node.type) if spec.kind is Kind.TABLE else node.type
        got = raw if isinstance(raw, Exception) else canonical(raw, type_)
        if not same(got, example.result):
            wrong.append(f"{_title(spec, node)}\n  gave {got!r}, not {example.result!r}\n  by {text}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("start", range(0, len(PROJECTED), _BATCH))
def test_result_types_are_spark_s(local_spark: Any, start: int) -> None:
    examples = PROJECTED[start : start + _BATCH]
    bound = [call(spec.name, *example.args) for spec, example in examples]
    frame = local_spark.range(1).selectExpr(*(f"{lower(b)} as c{i}" for i, b in enumerate(bound)))
    wrong = []
    for (spec, _), node, field in zip(examples, bound, frame.schema, strict=True):
        type_ = Array(node.type) if spec.kind is Kind.TABLE else node.type
        wanted, got = spark_type(type_).replace("`", ""), field.dataType.simpleString()
        if wanted != got:
            wrong.append(f"{node} is {got}, not {wanted}, by {lower(node)}")
    assert not wrong, "\n".join(wrong)


def _alone(session: Any, column: str) -> Any:
    """The value of one column; where all is constant, errors can only be caught by folding."""
    for excluded in (session.conf.get("spark.sql.optimizer.excludedRules"), ""):
        session.conf.set("spark.sql.optimizer.excludedRules", excluded)
        try:
            return session.range(1).selectExpr(column).collect()[0][0]
        except Exception as error:
            failure = AssertionError(str(error)[:300])
    return failure


@pytest.mark.parametrize(
    ("spec", "example"), AGGREGATED, ids=[f"{s.name}-{i}" for i, (s, _) in enumerate(AGGREGATED)]
)
def test_aggregate_examples(local_spark: Any, spec: Spec, example: Any) -> None:
    # a list is a column, anything else a constant argument
    columns = [expression(a) if isinstance(a, list) else None for a in example.args]
    arguments: list[Expression] = []
    fields = []
    for i, (given, column) in enumerate(zip(example.args, columns, strict=True)):
        if column is None:
            arguments.append(expression(given))
            continue
        assert isinstance(column.type, Array)
        arguments.append(ColumnRef(f"A{i}", column.type.element))
        fields.append(f"{lower(column)} as A{i}")
    node = bind(spec.name, arguments)
    zipped = f"inline(arrays_zip({', '.join(f'A{i}' for i, c in enumerate(columns) if c is not None)}))"
    frame = local_spark.range(1).selectExpr(*fields).selectExpr(zipped)
    result = frame.selectExpr(lower(node))
    assert result.schema[0].dataType.simpleString() == spark_type(node.type).replace("`", "")
    got = canonical(result.collect()[0][0], node.type)
    assert same(got, example.result), f"gave {got!r}, not {example.result!r}, by {lower(node)}"
