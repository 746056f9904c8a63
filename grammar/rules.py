"""What a statement family declares for each statement, and where a statement may be used."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any

from grammar.generator import KsqlGenerator
from grammar.nodes import Statement
from grammar.parser import KsqlParser


class StatementSet(Enum):
    """Which statements a text may hold (reference §1.4)."""

    SERVER = 0  #: those that a server executes
    SCRIPT = 1  #: those, and RUN SCRIPT
    TEST = 2  #: those, and the assertions of the test tool


@dataclass(frozen=True)
class StatementRule:
    """One statement class: how it begins, how it is read, how it is written.

    Attributes:
        node: the class.
        starts: the keywords it may begin with, each a phrase ("CREATE STREAM").
        parse: reads it from its first word on; may return a sibling class of the same family.
        render: writes it, without the ``;``.
        statement_set: the narrowest set that has it.
    """

    node: type[Statement]
    starts: tuple[str, ...]
    parse: Callable[[KsqlParser], Statement]
    render: Callable[[KsqlGenerator, Any], str]
    statement_set: StatementSet = StatementSet.SERVER
