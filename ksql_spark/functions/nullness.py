"""Determines what a NULL result of an expression means (reference §3.2): a value, or a failed evaluation."""

from __future__ import annotations

from dataclasses import replace
from enum import Enum

from ksql_spark.expressions import Call, Expression, Literal, MakeStruct, Members, SubQuery, is_null
from ksql_spark.functions import registry
from ksql_spark.functions.spec import Kind, OnNull
from ksql_spark.types import BOOLEAN


class Nullness(Enum):
    """The meaning of an expression's NULL results."""

    NEVER = "NEVER"
    #: NULL is a value
    VALUE = "VALUE"
    #: NULL is a failed evaluation
    ERROR = "ERROR"


#: cannot fail on operands that are not NULL
_TOTAL_LOGIC = frozenset({"AND", "OR", "NOT"})


def on_null(call: Call) -> OnNull:
    """Return what a NULL argument means for ``call``; the operators of ansi conditions pass it on."""
    return OnNull.VALUE if call.ansi else registry.require(call.function).on_null


def with_ansi(node: Expression) -> Expression:
    """``node`` with the standard's meaning of NULL, where it is an operator that ksqlDB gives another one."""
    if not isinstance(node, Call):
        return node
    spec = registry.require(node.function)
    differs = spec.kind is Kind.OPERATOR and spec.on_null in (OnNull.ERROR, OnNull.FALSE)
    return replace(node, ansi=True) if differs else node


def as_condition(node: Expression) -> Expression:
    """``node`` where only TRUE counts, as in WHERE: with ksqlDB's operators where they choose the same rows.

    Below AND and OR a NULL may be FALSE. So rules about conditions, such as look-ups by key, hold for both.
    """
    if not isinstance(node, Call) or not node.ansi:
        return node
    if node.function in ("AND", "OR"):
        parts = tuple(map(as_condition, node.arguments))
        known = [part for part in parts if not is_null(part)]
        if node.function == "OR" and len(known) == 1:
            return known[0]  # NULL is not TRUE, so it changes nothing
        is_total = all(nullness(part) is Nullness.NEVER for part in parts)
        return replace(node, arguments=parts, ansi=not is_total)
    plain = replace(node, ansi=False)
    is_total = node.type == BOOLEAN and nullness(plain) is Nullness.NEVER
    return plain if is_total else node


class Nullnesses:
    """The `nullness` of the parts of an expression, each of which is looked at once."""

    def __init__(self) -> None:
        # by identity: to compare or hash an expression takes as long as it is large
        self._known: dict[int, tuple[Expression, Nullness]] = {}

    def of(self, node: Expression) -> Nullness:
        """As `nullness`."""
        known = self._known.get(id(node))
        if known is None:
            known = self._known[id(node)] = node, _nullness(node, self)
        return known[1]


def nullness(node: Expression) -> Nullness:
    """Whether ``node`` may be NULL, and what that means."""
    return Nullnesses().of(node)


def _nullness(node: Expression, parts: Nullnesses) -> Nullness:
    match node:
        case Literal(value):
            return Nullness.VALUE if value is None else Nullness.NEVER
        case MakeStruct() | Members() | SubQuery("EXISTS"):
            return Nullness.NEVER
        case Call(name, arguments):
            meaning = on_null(node)
            if meaning is OnNull.VALUE:
                return Nullness.VALUE
            inner = set(map(parts.of, arguments))
            if meaning is OnNull.ERROR:
                return (
                    Nullness.NEVER if name in _TOTAL_LOGIC and inner == {Nullness.NEVER} else Nullness.ERROR
                )
            return Nullness.ERROR if Nullness.ERROR in inner else Nullness.NEVER
    return Nullness.VALUE
