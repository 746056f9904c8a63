"""CREATE with and without AS SELECT, INSERT INTO … SELECT, ALTER, DROP (reference §2.1-2.3, §2.9)."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial

from ksql_spark import analyzer, grammar, topic_patterns
from ksql_spark.analyzer.base.settings import is_read_only_topic
from ksql_spark.errors import KsqlError, nearest
from ksql_spark.expressions import name_text
from ksql_spark.formats.sampling import Sample
from ksql_spark.grammar.statements.inserts import InsertSelect
from ksql_spark.grammar.statements.sources import (
    AlterSource,
    CreateAsSelect,
    CreateSource,
    DropSource,
    RefreshSchema,
)
from ksql_spark.kafka.admin import Topic
from ksql_spark.kafka.consumer import TopicReader
from ksql_spark.lake.positions import positions_topic
from ksql_spark.lake.tables import check_origin
from ksql_spark.metastore.serdes import check_writable, delete_subjects, subjects_of
from ksql_spark.metastore.sources import STREAM, DataSource
from ksql_spark.plan.queries import PersistentQuery
from ksql_spark.runtime.cleanup import CleanupRecord, Orphans
from ksql_spark.runtime.queries.exactly_once import settle
from ksql_spark.runtime.queries.managed import ManagedQuery
from ksql_spark.runtime.queries.states import State
from ksql_spark.runtime.versions import CREATED, IN_PLACE, Change
from ksql_spark.spark.processing_log import create_stream
from ksql_spark.statements.base.context import (
    SINK_PREFIX,
    Action,
    Fall,
    KnownQuery,
    Logged,
    Outcome,
    Prepared,
    Starts,
    StatementContext,
    evolves,
    only_warns,
)
from ksql_spark.statements.base.handlers import handles
from ksql_spark.statements.base.topics import check_topic, topic_config
from ksql_spark.statements.definitions.new_versions import begin_evolution, evolution_of
from ksql_spark.statements.queries.query_start import QueryStart
from ksql_spark.statements.queries.termination import Termination

log = logging.getLogger(__name__)


@handles
def create_source(statement: CreateSource, context: StatementContext) -> Action:
    """CREATE [OR REPLACE] STREAM|TABLE over a topic; with PARTITIONS, a missing topic is created."""
    existing = context.metastore.find(statement.name)
    if existing is not None and not statement.or_replace:
        return _exists(statement, existing)
    check_or_replace(statement, context)
    inferred: list[str] = []
    has_own_columns = False
    if not context.is_replay:
        statement = _of_log(statement, context)
        # on replay the statement has all columns: the registry may have others by now
        written = analyzer.infer_columns(
            statement, context.config, context.services.registry, partial(_sample, context)
        )
        has_own_columns = written.columns == statement.columns
        is_sampled = any(p.name.upper() == "INFER" for p in statement.properties)
        inferred = [grammar.render(c) for c in written.columns] if is_sampled else []
        statement = written
    source = analyzer.bind_create_source(statement, context.metastore, context.config)
    origin = analyzer.bind_origin(statement, source, context.metastore)
    if origin is not None and not context.is_replay:
        check_origin(origin)
        if source.partitions is None and context.services.admin.topic(source.topic) is None:
            source = replace(source, partitions=context.new_topics.get(source.topic, 1))
    if existing is not None and existing.is_sink:
        reason = f"Cannot replace {existing.kind.lower()} '{existing.name}': a query created it."
        hint = f"Use CREATE OR REPLACE {existing.kind} {existing.name} AS SELECT ..."
        raise KsqlError("INVALID_STATEMENT", reason=reason, hint=hint)
    if not context.is_replay:
        _check_pattern(source, context)
    is_one = source.topic_pattern is None
    partitions = None if context.is_replay or not is_one else _topic_partitions(source, context)
    if not source.partitions and partitions:
        source = replace(source, partitions=partitions)
    warnings = _check_schemas(source, context) if has_own_columns else ()
    source = replace(source, statement=statement.source_text + ";")
    context.metastore.add(source)
    if origin is not None:
        context.metastore.add_origin(source.name, origin)
    services = context.services

    def prepare() -> Prepared:
        if services.admin.topic(source.topic) is None:
            # rows of a lake may be older than any retention
            retention = None if origin is None else -1
            services.admin.create_topic(
                source.topic, source.partitions or 1, source.replicas or -1, topic_config(source, retention)
            )
        return Prepared()

    def apply(_: Starts) -> Outcome:
        services.metastore.add(source)
        if origin is not None:
            services.metastore.add_origin(source.name, origin)
        services.views.renew(source)
        if services.queries.figures.is_log(source.topic):
            services.queries.figures.keep_entries()
        shown = f" with the columns {', '.join(inferred)}" if inferred else ""
        return Outcome(f"{statement.kind.capitalize()} created{shown}", warnings=warnings)

    command_id = f"{statement.kind.lower()}/`{source.name}`/create"

    def cleanup() -> CleanupRecord:
        is_new = services.admin.topic(source.topic) is None
        return CleanupRecord(unlogged=Orphans((source.topic,) if is_new else ()))

    change = Change((source.name,), CREATED if existing is None else IN_PLACE)
    # the topic's name depends on the prefix, which may be another one at the next start
    pinned = {**context.properties, SINK_PREFIX: context.config[SINK_PREFIX]} if origin is not None else None
    return Logged(
        command_id,
        apply,
        prepare,
        cleanup=cleanup,
        statement=statement.source_text,
        change=change,
        properties=pinned,
    )


def _of_log(statement: CreateSource, context: StatementContext) -> CreateSource:
    """``statement`` with the columns of the processing log, if it is a stream over it and has none."""
    topic = next((str(p.value) for p in statement.properties if p.name.upper() == "KAFKA_TOPIC"), "")
    is_log = context.services.queries.figures.is_log(topic)
    if statement.kind != STREAM or statement.columns or not is_log:
        return statement
    properties = ", ".join(map(grammar.render, statement.properties))
    (written,) = grammar.parse(create_stream(grammar.render(statement.this), properties))
    assert isinstance(written, CreateSource)
    return written


def _check_pattern(source: DataSource, context: StatementContext) -> None:
    """Refuse a pattern that finds the processing log: errors of its records would be records of it."""
    log_topic = context.services.queries.figures.log_topic
    if source.topic_pattern is not None and topic_patterns.names(source.topic, [log_topic or ""]):
        reason = f"TOPIC_PATTERN finds topic {log_topic}, which gets the errors of single records."
        hint = f"TOPIC_PATTERN = '(?!{log_topic}).*' leaves it out."
        raise KsqlError("INVALID_STATEMENT", reason=reason, hint=hint)


def _check_schemas(source: DataSource, context: StatementContext) -> tuple[str, ...]:
    """Refuse columns that the schema registry would not accept when the first row is written.

    Nobody but the statement's users writes to a new topic. To an existing one others may write, whose records
    can be read by other columns.

    Returns:
        A sentence if rows can only be read.

    Raises:
        KsqlError: SCHEMA_INCOMPATIBLE; as SchemaRegistry.
    """
    services = context.services
    if source.read_only or source.envelope is not None or source.topic_pattern is not None:
        return ()  # nobody can INSERT
    if services.registry is None or not services.registry.has_schemas() or not subjects_of(source):
        return ()
    if source.topic in context.gone_topics:
        return ()
    try:
        check_writable(source, services.registry)
    except KsqlError as error:
        if services.admin.topic(source.topic) is None:
            raise
        if error.condition == "SCHEMA_INCOMPATIBLE":
            return (f"INSERT INTO {name_text(source.name)} will fail. {error.message}",)
    return ()


def _sample(context: StatementContext, topic: str) -> list[Sample]:
    """The newest records of ``topic``, at most ksql.spark.infer.records.

    Raises:
        KsqlError: TOPIC_MISSING; those of TopicReader.
    """
    admin, most = context.services.admin, int(context.config["ksql.spark.infer.records"])
    partitions = _required_topic(topic, context).partitions
    each = -(-most // partitions)
    ends = {partition: end for (_, partition), end in admin.end_offsets(topic).items()}
    starts = {p: max(ends[p] - each, start) for (_, p), start in admin.beginning_offsets(topic).items()}
    with TopicReader(admin.servers, topic, starts, settings=admin.settings) as reader:
        records = [record for batch in reader.read_to_end() for record in batch]
    records.sort(key=lambda record: record.timestamp_ms)
    return [Sample(r.key, r.value, r.headers) for r in records[-most:]]


def _topic_partitions(source: DataSource, context: StatementContext) -> int:
    """The number of partitions of the source's topic, which is checked against the statement.

    Raises:
        KsqlError: TOPIC_MISSING, TOPIC_MISMATCH.
    """
    topic = None if source.topic in context.gone_topics else context.services.admin.topic(source.topic)
    if topic is not None:
        check_topic(source, topic, context)
        return topic.partitions
    there = context.new_topics.get(source.topic)
    if there is None:
        if source.partitions is None:
            return _required_topic(source.topic, context).partitions
        context.new_topics[source.topic] = source.partitions
        return source.partitions
    if source.partitions is not None and source.partitions != there:
        expected = f"{source.partitions} partitions"
        raise KsqlError("TOPIC_MISMATCH", topic=source.topic, there=there, wanted=expected)
    return there


def _required_topic(name: str, context: StatementContext) -> Topic:
    """The topic ``name``, for a statement without PARTITIONS.

    Raises:
        KsqlError: TOPIC_MISSING.
    """
    try:
        if name in context.gone_topics:
            raise KsqlError("TOPIC_UNKNOWN", topic=name)
        return context.services.admin.require_topic(name)
    except KsqlError as error:
        if error.condition != "TOPIC_UNKNOWN":
            raise
    near = nearest(name, filter(context.rights.may_see_topic, context.services.admin.topics()))
    raise KsqlError("TOPIC_MISSING", topic=name, hint=f"Did you mean '{near}'?" if near else None)


@handles
def create_as_select(statement: CreateAsSelect, context: StatementContext) -> Action:
    """CREATE STREAM|TABLE … AS SELECT: a new topic, and the query that writes it.

    With OR REPLACE, the new query takes the id and checkpoints of the query that writes the sink.
    """
    existing = context.metastore.find(statement.name)
    if existing is not None and not statement.or_replace:
        return _exists(statement, existing)
    check_or_replace(statement, context)
    evolve = analyzer.evolve_of(statement)
    if evolve is not None and existing is not None:
        return begin_evolution(statement, evolve, context)
    bound = _bound(statement, context)
    sink = replace(bound.sink, statement=statement.source_text + ";")
    bound = replace(bound, sink=sink)
    replaced = replaced_query(statement, bound, context) if existing is not None else None
    return QueryStart(statement, bound, statement.kind, context, replaced).action()


def check_or_replace(statement: CreateSource | CreateAsSelect, context: StatementContext) -> None:
    """Refuse CREATE OR REPLACE where a property disables it.

    Raises:
        KsqlError: INVALID_STATEMENT.
    """
    if statement.or_replace and not context.config["ksql.create.or.replace.enabled"]:
        raise KsqlError(
            "INVALID_STATEMENT",
            reason="CREATE OR REPLACE is disabled (ksql.create.or.replace.enabled=false).",
        )


def _bound(statement: CreateAsSelect | InsertSelect, context: StatementContext) -> PersistentQuery:
    """The logical plan of the statement; on replay, the plan in the command log."""
    if context.stored is not None:
        return context.stored.logical
    return analyzer.bind_persistent(statement, context.metastore, context.config, context.services.registry)


def replaced_query(
    statement: CreateAsSelect, bound: PersistentQuery, context: StatementContext
) -> KnownQuery | None:
    """The query that ``bound`` replaces; None if no query writes the sink any more.

    Raises:
        KsqlError: the replacement is not allowed (reference §2.3).
    """
    name = bound.sink.name
    beside = evolution_of(name, context)
    if beside is not None and not context.is_replay:
        reason = f"{beside.id}, a new version of {name}, runs beside the current one."
        hint = f"SWAP {name}; or ABORT EVOLUTION {name}; first."
        raise KsqlError("INVALID_STATEMENT", reason=reason, hint=hint)
    writers = [q for q in context.queries if q.sink == name]
    if len(writers) > 1 or any(not q.creates_sink for q in writers):
        ids = ", ".join(sorted(q.id for q in writers))
        reason = f"REPLACE for sink {bound.sink.name} is not supported: INSERT INTO writes it too: {ids}."
        raise KsqlError("INVALID_STATEMENT", reason=reason, hint="TERMINATE these queries first.")
    if not writers:
        return None
    (old,) = writers
    if context.is_replay:
        return old
    if old.logical is not None:
        analyzer.check_query_replacement(old.logical, bound, statement)
    if bound.start is not None:
        reason = (
            f"The query that writes {statement.name} continues from its current position: "
            "START is only for new queries."
        )
        raise KsqlError("INVALID_STATEMENT", reason=reason, hint="To read again, DROP it first.")
    return old


@handles
def insert_select(statement: InsertSelect, context: StatementContext) -> Action:
    """INSERT INTO stream SELECT …: another query that writes an existing stream."""
    bound = _bound(statement, context)
    if bound.query_id is not None and any(q.id == bound.query_id for q in context.queries):
        raise KsqlError("INVALID_STATEMENT", reason=f"Query ID '{bound.query_id}' already exists.")
    return QueryStart(statement, bound, STREAM, context).action()


def _exists(statement: CreateSource | CreateAsSelect, existing: DataSource) -> Action:
    if not statement.if_not_exists:
        analyzer.check_free(statement, existing)
    word, other = statement.kind.lower(), existing.kind.lower()
    return only_warns(
        statement, f"Cannot add {word} '{existing.name}': A {other} with the same name already exists"
    )


@handles
def alter_source(statement: AlterSource, context: StatementContext) -> Action:
    """ALTER STREAM|TABLE … ADD COLUMN: value columns appended (reference §2.3)."""
    old = context.metastore.require(statement.name)
    new = analyzer.bind_alter_source(statement, context.metastore)
    # as in ksqlDB, so that all its statements together recreate the source elsewhere
    new = replace(new, statement=f"{old.statement}\n{statement.source_text};")
    context.metastore.add(new)
    services = context.services
    warnings = () if context.is_replay else _check_schemas(new, context)

    def apply(_: Starts) -> Outcome:
        services.metastore.add(new)
        return Outcome(f"{old.kind.capitalize()} {old.name} altered.", warnings=warnings)

    change = Change((old.name,), IN_PLACE, is_alter=True)
    command_id = f"{statement.kind.lower()}/{old.name}/alter"
    return Logged(command_id, apply, change=change, statement=statement.source_text)


@handles
def refresh_schema(statement: RefreshSchema, context: StatementContext) -> Action:
    """ALTER STREAM|TABLE … REFRESH SCHEMA: an ALTER … ADD COLUMN of what the newest schema has, logged so."""
    altered = analyzer.refreshed(statement, context.metastore, context.services.registry)
    if altered is None:
        message = f"The newest registered schema has no further columns for {statement.name}."
        return only_warns(statement, message)
    action = alter_source(altered, context)
    assert isinstance(action, Logged)
    added = ", ".join(f"{name_text(c.name)} {grammar.render(c.data_type)}" for c in altered.columns)
    readers = sorted(q.id for q in context.queries if statement.name in q.sources)
    warning = (
        f"Running queries keep their columns: {', '.join(readers)}. CREATE OR REPLACE adds the new ones."
    )

    def apply(starts: Starts) -> Outcome:
        done = action.apply(starts)
        return replace(done, message=f"{done.message} New: {added}.", warnings=(warning,) if readers else ())

    return replace(action, apply=apply)


@handles
def drop_source(statement: DropSource, context: StatementContext) -> Action:
    """DROP STREAM|TABLE [DELETE TOPIC] [CASCADE]; the query that created a sink is dropped with it.

    With CASCADE, so is all that reads it, and each query that reads or writes any of that.
    """
    name = statement.name
    source = context.metastore.find(name)
    if source is None:
        if statement.if_exists:
            message = f"Source `{name}` does not exist."
            return only_warns(statement, message)
        source = context.metastore.require(name)
    if source.kind != statement.kind:
        reason = f"Incompatible data source type is {source.kind}, but statement was DROP {statement.kind}."
        hint = f"Write DROP {source.kind} {name_text(name)}."
        raise KsqlError("INVALID_STATEMENT", reason=reason, hint=hint, name=name)
    services = context.services
    falling = context.fall(name) if statement.cascade else Fall((name,), ())
    dropped = [context.metastore.require(each) for each in falling.sources]
    if statement.delete_topic:
        for each in dropped:
            _check_deletable(each, context)
    ended, gone = {q.id for q in falling.queries}, {each.name for each in dropped}
    others = [
        q
        for q in context.queries
        # with a table goes the new version that runs beside it
        if not (q.id in ended or q.evolves in gone or (q.sink == name and q.creates_sink))
    ]
    if not statement.cascade:
        _check_unused(source, context.metastore.dependents(name), others)
    sinks = [sink.name for each in dropped for sink in context.metastore.sinks_of(each.name)]
    if sinks and not statement.cascade:
        reason = f"Cannot drop {name}: the sinks [{', '.join(sinks)}] read it."
        raise KsqlError("INVALID_STATEMENT", reason=reason, hint=f"DROP SINK {sinks[0]}; first.")
    for each in dropped:
        context.metastore.drop(each.name)
    for sink in sinks:
        context.metastore.drop_sink(sink)
    context.queries = others

    def makers() -> list[ManagedQuery]:
        there = services.queries.all()
        writers = [q for q in there if q.creates_sink and q.plan.sink.name == name and q.id not in ended]
        beside = [q for q in there if evolves(q) in gone and q.id not in ended]
        return [*(q for each in falling.queries for q in there if q.id == each.id), *beside, *writers]

    termination = Termination(services.queries, makers)
    topics = tuple(each.topic for each in dropped) if statement.delete_topic else ()
    context.gone_topics.update(topics)
    #: those that exist
    subjects: list[str] = []
    if topics:  # with them goes how far they have read lake tables
        service_id, origins = str(context.config["ksql.service.id"]), services.metastore.origins()
        topics += tuple(positions_topic(service_id, each.topic) for each in dropped if each.name in origins)
    with_it = ", ".join(f"`{each.name}`" for each in dropped[:-1])

    def apply(_: Starts) -> Outcome:
        termination.apply()
        for sink in sinks:
            services.metastore.drop_sink(sink)
        for each in dropped:
            services.views.drop(each.name)
            services.metastore.drop(each.name)
        also = f", and before it: {with_it}" if with_it else ""
        return Outcome(f"Source `{name}` (topic: {source.topic}) was dropped{also}.")

    #: ids of queries that were stopped here, not paused, and must go on if the statement fails
    stopped: list[str] = []

    def prepare() -> Prepared:
        # before anything is dropped: the registry may not answer
        registry = services.registry if topics else None
        if registry is not None and registry.has_schemas():
            owned = [subject for each in dropped for subject in subjects_of(each)]
            subjects.extend(subject for subject in owned if registry.latest(subject) is not None)
        makers_of_streams = (
            [] if topics else [q for q in makers() if q.creates_sink and q.plan.sink.kind == STREAM]
        )
        # one that runs on another server goes on until that has read the command: nobody knows where it stops
        ending = [q for q in makers_of_streams if q.state is State.PAUSED or services.queries.is_here(q)]
        stopped.extend(q.id for q in ending if q.state is not State.PAUSED)
        services.queries.pause(*stopped)
        used = {topic for q in makers() if q.creates_sink for topic in q.plan.last.topics}
        identities = services.admin.identities({*used, *(each.topic for each in dropped)})
        ids = {topic: identity.id for topic, identity in identities.items()}
        return Prepared(dict(_positions(ending, context)), topics=ids)

    def undo() -> None:
        services.queries.resume(*stopped)

    def after() -> None:
        services.admin.delete_topics(topics)
        delete_subjects(subjects, services.registry)

    def cleanup() -> CleanupRecord:
        orphans = termination.orphans()
        owned = tuple(subject for each in dropped for subject in subjects_of(each)) if topics else ()
        return CleanupRecord(logged=replace(orphans, topics=(*orphans.topics, *topics), subjects=owned))

    change = Change(tuple(each.name for each in dropped), drops=True, deletes_topics=statement.delete_topic)
    return Logged(
        f"{statement.kind.lower()}/{name}/drop",
        apply,
        prepare,
        after=after,
        undo=undo,
        cleanup=cleanup,
        change=change,
    )


def position_of(sink: str, topic: str) -> str:
    """The name of a topic among the offsets in a DROP's command: each query has stopped elsewhere."""
    return f"{sink}: {topic}"


def _positions(
    queries: Iterable[ManagedQuery], context: StatementContext
) -> Iterator[tuple[str, dict[str, int]]]:
    """Yield the offsets at which queries have stopped reading, for UNDROP."""
    checkpoints, admin = context.services.queries.checkpoints, context.services.admin
    for query in queries:
        try:
            for number, stage in enumerate(query.plan.stages):
                # after a failure, its last transaction may be ahead of its checkpoint
                settle(admin, stage, checkpoints.of(query, number))
            committed = context.services.queries.takeovers.position(query)
        except (KsqlError, OSError):  # a damaged checkpoint is often the reason for the DROP
            log.exception("UNDROP cannot continue query %s", query.id, extra={"query": query.id})
            continue
        for topic in query.plan.last.topics:
            if topic in committed:
                yield position_of(query.plan.sink.name, topic), dict(committed[topic])


def _check_deletable(source: DataSource, context: StatementContext) -> None:
    """Refuse to delete a topic that statements must not delete.

    Raises:
        KsqlError: INVALID_STATEMENT.
    """
    if source.topic_pattern is not None:
        reason = f"Cannot delete the topics of {source.name}: it reads all of a pattern, and owns none."
        raise KsqlError("INVALID_STATEMENT", reason=reason, hint=f"DROP STREAM {source.name};")
    if source.read_only and source.name not in context.services.metastore.origins():
        raise KsqlError(
            "INVALID_STATEMENT", reason=f"Cannot delete topic for read-only source: {source.name}."
        )
    if is_read_only_topic(context.config, source.topic) and not context.is_replay:
        raise KsqlError("INVALID_STATEMENT", reason=f"Cannot delete read-only topic: {source.topic}.")


def _check_unused(source: DataSource, dependents: Iterable[str], queries: Iterable[KnownQuery]) -> None:
    name = source.name
    others = [d for d in dependents if d != name]
    reads = [q.id for q in queries if name in q.sources and q.sink not in others]
    writes = [q.id for q in queries if q.sink == name]
    if others:
        reason = (
            f"Cannot drop {name}.\nThe following streams and/or tables read from this source: "
            f"[{', '.join(others)}].\nYou need to drop them before dropping {name}."
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
