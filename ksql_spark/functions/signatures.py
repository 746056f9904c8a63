"""Signatures: the parameter and result types of functions, with type variables and lambdas.

A signature is written as text, ``"a ARRAY<T>, b T -> BOOLEAN"``; this module reads that notation, matches
argument types against it (reference §4, §3.4) and binds its type variables. It does not know any function.
Used by the specs of every family and by ``registry.resolve``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal as PythonDecimal
from decimal import InvalidOperation
from typing import Any, Union

from ksql_spark.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DOUBLE,
    INTEGER,
    INTERVAL,
    NULL,
    PRIMITIVES,
    STRING,
    VARIANT,
    Array,
    Decimal,
    Function,
    Map,
    Null,
    Primitive,
    SqlType,
    Struct,
    is_numeric,
    is_temporal,
    to_decimal,
    widen_numeric,
)


@dataclass(frozen=True)
class Variable:
    """A type variable such as T: stands for any one type that is not a lambda."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class AnyDecimal:
    """DECIMAL of any precision and scale."""

    def __str__(self) -> str:
        return "DECIMAL"


@dataclass(frozen=True)
class AnyJson:
    """A STRING with JSON, or a VARIANT."""

    def __str__(self) -> str:
        return "STRING or VARIANT"


@dataclass(frozen=True)
class ArrayOf:
    """ARRAY<element> where the element is a pattern."""

    element: Pattern

    def __str__(self) -> str:
        return f"ARRAY<{self.element}>"


@dataclass(frozen=True)
class MapOf:
    """MAP<key, value> of patterns."""

    key: Pattern
    value: Pattern

    def __str__(self) -> str:
        return f"MAP<{self.key}, {self.value}>"


@dataclass(frozen=True)
class LambdaOf:
    """A lambda with types ``parameters`` and ``result``."""

    parameters: tuple[Pattern, ...]
    result: Pattern

    def __str__(self) -> str:
        return f"LAMBDA ({', '.join(map(str, self.parameters))}) => {self.result}"


Pattern = Union[Primitive, Variable, AnyDecimal, AnyJson, ArrayOf, MapOf, LambdaOf]

#: types of all arguments, after coercion -> type of the result
ResultRule = Callable[[Sequence[SqlType]], SqlType]


@dataclass(frozen=True)
class Parameter:
    """One parameter of a signature; ``is_constant``: the argument must be a literal."""

    name: str
    pattern: Pattern
    is_constant: bool = False

    def __str__(self) -> str:
        return f"{self.name} {self.pattern}"


@dataclass(frozen=True)
class Signature:
    """One way to call a function.

    ``is_variadic``: the parameter ``variadic_at`` may repeat, once or more. ``description``: of this way,
    where it has one of its own. ``can_undo``: False for an aggregate that can retract rows only if it is
    called in another way.
    """

    parameters: tuple[Parameter, ...]
    result: Pattern | ResultRule
    result_text: str
    variadic_at: int | None = None
    description: str = ""
    can_undo: bool = True

    @property
    def is_variadic(self) -> bool:
        """Whether a parameter may repeat."""
        return self.variadic_at is not None

    def __str__(self) -> str:
        parts = [f"{p}{'...' if i == self.variadic_at else ''}" for i, p in enumerate(self.parameters)]
        return f"({', '.join(parts)}) -> {self.result_text}"

    def shown(self) -> str:
        """The parameters for error messages and DESCRIBE FUNCTION: types first."""
        parts = [
            f"{p.pattern}{'...' if i == self.variadic_at else ''} {p.name}"
            for i, p in enumerate(self.parameters)
        ]
        return f"({', '.join(parts)})"

    def expand(self, count: int) -> tuple[Parameter, ...] | None:
        """The parameters for ``count`` arguments, or None if that many do not fit."""
        if self.variadic_at is None:
            return self.parameters if len(self.parameters) == count else None
        repeats = count - len(self.parameters) + 1
        if repeats < 1:
            return None
        at = self.variadic_at
        return (*self.parameters[:at], *[self.parameters[at]] * repeats, *self.parameters[at + 1 :])


# ---- the notation -------------------------------------------------------------------------------------

_TOKEN = re.compile(r"\s*(->|=>|\.\.\.|[A-Za-z_][A-Za-z0-9_]*|[<>(),!])")


class _Reader:
    """Reads the notation of ``signature`` from left to right."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = _TOKEN.findall(text)
        self.at = 0

    def peek(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def take(self, *expected: str) -> str:
        token = self.peek()
        if not token or (expected and token not in expected):
            raise ValueError(f"bad signature {self.text!r} at {token!r}, expected {expected}")
        self.at += 1
        return token

    def pattern(self) -> Pattern:
        word = self.take()
        if word == "ARRAY":
            self.take("<")
            element = self.pattern()
            self.take(">")
            return ArrayOf(element)
        if word == "MAP":
            self.take("<")
            key = self.pattern()
            self.take(",")
            value = self.pattern()
            self.take(">")
            return MapOf(key, value)
        if word == "LAMBDA":
            self.take("(")
            parameters = [self.pattern()]
            while self.peek() == ",":
                self.take()
                parameters.append(self.pattern())
            self.take(")")
            self.take("=>")
            return LambdaOf(tuple(parameters), self.pattern())
        if word == "DECIMAL":
            return AnyDecimal()
        if word == "JSON":
            return AnyJson()
        if word == "INTERVAL":
            return INTERVAL
        if word in PRIMITIVES:
            return PRIMITIVES[word]
        if len(word) == 1 and word.isupper():
            return Variable(word)
        raise ValueError(f"bad signature {self.text!r}: no type {word}")


def signature(text: str, result: ResultRule | None = None, result_text: str | None = None) -> Signature:
    """Read a signature such as ``"a ARRAY<T>, n INTEGER!, rest STRING... -> ARRAY<T>"``.

    ``!`` after a type marks a parameter that takes literals only, ``...`` one that may repeat. Single capital
    letters are type variables.

    Args:
        text: the notation; without ``->`` the result comes from ``result``.
        result: computes the result's type from the coerced argument types, if a pattern cannot express it.
        result_text: how documentation shows such a result.

    Raises:
        ValueError: the notation is not understood (a programmer's mistake).
    """
    reader = _Reader(text)
    parameters: list[Parameter] = []
    variadic_at = None
    while reader.peek() not in ("->", ""):
        name = reader.take()
        pattern = reader.pattern()
        is_constant = reader.peek() == "!" and bool(reader.take())
        if reader.peek() == "...":
            reader.take()
            variadic_at = len(parameters)
        parameters.append(Parameter(name, pattern, is_constant))
        if reader.peek() == ",":
            reader.take()
    outcome: Pattern | ResultRule
    if result is None:
        reader.take("->")
        outcome = reader.pattern()
    else:
        outcome = result
    shown = result_text or (str(outcome) if result is None else "the common type")
    return Signature(tuple(parameters), outcome, shown, variadic_at)


# ---- matching -----------------------------------------------------------------------------------------

#: how far an implicit conversion is from an exact match; the smallest total wins
EXACT, WIDENED, PARSED = 0, 1, 10


def implicit_cost(source: SqlType, target: SqlType) -> int | None:
    """Return the distance of an implicit coercion to ``target`` (reference §3.4); None if there is none."""
    if source == target or isinstance(source, Null):
        return EXACT
    order = [INTEGER, BIGINT, Decimal, DOUBLE]

    def rank(type_: SqlType) -> int:
        return order.index(Decimal if isinstance(type_, Decimal) else type_)

    match source, target:
        case Array(a), Array(b):
            return implicit_cost(a, b)
        case Map(k, v), Map(k2, v2):
            return _total([implicit_cost(k, k2), implicit_cost(v, v2)])
        case Struct(fields), Struct():
            if any(target.field(f.name) is None for f in fields):
                return None
            pairs = [(f.type, target.field(f.name)) for f in fields]
            return _total([implicit_cost(a, b.type) if b else None for a, b in pairs])
        case Decimal(), Decimal():
            return WIDENED if widen_numeric(source, target) == target else None
    if is_numeric(source) and is_numeric(target):
        distance = rank(target) - rank(source)
        if distance <= 0 or (isinstance(target, Decimal) and widen_numeric(source, target) != target):
            return None
        return WIDENED * distance
    if source == STRING and (is_temporal(target) or target == BYTES):
        return PARSED
    return None


def _total(costs: Sequence[int | None]) -> int | None:
    """The sum, or None if one of them is None."""
    total = 0
    for cost in costs:
        if cost is None:
            return None
        total += cost
    return total


def is_assignable(source: SqlType, target: SqlType) -> bool:
    """Whether INSERT INTO … SELECT writes values of ``source`` to a column of ``target`` (reference §3.4).

    As implicit coercion. In addition, whole numbers are assignable to any DECIMAL: one with too many digits
    is an error of its row, as in ksqlDB.
    """
    match source, target:
        case Array(a), Array(b):
            return is_assignable(a, b)
        case Map(k, v), Map(k2, v2):
            return is_assignable(k, k2) and is_assignable(v, v2)
        case Struct(fields), Struct():
            others = [(f.type, target.field(f.name)) for f in fields]
            return all(other is not None and is_assignable(type_, other.type) for type_, other in others)
    is_whole = source in (INTEGER, BIGINT) and isinstance(target, Decimal)
    return is_whole or implicit_cost(source, target) is not None


_BOOLEAN_WORDS = {"true": True, "yes": True, "false": False, "no": False}


def boolean_of(text: str) -> bool | None:
    """The boolean for a prefix of true, yes, false or no; None for other texts."""
    folded = text.strip().lower()
    return next((value for word, value in _BOOLEAN_WORDS.items() if folded and word.startswith(folded)), None)


def number_type(text: str) -> SqlType | None:
    """The narrowest type of the number in ``text``; None if it is not a number.

    >>> print(number_type("5"), number_type("2147483648"), number_type("2e1"), number_type("1.50"))
    INTEGER BIGINT DECIMAL(2, 0) DECIMAL(3, 2)
    """
    try:
        number = PythonDecimal(text.strip())
    except InvalidOperation:
        return None
    if not number.is_finite():
        return None
    _, digits, exponent = number.as_tuple()
    assert isinstance(exponent, int)
    if exponent == 0 and "e" not in text.lower():
        for type_, limit in ((INTEGER, 2**31), (BIGINT, 2**63)):
            if -limit <= number < limit:
                return type_
    scale = max(0, -exponent)
    precision = max(len(digits) + max(0, exponent), scale)
    return Decimal(precision, scale) if precision <= 38 else DOUBLE


#: what a literal number looks like, and a sign before it
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?", re.IGNORECASE)


def unquoted_number(literal: Any) -> str | None:
    """The number that a text literal has between its quotes, as KSQL writes it; None if it has none.

    >>> unquoted_number(" 1.5 "), unquoted_number("1e5"), unquoted_number("1_000"), unquoted_number("x")
    ('1.5', '1e5', None, None)
    """
    text = literal.strip() if isinstance(literal, str) else ""
    return text if _NUMBER.fullmatch(text) else None


def with_text(common: SqlType, text: str) -> SqlType | None:
    """The type of a list of ``common`` plus a STRING literal; None if that does not fit (§3.4)."""
    if common == BOOLEAN:
        return None if boolean_of(text) is None else common
    if is_temporal(common) or common == BYTES:
        return common
    if not is_numeric(common) or (common in (INTEGER, BIGINT) and "." in text):
        return None
    number = number_type(text)
    return None if number is None else common_type(common, number)


def common_type(left: SqlType, right: SqlType) -> SqlType | None:
    """The narrowest type that both convert to implicitly, or None (reference §3.4)."""
    if isinstance(left, Null):
        return right
    if isinstance(right, Null) or left == right:
        return left
    if is_numeric(left) and is_numeric(right):
        return widen_numeric(left, right)
    match left, right:
        case Array(a), Array(b):
            element = common_type(a, b)
            return element and Array(element)
        case Map(k, v), Map(k2, v2):
            key, value = common_type(k, k2), common_type(v, v2)
            return Map(key, value) if key and value else None
    for source, target in ((left, right), (right, left)):
        if implicit_cost(source, target) is not None:
            return target
    return None


@dataclass
class Match:
    """A signature that fits: its variables' types, and the cost of coercions."""

    parameters: tuple[Parameter, ...]
    bindings: dict[str, SqlType] = field(default_factory=dict)
    cost: int = 0
    generics: int = 0
    untyped: int = 0

    def admit(self, pattern: Pattern, type_: SqlType) -> bool:
        """Match one argument type with ``pattern``, binding variables; False if it does not match."""
        match pattern:
            case Variable(name):
                if isinstance(type_, Function):
                    return False
                self.generics += 1
                bound = self.bindings.get(name, NULL)
                merged = common_type(bound, type_)
                if merged is None:
                    return False
                if merged != bound and not isinstance(bound, Null):
                    self.cost += WIDENED
                self.bindings[name] = merged
                return True
            case LambdaOf(parameters, result):
                if not isinstance(type_, Function) or len(type_.parameters) != len(parameters):
                    return False
                # the body's type is NULL while only the parameters are being resolved
                return isinstance(type_.result, Null) or self.admit(result, type_.result)
            case AnyDecimal():
                if isinstance(type_, Null):
                    self.untyped += 1
                    return True
                if isinstance(type_, Decimal):
                    return True
                if type_ in (INTEGER, BIGINT):
                    self.cost += WIDENED * (2 if type_ == INTEGER else 1)
                    return True
                return False
            case AnyJson():
                self.untyped += isinstance(type_, Null)
                return isinstance(type_, Null) or type_ in (STRING, VARIANT)
            case ArrayOf(element):
                if isinstance(type_, Null):
                    return True
                return isinstance(type_, Array) and self.admit(element, type_.element)
            case MapOf(key, value):
                if isinstance(type_, Null):
                    return True
                return (
                    isinstance(type_, Map) and self.admit(key, type_.key) and self.admit(value, type_.value)
                )
        if isinstance(type_, Function):
            return False
        if isinstance(type_, Null):
            self.untyped += 1
        cost = implicit_cost(type_, pattern)
        if cost is None:
            return False
        self.cost += cost
        return True

    def type_of(self, pattern: Pattern, type_: SqlType = NULL) -> SqlType:
        """``pattern`` with variables replaced; ``type_`` is the argument's own type (for DECIMAL)."""
        match pattern:
            case Variable(name):
                return self.bindings.get(name, NULL)
            case LambdaOf(parameters, result):
                return Function(tuple(self.type_of(p) for p in parameters), self.type_of(result))
            case AnyDecimal():
                return to_decimal(INTEGER if isinstance(type_, Null) else type_)
            case AnyJson():
                return VARIANT if type_ == VARIANT else STRING
            case ArrayOf(element):
                return Array(self.type_of(element, type_.element if isinstance(type_, Array) else NULL))
            case MapOf(key, value):
                inner = (type_.key, type_.value) if isinstance(type_, Map) else (NULL, NULL)
                return Map(self.type_of(key, inner[0]), self.type_of(value, inner[1]))
        return pattern


def match_signature(candidate: Signature, arguments: Sequence[SqlType]) -> Match | None:
    """Match ``arguments`` with ``candidate``; None if they do not match.

    Lambdas whose bodies are not bound yet are ``Function((NULL, ...), NULL)``: their arity counts, their
    result does not.
    """
    parameters = candidate.expand(len(arguments))
    if parameters is None:
        return None
    match = Match(parameters)
    for parameter, type_ in zip(parameters, arguments, strict=True):
        if not match.admit(parameter.pattern, type_):
            return None
    return match
