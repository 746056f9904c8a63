"""A call gives the same for constants, which Spark interprets ahead, and for columns, in generated code.

Lowerings take short cuts for constants (patterns, encodings, positions), and INSERT VALUES evaluates without
a job: what differs there would differ between a constant and a stream. Values are generated: NULLs, text
beyond ASCII and beyond the Basic Multilingual Plane, extremes, empty collections, leap days.
"""

from __future__ import annotations

from decimal import Decimal as PythonDecimal
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from ksql_spark.expressions import Call, ColumnRef, Expression, Lambda, Literal
from ksql_spark.functions import registry
from ksql_spark.functions.lowering import lower
from ksql_spark.functions.spec import Example, Kind, Spec
from ksql_spark.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    INTEGER,
    STRING,
    TIME,
    TIMESTAMP,
    VARIANT,
    Array,
    Decimal,
    Map,
    Null,
    SqlType,
    Struct,
)

from .binding import call, canonical, same

pytestmark = pytest.mark.spark

GENERATED = settings(
    deadline=None,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
)
#: how many calls go into one projection
_BATCH = 40
NO_FOLDING = ",".join(
    f"org.apache.spark.sql.catalyst.optimizer.{rule}"
    for rule in ("ConstantFolding", "FoldablePropagation", "CollapseProject", "ConvertToLocalRelation")
)
#: their results grow with a number: they get small ones
_GROWING = {"LPAD", "RPAD", "GENERATE_SERIES"}
#: what they give is not a matter of their arguments alone
_PASSING = {"UUID", "UNIX_DATE", "UNIX_TIMESTAMP"}

CALLS: list[tuple[Spec, Example]] = [
    (spec, example)
    for spec in registry.all_specs()
    for example in spec.examples
    if spec.spark is not None and spec.kind in (Kind.SCALAR, Kind.OPERATOR) and spec.name not in _PASSING
]

_DAY_MS = 86_400_000
_SMALL = st.integers(-5, 12)
_TEXTS = st.sampled_from(
    [
        "",
        "a",
        "Ab1 -",
        "straße",
        "ΑΣ",
        "a\nb",
        " \t x ",
        "😀",
        "a😀b😀",
        "\uff5e",
        "\x00",
        "1",
        "-7.5",
        "2020-02-29",
    ]
)
_BASIC: dict[SqlType, st.SearchStrategy[Any]] = {
    BOOLEAN: st.booleans(),
    INTEGER: _SMALL | st.sampled_from([2**31 - 1, -(2**31)]),
    BIGINT: _SMALL | st.sampled_from([2**63 - 1, -(2**63)]),
    DOUBLE: st.sampled_from([0.0, 1.0, -1.5, 2.5, 1e308, 5e-324, float("inf"), float("nan"), 1234.5678]),
    STRING: _TEXTS | st.text("ab\u00e4\u4e2d😀 .,", max_size=8),
    BYTES: st.binary(max_size=9) | st.just(b"\xff\x80\x00"),
    # 29 February, before 1970, the end of a year
    DATE: st.sampled_from([0, 18321, -719162, 11016, 2932896, -1]),
    TIME: st.sampled_from([0, 1, 43_200_000, _DAY_MS - 1]),
    # a leap day, a moment at which clocks change in Europe, before 1970
    TIMESTAMP: st.sampled_from([0, 1582934400123, 1603587600000, -1, 253402300799999]),
    VARIANT: st.sampled_from(
        ['{"a":[1.50,null],"b":"x"}', '"😀"', '"2020-02-29"', "-7.5", "1", "true", "[]", '["a",1]']
    ),
}


def _values(type_: SqlType) -> st.SearchStrategy[Any]:
    """Values of ``type_``, NULL among them."""
    match type_:
        case Decimal(precision, scale):
            most = 10 ** min(precision, 38) - 1
            inner: st.SearchStrategy[Any] = (st.integers(-99, 99) | st.sampled_from([most, -most])).map(
                lambda n: PythonDecimal(max(-most, min(most, n))).scaleb(-scale)
            )
        case Array(element):
            inner = st.lists(_values(element), max_size=4)
        case Map(key, value):
            keys = _values(key).filter(lambda k: k is not None and k == k)
            inner = st.dictionaries(keys, _values(value), max_size=4)
        case Struct(fields):
            inner = st.fixed_dictionaries({f.name: _values(f.type) for f in fields})
        case Null():
            return st.none()
        case _:
            inner = _BASIC[type_]
    return st.one_of(inner, inner, inner, st.none())


def _drawn(data: st.DataObject, spec: Spec, given_: Expression) -> Expression:
    """The argument of an example, or a generated one of its type."""
    if isinstance(given_, Lambda) or data.draw(st.booleans(), label="as in the example"):
        return given_
    small = spec.name in _GROWING and given_.type in (INTEGER, BIGINT)
    return Literal(data.draw(_SMALL if small else _values(given_.type), label=str(given_.type)), given_.type)


def _is_shown(node: Call) -> bool:
    """Whether the result is compared as text: Python's dates end with the year 9999."""
    return node.type in (DATE, TIMESTAMP)


def _projection(calls: list[Call]) -> list[str]:
    texts = (f"cast({lower(c)} as string)" if _is_shown(c) else lower(c) for c in calls)
    return [f"{text} as c{i}" for i, text in enumerate(texts)]


@pytest.mark.parametrize("start", range(0, len(CALLS), _BATCH))
@settings(GENERATED, max_examples=1)
@given(data=st.data())
def test_constants_and_columns_give_the_same(local_spark: Any, start: int, data: st.DataObject) -> None:
    check(local_spark, start, data)


@pytest.mark.long
@pytest.mark.parametrize("start", range(0, len(CALLS), _BATCH))
@settings(GENERATED, max_examples=10)
@given(data=st.data())
def test_more_constants_and_columns(local_spark: Any, start: int, data: st.DataObject) -> None:
    check(local_spark, start, data)


def check(local_spark: Any, start: int, data: st.DataObject) -> None:
    constant: list[Call] = []
    from_columns: list[Call] = []
    columns: list[str] = []
    for spec, example in CALLS[start : start + _BATCH]:
        bound = call(spec.name, *example.args)
        arguments = tuple(_drawn(data, spec, a) for a in bound.arguments)
        references: list[Expression] = []
        for argument in arguments:
            if isinstance(argument, Lambda):
                references.append(argument)
                continue
            name = f"a{len(columns)}"
            columns.append(f"{lower(argument)} as {name}")
            references.append(ColumnRef(name, argument.type))
        constant.append(Call(bound.function, arguments, bound.type))
        from_columns.append(Call(bound.function, tuple(references), bound.type))
    ahead = local_spark.range(1).selectExpr(*_projection(constant)).collect()[0]
    local_spark.conf.set("spark.sql.optimizer.excludedRules", NO_FOLDING)
    try:
        frame = local_spark.range(1).selectExpr(*columns)
        running = frame.selectExpr(*_projection(from_columns)).collect()[0]
    finally:
        local_spark.conf.unset("spark.sql.optimizer.excludedRules")
    wrong = []
    for node, one, other in zip(constant, ahead, running, strict=True):
        first, second = (value if _is_shown(node) else canonical(value, node.type) for value in (one, other))
        if not same(first, second):
            wrong.append(f"{node} gave {first!r} as a constant, {second!r} of columns")
    assert not wrong, "\n".join(wrong)
