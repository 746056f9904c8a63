"""What a NULL result of an expression means (reference §3.2): a value, or a failed evaluation."""

from __future__ import annotations

from enum import Enum

from ksql_spark.expressions import Call, Expression, Literal, MakeStruct, Members
from ksql_spark.functions import registry
from ksql_spark.functions.spec import OnNull


class Nullness(Enum):
    """What a NULL result of an expression means."""

    NEVER = "NEVER"
    #: NULL is a value
    VALUE = "VALUE"
    #: NULL is a failed evaluation
    ERROR = "ERROR"


#: cannot fail on operands that are not NULL
_TOTAL_LOGIC = frozenset({"AND", "OR", "NOT"})


def nullness(node: Expression) -> Nullness:
    """Whether ``node`` may be NULL, and what that means."""
    match node:
        case Literal(value):
            return Nullness.VALUE if value is None else Nullness.NEVER
        case MakeStruct() | Members():
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
