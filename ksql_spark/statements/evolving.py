"""EVOLVE, SWAP, ABORT EVOLUTION, DESCRIBE EVOLUTION: a new version runs beside the old one and then takes its
place, or begins where the old one ends (beyond ksqlDB, ADR 54)."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from ksql_spark import analyzer
from ksql_spark.analyzer.past import NEW, OLD, rows_by_source
from ksql_spark.analyzer.properties import BACKFILL, FROM_NOW, IN_PLACE, SELECT, Evolve
from ksql_spark.entities import Entity
from ksql_spark.entities.evolutions import EvolutionDescription, EvolutionSample
from ksql_spark.errors import KsqlError
from ksql_spark.grammar.statements.evolution import AbortEvolution, DescribeEvolution, Swap
from ksql_spark.grammar.statements.sources import CreateAsSelect
from ksql_spark.kafka.consumer import Record
from ksql_spark.metastore.serdes import serdes
from ksql_spark.metastore.sources import STREAM, TABLE, DataSource
from ksql_spark.plan.nodes import PersistentQuery, relations
from ksql_spark.plan.planner import lower
from ksql_spark.plan.stages import MICROBATCH, transactional_id
from ksql_spark.runtime.cleanup import CleanupRecord
from ksql_spark.runtime.queries import differences, verification
from ksql_spark.runtime.queries.checkpoints import Offsets
from ksql_spark.runtime.queries.definition import Evolution
from ksql_spark.runtime.queries.differences import Differences, Place, TopicRows
from ksql_spark.runtime.queries.managed import ManagedQuery
from ksql_spark.runtime.queries.states import State
from ksql_spark.runtime.reading import batch
from ksql_spark.runtime.reading.results import api_value
from ksql_spark.runtime.reading.view import split_key, stored_rows
from ksql_spark.runtime.versions import Change
from ksql_spark.statements.context import (
    Action,
    Immediate,
    KnownQuery,
    Logged,
    Outcome,
    Services,
    Starts,
    StatementContext,
    evolves,
)
from ksql_spark.statements.query_start import QueryStart
from ksql_spark.statements.termination import Termination
from ksql_spark.statements.topics import keeps_past
from ksql_spark.types import BIGINT

#: states of an evolution
BACKFILLING, CAUGHT_UP, VERIFIED, SWAPPING, WARMING_UP, SWAPPED, FAILED, ABORTED = (
    "backfilling", "caught up", "verified", "swapping", "warming up", "swapped", "failed", "aborted",
)  # fmt: skip
#: how many records the new version may lack when it takes over
MAX_LAG = "ksql.evolution.max.lag"
_FROM_NOW = "EVOLVE = 'from-now' begins without history, where the old version ends."


def begin_evolution(statement: CreateAsSelect, evolve: Evolve, context: StatementContext) -> Action:
    """Start the new version of a stream or table beside the old one, or in its place without its state."""
    if context.stored is not None:
        bound = context.stored.logical
    else:
        bound = bind_evolution(statement, context, evolve)
    bound = replace(bound, sink=replace(bound.sink, statement=statement.source_text + ";"))
    is_in_place = evolve.way == IN_PLACE
    if is_in_place or takes_over_at_once(evolve):
        (old,) = (q for q in context.queries if q.sink == statement.name and q.creates_sink)
        is_warmed = warms_up(evolve, bound)
        return QueryStart(
            statement, bound, statement.kind, context, old, is_anew=not is_in_place, is_warmed=is_warmed
        ).action()
    return QueryStart(statement, bound, statement.kind, context, evolve=evolve).action()


def takes_over_at_once(evolve: Evolve) -> bool:
    """Whether the old version ends at once, and the new one begins to write where that one ended."""
    return evolve.way == FROM_NOW or evolve.keeps_history


def warms_up(evolve: Evolve, bound: PersistentQuery) -> bool:
    """Whether the new version first reads again what the old one has read, because it keeps state."""
    return evolve.way == BACKFILL and evolve.keeps_history and not analyzer.is_stateless(bound.root)


def default_way(statement: CreateAsSelect) -> Evolve:
    """Return how a statement without EVOLVE would change a running query if it cannot do so in place."""
    return Evolve(BACKFILL, keeps_history=statement.kind == STREAM)


def bind_evolution(
    statement: CreateAsSelect, context: StatementContext, evolve: Evolve | None
) -> PersistentQuery:
    """The new version of a stream or table; without ``evolve``, as the default way would make it.

    Raises:
        KsqlError: the new version is invalid, or the source cannot evolve so, or not now.
    """
    name, registry = statement.name, context.services.registry
    bound = analyzer.bind_evolution(statement, context.metastore, context.config, registry)
    is_in_place = evolve is not None and evolve.way == IN_PLACE
    wanted = evolve or default_way(statement)
    at_once, is_warmed = takes_over_at_once(wanted), warms_up(wanted, bound)
    running = evolution_of(name, context)
    if running is not None:
        reason = f"{running.id}, a new version of {name}, already runs beside the current one."
        hint = f"SWAP {name}; or ABORT EVOLUTION {name}; first."
        raise KsqlError("INVALID_STATEMENT", reason=reason, hint=hint)
    writers = [q.id for q in context.queries if q.sink == name and not q.creates_sink]
    if writers:
        reason = f"INSERT INTO writes {name} too: {', '.join(writers)}."
        raise KsqlError("INVALID_STATEMENT", reason=reason, hint="TERMINATE these queries first.")
    for query in context.services.queries.all():
        evolution = query.evolution
        is_swapped = query.plan.sink.name == name and evolution is not None and evolution.is_swapped
        if is_swapped and not context.services.queries.has_taken_over(query):
            reason = f"{query.id} is still taking over {name}."
            raise KsqlError("INVALID_STATEMENT", reason=reason, hint=f"DESCRIBE EVOLUTION {name};")
    made_of_it = _all_made_of(name, context)
    for source in dict.fromkeys(relation.source.name for relation in relations(bound.root)):
        if source in made_of_it:
            reason = f"{source} is made of {name}, so the new version would read its own results."
            raise KsqlError("INVALID_STATEMENT", reason=reason)
    for check in evolve.verify if evolve is not None else ():
        if check.what == SELECT:
            table = context.metastore.require(name)
            versions = _by_name({OLD: table, NEW: bound.sink}, table)
            analyzer.bind_verification(check.query, versions, context.metastore, context.config)
    may_move = is_in_place and bound.sink.kind == TABLE
    stays = at_once or is_in_place
    check_evolution(bound, context, is_beside=not stays, may_move=may_move)
    old = context.metastore.require(name)
    if stays or keeps_past(old, context.services.admin):
        analyzer.check_written_rows(old, bound.sink, statement, is_past=not stays)
    else:  # all rows are written again
        bound = replace(bound, sink=replace(bound.sink, dropped=()))
    if is_in_place:
        return _in_place(bound, statement, context)
    if at_once:
        meaningless = {"SWAP", "VERIFY"} if is_warmed else {"START", "SWAP", "VERIFY"}
        unused = meaningless & {given.name.upper() for given in statement.properties}
        if unused:
            reason = f"its new version takes over at once, without {min(unused)}."
            raise KsqlError("INVALID_STATEMENT", reason=f"{name} cannot evolve: {reason}")
        _check_position(name, context)
    if is_warmed:
        _check_warm_up(bound, context)
    return bound


def _in_place(
    bound: PersistentQuery, statement: CreateAsSelect, context: StatementContext
) -> PersistentQuery:
    """The new version, as it goes on with the old one's state.

    Raises:
        KsqlError: INVALID_STATEMENT.
    """
    name = statement.name
    old = next((q for q in context.queries if q.sink == name and q.creates_sink), None)
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
    old = next((q for q in context.queries if q.sink == name and q.creates_sink), None)
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


def _all_made_of(name: str, context: StatementContext) -> set[str]:
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


def _required(name: str, context: StatementContext) -> KnownQuery:
    """Return ``evolution_of``, or raise an error if there is none.

    Raises:
        KsqlError: SOURCE_UNKNOWN, INVALID_STATEMENT if there is none.
    """
    context.metastore.require(name)
    new_version = evolution_of(name, context)
    queries = context.services.queries
    if new_version is None and any(queries.warm_up(q) for q in queries.all() if q.plan.sink.name == name):
        reason = f"The old version of {name} has ended; the new one reads its history, then goes on."
        hint = f"DESCRIBE EVOLUTION {name}; shows how far it is. ROLLBACK {name}; undoes it once it goes on."
        raise KsqlError("INVALID_STATEMENT", reason=reason, hint=hint)
    if new_version is None:
        reason = f"No new version of {name} runs beside it."
        hint = f"CREATE OR REPLACE ... {name} WITH (EVOLVE = 'backfill') AS SELECT ... starts one."
        raise KsqlError("INVALID_STATEMENT", reason=reason, hint=hint)
    return new_version


# ---- SWAP ---------------------------------------------------------------------------------------------


def swap(statement: Swap, context: StatementContext) -> Action:
    """Let the new version take the place of the old one.

    With the command in the log it is done: all that is left is what the new version does before it starts
    to write the table's topic (QueryRuns), whenever that is.
    """
    name, services = statement.name, context.services
    new_version = _required(name, context)
    assert new_version.logical is not None  # no push query evolves
    sink = new_version.logical.sink
    if not context.is_replay:
        check_evolution(new_version.logical, context)
        query = services.queries.find(new_version.id)
        state = None if query is None else services.queries.state_of(query)[0]
        if query is None or state != State.RUNNING:
            reason = "has not begun" if query is None else f"is in state {state}"
            raise KsqlError("INVALID_STATEMENT", reason=f"The new version, {new_version.id}, {reason}.")
        services.admin.require_topic(query.plan.sink.topic)
        done = progress(query, services)
        if not done.has_caught_up:
            why = "has no checkpoint yet" if done.is_unread else f"{MAX_LAG}: {done.most:,}"
            reason = f"The new version, {new_version.id}, has {done.left:,} records left to read ({why})."
            raise KsqlError(
                "INVALID_STATEMENT", reason=reason, hint=f"DESCRIBE EVOLUTION {name}; shows how far it is."
            )
        assert query.evolution is not None
        # while the old version still runs, so that little is left to read between it and the new one
        table = context.metastore.require(name)
        both = query.rows or (TopicRows(table.topic), TopicRows(query.evolution.topic))
        if services.queries.is_here(query):  # otherwise another server compares them again
            query.rows = both
        rows = [each.read(services.admin) for each in both]
        if query.evolution.verify:
            comparison = compared(query, query.evolution, table, rows, services)
            _check_verified(comparison.failures(query.evolution.verify), name)
    old = [q for q in context.queries if q.sink == name and q.creates_sink]
    context.queries = [q for q in context.queries if q is not new_version and q not in old]
    context.queries.append(replace(new_version, sink=name, creates_sink=True, evolves=None))
    context.metastore.add(sink, new_version.sources)

    def writers() -> list[ManagedQuery]:
        return [q for q in services.queries.all() if q.creates_sink and q.plan.sink.name == name]

    def apply(_: Starts) -> Outcome:
        query = services.queries.find(new_version.id)
        if query is None:
            raise KsqlError("QUERY_UNKNOWN", id=new_version.id, hint="It has been dropped meanwhile.")
        before = writers()
        swapped = _swapped(query, sink, before, str(services.config["ksql.service.id"]))
        services.metastore.add(swapped.plan.sink, new_version.sources)
        services.views.renew(swapped.plan.sink)
        if not services.queries.is_replaying:
            for writer in before:
                services.queries.stop(writer.id)
        Termination(services.queries, lambda: before).apply()
        try:
            services.queries.take_over(swapped, query)
        except KsqlError as error:
            message = f"{error.message} Query {query.id} exists in state ERROR, and the server retries it."
            return Outcome(message, query.id, is_failed=True)
        changes = services.queries.swapped(swapped) if not services.queries.is_replaying else None
        done = f": {changes.changed} keys changed, {changes.removed} removed" if changes is not None else ""
        return Outcome(f"{query.id} writes {name} from now on{done}.", query.id)

    def cleanup() -> CleanupRecord:
        return CleanupRecord(logged=Termination(services.queries, writers).orphans())

    return Logged(f"table/`{name}`/swap", apply, cleanup=cleanup, change=Change((name,), BACKFILL))


def compared(
    query: ManagedQuery,
    evolution: Evolution,
    table: DataSource,
    rows: Iterable[Mapping[Place, Record]],
    services: Services,
) -> verification.Comparison:
    """Compare the rows of a new version with those of its table.

    Args:
        query: the new version.
        evolution: its evolution.
        table: the table.
        rows: those of the table, and those of the new version.
        services: the engine's parts.

    Raises:
        KsqlError: the schema registry does not answer.
    """
    old, new = rows
    registry, beside = services.registry, query.plan
    readers = (
        verification.RowReader(partial(split_key, window=table.window), *serdes(table, registry=registry)),
        verification.RowReader(
            partial(split_key, window=beside.sink.window), *serdes(beside.sink, beside.records, registry)
        ),
    )
    tolerance = max((check.tolerance for check in evolution.verify if check.what == "values"), default=0.0)
    comparison = verification.compare(old, new, readers, tolerance)
    for check in evolution.verify:
        if check.what == SELECT:
            versions = {OLD: table, NEW: beside.sink}
            bound = analyzer.bind_verification(
                check.query, _by_name(versions, table), services.metastore, services.config
            )
            both = ((OLD, old), (NEW, new))
            tables = rows_by_source(
                {which: stored_rows(versions[which], records.values()) for which, records in both}
            )
            session, folder = services.spark.session(), services.views.folder
            setting = services.config.__getitem__
            selected = batch.first_rows(bound, tables, session, folder, setting, verification.SAMPLES)
            comparison = comparison._replace(selected=selected)
    return comparison


def _by_name(versions: Mapping[str, DataSource], table: DataSource) -> dict[str, DataSource]:
    """Return both versions under the table's name, which users write."""
    return {which: replace(source, name=table.name) for which, source in versions.items()}


def _check_verified(failures: Sequence[str], name: str) -> None:
    if failures:
        reason = f"The new version of {name} is not what VERIFY wants: {'; '.join(failures)}."
        hint = f"DESCRIBE EVOLUTION {name}; shows rows that differ. ABORT EVOLUTION {name}; ends it."
        raise KsqlError("INVALID_STATEMENT", reason=reason, hint=hint)


def _producers(writer: ManagedQuery, service_id: str) -> tuple[str, ...]:
    """The transactional ids of a query's producers that may have something on its way to the sink's topic."""
    at_least_once = transactional_id(service_id, writer.id, len(writer.plan.inner))
    return writer.plan.transactional_ids or (at_least_once,)


def _swapped(
    query: ManagedQuery, table: DataSource, before: list[ManagedQuery], service_id: str
) -> ManagedQuery:
    """The new version, as it writes the table's topic."""
    assert query.evolution is not None
    sink = replace(table, partitions=query.sink_partitions)
    plan = replace(query.plan, sink=sink)
    predecessors = tuple(name for writer in before for name in _producers(writer, service_id))
    evolution = replace(query.evolution, is_swapped=True, predecessors=predecessors)
    swapped = ManagedQuery(replace(query.definition, plan=plan, creates_sink=True, evolution=evolution))
    swapped.rows = query.rows
    return swapped


# ---- ABORT EVOLUTION ----------------------------------------------------------------------------------


def abort_evolution(statement: AbortEvolution, context: StatementContext) -> Action:
    """End the new version, with its state and its topic; the old one has never noticed it."""
    name, services = statement.name, context.services
    new_version = _required(name, context)
    context.queries.remove(new_version)

    def which() -> list[ManagedQuery]:
        query = services.queries.find(new_version.id)
        return [] if query is None else [query]

    termination = Termination(services.queries, which)

    def apply(_: Starts) -> Outcome:
        termination.apply()
        return Outcome(f"{name} stays as it is: its new version, {new_version.id}, has ended.")

    def cleanup() -> CleanupRecord:
        return CleanupRecord(logged=termination.orphans())

    return Logged(f"table/`{name}`/abort", apply, cleanup=cleanup, change=Change((name,), aborts=True))


# ---- DESCRIBE EVOLUTION -------------------------------------------------------------------------------


def describe_evolution(statement: DescribeEvolution, context: StatementContext) -> Action:
    """Describe the progress of a table's new version, and what it changes."""
    name, services = statement.name, context.services
    table = context.metastore.require(name)

    def run() -> Entity:
        there = services.queries.all()
        query = next((q for q in there if evolves(q) == name), None)
        aborted = services.versions.aborted(name)
        if query is None and aborted is not None:
            return EvolutionDescription(
                statement_text=statement.source_text,
                name=name,
                state=ABORTED,
                reason=None,
                query_id=aborted.query_id or "",
                topic=table.topic,
                is_manual=False,
                records_left=None,
                keys_changed=None,
                keys_removed=None,
                timestamp=aborted.written_ms,
                user=aborted.user,
            )
        if query is None:
            swapped = (q for q in there if q.evolution is not None and q.plan.sink.name == name)
            query = next(swapped, None)
        if query is None or query.evolution is None:
            raise KsqlError("INVALID_STATEMENT", reason=f"{name} has not evolved.")
        described = _described(statement.source_text, query, query.evolution, table, services)
        if described.reason is None and not query.evolution.is_swapped:
            return replace(described, reason=_refusal(query, context))
        return described

    return Immediate(run, waits=True)


def _refusal(query: ManagedQuery, context: StatementContext) -> str | None:
    """Return why SWAP would be refused on any server, because of queries that read the table; else None."""
    assert isinstance(query.logical, PersistentQuery)
    try:
        check_evolution(query.logical, context)
    except KsqlError as error:
        return error.message
    return None


def _described(
    text: str, query: ManagedQuery, evolution: Evolution, table: DataSource, services: Services
) -> EvolutionDescription:
    records_left: int | None = None
    reason: str | None = None
    changes: Differences | None = None
    rows: verification.Comparison | None = None
    now, host = services.queries.state_of(query)
    until = services.queries.warm_up(query)
    if until is not None:
        state, records_left = WARMING_UP, _left(services.queries.checkpoints.committed_offsets(query), until)
    elif evolution.is_swapped:
        state = SWAPPED if services.queries.has_taken_over(query) else SWAPPING
        changes = services.queries.swapped(query)
    else:
        done = progress(query, services)
        records_left, reason = done.left, query.swap_refusal
        state = CAUGHT_UP if done.has_caught_up else BACKFILLING
        if state == CAUGHT_UP and now == State.RUNNING:
            both = [differences.rows(services.admin, topic) for topic in (table.topic, evolution.topic)]
            rows = compared(query, evolution, table, both, services)
            changes = Differences(rows.changed, rows.only_old)
            failures = rows.failures(evolution.verify)
            state = VERIFIED if evolution.verify and not failures else CAUGHT_UP
            reason = "; ".join(failures) or reason
    if now == State.ERROR and state != SWAPPED:
        state = FAILED
        reason = query.why_failed if host is None else f"{query.id} has failed on {host}, which knows why."
    return EvolutionDescription(
        statement_text=text,
        name=evolution.table,
        state=state,
        reason=reason,
        query_id=query.id,
        topic=evolution.topic or table.topic,
        is_manual=evolution.is_manual,
        records_left=records_left,
        keys_changed=None if changes is None else changes.changed,
        keys_removed=None if changes is None else changes.removed,
        rows=None if rows is None else rows.rows,
        columns_changed={} if rows is None else rows.columns,
        samples=tuple(
            EvolutionSample(
                key=_shown(sample.key, table),
                old=_shown(sample.old, table),
                new=_shown(sample.new, query.plan.sink),
            )
            for sample in (() if rows is None else rows.samples)
        ),
    )


def _left(committed: Mapping[str, Mapping[int, int]], until: Offsets) -> int:
    """Count the records between two positions."""
    ends = [(topic, int(p), end) for topic, offsets in until.items() for p, end in offsets.items()]
    return sum(max(0, end - committed.get(topic, {}).get(p, 0)) for topic, p, end in ends)


def _shown(row: Mapping[str, Any] | None, table: DataSource) -> dict[str, Any] | None:
    """A row's columns as the REST API shows them."""
    if row is None:
        return None
    types = {column.name: column.type for column in table.schema.columns}
    return {name: api_value(value, types.get(name, BIGINT)) for name, value in row.items()}


@dataclass(frozen=True)
class Progress:
    """The progress of a new version, as of its last checkpoint.

    Attributes:
        left: how many records of its sources it has not read.
        most: how many records it may lack when it takes over.
        is_unread: whether it has read nothing of a topic that has records for it. A swap would delete the
            rows that come of them, however few the records are.
    """

    left: int
    most: int
    is_unread: bool

    @property
    def has_caught_up(self) -> bool:
        """Whether the new version may take over."""
        return self.left <= self.most and not self.is_unread


def progress(query: ManagedQuery, services: Services) -> Progress:
    """Compute the progress of a new version.

    Raises:
        KsqlError: CHECKPOINT_DAMAGED; as KafkaAdmin.
    """
    committed = services.queries.checkpoints.committed_offsets(query)
    topics = services.admin.expanded(source.topic for source in query.plan.sources)
    unread = dict.fromkeys(topics, 0)
    for (topic, partition), end in services.admin.end_offsets(*topics).items():
        unread[topic] += max(0, end - committed.get(topic, {}).get(partition, 0))
    most = int(query.properties.get(MAX_LAG, services.config[MAX_LAG]))

    def is_unread(topic: str) -> bool:
        starts = {int(p): offset for p, offset in query.starts.get(topic, {}).items()}
        return unread[topic] > 0 and committed.get(topic, {}) == starts

    return Progress(sum(unread.values()), most, any(map(is_unread, topics)))


__all__ = [
    "abort_evolution", "begin_evolution", "bind_evolution", "default_way", "describe_evolution",
    "evolution_of", "progress", "swap", "takes_over_at_once", "warms_up",
]  # fmt: skip
