"""CREATE, DROP, PAUSE, RESUME, DESCRIBE and SHOW SINKS (beyond ksqlDB): lake tables (ADR 57).

They only change the metastore, which the sinks of lake.sinks follow.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ksql_spark import analyzer
from ksql_spark.entities import Entity
from ksql_spark.entities.sinks import SinkDescription, SinkInfo, SinkPosition, SinksList
from ksql_spark.errors import KsqlError, name_hint
from ksql_spark.grammar.statements.show import Show
from ksql_spark.grammar.statements.sinks import (
    CompactSink,
    CreateSink,
    CreateSinkAs,
    DescribeSink,
    DropSink,
    PauseSink,
    ResumeSink,
)
from ksql_spark.lake import archives, tables
from ksql_spark.lake.sinks import SinkStatus
from ksql_spark.masking import masked
from ksql_spark.metastore.sinks import JDBC, PARQUET, Sink, archive_name, place_of
from ksql_spark.metastore.store import MetaStore
from ksql_spark.statements.base.context import (
    Action,
    Immediate,
    Logged,
    Outcome,
    Prepared,
    Starts,
    StatementContext,
    only_warns,
)
from ksql_spark.statements.base.handlers import handles
from ksql_spark.statements.definitions.sources import create_as_select


@handles
def create_sink(statement: CreateSink, context: StatementContext) -> Action:
    """CREATE SINK [IF NOT EXISTS] name FROM source WITH (…)."""
    if context.metastore.find_sink(statement.name) is not None:
        return _exists(statement)
    sink = analyzer.bind_create_sink(statement, context.metastore)
    _check(sink, context)
    created = _changing(context, lambda store: store.add_sink(sink), f"{sink.name}/create", "Sink created.")
    topic = context.metastore.require(sink.source).topic

    def prepare() -> Prepared:
        there = context.services.admin.beginning_offsets(topic)
        return Prepared({topic: {str(partition): offset for (_, partition), offset in there.items()}})

    def apply(starts: Starts) -> Outcome:
        logged = starts.get(topic)  # releases before have logged none
        begins = None if logged is None else {int(partition): at for partition, at in logged.items()}
        context.services.metastore.add_sink(replace(sink, begins=begins))
        return Outcome("Sink created.")

    created = replace(created, prepare=prepare, apply=apply)
    return replace(created, prepare=_making_archive(sink, created, context))


@handles
def create_sink_as(statement: CreateSinkAs, context: StatementContext) -> Action:
    """CREATE SINK [IF NOT EXISTS] name WITH (…) AS SELECT …: a stream or table of that name, and its sink."""
    if context.metastore.find_sink(statement.name) is not None:
        return _exists(statement)
    if context.stored is not None:
        kind = context.stored.logical.sink.kind
    else:
        kind = analyzer.kind_of_result(statement, context.metastore, context.config)
    source = statement.source(kind)
    creation = create_as_select(source, context)
    assert isinstance(creation, Logged) and creation.change is not None
    sink = analyzer.bind_create_sink(statement, context.metastore)
    _check(sink, context)
    context.metastore.add_sink(sink)
    services = context.services

    def apply(starts: Starts) -> Outcome:
        outcome = creation.apply(starts)
        if not outcome.is_failed:
            services.metastore.add_sink(sink)
        return outcome

    change = replace(creation.change, statement=source.source_text)
    return replace(creation, prepare=_making_archive(sink, creation, context), apply=apply, change=change)


def _making_archive(sink: Sink, action: Logged, context: StatementContext) -> Callable[[], Prepared]:
    """Return a function that prepares the action, and makes the archive where ``sink`` writes one.

    Raises:
        KsqlError, when it is called: those of archives.make.
    """

    def prepare() -> Prepared:
        prepared = action.prepare()
        if sink.is_archive:
            topic = context.metastore.require(sink.source).topic
            archives.make(sink.path, archive_name(topic, context.services.admin.topic_id(topic)))
        return prepared

    return prepare


def _exists(statement: CreateSink | CreateSinkAs) -> Action:
    message = f"Sink {statement.name} exists already."
    if not statement.if_not_exists:
        raise KsqlError("INVALID_STATEMENT", reason=message)
    return only_warns(statement, message)


def _check(sink: Sink, context: StatementContext) -> None:
    if not context.is_replay:
        tables.require(sink.type)
        _check_alone(sink, context)


def _check_alone(sink: Sink, context: StatementContext) -> None:
    """Refuse a second source for one table.

    Raises:
        KsqlError: INVALID_STATEMENT.
    """
    for other in context.metastore.sinks():
        if other.place == sink.place and other.is_archive != sink.is_archive:
            raise KsqlError(
                "INVALID_STATEMENT",
                reason=f"The sink {other.name} writes {sink.path}, and archives have folders of their own.",
            )
        if other.place == sink.place and other.source != sink.source:
            seen = context.rights.may_read(other.source)
            which = f"the sink {other.name} from {other.source}" if seen else "another sink"
            raise KsqlError(
                "INVALID_STATEMENT",
                reason=f"The table of {sink.name} is written by {which}: rows of two sources would be mixed.",
                hint="Give it a table of its own, or INSERT INTO one stream from both and write that.",
            )


@handles
def drop_sink(statement: DropSink, context: StatementContext) -> Action:
    """DROP SINK [IF EXISTS] name: the lake table stays."""
    if context.metastore.find_sink(statement.name) is None and statement.if_exists:
        message = f"Sink {statement.name} does not exist."
        return only_warns(statement, message)
    name = _required(statement.name, context).name
    return _changing(
        context, lambda store: store.drop_sink(name), f"{name}/drop", f"Sink {name} was dropped."
    )


@handles
def pause_sink(statement: PauseSink, context: StatementContext) -> Action:
    """PAUSE SINK name: no more commits until RESUME SINK."""
    paused = replace(_required(statement.name, context), is_paused=True)
    return _changing(context, lambda store: store.add_sink(paused), f"{paused.name}/pause", "Sink paused.")


@handles
def resume_sink(statement: ResumeSink, context: StatementContext) -> Action:
    """RESUME SINK name."""
    resumed = replace(_required(statement.name, context), is_paused=False)
    return _changing(
        context, lambda store: store.add_sink(resumed), f"{resumed.name}/resume", "Sink resumed."
    )


@handles
def compact_sink(statement: CompactSink, context: StatementContext) -> Action:
    """COMPACT SINK name: its thread does so after its next commit."""
    sink = _required(statement.name, context)
    if sink.type == JDBC:
        reason = f"The sink {sink.name} writes a table of a database, which has no files to compact."
        raise KsqlError("INVALID_STATEMENT", reason=reason)
    for name, origin in context.metastore.origins().items():
        is_read = origin.format == sink.type == PARQUET and place_of(origin.path) == sink.place[0]
        if is_read and not context.metastore.require(name).is_table:
            reason = (
                f"The stream {name if context.rights.may_read(name) else 'of somebody else'} reads the files"
                f" of {sink.name}, and would take those that a compaction writes for new ones."
            )
            raise KsqlError("INVALID_STATEMENT", reason=reason)
    changed = replace(sink, compactions=sink.compactions + 1)
    return _changing(
        context,
        lambda store: store.add_sink(changed),
        f"{changed.name}/compact",
        "The sink compacts its table after its next commit.",
    )


def _changing(
    context: StatementContext, change: Callable[[MetaStore], None], action: str, message: str
) -> Logged:
    services = context.services
    change(context.metastore)

    def apply(_: object) -> Outcome:
        change(services.metastore)
        return Outcome(message)

    return Logged(f"sink/{action}", apply)


def _required(name: str, context: StatementContext) -> Sink:
    sink = context.metastore.find_sink(name)
    if sink is None:
        seen = (s.name for s in context.metastore.sinks() if context.rights.may_read(s.source))
        hint = name_hint(name, seen, "SHOW SINKS lists all sinks.")
        raise KsqlError("SINK_UNKNOWN", name=name, hint=hint)
    return sink


def show_sinks(statement: Show, context: StatementContext) -> Entity:
    """SHOW SINKS."""
    sinks = [s for s in context.services.metastore.sinks() if context.rights.may_read(s.source)]
    return SinksList(
        statement_text=statement.source_text,
        sinks=tuple(_info(sink, _status(sink, context)) for sink in sinks),
    )


@handles
def describe_sink(statement: DescribeSink, context: StatementContext) -> Action:
    """DESCRIBE SINK name."""
    sink = _required(statement.name, context)
    topic = context.metastore.require(sink.source).topic

    def run() -> Entity:
        status = _status(sink, context)
        counts = context.services.queries.figures.counts(sink.id)
        return SinkDescription(
            statement_text=statement.source_text,
            sink=_info(sink, status),
            partition_by=tuple(map(str, sink.partition_by)),
            interval_ms=sink.interval_ms,
            topic=topic,
            positions=tuple(
                SinkPosition(partition=partition, offset=status.positions.get(partition, 0), end=end)
                for partition, end in sorted(status.ends.items())
            ),
            commits=status.commits,
            rows=status.rows,
            records_removed=status.removed,
            records_unreadable=counts.unreadable,
            records_refused=counts.failed,
            last_commit_ms=status.last_commit_ms,
            last_compaction_ms=status.last_compaction_ms,
        )

    return Immediate(run)


def _status(sink: Sink, context: StatementContext) -> SinkStatus:
    """Return a sink's status with the topic's current ends: the sink itself looks only before commits."""
    status = context.services.sink_status(sink.name)
    source = context.services.metastore.find(sink.source)
    if source is None or not status.ends:
        return status
    try:
        ends = context.services.admin.committed_ends(source.topic)
    except KsqlError:  # the topic is gone, or the broker away
        return status
    return replace(status, ends={partition: end for (_, partition), end in ends.items()})


def _info(sink: Sink, status: SinkStatus) -> SinkInfo:
    return SinkInfo(
        name=sink.name,
        source=sink.source,
        type=sink.type,
        path=masked(sink.path),
        table=sink.table,
        state="PAUSED" if sink.is_paused else status.state,
        reason=status.reason,
        lag=status.lag,
    )
