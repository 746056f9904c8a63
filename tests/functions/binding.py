"""Examples as bound expressions, and Spark's values in the form in which examples give theirs."""

from __future__ import annotations

import datetime
import math
from collections.abc import Sequence
from decimal import Decimal as PythonDecimal
from typing import Any

from ksql_spark.expressions import Call, Cast, Expression, Lambda, Literal
from ksql_spark.functions import registry
from ksql_spark.functions.spec import expression
from ksql_spark.types import Array, Function, Map, Primitive, SqlType, Struct

EPOCH = datetime.datetime(1970, 1, 1)


def call(name: str, *args: Any) -> Call:
    """A call as the analyzer would bind it: overload chosen, arguments coerced."""
    return bind(name, [expression(a) for a in args])


def bind(name: str, bound: Sequence[Expression]) -> Call:
    literals = [e.value if isinstance(e, Literal) else None for e in bound]
    overload = registry.resolve(name, [e.type for e in bound], literals)
    arguments = tuple(coerce(e, t) for e, t in zip(bound, overload.parameter_types, strict=True))
    return Call(overload.spec.name, arguments, overload.result_type)


def coerce(node: Expression, type_: SqlType) -> Expression:
    if node.type == type_:
        return node
    if isinstance(node, Lambda):
        assert isinstance(type_, Function)
        return Lambda(node.parameters, coerce(node.body, type_.result), type_)
    return Cast(node, type_)


def canonical(value: Any, type_: SqlType) -> Any:
    """A collected Spark value in the canonical form of ``Example.result``."""
    if value is None:
        return None
    match type_:
        case Primitive("DATE"):
            return value.isoformat()
        case Primitive("TIME"):
            moment = EPOCH + datetime.timedelta(milliseconds=value)
            return moment.strftime("%H:%M:%S.%f")[:-3]
        case Primitive("TIMESTAMP"):
            return value.isoformat(timespec="milliseconds")
        case Primitive("BYTES"):
            return bytes(value)
        case Array(element):
            return [canonical(v, element) for v in value]
        case Map(key, item):
            return {canonical(k, key): canonical(v, item) for k, v in value.items()}
        case Struct(fields):
            return {f.name: canonical(value[i], f.type) for i, f in enumerate(fields)}
    return value


def same(got: Any, expected: Any) -> bool:
    """Equal and of one Python type; NaN equals itself, doubles to 12 digits, decimals with their scale."""
    match got, expected:
        case float(), float():
            return (
                math.isnan(got)
                if math.isnan(expected)
                else math.isclose(got, expected, rel_tol=1e-12, abs_tol=0)
            )
        case PythonDecimal(), PythonDecimal():
            return got == expected and got.as_tuple().exponent == expected.as_tuple().exponent
        case list(), list():
            return len(got) == len(expected) and all(same(a, b) for a, b in zip(got, expected, strict=True))
        case dict(), dict():
            return got.keys() == expected.keys() and all(same(got[k], expected[k]) for k in got)
    return type(got) is type(expected) and bool(got == expected)
