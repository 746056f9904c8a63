"""Client requests, and the context in which their statements are validated."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sqlglot import exp

from ksql_spark import config, deadline, grammar
from ksql_spark.authorization import ALL_RIGHTS, Rights
from ksql_spark.consistency import KnownPositions
from ksql_spark.deadline import Deadline
from ksql_spark.entities import Entity
from ksql_spark.errors import KsqlError, too_deep
from ksql_spark.grammar.literals import ParameterMismatch, with_parameters
from ksql_spark.grammar.nodes import Statement, position
from ksql_spark.metastore.store import MetaStore
from ksql_spark.runtime.command_log import MAX_BYTES
from ksql_spark.statements import Services, StatementContext
from ksql_spark.statements.base.context import ExplainFreshness, not_ready


@dataclass(frozen=True)
class Request:
    """A client's request: statements, property overrides, session variables.

    ``command_sequence_number``: wait until the command with this number has been executed (§7.2).
    """

    text: str
    properties: Mapping[str, Any] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)
    command_sequence_number: int | None = None
    #: the values of ``?`` or ``:name`` in the text, or None if it has no parameters
    parameters: Sequence[Any] | Mapping[str, Any] | None = None
    #: a token of earlier results, whose records this result must include
    consistency_token: str | None = None
    #: a token of an earlier push query, at which this one resumes
    continuation_token: str | None = None
    #: the records that the client knows of after this response
    positions: KnownPositions = field(default_factory=KnownPositions, compare=False, repr=False)
    #: the client's rights
    rights: Rights = ALL_RIGHTS
    #: the client's name, if users log in
    user: str | None = None
    #: whom limits count: the user, or the address without authentication; None: nobody
    client: str | None = None
    #: set once nobody waits for the response any more
    cancelled: threading.Event = field(default_factory=threading.Event, compare=False, repr=False)


def filled_in(request: Request) -> Request:
    """``request`` with its parameter values as literals. Variables in the values are not substituted.

    Raises:
        KsqlError: BAD_REQUEST for values that do not fit; STATEMENT_TOO_LONG, before parameters are
            looked for.
    """
    if request.parameters is None:
        return request
    if request.variables:
        raise KsqlError(
            "BAD_REQUEST", reason="A request can have parameters or session variables, but not both."
        )
    check_length("its text", len(request.text.encode(errors="replace")), request.text)
    try:
        return replace(request, text=with_parameters(request.text, request.parameters))
    except ParameterMismatch as error:
        raise KsqlError("BAD_REQUEST", reason=str(error)) from None


def context_of(
    request: Request,
    services: Services,
    metastore: MetaStore | None = None,
    freshness: ExplainFreshness = not_ready,
) -> StatementContext:
    """A sandbox with the properties and variables of ``request``.

    Args:
        metastore: copied into the sandbox; None: the server's, whose lock the caller holds.
        freshness: see StatementContext.

    Raises:
        KsqlError: PROPERTY_UNKNOWN, PROPERTY_FIXED, PROPERTY_INVALID.
    """
    properties = {config.canonical(k) or k: v for k, v in request.properties.items()}
    services.config.with_overrides(properties)  # only validates them
    variables = {name.upper(): value for name, value in request.variables.items()}
    store = services.metastore if metastore is None else metastore
    may_name = request.rights.may_read if request.rights.role is None else None
    return StatementContext(
        services,
        store.copy(may_name),
        properties,
        variables,
        positions=request.positions,
        rights=request.rights,
        user=request.user,
        freshness=freshness,
    )


def settings_of(properties: Mapping[str, Any]) -> Hashable:
    """The overrides of a request, as part of its plan's cache key."""
    return tuple(sorted((name, str(value)) for name, value in properties.items())) if properties else ()


def wait_for_command(request: Request, services: Services) -> None:
    """Wait until the command that ``request`` depends on has been executed (reference §7.2).

    Raises:
        KsqlError: COMMAND_NOT_REACHED after ksql.server.command.response.timeout.ms; STOPPED.
    """
    if request.command_sequence_number is not None:
        timeout_s = services.config["ksql.server.command.response.timeout.ms"] / 1000
        services.commands.wait_for(request.command_sequence_number, timeout_s, services.server.is_stopping)


def parsed(request: Request, context: StatementContext) -> list[Statement]:
    """The statements of ``request``.

    Raises:
        KsqlError: SYNTAX; STATEMENT_TOO_LONG, before the text is parsed; STATEMENT_TIMEOUT,
            STATEMENT_CANCELLED in a block of ``planning``.
    """
    if len(request.text) * 4 > MAX_BYTES:  # only then splitting is worthwhile
        for text in request.text.split(";"):  # quickly skips what cannot contain a ;
            check_length("its text", len(text.encode(errors="replace")), text)
        for text in _pieces(request.text):
            check_length("its text", len(text.encode()), text)
    is_substituting = request.parameters is None and bool(context.config["ksql.variable.substitution.enable"])
    statements = []
    try:
        for statement in grammar.parse_lazily(request.text, request.variables, substitution=is_substituting):
            with located(statement):
                deadline.check()
            statements.append(statement)
        return statements
    except grammar.ParseFailed as failed:
        raise KsqlError("SYNTAX", reason=str(failed), statement=failed.text) from None


def _pieces(text: str) -> list[str]:
    try:
        return [piece.text for piece in grammar.split(text)]
    except grammar.ParseFailed:
        return [text]


def check_length(what: str, length: int, statement: str) -> None:
    """Check that the command log accepts as many bytes as ``what`` has.

    Raises:
        KsqlError: STATEMENT_TOO_LONG.
    """
    if length > MAX_BYTES:
        shown = statement if len(statement) <= 200 else f"{statement[:199]}…"
        raise KsqlError("STATEMENT_TOO_LONG", what=what, bytes=length, most=MAX_BYTES, statement=shown)


def planning(request: Request, services: Services) -> contextlib.AbstractContextManager[None]:
    """A block in which planning ends after ksql.statement.timeout.ms, or once nobody waits for it."""
    limit_s = services.config["ksql.statement.timeout.ms"] / 1000

    def interruption() -> str | None:
        if services.server.is_stopping():
            return "STOPPED"
        return "STATEMENT_CANCELLED" if request.cancelled.is_set() else None

    return deadline.limited(Deadline(limit_s, interruption))


@contextlib.contextmanager
def located(statement: Statement, entities: Sequence[Entity] = ()) -> Iterator[None]:
    """Add to errors the statement's text and where it has the name that the error is about.

    Args:
        statement: the one that the block is about.
        entities: those of statements that ran before it.
    """
    try:
        yield
    except KsqlError as error:
        if error.statement is None:
            named = _named(statement, error) if error.position is None else None
            if named is not None:
                error.position = position(named)
            within = named.find_ancestor(Statement) if named is not None else None
            error.statement = (within or statement).source_text
        error.args = (error.message,)
        error.entities = tuple(entities)
        raise
    except RecursionError:
        deep = too_deep(statement.source_text)
        deep.entities = tuple(entities)
        raise deep from None


#: the parameters of conditions that are names, as the statement has them
_NAMES = ("name", "id", "topic")


def _named(statement: Statement, error: KsqlError) -> exp.Expr | None:
    """The name in ``statement``, or in one inside it, that the error is about, or None."""
    names = {str(error.parameters[each]).upper() for each in _NAMES if each in error.parameters}
    nodes = statement.find_all(exp.Identifier, exp.Literal) if names else ()
    return next((node for node in nodes if str(node.this).upper() in names), None)
