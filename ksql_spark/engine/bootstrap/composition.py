"""The parts of an engine, and the order in which they start."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ksql_spark.config import Config, CurrentConfig
from ksql_spark.engine.automatic_swaps import CHECK_EVERY_S, AutomaticSwaps
from ksql_spark.engine.bootstrap.connect import create_connect
from ksql_spark.engine.bootstrap.kafka import (
    advertised_host,
    check_shared,
    create_placement,
    find_broker,
    take_lease,
)
from ksql_spark.engine.bootstrap.lakes import create_origins, create_sinks
from ksql_spark.engine.bootstrap.lifecycle import STOP_S, Lifecycle, Report
from ksql_spark.engine.bootstrap.processing_log import create_log_stream, create_processing_log
from ksql_spark.engine.bootstrap.queries import create_queries, create_views
from ksql_spark.engine.bootstrap.registry import RegistryOfSpark
from ksql_spark.engine.bootstrap.spark import (
    begin_spark,
    create_watchers,
    file_systems,
    scratch_folder,
    state_folder,
)
from ksql_spark.engine.cluster import Cluster
from ksql_spark.engine.command_runner import CommandRunner
from ksql_spark.engine.execution import StatementExecutor
from ksql_spark.engine.graph import Graphs
from ksql_spark.engine.health import DEADLINE_S, Health
from ksql_spark.engine.metrics import Measures
from ksql_spark.engine.query_service import QueryService, transient_topic_prefix
from ksql_spark.engine.samples import EVERY_S, Samples, decoded_figures
from ksql_spark.engine.topic_spans import TopicSpans
from ksql_spark.errors import KsqlError
from ksql_spark.kafka.admin import KafkaAdmin
from ksql_spark.kafka.lease import ServiceLease
from ksql_spark.kafka.producer import RecordProducer
from ksql_spark.lake.sinks import Sinks
from ksql_spark.metastore.catalog import Catalog
from ksql_spark.metastore.serdes import check_registry, record_spec
from ksql_spark.runtime.cluster.state_owner import StateOwner, claim
from ksql_spark.runtime.command_log import CarriedOut, CommandLog
from ksql_spark.runtime.driver.access import SparkAccess
from ksql_spark.runtime.driver.startup import SparkStart
from ksql_spark.runtime.driver.warm_up import WarmUp
from ksql_spark.runtime.queries.changes.handover import Handover
from ksql_spark.runtime.queries.definition import TRANSIENT_PREFIX
from ksql_spark.runtime.queries.watching.periodic import PeriodicTask
from ksql_spark.services import artifacts
from ksql_spark.services.data_dir import locked_data_dir
from ksql_spark.services.early_broker import EarlyBroker
from ksql_spark.services.python_functions import PythonFunctions
from ksql_spark.spark import master
from ksql_spark.spark.python_calls import end_workers
from ksql_spark.spark.session import SparkProcess, is_away
from ksql_spark.statements import Services, ThisServer
from ksql_spark.statements.definitions import functions
from ksql_spark.storage import Folder

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Parts:
    """The parts of a running engine."""

    services: Services
    runner: CommandRunner
    statements: StatementExecutor
    queries: QueryService
    health: Health
    cluster: Cluster
    measures: Measures
    graphs: Graphs


class Bootstrap:
    """Starts the parts of one engine, and stops them in reverse order.

    Args:
        config: the server's configuration; without ``bootstrap.servers`` the engine starts a broker below the
            data folder.
        spark: a running Spark process to use, which stays running; None: start one, and stop it in stop().
        end: stops the whole server; called when another server terminates all servers of the service id.
        early: the data folder's lock and broker, if they already exist; the caller releases the folder.
        listeners: where clients reach the server, see ThisServer.
        restart: replaces the whole process, and does not return; returns None where nobody can do that.
    """

    def __init__(
        self,
        config: Config,
        spark: SparkProcess | None = None,
        end: Callable[[], None] = lambda: None,
        early: EarlyBroker | None = None,
        listeners: Callable[[], Sequence[tuple[str, str]]] = tuple,
        restart: Callable[[str], None] = lambda why: None,
    ) -> None:
        self._end = end
        self._restart = restart
        self._listeners = listeners
        self._early = early
        self._config = config
        self._data_dir = Path(str(config["ksql.spark.data.dir"])).expanduser().absolute()
        self._existing_spark = spark
        #: held while statements are validated and executed
        self._lock = threading.RLock()
        self._lifecycle = Lifecycle(
            self._lock, limit_s=STOP_S + float(config["ksql.query.stop.timeout.ms"]) / 1000
        )

    def start(
        self, report: Report = lambda text: None, serve: Callable[[Parts], None] = lambda parts: None
    ) -> Parts:
        """Start everything.

        Args:
            report: gets progress lines.
            serve: called once requests can be served. Those that need Spark wait for it (ADR 40).

        Raises:
            KsqlError: a part did not start; STOPPED. Call stop() afterwards.
        """
        self._lifecycle.report = report
        check_shared(self._config)
        schemes = file_systems(self._config)
        if self._early is None:
            # before everything else: the parts below remove leftovers of an earlier run from the folder
            self._lifecycle.enter(locked_data_dir(self._data_dir))
        more = [conf for scheme, conf in artifacts.FILE_SYSTEMS.items() if scheme in schemes]
        artifacts.ensure([*artifacts.needed_at_start(), *more], report)
        self._lifecycle.check()
        spark, starting = begin_spark(self._config, self._data_dir, self._existing_spark, self._lifecycle)
        try:
            return self._start_beside(spark, starting, serve)
        finally:
            starting.settle()  # so that whatever it starts can be stopped

    def stop(self) -> bool:
        """Stop the engine; see Lifecycle.stop()."""
        return self._lifecycle.stop()

    def _start_beside(
        self, spark: SparkProcess, starting: SparkStart, serve: Callable[[Parts], None]
    ) -> Parts:
        """Start everything else while Spark starts, then what needs Spark; see start()."""
        config, lifecycle = self._config, self._lifecycle
        servers = find_broker(config, self._data_dir, self._early, lifecycle)
        lease = take_lease(config, self._data_dir, servers, lifecycle)
        # servers that share queries wait for each other, and remote state is reached through Spark
        serves_first = lease is not None and not file_systems(config)
        if not serves_first:
            starting.join()
        lifecycle.check()
        state = state_folder(config, self._data_dir, spark)
        scratch = scratch_folder(config, self._data_dir, state)
        services, sinks, open_spark = self._services(spark, starting, servers, lease, state, scratch)
        if config["ksql.udfs.enabled"]:
            functions.load(services.functions, services.metastore, config, lifecycle.report)
        runner = CommandRunner(services, self._data_dir)
        lifecycle.on_stop(runner.close)
        queries = QueryService(services)
        _remove_transient_queries(services, scratch)
        runner.replay(lifecycle.report)
        runner.finish_pending()
        sinks.complete()
        lifecycle.check()
        services.views.resume(services.metastore.sources())
        lifecycle.on_stop(queries.close_all)
        admin = KafkaAdmin(services.admin.servers, services.admin.settings, DEADLINE_S)
        lifecycle.on_stop(admin.close)
        health = Health(services, admin)
        lifecycle.on_stop(health.close)
        cluster, measures = Cluster(services), Measures(services, queries)
        lifecycle.on_stop(cluster.close)
        placement = services.placement
        samples = Samples(
            measures.figures,
            remote_figures=lambda: (
                {} if placement is None else decoded_figures(placement.figures_of_others())
            ),
            spans=TopicSpans(services).now,
            # a query that is paused has read everything only once its Spark queries have ended
            states=lambda: {
                q.id: (q.state, len(q.spark)) for q in services.queries.all() if not q.is_transient
            },
        )
        graphs = Graphs(services, samples)
        statements = StatementExecutor(services, runner, graphs.freshness)
        parts = Parts(services, runner, statements, queries, health, cluster, measures, graphs)
        before = runner.carried_out + queries.started
        if serves_first:
            serve(parts)
        starting.join()
        lifecycle.check()
        open_spark()
        if serves_first:
            services.queries.end_replay()
        runner.start()
        starting.open()
        create_log_stream(config, services, statements, lifecycle)
        _require_registry(services, lifecycle.report)
        services.queries.start_registered(lifecycle.report)
        swaps = PeriodicTask("automatic-swaps", CHECK_EVERY_S, AutomaticSwaps(services, statements).check)
        lifecycle.on_stop(swaps.close)
        swaps.start()
        if config["ksql.console.enabled"]:
            sampler = PeriodicTask("samples", EVERY_S, samples.sample)
            lifecycle.on_stop(sampler.close)
            sampler.start()
        if services.placement is not None:
            lifecycle.report("requesting a share of the queries")
            services.placement.join(Handover(services.queries), cluster.lags, lambda: samples.report)
        if self._existing_spark is None and config["ksql.spark.warm.up.enabled"]:
            self._warm_up(services, scratch, lambda: runner.carried_out + queries.started == before)
        if not serves_first:
            serve(parts)
        return parts

    def _services(
        self,
        spark: SparkProcess,
        starting: SparkStart,
        servers: str,
        lease: ServiceLease | None,
        state: Folder,
        scratch: Folder,
    ) -> tuple[Services, Sinks, Callable[[], None]]:
        """The services of an engine on this broker, before the replay of the command log.

        Also returns its sinks, and what to call once Spark is running, before queries start.

        Raises:
            KsqlError: STATE_DIR_IN_USE; as KafkaAdmin.
        """
        config, lifecycle = self._config, self._lifecycle
        current = CurrentConfig(config.with_values({"bootstrap.servers": servers}))
        access = SparkAccess(spark, starting.wait, current, lambda: starting.problem)
        catalog = Catalog()
        admin = KafkaAdmin(servers, config.kafka_client_settings())
        lifecycle.on_stop(admin.close)
        service_id, cluster_id = str(config["ksql.service.id"]), admin.cluster_id()
        if config["ksql.state.dir"]:
            claim(state, StateOwner(cluster_id, service_id))
        producer = RecordProducer(servers, config.kafka_client_settings())
        lifecycle.on_stop(producer.close)
        commands = CarriedOut()
        placement = create_placement(
            config,
            self._data_dir,
            admin,
            lambda: spark.running_session,
            lambda: commands.last + 1,
            lifecycle,
        )
        confirm = lease.confirm if lease is not None else lambda: None
        command_log = CommandLog(admin, producer, service_id, confirm)
        registry_of_spark = RegistryOfSpark(config, self._data_dir, spark)
        registry = registry_of_spark.create(lifecycle)
        views = create_views(current, self._data_dir, catalog, admin, producer, registry, lifecycle)
        processing_log = create_processing_log(config, admin, lifecycle)
        is_ours = self._existing_spark is None
        queries = create_queries(
            current,
            catalog,
            admin,
            access,
            processing_log,
            placement,
            lease,
            state,
            scratch,
            lifecycle,
            kill_spark=spark.kill if is_ours else None,
        )
        sinks = create_sinks(current, catalog, admin, access, processing_log, placement, lifecycle)

        def started() -> None:
            registry_of_spark.configure_jvm()
            processing_log.open(spark.running_session)

        python_functions = self._python_functions()
        # after a frozen JVM is killed, and its workers with it
        lifecycle.on_stop(end_workers, lambda: spark.running_session, str(python_functions.extensions))
        watchers = (
            create_watchers(spark, starting, queries, started, lifecycle, self._restart) if is_ours else ()
        )

        def open_spark() -> None:
            for watcher in watchers:
                watcher.start()
            try:
                started()
            except Exception as error:
                if not is_ours or not is_away(error):
                    raise  # otherwise it has ended meanwhile: the supervisor, which has noticed, repeats this
            sinks.start()
            origins.start()

        origins = create_origins(current, catalog, admin, access, registry, placement, lifecycle)
        services = Services(
            catalog=catalog,
            admin=admin,
            producer=producer,
            queries=queries,
            views=views,
            log=command_log,
            current_config=current,
            spark=access,
            registry=registry,
            connect=create_connect(config, self._data_dir, servers, registry, lifecycle),
            server=ThisServer(
                host=advertised_host(config),
                kafka_cluster_id=cluster_id,
                is_stopping=lifecycle.is_stopping,
                is_replaced=lambda: lease is not None and lease.is_lost,
                end=self._end,
                starts_broker=not config["bootstrap.servers"],
                listeners=self._listeners,
            ),
            functions=python_functions,
            commands=commands,
            lock=self._lock,
            placement=placement,
            sink_status=sinks.status,
            origin_status=origins.status,
        )
        return services, sinks, open_spark

    def _python_functions(self) -> PythonFunctions:
        """Folders and modules of this server's user functions; relative paths start at the data folder."""
        extensions = self._data_dir / str(self._config["ksql.extension.dir"])
        modules = tuple(self._config["ksql.extension.modules"])
        created = self._data_dir / "functions"
        is_local = master.is_local(str(self._config["ksql.spark.master"]))
        return PythonFunctions(extensions, modules, created, None if is_local else created / "archives")

    def _warm_up(self, services: Services, scratch: Folder, is_needed: Callable[[], bool]) -> None:
        """Warm up Spark if no query does, unless a statement or query comes first."""
        if services.queries.all():
            return
        try:
            session = services.spark.process.running_session
        except KsqlError:
            return  # it has ended meanwhile
        warm_up = WarmUp(
            session,
            services.admin,
            services.producer,
            services.config,
            topics=f"{transient_topic_prefix(services)}warm_up_",
            checkpoints=scratch.sub(f"{TRANSIENT_PREFIX}warm_up"),
            is_needed=is_needed,
        )
        self._lifecycle.on_stop(warm_up.stop)
        warm_up.start()


def _require_registry(services: Services, report: Report) -> None:
    """Start the embedded registry, which retries that itself, if a query that will start needs one."""
    for query in services.queries.all():
        for source in (*query.plan.sources, query.plan.sink):
            try:
                check_registry(record_spec(source), services.registry)
            except KsqlError as error:
                log.error("query %s lacks its schema registry: %s", query.id, error.message)
                report(f"query {query.id} lacks its schema registry: {error.message}")
                return


def _remove_transient_queries(services: Services, scratch: Folder) -> None:
    """Remove what push queries of a killed run have left behind."""
    prefix = transient_topic_prefix(services)
    services.admin.delete_topics([name for name in services.admin.topics() if name.startswith(prefix)])
    for name in scratch.names():
        if name.startswith(TRANSIENT_PREFIX):
            scratch.sub(name).remove()
