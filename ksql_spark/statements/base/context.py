"""The context of a statement's handler, and the actions that it returns.

A handler is one function: it validates a statement against a sandbox (a copy of the metastore in which the
preceding statements have happened) and returns an action. Actions run only after all statements of a request
have passed (reference §7.2).
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ksql_spark.authorization import ALL_RIGHTS, Rights, Uses
from ksql_spark.config import Client, Config, CurrentConfig
from ksql_spark.consistency import KnownPositions
from ksql_spark.entities import Entity
from ksql_spark.entities.commands import WarningEntity
from ksql_spark.entities.graph import Freshness
from ksql_spark.errors import KsqlError
from ksql_spark.grammar.nodes import Statement
from ksql_spark.kafka.admin import KafkaAdmin
from ksql_spark.kafka.producer import RecordProducer
from ksql_spark.kafka_connect import ConnectCluster, NoConnect
from ksql_spark.lake.origins import OriginStatus
from ksql_spark.lake.sinks import SinkStatus
from ksql_spark.metastore.catalog import Catalog
from ksql_spark.metastore.sources import DataSource
from ksql_spark.metastore.store import MetaStore
from ksql_spark.plan.queries import PersistentQuery
from ksql_spark.plan.stages import Plan
from ksql_spark.runtime.cleanup import CleanupRecord
from ksql_spark.runtime.cluster.placement import Placement
from ksql_spark.runtime.command_log import CarriedOut, CommandLog
from ksql_spark.runtime.driver.access import SparkAccess
from ksql_spark.runtime.queries.evolution import Backfill
from ksql_spark.runtime.queries.managed import ManagedQuery
from ksql_spark.runtime.queries.manager import QueryManager
from ksql_spark.runtime.reading.views import Views
from ksql_spark.runtime.versions import Change, Versions
from ksql_spark.schema_registry import SchemaRegistry
from ksql_spark.services.python_functions import PythonFunctions

#: the property with the prefix of sink topics
SINK_PREFIX = "ksql.output.topic.name.prefix"
#: topic -> {partition: offset}
Starts = Mapping[str, Mapping[str, int]]
#: a server without user functions: these folders do not exist
NO_FUNCTIONS = PythonFunctions(Path("ext"), (), Path("functions"))


@dataclass
class ThisServer:
    """The server that an engine belongs to.

    Args:
        host: its address, ``host:port``.
        kafka_cluster_id: the id of its Kafka cluster.
        is_stopping: whether it is stopping; ends actions that wait.
        is_replaced: whether another server has taken over the service id.
        end: stops it soon: another server has ended all servers of the service id.
        starts_broker: whether it has started a broker for itself.
        listeners: where clients reach it: name and address, such as ("REST API", "http://127.0.0.1:8088").
    """

    host: str = "localhost:8088"
    kafka_cluster_id: str = ""
    is_stopping: Callable[[], bool] = lambda: False
    is_replaced: Callable[[], bool] = lambda: False
    end: Callable[[], None] = lambda: None
    starts_broker: bool = False
    listeners: Callable[[], Sequence[tuple[str, str]]] = tuple


#: explains where the delay of a stream or table comes from, as far as a client may see it
ExplainFreshness = Callable[[DataSource, Rights], Freshness]


def not_ready(source: DataSource, rights: Rights) -> Freshness:
    """Explain nothing: the server is starting.

    Raises:
        KsqlError: NOT_READY.
    """
    raise KsqlError("NOT_READY")


@dataclass
class Services:
    """The parts of a running engine.

    Args:
        catalog: the metastore.
        log: the command log.
        current_config: the server's configuration.
        registry: the schema registry, or None.
        connect: the Connect cluster.
        functions: folders and modules of user functions.
        commands: which commands of the log have been carried out.
        versions: of streams and tables, as the log tells them.
        lock: held while statements are checked and carried out.
        row_changes: held while a statement changes rows, by topic: UPDATE, DELETE, FORGET, REPROCESS.
        insert_transactions: held while INSERT writes rows in a transaction.
        placement: which queries run on which server; None: this is the only server.
        sink_status: how a sink is doing, by name.
        origin_status: how a table follows its origin, by name.
    """

    catalog: Catalog
    admin: KafkaAdmin
    producer: RecordProducer
    queries: QueryManager
    views: Views
    log: CommandLog
    current_config: CurrentConfig
    spark: SparkAccess
    registry: SchemaRegistry | None = None
    connect: ConnectCluster = field(default_factory=NoConnect)
    server: ThisServer = field(default_factory=ThisServer)
    functions: PythonFunctions = NO_FUNCTIONS
    commands: CarriedOut = field(default_factory=CarriedOut)
    versions: Versions = field(default_factory=Versions)
    lock: threading.RLock = field(default_factory=threading.RLock)
    row_changes: Mapping[str, threading.Lock] = field(default_factory=lambda: defaultdict(threading.Lock))
    insert_transactions: threading.Lock = field(default_factory=threading.Lock)
    placement: Placement | None = None
    sink_status: Callable[[str], SinkStatus] = lambda name: SinkStatus()
    origin_status: Callable[[str], OriginStatus] = lambda name: OriginStatus()

    @property
    def metastore(self) -> MetaStore:
        """The metastore itself, not a sandbox; to be read with the lock."""
        return self.catalog.metastore

    @property
    def published(self) -> MetaStore:
        """The metastore that queries read without the lock."""
        return self.catalog.published

    @property
    def config(self) -> Config:
        """The server's current configuration."""
        return self.current_config()

    def client_settings(self, client: Client, overrides: Mapping[str, Any]) -> Mapping[str, str]:
        """Settings of a Kafka client on the JVM, with a query's overrides of the server's properties."""
        return self.config.with_values(overrides).client_settings(client)


@dataclass(frozen=True)
class KnownQuery:
    """A persistent query in the sandbox; ``evolves`` is the table whose new version it is until the swap."""

    id: str
    sink: str
    sources: frozenset[str]
    creates_sink: bool
    logical: PersistentQuery | None
    evolves: str | None = None

    @classmethod
    def of(cls, query: ManagedQuery) -> KnownQuery:
        """A running query as seen by the sandbox."""
        sources = frozenset(s.name for s in query.plan.sources)
        return cls(query.id, query.plan.sink.name, sources, query.creates_sink, query.logical, evolves(query))


def evolves(query: ManagedQuery) -> str | None:
    """The table whose new version a query is, until the swap."""
    return query.evolution.table if isinstance(query.evolution, Backfill) else None


@dataclass(frozen=True)
class Fall:
    """The effect of DROP … CASCADE: names of sources, each before those that it reads, and queries."""

    sources: tuple[str, ...]
    queries: tuple[KnownQuery, ...]


def uses_of(query: ManagedQuery) -> Uses:
    """The sources that a query reads and writes."""
    sink = None if query.is_transient else evolves(query) or query.plan.sink.name
    return Uses(frozenset(source.name for source in query.plan.sources), sink)


@dataclass(frozen=True)
class StoredQuery:
    """A query in the command log: its id, what was bound, and how it runs."""

    id: str
    logical: PersistentQuery
    plan: Plan


@dataclass
class StatementContext:
    """The context in which one statement is validated.

    Args:
        services: the engine's parts; handlers only read them.
        metastore: the sandbox; handlers change it as the statement would.
        properties: overrides of the request, and of SETs before this statement.
        variables: session variables, including those of DEFINEs before this statement.
        new_topics: topics that statements before this one will create -> number of partitions.
        gone_topics: topics that statements before this one will delete, with their schemas.
        queries: the persistent queries that will exist after the statements before this one.
        is_replay: the statement comes from the command log, and was validated before it was written there.
        first_sequence: the number of the request's first command in the log; None: not determined yet.
        commands: how many of the statements before this one are commands.
        stored: on replay, the query that the statement started.
        positions: receives the offsets of records that the statement writes.
        rights: those of the client.
        user: the client's name, if users log in.
        freshness: see ExplainFreshness.
    """

    services: Services
    metastore: MetaStore
    properties: dict[str, Any]
    variables: dict[str, str]
    new_topics: dict[str, int] = field(default_factory=dict)
    gone_topics: set[str] = field(default_factory=set)
    queries: list[KnownQuery] = field(init=False)
    #: the token of the last command that the sandbox includes
    follows: str | None = field(init=False)
    is_replay: bool = False
    stored: StoredQuery | None = None
    first_sequence: int | None = None
    commands: int = 0
    positions: KnownPositions = field(default_factory=KnownPositions)
    rights: Rights = ALL_RIGHTS
    user: str | None = None
    freshness: ExplainFreshness = not_ready

    def __post_init__(self) -> None:
        self.follows = self.services.commands.token
        self.queries = [KnownQuery.of(q) for q in self.services.queries.all() if not q.is_transient]

    def snapshot(self) -> StatementContext:
        """A copy for actions, because later statements change properties and variables."""
        return replace(self, properties=dict(self.properties), variables=dict(self.variables))

    # ---- authorization.Catalog -----------------------------------------------------------------------

    def has(self, source: str) -> bool:
        """Whether this stream or table exists."""
        return self.metastore.find(source) is not None

    def topic_of(self, source: str) -> str | None:
        """The topic of a stream or table."""
        data_source = self.metastore.find(source)
        return None if data_source is None else data_source.topic

    def table_of(self, index: str) -> str | None:
        """The table of an index."""
        known = self.metastore.indexes().get(index)
        return None if known is None else known.table

    def chosen_sink_topic(self, name: str) -> str | None:
        """The topic of a new sink without KAFKA_TOPIC, if the request has set the prefix."""
        return f"{self.config[SINK_PREFIX] or ''}{name}" if SINK_PREFIX in self.properties else None

    def uses(self, query_id: str) -> list[Uses]:
        """The sources of the queries with this id, ignoring case."""
        id_ = query_id.upper()
        return [uses_of(q) for q in self.services.queries.all() if q.id.upper() == id_]

    def falling(self, source: str) -> list[str]:
        """Return the names that DROP … CASCADE of a source removes or no longer writes, including its own."""
        fall = self.fall(source)
        return list(dict.fromkeys([*fall.sources, *(q.sink for q in fall.queries)]))

    # --------------------------------------------------------------------------------------------------

    def fall(self, name: str) -> Fall:
        """Return the sources and queries that DROP … CASCADE of a stream or table removes."""
        sources: list[str] = []

        def visit(source: str) -> None:
            for dependent in self.metastore.dependents(source):
                if dependent not in sources and dependent != name:
                    visit(dependent)
            if source not in sources:
                sources.append(source)

        visit(name)
        fallen = set(sources)
        queries = [q for q in self.queries if q.sink in fallen or q.sources & fallen]
        order = {source: i for i, source in enumerate(sources)}
        return Fall(tuple(sources), tuple(sorted(queries, key=lambda q: (order.get(q.sink, -1), q.id))))

    def writer_of(self, name: str) -> KnownQuery | None:
        """Return the query that created a stream or table; None if it has ended, or there was none."""
        return next((q for q in self.queries if q.sink == name and q.creates_sink), None)

    @property
    def sequence(self) -> int:
        """The number that the statement's command will have in the log."""
        if self.first_sequence is None:
            self.first_sequence = self.services.log.end()
        return self.first_sequence + self.commands

    @property
    def config(self) -> Config:
        """Effective properties: the server's, overridden by the request's.

        On replay nothing is refused: the statement keeps the properties with which it was executed.
        """
        if self.is_replay:
            return self.services.config.with_values(self.properties)
        return self.services.config.with_overrides(self.properties)


@dataclass(frozen=True)
class Outcome:
    """The result of a logged statement: a message for the user, and the query that it started.

    ``warnings`` are sentences. If the statement ``is_failed``, the message says why.
    """

    message: str
    query_id: str | None = None
    warnings: tuple[str, ...] = ()
    is_failed: bool = False


@dataclass(frozen=True)
class Prepared:
    """The command log's data about a statement: where its query starts, the query's id and its plans.

    ``plan`` is a document of plan.codec, ``topics`` are the ids of topics by name.
    """

    starts: Starts = field(default_factory=dict)
    query_id: str | None = None
    plan: Mapping[str, Any] | None = None
    topics: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Immediate:
    """An action that is not logged: ``run`` returns the statement's entity, or None.

    An action that ``waits`` (for time to pass, or for another server) does not block other requests. What it
    waits for ``first`` changes nothing, and ends as planning does: at the statement's deadline, and once
    nobody waits for the answer.
    """

    run: Callable[[], Entity | None]
    waits: bool = False
    first: Callable[[], None] = lambda: None


def only_warns(statement: Statement, message: str) -> Immediate:
    """The action of a statement that has nothing to do, such as CREATE … IF NOT EXISTS of what exists."""
    return Immediate(lambda: WarningEntity(statement_text=statement.source_text, message=message))


@dataclass(frozen=True)
class Logged:
    """An action that goes into the command log, and runs once it is there.

    Args:
        command_id: ``type/entity/action`` (reference §7.3).
        statement: text for the log, if the statement's own text is not enough.
        prepare: side effects that must come before it is written (topics).
        apply: the change itself, when the command is read from the log; takes the offsets where a new query
            starts.
        after: what only the server that wrote the command does afterwards (topics to delete); not on replay.
        undo: undoes ``prepare`` if it fails, or the command cannot be written.
        cleanup: the cleanup record, in case the server is killed meanwhile; called first.
        plan: the document of the query that it will start, which the command log stores.
        change: what it does to the version of a stream or table.
        properties: overrides for the log, if they are not those of the request.
    """

    command_id: str
    apply: Callable[[Starts], Outcome]
    prepare: Callable[[], Prepared] = Prepared
    after: Callable[[], None] = lambda: None
    undo: Callable[[], None] = lambda: None
    cleanup: Callable[[], CleanupRecord] = CleanupRecord
    statement: str | None = None
    plan: Mapping[str, Any] | None = None
    change: Change | None = None
    properties: Mapping[str, Any] | None = None


Action = Immediate | Logged
