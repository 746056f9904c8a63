"""TERMINATE, PAUSE and RESUME (reference §2.9)."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace

from ksql_spark.entities import Entity
from ksql_spark.entities.commands import TerminateQueryEntity
from ksql_spark.errors import KsqlError, query_hint
from ksql_spark.grammar.statements.lifecycle import Pause, QueryControl, Resume, Terminate
from ksql_spark.runtime.cleanup import CleanupRecord
from ksql_spark.runtime.queries.managed import ManagedQuery
from ksql_spark.runtime.queries.state_bounds import BOUNDS
from ksql_spark.statements.base.context import Action, Immediate, Logged, Outcome, Starts, StatementContext
from ksql_spark.statements.base.handlers import handles
from ksql_spark.statements.queries.termination import Termination


def _targets(statement: QueryControl, context: StatementContext) -> list[ManagedQuery]:
    """The queries that the statement names; ids are not case-sensitive. ALL: the persistent ones."""
    visible = {q.id for q in context.queries}
    there = [q for q in context.services.queries.all() if q.is_transient or q.id in visible]
    if statement.query_id is None:
        return [q for q in there if not q.is_transient]
    query_id = statement.query_id.upper()
    matching = [q for q in there if q.id.upper() == query_id]
    if not matching:
        hint = query_hint(query_id, [q.id for q in there])
        raise KsqlError("QUERY_UNKNOWN", id=statement.query_id, hint=hint)
    return matching


def _targets_now(
    targets: list[ManagedQuery], statement: QueryControl, context: StatementContext
) -> list[ManagedQuery]:
    """The targets when the action runs: ALL includes queries that earlier statements have started."""
    if statement.query_id is not None:
        return targets
    return [query for query in context.services.queries.all() if not query.is_transient]


def _logged(
    targets: list[ManagedQuery],
    statement: QueryControl,
    context: StatementContext,
    verb: str,
    done: str,
    act: Callable[..., None],
) -> Logged:
    def apply(_: Starts) -> Outcome:
        act(*(query.id for query in _targets_now(targets, statement, context)))
        return Outcome(done)

    entity_name = targets[0].id if statement.query_id is not None else "ALL"
    return Logged(f"{verb}/{entity_name}/execute", apply)


@handles
def terminate(statement: Terminate, context: StatementContext) -> Action:
    """End queries for good and remove their state; sinks stay."""
    queries = context.services.queries
    targets = _targets(statement, context)
    if targets and targets[0].is_transient:
        (query,) = targets

        def run() -> Entity:
            queries.drop(query)
            return TerminateQueryEntity(
                statement_text=statement.source_text, query_id=query.id, was_terminated=True
            )

        return Immediate(run)
    stopped = {q.id for q in targets}
    is_all = statement.query_id is None
    context.queries = [] if is_all else [q for q in context.queries if q.id not in stopped]

    termination = Termination(queries, lambda: _targets_now(targets, statement, context))
    action = _logged(
        targets, statement, context, "terminate", "Query terminated.", lambda *_: termination.apply()
    )
    return replace(action, cleanup=lambda: CleanupRecord(logged=termination.orphans()))


@handles
def pause(statement: Pause, context: StatementContext) -> Action:
    """Stop processing until RESUME; survives a restart."""
    targets = _targets(statement, context)
    _refuse_transient(targets, "paused")
    return _logged(targets, statement, context, "pause", "Query paused.", context.services.queries.pause)


@handles
def resume(statement: Resume, context: StatementContext) -> Action:
    """Continue where PAUSE stopped, or an error; bounds of state that were SET before apply from then on."""
    targets = _targets(statement, context)
    _refuse_transient(targets, "resumed")
    bounds = {name: context.config[name] for name in BOUNDS if name in context.properties}
    act = functools.partial(context.services.queries.resume, bounds=bounds)
    return _logged(targets, statement, context, "resume", "Query resumed.", act)


def _refuse_transient(targets: list[ManagedQuery], done: str) -> None:
    """Refuse push queries: they end with their client, so they cannot be paused."""
    for query in targets:
        if query.is_transient:
            raise KsqlError(
                "INVALID_STATEMENT",
                reason=f"{query.id} is a push query: only persistent queries can be {done}.",
                hint="TERMINATE ends it.",
            )
