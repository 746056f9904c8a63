"""CREATE with and without AS SELECT, INSERT INTO … SELECT, ALTER, DROP (reference §2.1-2.3, §2.9)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from grammar.nodes import Statement
from grammar.statements.inserts import InsertSelect
from grammar.statements.sources import AlterSource, CreateAsSelect, CreateSource, DropSource
from ksql_spark import analyzer
from ksql_spark.errors import KsqlError, nearest
from ksql_spark.logical.nodes import PersistentQuery
from ksql_spark.metastore.sources import STREAM, DataSource
from ksql_spark.physical.planner import lower
from ksql_spark.physical.steps import PhysicalPlan, StreamTableJoin, StreamWindowedAggregate, walk
from ksql_spark.runtime.queries import RunningQuery
from ksql_spark.statements.entities import entity
from ksql_spark.statements.scope import Action, Immediate, Logged, Outcome, Scope, Starts

#: retention of a sink whose source does not say, ms (reference §6.8)
DEFAULT_RETENTION_MS = 7 * 24 * 3600 * 1000


def create_source(statement: CreateSource, scope: Scope) -> Action:
    """CREATE [OR REPLACE] STREAM|TABLE over a topic, which is made where PARTITIONS says how."""
    existing = scope.metastore.find(statement.name)
    if existing is not None and not statement.or_replace:
        return _exists(statement, statement.kind, statement.if_not_exists, existing)
    source = analyzer.bind_create_source(statement, scope.metastore, scope.config)
    if existing is not None:
        _check_replaceable(existing, source)
    partitions = None if scope.is_replay else _topic_partitions(source, scope)
    if not source.partitions and partitions:
        source = replace(source, partitions=partitions)
    source = replace(source, statement=statement.source_text + ";")
    scope.metastore.add(source)
    services = scope.services

    def prepare() -> Starts:
        if services.admin.topic(source.topic) is None:
            services.admin.create_topic(
                source.topic, source.partitions or 1, source.replicas or -1, _topic_config(source, None)
            )
        return {}

    def apply(_: int, __: Starts) -> Outcome:
        services.metastore.add(source)
        services.views.forget(source.name)
        return Outcome(f"{statement.kind.capitalize()} created")

    return Logged(f"{statement.kind.lower()}/`{source.name}`/create", apply, prepare)


def _topic_partitions(source: DataSource, scope: Scope) -> int:
    """Partitions of the source's topic, checked against what the statement says.

    Raises:
        KsqlError: TOPIC_MISSING, TOPIC_MISMATCH.
    """
    topic = scope.services.admin.topic(source.topic)
    there = len(topic.replicas) if topic is not None else scope.new_topics.get(source.topic)
    if there is None:
        if source.partitions is None:
            topics = scope.services.admin.topics()
            near = nearest(source.topic, topics)
            hint = f"Did you mean '{near}'?" if near else None
            raise KsqlError("TOPIC_MISSING", topic=source.topic, hint=hint)
        scope.new_topics[source.topic] = source.partitions
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


def create_as_select(statement: CreateAsSelect, scope: Scope) -> Action:
    """CREATE STREAM|TABLE … AS SELECT: a new topic and the query that fills it."""
    existing = scope.metastore.find(statement.name)
    if existing is not None:
        if statement.or_replace:
            raise KsqlError("NOT_DONE_YET", what="CREATE OR REPLACE … AS SELECT", version="yet")
        return _exists(statement, statement.kind, statement.if_not_exists, existing)
    bound = analyzer.bind_persistent(statement, scope.metastore, scope.config)
    sink = replace(bound.sink, statement=statement.source_text + ";")
    return _persistent(statement, replace(bound, sink=sink), statement.kind, scope)


def insert_select(statement: InsertSelect, scope: Scope) -> Action:
    """INSERT INTO stream SELECT …: one more writer of a stream that exists."""
    bound = analyzer.bind_persistent(statement, scope.metastore, scope.config)
    return _persistent(statement, bound, STREAM, scope)


def _persistent(statement: Statement, bound: PersistentQuery, kind: str, scope: Scope) -> Action:
    config = scope.config
    plan = lower(bound.root, bound.sink, config)
    if not scope.is_replay:
        _check_sink_topic(bound, plan, scope)
    sink = plan.sink
    if bound.creates_sink:
        scope.metastore.add(sink, frozenset(s.name for s in plan.sources))
        scope.new_topics.setdefault(sink.topic, _sink_partitions(plan, scope))
    services, properties = scope.services, dict(scope.properties)

    made_topics: list[str] = []

    def prepare() -> Starts:
        if services.admin.topic(sink.topic) is None:
            made_topics.append(sink.topic)
            retention = _inherited_retention(plan, scope)
            services.admin.create_topic(
                sink.topic, _sink_partitions(plan, scope), sink.replicas or -1, _topic_config(sink, retention)
            )
        return start_offsets(plan, scope)

    def apply(sequence: int, starts: Starts) -> Outcome:
        made = sink
        topic = services.admin.topic(sink.topic)
        partitions = len(topic.replicas) if topic else 1
        query_id = bound.query_id or _query_id(bound, sequence)
        query = RunningQuery(
            id=query_id,
            statement=statement.source_text + ";",
            # again, since only now the names of internal topics are known
            plan=lower(bound.root, bound.sink, config, query_id),
            starts=starts,
            properties=properties,
            sink_partitions=partitions,
            creates_sink=bound.creates_sink,
        )
        if scope.is_replay:
            services.queries.register(query)
        else:
            services.queries.start(query)
        if bound.creates_sink:
            made = replace(sink, partitions=partitions)
            services.metastore.add(made, frozenset(s.name for s in plan.sources))
            services.views.forget(made.name)
        return Outcome(f"Created query with ID {query.id}", query.id)

    def undo() -> None:
        services.admin.delete_topics(made_topics)

    return Logged(f"{kind.lower()}/`{sink.name}`/create", apply, prepare, undo=undo)


def _query_id(bound: PersistentQuery, sequence: int) -> str:
    if not bound.creates_sink:
        return f"INSERTQUERY_{sequence}"
    return f"C{bound.sink.kind[0]}AS_{bound.sink.name}_{sequence}"


def _check_sink_topic(bound: PersistentQuery, plan: PhysicalPlan, scope: Scope) -> None:
    for source in plan.sources:
        if source.topic not in scope.new_topics:
            scope.services.admin.require_topic(source.topic)
    topic = scope.services.admin.topic(plan.sink.topic)
    if bound.creates_sink and topic is not None and plan.sink.partitions is not None:
        there = len(topic.replicas)
        if there != plan.sink.partitions:
            raise KsqlError("TOPIC_MISMATCH", topic=plan.sink.topic, there=there, wanted=plan.sink.partitions)


def _sink_partitions(plan: PhysicalPlan, scope: Scope) -> int:
    """PARTITIONS of the sink, else those of the left-most source's topic."""
    if plan.sink.partitions is not None:
        return plan.sink.partitions
    first = plan.sources[0].topic
    topic = scope.services.admin.topic(first)
    return len(topic.replicas) if topic is not None else scope.new_topics.get(first, 1)


def _inherited_retention(plan: PhysicalPlan, scope: Scope) -> int:
    """The left-most source's retention, ms, -1 for ever; for windows at least theirs (§6.8)."""
    config = scope.services.admin.config(plan.sources[0].topic)
    retention = DEFAULT_RETENTION_MS
    if "delete" in config.get("cleanup.policy", ""):
        retention = int(config.get("retention.ms", DEFAULT_RETENTION_MS))
    windows = [s.window_spec.retention_ms for s in walk(plan.root) if isinstance(s, StreamWindowedAggregate)]
    return retention if retention < 0 else max([retention, *windows])


def start_offsets(plan: PhysicalPlan, scope: Scope) -> Starts:
    """Where a new query starts to read each topic (reference §6.1): fixed now, so nothing is missed later.

    Streams start at the latest record unless ``auto.offset.reset`` says earliest, tables at the earliest;
    tables in joins always do.
    """
    config = scope.config
    reset = str(config["auto.offset.reset"]).lower() if config.is_set("auto.offset.reset") else None
    joined = any(isinstance(s, StreamTableJoin) for stage in plan.stages for s in walk(stage.root))
    starts: dict[str, dict[str, int]] = {}
    for source in plan.sources:
        is_earliest = reset == "earliest" or (source.is_table and (joined or not reset))
        offsets = scope.services.admin.offsets([source.topic], "earliest" if is_earliest else "latest")
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


def _check_replaceable(old: DataSource, new: DataSource) -> None:
    """CREATE OR REPLACE may only append value columns (reference §2.3)."""
    same = (
        old.kind == new.kind
        and old.topic == new.topic
        and old.key_format == new.key_format
        and old.value_format == new.value_format
        and old.timestamp == new.timestamp
        and old.schema.key == new.schema.key
        and not old.read_only
    )
    kept = old.schema.value
    if not same or new.schema.value[: len(kept)] != kept:
        reason = (
            f"Cannot replace {old.kind.lower()} '{old.name}': its topic, formats, timestamp and columns must "
            "stay as they are; new columns may only follow the old ones."
        )
        raise KsqlError("INVALID_STATEMENT", reason=reason)


def alter_source(statement: AlterSource, scope: Scope) -> Action:
    """ALTER STREAM|TABLE … ADD COLUMN: value columns appended (reference §2.3)."""
    old = scope.metastore.require(statement.name)
    new = analyzer.bind_alter_source(statement, scope.metastore)
    scope.metastore.add(new)
    services = scope.services

    def apply(_: int, __: Starts) -> Outcome:
        services.metastore.add(new)
        return Outcome(f"{old.kind.capitalize()} {old.name} altered.")

    return Logged(f"{statement.kind.lower()}/{old.name}/alter", apply)


def drop_source(statement: DropSource, scope: Scope) -> Action:
    """DROP STREAM|TABLE [DELETE TOPIC]; the query that made a sink ends with it."""
    name = statement.name
    source = scope.metastore.find(name)
    if source is None:
        if statement.if_exists:
            message = f"Source `{name}` does not exist."
            return Immediate(lambda: entity("warning_entity", statement.source_text, message=message))
        source = scope.metastore.require(name)
    if source.kind != statement.kind:
        reason = f"Incompatible data source type is {source.kind}, but statement was DROP {statement.kind}."
        raise KsqlError("INVALID_STATEMENT", reason=reason)
    if statement.delete_topic and source.read_only:
        raise KsqlError("INVALID_STATEMENT", reason=f"Cannot delete topic for read-only source: {name}.")
    services = scope.services
    queries = [q for q in services.queries.all() if not q.is_transient and q.id not in scope.stopped]
    own = [q for q in queries if q.plan.sink.name == name and q.creates_sink]
    _check_unused(source, scope.metastore.dependents(name), [q for q in queries if q not in own])
    scope.metastore.drop(name)
    scope.stopped.update(q.id for q in own)

    def apply(_: int, __: Starts) -> Outcome:
        for query in own:
            services.queries.stop(query.id, drop_state=True)
        services.views.forget(name)
        services.metastore.drop(name)
        return Outcome(f"Source `{name}` (topic: {source.topic}) was dropped.")

    def after() -> None:
        if statement.delete_topic:
            services.admin.delete_topics([source.topic])

    return Logged(f"{statement.kind.lower()}/{name}/drop", apply, after=after)


def _check_unused(source: DataSource, dependents: Iterable[str], queries: Iterable[RunningQuery]) -> None:
    name = source.name
    made = [d for d in dependents if d != name]
    reads = [
        q.id for q in queries if any(s.name == name for s in q.plan.sources) and q.plan.sink.name not in made
    ]
    writes = [q.id for q in queries if q.plan.sink.name == name]
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
