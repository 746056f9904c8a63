"""Starts the query of CREATE … AS SELECT or INSERT INTO … SELECT, new or as a replacement."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from ksql_spark import analyzer, topic_patterns
from ksql_spark.analyzer.definitions.properties import Evolve
from ksql_spark.errors import KsqlError
from ksql_spark.grammar.nodes import Statement
from ksql_spark.lake import archives
from ksql_spark.metastore.serdes import check_registrable, record_spec, registered
from ksql_spark.metastore.sinks import archive_name
from ksql_spark.metastore.sources import DataSource
from ksql_spark.plan import codec
from ksql_spark.plan.distribution import uncertain_orders
from ksql_spark.plan.nodes import REPLICATED, STREAM_TABLE, Join
from ksql_spark.plan.operations import unbounded_state
from ksql_spark.plan.planner import check_runnable, lower
from ksql_spark.plan.queries import PersistentQuery, Start, TopicOffset
from ksql_spark.plan.stages import LoggedQuery, Plan, tables_in_state
from ksql_spark.plan.trees import walk
from ksql_spark.runtime.cleanup import CleanupRecord, Orphans
from ksql_spark.runtime.command_log import end_of, first_offsets
from ksql_spark.runtime.queries.definition import QueryDefinition
from ksql_spark.runtime.queries.evolution import Backfill, FromNow, Move, WarmUp, fresh_starts
from ksql_spark.runtime.queries.managed import ManagedQuery
from ksql_spark.runtime.versions import CREATED, IN_PLACE, Change
from ksql_spark.statements.base.context import (
    KnownQuery,
    Logged,
    Outcome,
    Prepared,
    Starts,
    StatementContext,
)
from ksql_spark.statements.base.describe import queries_of
from ksql_spark.statements.base.early_records import early_records
from ksql_spark.statements.base.listing import time_warnings
from ksql_spark.statements.base.topics import (
    check_topic,
    create_sink_topic,
    has_brokers_times,
    sink_partitions,
)
from ksql_spark.statements.queries.ways import Way, way_of


class QueryStart:
    """The start of one persistent query. The constructor validates it and changes the sandbox.

    Args:
        statement: the statement that starts the query.
        bound: its logical plan.
        kind: STREAM or TABLE: the kind of the sink.
        context: the statement's context.
        replaced: the query that it replaces, if any.
        evolve: how it follows the query that it replaces, or that writes the sink beside it; None: in place.

    Raises:
        KsqlError: the query cannot run, or there are too many.
    """

    def __init__(
        self,
        statement: Statement,
        bound: PersistentQuery,
        kind: str,
        context: StatementContext,
        replaced: KnownQuery | None = None,
        evolve: Evolve | None = None,
    ) -> None:
        self._evolve = evolve
        self._way = way_of(evolve, bound)
        self._is_beside = self._way is Way.BESIDE
        self._statement = statement
        self._bound = bound
        self._kind = kind
        self._context = context.snapshot()
        self._services = context.services
        self._replaced = replaced
        stored = context.stored
        if stored is not None:
            self._id, self._plan = stored.id, stored.plan
            _require_all(bound, stored.plan, context, is_new_version=self._is_beside)
        else:
            self._id = _query_id(bound, replaced, context)
            sink = self._beside(bound.sink) if self._is_beside else bound.sink
            old = self._old() if self._way is Way.IN_PLACE else None
            self._plan = lower(
                bound.root,
                sink,
                context.config,
                self._id,
                by_event_time=bound.by_event_time,
                running=None if old is None else old.plan,
            )
            if self._is_beside:  # its rows are for the table's topic, with schemas of its subjects
                self._plan = replace(self._plan, records=record_spec(bound.sink))
        #: roughly what the command log will store: prepare() adds schema ids
        self._document = None if context.is_replay else codec.encode(LoggedQuery.of(bound, self._plan))
        self._sources = frozenset(source.name for source in self._plan.sources)
        self._created_topics: list[str] = []
        self._is_timed_by_brokers = False
        if not context.is_replay:
            check_runnable(self._plan, self._services.registry)
            if self._plan.sink.topic not in context.gone_topics:
                check_registrable(self._plan.records, self._services.registry)
            _check_sink_topic(bound, self._plan, context)
            _check_limit(context, replaced)
            if isinstance(bound.start, tuple):
                _check_offsets(bound.start, self._plan, context)
        self._change_sandbox(context)

    def _beside(self, table: DataSource) -> DataSource:
        """The sink of a table's new version until the swap.

        Raises:
            KsqlError: TOPIC_UNKNOWN.
        """
        topic = self._services.admin.topic(table.topic)
        if topic is None and table.topic not in self._context.new_topics:
            raise KsqlError("TOPIC_UNKNOWN", topic=table.topic)
        return replace(
            table,
            name=f"{table.name} (new version)",
            topic=f"{self._prefix}-evolution",
            # a statement before this one may be about to create it
            partitions=topic.partitions if topic is not None else self._context.new_topics[table.topic],
            replicas=min(topic.replicas) if topic is not None else table.replicas,
        )

    @property
    def _prefix(self) -> str:
        """The first part of the names of what is this query's own."""
        return f"_confluent-ksql-{self._context.config['ksql.service.id']}query_{self._id}"

    def _change_sandbox(self, context: StatementContext) -> None:
        bound, sink = self._bound, self._plan.sink
        if self._is_beside:
            beside = KnownQuery(self._id, sink.name, self._sources, False, bound, bound.sink.name)
            context.queries.append(beside)
            return
        if bound.creates_sink:
            context.metastore.add(sink, self._sources)
            context.new_topics.setdefault(sink.topic, sink_partitions(self._plan, context))
        if self._replaced is not None:
            context.queries.remove(self._replaced)
        context.queries.append(KnownQuery(self._id, sink.name, self._sources, bound.creates_sink, bound))

    def action(self) -> Logged:
        """The action for the executor."""
        verb = "evolve" if self._is_beside else "create"
        return Logged(
            f"{self._kind.lower()}/`{self._bound.sink.name}`/{verb}",
            self._apply,
            self._prepare,
            undo=self._undo,
            cleanup=self._cleanup,
            plan=self._document,
            change=self._change(),
        )

    def _change(self) -> Change | None:
        if not self._bound.creates_sink:
            return None
        name = self._bound.sink.name
        if self._is_beside:
            return Change((name,), begins=True)
        return Change((name,), CREATED if self._replaced is None else IN_PLACE)

    def _old(self) -> ManagedQuery | None:
        """The running query to replace, or None."""
        return self._services.queries.find(self._replaced.id) if self._replaced is not None else None

    def _cleanup(self) -> CleanupRecord:
        """Return what to remove if the server is killed before the command is logged."""
        sink = self._plan.sink.topic
        new_topics = () if self._services.admin.topic(sink) is not None else (sink,)
        return CleanupRecord(unlogged=Orphans(new_topics))

    def _prepare(self) -> Prepared:
        """Register the sink's schemas and create its topic; find the offsets where reading starts."""
        records = registered(self._plan.records, self._services.registry)
        self._plan = replace(self._plan, records=records)
        if create_sink_topic(self._plan, self._context):
            self._created_topics.append(self._plan.sink.topic)
        self._is_timed_by_brokers = has_brokers_times(self._bound.sink.topic, self._services.admin)
        old = self._old()
        start = self._bound.start
        if old is None:
            if start is None and self._is_beside:
                start = "earliest"
            starts = start_offsets(self._plan, self._context, start)
        elif self._way is Way.WARM_UP:
            starts = start_offsets(self._plan, self._context, start or "earliest")
            starts = {**starts, **self._ends(old.definition.begins)}
        elif self._way is Way.FROM_NOW:
            starts = self._starts_anew(old.definition.begins)
        else:
            starts = old.starts
        return Prepared(starts, self._id, codec.encode(LoggedQuery.of(self._bound, self._plan)))

    def _starts_anew(self, old: Starts) -> Starts:
        """The old version's first offsets, whose current ones QueryRuns finds, and those of other topics."""
        whole = tables_in_state(self._plan)
        first = start_offsets(self._plan, self._context, "earliest")
        starts = dict(start_offsets(self._plan, self._context, None))
        for topic in starts:
            if topic in whole:
                starts[topic] = first[topic]
            elif topic in old:
                starts[topic] = old[topic]
        return starts

    def _ends(self, old: Starts) -> Starts:
        """The ends of what a version that is warmed up then knows as it is now: tables, and topics that only
        it reads."""
        admin, ends = self._services.admin, dict[str, dict[str, int]]()
        topics = admin.expanded(source.topic for source in self._plan.sources)
        old_streams = old.keys() - tables_in_state(self._plan)
        for (topic, partition), end in admin.committed_ends(
            *(t for t in topics if t not in old_streams)
        ).items():
            ends.setdefault(end_of(topic), {})[str(partition)] = end
        return ends

    def _undo(self) -> None:
        """Delete the created topic."""
        self._services.admin.delete_topics(self._created_topics)

    def _apply(self, starts: Starts) -> Outcome:
        """Add the sink to the metastore, and start the query.

        If Spark refuses the query, it exists in ERROR, and is retried like a failed one.
        """
        bound, sink = self._bound, self._plan.sink
        old, queries = self._old(), self._services.queries
        begins = dict(old.definition.begins) if old is not None else {}
        begins |= {topic: starts[end_of(topic)] for topic in starts if end_of(topic) in starts}
        starts = first_offsets(starts)
        topic = self._services.admin.topic(sink.topic)
        partitions = topic.partitions if topic is not None else 1
        creates_sink = bound.creates_sink and not self._is_beside
        evolution = old.evolution if old is not None else None
        match self._way:
            case Way.BESIDE:
                assert self._evolve is not None
                # after the swap, its own topic is gone
                partitions = sink.partitions or partitions
                is_manual, verify = self._evolve.is_manual, self._evolve.verify
                evolution = Backfill(bound.sink.name, sink.topic, is_manual, verify)
            case Way.FROM_NOW | Way.WARM_UP:
                make = WarmUp if self._way is Way.WARM_UP else FromNow
                began = {topic: begins.get(topic, starts[topic]) for topic in starts}
                evolution = make(1 + fresh_starts(evolution), began)
            case Way.IN_PLACE if old is not None and old.plan.sink.topic != sink.topic:
                evolution = Move(old.plan.sink.topic, (f"{self._prefix}-move",), fresh_starts(evolution))
        definition = QueryDefinition(
            id=self._id,
            statement=self._statement.source_text + ";",
            plan=self._plan,
            starts=starts,
            properties=self._context.properties,
            sink_partitions=partitions,
            creates_sink=creates_sink,
            logical=bound,
            evolution=evolution,
        )
        query = ManagedQuery(definition)
        if creates_sink:
            self._services.metastore.add(replace(sink, partitions=partitions), self._sources)
            self._services.views.renew(sink)
        # only of its sources: it has no results yet
        running = [] if self._context.is_replay else queries_of(self._sources, self._context)
        warnings = (
            *_state_warnings(self._plan),
            *self._appended_warnings(),
            *self._order_warnings(),
            *self._brokers_time_warnings(),
            *analyzer.mirrored_withins(self._statement),
            *time_warnings(running, self._services),
            *(() if self._context.is_replay else early_records([query], self._services)),
        )
        try:
            if old is None:
                queries.begin(query)
            else:
                queries.take_over(query, old)
        except KsqlError as error:
            message = f"{error.message} Query {query.id} exists in state ERROR, and the server retries it."
            return Outcome(message, query.id, is_failed=True)
        return Outcome(f"Created query with ID {query.id}{self._meanwhile()}", query.id, warnings)

    def _meanwhile(self) -> str:
        """What readers see until the query writes the sink: the end of the answer."""
        name = self._bound.sink.name
        shown = f"(DESCRIBE EVOLUTION {name};)."
        if self._way is Way.WARM_UP:
            return f", which first reads again, for its state, what the version before has read {shown}"
        if not self._is_beside:
            return ""
        is_manual = self._evolve is not None and self._evolve.is_manual
        until = f"SWAP {name};" if is_manual else f"it has caught up {shown}"
        return f", which runs beside {name}. {name} keeps its rows until {until}"

    def _appended_warnings(self) -> tuple[str, ...]:
        """A sentence for each aggregate that the state of the version before has not."""
        before = self._replaced.logical if self._replaced is not None else None
        return tuple(
            f"{call.call} begins empty: records from before this statement do not count."
            for call in analyzer.appended(before, self._bound)
        )

    def _brokers_time_warnings(self) -> tuple[str, ...]:
        """A sentence if the rows do not keep the times that they have in the query."""
        if not self._is_timed_by_brokers:
            return ()
        return (
            f"Topic {self._bound.sink.topic} has message.timestamp.type = LogAppendTime: ROWTIME of a row of "
            f"{self._bound.sink.name} is when a broker got it, not the time that the query gave it.",
        )

    def _order_warnings(self) -> tuple[str, ...]:
        """A sentence for each step that depends on an order of rows that is not certain."""
        warnings = uncertain_orders(self._plan)
        topics = [self._services.admin.topic(s.topic) for s in self._plan.sources] if warnings else []
        return warnings if any(topic is not None and topic.partitions > 1 for topic in topics) else ()


def _require_all(
    bound: PersistentQuery, plan: Plan, context: StatementContext, *, is_new_version: bool
) -> None:
    """Check on replay that there is what a query needs: the statement that made it may have failed.

    Raises:
        KsqlError: SOURCE_UNKNOWN.
    """
    for source in plan.sources:
        context.metastore.require(source.name)
    if is_new_version or not bound.creates_sink:
        context.metastore.require(bound.sink.name)


def _state_warnings(plan: Plan) -> tuple[str, ...]:
    """A sentence for each step whose state grows with time."""
    warnings = (unbounded_state(node) for stage in plan.stages for node in stage.stateful)
    return tuple(text for text in warnings if text is not None)


def _check_limit(context: StatementContext, replaced: KnownQuery | None) -> None:
    most = int(context.config["ksql.query.persistent.active.limit"])
    if replaced is None and len(context.queries) >= most:
        raise KsqlError(
            "INVALID_STATEMENT",
            reason=f"{len(context.queries)} persistent queries are already running, the maximum of "
            f"ksql.query.persistent.active.limit.",
            hint="TERMINATE one first.",
        )


def _check_offsets(start: tuple[TopicOffset, ...], plan: Plan, context: StatementContext) -> None:
    """Refuse a START that does not name each partition that is read, with an offset that it has or had.

    Raises:
        KsqlError: PROPERTY_IN_WITH; TOPIC_UNKNOWN, as KafkaAdmin.
    """
    admin = context.services.admin
    topics = admin.expanded(source.topic for source in plan.sources)
    first, ends = admin.beginning_offsets(*topics), admin.end_offsets(*topics)
    offsets = {(topic, partition): offset for topic, partition, offset in start}
    wrong = [f"partition {n} of topic {topic} is missing" for topic, n in ends if (topic, n) not in offsets]
    for (topic, partition), offset in offsets.items():
        end = ends.get((topic, partition))
        if end is None:
            wrong.append(f"the query reads no partition {partition} of a topic {topic}")
        elif not first[topic, partition] <= offset <= end:
            there = f"from {first[topic, partition]} to {end}"
            wrong.append(f"partition {partition} of topic {topic} has offsets {there}, not {offset}")
    if wrong:
        raise KsqlError("PROPERTY_IN_WITH", name="START", reason="; ".join(wrong))


def _query_id(bound: PersistentQuery, replaced: KnownQuery | None, context: StatementContext) -> str:
    if replaced is not None:
        return replaced.id
    if bound.query_id is not None:
        return bound.query_id
    if not bound.creates_sink:
        return f"INSERTQUERY_{context.sequence}"
    return f"C{bound.sink.kind[0]}AS_{bound.sink.name}_{context.sequence}"


def _check_sink_topic(bound: PersistentQuery, plan: Plan, context: StatementContext) -> None:
    for source in plan.sources:
        if source.topic not in context.new_topics:
            context.services.admin.require_topic(source.topic)
    _check_loop(plan, context)
    topic = context.services.admin.topic(plan.sink.topic)
    if bound.creates_sink and topic is not None and topic.name not in context.gone_topics:
        check_topic(plan.sink, topic, context)


def _check_loop(plan: Plan, context: StatementContext) -> None:
    """Refuse a query whose results a pattern would find that the query reads, if only through others."""
    metastore = context.metastore
    above, below = {source.name for source in plan.sources}, {plan.sink.name}
    for _ in context.queries:  # as long as a chain of them can be
        above |= {name for q in context.queries if q.sink in above for name in q.sources}
        below |= {q.sink for q in context.queries if q.sources & below}
    written = [plan.sink.topic, *(s.topic for name in below if (s := metastore.find(name)) is not None)]
    for source in (s for name in sorted(above) if (s := metastore.find(name)) is not None):
        if source.topic_pattern is not None and (looped := topic_patterns.names(source.topic, written)):
            reason = (
                f"{source.name} reads all topics that match {source.topic_pattern}, and so would read topic "
                f"{looped[0]}, which gets results made from {source.name}."
            )
            hint = "Choose another KAFKA_TOPIC for the results, or a narrower TOPIC_PATTERN."
            raise KsqlError("INVALID_STATEMENT", reason=reason, hint=hint)


def start_offsets(plan: Plan, context: StatementContext, start: Start = None) -> Starts:
    """The offsets where a new query starts (reference §6.1): fixed now, so that nothing is missed later.

    Streams start at the end unless ``start``, or else ``auto.offset.reset``, says otherwise. Tables start at
    the beginning unless these say otherwise; with a stream-table join they always do. A ``start`` at offsets
    has those of all partitions (``_check_offsets``).
    """
    if isinstance(start, tuple):
        offsets: dict[str, dict[str, int]] = {}
        for topic, partition, offset in start:
            offsets.setdefault(topic, {})[str(partition)] = offset
        return offsets
    config = context.config
    reset: Literal["earliest", "latest"] | int | None = start
    if start is None and config.is_set("auto.offset.reset"):
        reset = "earliest" if str(config["auto.offset.reset"]).lower() == "earliest" else "latest"
    joins = [node for node in walk(plan.root) if isinstance(node, Join)]
    joined = any(join.type in (STREAM_TABLE, REPLICATED) for join in joins)
    starts: dict[str, dict[str, int]] = {}
    for source in plan.sources:
        is_whole = source.is_table and (joined or reset is None)
        at = "earliest" if is_whole else "latest" if reset is None else reset
        if source.topic_pattern is None:
            starts[source.topic] = {}
        for (topic, partition), offset in context.services.admin.offsets([source.topic], at).items():
            starts.setdefault(topic, {})[str(partition)] = offset
        if source.archive is not None and at != "latest":
            topic = archive_name(source.topic, context.services.admin.topic_id(source.topic))
            since_ms = None if at == "earliest" else int(at)
            for partition, offset in archives.first_offsets(source.archive, topic, since_ms).items():
                current = starts[source.topic].get(str(partition))
                if current is not None and offset < current:
                    starts[source.topic][str(partition)] = offset
    return starts
