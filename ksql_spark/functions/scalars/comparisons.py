"""Comparisons, IN, LIKE and logic (reference §2.8, §3.2, §3.3)."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from ksql_spark.expressions import Call, Literal
from ksql_spark.functions.scalars.constructors import list_type
from ksql_spark.functions.signatures import common_type, signature
from ksql_spark.functions.spark_text import (
    has_own_order,
    let,
    literal_text,
    ordered,
    without_maps,
)
from ksql_spark.functions.spec import (
    Example,
    Lowering,
    OnNull,
    Resolved,
    Spec,
    Typed,
    operator,
    struct,
)
from ksql_spark.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    INTEGER,
    INTERVAL,
    NULL,
    STRING,
    TIME,
    TIMESTAMP,
    Function,
    Map,
    Null,
    Primitive,
    SqlType,
    is_numeric,
    quote_identifier,
    widen_numeric,
)

Types = Sequence[SqlType]
Literals = Sequence[Any]

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
)
