"""Operators: arithmetic, comparison, logic, subscripts and constructors (reference §2.8, §3.2-3.5)."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from decimal import Decimal as PythonDecimal
from typing import Any

from ksql_spark.expressions import Call, Literal
from ksql_spark.functions.signatures import common_type, signature, with_text
from ksql_spark.functions.spark_text import (
    has_own_order,
    let,
    literal_text,
    ordered,
    signed,
    spark_type,
    timestamp_of,
    variable,
    without_maps,
)
from ksql_spark.functions.spec import (
    ALL_DIGITS,
    ALL_LIMITS,
    BY_ARGUMENTS,
    MAX_BYTES,
    Example,
    Lowering,
    OnNull,
    Resolved,
    Spec,
    Typed,
    operator,
    parsed,
    struct,
)
from ksql_spark.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    CALENDAR_INTERVAL,
    DATE,
    DOUBLE,
    INTEGER,
    INTERVAL,
    NULL,
    STRING,
    TIME,
    TIMESTAMP,
    VARIANT,
    Array,
    Decimal,
    Function,
    Map,
    Null,
    Primitive,
    SqlType,
    is_numeric,
    quote_identifier,
    to_decimal,
    widen_numeric,
)

Types = Sequence[SqlType]
Literals = Sequence[Any]

# ---- arithmetic ---------------------------------------------------------------------------------------


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


# ---- comparisons --------------------------------------------------------------------------------------

_TEMPORAL_SIDES: dict[frozenset[SqlType], SqlType] = {
    frozenset((TIMESTAMP, DATE)): TIMESTAMP,
    frozenset((TIMESTAMP, STRING)): TIMESTAMP,
    frozenset((DATE, STRING)): DATE,
    frozenset((TIME, STRING)): TIME,
    frozenset((BIGINT, INTERVAL)): BIGINT,
}


def comparable(left: SqlType, right: SqlType, *, ordered: bool) -> SqlType | None:
    """The type in which ``left`` and ``right`` are compared, or None (reference §3.3).

    ``ordered``: for < <= > >= BETWEEN, which BOOLEAN, ARRAY, MAP and STRUCT do not have.
    """
    if is_numeric(left) and is_numeric(right):
        return widen_numeric(left, right)
    if left == right:
        if isinstance(left, (Null, Function)):
            return None
        has_order = isinstance(left, Primitive) and left != BOOLEAN
        return left if has_order or not ordered else None
    return _TEMPORAL_SIDES.get(frozenset((left, right)))


def _comparison(*, ordered: bool) -> Any:
    def typing(types: Types, _: Literals) -> Resolved | None:
        if len(types) != 2:
            return None
        both = comparable(types[0], types[1], ordered=ordered)
        return Resolved((both, both), BOOLEAN) if both else None

    return typing


def _between(types: Types, _: Literals) -> Resolved | None:
    if len(types) != 3:
        return None
    low = comparable(types[0], types[1], ordered=True)
    both = low and comparable(low, types[2], ordered=True)
    return Resolved((both, both, both), BOOLEAN) if both else None


def equal(a: str, b: str, type_: SqlType) -> str:
    """Spark SQL text for a = b: NULL where a or b is, whatever is inside them compared NULL-safely."""
    return f"({without_maps(a, type_)} = {without_maps(b, type_)})"


def distinct(a: str, b: str, type_: SqlType) -> str:
    """Spark SQL text for a IS DISTINCT FROM b."""
    return f"(not ({without_maps(a, type_)} <=> {without_maps(b, type_)}))"


def _without_nan(args: Sequence[str], compare: Callable[[Sequence[str]], str]) -> str:
    """``compare`` over DOUBLEs: FALSE with NaN, as in Java. Spark treats NaN as the greatest number."""

    def named(rest: Sequence[str], names: Sequence[str]) -> str:
        if rest:
            return let(rest[0], lambda name: named(rest[1:], [*names, name]))
        numbers = [f" and not isnan({n})" for n in names if not _CONSTANT_NUMBER.fullmatch(n)]
        return f"({compare(names)}{''.join(numbers)})" if numbers else compare(names)

    return named(args, ())


#: a DOUBLE as spark_text.constant writes it, or a whole number that is widened
_CONSTANT_NUMBER = re.compile(r"\(?-?[0-9.]+(E[+-]?[0-9]+)?D\)?|cast\(\(?-?[0-9]+L?\)? as double\)")


def _lower_comparison(symbol: str) -> Lowering:
    def compared(args: Sequence[str], type_: SqlType) -> str:
        if symbol in ("=", "<>"):
            text = equal(args[0], args[1], type_)
            return text if symbol == "=" else f"(not {text})"
        return ordered(args[0], symbol, args[1], type_)

    def lower(args: Sequence[str], types: Types) -> str:
        if types[0] == DOUBLE:
            return _without_nan(args, lambda names: compared(names, DOUBLE))
        return compared(args, types[0])

    return lower


def _lower_between(args: Sequence[str], types: Types) -> str:
    value, low, high = args
    if has_own_order(types[0]):
        return f"({ordered(value, '>=', low, types[0])} and {ordered(value, '<=', high, types[0])})"
    if types[0] == DOUBLE:
        return _without_nan(args, lambda names: f"({names[0]} between {names[1]} and {names[2]})")
    return f"({value} between {low} and {high})"


def _is_distinct(types: Types, _: Literals) -> Resolved | None:
    if len(types) != 2:
        return None
    left, right = types
    both = common_type(left, right) if NULL in types else comparable(left, right, ordered=False)
    if both is None or isinstance(both, Function):
        return None
    return Resolved((both, both), BOOLEAN)


# ---- IN, lists of values ------------------------------------------------------------------------------


def list_type(types: Types, literals: Literals = ()) -> SqlType | None:
    """The common type of the members of an ARRAY, MAP, IN or CASE list, or None (reference §3.4).

    The first non-NULL member leads; numbers widen; a literal may become STRING, and a STRING literal a number
    or a BOOLEAN where it parses exactly.
    """
    padded = [*literals, *[None] * (len(types) - len(literals))]
    merged: SqlType = NULL
    for type_, value in zip(types, padded, strict=True):
        wider = common_type(merged, type_)
        if wider is None or (merged == STRING and wider != STRING and value is not None):
            wider = _literal_type(merged, type_, value)
        if wider is None:
            return None
        merged = wider
    return merged


def _literal_type(wanted: SqlType, type_: SqlType, value: Any) -> SqlType | None:
    """``wanted``, or what it widens to, where the literal ``value`` can take that type."""
    if value is None:
        return None
    if wanted == STRING:
        return STRING if isinstance(type_, (Primitive, Decimal)) else None
    return with_text(wanted, value) if type_ == STRING and isinstance(value, str) else None


def _in(types: Types, literals: Literals) -> Resolved | None:
    if len(types) < 2 or isinstance(types[0], Null):
        return None
    both = list_type(types, literals)
    if both is None or isinstance(both, (Map, Function)):
        return None
    return Resolved((both,) * len(types), BOOLEAN)


def _lower_in(args: Sequence[str], types: Types) -> str:
    value, *members = (without_maps(text, type_) for text, type_ in zip(args, types, strict=True))
    return f"({value} in ({', '.join(members)}))"


def _array(types: Types, literals: Literals) -> Resolved | None:
    element = list_type(types, literals)
    if element is None or isinstance(element, (Null, Function)):
        return None
    return Resolved((element,) * len(types), Array(element))


def _map(types: Types, literals: Literals) -> Resolved | None:
    if not types or len(types) % 2:
        return None
    key = list_type(types[::2], literals[::2])
    value = list_type(types[1::2], literals[1::2])
    for side in (key, value):
        if side is None or isinstance(side, (Null, Function)):
            return None
    assert key is not None and value is not None
    return Resolved((key, value) * (len(types) // 2), Map(key, value))


def too_large(args: Sequence[str], _: Types) -> str:
    """Spark SQL text: whether a JSON, with all digits of its numbers, is larger than results may be."""
    return f"ksql.json_is_too_large({args[0]})"


def _lower_map(args: Sequence[str], types: Types) -> str:
    keys, values = args[::2], args[1::2]
    if types[0] == STRING:
        keys = [key_text(k) for k in keys]
    if all(k.startswith("'") for k in keys):
        return f"map({', '.join(args)})"
    return from_entries(
        f"array({', '.join(f'struct({k} as key, {v} as value)' for k, v in zip(keys, values, strict=True))})"
    )


def from_entries(entries: str) -> str:
    """A MAP from an ARRAY of STRUCT<key, value>: the last of equal keys wins, NULL keys are left out.

    Spark refuses NULL keys; SESSION_SETTINGS make the last of equal keys win. See ``key_text``.
    """
    e = variable(entries, "e")
    return f"map_from_entries(filter({entries}, {e} -> {e}.key is not null))"


def key_text(key: str) -> str:
    """A STRING for a MAP's key: for NULL, which ksqlDB's maps can have for a key, what JSON shows for it."""
    return key if key.startswith("'") else f"coalesce({key}, 'null')"


def _subscript(types: Types, _: Literals) -> Resolved | None:
    if len(types) != 2:
        return None
    match types[0]:
        case Array(element) if types[1] in (INTEGER, BIGINT):
            return Resolved((types[0], types[1]), element)
        case Map(key, value) if common_type(key, types[1]) == key and types[1] != NULL:
            return Resolved((types[0], key), value)
    return None


def _lower_subscript(args: Sequence[str], types: Types) -> str:
    collection, index = args
    if isinstance(types[0], Map):
        return f"try_element_at({collection}, {index})"
    if types[1] == BIGINT:
        index = f"cast({index} as int)"
    if not index.isdigit() or index == "0":
        index = f"nullif({index}, 0)"
    return f"try_element_at({collection}, {index})"


# ---- logic --------------------------------------------------------------------------------------------


def _lower_and(args: Sequence[str], _: Types) -> str:
    # an operand that is NULL is an error, but only when it is reached: left to right
    return f"(case {args[0]} when true then {args[1]} when false then false end)"


def _lower_or(args: Sequence[str], _: Types) -> str:
    return f"(case {args[0]} when true then true when false then {args[1]} end)"


def _lower_like(args: Sequence[str], _: Types) -> str:
    pattern, escape = args[1], args[2] if len(args) == 3 else "''"
    constant, sign = literal_text(pattern), literal_text(escape)
    if constant is None or sign is None:
        return f"ksql.like({args[0]}, {pattern}, {escape})"
    name = f"like_constant:{len(sign.encode('utf-16-le')) // 2}{sign}{constant}"
    return f"ksql.{quote_identifier(name)}({args[0]})"


def _infix(symbol: str) -> Lowering:
    return lambda args, _: f"({args[0]} {symbol} {args[1]})"


_NAN = Call("SQRT", (Literal(-1.0, DOUBLE),), DOUBLE)
_ANY_TWO = (signature("left T, right T -> BOOLEAN"),)
_ORDERED = tuple(
    signature(f"left {t}, right {t} -> BOOLEAN")
    for t in (
        "INTEGER", "BIGINT", "DECIMAL", "DOUBLE", "STRING", "BYTES", "DATE", "TIME", "TIMESTAMP",
    )
)  # fmt: skip
_COMPARE_DESCRIPTION = {
    "=": "Equal. FALSE if an operand is NULL.",
    "<>": "Not equal. FALSE if an operand is NULL.",
    "<": "Less than. FALSE if an operand is NULL.",
    "<=": "Less than or equal. FALSE if an operand is NULL.",
    ">": "Greater than. FALSE if an operand is NULL.",
    ">=": "Greater than or equal. FALSE if an operand is NULL.",
}
_COMPARE_EXAMPLES = {
    "=": (
        Example((1, 1.0), True),
        Example(("a", Typed(None, STRING)), False),
        Example(([1, 2], [1, 2]), True),
        Example(({"a": 1, "b": 2}, {"b": 2, "a": 1}), True),
        Example(([{"a": 1, "b": 2}], [{"b": 2, "a": 1}]), True),
        Example(({"m": {"a": 1, "b": 2}}, {"m": {"b": 2, "a": 1}}), True),
        Example((struct(m={"a": 1}, n=1), struct(m={"a": 2}, n=1)), False),
        Example((_NAN, _NAN), False),
    ),
    "<>": (
        Example((1, 2), True),
        Example((Typed(None, INTEGER), 2), False),
        Example((_NAN, 2), False),
    ),
    "<": (
        Example(("a", "b"), True),
        Example(("😀", "\uff5e"), True),
        Example((b"\x80", b"\x01"), True),
        Example((Typed("2024-01-01", DATE), Typed("2024-01-01T01:00:00.000", TIMESTAMP)), True),
    ),
    "<=": (Example((2, 2), True),),
    ">": (
        Example((2, 1), True),
        Example((Typed("10:05", TIME), "10:04"), True),
        Example((_NAN, 1), False),
    ),
    ">=": (Example((1, 2), False),),
}


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
    *(
        operator(
            symbol,
            _COMPARE_DESCRIPTION[symbol],
            _ANY_TWO if symbol in ("=", "<>") else _ORDERED,
            _lower_comparison(symbol),
            *_COMPARE_EXAMPLES[symbol],
            typing=_comparison(ordered=symbol not in ("=", "<>")),
            on_null=OnNull.FALSE,
        )
        for symbol in ("=", "<>", "<", "<=", ">", ">=")
    ),
    operator(
        "BETWEEN",
        "Whether low <= value <= high. FALSE if an operand is NULL.",
        tuple(
            signature(f"value {t}, low {t}, high {t} -> BOOLEAN")
            for t in ("INTEGER", "BIGINT", "DECIMAL", "DOUBLE", "STRING", "DATE", "TIME", "TIMESTAMP")
        ),
        _lower_between,
        Example((2, 1, 3), True),
        Example((3, 1, 3), True),
        Example((Typed(None, INTEGER), 1, 3), False),
        typing=_between,
        on_null=OnNull.FALSE,
    ),
    operator(
        "IN",
        "Whether the value equals a member of the list; NULLs in the list are ignored.",
        (signature("value T, member T... -> BOOLEAN"),),
        _lower_in,
        Example((2, 1, 2), True),
        Example((3, 1, None), False),
        Example(([{"a": 1}], [{"a": 2}], [{"a": 1}]), True),
        Example((Typed(None, INTEGER), 1), False),
        typing=_in,
        on_null=OnNull.FALSE,
    ),
    operator(
        "IS DISTINCT FROM",
        "Whether the operands differ; NULL counts as a value.",
        _ANY_TWO,
        lambda args, types: distinct(args[0], args[1], types[0]),
        Example((1, Typed(None, INTEGER)), True),
        Example((Typed(None, INTEGER), Typed(None, INTEGER)), False),
        typing=_is_distinct,
        on_null=OnNull.NEVER,
    ),
    operator(
        "IS NOT DISTINCT FROM",
        "Whether the operands are equal; NULL counts as a value.",
        _ANY_TWO,
        lambda args, types: f"(not {distinct(args[0], args[1], types[0])})",
        Example((Typed(None, INTEGER), Typed(None, INTEGER)), True),
        typing=_is_distinct,
        on_null=OnNull.NEVER,
    ),
    operator(
        "IS NULL",
        "Whether the operand is NULL.",
        (signature("value T -> BOOLEAN"),),
        lambda args, _: f"({args[0]} is null)",
        Example((Typed(None, STRING),), True),
        Example(("",), False),
        on_null=OnNull.NEVER,
    ),
    operator(
        "IS NOT NULL",
        "Whether the operand is not NULL.",
        (signature("value T -> BOOLEAN"),),
        lambda args, _: f"({args[0]} is not null)",
        Example((1,), True),
        on_null=OnNull.NEVER,
    ),
    operator(
        "AND",
        "Whether both operands are true; the right one is evaluated only if the left one is true.",
        (signature("left BOOLEAN, right BOOLEAN -> BOOLEAN"),),
        _lower_and,
        Example((True, False), False),
        Example((False, Typed(None, BOOLEAN)), False),
        Example((Typed(None, BOOLEAN), False), None),
        on_null=OnNull.ERROR,
    ),
    operator(
        "OR",
        "Whether an operand is true; the right one is evaluated only if the left one is false.",
        (signature("left BOOLEAN, right BOOLEAN -> BOOLEAN"),),
        _lower_or,
        Example((True, Typed(None, BOOLEAN)), True),
        Example((Typed(None, BOOLEAN), True), None),
        on_null=OnNull.ERROR,
    ),
    operator(
        "NOT",
        "The opposite of a BOOLEAN.",
        (signature("value BOOLEAN -> BOOLEAN"),),
        lambda args, _: f"(not {args[0]})",
        Example((True,), False),
        Example((Typed(None, BOOLEAN),), None),
        on_null=OnNull.ERROR,
    ),
    operator(
        "LIKE",
        "Matches a whole string: % stands for any run of characters, _ for one; neither matches a newline.",
        (
            signature("value STRING, pattern STRING -> BOOLEAN"),
            signature("value STRING, pattern STRING, escape STRING! -> BOOLEAN"),
        ),
        _lower_like,
        Example(("abc", "a%"), True),
        Example(("a.c", "a_c"), True),
        Example(("abc", "a.c"), False),
        Example(("a%c", "a!%c", "!"), True),
        Example(("abc", "a!%c", "!"), False),
        Example(("a!c", "a!!c", "!"), True),
        Example(("abc", "abc!", "!"), None),
        Example(("a😀c", "a_c"), True),
        Example(("a\nc", "a%"), False),
        Example((Typed(None, STRING), "a%"), None),
        on_null=OnNull.ERROR,
    ),
    operator(
        "[]",
        "The element of an array (from 1, or -1 from the end) or the value of a map's key; NULL if absent.",
        (
            signature("array ARRAY<T>, position INTEGER -> T"),
            signature("map MAP<K, V>, key K -> V"),
        ),
        _lower_subscript,
        Example(([10, 20], 1), 10),
        Example(([10, 20], -1), 20),
        Example(([10, 20], 0), None),
        Example(([10, 20], 3), None),
        Example(({"a": 1}, "a"), 1),
        Example(({"a": 1}, "b"), None),
        typing=_subscript,
        limits=BY_ARGUMENTS,
    ),
    operator(
        ":",
        "The value at a path in JSON, of a STRING with text unquoted; NULL for null and for nothing.",
        (
            signature("json STRING, path STRING! -> STRING"),
            signature("json VARIANT, path STRING! -> VARIANT"),
        ),
        lambda args, types: (
            f"ksql.{'variant_path' if types[0] == VARIANT else 'json_path'}({', '.join(args)})"
        ),
        Example(('{"a": {"b": [1, {"c": "x"}]}}', "$['a']['b'][1]['c']"), "x"),
        Example(('{"a": {"b": [1.50, null]}}', "$['a']"), '{"b":[1.50,null]}'),
        Example(('{"a": null}', "$['a']"), None),
        Example(('{"a": 1}', "$['b']"), None),
        Example(("no JSON", "$['b']"), None),
        Example((Typed(None, STRING), "$['b']"), None),
        Example((parsed('{"a": {"b": "x", "c": 1.50}}'), "$['a']"), '{"b":"x","c":1.50}'),
        Example((parsed('{"a": "x"}'), "$['a']"), '"x"'),
        limits=(MAX_BYTES,),
        failed=too_large,
    ),
    operator(
        "ARRAY",
        "An array of the arguments.",
        (signature("member T... -> ARRAY<T>"),),
        lambda args, _: f"array({', '.join(args)})",
        Example((1, 2), [1, 2]),
        typing=_array,
        limits=ALL_LIMITS,
        grows=True,
        failed=lambda args, _: "true",
    ),
    operator(
        "MAP",
        "A map of the arguments, which alternate between keys and values.",
        (signature("key K, value V... -> MAP<K, V>"),),
        _lower_map,
        Example(("a", 1, "b", 2), {"a": 1, "b": 2}),
        Example(("a", 1, Typed(None, STRING), 2), {"a": 1, "null": 2}),
        typing=_map,
        limits=ALL_LIMITS,
        grows=True,
        failed=lambda args, _: "true",
    ),
)

__all__ = [
    "MOST_YEARS",
    "SPECS",
    "comparable",
    "distinct",
    "equal",
    "from_entries",
    "key_text",
    "list_type",
    "too_large",
]
