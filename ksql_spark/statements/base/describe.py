"""DESCRIBE and EXPLAIN (reference §2.11)."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from ksql_spark import analyzer
from ksql_spark.entities import Entity
from ksql_spark.entities.catalog import ArgumentInfo, FunctionDescriptionList, FunctionExample, FunctionInfo
from ksql_spark.entities.queries import QueryDescription, QueryError, status_of
from ksql_spark.entities.sources import (
    ConsumerPartitionOffsets,
    IndexInfo,
    OriginInfo,
    QueryOffsetSummary,
    QueryTopicOffsetSummary,
    SourceDescription,
    SourceDescriptionEntity,
    SourceDescriptionList,
)
from ksql_spark.errors import KsqlError
from ksql_spark.expressions import name_text
from ksql_spark.functions import registry
from ksql_spark.functions.examples import call, example
from ksql_spark.grammar.statements.describe import DescribeFunction, DescribeSource, DescribeSources
from ksql_spark.grammar.words import UNIT_MS
from ksql_spark.masking import masked, masked_values
from ksql_spark.metastore.indexes import Index
from ksql_spark.metastore.sources import STREAM, TABLE, DataSource
from ksql_spark.metastore.store import MetaStore
from ksql_spark.plan import explain as plan_text
from ksql_spark.plan.stages import Plan
from ksql_spark.runtime.queries.managed import ManagedQuery
from ksql_spark.runtime.queries.states import State
from ksql_spark.runtime.queries.watching.state_size import state_size, state_sizes
from ksql_spark.spark import jvm
from ksql_spark.spark.traffic import Times, Traffic, Volume
from ksql_spark.statements.base.context import Action, Immediate, Services, StatementContext, uses_of
from ksql_spark.statements.base.early_records import early_records
from ksql_spark.statements.base.handlers import handles
from ksql_spark.statements.base.listing import field_info, running_queries, time_warnings
from ksql_spark.statements.base.topics import has_brokers_times

#: the percentiles of latencies that are shown
SHARES = (0.5, 0.95, 0.99)
#: a query that keeps up with its topics has no greater latency, seconds
OLD_S = 1.0

#: lengths and names of the units of periods, the shortest first
_UNITS = [(UNIT_MS[unit], unit) for unit in ("MILLISECONDS", "SECONDS", "MINUTES", "HOURS", "DAYS")]


@handles
def describe_source(statement: DescribeSource, context: StatementContext) -> Action:
    """DESCRIBE name [EXTENDED]."""
    if statement.name in context.metastore.views():
        view = view_description(statement.name, context.metastore, context.config)
        text = statement.source_text
        return Immediate(lambda: SourceDescriptionEntity(statement_text=text, source_description=view))
    source = context.metastore.require(statement.name)

    def run() -> Entity:
        described = source_description(source, context, extended=statement.extended)
        shown = SourceDescriptionEntity(statement_text=statement.source_text, source_description=described)
        queries = queries_of({source.name}, context)
        warnings = (*time_warnings(queries, context.services), *early_records(queries, context.services))
        return shown.warned(*warnings, *refresh_warnings([source], context.services))

    return Immediate(run)


def queries_of(sources: Collection[str], context: StatementContext) -> list[ManagedQuery]:
    """The persistent queries that read or write one of these sources, as far as the client may see them."""

    def names(query: ManagedQuery) -> set[str]:
        return {query.plan.sink.name, *(source.name for source in query.plan.sources)}

    return [q for q in visible_queries(context) if not q.is_transient and not names(q).isdisjoint(sources)]


@handles
def describe_sources(statement: DescribeSources, context: StatementContext) -> Action:
    """DESCRIBE STREAMS|TABLES|VIEWS [EXTENDED]."""
    kind = STREAM if statement.what == "STREAMS" else TABLE

    def run() -> Entity:
        if statement.what == "VIEWS":
            metastore = context.services.metastore.copy()  # others may drop views meanwhile
            names = filter(context.rights.may_read, sorted(metastore.views()))
            views = tuple(view_description(name, metastore, context.config) for name in names)
            return SourceDescriptionList(statement_text=statement.source_text, source_descriptions=views)
        sources = visible_sources(context, kind)
        described = tuple(source_description(s, context, extended=statement.extended) for s in sources)
        return SourceDescriptionList(statement_text=statement.source_text, source_descriptions=described)

    return Immediate(run)


def visible_sources(context: StatementContext, kind: str) -> list[DataSource]:
    """The streams or tables that the client may see."""
    there = context.services.metastore.sources()
    return [s for s in there if s.kind == kind and context.rights.may_read(s.name)]


def visible_queries(context: StatementContext) -> list[ManagedQuery]:
    """The queries that the client may see: those all of whose sources it may read."""
    queries, rights = context.services.queries.all(), context.rights
    if rights.role is not None:  # a role for all sources; there may be thousands of queries
        return list(queries)
    return [query for query in queries if uses_of(query).is_visible(rights)]


def source_description(source: DataSource, context: StatementContext, *, extended: bool) -> SourceDescription:
    """A stream or table as DESCRIBE shows it; ``extended`` adds offsets, statistics and the topic's size."""
    services = context.services
    comments = services.metastore.comments(source.name)
    queries = [q for q in visible_queries(context) if not q.is_transient]
    readers = [q for q in queries if any(s.name == source.name for s in q.plan.sources)]
    writers = [q for q in queries if q.plan.sink.name == source.name]
    topic = services.admin.topic(source.topic) if extended else None
    summaries, unreadable = _offset_summaries(source, queries, services) if extended else ((), [])
    return SourceDescription(
        name=source.name,
        window_type=source.window.kind if source.window else None,
        read_queries=running_queries(readers, services),
        write_queries=running_queries(writers, services),
        fields=tuple(replace(field_info(c), comment=comments.get(c.name)) for c in source.schema.columns),
        type=source.kind,
        timestamp=source.timestamp.column if source.timestamp else "",
        statistics="\n".join(
            [
                *_times(source, services),
                *_statistics(writers, services),
                *_view(source, services),
                *unreadable,
            ]
        )
        if extended
        else "",
        error_stats=_error_statistics(readers, writers, services) if extended else "",
        extended=extended,
        key_format=source.key_format.name,
        value_format=source.value_format.name,
        topic=source.topic,
        partitions=len(topic.replicas) if topic else 0,
        replication=max(0, *topic.replicas) if topic else 0,
        statement=masked(source.statement)
        if source.name in services.metastore.origins()
        else source.statement,
        query_offset_summaries=summaries,
        source_constraints=tuple(filter(context.rights.may_read, services.metastore.dependents(source.name))),
        is_source=source.read_only,
        constraints=tuple(c.text for c in source.constraints) or None,
        lateness_ms=source.lateness_ms,
        envelope=source.envelope,
        origin=_origin(source, services),
        archive=source.archive,
        topics=None if source.topic_pattern is None else tuple(services.admin.expanded([source.topic])),
        indexes=tuple(index_info(each, services) for each in services.metastore.indexes_of(source.name))
        or None,
        comment=comments.get(None),
    )


def index_info(index: Index, services: Services) -> IndexInfo:
    """An index as SHOW INDEXES and DESCRIBE list it."""
    return IndexInfo(index.name, index.table, index.texts, services.views.has_index(index))


def view_description(name: str, metastore: MetaStore, config: Mapping[str, Any]) -> SourceDescription:
    """A view as DESCRIBE shows it: its columns, and the statement that makes it."""
    columns = analyzer.view_columns(name, metastore, config)
    return SourceDescription(
        name=name,
        window_type=None,
        read_queries=(),
        write_queries=(),
        fields=tuple(field_info(column) for column in columns),
        type="VIEW",
        timestamp="",
        statistics="",
        error_stats="",
        extended=False,
        key_format="",
        value_format="",
        topic="",
        partitions=0,
        replication=0,
        statement=f"CREATE VIEW {name_text(name)} AS {metastore.views()[name]};",
        query_offset_summaries=(),
        source_constraints=(),
        is_source=False,
        comment=metastore.comments(name).get(None),
    )


def _origin(source: DataSource, services: Services) -> OriginInfo | None:
    origin = services.metastore.origins().get(source.name)
    if origin is None:
        return None
    status = services.origin_status(source.name)
    return OriginInfo(
        path=masked(origin.path),
        table=origin.table,
        format=origin.format,
        refresh_ms=origin.refresh_ms,
        state=status.state,
        reason=status.reason,
        rows=status.rows,
        without_key=status.without_key,
        written=status.written,
        removed=status.removed,
        last_refresh_ms=status.last_refresh_ms,
    )


def refresh_warnings(sources: Iterable[DataSource], services: Services) -> tuple[str, ...]:
    """A sentence for each of ``sources`` that does not follow its origin now."""
    origins = services.metastore.origins()
    statuses = ((s.name, services.origin_status(s.name)) for s in sources if s.name in origins)
    return tuple(f"{name} is not refreshed: {status.reason}" for name, status in statuses if status.reason)


def _offset_summaries(
    source: DataSource, queries: Sequence[ManagedQuery], services: Services
) -> tuple[tuple[QueryOffsetSummary, ...], list[str]]:
    """Committed offsets of the queries that read a source (in its topic) or write it (in all topics that they
    read, internal ones after those that they come from).

    Also one line for each query whose checkpoint is damaged.

    The group is the query's id: Spark keeps offsets in checkpoints, and commits none to a consumer group.
    """
    summaries: list[QueryOffsetSummary] = []
    unreadable: list[str] = []
    for query in queries:
        read = [*(s.topic for s in query.plan.sources), *(stage.sink.topic for stage in query.plan.inner)]
        if query.plan.sink.name != source.name:
            read = [topic for topic in read if topic == source.topic]
        archived = {s.topic for s in query.plan.sources if s.archive is not None}
        there = list(services.admin.identities(read))
        if not there:
            continue
        try:
            position = services.queries.takeovers.position(query)
        except KsqlError as error:
            unreadable.append(f"{query.id}: offsets unreadable. {error.message}")
            continue
        topics = tuple(
            QueryTopicOffsetSummary(
                kafka_topic=topic,
                offsets=_offsets(topic, position.get(topic, {}), services, topic in archived),
            )
            for topic in there
        )
        summaries.append(QueryOffsetSummary(group_id=query.id, topic_summaries=topics))
    return tuple(summaries), unreadable


def _offsets(
    topic: str, position: Mapping[str, int], services: Services, is_archived: bool
) -> tuple[ConsumerPartitionOffsets, ...]:
    first = services.admin.beginning_offsets(topic)
    last = services.admin.end_offsets(topic)
    return tuple(
        ConsumerPartitionOffsets(
            partition=partition,
            log_start_offset=first[name, partition],
            log_end_offset=end,
            # retention may have removed records beyond the committed offset; only an archive still has them
            consumer_offset=max(
                position.get(str(partition), first[name, partition]),
                0 if is_archived else first[name, partition],
            ),
        )
        for (name, partition), end in sorted(last.items())
    )


def _statistics(writers: Sequence[ManagedQuery], services: Services) -> Iterator[str]:
    """Traffic of the queries that write a source, the size of their state, and the state cache."""
    has_state = False
    traffic = services.queries.figures.traffic() if writers else {}
    for query in writers:
        for name, text in _figures(query, services, traffic.get(query.id)):
            yield f"{name} of {query.id}: {text}"
        if (size := state_size(query, services.queries.figures)) is not None:
            has_state = True
            yield f"State of {query.id}: {size}"
    if has_state:
        with contextlib.suppress(KsqlError):  # Spark is being started
            used, bound = jvm.cache_use(services.spark.process.running_session)
            yield f"State cache, shared by all queries: {used} of {bound} bytes"


def _figures(query: ManagedQuery, services: Services, traffic: Traffic | None) -> Iterator[tuple[str, str]]:
    """A query's metrics of GET /metrics, as names and texts; events that never happened are omitted."""
    if (fill := services.queries.figures.state_bounds.fill(query.id)) is not None:
        yield "Bound of its state", str(fill)
    size = state_size(query, services.queries.figures)
    if size is not None and size.outgrown is not None:
        yield "Memory of its state", f"{size.outgrown} (docs/how-to/scale-out.md)"
    if traffic is not None:
        yield "Traffic", _traffic(traffic)
        for topic, times in traffic.latencies.items():
            if times.total:
                spread = ", ".join(f"p{round(share * 100)} {_within(times, share)}" for share in SHARES)
                yield f"Latency to {topic}", f"{spread}, from the records' timestamps on{_old(times)}"
        if traffic.pauses.total:
            yield "Pauses for checkpoints", f"{traffic.pauses.total}, together {traffic.pauses.sum_s:.3f} s"
        waits_s = services.queries.figures.lag_s(query.id, traffic)
        if waits_s and query.state is State.RUNNING:
            yield "Lag", f"the oldest record has waited for {waits_s:.3f} s"
    counts = services.queries.figures.counts(query.id)
    kinds = ("unreadable", "failed", "lost")
    if bad_records := [f"{count} {kind}" for kind in kinds if (count := getattr(counts, kind))]:
        yield "Bad records", ", ".join(bad_records)
    graces = services.queries.figures.graces(query.id) if counts.late else None
    if graces is not None:
        half, most, every = (period_text(graces.within_ms(share)) for share in (0.5, 0.99, 1))
        kept = f"GRACE PERIOD {most} would have kept 99 % of them, {half} half of them, {every} all"
        yield "Late records", f"{counts.late}; {kept}"
    elif counts.late:
        yield "Late records", str(counts.late)
    if query.retries.total:
        yield "Failures", f"{query.retries.total} since the server started"


def period_text(ms: int) -> str:
    """A period that is not shorter, as GRACE PERIOD takes it, in a unit that leaves few digits."""
    size, unit = next((size, unit) for size, unit in _UNITS if ms < 100 * size or unit == _UNITS[-1][1])
    return f"{max(1, -(-ms // size))} {unit}"


def _within(times: Times, share: float) -> str:
    bound = times.within_s(share)
    return f"more than {times.bounds[-1]:g} s" if bound is None else f"{bound:.2g} s"


def _old(times: Times) -> str:
    """Return a remark for latencies that are too high for a query that keeps up with its topics."""
    bound = times.within_s(0.99)
    is_old = bound is None or bound > OLD_S
    return " (for records that were already old when they were read, this is their age)" if is_old else ""


def _traffic(traffic: Traffic) -> str:
    """A query's traffic as one line."""

    def total(volumes: Mapping[str, Volume]) -> str:
        records, size = sum(v.records for v in volumes.values()), sum(v.bytes for v in volumes.values())
        return f"{records} records, {size} bytes"

    return f"{total(traffic.read)} read, {total(traffic.written)} written since Spark started"


def _times(source: DataSource, services: Services) -> Iterator[str]:
    """Say so where ROWTIME is not the time that the record's writer gave it."""
    is_one = source.topic_pattern is None and services.admin.topic(source.topic) is not None
    if is_one and has_brokers_times(source.topic, services.admin):
        yield (
            f"Times: topic {source.topic} has message.timestamp.type = LogAppendTime, so that ROWTIME is "
            "when a broker got the record"
        )


def _view(source: DataSource, services: Services) -> Iterator[str]:
    """The size of the source's view, if it has one."""
    view = services.views.following(source)
    if view is not None:
        most = services.config["ksql.pull.views.max.bytes"]
        read = ", ".join(f"{p}: {offset}" for p, offset in sorted(view.positions.items()))
        yield f"View for pull queries: {view.size} bytes on disk ({most} for all), read up to {{{read}}}"


def _error_statistics(
    readers: Sequence[ManagedQuery], writers: Sequence[ManagedQuery], services: Services
) -> str:
    """Errors since the server started: those of records read from a source, and of rows written to it."""
    read = [services.queries.figures.counts(q.id) for q in readers]
    written = [services.queries.figures.counts(q.id) for q in writers]
    by_name = {
        "consumer-failed-messages": sum(c.unreadable for c in read),
        "processing-errors": sum(c.failed for c in written),
        "lost-records": sum(c.lost for c in read),
        "late-records-dropped": sum(c.late for c in written),
    }
    shown = [f"{name}: {count}" for name, count in by_name.items() if count]
    times = [c.last_ms for c in (*read, *written) if c.last_ms is not None]
    if shown and times:
        last = datetime.fromtimestamp(max(times) / 1000, UTC)
        shown.append(f"last-failed: {last.isoformat(timespec='milliseconds')}")
    return "  ".join(shown)


@handles
def describe_function(statement: DescribeFunction, context: StatementContext) -> Action:
    """DESCRIBE FUNCTION name: every overload."""
    spec = registry.require(statement.name)

    def run() -> Entity:
        overloads = []
        for signature in spec.signatures:
            arguments = tuple(
                ArgumentInfo(
                    name=p.name,
                    type=str(p.pattern),
                    description=spec.parameters.get(p.name, ""),
                    is_variadic=i == signature.variadic_at,
                )
                for i, p in enumerate(signature.parameters)
            )
            overloads.append(
                FunctionInfo(
                    arguments=arguments,
                    argument_types=tuple(a.type for a in arguments),
                    return_type=signature.result_text,
                    description=signature.description or spec.description,
                )
            )
        return FunctionDescriptionList(
            statement_text=statement.source_text,
            name=spec.name,
            description=f"{spec.description} {spec.beyond}".strip(),
            author=spec.origin.author if spec.origin else "ksql-spark",
            version=spec.origin.version if spec.origin else "",
            path=spec.origin.path if spec.origin else "internal",
            type=spec.kind.value,
            functions=tuple(overloads),
            examples=tuple(FunctionExample(example(spec, one), call(spec, one)) for one in spec.examples),
        )

    return Immediate(run)


def query_description(query: ManagedQuery, services: Services) -> QueryDescription:
    """A running query as EXPLAIN shows it."""
    runner = query.runner
    figures = _figures(runner, services, services.queries.figures.traffic().get(runner.id))
    return replace(
        planned_description(query.plan, query.id, query.statement),
        query_type="PUSH" if query.is_transient else "PERSISTENT",
        topology="\n".join(
            [
                plan_text.explain_topology(query.plan, state_sizes(runner, services.queries.figures)),
                *(f"{name}: {text}" for name, text in figures),
            ]
        ),
        state=runner.state,
        ksql_host_query_status={services.server.host: status_of(runner.state)},
        overridden_properties=masked_values(query.properties),
        query_errors=tuple(
            QueryError(timestamp=e.timestamp_ms, error_message=e.message, type=e.type) for e in query.errors
        ),
    )


def planned_description(plan: Plan, query_id: str, text: str) -> QueryDescription:
    """A query that is not running."""
    return QueryDescription(
        id=query_id,
        statement_text=masked(text),
        window_type=plan.sink.window.kind if plan.sink.window else None,
        fields=tuple(field_info(c) for c in plan.shown_schema.columns),
        sources=tuple(s.name for s in plan.sources),
        sinks=() if plan.is_transient else (plan.sink.name,),
        topology=plan_text.explain_topology(plan),
        execution_plan=plan_text.explain(plan),
        query_type="PUSH" if plan.is_transient else "PERSISTENT",
        processing_guarantee=plan.guarantee,
    )
