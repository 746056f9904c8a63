"""Determines which evaluations can fail, why, and how far failures propagate.

Reference §3.2 defines failures: an operand of an operator is NULL, a value cannot be cast, a function has no
result. In Spark all of these are NULL. A failure is caught, and so reported, where it propagates no further:
operators propagate it to the expression around them; arguments of functions, operands of casts and elements
of constructors become NULL.

Failures inside ARRAY, MAP and STRUCT casts are not detected, nor those of functions whose NULL may mean
something else. User functions report their own failures, with their messages (spark/python_calls.py).
"""

from __future__ import annotations

from ksql_spark.expressions import Call, Cast, Expression, Lambda, Literal, Members, TryCast, children
from ksql_spark.functions import registry
from ksql_spark.functions.casts import cast_can_fail, cast_grows
from ksql_spark.functions.nullness import Nullness, Nullnesses, on_null
from ksql_spark.functions.spec import MAX_BYTES, OnNull, is_limited
from ksql_spark.functions.user import is_user_call
from ksql_spark.types import Decimal


class Failures:
    """What may fail in one expression: each of its parts is looked at once."""

    def __init__(self) -> None:
        #: whether a part may be NULL, and what that means
        self.nullness = Nullnesses().of

    def can_fail(self, node: Expression) -> bool:
        """Whether the evaluation of ``node`` itself, not only of its operands, may fail."""
        match node:
            case Cast(Literal(), _) | TryCast():
                return False
            case Cast(operand, type_):
                return cast_can_fail(operand.type, type_) or cast_grows(operand.type, type_)
            case Call() if is_user_call(node):
                return False
            case Call(name, _):
                fails = self.nullness(node) is Nullness.ERROR or registry.require(name).can_fail
                return fails or _is_limited(node) or (node.ansi and _is_partial(node))
        return False

    def passing_on(self, node: Expression) -> list[bool]:
        """Return for each operand of ``node`` whether its failure makes ``node`` fail."""
        operands = children(node)
        if not isinstance(node, Call) or self.nullness(node) is not Nullness.ERROR:
            return [False for _ in operands]
        meaning = on_null(node)
        return [meaning is OnNull.ERROR or self.nullness(operand) is Nullness.ERROR for operand in operands]

    def needed(self, node: Expression) -> list[Expression]:
        """The operands of ``node`` that must not be NULL for a NULL result to be a failure."""
        if isinstance(node, Call) and self.nullness(node) is Nullness.ERROR:
            return []
        operands = (c for c in children(node) if not isinstance(c, (Lambda, Literal, Members)))
        return [c for c in operands if self.nullness(c) is not Nullness.NEVER]

    def nulls(self, node: Expression) -> list[Expression]:
        """The operands of ``node``, which can fail, that make it fail by a NULL that is a value."""
        operands = self.needed(node)
        if isinstance(node, Call) and self.nullness(node) is Nullness.ERROR:
            operands = [
                one for one, passes in zip(children(node), self.passing_on(node), strict=True) if passes
            ]
        found: dict[Expression, None] = {}
        for operand in operands:
            if self.can_fail(operand):
                found.update(dict.fromkeys(self.nulls(operand)))
            elif self.nullness(operand) is Nullness.VALUE:
                found[operand] = None
        return list(found)

    def cause(self, node: Expression) -> str:
        """One sentence on why ``node``, which can fail, may have failed."""
        match node:
            case Cast(operand, type_):
                too_large = (
                    f", or is larger than {MAX_BYTES} allows" if cast_grows(operand.type, type_) else ""
                )
                return f"There is a value that cannot be cast from {operand.type} to {type_}{too_large}."
            case Call(ansi=True) if not _is_limited(node):
                return "The divisor is zero, the result does not fit its type, or a pattern is not valid."
            case Call(name, _) if name in ("/", "%"):
                return "An operand is NULL, the divisor is zero, or the result does not fit its type."
            case Call("+", _) if _is_limited(node):
                return f"An operand is NULL, or the result is longer than {_limits(node)} allows."
            case Call(name, _) if name in ("+", "-", "*", "NEG"):
                return "An operand is NULL, or the result does not fit its type."
            case Call(name, _) if self.nullness(node) is Nullness.ERROR:
                return "An operand is NULL or could not be computed."
            case Call(name, _) if _is_limited(node):
                or_no_result = (
                    "" if not registry.require(name).can_fail else "has no result for its arguments, or "
                )
                return f"{name} {or_no_result}gives more than {_limits(node)} allows."
            case Call(name, _):
                return f"{name} has no result for its arguments."
        raise TypeError(f"{node!r} cannot fail")


def _is_partial(node: Call) -> bool:
    """Whether an operator may have no result for operands that are not NULL."""
    of_decimals = isinstance(node.type, Decimal) and node.function in ("+", "-", "*", "NEG")
    return node.function in ("/", "%", "LIKE") or of_decimals


def _is_limited(node: Call) -> bool:
    return is_limited(node, registry.require(node.function))


def _limits(node: Call) -> str:
    return " or ".join(registry.require(node.function).limits or ())
