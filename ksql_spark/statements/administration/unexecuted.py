"""Describes what users can do about statements of the command log that this server could not execute.

The name that such a statement would have made is taken: the next start tries the statement again, and what
has the name meanwhile would be in its way. DROP, or TERMINATE for a query, gives it up.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from sqlglot import exp

from ksql_spark.errors import KsqlError
from ksql_spark.grammar.nodes import NamedStatement, Statement
from ksql_spark.grammar.statements.functions import CreateFunction, DropFunction
from ksql_spark.grammar.statements.indexes import CreateIndex, DropIndex
from ksql_spark.grammar.statements.inserts import InsertSelect
from ksql_spark.grammar.statements.lifecycle import QueryControl, Terminate
from ksql_spark.grammar.statements.sinks import CreateSink, CreateSinkAs, DropSink
from ksql_spark.grammar.statements.sources import AlterSource, CreateAsSelect, CreateSource, DropSource
from ksql_spark.grammar.statements.types import CreateType, DropType
from ksql_spark.grammar.statements.views import CreateView, DropView
from ksql_spark.runtime.command_log import (
    FUNCTION,
    INDEX,
    QUERY,
    SINK,
    SOURCE,
    TYPE,
    VIEW,
    Name,
    SkippedRecord,
)
from ksql_spark.statements.base.context import Action, Logged, Outcome, Starts, StatementContext

#: class of a statement -> the kinds of things that it makes, with its name
_MAKES: Mapping[type[Statement], tuple[str, ...]] = {
    CreateSource: (SOURCE,),
    CreateAsSelect: (SOURCE,),
    CreateSink: (SINK,),
    CreateSinkAs: (SINK, SOURCE),
    CreateType: (TYPE,),
    CreateView: (VIEW,),
    CreateIndex: (INDEX,),
    CreateFunction: (FUNCTION,),
    InsertSelect: (),
}
#: class of a statement -> the kind of thing that it removes
_REMOVES: Mapping[type[Statement], str] = {
    DropSource: SOURCE,
    DropSink: SINK,
    DropType: TYPE,
    DropView: VIEW,
    DropIndex: INDEX,
    DropFunction: FUNCTION,
    Terminate: QUERY,
}
_OF_A_KIND = (CreateSource, CreateAsSelect, AlterSource, DropSource)
#: errors of statements that name what does not exist -> the parameter with the name, its kind
_UNKNOWN = {
    "SOURCE_UNKNOWN": ("name", SOURCE),
    "SINK_UNKNOWN": ("name", SINK),
    "TYPE_UNKNOWN": ("name", TYPE),
    "FUNCTION_UNKNOWN": ("name", FUNCTION),
    "QUERY_UNKNOWN": ("id", QUERY),
}


#: the statement that removes a thing of a kind
_WORDS = {
    SINK: "DROP SINK",
    TYPE: "DROP TYPE",
    VIEW: "DROP VIEW",
    INDEX: "DROP INDEX",
    FUNCTION: "DROP FUNCTION",
    QUERY: "TERMINATE",
}


def names_of(statement: Statement, query_id: str | None = None) -> frozenset[Name]:
    """Return the names that a statement creates or acts on.

    Args:
        statement: the statement.
        query_id: of the query that it starts.
    """
    names = {_name(QUERY, query_id)} if query_id is not None else set()
    if isinstance(statement, QueryControl):
        return frozenset({_name(QUERY, statement.query_id)} if statement.query_id is not None else names)
    if not isinstance(statement, NamedStatement):
        return frozenset(names)
    removed = _REMOVES.get(type(statement))
    kinds = (removed,) if removed is not None else _MAKES.get(type(statement), (SOURCE,))
    return frozenset(names | {_name(kind, statement.name) for kind in kinds})


def mentioned_by(statement: Statement) -> frozenset[str]:
    """All identifiers in a statement."""
    return frozenset(str(identifier.this) for identifier in statement.find_all(exp.Identifier))


def remedy_of(statement: Statement, names: Collection[Name]) -> str:
    """Return a sentence that says what a user can do about a statement that was not executed."""
    word = f"DROP {statement.kind}" if isinstance(statement, _OF_A_KIND) else "DROP STREAM or TABLE"
    kinds = dict(sorted(names))
    kinds = {kind: name for kind, name in kinds.items() if kind != QUERY or SOURCE not in kinds}
    ways = [f"{_WORDS.get(kind, word)} {name}" for kind, name in kinds.items()]
    again = "The next start tries it again"
    return f"{again}; {' and '.join(ways)} gives it up." if ways else f"{again}."


def _name(kind: str, text: str) -> Name:
    return kind, text.upper() if kind in (QUERY, FUNCTION) else text


def removed_by(statement: Statement) -> Name | None:
    """Return the name that a statement removes; None for nothing, or all queries."""
    kind = _REMOVES.get(type(statement))
    if kind is None:
        return None
    text = statement.query_id if isinstance(statement, Terminate) else statement.name
    return _name(kind, text) if text is not None else None


def check_free(statement: Statement, context: StatementContext) -> None:
    """Refuse to make something under a name that a statement waits for.

    Raises:
        KsqlError: NAME_WAITS.
    """
    missing = context.services.commands.missing
    for name in sorted(_name(kind, statement.name) for kind in _MAKES.get(type(statement), ())):
        record = missing.get(name)
        if record is not None and not _is_there(name, context):
            raise KsqlError("NAME_WAITS", name=name[1], reason=record.shortly, hint=record.remedy)


def check_unused(statement: Statement, context: StatementContext) -> None:
    """Refuse to remove what a statement that waits would use: then neither could be executed.

    Raises:
        KsqlError: INVALID_STATEMENT.
    """
    name = removed_by(statement)
    if name is None or name[0] == QUERY or (isinstance(statement, DropSource) and statement.cascade):
        return
    waiting = context.services.commands.needing(name)
    if waiting:
        more = " or use CASCADE" if isinstance(statement, DropSource) else ""
        raise KsqlError(
            "INVALID_STATEMENT",
            reason=f"{name[1]} is used by statements that were not executed: {waiting[0].statement} (offset "
            f"{waiting[0].offset} of the command log){' and others' if len(waiting) > 1 else ''}.",
            hint=f"Give these up first{more}. {waiting[0].remedy}",
        )


def give_up(statement: Statement, context: StatementContext) -> Action | None:
    """The action of a DROP or TERMINATE of what such a statement would have made, else None."""
    name = removed_by(statement)
    if name is None or name not in context.services.commands.missing or _is_there(name, context):
        return None

    def apply(_: Starts) -> Outcome:
        return Outcome(f"{name[1]} was given up: its statement will not be executed. Topics stay.")

    return Logged(f"{name[0].lower()}/{name[1]}/drop", apply)


def explain(error: KsqlError, missing: Mapping[Name, SkippedRecord]) -> None:
    """Explain in the error of a statement that a thing it names was not made, and why."""
    parameter, kind = _UNKNOWN.get(error.condition, ("", ""))
    record = missing.get(_name(kind, str(error.parameters.get(parameter))))
    if record is not None:
        error.hint = f"{record.shortly} {record.remedy}"


def _is_there(name: Name, context: StatementContext) -> bool:
    kind, text = name
    store = context.metastore
    there: Mapping[str, Callable[[], bool]] = {
        SOURCE: lambda: store.find(text) is not None,
        SINK: lambda: store.find_sink(text) is not None,
        TYPE: lambda: text in store.types(),
        VIEW: lambda: text in store.views(),
        INDEX: lambda: text in store.indexes(),
        FUNCTION: lambda: text in store.functions(),
        QUERY: lambda: any(query.id.upper() == text for query in context.queries),
    }
    return there[kind]()


__all__ = [
    "check_free",
    "check_unused",
    "explain",
    "give_up",
    "mentioned_by",
    "names_of",
    "remedy_of",
    "removed_by",
]
