"""Queries whose rows go to a client: push, pull and PRINT."""

from __future__ import annotations

import contextlib
import functools
import random
import sys
import time
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from ksql_spark import analyzer, config, consistency
from ksql_spark.analyzer.base.failures import within_statement
from ksql_spark.analyzer.reads.plan_cache import PlanCache, is_cacheable
from ksql_spark.authorization import (
    ALL_RIGHTS,
    Rights,
    Role,
    check_role,
    check_source,
    check_statement,
)
from ksql_spark.config import Config
from ksql_spark.consistency import Position
from ksql_spark.engine.request import (
    Request,
    context_of,
    filled_in,
    located,
    parsed,
    planning,
    settings_of,
    wait_for_command,
)
from ksql_spark.entities.wire import to_json
from ksql_spark.errors import KsqlError, nearest
from ksql_spark.functions import registry
from ksql_spark.grammar.nodes import LogOf
from ksql_spark.grammar.statements.print_topic import PrintTopic
from ksql_spark.grammar.statements.queries import Query
from ksql_spark.kafka.admin import KafkaAdmin
from ksql_spark.kafka.producer import Writer
from ksql_spark.kafka.record_limits import RecordLimits
from ksql_spark.metastore.serdes import check_registry, record_spec
from ksql_spark.metastore.sources import STREAM, TABLE, DataSource
from ksql_spark.metastore.store import MetaStore
from ksql_spark.plan.nodes import FlatMap, Node
from ksql_spark.plan.planner import GUARANTEE, check_runnable, lower_transient
from ksql_spark.plan.queries import Feed, Job, Lookup, Read
from ksql_spark.plan.stages import EXACTLY_ONCE
from ksql_spark.plan.trees import children, keeps_places, relations
from ksql_spark.runtime.held_records import HeldRecords
from ksql_spark.runtime.inserts import OnDelivered, RowInserter, column_name
from ksql_spark.runtime.queries.definition import QueryDefinition
from ksql_spark.runtime.queries.managed import ManagedQuery
from ksql_spark.runtime.reading import batch, lookups, past, pull, push
from ksql_spark.runtime.reading.freshness import Ends, OnReached
from ksql_spark.runtime.reading.lookups import LookUp
from ksql_spark.runtime.reading.print_topic import PrintResult
from ksql_spark.runtime.reading.pull_limits import QPS, PullLimits
from ksql_spark.runtime.reading.push import Places, PushResult
from ksql_spark.runtime.reading.push_limit import PushLimit
from ksql_spark.runtime.reading.results import Computed, QueryStream, schema_info
from ksql_spark.runtime.reading.shared_queries import TOKENS, SharedQueries, SharedQuery, plan_text, sameness
from ksql_spark.runtime.reading.shared_results import (
    STALENESS,
    SharedResults,
    is_shareable,
    shared_staleness_ms,
)
from ksql_spark.runtime.reading.topic_feeds import Feeds
from ksql_spark.runtime.reading.view import View, deletions_kept_ms
from ksql_spark.spark import jvm
from ksql_spark.statements import Services, StatementContext
from ksql_spark.statements.queries.batch_ranges import batch_ranges
from ksql_spark.statements.queries.query_start import start_offsets
from ksql_spark.statements.rows import failed_records
from ksql_spark.statements.rows.inserts import write_together
from ksql_spark.topic_patterns import pattern_of

#: how long a pull query waits for its view to catch up, seconds
PULL_TIMEOUT_S = 30.0


def transient_topic_prefix(services: Services) -> str:
    """The prefix of temporary topics, which live as long as a push query, or at most as this server."""
    owner = f"{services.placement.server}_" if services.placement is not None else ""
    return f"_confluent-ksql-{services.config['ksql.service.id']}transient_{owner}"


@dataclass(frozen=True, eq=False)
class _Catalog:
    """The metastore and configuration that statements are bound with. Compared by identity."""

    metastore: MetaStore
    config: Config

    @functools.cached_property
    def pull_qps(self) -> int | None:
        """The limit on pull queries per second; None for no limit."""
        return int(self.config[QPS]) if self.config.is_set(QPS) else None

    @functools.cached_property
    def staleness_ms(self) -> int:
        """The default age up to which the server may reuse a topic's end offsets."""
        return int(self.config[STALENESS])

    @functools.cached_property
    def lag(self) -> int | None:
        """The default number of offsets that results may lag behind; None: ask the broker."""
        return int(self.config[LAG]) if self.config.is_set(LAG) else None


@contextmanager
def _restart_reported() -> Iterator[None]:
    """Report that Spark is restarting if a call finds its JVM gone.

    Raises:
        KsqlError: SPARK_RESTARTING.
    """
    try:
        yield
    except Exception as error:
        if jvm.is_gone(error):
            raise KsqlError("SPARK_RESTARTING") from None
        raise


#: how far a result may be behind
LAG = "ksql.query.pull.max.allowed.offset.lag"


def _settings(request: Request) -> Hashable | None:
    """Return everything besides the text that a request's plan depends on; None if the plan is not cached."""
    if request.variables or ("${" in request.text and request.parameters is None):
        return None
    return settings_of(request.properties)


class QueryService:
    """Starts SELECT and PRINT, and stops push queries. Thread-safe.

    Args:
        services: the engine's parts.
    """

    def __init__(self, services: Services) -> None:
        self._services = services
        #: push queries by id, with the names of their users
        self._streams: dict[str, tuple[QueryStream, str | None]] = {}
        #: plans of pull queries
        self.plans = PlanCache()
        self._catalog_snapshot = _Catalog(services.published, services.config)
        self._feeds = Feeds(services.admin, services.config["ksql.query.push.memory.max.bytes"])
        self._shared = SharedQueries(services.admin, services.queries)
        self._results = SharedResults()
        self._limits = PullLimits(lambda name: services.config[name])
        self._push_limit = PushLimit(lambda: (q.id for q in services.queries.all() if q.is_transient))
        #: how many queries have been started
        self.started = 0

    def query(self, request: Request) -> QueryStream:
        """Start a SELECT or PRINT.

        Raises:
            KsqlError: the text is not exactly one query, or it cannot run.
        """
        services = self._services
        self.started += 1
        request = filled_in(request)
        wait_for_command(request, services)
        # never with the engine's lock: a statement may hold it for as long as Spark takes to start a query
        catalog = self._catalog()
        settings = _settings(request)
        if settings is not None:
            hit = self.plans.find(catalog, settings, request.text)
            if hit is not None:
                with registry.with_functions(services.catalog.published_functions), _restart_reported():
                    plan = hit.plan
                    check_source(request.rights, Role.READER, plan.source.name)
                    return self._answer(plan, request, catalog, settings)
        context = context_of(request, services, catalog.metastore)
        statements = list(parsed(request, context))
        if len(statements) != 1:
            reason = f"Expected exactly one KSQL statement; found {len(statements)} instead"
            raise KsqlError("INVALID_STATEMENT", reason=reason, statement=request.text)
        (statement,) = statements
        with located(statement), registry.with_functions(context.metastore.functions):
            check_statement(request.rights, statement, context)
            failed_records.check_known_queries(statement, context)
            if isinstance(statement, PrintTopic):
                stream = self._print(statement, services, request.rights)
            elif not isinstance(statement, Query):
                raise KsqlError(
                    "BAD_REQUEST",
                    reason="This endpoint only runs SELECT and PRINT: send other statements to /ksql.",
                )
            else:
                stream = self._read(statement, context, request, catalog, settings)
        if stream.kind == "PUSH":
            self._streams[stream.query_id] = stream, request.user
        return stream

    def look_up(
        self,
        text: str,
        properties: Mapping[str, Any],
        parameters: Sequence[Any] | Mapping[str, Any] | None = None,
        token: str | None = None,
        rights: Rights = ALL_RIGHTS,
    ) -> LookUp | None:
        """Answer a lookup whose plan and view already exist, or None if ``query`` must answer.

        It never blocks, so an event loop's thread may call it.

        Args:
            text: the statement, without variables.
            properties: overrides of the request.
            parameters: the values of the text's parameters.
            token: the result must include the records that it names.
            rights: those of the client.

        Raises:
            KsqlError: BAD_REQUEST for parameters that do not fit, FORBIDDEN, PULL_LIMIT.
        """
        if parameters is not None:
            if not is_cacheable(text):  # nor with values: their processing is too slow for the event loop
                return None
            text = filled_in(Request(text, parameters=parameters)).text
        elif "${" in text:
            return None
        catalog, views = self._catalog(), self._services.views
        cached = self.plans.find(catalog, settings_of(properties), text)
        plan = None if cached is None else lookups.plan_of(cached, self._services.registry)
        view = None if plan is None else views.following(plan.source)
        if cached is None or plan is None or view is None:
            return None
        if rights.role is None:
            check_source(rights, Role.READER, plan.source.name)
        if catalog.pull_qps is not None:
            self._limits.take(catalog.pull_qps)
        self.started += 1
        when_current: Callable[[OnReached], None] | None = None
        ends = self._ends(view, catalog, properties, token)
        if ends is not None:
            if not view.has_reached(ends):
                when_current = partial(view.when_reached, ends, time.monotonic() + PULL_TIMEOUT_S)
        else:
            staleness = properties.get(STALENESS)
            staleness_s = (catalog.staleness_ms if staleness is None else int(staleness)) / 1000
            if not views.is_current(view, staleness_s):
                when_current = partial(views.when_current, view, PULL_TIMEOUT_S, staleness_s=staleness_s)
        stopped = self._services.queries.stopped_writers(plan.source.name)
        return LookUp(
            plan,
            cached.values,
            view,
            when_current=when_current,
            stopped=stopped,
            on_not_here=partial(self._uncount, catalog.pull_qps),
        )

    def _uncount(self, qps: int | None) -> None:
        """Take back what ``look_up`` has counted: ``query`` counts the same pull query."""
        self.started -= 1
        if qps is not None:
            self._limits.give_back()

    def _ends(
        self, view: View, catalog: _Catalog, properties: Mapping[str, Any], token: str | None
    ) -> Ends | None:
        """The offsets that a view must have reached for a result; None: the topic's current end."""
        lag = catalog.lag if properties.get(LAG) is None else int(properties[LAG])
        if lag is None and token is None:
            return None
        ends = {} if lag is None else dict(view.ends_within(lag))
        for partition, end in (consistency.decode(token).get(view.topic, {}) if token else {}).items():
            ends[partition] = max(end, ends.get(partition, 0))
        return ends

    def _print(self, statement: PrintTopic, services: Services, rights: Rights) -> QueryStream:
        is_name = pattern_of(statement.topic) is None
        topic = services.admin.topic(statement.topic) if is_name else None
        if topic is None:
            near = nearest(statement.topic, filter(rights.may_see_topic, services.admin.topics()))
            hint = f"Did you mean '{near}'?" if near else "SHOW TOPICS lists all topics."
            raise KsqlError("TOPIC_UNKNOWN", topic=statement.topic, hint=hint)
        return PrintResult(
            services.admin,
            statement.topic,
            from_beginning=statement.from_beginning,
            every=statement.interval or 1,
            limit=statement.limit,
            registry=services.registry,
        )

    def _read(
        self,
        statement: Query,
        context: StatementContext,
        request: Request,
        catalog: _Catalog,
        settings: Hashable | None,
    ) -> QueryStream:
        """The answer to a SELECT: a look-up, a feed or a job."""

        def bind(query: Query) -> Read:
            return analyzer.bind_read(query.query, context.metastore, context.config)

        def bind_text(text: str) -> object:
            (other,) = parsed(replace(request, text=text), context)
            assert isinstance(other, Query)
            return bind(other)

        with planning(request, context.services):
            read = bind(statement)
            if settings is not None and isinstance(read, Lookup):
                self.plans.note(catalog, settings, request.text, read, bind_text)
        if isinstance(read, Feed):
            return self._push(read, statement, context, request)
        with _restart_reported():
            if isinstance(read, Lookup):
                return self._answer(read, request, catalog, settings)
            return self._run_job(read, statement, context, request, catalog, settings)

    def _push(
        self, bound: Feed, statement: Query, context: StatementContext, request: Request
    ) -> QueryStream:
        name = relations(bound.root)[0].source.name
        query_id = f"transient_{name}_{random.getrandbits(62)}"
        most, share = context.config["ksql.max.push.queries"], context.config["ksql.client.max.share"]
        with self._push_limit.starting(query_id, int(most), request.client, float(share)):
            return self._start_push(query_id, bound, statement, context, request)

    def _start_push(
        self,
        query_id: str,
        bound: Feed,
        statement: Query,
        context: StatementContext,
        request: Request,
    ) -> PushResult:
        services = context.services
        topic = transient_topic_prefix(services) + query_id.removeprefix("transient_")
        has_places = keeps_places(bound.root)
        plan = lower_transient(
            bound.root, bound.output, topic, context.config, query_id, has_places=has_places
        )
        check_runnable(plan, services.registry)
        for source in plan.sources:
            services.admin.require_topic(source.topic)
        read, same = None, ""
        is_continued = request.continuation_token is not None
        is_late = str(context.config["auto.offset.reset"]).lower() == "latest" and not is_continued
        has_past = any(source.archive and (source.is_table or not is_late) for source in plan.sources)
        if not (self._needs_spark(context) or has_past):
            read = push.direct(bound, lambda *_: services.queries.figures.note_unreadable(query_id))
        ends: Mapping[SharedQuery, int] = {}
        if read is None:
            topics = services.admin.identities({source.topic for source in plan.sources})
            ids = {name: topic.id for name, topic in topics.items()}
            same = sameness(bound, context.config, ids)
            ends = self._shared.ends(same)  # before the query knows where it starts
        starts = start_offsets(plan, context)
        if request.continuation_token is not None:
            if read is None and not _has_places(bound):
                raise KsqlError("BAD_REQUEST", reason=_CANNOT_RESUME)
            starts = _continued(request.continuation_token, plan.sources[0], starts, services.admin)
        definition = QueryDefinition(
            id=query_id,
            statement=statement.source_text + ";",
            plan=plan,
            starts=starts,
            properties=dict(context.properties),
            sink_partitions=1,
            is_transient=True,
            is_continued=is_continued,
        )
        query = ManagedQuery(definition)
        if read is not None:
            return self._start_direct(query, bound, *read)
        if not is_late:
            ends = {}
        if is_continued and plan.root.kind == TABLE:
            same += " continued"  # it deletes rows that its clients may have from before
        return self._start_shared(query, bound, same, ends, has_places=has_places)

    def _needs_spark(self, context: StatementContext) -> bool:
        """Whether errors of single records have consequences, which only a Spark query supports."""
        stops = context.config["ksql.fail.on.deserialization.error"]
        return bool(stops) or context.services.queries.figures.logs_records

    def _start_shared(
        self,
        query: ManagedQuery,
        bound: Feed,
        same: str,
        ends: Mapping[SharedQuery, int],
        *,
        has_places: bool,
    ) -> PushResult:
        """Join a running Spark query, or start one that writes to its own topic."""
        services = self._services
        with self._shared.starting(same):
            is_of_stream = has_places and bound.root.kind == STREAM
            joined = self._shared.join(same, query, ends, has_places=is_of_stream)
            shared, begin = joined if joined is not None else (self._run(query, same), 0)

        def clean_up() -> None:
            self._streams.pop(query.id, None)
            self._shared.leave(shared)

        try:
            subscription = self._feeds.subscribe(shared.topic, {0: begin}, read_committed=True, from_now=True)
            places = None
            if has_places:
                (offsets,) = query.starts.values()
                places = Places({int(partition): offset for partition, offset in offsets.items()})
            followed = self._followed(query) if _has_places(bound) else None
            return PushResult(
                query,
                services.queries,
                bound.output,
                subscription,
                push.results(shared.query.plan.sink, bound.output),
                shared.topic,
                bound.limit,
                clean_up,
                places=places,
                followed=followed,
            )
        except BaseException:
            services.queries.drop(query)
            clean_up()
            raise

    def _run(self, query: ManagedQuery, same: str) -> SharedQuery:
        """Run a query on Spark that others may share."""
        services, topic = self._services, query.plan.sink.topic
        services.admin.create_topic(topic, 1)
        query.clients = {query.id}
        try:
            services.queries.start_new(query)
        except BaseException:
            services.queries.drop(query)
            services.admin.delete_topics([topic])
            raise
        return self._shared.add(same, query)

    def _start_direct(
        self,
        query: ManagedQuery,
        bound: Feed,
        source: DataSource,
        rows: push.RowMaker,
    ) -> PushResult:
        """Read the topic of a stream or table directly, without Spark."""
        services = self._services
        consumer = services.client_settings("consumer", query.properties)
        effective = services.config.with_values(query.properties)
        subscription = self._feeds.subscribe(
            source.topic,
            {int(partition): offset for partition, offset in query.starts[source.topic].items()},
            read_committed=consumer.get("isolation.level") == "read_committed",
            from_now=effective["auto.offset.reset"] == "latest"
            and not (query.is_continued or source.is_table),
        )

        def clean_up() -> None:
            self._streams.pop(query.id, None)

        services.queries.add(query)
        same = id(source), sys.intern(plan_text(bound))
        return PushResult(
            query,
            services.queries,
            bound.output,
            subscription,
            rows,
            same,
            bound.limit,
            clean_up,
            followed=self._followed(query),
        )

    def _followed(self, query: ManagedQuery) -> tuple[str, str | None] | None:
        """The topic that a query's continuation tokens are about, and its id, or None if it gives none."""
        if not self._services.config.with_values(query.properties)[TOKENS]:
            return None
        (topic,) = query.starts
        return topic, self._services.admin.topic_id(topic)

    def _catalog(self) -> _Catalog:
        """Return the current catalog; it is the same object until the metastore or configuration changes."""
        services, catalog = self._services, self._catalog_snapshot
        if catalog.metastore is not services.published or catalog.config is not services.config:
            catalog = self._catalog_snapshot = _Catalog(services.published, services.config)
        return catalog

    def _answer(
        self, plan: Lookup, request: Request, catalog: _Catalog, settings: Hashable | None
    ) -> QueryStream:
        """The rows of a lookup or scan of a table."""
        services = self._services
        if catalog.pull_qps is not None:
            self._limits.take(catalog.pull_qps)
        properties = {config.canonical(name) or name: value for name, value in request.properties.items()}

        def compute() -> Computed:
            with self._limits.one():
                view = services.views.following(plan.source)
                ends = None
                if view is not None:
                    ends = self._ends(view, catalog, properties, request.consistency_token)
                if view is None or ends is None:
                    view = services.views.current(plan.source, PULL_TIMEOUT_S)
                else:
                    view.wait_for(ends, PULL_TIMEOUT_S)
                # a look-up needs no Spark, and goes on while Spark is restarted
                return pull.run(plan, view, services.spark.session, services.registry)

        result = self._shared_result(compute, plan, [plan.source], request, catalog, settings)
        view = services.views.following(plan.source)
        if view is not None:
            request.positions.note(view.topic, view.positions)
        request.positions.stopped = services.queries.stopped_writers(plan.source.name)
        return result

    def _shared_result(
        self,
        compute: Callable[[], Computed],
        plan: Read,
        sources: Sequence[DataSource],
        request: Request,
        catalog: _Catalog,
        settings: Hashable | None,
    ) -> QueryStream:
        """What ``compute`` returns, or has just returned for the same statement of somebody else."""
        key = None
        if settings is not None and is_shareable(plan):
            key = (catalog, settings, request.text, request.consistency_token)
        topics = [source.topic for source in sources]
        is_set = any(config.canonical(name) == STALENESS for name in request.properties)
        effective = catalog.config.with_values(request.properties) if is_set else catalog.config
        all_written = self._services.producer.written
        # what was written to the topics of a pattern is not looked up
        staleness_ms = 0 if any(s.topic_pattern for s in sources) else shared_staleness_ms(effective)
        return self._results.get(
            key,
            compute,
            request.cancelled,
            staleness_ms / 1000,
            lambda: {topic: dict(all_written.get(topic, ())) for topic in topics},
        )

    def _run_job(
        self,
        job: Job,
        statement: Query,
        context: StatementContext,
        request: Request,
        catalog: _Catalog,
        settings: Hashable | None,
    ) -> QueryStream:
        """The rows of a batch of Spark."""
        sources = [relation.source for relation in relations(job.root)]

        def compute() -> Computed:
            return self._computed(job, statement, context)

        return self._shared_result(compute, job, sources, request, catalog, settings)

    def _computed(self, job: Job, statement: Query, context: StatementContext) -> Computed:
        services = context.services
        consumer = services.client_settings("consumer", context.properties)
        if statement.find(LogOf) is not None:
            # what a replay that was aborted has said is not true
            consumer = {**consumer, "isolation.level": "read_committed"}
        for source in (relation.source for relation in relations(job.root)):
            check_registry(record_spec(source), services.registry)
            if not source.is_table and source.topic_pattern is None:
                services.admin.require_topic(source.topic)
        with within_statement(statement.query):
            rows = {n: past.read(each, services.admin, services.registry) for n, each in job.past.items()}
        return batch.run(
            job,
            services.views,
            services.spark.session(),
            consumer,
            PULL_TIMEOUT_S,
            context.config.__getitem__,
            rows,
            batch_ranges(job.root, services),
        )

    def inserter(
        self,
        target: str,
        properties: Mapping[str, Any],
        on_news: Callable[[], None],
        rights: Rights = ALL_RIGHTS,
        is_whole: bool = False,
    ) -> RowInserter:
        """A writer of rows in JSON to the stream or table ``target``, see Engine.inserter.

        Raises:
            KsqlError: FORBIDDEN; INSERT_UNKNOWN, INVALID_STATEMENT, TOPIC_UNKNOWN.
        """
        services = self._services
        context = context_of(Request("", properties, rights=rights), services, services.published)
        check_source(rights, Role.DEVELOPER, column_name(target))
        source = analyzer.bind_insert_target(column_name(target), context.metastore, context.config)
        services.admin.require_topic(source.topic)
        columns = (*source.schema.key, *source.schema.value)
        fields = {column.name: to_json(schema_info(column.type)) for column in columns}
        writer: Callable[[OnDelivered], Writer | HeldRecords] = partial(
            services.producer.writer, source.topic
        )
        if is_whole:
            is_transaction = context.config[GUARANTEE] == EXACTLY_ONCE
            most = int(context.config["ksql.transaction.max.records"]) if is_transaction else 0
            limits = RecordLimits.of(source.topic, services.admin)
            write_all = partial(write_together, limits, context=context)
            writer = partial(HeldRecords, services.views.folder, most, limits, write_all)
        return RowInserter(source, writer, services.registry, on_news, fields)

    def close_query(self, query_id: str, rights: Rights = ALL_RIGHTS, user: str | None = None) -> bool:
        """Stop a query stream, see Engine.close_query.

        Raises:
            KsqlError: FORBIDDEN.
        """
        stream, owner = self._streams.get(query_id, (None, None))
        if stream is None:
            return False
        if user is None or user != owner:
            what = f"{query_id}, which another user has started,"
            check_role(rights, Role.ADMIN, takes_patterns=False, what=what)
        self._streams.pop(query_id, None)
        stream.close()
        return True

    def close_all(self) -> None:
        """Stop all push queries."""
        for stream, _ in list(self._streams.values()):
            with contextlib.suppress(Exception):
                stream.close()
        self._feeds.close()


def _has_places(bound: Feed) -> bool:
    """Whether each row of a Spark query has its place in the stream that is read."""

    def has_one_row_each(node: Node) -> bool:
        return not isinstance(node, FlatMap) and all(map(has_one_row_each, children(node)))

    return keeps_places(bound.root) and has_one_row_each(bound.root)


_CANNOT_RESUME = (
    "Only a query whose rows each come from one record of a stream or table can resume from a token. Create "
    "a table or stream with this query, CREATE TABLE … AS SELECT …, and subscribe to that."
)


def _continued(
    token: str, source: DataSource, starts: Mapping[str, Mapping[str, int]], admin: KafkaAdmin
) -> dict[str, dict[str, int]]:
    """Return where a push query resumes; partitions that its topic has gained are read from their beginning.

    Args:
        source: the stream or table that it reads.
        starts: where the query would start otherwise.

    Raises:
        KsqlError: BAD_REQUEST: the token does not belong to a query of this topic; TOKEN_TOO_OLD.
    """
    position = Position.of(token)
    topic, offsets = source.topic, starts[source.topic]
    if position.topic != topic or not position.next.keys() <= {int(p) for p in offsets}:
        raise KsqlError("BAD_REQUEST", reason="The continuation token belongs to another query.")
    first, end = admin.beginning_offsets(topic), admin.end_offsets(topic)
    is_ahead = any(offset > end[topic, p] for p, offset in position.next.items())
    if is_ahead or position.topic_id != admin.topic_id(topic):
        reason = f"topic '{topic}' was deleted and created again"
        raise KsqlError("TOKEN_TOO_OLD", reason=reason)
    if source.archive is None and any(offset < first[topic, p] for p, offset in position.next.items()):
        raise KsqlError("TOKEN_TOO_OLD", reason=f"topic '{topic}' no longer has the records that follow")
    if source.is_table:
        age_ms, kept_ms = time.time() * 1000 - position.at_ms, deletions_kept_ms(admin.config(topic))
        if kept_ms is not None and age_ms > kept_ms:
            reason = f"topic '{topic}' keeps deletions for {kept_ms:,} ms (delete.retention.ms)"
            raise KsqlError("TOKEN_TOO_OLD", reason=reason)
    return {topic: {p: position.next.get(int(p), 0) for p in offsets}}
