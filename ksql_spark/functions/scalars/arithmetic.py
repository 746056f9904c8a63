"""Operators of arithmetic, of times and intervals, and of concatenation (reference §3.2, §3.5)."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal as PythonDecimal
from typing import Any

from ksql_spark.functions.signatures import signature
from ksql_spark.functions.spark_text import (
    let,
    signed,
    spark_type,
    timestamp_of,
)
from ksql_spark.functions.spec import (
    ALL_DIGITS,
    MAX_BYTES,
    Example,
    Lowering,
    OnNull,
    Resolved,
    Spec,
    Typed,
    operator,
)
from ksql_spark.types import (
    BIGINT,
    BYTES,
    CALENDAR_INTERVAL,
    DATE,
    DOUBLE,
    INTEGER,
    INTERVAL,
    STRING,
    TIME,
    TIMESTAMP,
    Decimal,
    Primitive,
    SqlType,
    is_numeric,
    to_decimal,
    widen_numeric,
)

Types = Sequence[SqlType]
Literals = Sequence[Any]


def _added(a: Decimal, b: Decimal) -> Decimal:
    scale = max(a.scale, b.scale)
    return Decimal(scale + max(a.precision - a.scale, b.precision - b.scale) + 1, scale)


def _multiplied(a: Decimal, b: Decimal) -> Decimal:
    return Decimal(a.precision + b.precision + 1, a.scale + b.scale)


def _divided(a: Decimal, b: Decimal) -> Decimal:
    scale = max(6, a.scale + b.precision + 1)
    return Decimal(a.precision - a.scale + b.scale + scale, scale)


def _remainder(a: Decimal, b: Decimal) -> Decimal:
    scale = max(a.scale, b.scale)
    return Decimal(max(1, min(a.precision - a.scale, b.precision - b.scale) + scale), scale)


_DECIMAL_RESULT = {"+": _added, "-": _added, "*": _multiplied, "/": _divided, "%": _remainder}

#: result types of + - * over times and INTERVALs; the analyzer brings operands into this order and types
_TEMPORAL_RESULT: dict[tuple[str, SqlType, SqlType], SqlType] = {
    **{(s, t, INTERVAL): t for s in "+-" for t in (TIMESTAMP, DATE, TIME, INTERVAL)},
    **{(s, t, CALENDAR_INTERVAL): t for s in "+-" for t in (TIMESTAMP, DATE, CALENDAR_INTERVAL)},
    **{("-", t, t): INTERVAL for t in (TIMESTAMP, DATE, TIME)},
    **{("*", t, BIGINT): t for t in (INTERVAL, CALENDAR_INTERVAL)},
}

#: the longest INTERVAL of months, so that a time plus it can be checked before Spark fails
MOST_YEARS = 10_000

_TRIED = {"+": "try_add", "-": "try_subtract", "*": "try_multiply"}


def _lower_temporal(symbol: str, args: Sequence[str], left: SqlType, right: SqlType) -> str:
    """Spark SQL text of + - * over times and INTERVALs: milliseconds, or months by the calendar."""
    a, b = args
    signed_b = f"(- {b})" if symbol == "-" else b
    match left, right:
        case Primitive("TIMESTAMP"), Primitive("INTERVAL"):
            return timestamp_of(f"(unix_millis({a}) {symbol} {b})")
        case Primitive("TIMESTAMP"), Primitive("TIMESTAMP"):
            return f"(unix_millis({a}) - unix_millis({b}))"
        case Primitive("TIMESTAMP"), _:
            limit = 2**63 // 1000 - MOST_YEARS * 366 * 86_400_000
            is_near = f"unix_millis({a}) between -{limit}L and {limit}L"
            return f"if({is_near}, {a} + make_ym_interval(0, {signed_b}), NULL)"
        case Primitive("DATE"), Primitive("INTERVAL"):
            return f"date_add({a}, cast({signed_b} div 86400000L as int))"
        case Primitive("DATE"), Primitive("DATE"):
            return f"(cast(datediff({a}, {b}) as bigint) * 86400000L)"
        case Primitive("DATE"), _:
            limit = 2**31 - MOST_YEARS * 366
            return f"if(unix_date({a}) between -{limit} and {limit}, add_months({a}, {signed_b}), NULL)"
        case Primitive("TIME"), Primitive("INTERVAL"):
            return f"cast(pmod({a} {symbol} {b}, 86400000L) as int)"
        case Primitive("TIME"), _:
            return f"cast({a} - {b} as bigint)"
    # what is too long is NULL
    if left == CALENDAR_INTERVAL:
        most = 12 * MOST_YEARS
        months = f"{_TRIED[symbol]}(cast({a} as bigint), {b})"
        return let(months, lambda n: f"if({n} between -{most} and {most}, cast({n} as int), NULL)")
    return f"{_TRIED[symbol]}({a}, {b})"


def _arithmetic(symbol: str) -> Any:
    """The typing rule of a binary arithmetic operator (reference §3.5)."""

    def typing(types: Types, _: Literals) -> Resolved | None:
        if len(types) != 2:
            return None
        left, right = types
        if symbol == "+" and left == right == STRING:
            return Resolved((STRING, STRING), STRING)
        if (result := _TEMPORAL_RESULT.get((symbol, left, right))) is not None:
            return Resolved((left, right), result)
        if not (is_numeric(left) and is_numeric(right)):
            return None
        if DOUBLE in (left, right):
            return Resolved((DOUBLE, DOUBLE), DOUBLE)
        if isinstance(left, Decimal) or isinstance(right, Decimal):
            a, b = to_decimal(left), to_decimal(right)
            return Resolved((a, b), _DECIMAL_RESULT[symbol](a, b))
        both = widen_numeric(left, right)
        return Resolved((both, both), both)

    return typing


#: Spark SQL text: 1 / zero, by the sign of ``zero``
_INVERSE_OF_ZERO = "if(cast({zero} as string) = '-0.0', double('-Infinity'), double('Infinity'))"


def _lower_arithmetic(symbol: str) -> Lowering:
    def lower(args: Sequence[str], types: Types) -> str:
        a, b = args
        kind = types[0]
        if (symbol, *types) in _TEMPORAL_RESULT:
            return _lower_temporal(symbol, args, *types)
        if kind == STRING:
            return f"ksql.append({a}, {b})"
        if isinstance(kind, Decimal):
            result = _DECIMAL_RESULT[symbol](to_decimal(types[0]), to_decimal(types[1]))
            return f"cast(({a} {symbol} {b}) as {spark_type(result)})"
        if symbol == "/" and kind == DOUBLE:
            # Spark returns NULL where IEEE has an infinity or NaN, and treats zeros of both signs as equal
            return let(b, lambda d: f"if({d} = 0D, {a} * {_INVERSE_OF_ZERO.format(zero=d)}, {a} / {d})")
        if symbol == "%" and kind == DOUBLE:
            return let(b, lambda d: f"if({d} = 0D, {a} * double('NaN'), {a} % {d})")
        if symbol == "/":
            return f"cast(({a} div {b}) as {spark_type(kind)})"
        return f"({a} {symbol} {b})"

    return lower


_NUMBERS = tuple(signature(f"left {t}, right {t} -> {t}") for t in ("INTEGER", "BIGINT", "DECIMAL", "DOUBLE"))

_WITH_INTERVAL = tuple(
    signature(f"left {t}, right INTERVAL -> {t}") for t in ("TIMESTAMP", "DATE", "TIME", "INTERVAL")
)

_DIFFERENCES = tuple(signature(f"left {t}, right {t} -> INTERVAL") for t in ("TIMESTAMP", "DATE", "TIME"))


def joined(args: Sequence[str], types: Types) -> str:
    """Spark SQL text: the concatenated STRINGs or BYTES without NULLs; NULL if that is too long."""
    nothing = "X''" if types[0] == BYTES else "''"
    return f"ksql.join({nothing}, array({', '.join(args)}))"


def _negated(types: Types, _: Literals) -> Resolved | None:
    if len(types) == 1 and (is_numeric(types[0]) or types[0] in (INTERVAL, CALENDAR_INTERVAL)):
        return Resolved((types[0],), types[0])
    return None


SPECS: tuple[Spec, ...] = (
    operator(
        "+",
        "Adds numbers, and INTERVALs to times; concatenates strings.",
        (*_NUMBERS, *_WITH_INTERVAL, signature("left STRING, right STRING -> STRING")),
        _lower_arithmetic("+"),
        Example((1, 2), 3),
        Example((2147483647, 1), -2147483648),
        Example((PythonDecimal("1.5"), 1), PythonDecimal("2.5")),
        Example(("a", "b"), "ab"),
        Example((Typed(None, INTEGER), 2), None),
        typing=_arithmetic("+"),
        on_null=OnNull.ERROR,
        limits=(MAX_BYTES,),
    ),
    operator(
        "-",
        "Subtracts numbers, and INTERVALs from times; of two times it is the INTERVAL between them.",
        (*_NUMBERS, *_WITH_INTERVAL, *_DIFFERENCES),
        _lower_arithmetic("-"),
        Example((1, 2), -1),
        Example((1, 0.5), 0.5),
        typing=_arithmetic("-"),
        on_null=OnNull.ERROR,
    ),
    operator(
        "*",
        "Multiplies numbers, or an INTERVAL by a number.",
        (*_NUMBERS, signature("left INTERVAL, right BIGINT -> INTERVAL")),
        _lower_arithmetic("*"),
        Example((3, 4), 12),
        Example((PythonDecimal("1.5"), PythonDecimal("2.0")), PythonDecimal("3.00")),
        typing=_arithmetic("*"),
        on_null=OnNull.ERROR,
    ),
    operator(
        "/",
        "Divides numbers; integer results are truncated toward zero. Dividing by zero gives infinity for "
        "DOUBLE, otherwise NULL.",
        _NUMBERS,
        _lower_arithmetic("/"),
        Example((-7, 2), -3),
        Example((1, 0), None),
        Example((1.0, 0.0), float("inf")),
        Example((1.0, -0.0), float("-inf")),
        Example((7.0, 2), 3.5),
        Example((PythonDecimal("1.0"), PythonDecimal("4.0")), PythonDecimal("0.250000")),
        typing=_arithmetic("/"),
        on_null=OnNull.ERROR,
    ),
    operator(
        "%",
        "The remainder of a division, with the sign of the dividend.",
        _NUMBERS,
        _lower_arithmetic("%"),
        Example((-7, 3), -1),
        Example((7, 0), None),
        Example((7.5, 2), 1.5),
        typing=_arithmetic("%"),
        on_null=OnNull.ERROR,
    ),
    operator(
        "NEG",
        "The negative of a number (unary minus).",
        tuple(signature(f"value {t} -> {t}") for t in ("INTEGER", "BIGINT", "DECIMAL", "DOUBLE")),
        lambda args, types: signed(args[0], types[0], "(- {})", "negate"),
        Example((5,), -5),
        Example((-1.5,), 1.5),
        Example((ALL_DIGITS,), ALL_DIGITS.copy_negate()),
        typing=_negated,
        on_null=OnNull.ERROR,
    ),
    operator(
        "||",
        "Concatenates strings or byte strings; NULLs count as empty.",
        (
            signature("left STRING, right STRING -> STRING"),
            signature("left BYTES, right BYTES -> BYTES"),
        ),
        joined,
        Example(("a", "b"), "ab"),
        Example(("a", Typed(None, STRING)), "a"),
        limits=(MAX_BYTES,),
        failed=lambda args, _: "true",
    ),
)
