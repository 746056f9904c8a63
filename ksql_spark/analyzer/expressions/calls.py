"""Typed calls of bound operands: of operators and functions, comparisons, fields."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from ksql_spark.analyzer.base import timestamp_text
from ksql_spark.analyzer.base.failures import failure, invalid, placed_at
from ksql_spark.analyzer.base.scope import Scope
from ksql_spark.analyzer.expressions.coercion import coerce
from ksql_spark.analyzer.expressions.untyped import typed_text
from ksql_spark.errors import KsqlError, nearest
from ksql_spark.expressions import (
    Call,
    Cast,
    Expression,
    FieldRef,
    Literal,
    TryCast,
)
from ksql_spark.functions import registry
from ksql_spark.grammar.words import UNIT_MS
from ksql_spark.types import (
    BIGINT,
    CALENDAR_INTERVAL,
    DATE,
    INTEGER,
    INTERVAL,
    NULL,
    STRING,
    TIMESTAMP,
    Null,
    SqlType,
    Struct,
    contains_variant,
)

#: ksqlDB's names of comparisons in messages
_COMPARISON_NAMES = {
    "=": "EQUAL", "<>": "NOT_EQUAL", "<": "LESS_THAN", "<=": "LESS_THAN_OR_EQUAL",
    ">": "GREATER_THAN", ">=": "GREATER_THAN_OR_EQUAL",
    "IS DISTINCT FROM": "IS_DISTINCT_FROM", "IS NOT DISTINCT FROM": "IS_NOT_DISTINCT_FROM",
}  # fmt: skip


def typed_null(node: Expression, type_: SqlType) -> Expression:
    """``node``; the literal NULL gets ``type_``, or STRING if that is NULL, too."""
    return Cast(node, STRING if isinstance(type_, Null) else type_) if isinstance(node.type, Null) else node


def call(name: str, arguments: Sequence[Expression], node: exp.Expr | None) -> Call:
    """A call of a scalar function or operator, with its overload chosen and its arguments coerced."""
    literals = [e.value if isinstance(e, Literal) else None for e in arguments]
    with placed_at(node):
        resolved = registry.resolve(name, [e.type for e in arguments], literals)
    coerced = tuple(coerce(e, t) for e, t in zip(arguments, resolved.parameter_types, strict=True))
    return Call(resolved.spec.name, coerced, resolved.result_type)


def with_interval(symbol: str, left: Expression, right: Expression) -> tuple[Expression, Expression]:
    """The operands of + - *, in the order and types that these have for times and INTERVALs (§3.5)."""
    intervals = (INTERVAL, CALENDAR_INTERVAL)
    if symbol in "+*" and left.type in intervals and right.type not in intervals:
        left, right = right, left
    if symbol == "*" and right.type in intervals and left.type in (INTEGER, BIGINT):
        return right, coerce(left, BIGINT)
    if symbol == "-" and {left.type, right.type} == {DATE, TIMESTAMP}:
        return coerce(left, TIMESTAMP), coerce(right, TIMESTAMP)
    if right.type != INTERVAL:
        return left, right
    if left.type == BIGINT:
        return left, Literal(right.value, BIGINT) if isinstance(right, Literal) else Cast(right, BIGINT)
    is_days = isinstance(right, Literal) and right.value % UNIT_MS["DAYS"] == 0
    return (left if left.type != DATE or is_days else Cast(left, TIMESTAMP)), right


def compare(symbol: str, left: Expression, right: Expression, node: exp.Expr, scope: Scope) -> Expression:
    """``left symbol right``, both coerced to the type in which they are compared (reference §3.3).

    Raises:
        KsqlError: COMPARISON_NULL, COMPARISON_TYPES.
    """
    if scope.untyped:
        left, right = typed_text(left, right.type, node), typed_text(right, left.type, node)
    if scope.ansi and not symbol.startswith("IS "):
        left, right = typed_null(left, right.type), typed_null(right, left.type)
    if NULL in (left.type, right.type) and not symbol.startswith("IS "):
        raise failure(
            "COMPARISON_NULL", node, clause=scope.clause,
            left=_shown_operand(left), symbol=symbol, right=_shown_operand(right),
        )  # fmt: skip
    try:
        return with_times(call(symbol, (left, right), node), node)
    except KsqlError as error:
        if error.condition != "FUNCTION_ARGUMENTS":
            raise
        is_variant = any(contains_variant(e.type) for e in (left, right))
        raise failure(
            "COMPARISON_TYPES", node, clause=scope.clause, left=scope.show(left), left_type=left.type,
            right=scope.show(right), right_type=right.type, operator=_COMPARISON_NAMES[symbol],
            hint=registry.NOT_COMPARED if is_variant else error.hint,
        ) from None  # fmt: skip


def _shown_operand(node: Expression) -> str:
    return "NULL" if isinstance(node.type, Null) else str(node.type)


def with_times(comparison: Call, node: exp.Expr) -> Call:
    """``comparison``, unless a literal in it is not a date or time: no row would ever match."""
    for argument in comparison.arguments:
        match argument:
            case TryCast():
                continue  # NULL instead
            case Cast(Literal(str(text)), type_) if str(type_) in timestamp_text.FORMS:
                if not timestamp_text.is_possible(text, str(type_)):
                    raise no_time(text, str(type_), node)
    return comparison


def no_time(text: str, kind: str, node: exp.Expr) -> KsqlError:
    """The error for a text that is no date or time."""
    hint = timestamp_text.advice(text, kind)
    return failure("TIMESTAMP_TEXT", node, text=text, kind=kind.lower(), hint=hint)


def dereference(operand: Expression, field: str, node: exp.Expr) -> FieldRef:
    """``operand->field``.

    Raises:
        KsqlError: FIELD_UNKNOWN with the nearest name; INVALID_STATEMENT if ``operand`` is not a STRUCT.
    """
    if not isinstance(operand.type, Struct):
        raise invalid(f"-> needs a STRUCT, got {operand} ({operand.type}).", node)
    member = operand.type.field(field)
    if member is None:
        names = [f.name for f in operand.type.fields]
        near = nearest(field, names)
        hint = f"Did you mean {near}?" if near else f"There are: {', '.join(names)}."
        raise failure("FIELD_UNKNOWN", node, name=field, operand=operand, hint=hint)
    return FieldRef(operand, field, member.type)
