"""EVOLVE: a new version of a stream or table begins, beside the old one or in its place (ADR 54)."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace

from ksql_spark import analyzer
from ksql_spark.analyzer.definitions.properties import SELECT, Evolve
from ksql_spark.analyzer.reads.past import NEW, OLD
from ksql_spark.errors import KsqlError
from ksql_spark.grammar.statements.sources import CreateAsSelect
from ksql_spark.metastore.sources import TABLE, DataSource
from ksql_spark.plan.planner import lower
from ksql_spark.plan.queries import PersistentQuery
from ksql_spark.plan.stages import MICROBATCH
from ksql_spark.plan.trees import relations
from ksql_spark.runtime.queries.states import State
from ksql_spark.statements.base.context import Action, KnownQuery, StatementContext
from ksql_spark.statements.base.topics import keeps_past
from ksql_spark.statements.queries.query_start import QueryStart
from ksql_spark.statements.queries.ways import Way, default_evolve, way_of

_FROM_NOW = "EVOLVE = 'from-now' begins without history, where the old version ends."


def begin_evolution(statement: CreateAsSelect, evolve: Evolve, context: StatementContext) -> Action:
    """Start the new version of a stream or table beside the old one, or in its place."""
    if context.stored is not None:
        bound = context.stored.logical
    else:
        bound = bind_evolution(statement, context, evolve)
    bound = replace(bound, sink=replace(bound.sink, statement=statement.source_text + ";"))
    old = None
    if way_of(evolve, bound) is not Way.BESIDE:
        old = context.writer_of(statement.name)
        assert old is not None  # it was there when the statement was checked
    return QueryStart(statement, bound, statement.kind, context, old, evolve).action()


def bind_evolution(
    statement: CreateAsSelect, context: StatementContext, evolve: Evolve | None
) -> PersistentQuery:
    """The new version of a stream or table; without ``evolve``, as the default way would make it.

    Raises:
        KsqlError: the new version is invalid, or the source cannot evolve so, or not now.
    """
    name, registry = statement.name, context.services.registry
    bound = analyzer.bind_evolution(statement, context.metastore, context.config, registry)
    way = way_of(evolve or default_evolve(statement), bound)
    check_none_under_way(name, context)
    writers = [q.id for q in context.queries if q.sink == name and not q.creates_sink]
    if writers:
        reason = f"INSERT INTO writes {name} too: {', '.join(writers)}."
        raise KsqlError("INVALID_STATEMENT", reason=reason, hint="TERMINATE these queries first.")
    downstream = _sinks_downstream(name, context)
    for source in dict.fromkeys(relation.source.name for relation in relations(bound.root)):
        if source in downstream:
            reason = f"{source} is made of {name}, so the new version would read its own results."
            raise KsqlError("INVALID_STATEMENT", reason=reason)
    old, stays = context.metastore.require(name), way is not Way.BESIDE
    for check in evolve.verify if evolve is not None else ():
        if check.what == SELECT:
            versions = by_name({OLD: old, NEW: bound.sink}, old)
            analyzer.bind_verification(check.query, versions, context.metastore, context.config)
    may_move = way is Way.IN_PLACE and bound.sink.kind == TABLE
    check_evolution(bound, context, is_beside=not stays, may_move=may_move)
    if stays or keeps_past(old, context.services.admin):
        analyzer.check_written_rows(old, bound.sink, statement, is_past=not stays)
    else:  # all rows are written again
        bound = replace(bound, sink=replace(bound.sink, dropped=()))
    if way is Way.IN_PLACE:
        return _in_place(bound, statement, context)
    if way.is_at_once:
        meaningless = {"SWAP", "VERIFY"} if way is Way.WARM_UP else {"START", "SWAP", "VERIFY"}
        unused = meaningless & {property_.name.upper() for property_ in statement.properties}
        if unused:
            reason = f"its new version takes over at once, without {min(unused)}."
            raise KsqlError("INVALID_STATEMENT", reason=f"{name} cannot evolve: {reason}")
        _check_position(name, context)
    if way is Way.WARM_UP:
        _check_warm_up(bound, context)
    return bound


def check_none_under_way(name: str, context: StatementContext, *, allows_stopped: bool = False) -> None:
    """Refuse another new version of a stream or table while one runs beside it, or takes over.

    Args:
        allows_stopped: whether one may be taking over that is paused or has failed.

    Raises:
        KsqlError: INVALID_STATEMENT; EVOLUTION_UNFINISHED if waiting is enough.
    """
    running = evolution_of(name, context)
    if running is not None:
        reason = f"{running.id}, a new version of {name}, already runs beside the current one."
        hint = f"SWAP {name}; or ABORT EVOLUTION {name}; first."
        raise KsqlError("INVALID_STATEMENT", reason=reason, hint=hint)
    queries = context.services.queries
    for query in queries.all():
        is_new = query.plan.sink.name == name and query.evolution is not None
        if is_new and not queries.takeovers.is_done(query):
            ends_by_itself = queries.state_of(query)[0] == State.RUNNING
            if allows_stopped and not ends_by_itself:
                continue
            raise KsqlError(
                "EVOLUTION_UNFINISHED" if ends_by_itself else "INVALID_STATEMENT",
                reason=f"{query.id} is still taking over {name}.",
                hint=f"DESCRIBE EVOLUTION {name}; shows how far it is.",
            )


def _in_place(
    bound: PersistentQuery, statement: CreateAsSelect, context: StatementContext
) -> PersistentQuery:
    """The new version, as it goes on with the old one's state.

    Raises:
        KsqlError: INVALID_STATEMENT.
    """
    name = statement.name
    old = context.writer_of(name)
    if old is None or old.logical is None:
        reason = "no query writes it, so there is no state to go on with."
        raise KsqlError("INVALID_STATEMENT", reason=f"{name} cannot evolve in place: {reason}")
    table = context.metastore.require(name)
    if bound.sink.topic != table.topic:
        _check_move(table, bound, context)
        bound = replace(bound, sink=replace(bound.sink, past_from_ms=int(time.time() * 1000)))
    return analyzer.fitted(old.logical, bound, statement)


def _check_move(table: DataSource, bound: PersistentQuery, context: StatementContext) -> None:
    """Refuse a topic that the rows of a table do not fit into, or that others write or make it of.

    Raises:
        KsqlError: INVALID_STATEMENT; as KafkaAdmin.
    """
    target, admin = bound.sink.topic, context.services.admin
    before, after = admin.require_topic(table.topic), admin.topic(target)
    writers = [q.id for q in context.services.queries.all() if q.plan.sink.topic == target]
    reason = None
    if context.services.placement is not None:
        reason = "servers that share queries do not move tables to other topics yet."
    elif after is not None and after.partitions != before.partitions:
        reason = f"topic {target} has {after.partitions} partitions, and its topic has {before.partitions}."
    elif writers:
        reason = f"topic {target} is written by {', '.join(writers)}."
    elif any(relation.source.topic == target for relation in relations(bound.root)):
        reason = f"its query reads topic {target}."
    if reason is not None:
        raise KsqlError("INVALID_STATEMENT", reason=f"{table.name} cannot evolve: {reason}")


def _check_position(name: str, context: StatementContext) -> None:
    """Refuse a new version that cannot begin exactly where the old one ends.

    Raises:
        KsqlError: INVALID_STATEMENT.
    """
    old = context.writer_of(name)
    running = context.services.queries.find(old.id) if old is not None else None
    if old is None:
        reason = "no query writes it, so there is no position where a new version could begin."
    elif running is None:
        reason = f"{old.id} has not begun."
    elif running.plan.inner:
        reason = f"{old.id} has internal topics, so it has no single position where another could begin."
    else:
        return
    raise KsqlError("INVALID_STATEMENT", reason=f"{name} cannot evolve: {reason}")


def _check_warm_up(bound: PersistentQuery, context: StatementContext) -> None:
    """Refuse a new version whose state cannot be made by reading up to the old one's position.

    Raises:
        KsqlError: INVALID_STATEMENT.
    """
    plan = lower(bound.root, bound.sink, context.config, by_event_time=bound.by_event_time)
    if plan.inner:
        reason = "has internal topics"
    elif plan.last.needs_heartbeats and plan.last.mode == MICROBATCH:
        reason = "acts when time passes, in micro-batches"
    else:
        return
    why = f"its new version {reason}, so it cannot read again what the old one has read, and no more."
    raise KsqlError("INVALID_STATEMENT", reason=f"{bound.sink.name} cannot evolve: {why}", hint=_FROM_NOW)


def check_evolution(
    bound: PersistentQuery, context: StatementContext, *, is_beside: bool = True, may_move: bool = False
) -> None:
    """Refuse a new version that does not fit the stream or table as it is now.

    Raises:
        KsqlError: as analyzer.check_evolution.
    """
    name = bound.sink.name
    old = context.metastore.require(name)
    readers = [q.id for q in context.queries if name in q.sources]
    analyzer.check_evolution(old, bound.sink, readers, is_beside=is_beside, may_move=may_move)


def _sinks_downstream(name: str, context: StatementContext) -> set[str]:
    """The sinks of all queries that read a source, directly or not."""
    sinks: set[str] = set()
    ahead = [name]
    while ahead:
        source = ahead.pop()
        new = {q.sink for q in context.queries if source in q.sources} - sinks
        sinks |= new
        ahead += new
    return sinks


def evolution_of(name: str, context: StatementContext) -> KnownQuery | None:
    """The new version that runs beside a table; None if there is none."""
    return next((q for q in context.queries if q.evolves == name), None)


def by_name(versions: Mapping[str, DataSource], table: DataSource) -> dict[str, DataSource]:
    """Return both versions under the table's name, which users write."""
    return {which: replace(source, name=table.name) for which, source in versions.items()}


__all__ = [
    "begin_evolution",
    "bind_evolution",
    "by_name",
    "check_evolution",
    "check_none_under_way",
    "evolution_of",
]
