"""Errors with positions: from a syntax node and a condition to a KsqlError."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlglot import exp

from ksql_spark.errors import KsqlError, Position
from ksql_spark.grammar.nodes import Frame, Statement, TimeSpan, TypeNode, Window, Within, position
from ksql_spark.types import CAST_VARIANT, VARIANTS, SqlType, without_equality

Placed = exp.Expr | TypeNode | TimeSpan | Window | Within | Frame


def place(node: Placed | None) -> Position | None:
    """The position of ``node`` in its statement, or of its first part that has one, or None."""
    if node is None:
        return None
    own_position = position(node)
    if own_position is None and isinstance(node, exp.Expr):
        own_position = next((p for p in map(position, node.walk()) if p is not None), None)
    return own_position


def failure(
    condition: str, node: Placed | None = None, *, hint: str | None = None, **values: Any
) -> KsqlError:
    """The error ``condition`` at ``node``; ``values`` fill the condition's message."""
    return KsqlError(condition, position=place(node), hint=hint, **values)


def invalid(reason: str, node: Placed | None = None, *, hint: str | None = None) -> KsqlError:
    """INVALID_STATEMENT at ``node``; ``reason``: the rule of the language that the statement breaks."""
    return failure("INVALID_STATEMENT", node, hint=hint, reason=reason)


def check_comparable(
    type_: SqlType, clause: str, shown: str, node: Placed | None, *, hint: str | None = None
) -> None:
    """Refuse to compare values of a type that has no equality.

    Args:
        shown: what ``clause`` would compare.
        hint: for types with MAPs.

    Raises:
        KsqlError: INVALID_STATEMENT.
    """
    if what := without_equality(type_):
        hint = CAST_VARIANT if what == VARIANTS else hint
        raise invalid(f"{clause} cannot compare {what}: {shown}.", node, hint=hint)


@contextmanager
def placed_at(node: Placed | None) -> Iterator[None]:
    """Add the position of ``node`` to errors from the block that have none."""
    try:
        yield
    except KsqlError as error:
        if error.position is None:
            error.position = place(node)
        raise


@contextmanager
def within_statement(node: exp.Expr) -> Iterator[None]:
    """Add the text of the statement of ``node`` to errors from the block, so that they can show the line."""
    statement = node if isinstance(node, Statement) else node.find_ancestor(Statement)
    try:
        yield
    except KsqlError as error:
        if error.statement is None and statement is not None and statement.source_text:
            error.statement = statement.source_text
            error.args = (error.message,)
        raise
