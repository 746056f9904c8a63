"""Handlers: the function that carries out each class of statements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from ksql_spark.grammar.nodes import Statement
from ksql_spark.grammar.rules import classes_of
from ksql_spark.statements.base.context import Action, StatementContext

#: statement class -> handler; Engine.query runs SELECT and PRINT
HANDLERS: dict[type[Statement], Callable[[Any, StatementContext], Action]] = {}

_Handler = TypeVar("_Handler", bound=Callable[..., Action])


def handles(handler: _Handler) -> _Handler:
    """Make a function the handler of the statements that it takes."""
    HANDLERS.update(dict.fromkeys(classes_of(handler), handler))
    return handler
