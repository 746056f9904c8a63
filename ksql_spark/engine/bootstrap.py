"""The composition root: builds the parts of an engine from a configuration, starts them and stops them.

Nothing else creates a broker, a Spark process, or the services of a running engine.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import threading
import urllib.parse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import grammar
from ksql_spark.config import Config, read_properties
from ksql_spark.connect import ConfiguredConnect, ConnectClient, ConnectCluster, NoConnect
from ksql_spark.engine.cluster import Cluster
from ksql_spark.engine.command_runner import CommandRunner
from ksql_spark.engine.execution import StatementExecutor
from ksql_spark.engine.health import DEADLINE_S, Health
from ksql_spark.engine.metrics import Measures
from ksql_spark.engine.query_service import QueryService, transient_topic_prefix
from ksql_spark.engine.request import Request
from ksql_spark.errors import KsqlError
from ksql_spark.kafka.admin import KafkaAdmin
from ksql_spark.kafka.lease import ServiceLease, lease_group
from ksql_spark.kafka.membership import members
from ksql_spark.kafka.producer import RecordProducer
from ksql_spark.metastore.serdes import check_registry, record_spec
from ksql_spark.metastore.store import MetaStore
from ksql_spark.runtime.cluster.placement import (
    Placement,
    create_placement_topic,
    placement_group,
    placement_topic,
)
from ksql_spark.runtime.cluster.state_owner import StateOwner, claim
from ksql_spark.runtime.command_log import CommandLog, command_topic, create_command_topic
from ksql_spark.runtime.driver.clock_monitor import ClockWatch
from ksql_spark.runtime.driver.heap_monitor import LOOK_EVERY_S, HeapWatch
from ksql_spark.runtime.driver.startup import SparkStart
from ksql_spark.runtime.driver.supervisor import SparkSupervisor
from ksql_spark.runtime.driver.warm_up import WarmUp
from ksql_spark.runtime.queries.definition import TRANSIENT_PREFIX
from ksql_spark.runtime.queries.idle_heartbeat import IdleHeartbeat
from ksql_spark.runtime.queries.manager import QueryManager
from ksql_spark.runtime.queries.polling import Watch
from ksql_spark.runtime.reading.views import Views
from ksql_spark.schema_registry import SchemaRegistry
from ksql_spark.services import artifacts
from ksql_spark.services.broker import EmbeddedBroker
from ksql_spark.services.connect_on_demand import ConnectOnDemand
from ksql_spark.services.connect_worker import EmbeddedConnect, WorkerSettings
from ksql_spark.services.data_dir import folder_id, locked_data_dir
from ksql_spark.services.early_broker import EarlyBroker, folder
from ksql_spark.services.python_functions import PythonFunctions
from ksql_spark.services.registry import EmbeddedRegistry, RegistryOnDemand
from ksql_spark.services.supervisor import ServiceSupervisor
from ksql_spark.spark import master, sinks
from ksql_spark.spark.evaluate import evaluate
from ksql_spark.spark.hadoop_folder import HadoopFolder
from ksql_spark.spark.processing_log import ProcessingLog, create_stream
from ksql_spark.spark.python_calls import end_workers
from ksql_spark.spark.session import SparkProcess, function_limits, set_registry
from ksql_spark.spark.state_cache import bound_cache
from ksql_spark.statements import Services, functions
from ksql_spark.storage import Folder, LocalFolder

log = logging.getLogger(__name__)

Report = Callable[[str], None]


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


class Bootstrap:
    """Starts the parts of one engine, and stops them in reverse order.

    Args:
        config: the server's configuration; without ``bootstrap.servers`` a broker is started below the
            data folder.
        spark: a running Spark process to use, which is left running; None: start one, and stop it in stop().
        end: stops the whole server; called when another one has ended all servers of the service id.
        early: the data folder's lock and broker, if they are there already; the caller releases the folder.
    """

    def __init__(
        self,
        config: Config,
        spark: SparkProcess | None = None,
        end: Callable[[], None] = lambda: None,
        early: EarlyBroker | None = None,
    ) -> None:
        self._end = end
        self._early = early
        self._config = config
        self._data_dir = Path(str(config["ksql.spark.data.dir"])).expanduser().absolute()
        self._given_spark = spark
        #: held while statements are checked and carried out
        self._lock = threading.RLock()
        self._stack = contextlib.ExitStack()
        self._stopping = threading.Event()
        #: of the schema registry that Spark's JVM asks
        self._registry_settings = self._with_copies(registry_settings(config))
        #: of the checkpoints of push queries
        self._scratch: Folder = LocalFolder(self._data_dir / "checkpoints")
        #: None where several servers share the service id
        self._lease: ServiceLease | None = None
        self._is_shared = bool(config["ksql.cluster.enabled"])
        #: held while Spark is told which schema registry there is
        self._registry_lock = threading.Lock()

    def start(
        self, report: Report = lambda text: None, serve: Callable[[Parts], None] = lambda parts: None
    ) -> Parts:
        """Start everything.

        Args:
            report: gets progress lines.
            serve: called once requests can be answered. Those that need Spark wait for it then (ADR 40).

        Raises:
            KsqlError: a part could not be started; STOPPED. Call stop() afterwards.
        """
        self._check_shared()
        file_systems = self._file_systems
        if self._early is None:
            # before everything else: the parts below remove what an earlier run has left in the folder
            self._stack.enter_context(locked_data_dir(self._data_dir))
        more = [conf for scheme, conf in artifacts.FILE_SYSTEMS.items() if scheme in file_systems]
        artifacts.ensure([*artifacts.CONFS, *more], report)
        self._check_not_stopping()
        spark, starting = self._start_spark(file_systems, report)
        try:
            return self._start_beside(spark, starting, report, serve)
        finally:
            starting.settle()  # so that what it starts can be stopped

    def _start_beside(
        self, spark: SparkProcess, starting: SparkStart, report: Report, serve: Callable[[Parts], None]
    ) -> Parts:
        """Start everything else while Spark starts, then what needs Spark; see start()."""
        servers = self._broker(report)
        self._take_lease(servers, report)
        # servers that share queries wait for each other, and far state is reached through Spark
        serves_first = not (self._is_shared or self._file_systems)
        if not serves_first:
            starting.join()
        self._check_not_stopping()
        services, open_spark = self._services(spark, starting, servers, report)
        if self._config["ksql.udfs.enabled"]:
            functions.load(services.functions, services.metastore, report)
        self._stack.callback(end_workers, lambda: spark.running_session, str(services.functions.extensions))
        runner = CommandRunner(services, self._data_dir)
        self._stack.callback(runner.close)
        statements = StatementExecutor(services, runner)
        queries = QueryService(services)
        self._remove_transient_queries(services)
        runner.replay(report)
        runner.finish_pending()
        self._check_not_stopping()
        services.views.resume(services.metastore.sources())
        self._stack.callback(queries.close_all)
        admin = KafkaAdmin(services.admin.servers, services.admin.settings, DEADLINE_S)
        self._stack.callback(admin.close)
        health = Health(services, admin)
        self._stack.callback(health.close)
        cluster, measures = Cluster(services), Measures(services, queries)
        self._stack.callback(cluster.close)
        parts = Parts(services, runner, statements, queries, health, cluster, measures)
        before = runner.carried_out + queries.started
        if serves_first:
            serve(parts)
        starting.join()
        self._check_not_stopping()
        open_spark()
        if serves_first:
            services.queries.end_replay()
        runner.start()
        starting.open()
        self._create_log_stream(services, statements, report)
        self._require_registry(services)
        services.queries.start_registered(report)
        if services.placement is not None:
            report("asking for a share of the queries")
            services.placement.join(services.queries)
        if self._given_spark is None and self._config["ksql.spark.warm.up.enabled"]:
            self._warm_up(services, lambda: runner.carried_out + queries.started == before)
        if not serves_first:
            serve(parts)
        return parts

    def stop(self) -> None:
        """Stop everything, including a start() in progress; may be called more than once."""
        self._stopping.set()
        with self._lock:
            stack, self._stack = self._stack, contextlib.ExitStack()
        stack.close()

    def _check_not_stopping(self) -> None:
        """Raise if stop() was called.

        Raises:
            KsqlError: STOPPED.
        """
        if self._stopping.is_set():
            raise KsqlError("STOPPED")

    # ---- Spark and Kafka -----------------------------------------------------------------------------

    def _start_spark(self, file_systems: Sequence[str], report: Report) -> tuple[SparkProcess, SparkStart]:
        """Begin to start Spark.

        Args:
            file_systems: as in SparkProcess.
            report: gets progress lines.
        """

        def limit_s() -> float:
            return float(self._config["ksql.statement.timeout.ms"]) / 1000

        given = self._given_spark
        if given is not None:
            return given, SparkStart(lambda: None, limit_s, self._stopping.is_set)
        spark = SparkProcess(
            self._data_dir / "spark",
            memory=str(self._config["ksql.spark.memory"]),
            master=str(self._config["ksql.spark.master"]),
            settings={
                **function_limits(self._config),
                **{f"spark.hadoop.{name}": value for name, value in self._config.with_prefix("fs.").items()},
                **self._config.with_prefix("spark."),
            },
            file_systems=file_systems,
        )
        self._stack.callback(spark.stop)

        def start() -> None:
            report("starting Spark")
            spark.start(report)
            if self._stopping.is_set():  # stop() may have been called before there was anything to stop
                spark.stop()

        starting = SparkStart(start, limit_s, self._stopping.is_set)
        starting.begin()
        return spark, starting

    def _check_shared(self) -> None:
        """Check that a server which shares its queries has what it needs.

        Raises:
            KsqlError: CLUSTER_SETTINGS.
        """
        if not self._is_shared:
            return
        if not (self._config.is_set("bootstrap.servers") and self._config["bootstrap.servers"]):
            why = "the broker of one server is not that of the others"
            raise KsqlError("CLUSTER_SETTINGS", name="bootstrap.servers", why=why)
        if not self._config["ksql.state.dir"]:
            why = "a query goes on elsewhere from its state, so all servers have to reach it"
            raise KsqlError("CLUSTER_SETTINGS", name="ksql.state.dir", why=why)

    @property
    def _file_systems(self) -> tuple[str, ...]:
        """The schemes of the file systems that Spark has to reach besides local files.

        Raises:
            KsqlError: PROPERTY_INVALID.
        """
        given = str(self._config["ksql.state.dir"])
        scheme, colon, _ = given.partition(":")
        if not colon or scheme == "file" or "/" in scheme:
            return ()
        if scheme in ("s3", "s3n"):
            reason = "Hadoop's scheme for S3 is s3a"
            raise KsqlError("PROPERTY_INVALID", name="ksql.state.dir", value=given, reason=reason)
        return (scheme,)

    def _state_folder(self, spark: SparkProcess) -> Folder:
        """The folder of the state of queries.

        Raises:
            KsqlError: PROPERTY_INVALID, STATE_DIR_UNUSABLE.
        """
        given = str(self._config["ksql.state.dir"])
        if not given:
            return LocalFolder(self._data_dir / "checkpoints")
        if not self._file_systems:
            is_uri = given.startswith("file:")
            path = urllib.parse.unquote(urllib.parse.urlsplit(given).path) if is_uri else given
            return LocalFolder(Path(path).expanduser().absolute())
        folder = HadoopFolder(given, lambda: spark.running_session)
        probe = f".{folder_id(self._data_dir)}"
        try:
            folder.write(probe, "")
            folder.forget(probe)
        except OSError as error:
            raise KsqlError("STATE_DIR_UNUSABLE", uri=given, reason=error) from error
        return folder

    def _scratch_folder(self, state: Folder) -> Folder:
        """The folder of the checkpoints of push queries, which end with this server.

        Args:
            state: the folder of the state of queries.
        """
        is_far = not master.is_on_this_machine(str(self._config["ksql.spark.master"]))
        if is_far and self._config["ksql.state.dir"]:  # executors do not reach the data folder
            return state.sub(f"push-{folder_id(self._data_dir)}")
        return LocalFolder(self._data_dir / "checkpoints")

    def _take_lease(self, servers: str, report: Report) -> None:
        """Make sure that this is the only server of its service id on the cluster, or that all share it.

        Raises:
            KsqlError: SERVICE_ID_IN_USE, STOPPED; as KafkaAdmin.
        """
        admin = KafkaAdmin(servers, self._config.kafka_client_settings())
        self._stack.callback(admin.close)
        service_id = str(self._config["ksql.service.id"])
        replicas = int(self._config["ksql.internal.topic.replicas"])
        create_command_topic(admin, service_id, replicas)
        if self._is_shared:
            others = admin.members(lease_group(service_id))
        else:
            group, topic = placement_group(service_id), placement_topic(service_id)
            found = members(admin.assignments(group), topic).values()
            others = [member.host for member in found if member.slots]
        if others:
            who = f"{others[0]}; one of the two has ksql.cluster.enabled, the other has not"
            raise KsqlError("SERVICE_ID_IN_USE", id=service_id, servers=servers, who=who)
        if self._is_shared:
            create_placement_topic(admin, service_id, replicas)
            return
        lease = ServiceLease(admin, service_id, command_topic(service_id), folder_id(self._data_dir))
        self._stack.callback(lease.close)
        lease.acquire(report, self._stopping.is_set)
        self._lease = lease

    def _broker(self, report: Report) -> str:
        given = self._config["bootstrap.servers"]
        if self._config.is_set("bootstrap.servers") and given:
            report(f"connecting to Kafka at {given}")
            KafkaAdmin(str(given), self._config.kafka_client_settings()).cluster_id()  # is it there?
            return str(given)
        early = self._early
        broker = early.broker if early else EmbeddedBroker(folder(self._data_dir), report=report)
        self._stack.callback(broker.stop)
        self._check_not_stopping()  # after the callback: a stop() from now on ends the start
        if early is None:
            broker.start()
        else:
            early.wait(report)
        supervisor = ServiceSupervisor(broker)
        self._stack.callback(supervisor.close)
        supervisor.start()
        report(f"Kafka runs at {broker.bootstrap_servers}, data in {broker.data_dir}")
        return broker.bootstrap_servers

    # ---- services ------------------------------------------------------------------------------------

    def _services(
        self, spark: SparkProcess, starting: SparkStart, servers: str, report: Report
    ) -> tuple[Services, Callable[[], None]]:
        """The services of an engine on this broker; the command log is not replayed yet.

        Also what is to be called once Spark runs, and before queries do.

        Raises:
            KsqlError: STATE_DIR_IN_USE; as _state_folder.
        """
        services: Services  # assigned below; the lambdas use it later
        state = self._state_folder(spark)
        self._scratch = self._scratch_folder(state)
        admin = KafkaAdmin(servers, self._config.kafka_client_settings())
        self._stack.callback(admin.close)
        if self._config["ksql.state.dir"]:
            claim(state, StateOwner(admin.cluster_id(), str(self._config["ksql.service.id"])))
        producer = RecordProducer(servers, self._config.kafka_client_settings())
        self._stack.callback(producer.close)
        lease = self._lease
        placement = self._placement(spark, admin)
        if placement is not None and placement.was_here():
            report("Kafka has kept the share of the queries of this server, which was here a moment ago")
            placement.hold()
        service_id = str(self._config["ksql.service.id"])
        confirm = lease.confirm if lease is not None else lambda: None
        command_log = CommandLog(admin, producer, service_id, confirm)
        views = Views(
            admin,
            self._data_dir / "views",
            lambda: int(services.config["ksql.pull.views.max.bytes"]),
            lambda: services.config["ksql.pull.views"] == "eager",
            lambda topic: producer.written.get(topic, {}),
        )
        self._stack.callback(views.close)
        processing_log = self._processing_log(admin)
        self._stack.callback(processing_log.close)
        heartbeat = IdleHeartbeat(admin, str(self._config["ksql.service.id"]))
        self._stack.callback(heartbeat.close)
        queries = QueryManager(
            lambda: services.session(),
            admin,
            state,
            heartbeat,
            lambda name: services.config[name],
            lambda client, overrides: services.client_settings(client, overrides),
            functions=lambda: services.user_functions(),
            processing_log=processing_log,
            placement=placement,
            scratch=self._scratch,
        )

        def shut_down() -> None:
            if not queries.shut_down() and self._given_spark is None:
                log.warning("Spark is ended at once: some queries wait for Kafka")
                spark.kill()

        self._stack.callback(shut_down)
        if lease is not None:
            lease.when_lost(lambda: queries.fence(KsqlError("SERVICE_ID_TAKEN", id=service_id).message))
        if placement is not None:
            self._stack.callback(placement.close)

        def started() -> None:
            with self._registry_lock:
                self._set_up(spark)
            processing_log.open(spark.running_session)

        watchers: list[SparkSupervisor | ClockWatch | Watch] = []
        if self._given_spark is None:
            self._stack.callback(spark.kill_if_frozen)  # else queries could not be stopped
            supervisor = SparkSupervisor(spark, queries, started)
            self._stack.callback(supervisor.close)
            clock = ClockWatch(supervisor.clock_set_back)
            self._stack.callback(clock.close)
            heap = HeapWatch(queries.runs, spark.heap, spark.collect_garbage)
            heap_watch = Watch("heap-watch", LOOK_EVERY_S, heap.look)
            self._stack.callback(heap_watch.close)
            watchers = [supervisor, clock, heap_watch]

        def open_spark() -> None:
            started()
            for watcher in watchers:
                watcher.start()

        copies = self._registry_settings.get("folder")
        registry = schema_registry(self._config, copies) or self._embedded_registry(spark, report)
        services = Services(
            metastore=MetaStore(),
            admin=admin,
            producer=producer,
            queries=queries,
            views=views,
            log=command_log,
            config=self._config.with_values({"bootstrap.servers": servers}),
            spark=spark,
            lock=self._lock,
            cluster_id=admin.cluster_id(),
            evaluate=lambda expressions: evaluate(services.session(), expressions),
            write=lambda *record: sinks.write(
                services.session(), services.client_settings("producer", {}), *record
            ),
            registry=registry,
            connect=self._connect(servers, registry, report),
            host=self._host,
            is_stopping=self._stopping.is_set,
            is_replaced=lambda: lease is not None and lease.is_lost,
            placement=placement,
            end=self._end,
            functions=self._python_functions(),
            await_spark=starting.wait,
        )
        return services, open_spark

    @property
    def _host(self) -> str:
        """The address at which this server is reached."""
        address = self._config["ksql.advertised.listener"] or str(self._config["listeners"]).split(",")[0]
        return str(address).split("//")[-1]

    def _placement(self, spark: SparkProcess, admin: KafkaAdmin) -> Placement | None:
        """Where queries run, if several servers share them."""
        if not self._is_shared:
            return None
        service_id, server = str(self._config["ksql.service.id"]), folder_id(self._data_dir)
        settings = {**self._config.client_settings("consumer"), "bootstrap.servers": admin.servers}
        return Placement(
            admin,
            service_id,
            self._host,
            server,
            lambda: spark.running_session,
            lambda: settings,
            int(self._config["ksql.cluster.balance.interval.ms"]) / 1000,
        )

    def _set_up(self, spark: SparkProcess) -> None:
        """Give Spark what it must know before queries run; a JVM that was started again knows nothing."""
        session = spark.running_session
        set_registry(session, self._registry_settings)
        bound_cache(session, int(self._config["ksql.state.cache.max.bytes"]))

    def _with_copies(self, registry: Mapping[str, str]) -> dict[str, str]:
        """A registry's settings, with the folder for copies of its schemas."""
        if not registry:
            return {}
        name = hashlib.sha256(registry["url"].encode()).hexdigest()[:16]
        return {**registry, "folder": str(self._data_dir / "schemas" / name)}

    def _embedded_registry(self, spark: SparkProcess, report: Report) -> SchemaRegistry | None:
        """The registry that is started when something needs it; None: it is disabled."""
        if not self._config["ksql.spark.schema.registry.enabled"] or self._is_shared:
            return None  # servers that share queries have to share the registry

        def say(line: str) -> None:
            log.info(line)
            report(line)

        def started(url: str) -> None:
            with self._registry_lock:
                self._registry_settings = self._with_copies({"url": url})
                if spark.session is not None:  # else it is told once it has started
                    self._set_up(spark)
            if self._config["bootstrap.servers"]:
                say(
                    "its schemas are known to this server only: if others read or write the same topics, set "
                    "ksql.schema.registry.url for all of them"
                )

        registry = RegistryOnDemand(EmbeddedRegistry(self._data_dir / "registry", report=say), started, say)
        self._stack.callback(registry.close)
        return registry

    def _connect(self, servers: str, registry: SchemaRegistry | None, report: Report) -> ConnectCluster:
        """The Connect cluster of the configuration, or the embedded worker.

        The worker is started at once, in the background, if a file configures it or it had connectors.
        """
        properties = self._config
        file = str(properties["ksql.connect.worker.config"] or "").strip()
        named = connect_cluster(properties, self._stopping.is_set)
        if not file and (named is not None or not properties["ksql.spark.connect.enabled"]):
            return named or NoConnect()

        def say(line: str) -> None:
            log.info(line)
            report(line)

        def registry_url() -> str | None:
            if registry is None:
                return None
            registry.require()
            return registry.url

        settings = WorkerSettings(
            bootstrap_servers=servers,
            service_id=str(properties["ksql.service.id"]),
            kafka=properties.kafka_security_settings(),
            replicas=-1 if properties["bootstrap.servers"] else 1,
            plugins=[Path(one).expanduser().absolute() for one in properties["ksql.spark.connect.plugins"]],
            memory=str(properties["ksql.spark.connect.memory"]),
            own=read_properties(file) if file else {},
        )
        worker = EmbeddedConnect(self._data_dir / "connect", settings, connect_settings(properties), say)
        cluster = ConnectOnDemand(worker, say, registry_url, settings.own)
        self._stack.callback(cluster.close)
        if file or cluster.has_connectors():
            cluster.start_in_background()
        return named or cluster

    def _python_functions(self) -> PythonFunctions:
        """Folders and modules of this server's user functions; relative paths start at the data folder."""
        extensions = self._data_dir / str(self._config["ksql.extension.dir"])
        modules = tuple(self._config["ksql.extension.modules"])
        created = self._data_dir / "functions"
        is_local = master.is_local(str(self._config["ksql.spark.master"]))
        return PythonFunctions(extensions, modules, created, None if is_local else created / "archives")

    def _require_registry(self, services: Services) -> None:
        """Make sure that there is a registry if a query that will be started needs one."""
        for query in services.queries.all():
            for source in (*query.plan.sources, query.plan.sink):
                if services.registry is not None:
                    check_registry(record_spec(source), services.registry)

    def _remove_transient_queries(self, services: Services) -> None:
        """Remove what push queries of a killed run have left."""
        prefix = transient_topic_prefix(services)
        services.admin.delete_topics([name for name in services.admin.topics() if name.startswith(prefix)])
        for name in self._scratch.names():
            if name.startswith(TRANSIENT_PREFIX):
                self._scratch.sub(name).remove()

    def _warm_up(self, services: Services, is_needed: Callable[[], bool]) -> None:
        """Warm Spark up if no query does that, unless a statement or query comes first."""
        if services.queries.all():
            return
        warm_up = WarmUp(
            services.spark.running_session,
            services.admin,
            services.producer,
            services.config,
            topics=f"{transient_topic_prefix(services)}warm_up_",
            checkpoints=self._scratch.sub(f"{TRANSIENT_PREFIX}warm_up"),
            is_needed=is_needed,
        )
        self._stack.callback(warm_up.stop)
        warm_up.start()

    # ---- the processing log --------------------------------------------------------------------------

    def _log_topic(self) -> str:
        given = self._config["ksql.logging.processing.topic.name"]
        return str(given or f"{self._config['ksql.service.id']}ksql_processing_log")

    def _processing_log(self, admin: KafkaAdmin) -> ProcessingLog:
        """The processing log (reference §5.8); without its topic it only counts errors."""
        properties = self._config
        topic = self._log_topic()
        if properties["ksql.logging.processing.topic.auto.create"] and admin.topic(topic) is None:
            replicas = properties["ksql.logging.processing.topic.replication.factor"]
            with contextlib.suppress(KsqlError):  # another server may have created it
                admin.create_topic(topic, properties["ksql.logging.processing.topic.partitions"], replicas)
        return ProcessingLog(
            f"{topic}@{admin.servers}",
            topic if admin.topic(topic) is not None else None,
            {**properties.client_settings("producer"), "bootstrap.servers": admin.servers},
            shows_rows=properties["ksql.logging.processing.rows.include"],
        )

    def _create_log_stream(self, services: Services, statements: StatementExecutor, report: Report) -> None:
        """Create the stream over the processing log, if it is configured and does not exist."""
        if not self._config["ksql.logging.processing.stream.auto.create"]:
            return
        name = str(self._config["ksql.logging.processing.stream.name"])
        text = create_stream(name, self._log_topic())
        (statement,) = grammar.parse(text)
        if services.metastore.find(statement.name) is not None:
            return
        try:
            statements.execute(Request(text))
        except KsqlError as error:
            log.error("the stream %s over the processing log was not created: %s", name, error)
            report(f"no stream {name} over the processing log: {error.message}")


def schema_registry(config: Config, copies: str | None = None) -> SchemaRegistry | None:
    """The schema registry of ``config``, or None if it has none.

    ``copies``: the folder with copies of its schemas, if there is one.

    Raises:
        KsqlError: PROPERTY_INVALID.
    """
    settings = registry_settings(config)
    if not settings:
        return None
    # its client is slow to import, and most servers have no registry
    from ksql_spark.kafka.schema_registry import ConfluentRegistry

    return ConfluentRegistry(settings["url"], settings, None if copies is None else Path(copies))


def connect_cluster(
    config: Config, is_stopping: Callable[[], bool] = lambda: False
) -> ConfiguredConnect | None:
    """The Connect cluster that ``config`` names, or None.

    Raises:
        KsqlError: PROPERTY_INVALID.
    """
    url = str(config["ksql.connect.url"] or "").strip()
    return ConfiguredConnect(ConnectClient(url, connect_settings(config), is_stopping)) if url else None


def connect_settings(config: Config) -> dict[str, str]:
    """The properties below ``ksql.connect.``, without that prefix, for ConnectClient."""
    prefix = "ksql.connect."
    settings = {name.removeprefix(prefix): str(v) for name, v in config.with_prefix(prefix).items()}
    return settings | {
        "request.timeout.ms": str(config["ksql.connect.request.timeout.ms"]),
        "basic.auth.credentials.source": str(config["ksql.connect.basic.auth.credentials.source"]),
        "basic.auth.credentials.file": str(config["ksql.connect.basic.auth.credentials.file"]),
        "basic.auth.user.info": str(config["ksql.connect.basic.auth.user.info"] or ""),
    }


def registry_settings(config: Config) -> dict[str, str]:
    """The properties below ``ksql.schema.registry.``, without that prefix; empty without a URL."""
    url, prefix = str(config["ksql.schema.registry.url"] or "").strip(), "ksql.schema.registry."
    if not url:
        return {}
    settings = {name.removeprefix(prefix): str(v) for name, v in config.with_prefix(prefix).items()}
    return {**settings, "url": url}
