"""Lowering of bound expressions to Spark SQL text: what the Spark layer puts into selectExpr and expr.

NULL logic lives here (reference §3.2): a comparison with a NULL value is FALSE, while a failed evaluation,
which Spark shows as NULL too, fails the expression around it. Texts of single functions are in the families.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from ksql_spark import __version__
from ksql_spark.errors import KsqlError
from ksql_spark.expressions import (
    Call,
    Case,
    Cast,
    ColumnRef,
    Expression,
    FieldRef,
    Lambda,
    LambdaRef,
    Literal,
    MakeStruct,
)
from ksql_spark.functions import registry
from ksql_spark.functions.spark_text import (
    SESSION_SETTINGS,
    cast,
    constant,
    is_castable,
    spark_type,
    string,
    variable,
)
from ksql_spark.functions.spec import OnNull
from ksql_spark.types import Decimal, Map, quote_identifier


class Nullness(Enum):
    """What a NULL result of an expression means."""

    NEVER = "NEVER"
    #: NULL is a value
    VALUE = "VALUE"
    #: NULL is a failed evaluation
    ERROR = "ERROR"


#: cannot fail on operands that are there
_TOTAL_LOGIC = frozenset({"AND", "OR", "NOT"})


def nullness(node: Expression) -> Nullness:
    """Whether ``node`` may be NULL, and what that means."""
    match node:
        case Literal(value):
            return Nullness.VALUE if value is None else Nullness.NEVER
        case MakeStruct():
            return Nullness.NEVER
        case Call(name, arguments):
            inner = {nullness(a) for a in arguments}
            on_null = registry.require(name).on_null
            if on_null is OnNull.VALUE:
                return Nullness.VALUE
            if on_null is OnNull.ERROR:
                return (
                    Nullness.NEVER if name in _TOTAL_LOGIC and inner == {Nullness.NEVER} else Nullness.ERROR
                )
            return Nullness.ERROR if Nullness.ERROR in inner else Nullness.NEVER
    return Nullness.VALUE


def literal(node: Literal) -> str:
    """The Spark SQL text of a constant."""
    return constant(node.value, node.type)


def lower(node: Expression) -> str:
    """The Spark SQL text of ``node``: atomic or in parentheses, deterministic.

    Raises:
        KsqlError: NOT_DONE_YET for a function without a lowering, FUNCTION_UNKNOWN.
    """
    match node:
        case ColumnRef(name):
            return quote_identifier(name)
        case Literal():
            return literal(node)
        case LambdaRef(name):
            return quote_identifier(name)
        case Lambda(parameters, body):
            names = ", ".join(quote_identifier(p) for p in parameters)
            # Spark's grammar takes no brackets around a single one
            return f"{names if len(parameters) == 1 else f'({names})'} -> {lower(body)}"
        case Cast(Literal(str() as text, _), Decimal() as wanted) if text.strip() == text:
            return f"cast({string(text)} as {spark_type(wanted)})"
        case Cast(operand, type_):
            return cast(lower(operand), operand.type, type_)
        case FieldRef(operand, field):
            return f"{lower(operand)}.{quote_identifier(field)}"
        case MakeStruct(fields):
            return f"named_struct({', '.join(f'{string(n)}, {lower(e)}' for n, e in fields)})"
        case Case():
            return _lower_case(node)
        case Call():
            return _lower_call(node)
    raise TypeError(f"no lowering for {node!r}")


def lower_condition(node: Expression) -> str:
    """The text of ``node`` for WHERE and HAVING, where FALSE and NULL both mean: not this row.

    Comparisons stay bare here, so that Spark can push them down.
    """
    match node:
        case Call("AND", (left, right)):
            return f"({lower_condition(left)} and {lower_condition(right)})"
        case Call(name, arguments) if registry.require(name).on_null is OnNull.FALSE:
            return _spark(node, [lower(a) for a in arguments])
    return lower(node)


def _lower_case(node: Case) -> str:
    whens = []
    for condition, result in node.whens:
        text = lower(condition)
        if nullness(condition) is Nullness.ERROR:
            whens.append(f"when {text} is null then NULL")
        whens.append(f"when {text} then {lower(result)}")
    default = "" if node.default is None else f" else {lower(node.default)}"
    return f"(case {' '.join(whens)}{default} end)"


def _lower_call(node: Call) -> str:
    spec = registry.require(node.function)
    texts = [lower(a) for a in node.arguments]
    if spec.on_null is OnNull.ERROR and node.function in ("AND", "OR"):
        if nullness(node.arguments[0]) is Nullness.NEVER:
            return f"({texts[0]} {node.function.lower()} {texts[1]})"
        return _spark(node, texts)
    bare = _spark(node, texts)
    lambdas = [a for a in node.arguments if isinstance(a, Lambda)]
    if lambdas and nullness(lambdas[0].body) is Nullness.ERROR:
        bare = _failing_with_an_element(node, texts, bare)
    if spec.on_null not in (OnNull.FALSE, OnNull.NEVER):
        return bare
    kinds = [nullness(a) for a in node.arguments]
    failures = [t for t, k in zip(texts, kinds, strict=True) if k is Nullness.ERROR]
    if spec.on_null is OnNull.FALSE:
        if Nullness.VALUE not in kinds:
            return bare
        bare = f"coalesce({bare}, false)"
    if not failures:
        return bare
    failed = " or ".join(f"{t} is null" for t in failures)
    return f"if({failed}, NULL, {bare})"


def _failing_with_an_element(node: Call, texts: Sequence[str], bare: str) -> str:
    """A call whose lambda fails for one element fails as a whole; REDUCE and TRANSFORM of maps do anyway."""
    collection, step = texts[:2]
    v = variable(*texts)
    is_map = isinstance(node.arguments[0].type, Map)
    match node.function, is_map:
        case "TRANSFORM", False:
            return f"ksql.complete({bare})"
        case "FILTER", False:
            return f"if(exists({collection}, {step} is null), NULL, {bare})"
        case "FILTER", True:
            kept = f"map_values(transform_values({collection}, {step}))"
            return f"if(exists({kept}, {v} -> {v} is null), NULL, {bare})"
    return bare


def _spark(node: Call, texts: Sequence[str]) -> str:
    spec = registry.require(node.function)
    if spec.spark is None:
        raise KsqlError("NOT_DONE_YET", what=f"The function {spec.name}", version=__version__)
    return spec.spark(texts, [a.type for a in node.arguments])


__all__ = [
    "SESSION_SETTINGS",
    "Nullness",
    "cast",
    "is_castable",
    "literal",
    "lower",
    "lower_condition",
    "nullness",
    "spark_type",
]
