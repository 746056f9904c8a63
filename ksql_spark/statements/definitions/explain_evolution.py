"""EXPLAIN EVOLUTION: what a CREATE OR REPLACE … AS SELECT would change, before it happens (beyond ksqlDB)."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NamedTuple

from ksql_spark import analyzer
from ksql_spark.analyzer.definitions.properties import IN_PLACE, Evolve
from ksql_spark.analyzer.definitions.replacing import EVOLUTION_TELLS
from ksql_spark.errors import KsqlError
from ksql_spark.grammar.nodes import Statement
from ksql_spark.grammar.statements.sources import CreateAsSelect
from ksql_spark.metastore.sources import STREAM, DataSource
from ksql_spark.plan.explain import explain_logical
from ksql_spark.plan.planner import lower
from ksql_spark.plan.queries import PersistentQuery
from ksql_spark.plan.trees import relations
from ksql_spark.runtime.queries.watching.state_size import state_size
from ksql_spark.statements.base.context import KnownQuery, StatementContext, uses_of
from ksql_spark.statements.definitions.new_versions import bind_evolution
from ksql_spark.statements.definitions.sources import check_or_replace, replaced_query
from ksql_spark.statements.queries.ways import Way, default_evolve, way_of

#: so many consumer groups are named
GROUPS = 5


@dataclass(frozen=True)
class Evolution:
    """A planned replacement of the running version.

    Args:
        bound: the new version.
        query_id: of the running version; empty if none runs.
        report: returns what the replacement changes, as text; asks Kafka, and raises as KafkaAdmin.
    """

    bound: PersistentQuery
    query_id: str
    report: Callable[[], str]


def plan_evolution(statement: Statement, context: StatementContext) -> Evolution:
    """Compare a statement with the version that runs, without changing anything.

    Raises:
        KsqlError: INVALID_STATEMENT if this is no replacement or the new version is invalid by itself,
            SOURCE_UNKNOWN if there is nothing to replace.
    """
    if not isinstance(statement, CreateAsSelect) or not statement.or_replace:
        reason = "EXPLAIN EVOLUTION takes CREATE OR REPLACE … AS SELECT, or ROLLBACK of a query's result."
        raise KsqlError("INVALID_STATEMENT", reason=reason)
    old_sink = context.metastore.require(statement.name)
    evolve = analyzer.evolve_of(statement)
    refusal: KsqlError | None = None
    new: PersistentQuery | None = None
    try:
        check_or_replace(statement, context)
        new = bind_replacement(statement, evolve, context)
    except KsqlError as error:
        refusal = error
        without = context.metastore.copy()
        without.drop(statement.name)
        new = analyzer.bind_persistent(statement, without, context.config, context.services.registry)
    old = context.writer_of(statement.name)
    query_id = old.id if old is not None else ""
    is_open = refusal is not None and evolve is None
    may = is_open and _possible(None, statement, context) is not None
    stays = _possible(Evolve(IN_PLACE), statement, context) if is_open else None
    applied = evolve or (default_evolve(statement) if may else None)
    change = _Change(
        evolve, way_of(evolve, new), way_of(applied, new), refusal, query_id, may, stays is not None
    )

    def report() -> str:
        lines = [
            *_consequences(change, old_sink, tuple(_appended(old, stays or new))),
            *_columns(old_sink, new.sink),
            *_plan(old, new, context),
            *_topics(change, new, context),
            *_state(change, context),
            *_reading(change, new, context),
            *_readers(change, old_sink, new.sink, context),
        ]
        return "\n".join(lines)

    return Evolution(new, query_id, report)


class _Change(NamedTuple):
    """The replacement, as it would happen.

    Args:
        evolve: what EVOLVE asks for; None: nothing.
        way: the way that the statement asks for.
        best: that, or if it is not possible without EVOLVE, the default way with it.
        refusal: why it is not possible.
        query_id: of the running version; empty if none runs.
        may_backfill: whether EVOLVE = 'backfill' would make it possible.
        may_stay: whether EVOLVE = 'in-place' would.
    """

    evolve: Evolve | None
    way: Way
    best: Way
    refusal: KsqlError | None
    query_id: str
    may_backfill: bool
    may_stay: bool

    @property
    def loses_state(self) -> bool:
        return self.refusal is not None or self.way is not Way.IN_PLACE

    @property
    def reads_again(self) -> bool:
        return self.loses_state and self.best is not Way.FROM_NOW


def bind_replacement(
    statement: CreateAsSelect, evolve: Evolve | None, context: StatementContext
) -> PersistentQuery:
    """The new version, if the replacement is possible.

    Raises:
        KsqlError: why it is not.
    """
    if evolve is not None:
        return bind_evolution(statement, context, evolve)
    new = analyzer.bind_persistent(statement, context.metastore, context.config, context.services.registry)
    replaced_query(statement, new, context)
    return new


def _possible(
    evolve: Evolve | None, statement: CreateAsSelect, context: StatementContext
) -> PersistentQuery | None:
    """The new version in the way of ``evolve``, or else in the default way, or None if that is refused."""
    try:
        check_or_replace(statement, context)
        return bind_evolution(statement, context, evolve)
    except KsqlError:
        return None


def _consequences(change: _Change, table: DataSource, appended: Sequence[str]) -> Iterator[str]:
    query, name = change.query_id, table.name
    match change.way:
        case way if change.refusal is not None:
            how = {Way.IN_PLACE: "in place", Way.BESIDE: "as a backfill"}.get(way, "at once")
            yield f"Not possible {how}: {change.refusal.message.replace(EVOLUTION_TELLS, '.')}"
        case Way.WARM_UP:
            yield f"Warm-up: {query} ends. The new version reads again what it has read, for its state."
            yield f"Meanwhile {name} gets no rows. Then the new version goes on at the old one's position."
            yield "Each record is answered once, by the old version or by the new one. This cannot be undone."
        case Way.FROM_NOW:
            yield f"From now: {query} ends. The new version begins at its position, without its state."
            yield "Each record is answered once, by the old version or by the new one. This cannot be undone."
        case Way.BESIDE:
            assert change.evolve is not None
            verify = ", ".join(map(str, change.evolve.verify))
            beside = f"beside {query}" if query else "in a topic of its own"
            when = f"SWAP {name}; then" if change.evolve.is_manual else "Once it has caught up, the swap"
            yield f"Backfill: a new query runs {beside}, from its start."
            yield f"{when} writes what differs to topic {table.topic}, and the new query goes on there."
            if verify:
                yield f"The swap is refused while VERIFY does not hold: {verify}."
            yield f"Until then ABORT EVOLUTION {name}; leaves everything as it is; a swap cannot be undone."
        case Way.IN_PLACE if not query:
            yield "New query: no query writes the sink now."
        case Way.IN_PLACE:
            yield f"In place: {query} continues from its current position, with its state."
            yield from appended
    if change.may_stay:
        yield "Possible in place, with its state: WITH (EVOLVE = 'in-place')."
        yield from appended
    if change.may_backfill:
        keep = ", HISTORY = 'keep'" if table.kind == STREAM else ""
        yield f"Possible as a backfill: WITH (EVOLVE = 'backfill'{keep})."


def _columns(old: DataSource, new: DataSource) -> Iterator[str]:
    before = [f"{c.name} {c.type}" for c in old.schema.columns]
    after = [f"{c.name} {c.type}" for c in new.schema.columns]
    yield from _section("Columns", before, after)


def _plan(old: KnownQuery | None, new: PersistentQuery, context: StatementContext) -> Iterator[str]:
    if old is not None and not all(map(context.rights.may_read, old.sources)):
        yield "Plan: not shown, because you may not read everything that the running version reads."
        return
    running = old.logical if old is not None else None
    # without indentation: a new step moves all that are below it
    before, after = (
        [line.strip() for line in explain_logical(version.root).splitlines()] if version is not None else []
        for version in (running, new)
    )
    yield from _section("Plan", before, after)


def _topics(change: _Change, new: PersistentQuery, context: StatementContext) -> Iterator[str]:
    """What the new version saves, or costs: each internal topic comes with a Spark query, and pauses."""
    query = context.services.queries.find(change.query_id)
    if query is None:
        return
    before = len(query.plan.inner)
    after = len(lower(new.root, new.sink, context.config, by_event_time=new.by_event_time).inner)
    if before == after:
        return
    if change.loses_state:
        yield f"Internal topics: {before} of the running version, {after} of the new one"
    else:
        yield f"Internal topics: {before}, as now; created anew, the query has {after}"


def _section(title: str, before: list[str], after: list[str]) -> Iterator[str]:
    """The lines that differ, marked with ``-`` and ``+`` as in a patch."""
    if before == after:
        yield f"{title}: unchanged"
        return
    yield title
    for line in difflib.ndiff(before, after):
        if line[0] in "+-":
            yield f"  {line}"


def _state(change: _Change, context: StatementContext) -> Iterator[str]:
    query = context.services.queries.find(change.query_id)
    if query is None:
        return
    figures = context.services.queries.figures
    size = state_size(query.runner, figures)
    if size is None or not size.entries:
        return
    fate = "lost with the old query" if change.loses_state else "kept"
    yield f"State: {fate} ({size.entries:,} entries, {size.bytes:,} bytes)"


def _appended(old: KnownQuery | None, new: PersistentQuery) -> Iterator[str]:
    for call in analyzer.appended(old.logical if old is not None else None, new):
        yield f"  {call.call} begins empty: only records from now on count, also in groups that exist."


def _reading(change: _Change, new: PersistentQuery, context: StatementContext) -> Iterator[str]:
    if not change.reads_again:
        yield "Reads again: nothing. Rows that are already written stay as they are."
        return
    admin = context.services.admin
    if change.refusal is None:
        yield "Reads again, unless START says otherwise:"
    elif change.may_backfill:
        yield "The backfill reads:"
    else:
        anew = "DROP it and CREATE it again, with START = 'earliest'"
        yield f"Instead: {anew} to read what the topics still hold:"
    traffic = context.services.queries.figures.traffic().get(change.query_id)
    total = 0
    for topic in dict.fromkeys(relation.source.topic for relation in relations(new.root)):
        removed = sum(admin.beginning_offsets(topic).values())
        count = sum(admin.end_offsets(topic).values()) - removed
        total += count
        volume = traffic.read.get(topic) if traffic is not None else None
        size = (
            f", about {volume.bytes * count // volume.records:,} bytes" if volume and volume.records else ""
        )
        oldest_ms = admin.first_time(topic)
        since = f", from {_time_text(oldest_ms)} on" if oldest_ms is not None else ""
        gone = f"; {removed:,} older records were removed" if removed else ""
        yield f"  topic {topic}: at most {count:,} records{size}{since}{gone}"
    rate, query_id = _rate(change, context), change.query_id
    if rate >= 1:
        yield f"  about {total / rate:,.0f} s, at the {rate:,.0f} records/s that {query_id} has reached"


def _rate(change: _Change, context: StatementContext) -> float:
    """Return the running version's highest rate so far, records per second; 0 if unknown here."""
    query = context.services.queries.find(change.query_id)
    runs = query.runner.spark if query is not None else ()
    batches = [batch for run in runs for batch in run.recent if batch["batchDuration"]]
    return max((batch["numInputRows"] * 1000 / batch["batchDuration"] for batch in batches), default=0.0)


def _time_text(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1000, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def _readers(change: _Change, sink: DataSource, new: DataSource, context: StatementContext) -> Iterator[str]:
    queries = [
        query.id
        for query in context.services.queries.all()
        if sink.name in uses_of(query).reads and uses_of(query).is_visible(context.rights)
    ]
    sinks = [f"sink {each.name}" for each in context.services.metastore.sinks_of(sink.name)]
    consumers = context.services.admin.consumers().get(sink.topic)
    groups = consumers.groups if consumers is not None else ()
    counted = f"{len(groups)} consumer group{'' if len(groups) == 1 else 's'} of topic {sink.topic}"
    named = f": {', '.join(map(_group_text, groups[:GROUPS]))}" if groups else ""
    more = f" and {len(groups) - GROUPS} more" if len(groups) > GROUPS else ""
    yield f"Read by: {', '.join([*queries, *sinks]) or 'no query'}; {counted}{named}{more}"
    if change.evolve is None or change.refusal is not None:
        return
    names = {column.name for column in sink.schema.columns}
    added = [column.name for column in new.schema.columns if column.name not in names]
    unseen = f", without {', '.join(added)}" if added else ""
    for reader in [*queries, *sinks]:
        what = (
            "rows of the new version"
            if change.way is not Way.BESIDE
            else "an update of each key that differs"
        )
        yield f"  {reader} receives {what}{unseen}"
    if groups and change.way is not Way.BESIDE:
        yield f"  consumers of topic {sink.topic} read the new rows after the old ones"
    elif groups:
        yield f"  consumers of topic {sink.topic} read the new rows, and tombstones of keys that are gone"


def _group_text(group: str) -> str:
    """A consumer group, or the sink connector of Kafka Connect whose group it is."""
    return f"{group} (connector {group.removeprefix('connect-')})" if group.startswith("connect-") else group
