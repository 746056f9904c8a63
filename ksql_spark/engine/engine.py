"""The engine: everything that server/ needs. See docs/architecture.md, "The engine's interface"."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ksql_spark import SERVER_VERSION
from ksql_spark.authorization import ALL_RIGHTS, Rights, Role, check_source
from ksql_spark.config import Config
from ksql_spark.engine.bootstrap import Bootstrap, Parts, Report
from ksql_spark.engine.cluster import Cluster
from ksql_spark.engine.metrics import Figure
from ksql_spark.engine.raw_records import raw_records
from ksql_spark.engine.request import Request
from ksql_spark.engine.source_schemas import source_schemas
from ksql_spark.entities import Entity
from ksql_spark.entities.commands import CommandStatus, CommandStatusEntity, StateRebuilt
from ksql_spark.entities.connectors import ConnectorSettings
from ksql_spark.entities.graph import Graph
from ksql_spark.entities.query_details import QueryDetails
from ksql_spark.entities.samples import RawRecords, SourceSchemas
from ksql_spark.entities.servers import HealthCheckResponse, ServerInfo
from ksql_spark.errors import KsqlError
from ksql_spark.runtime.inserts import RowInserter
from ksql_spark.runtime.reading.lookups import LookUp
from ksql_spark.runtime.reading.results import QueryStream
from ksql_spark.services import artifacts
from ksql_spark.services.early_broker import EarlyBroker
from ksql_spark.spark.session import SparkProcess
from ksql_spark.statements import Services
from ksql_spark.statements.definitions import connectors


class Engine:
    """Statements in, queries on Spark, rows out. All methods may be called from any thread.

    Args:
        config: the server's configuration; without ``bootstrap.servers`` the engine starts a broker below the
            data folder.
        spark: a running Spark process to use, which stays running; None: start one, and stop it in stop().
        early: the data folder's lock and broker, if they already exist; the caller releases the folder.
    """

    def __init__(
        self, config: Config, spark: SparkProcess | None = None, early: EarlyBroker | None = None
    ) -> None:
        self.state = "STARTING"
        self._config = config
        #: stops the process that runs the engine; set by that process
        self.request_stop: Callable[[], None] = lambda: None
        #: replaces the process that runs the engine, for a reason; set by that process, if it can
        self.restart: Callable[[str], None] = lambda why: None
        #: addresses of the server for clients: name and address; set by the server's process
        self.listeners: Sequence[tuple[str, str]] = ()
        self._bootstrap = Bootstrap(
            config,
            spark,
            lambda: self.request_stop(),
            early,
            lambda: self.listeners,
            lambda why: self.restart(why),
        )
        self._running: Parts | None = None
        #: whether start() has returned, so that the server no longer fetches or compiles anything
        self._is_complete = False
        self._state_lock = threading.Lock()

    def start(self, report: Report = lambda text: None, serving: Callable[[], None] = lambda: None) -> None:
        """Start everything, and return once it is running.

        Args:
            report: gets progress lines.
            serving: called once requests can be served, which may be much earlier: requests that need Spark
                wait for it (ADR 40).

        Raises:
            KsqlError: a part did not start; everything has been stopped again.
        """

        def serve(parts: Parts) -> None:
            with self._state_lock:
                if self.state == "STOPPING":
                    raise KsqlError("STOPPED")
                self._running = parts
                self.state = "RUNNING"
            serving()

        try:
            self._bootstrap.start(report, serve)
        except BaseException:
            self.stop()
            raise
        with self._state_lock:
            if self.state == "STOPPING":
                raise KsqlError("STOPPED")
            self._is_complete = True

    def stop(self) -> bool:
        """Stop everything, including a start() in progress; may be called more than once.

        It takes a limited time, and leaves no process behind.

        Returns:
            whether all has ended; otherwise threads still wait for something that hangs.
        """
        with self._state_lock:
            if not self._is_complete:
                artifacts.interrupt()
            self.state = "STOPPING"
        return self._bootstrap.stop()

    @property
    def services(self) -> Services:
        """The parts of the running engine, for tests and benchmarks.

        Raises:
            KsqlError: NOT_READY.
        """
        return self._parts.services

    @property
    def _parts(self) -> Parts:
        if self._running is None:
            raise KsqlError("NOT_READY")
        return self._running

    # ---- statements and queries ----------------------------------------------------------------------

    def execute(self, request: Request) -> list[Entity]:
        """Run statements (not queries) in order; if one of them is invalid, none runs.

        Returns:
            one entity for each statement that returns one (reference §7.3).

        Raises:
            KsqlError: with ``statement``, and ``entities`` of the statements that ran before it.
        """
        return self._parts.statements.execute(request)

    def validate(self, request: Request) -> int:
        """Validate statements (not queries) in order, as execute() does, without an effect.

        Returns:
            how many statements there are.

        Raises:
            KsqlError: for the first that is invalid, with ``statement``.
        """
        return self._parts.statements.validate(request)

    def query(self, request: Request) -> QueryStream:
        """Start a SELECT or PRINT.

        Raises:
            KsqlError: the text is not exactly one query, or it cannot run.
        """
        return self._parts.queries.query(request)

    def look_up(
        self,
        text: str,
        properties: Mapping[str, Any],
        parameters: Sequence[Any] | Mapping[str, Any] | None = None,
        token: str | None = None,
        rights: Rights = ALL_RIGHTS,
    ) -> LookUp | None:
        """Answer a lookup that waits for nothing but the view; None: use query().

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
        return self._parts.queries.look_up(text, properties, parameters, token, rights)

    def inserter(
        self,
        target: str,
        properties: Mapping[str, Any],
        on_news: Callable[[], None],
        rights: Rights = ALL_RIGHTS,
        is_whole: bool = False,
    ) -> RowInserter:
        """A writer of rows in JSON to the stream or table ``target`` (POST /inserts-stream).

        Args:
            target: its name, upper case unless it is quoted with back-quotes.
            properties: overrides of the request.
            on_news: see RowInserter.
            rights: those of the client.
            is_whole: whether all rows are checked before the first is written, by ``RowInserter.finish``;
                with exactly_once_v2, in one transaction.

        Raises:
            KsqlError: it cannot be written to, or not by this client.
        """
        return self._parts.queries.inserter(target, properties, on_news, rights, is_whole)

    def terminate_cluster(self, topics: Sequence[str]) -> list[CommandStatusEntity]:
        """End all queries for good, and delete the command log and the sink topics that match a pattern.

        The server must stop afterwards: nothing else can run.

        Args:
            topics: regular expressions of whole names.

        Raises:
            KsqlError: BAD_REQUEST for what is not a valid regular expression.
        """
        return self._parts.statements.terminate_cluster(topics)

    def rebuild_state(self, query_id: str) -> StateRebuilt:
        """Remove a query's state, and make it reread its topics from where it first started.

        Raises:
            KsqlError: QUERY_UNKNOWN; SERVICE_ID_TAKEN.
        """
        return self._parts.statements.rebuild_state(query_id)

    def close_query(self, query_id: str, rights: Rights = ALL_RIGHTS, user: str | None = None) -> bool:
        """Stop a query stream; False if no stream has this id.

        Args:
            query_id: its id.
            rights: those of the client: an admin may stop the streams of all users.
            user: the client's name, who may stop the streams that it has started, or None if it has no name.

        Raises:
            KsqlError: FORBIDDEN.
        """
        return self._parts.queries.close_query(query_id, rights, user)

    # ---- status --------------------------------------------------------------------------------------

    def info(self) -> ServerInfo:
        """Version, ids and status."""
        running = self._running
        return ServerInfo(
            version=SERVER_VERSION,
            kafka_cluster_id=running.services.server.kafka_cluster_id if running is not None else "",
            ksql_service_id=str(self._config["ksql.service.id"]),
            server_status=self.state,
        )

    def health(self) -> HealthCheckResponse:
        """The health of each part.

        Raises:
            KsqlError: NOT_READY.
        """
        return self._parts.health.check()

    @property
    def cluster(self) -> Cluster:
        """The servers that this one knows about.

        Raises:
            KsqlError: NOT_READY.
        """
        return self._parts.cluster

    def figures(self) -> list[Figure]:
        """Metrics of queries and views (GET /metrics); none before the engine runs."""
        return self._running.measures.figures() if self._running is not None else []

    def graph(self, rights: Rights = ALL_RIGHTS) -> Graph:
        """Return what runs, as a graph (GET /graph), as far as a client with these rights may see it.

        Raises:
            KsqlError: NOT_READY; as KafkaAdmin.
        """
        graph = self._parts.graphs.now(rights)
        return replace(graph, has_servers=self.cluster.has_heartbeats)

    def query_details(self, query_id: str, rights: Rights = ALL_RIGHTS) -> QueryDetails:
        """Describe how a query runs, step by step (GET /queries/{id}).

        Raises:
            KsqlError: NOT_READY; QUERY_UNKNOWN, also for a query that the client may not see.
        """
        return self._parts.graphs.details(query_id, rights)

    def raw_records(
        self, topic: str, partition: int, offset: int | None, limit: int, rights: Rights = ALL_RIGHTS
    ) -> RawRecords:
        """Records as they are in Kafka (GET /topics/{topic}/records), from ``offset`` on; None: the newest.

        Raises:
            KsqlError: NOT_READY; as raw_records().
        """
        return raw_records(self._parts.services, topic, partition, offset, limit, rights)

    def source_schemas(self, name: str, rights: Rights = ALL_RIGHTS) -> SourceSchemas:
        """The schemas of a stream or table in the registry (GET /sources/{name}/schemas).

        Raises:
            KsqlError: NOT_READY; FORBIDDEN; SOURCE_UNKNOWN; as SchemaRegistry.
        """
        check_source(rights, Role.READER, name)
        services = self._parts.services
        return source_schemas(services.published.require(name), services.registry)

    def connector_settings(self, class_: str) -> ConnectorSettings | None:
        """Return the settings of a class of connectors; None if Kafka Connect does not have it.

        Raises:
            KsqlError: NOT_READY; as ConnectClient.
        """
        return connectors.settings(class_, self._parts.services)

    def restart_connector(self, name: str) -> None:
        """Restart a connector and those of its tasks that have failed.

        Raises:
            KsqlError: NOT_READY; as ConnectClient.
        """
        self._parts.services.connect.client().restart(name)

    def statuses(self) -> dict[str, str]:
        """Command id -> status."""
        return {command: s.status for command, s in self._parts.runner.statuses.items()}

    def status(self, type: str, entity: str, action: str) -> CommandStatus | None:
        """The status of one command; None if it is unknown."""
        return self._parts.runner.statuses.get(f"{type}/{entity}/{action}")

    def is_valid_property(self, name: str) -> bool:
        """True for a property that SET may change.

        Raises:
            KsqlError: PROPERTY_UNKNOWN, PROPERTY_FIXED for others.
        """
        self._config.check_editable(name)
        return True
