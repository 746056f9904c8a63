"""Rules of statements: what a statement family declares for each statement, and where it is allowed."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any

from ksql_spark.grammar.generator import KsqlGenerator
from ksql_spark.grammar.nodes import Statement
from ksql_spark.grammar.parser import KsqlParser


class StatementSet(Enum):
    """A set of statements that a text may contain (reference §1.4)."""

    SERVER = 0  #: statements that a server executes
    SCRIPT = 1  #: those, and RUN SCRIPT
    TEST = 2  #: those, and the assertions of the test tool


@dataclass(frozen=True)
class StatementRule:
    """One statement class: how it begins, how it is parsed, how it is rendered.

    Attributes:
        node: the class.
        starts: the phrases that it may begin with, such as "CREATE STREAM".
        parse: parses it from its first word; may return another class of the same family.
        render: renders it, without the ``;``.
        statement_set: the smallest set that contains it.
    """

    node: type[Statement]
    starts: tuple[str, ...]
    parse: Callable[[KsqlParser], Statement]
    render: Callable[[KsqlGenerator, Any], str]
    statement_set: StatementSet = StatementSet.SERVER


def classes_of(function: Callable[..., Any]) -> tuple[type[Statement], ...]:
    """The classes of statements that a function takes, by the annotation of its first parameter."""
    first, *_ = inspect.signature(function, eval_str=True).parameters.values()
    return typing.get_args(first.annotation) or (first.annotation,)
