"""Failed evaluations that leave a trace: a lowering that tells, for each row, which expression failed.

What it means to fail is in reference §3.2: an operand of an operator is NULL, a value cannot be cast, a
function has no answer. For Spark all of these are NULL. So an expression that may fail becomes
``coalesce(it, told)``: where it gives a value nothing else is evaluated; where it gives NULL, ``told``
finds out whether that is a failure, reports it, and is NULL too. A failure is reported where it is caught:
operators pass it on to what they stand in, arguments of functions, operands of casts and elements of
constructors become NULL.

Failures inside ARRAY, MAP and STRUCT casts are not seen, nor those of functions whose NULL may mean
something else. User functions report theirs themselves, with what they said (spark/python_calls.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ksql_spark.expressions import Call, Cast, Expression, Lambda, Literal, children
from ksql_spark.functions import registry
from ksql_spark.functions.lowering import Nullness, lower, nullness
from ksql_spark.functions.spec import OnNull
from ksql_spark.functions.user import is_user_call
from ksql_spark.types import BIGINT, BOOLEAN, INTEGER, STRING, Decimal, Primitive, SqlType, is_numeric

#: (the expression that failed, why it can have: one sentence) -> Spark SQL text, a BOOLEAN, that reports it
Report = Callable[[Expression, str], str]

#: functions that have an answer to all arguments but bad ones: NULL for arguments that are there is a failure
FAILING = frozenset(
    {
        "BIGINT_FROM_BYTES", "CONVERT_TZ", "DATETOSTRING", "DOUBLE_FROM_BYTES", "ENCODE", "FILTER",
        "FORMAT_DATE", "FORMAT_TIME", "FORMAT_TIMESTAMP", "FROM_BYTES", "GENERATE_SERIES",
        "GEO_DISTANCE", "INT_FROM_BYTES", "JSON_CONCAT", "JSON_ITEMS", "MASK_KEEP_LEFT",
        "MASK_KEEP_RIGHT", "MASK_LEFT", "MASK_RIGHT", "PARSE_DATE", "PARSE_TIME", "PARSE_TIMESTAMP",
        "REGEXP_REPLACE", "REGEXP_SPLIT_TO_ARRAY", "STRINGTODATE", "STRINGTOTIMESTAMP",
        "TIMESTAMPTOSTRING", "TO_BYTES", "TRANSFORM", "URL_DECODE_PARAM", "URL_ENCODE_PARAM",
    }
)  # fmt: skip


def lower_telling(node: Expression, report: Report, *, at_root: bool = True) -> str:
    """The Spark SQL text of ``node`` as lowering.lower gives it, which reports what fails on the way.

    Args:
        node: a bound expression.
        report: makes the text that is evaluated once for each failure.
        at_root: whether a failure of ``node`` itself is reported, not only those of parts that it catches.
    """
    text = lower(node)
    seen = set()
    # outer ones first: an inner one is then found within the outer one, in the part that is evaluated anyway
    for part in _catching(node, is_caught=at_root):
        plain = lower(part)
        if plain not in seen:
            seen.add(plain)
            told = " and ".join([*_conditions(part), report(part, _why(part))])
            # lowerings repeat short texts; the first one is what decides about the rest
            text = text.replace(plain, f"coalesce({plain}, if({told}, NULL, NULL))", 1)
    return text


def _catching(node: Expression, *, is_caught: bool) -> Iterator[Expression]:
    """The parts of ``node`` whose failures go no further; ``is_caught``: ``node`` itself may be one."""
    if is_caught and _can_fail(node):
        yield node
    for child in children(node):
        yield from _catching(child, is_caught=not _passes_on(node, child))


def _passes_on(node: Expression, operand: Expression) -> bool:
    """Whether a failure of ``operand`` makes ``node`` fail."""
    if not isinstance(node, Call) or nullness(node) is not Nullness.ERROR:
        return False
    on_null = registry.require(node.function).on_null
    return on_null is OnNull.ERROR or nullness(operand) is Nullness.ERROR


def _can_fail(node: Expression) -> bool:
    match node:
        case Cast(Literal(), _):
            return False
        case Cast(operand, type_):
            return _cast_can_fail(operand.type, type_)
        case Call() if is_user_call(node):
            return False
        case Call(name, _):
            return nullness(node) is Nullness.ERROR or name in FAILING
    return False


def _cast_can_fail(source: SqlType, target: SqlType) -> bool:
    if source == STRING:
        return target not in (STRING, BOOLEAN) and isinstance(target, (Primitive, Decimal))
    if isinstance(target, Decimal):
        whole = target.precision - target.scale
        match source:
            case Decimal(precision, scale):
                return precision - scale > whole
            case Primitive("INTEGER"):
                return whole < 10
            case Primitive("BIGINT"):
                return whole < 19
        return is_numeric(source)
    return isinstance(source, Decimal) and target in (INTEGER, BIGINT)


def _conditions(node: Expression) -> list[str]:
    """Texts that are true where a NULL of ``node`` is a failure."""
    if isinstance(node, Call) and nullness(node) is Nullness.ERROR:
        return []
    operands = (c for c in children(node) if not isinstance(c, (Lambda, Literal)))
    return [f"({lower(c)}) is not null" for c in operands if nullness(c) is not Nullness.NEVER]


def _why(node: Expression) -> str:
    match node:
        case Cast(operand, type_):
            return f"There is a value that cannot be cast from {operand.type} to {type_}."
        case Call(name, _) if name in ("/", "%"):
            return "An operand is NULL, the divisor is zero, or the result does not fit its type."
        case Call(name, _) if name in ("+", "-", "*", "NEG"):
            return "An operand is NULL, or the result does not fit its type."
        case Call(name, _) if nullness(node) is Nullness.ERROR:
            return "An operand is NULL or could not be computed."
        case Call(name, _):
            return f"{name} has no result for its arguments."
    raise TypeError(f"{node!r} cannot fail")
