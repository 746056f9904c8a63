"""Statements: one handler per statement class, in one table.

A handler checks the statement in a sandbox and returns an action; see statements.scope.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from grammar.nodes import Statement
from grammar.statements.describe import DescribeFunction, DescribeSource, DescribeSources, Explain
from grammar.statements.inserts import InsertSelect, InsertValues
from grammar.statements.lifecycle import Pause, Resume, Terminate
from grammar.statements.session import (
    AlterSystem,
    DefineVariable,
    SetProperty,
    UndefineVariable,
    UnsetProperty,
)
from grammar.statements.show import Show
from grammar.statements.sources import AlterSource, CreateAsSelect, CreateSource, DropSource
from grammar.statements.types import CreateType, DropType
from ksql_spark import __version__
from ksql_spark.errors import KsqlError
from ksql_spark.statements import describe, inserts, lifecycle, session, show, sources, types
from ksql_spark.statements.scope import Action, Immediate, Logged, Outcome, Scope, Services, Starts

#: statement class -> handler; SELECT and PRINT are engine.query's
HANDLERS: Mapping[type[Statement], Callable[[Any, Scope], Action]] = {
    AlterSource: sources.alter_source,
    AlterSystem: session.alter_system,
    CreateAsSelect: sources.create_as_select,
    CreateSource: sources.create_source,
    CreateType: types.create_type,
    DefineVariable: session.define,
    DescribeFunction: describe.describe_function,
    DescribeSource: describe.describe_source,
    DescribeSources: describe.describe_sources,
    DropSource: sources.drop_source,
    DropType: types.drop_type,
    Explain: describe.explain,
    InsertSelect: sources.insert_select,
    InsertValues: inserts.insert_values,
    Pause: lifecycle.pause,
    Resume: lifecycle.resume,
    SetProperty: session.set_property,
    Show: show.show,
    Terminate: lifecycle.terminate,
    UndefineVariable: session.undefine,
    UnsetProperty: session.unset_property,
}


def handle(statement: Statement, scope: Scope) -> Action:
    """The action of ``statement``; the sandbox is changed as the action will change the engine.

    Raises:
        KsqlError: the statement cannot be carried out.
    """
    handler = HANDLERS.get(type(statement))
    if handler is None:
        words = " ".join(statement.source_text.upper().split()[:2])
        raise KsqlError("NOT_DONE_YET", what=words, version=__version__)
    return handler(statement, scope)


__all__ = ["HANDLERS", "Immediate", "Logged", "Outcome", "Scope", "Services", "Starts", "handle"]
