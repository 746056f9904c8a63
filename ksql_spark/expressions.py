"""Bound expressions: immutable, typed, names resolved. What analyzer.bind gives and plans hold.

Operators are calls as functions are ("+", "=", "AND", "[]" ...), so one registry
(ksql_spark.functions) types, explains and lowers them all. No rule of any function lives here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Union

from ksql_spark.types import SqlType, quote_identifier


@dataclass(frozen=True)
class ColumnRef:
    """A column of the relation below, by its unique name there."""

    name: str
    type: SqlType

    def __str__(self) -> str:
        return self.name if self.name.isidentifier() and self.name.isupper() else quote_identifier(self.name)


@dataclass(frozen=True)
class Literal:
    """A constant. ``value`` is the Python value (str, int, float, decimal.Decimal, bool, None)."""

    value: Any
    type: SqlType

    def __str__(self) -> str:
        match self.value:
            case None:
                return "NULL"
            case bool():
                return "TRUE" if self.value else "FALSE"
            case str():
                return "'" + self.value.replace("'", "''") + "'"
            case float():
                return f"{self.value!r}E0" if "e" not in repr(self.value) else repr(self.value).upper()
        return str(self.value)


@dataclass(frozen=True)
class Call:
    """A call of a registered function or operator, arguments already coerced."""

    function: str
    arguments: tuple[Expression, ...]
    type: SqlType

    def __str__(self) -> str:
        args = [str(a) for a in self.arguments]
        if not (self.function[0].isalpha() or self.function[0] == "_") or self.function in INFIX_WORDS:
            if len(args) == 2:
                return f"({args[0]} {self.function} {args[1]})"
            if len(args) == 1:
                return f"({self.function} {args[0]})"
        return f"{self.function}({', '.join(args)})"


#: word operators that print between their operands
INFIX_WORDS = frozenset({"AND", "OR", "LIKE", "IS DISTINCT FROM", "IS NOT DISTINCT FROM"})


@dataclass(frozen=True)
class Cast:
    """CAST(operand AS type); implicit coercions are the same node."""

    operand: Expression
    type: SqlType

    def __str__(self) -> str:
        return f"CAST({self.operand} AS {self.type})"


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
        return f"{self.operand}->{quote_identifier(self.field)}"


@dataclass(frozen=True)
class MakeStruct:
    """STRUCT(name := expression, ...)."""

    fields: tuple[tuple[str, Expression], ...]
    type: SqlType

    def __str__(self) -> str:
        return "STRUCT(" + ", ".join(f"{quote_identifier(n)}:={e}" for n, e in self.fields) + ")"


@dataclass(frozen=True)
class LambdaRef:
    """A parameter of the lambda around it."""

    name: str
    type: SqlType

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Lambda:
    """(parameters) => body; ``type`` is a types.Function."""

    parameters: tuple[str, ...]
    body: Expression
    type: SqlType

    def __str__(self) -> str:
        return f"({', '.join(self.parameters)}) => {self.body}"


Expression = Union[ColumnRef, Literal, Call, Cast, Case, FieldRef, MakeStruct, LambdaRef, Lambda]


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
    return ()


def walk(node: Expression) -> Iterator[Expression]:
    """``node`` and all expressions inside it, parents first."""
    yield node
    for child in children(node):
        yield from walk(child)


def transform(node: Expression, rewrite: Callable[[Expression], Expression | None]) -> Expression:
    """A copy where ``rewrite`` replaced what it returned something for, top down."""
    replaced = rewrite(node)
    if replaced is not None:
        return replaced
    match node:
        case Call():
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
    """Names of all columns that ``node`` reads."""
    return {e.name for e in walk(node) if isinstance(e, ColumnRef)}
