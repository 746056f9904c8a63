"""Bound expressions: immutable, typed, names resolved. The analyzer makes them, plans contain them.

Operators ("+", "=", "AND", "[]" ...) are calls like functions, so one registry (ksql_spark.functions) types,
explains and lowers them all. This module has no rules of single functions.

``str`` of an expression is KSQL text that parses and, over the same columns, binds to the same expression
(except for BIGINTs made from date-times that are compared with ROWTIME: small ones are read as INTEGER, which
compares the same).
"""

from __future__ import annotations

import decimal
import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Union

from ksql_spark.grammar.words import RESERVED
from ksql_spark.types import CALENDAR_INTERVAL, DOUBLE, INTERVAL, NULL, SqlType, quote_identifier

_DAY_MS = 86_400_000
_BARE_NAME = re.compile(r"[A-Z_][A-Z0-9_@]*")
#: a step of a path in JSON, as the operator ":" has it
_STEP = re.compile(r"""\[(?:(\d+)|'([^']*)'|"([^"]*)")\]""")
#: words that start a constructor if a bracket follows them
_CONSTRUCTORS = frozenset(("ARRAY", "MAP", "STRUCT"))


def name_text(name: str) -> str:
    """``name`` as KSQL writes it: in backquotes only if it needs them."""
    is_bare = _BARE_NAME.fullmatch(name) and name not in RESERVED and name not in _CONSTRUCTORS
    return name if is_bare else quote_identifier(name)


@dataclass(frozen=True)
class ColumnRef:
    """A column of the relation below, by its unique name there."""

    name: str
    type: SqlType

    def __str__(self) -> str:
        return name_text(self.name)


@dataclass(frozen=True)
class Literal:
    """A constant. ``value`` is the Python value (str, int, float, decimal.Decimal, bool, None)."""

    value: Any
    type: SqlType

    def __str__(self) -> str:
        match self.value:
            case None:
                return "NULL" if self.type == NULL else f"CAST(NULL AS {self.type})"
            case bool():
                return "TRUE" if self.value else "FALSE"
            case int() if self.type in (INTERVAL, CALENDAR_INTERVAL):
                days, rest = divmod(self.value, _DAY_MS)
                if self.type == CALENDAR_INTERVAL:
                    return f"INTERVAL '{self.value} MONTHS'"
                return f"INTERVAL '{self.value} MILLISECONDS'" if rest else f"INTERVAL '{days} DAYS'"
            case str():
                return "'" + self.value.replace("'", "''") + "'"
            case float() if not math.isfinite(self.value):
                name = "NaN" if math.isnan(self.value) else "Infinity" if self.value > 0 else "-Infinity"
                return f"CAST('{name}' AS {DOUBLE})"
            case float():
                text = repr(self.value).upper().replace("E+", "E")
                return text if "E" in text else f"{text}E0"
            case decimal.Decimal():
                text = format(self.value, "f")
                return text if "." in text else f"DECIMAL '{text}'"
        return str(self.value)


@dataclass(frozen=True)
class Members:
    """The members of an IN list that are all constants, of ``type`` each and none NULL: one operand of IN.

    However long the list is, a pass over the expression sees one node.
    """

    values: tuple[Any, ...]
    type: SqlType

    @property
    def literals(self) -> tuple[Literal, ...]:
        """The members, one by one."""
        return tuple(Literal(value, self.type) for value in self.values)

    def __str__(self) -> str:
        return ", ".join(map(str, self.literals))


@dataclass(frozen=True)
class Call:
    """A call of a registered function or operator, arguments already coerced.

    ``ansi``: for an operator, NULL operands have the meaning of the SQL standard (reference §3.2).
    """

    function: str
    arguments: tuple[Expression, ...]
    type: SqlType
    ansi: bool = False

    def __str__(self) -> str:
        args = [str(a) for a in self.arguments]
        write = _OPERATORS.get(self.function)
        if write is not None:
            return write(args)
        if not _BARE_NAME.fullmatch(self.function):
            return f"({args[0]} {self.function} {args[1]})"
        # those of PostgreSQL are written as what they stand for
        return f"{name_text(self.function.removeprefix('PG_'))}({', '.join(args)})"


def _infix(word: str) -> Callable[[Sequence[str]], str]:
    return lambda a: f"({a[0]} {word} {a[1]})"


def _like(args: Sequence[str]) -> str:
    escape = f" ESCAPE {args[2]}" if len(args) > 2 else ""
    return f"({args[0]} LIKE {args[1]}{escape})"


def json_path(args: Sequence[str]) -> str:
    """KSQL text of the operator ``:``; ``args``: the text of its operand, and of its path as a string."""
    path = args[1][1:-1].replace("''", "'")
    steps = (
        f"[{number}]" if number else "['" + (single or double).replace("'", "''") + "']"
        for number, single, double in _STEP.findall(path)
    )
    return f"{args[0]}:{''.join(steps)}"


def _map(args: Sequence[str]) -> str:
    pairs = zip(args[::2], args[1::2], strict=True)
    return f"MAP({', '.join(f'{key}:={value}' for key, value in pairs)})"


#: text of operators that are words, or that are not written between two operands
_OPERATORS: dict[str, Callable[[Sequence[str]], str]] = {
    **{word: _infix(word) for word in ("AND", "OR", "IS DISTINCT FROM", "IS NOT DISTINCT FROM")},
    "ARRAY": lambda a: f"ARRAY[{', '.join(a)}]",
    ":": json_path,
    "BETWEEN": lambda a: f"({a[0]} BETWEEN {a[1]} AND {a[2]})",
    "IN": lambda a: f"({a[0]} IN ({', '.join(a[1:])}))",
    "IS NOT NULL": lambda a: f"({a[0]} IS NOT NULL)",
    "IS NULL": lambda a: f"({a[0]} IS NULL)",
    "LIKE": _like,
    "MAP": _map,
    # two minus signs would start a comment
    "NEG": lambda a: f"-({a[0]})" if a[0].startswith("-") else f"-{a[0]}",
    "NOT": lambda a: f"(NOT {a[0]})",
    "[]": lambda a: f"{a[0]}[{a[1]}]",
    "PG_ADD": _infix("+"),
    "PG_CONCAT": _infix("||"),
    "PG_DIVIDE": _infix("/"),
    "PG_MODULO": _infix("%"),
    "PG_MULTIPLY": _infix("*"),
    "PG_NEG": lambda a: f"-{a[0]}",
    "PG_SUBTRACT": _infix("-"),
}


@dataclass(frozen=True)
class Cast:
    """CAST(operand AS type); implicit coercions are the same node."""

    operand: Expression
    type: SqlType

    def __str__(self) -> str:
        return f"CAST({self.operand} AS {self.type})"


@dataclass(frozen=True)
class TryCast(Cast):
    """TRY_CAST(operand AS type): a value that cannot be converted is NULL, and no failure."""

    def __str__(self) -> str:
        return f"TRY_{super().__str__()}"


@dataclass(frozen=True)
class Case:
    """Searched CASE: (condition, result) pairs and an optional ELSE."""

    whens: tuple[tuple[Expression, Expression], ...]
    default: Expression | None
    type: SqlType

    def __str__(self) -> str:
        whens = " ".join(f"WHEN {c} THEN {r}" for c, r in self.whens)
        return f"(CASE {whens}{f' ELSE {self.default}' if self.default is not None else ''} END)"


@dataclass(frozen=True)
class FieldRef:
    """operand->field of a STRUCT."""

    operand: Expression
    field: str
    type: SqlType

    def __str__(self) -> str:
        return f"{self.operand}->{name_text(self.field)}"


@dataclass(frozen=True)
class MakeStruct:
    """STRUCT(name := expression, ...)."""

    fields: tuple[tuple[str, Expression], ...]
    type: SqlType

    def __str__(self) -> str:
        return "STRUCT(" + ", ".join(f"{name_text(n)}:={e}" for n, e in self.fields) + ")"


@dataclass(frozen=True)
class LambdaRef:
    """A parameter of the lambda around it."""

    name: str
    type: SqlType

    def __str__(self) -> str:
        return name_text(self.name)


@dataclass(frozen=True)
class Lambda:
    """(parameters) => body; ``type`` is a types.Function."""

    parameters: tuple[str, ...]
    body: Expression
    type: SqlType

    def __str__(self) -> str:
        return f"({', '.join(map(name_text, self.parameters))}) => {self.body}"


@dataclass(frozen=True)
class OuterRef:
    """In a sub-query, a value of the row around it; ``number`` is unique in the statement."""

    number: int
    type: SqlType

    def __str__(self) -> str:
        return f"OUTER_{self.number}"


@dataclass(frozen=True)
class SubQuery:
    """A sub-query as a value, in queries over complete inputs.

    Args:
        kind: EXISTS; IN: that of the SQL standard; empty: the value of its one row, NULL without a row.
        root: its plan (plan.nodes.Node), which reads ``parameters``.
        parameters: the values that it needs of the row around it.
        arguments: these values, over that row; of IN first the operands.
        type: of its value.
    """

    kind: str
    root: Any
    parameters: tuple[OuterRef, ...]
    arguments: tuple[Expression, ...]
    type: SqlType

    @property
    def given(self) -> tuple[tuple[OuterRef, Expression], ...]:
        """The parameters with their arguments."""
        return tuple(zip(self.parameters, self.arguments[len(self.operands) :], strict=True))

    @property
    def operands(self) -> tuple[Expression, ...]:
        """What IN looks for, one for each column of the query."""
        return self.arguments[: len(self.arguments) - len(self.parameters)]

    def __hash__(self) -> int:
        return hash((self.kind, self.parameters, self.arguments))

    def __str__(self) -> str:
        given = ", ".join(f"{parameter} := {argument}" for parameter, argument in self.given)
        query = f"{self.kind}(SELECT …{f' WITH {given}' if given else ''})"
        return f"({self.arguments[0]} {query})" if self.kind == "IN" else query


Expression = Union[
    ColumnRef,
    Literal,
    Members,
    Call,
    Cast,
    Case,
    FieldRef,
    MakeStruct,
    LambdaRef,
    Lambda,
    OuterRef,
    SubQuery,
]


def is_null(node: Expression) -> bool:
    """Whether it is the literal NULL, perhaps with a type."""
    match node:
        case Literal(None) | Cast(Literal(None)):
            return True
    return False


def children(node: Expression) -> tuple[Expression, ...]:
    """The direct operands of ``node``, left to right."""
    match node:
        case Call(_, arguments, _):
            return arguments
        case Cast(operand, _) | FieldRef(operand, _, _):
            return (operand,)
        case Case(whens, default, _):
            flat = tuple(e for pair in whens for e in pair)
            return flat if default is None else (*flat, default)
        case MakeStruct(fields, _):
            return tuple(e for _, e in fields)
        case Lambda(_, body, _):
            return (body,)
        case SubQuery():
            return node.arguments
    return ()


def walk(node: Expression) -> Iterator[Expression]:
    """``node`` and all expressions inside it, parents first."""
    waiting = [node]
    while waiting:
        part = waiting.pop()
        yield part
        waiting.extend(reversed(children(part)))


def transform(node: Expression, rewrite: Callable[[Expression], Expression | None]) -> Expression:
    """A copy with nodes replaced by what ``rewrite`` returns for them (None: keep the node), top down."""
    replaced = rewrite(node)
    if replaced is not None:
        return replaced
    match node:
        case Call() | SubQuery():
            return replace(node, arguments=tuple(transform(a, rewrite) for a in node.arguments))
        case Cast() | FieldRef():
            return replace(node, operand=transform(node.operand, rewrite))
        case Case():
            whens = tuple((transform(c, rewrite), transform(r, rewrite)) for c, r in node.whens)
            default = None if node.default is None else transform(node.default, rewrite)
            return replace(node, whens=whens, default=default)
        case MakeStruct():
            return replace(node, fields=tuple((n, transform(e, rewrite)) for n, e in node.fields))
        case Lambda():
            return replace(node, body=transform(node.body, rewrite))
    return node


def columns_in(node: Expression) -> set[str]:
    """The names of all columns that ``node`` reads."""
    return {e.name for e in walk(node) if isinstance(e, ColumnRef)}
