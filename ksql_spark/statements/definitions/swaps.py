"""SWAP and ABORT EVOLUTION: how the new version that runs beside a table ends up (beyond ksqlDB, ADR 54)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from ksql_spark import analyzer
from ksql_spark.analyzer.definitions.properties import BACKFILL, SELECT
from ksql_spark.analyzer.reads.past import NEW, OLD, rows_by_source
from ksql_spark.errors import KsqlError
from ksql_spark.grammar.statements import versions as statements
from ksql_spark.kafka.consumer import Record
from ksql_spark.metastore.serdes import serdes
from ksql_spark.metastore.sources import DataSource
from ksql_spark.plan.stages import transactional_id
from ksql_spark.runtime.cleanup import CleanupRecord
from ksql_spark.runtime.queries.changes import verification
from ksql_spark.runtime.queries.differences import Place, TopicRows
from ksql_spark.runtime.queries.evolution import Backfill, Swap
from ksql_spark.runtime.queries.managed import ManagedQuery
from ksql_spark.runtime.queries.states import State
from ksql_spark.runtime.reading import batch
from ksql_spark.runtime.reading.stored_row import split_key
from ksql_spark.runtime.reading.view import stored_rows
from ksql_spark.runtime.versions import Change
from ksql_spark.statements.base.context import (
    Action,
    KnownQuery,
    Logged,
    Outcome,
    Services,
    Starts,
    StatementContext,
)
from ksql_spark.statements.base.handlers import handles
from ksql_spark.statements.definitions.new_versions import by_name, check_evolution, evolution_of
from ksql_spark.statements.queries.termination import Termination

#: how many records the new version may lack when it takes over
MAX_LAG = "ksql.evolution.max.lag"


def _required(name: str, context: StatementContext) -> KnownQuery:
    """Return ``evolution_of``, or raise an error if there is none.

    Raises:
        KsqlError: SOURCE_UNKNOWN, INVALID_STATEMENT if there is none.
    """
    context.metastore.require(name)
    new_version = evolution_of(name, context)
    queries = context.services.queries
    writers = [query for query in queries.all() if query.plan.sink.name == name]
    if new_version is None and any(map(queries.takeovers.until, writers)):
        reason = f"The old version of {name} has ended; the new one reads its history, then goes on."
        hint = f"DESCRIBE EVOLUTION {name}; shows how far it is. ROLLBACK {name}; undoes it once it goes on."
        raise KsqlError("INVALID_STATEMENT", reason=reason, hint=hint, name=name)
    if new_version is None:
        reason = f"No new version of {name} runs beside it."
        hint = f"CREATE OR REPLACE ... {name} WITH (EVOLVE = 'backfill') AS SELECT ... starts one."
        raise KsqlError("INVALID_STATEMENT", reason=reason, hint=hint, name=name)
    return new_version


@handles
def swap(statement: statements.Swap, context: StatementContext) -> Action:
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
            condition = "EVOLUTION_UNFINISHED" if query is None else "INVALID_STATEMENT"
            raise KsqlError(condition, reason=f"The new version, {new_version.id}, {reason}.")
        services.admin.require_topic(query.plan.sink.topic)
        done = progress(query, services)
        if not done.has_caught_up:
            why = "has no checkpoint yet" if done.is_unread else f"{MAX_LAG}: {done.most:,}"
            left = f"{done.unread:,} record{'' if done.unread == 1 else 's'} left to read"
            reason = f"The new version, {new_version.id}, has {left} ({why})."
            raise KsqlError(
                "EVOLUTION_UNFINISHED", reason=reason, hint=f"DESCRIBE EVOLUTION {name}; shows how far it is."
            )
        evolution = query.evolution
        assert isinstance(evolution, Backfill)
        # while the old version still runs, so that little is left to read between it and the new one
        table = context.metastore.require(name)
        both = query.rows or (TopicRows(table.topic), TopicRows(evolution.topic))
        if services.queries.is_here(query):  # otherwise another server compares them again
            query.rows = both
        rows = [each.read(services.admin) for each in both]
        if evolution.verify:
            comparison = compared(query, evolution, table, rows, services)
            _check_verified(comparison.failures(evolution.verify), name)
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
        changes = services.queries.takeovers.changes(swapped) if not services.queries.is_replaying else None
        done = ""
        if changes is not None:
            keys = "key" if changes.changed == 1 else "keys"
            done = f": {changes.changed} {keys} changed, {changes.removed} removed"
        return Outcome(f"{query.id} writes {name} from now on{done}.", query.id)

    def cleanup() -> CleanupRecord:
        return CleanupRecord(logged=Termination(services.queries, writers).orphans())

    return Logged(f"table/`{name}`/swap", apply, cleanup=cleanup, change=Change((name,), BACKFILL))


def compared(
    query: ManagedQuery,
    evolution: Backfill,
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
                check.query, by_name(versions, table), services.metastore, services.config
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


def _check_verified(failures: Sequence[str], name: str) -> None:
    if failures:
        reason = f"The new version of {name} is not what VERIFY wants: {'; '.join(failures)}."
        hint = f"DESCRIBE EVOLUTION {name}; shows rows that differ. ABORT EVOLUTION {name}; ends it."
        raise KsqlError("INVALID_STATEMENT", reason=reason, hint=hint)


def _producers(writer: ManagedQuery, service_id: str) -> tuple[str, ...]:
    """The transactional ids of a query's producers that may have something on its way to the sink's topic."""
    at_least_once = transactional_id(service_id, writer.id, len(writer.plan.inner))
    return tuple(dict.fromkeys((*writer.plan.transactional_ids, at_least_once)))


def _swapped(
    query: ManagedQuery, table: DataSource, before: list[ManagedQuery], service_id: str
) -> ManagedQuery:
    """The new version, as it writes the table's topic."""
    evolution = query.evolution
    assert isinstance(evolution, Backfill)
    sink = replace(table, partitions=query.sink_partitions)
    plan = replace(query.plan, sink=sink)
    writers = tuple(name for writer in before for name in _producers(writer, service_id))
    done = Swap(evolution.topic, writers or (evolution.topic,), evolution.is_manual)
    swapped = ManagedQuery(replace(query.definition, plan=plan, creates_sink=True, evolution=done))
    swapped.rows = query.rows
    return swapped


@handles
def abort_evolution(statement: statements.AbortEvolution, context: StatementContext) -> Action:
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


@dataclass(frozen=True)
class Progress:
    """The progress of a new version, as of its last checkpoint.

    Attributes:
        unread: how many records of its sources it has not read.
        most: how many records it may lack when it takes over.
        is_unread: whether it has read nothing of a topic that has records for it. A swap would delete the
            rows that come of them, however few the records are.
    """

    unread: int
    most: int
    is_unread: bool

    @property
    def has_caught_up(self) -> bool:
        """Whether the new version may take over."""
        return self.unread <= self.most and not self.is_unread


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


__all__ = ["abort_evolution", "compared", "progress", "swap"]
