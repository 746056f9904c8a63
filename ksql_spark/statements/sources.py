"""CREATE with and without AS SELECT, INSERT INTO … SELECT, ALTER, DROP (reference §2.1-2.3, §2.9)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from grammar.nodes import Statement
from grammar.statements.inserts import InsertSelect
from grammar.statements.sources import AlterSource, CreateAsSelect, CreateSource, DropSource
from ksql_spark import __version__, analyzer
from ksql_spark.errors import KsqlError, nearest
from ksql_spark.logical.nodes import PersistentQuery, Start
from ksql_spark.metastore.sources import STREAM, DataSource
from ksql_spark.physical import codec
from ksql_spark.physical.planner import check_runnable, lower
from ksql_spark.physical.steps import PhysicalPlan, StreamTableJoin, StreamWindowedAggregate, walk
from ksql_spark.runtime.pending import CleanupRecord, Orphans
from ksql_spark.runtime.queries import PAUSED, ManagedQuery, internal_topics
from ksql_spark.statements.context import (
    Action,
    Immediate,
    KnownQuery,
    Logged,
    Outcome,
    Services,
    Starts,
    StatementContext,
)
from ksql_spark.statements.entities import entity
from ksql_spark.statements.termination import Termination

#: retention of a sink whose source does not say, ms (reference §6.8)
DEFAULT_RETENTION_MS = 7 * 24 * 3600 * 1000


def create_source(statement: CreateSource, context: StatementContext) -> Action:
    """CREATE [OR REPLACE] STREAM|TABLE over a topic, which is made where PARTITIONS says how."""
    existing = context.metastore.find(statement.name)
    if existing is not None and not statement.or_replace:
        return _exists(statement, statement.kind, statement.if_not_exists, existing)
    _check_or_replace(statement, context)
    if not context.is_replay:
        # on replay all columns are there: the registry may say something else by then
        statement = analyzer.infer_columns(statement, context.config, context.services.registry)
    source = analyzer.bind_create_source(statement, context.metastore, context.config)
    if existing is not None and existing.is_sink:
        reason = f"Cannot replace {existing.kind.lower()} '{existing.name}': a query made it."
        hint = f"Use CREATE OR REPLACE {existing.kind} {existing.name} AS SELECT ..."
        raise KsqlError("INVALID_STATEMENT", reason=reason, hint=hint)
    partitions = None if context.is_replay else _topic_partitions(source, context)
    if not source.partitions and partitions:
        source = replace(source, partitions=partitions)
    source = replace(source, statement=statement.source_text + ";")
    context.metastore.add(source)
    services = context.services

    def prepare() -> Starts:
        if services.admin.topic(source.topic) is None:
            services.admin.create_topic(
                source.topic, source.partitions or 1, source.replicas or -1, _topic_config(source, None)
            )
        return {}

    def apply(_: int, __: Starts) -> Outcome:
        services.metastore.add(source)
        services.views.drop(source.name)
        return Outcome(f"{statement.kind.capitalize()} created")

    command_id = f"{statement.kind.lower()}/`{source.name}`/create"

    def cleanup(_: int) -> CleanupRecord:
        is_new = services.admin.topic(source.topic) is None
        return CleanupRecord(unlogged=Orphans((source.topic,) if is_new else ()))

    return Logged(command_id, apply, prepare, cleanup=cleanup, statement=statement.source_text)


def _topic_partitions(source: DataSource, context: StatementContext) -> int:
    """Partitions of the source's topic, checked against what the statement says.

    Raises:
        KsqlError: TOPIC_MISSING, TOPIC_MISMATCH.
    """
    topic = context.services.admin.topic(source.topic)
    there = len(topic.replicas) if topic is not None else context.new_topics.get(source.topic)
    if there is None:
        if source.partitions is None:
            topics = context.services.admin.topics()
            near = nearest(source.topic, topics)
            hint = f"Did you mean '{near}'?" if near else None
            raise KsqlError("TOPIC_MISSING", topic=source.topic, hint=hint)
        context.new_topics[source.topic] = source.partitions
        return source.partitions
    if source.partitions is not None and source.partitions != there:
        raise KsqlError("TOPIC_MISMATCH", topic=source.topic, there=there, wanted=source.partitions)
    return there


def _topic_config(sink: DataSource, retention_ms: int | None) -> dict[str, str]:
    """Configuration of a topic that we make for ``sink`` (reference §6.8)."""
    retention = sink.retention_ms if sink.retention_ms is not None else retention_ms
    if sink.is_table and sink.window is None:
        return {"cleanup.policy": "compact"}
    config = {"cleanup.policy": "compact,delete" if sink.is_table else "delete"}
    if retention is not None:
        config["retention.ms"] = str(retention)
    return config


def create_as_select(statement: CreateAsSelect, context: StatementContext) -> Action:
    """CREATE STREAM|TABLE … AS SELECT: a new topic and the query that fills it.

    With OR REPLACE the query that writes the sink goes on, under its id, as the new one.
    """
    existing = context.metastore.find(statement.name)
    if existing is not None and not statement.or_replace:
        return _exists(statement, statement.kind, statement.if_not_exists, existing)
    _check_or_replace(statement, context)
    bound = _bound(statement, context)
    sink = replace(bound.sink, statement=statement.source_text + ";")
    bound = replace(bound, sink=sink)
    replaced = _replaced(statement, bound, context) if existing is not None else None
    if replaced is not None and bound.start is not None and not context.is_replay:
        reason = f"The query that writes {statement.name} goes on where it was: START is for new queries."
        raise KsqlError("INVALID_STATEMENT", reason=reason, hint="To read again, DROP it first.")
    return _persistent(statement, bound, statement.kind, context, replaced)


def _check_or_replace(statement: CreateSource | CreateAsSelect, context: StatementContext) -> None:
    if statement.or_replace and not context.config["ksql.create.or.replace.enabled"]:
        raise KsqlError(
            "INVALID_STATEMENT",
            reason="CREATE OR REPLACE is disabled (ksql.create.or.replace.enabled=false).",
        )


def _bound(statement: CreateAsSelect | InsertSelect, context: StatementContext) -> PersistentQuery:
    """What the statement means: on replay, what it meant when it was first carried out."""
    if context.stored is not None:
        return context.stored.logical
    return analyzer.bind_persistent(statement, context.metastore, context.config, context.services.registry)


def _replaced(
    statement: CreateAsSelect, bound: PersistentQuery, context: StatementContext
) -> KnownQuery | None:
    """The query whose place ``bound`` takes; None where none writes the sink any more.

    Raises:
        KsqlError: the replacement is not allowed (reference §2.3).
    """
    writers = [q for q in context.queries if q.sink == bound.sink.name]
    if len(writers) > 1 or any(not q.creates_sink for q in writers):
        ids = ", ".join(sorted(q.id or "one of this request" for q in writers))
        reason = f"REPLACE for sink {bound.sink.name} is not supported: INSERT INTO writes it too: {ids}."
        raise KsqlError("INVALID_STATEMENT", reason=reason, hint="TERMINATE what inserts first.")
    if not writers:
        return None
    (old,) = writers
    if not context.is_replay and old.logical is not None:
        analyzer.check_query_replacement(old.logical, bound, statement)
    return old


def insert_select(statement: InsertSelect, context: StatementContext) -> Action:
    """INSERT INTO stream SELECT …: one more writer of a stream that exists."""
    bound = _bound(statement, context)
    if bound.query_id is not None and any(q.id == bound.query_id for q in context.queries):
        raise KsqlError("INVALID_STATEMENT", reason=f"Query ID '{bound.query_id}' already exists.")
    return _persistent(statement, bound, STREAM, context)


def _persistent(
    statement: Statement,
    bound: PersistentQuery,
    kind: str,
    context: StatementContext,
    replaced: KnownQuery | None = None,
) -> Action:
    config = context.config
    known_id = replaced.id if replaced is not None else bound.query_id
    # often only the start gives the id, which names internal topics: this plan shows that there is one
    by_time = bound.by_event_time
    plan = (
        context.stored.plan
        if context.stored
        else lower(bound.root, bound.sink, config, known_id or "query", by_event_time=by_time)
    )
    if not context.is_replay:
        check_runnable(plan)
        _check_sink_topic(bound, plan, context)
        _check_limit(context, replaced)
    sink = plan.sink
    origins = frozenset(s.name for s in plan.sources)
    if bound.creates_sink:
        context.metastore.add(sink, origins)
        context.new_topics.setdefault(sink.topic, _sink_partitions(plan, context))
    if replaced is not None:
        context.queries.remove(replaced)
    context.queries.append(KnownQuery(known_id, sink.name, origins, bound.creates_sink, bound))
    services, stored, here = context.services, context.stored, context.snapshot()
    made_topics: list[str] = []
    #: (what was started, what it took the place of)
    started: list[tuple[ManagedQuery, ManagedQuery | None]] = []

    def running() -> ManagedQuery | None:
        """The query to replace, as it runs now."""
        if replaced is None:
            return None
        writers = (q for q in services.queries.all() if q.creates_sink and q.plan.sink.name == sink.name)
        return next(writers, None)

    def prepare() -> Starts:
        if services.admin.topic(sink.topic) is None:
            made_topics.append(sink.topic)
            retention = _inherited_retention(plan, here)
            services.admin.create_topic(
                sink.topic,
                _sink_partitions(plan, here),
                _sink_replicas(plan, here),
                _topic_config(sink, retention),
            )
        old = running()
        return old.starts if old is not None else start_offsets(plan, here, bound.start)

    def apply(sequence: int, starts: Starts) -> Outcome:
        old = running()
        topic = services.admin.topic(sink.topic)
        partitions = len(topic.replicas) if topic else 1
        if stored is not None:
            query_id, final = stored.id, stored.plan
        else:
            query_id = old.id if old is not None else bound.query_id or _query_id(bound, sequence)
            final = lower(bound.root, sink, config, query_id, by_event_time=by_time)
        query = ManagedQuery(
            id=query_id,
            statement=statement.source_text + ";",
            plan=final,
            starts=starts,
            properties=here.properties,
            sink_partitions=partitions,
            creates_sink=bound.creates_sink,
            logical=bound,
        )
        if context.is_replay:
            services.queries.register(query)
        elif old is None:
            started.append((query, None))
            services.queries.start_new(query)
        else:
            started.append((query, old))
            _take_over(query, old, services)
        if old is not None and old.state == PAUSED:
            query.state = PAUSED
        if bound.creates_sink:
            services.metastore.add(replace(sink, partitions=partitions), origins)
            services.views.drop(sink.name)
        document = codec.encode((bound, final))
        return Outcome(f"Created query with ID {query.id}", query.id, document)

    def undo() -> None:
        for query, old in started:
            if old is None:
                services.queries.drop(query)
            else:
                services.queries.stop(query.id)
                _take_over(old, old, services)
        services.admin.delete_topics(made_topics)

    def cleanup(sequence: int) -> CleanupRecord:
        made = () if services.admin.topic(sink.topic) is not None else (sink.topic,)
        if running() is not None:
            return CleanupRecord(unlogged=Orphans(made))
        query_id = bound.query_id or _query_id(bound, sequence)
        topics = internal_topics(lower(bound.root, sink, config, query_id))
        return CleanupRecord(unlogged=Orphans((*made, *topics), (query_id,)))

    return Logged(f"{kind.lower()}/`{sink.name}`/create", apply, prepare, undo=undo, cleanup=cleanup)


def _take_over(query: ManagedQuery, old: ManagedQuery, services: Services) -> None:
    """Run ``query`` on the checkpoints of ``old``; where that is paused, when RESUME says so.

    Raises:
        KsqlError: NOT_DONE_YET where Spark does not go on from there with the new plan.
    """
    was_paused = old.state == PAUSED
    services.queries.stop(old.id)
    # one that is registered keeps its checkpoints where it does not start
    services.queries.register(query)
    if was_paused:
        query.state = PAUSED
        return
    try:
        services.queries.start(query)
    except KsqlError as error:
        raise KsqlError(
            "NOT_DONE_YET",
            what=f"Replacing query {old.id} in this way ({error.message})",
            version=__version__,
        ) from None


def _check_limit(context: StatementContext, replaced: KnownQuery | None) -> None:
    most = int(context.config["ksql.query.persistent.active.limit"])
    if replaced is None and len(context.queries) >= most:
        raise KsqlError(
            "INVALID_STATEMENT",
            reason=f"{len(context.queries)} persistent queries run already, the most that "
            "ksql.query.persistent.active.limit allows.",
            hint="TERMINATE one first.",
        )


def _query_id(bound: PersistentQuery, sequence: int) -> str:
    if not bound.creates_sink:
        return f"INSERTQUERY_{sequence}"
    return f"C{bound.sink.kind[0]}AS_{bound.sink.name}_{sequence}"


def _check_sink_topic(bound: PersistentQuery, plan: PhysicalPlan, context: StatementContext) -> None:
    for source in plan.sources:
        if source.topic not in context.new_topics:
            context.services.admin.require_topic(source.topic)
    topic = context.services.admin.topic(plan.sink.topic)
    if bound.creates_sink and topic is not None and plan.sink.partitions is not None:
        there = len(topic.replicas)
        if there != plan.sink.partitions:
            raise KsqlError("TOPIC_MISMATCH", topic=plan.sink.topic, there=there, wanted=plan.sink.partitions)


def _sink_partitions(plan: PhysicalPlan, context: StatementContext) -> int:
    """PARTITIONS of the sink, else those of the left-most source's topic."""
    if plan.sink.partitions is not None:
        return plan.sink.partitions
    first = plan.sources[0].topic
    topic = context.services.admin.topic(first)
    return len(topic.replicas) if topic is not None else context.new_topics.get(first, 1)


def _sink_replicas(plan: PhysicalPlan, context: StatementContext) -> int:
    """REPLICAS of the sink, else those of the left-most source's topic; -1 for the broker's default."""
    if plan.sink.replicas is not None:
        return plan.sink.replicas
    if not context.config["ksql.create.topic.inherit.source.replicas.enabled"]:
        return -1
    topic = context.services.admin.topic(plan.sources[0].topic)
    return max(topic.replicas) if topic is not None else -1


def _inherited_retention(plan: PhysicalPlan, context: StatementContext) -> int:
    """The left-most source's retention, ms, -1 for ever; for windows at least theirs (§6.8)."""
    config = context.services.admin.config(plan.sources[0].topic)
    retention = DEFAULT_RETENTION_MS
    if "delete" in config.get("cleanup.policy", ""):
        retention = int(config.get("retention.ms", DEFAULT_RETENTION_MS))
    windows = [s.window_spec.retention_ms for s in walk(plan.root) if isinstance(s, StreamWindowedAggregate)]
    return retention if retention < 0 else max([retention, *windows])


def start_offsets(plan: PhysicalPlan, context: StatementContext, start: Start = None) -> Starts:
    """Where a new query starts to read each topic (reference §6.1): fixed now, so nothing is missed later.

    Streams start at the latest record unless ``start``, or else ``auto.offset.reset``, says something else,
    tables at the earliest; tables in joins always do.
    """
    config = context.config
    reset: Start = start
    if start is None and config.is_set("auto.offset.reset"):
        reset = "earliest" if str(config["auto.offset.reset"]).lower() == "earliest" else "latest"
    joined = any(isinstance(s, StreamTableJoin) for stage in plan.stages for s in walk(stage.root))
    starts: dict[str, dict[str, int]] = {}
    for source in plan.sources:
        is_whole = source.is_table and (joined or reset is None)
        at = "earliest" if is_whole else "latest" if reset is None else reset
        offsets = context.services.admin.offsets([source.topic], at)
        starts[source.topic] = {str(partition): offset for (_, partition), offset in offsets.items()}
    return starts


def _exists(statement: Any, kind: str, if_not_exists: bool, existing: DataSource) -> Action:
    name = existing.name
    message = (
        f"Cannot add {kind.lower()} '{name}': A {existing.kind.lower()} with the same name already exists"
    )
    if not if_not_exists:
        raise KsqlError("INVALID_STATEMENT", reason=message)
    return Immediate(lambda: entity("warning_entity", statement.source_text, message=message))


def alter_source(statement: AlterSource, context: StatementContext) -> Action:
    """ALTER STREAM|TABLE … ADD COLUMN: value columns appended (reference §2.3)."""
    old = context.metastore.require(statement.name)
    new = analyzer.bind_alter_source(statement, context.metastore)
    context.metastore.add(new)
    services = context.services

    def apply(_: int, __: Starts) -> Outcome:
        services.metastore.add(new)
        return Outcome(f"{old.kind.capitalize()} {old.name} altered.")

    return Logged(f"{statement.kind.lower()}/{old.name}/alter", apply)


def drop_source(statement: DropSource, context: StatementContext) -> Action:
    """DROP STREAM|TABLE [DELETE TOPIC]; the query that made a sink ends with it."""
    name = statement.name
    source = context.metastore.find(name)
    if source is None:
        if statement.if_exists:
            message = f"Source `{name}` does not exist."
            return Immediate(lambda: entity("warning_entity", statement.source_text, message=message))
        source = context.metastore.require(name)
    if source.kind != statement.kind:
        reason = f"Incompatible data source type is {source.kind}, but statement was DROP {statement.kind}."
        raise KsqlError("INVALID_STATEMENT", reason=reason)
    if statement.delete_topic and source.read_only:
        raise KsqlError("INVALID_STATEMENT", reason=f"Cannot delete topic for read-only source: {name}.")
    services = context.services
    others = [q for q in context.queries if not (q.sink == name and q.creates_sink)]
    _check_unused(source, context.metastore.dependents(name), others)
    context.metastore.drop(name)
    context.queries = others

    def makers() -> list[ManagedQuery]:
        return [q for q in services.queries.all() if q.creates_sink and q.plan.sink.name == name]

    termination = Termination(services.queries, makers)
    topics = (source.topic,) if statement.delete_topic else ()

    def apply(_: int, __: Starts) -> Outcome:
        termination.apply()
        services.views.drop(name)
        services.metastore.drop(name)
        return Outcome(f"Source `{name}` (topic: {source.topic}) was dropped.")

    def after() -> None:
        termination.after()
        services.admin.delete_topics(topics)

    def cleanup(_: int) -> CleanupRecord:
        kept = termination.orphans()
        return CleanupRecord(logged=Orphans((*kept.topics, *topics), kept.queries))

    return Logged(
        f"{statement.kind.lower()}/{name}/drop", apply, after=after, undo=termination.undo, cleanup=cleanup
    )


def _check_unused(source: DataSource, dependents: Iterable[str], queries: Iterable[KnownQuery]) -> None:
    name = source.name
    made = [d for d in dependents if d != name]
    reads = [_shown(q) for q in queries if name in q.sources and q.sink not in made]
    writes = [_shown(q) for q in queries if q.sink == name]
    if made:
        reason = (
            f"Cannot drop {name}.\nThe following streams and/or tables read from this source: "
            f"[{', '.join(made)}].\nYou need to drop them before dropping {name}."
        )
        raise KsqlError("INVALID_STATEMENT", reason=reason)
    if reads or writes:
        reason = (
            f"Cannot drop source {name}.\n"
            f"The following queries read from this source: [{', '.join(reads)}].\n"
            f"The following queries write into this source: [{', '.join(writes)}].\n"
            "You need to terminate them before dropping it."
        )
        raise KsqlError("INVALID_STATEMENT", reason=reason)


def _shown(query: KnownQuery) -> str:
    return query.id or f"the one of this request that writes {query.sink}"
