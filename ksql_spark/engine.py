"""The engine: all that server/ needs. See docs/architecture.md, "The engine's interface"."""

from __future__ import annotations

import contextlib
import logging
import random
import shutil
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import grammar
from grammar.nodes import Statement
from grammar.statements.print_topic import PrintTopic
from grammar.statements.queries import Query
from ksql_spark import __version__, analyzer, config
from ksql_spark.config import Config
from ksql_spark.errors import KsqlError, nearest
from ksql_spark.functions import registry
from ksql_spark.functions.spec import Spec
from ksql_spark.kafka.admin import KafkaAdmin
from ksql_spark.kafka.producer import RecordProducer
from ksql_spark.logical.nodes import BatchQuery, Filter, Project, Source, leaves
from ksql_spark.metastore.store import MetaStore
from ksql_spark.physical import codec
from ksql_spark.physical.planner import check_runnable, lower_transient
from ksql_spark.runtime import batch, pull
from ksql_spark.runtime.command_log import Command, CommandLog
from ksql_spark.runtime.pending import PendingStatement
from ksql_spark.runtime.print_topic import PrintResult
from ksql_spark.runtime.push import PushResult
from ksql_spark.runtime.queries import QueryManager, RunningQuery
from ksql_spark.runtime.results import QueryStream, ResultColumn, Row
from ksql_spark.runtime.views import Views
from ksql_spark.runtime.warm_up import WarmUp
from ksql_spark.schema_registry import SchemaRegistry
from ksql_spark.services import artifacts
from ksql_spark.services.broker import EmbeddedBroker
from ksql_spark.services.python_functions import PythonFunctions
from ksql_spark.spark import sinks
from ksql_spark.spark.evaluate import evaluate
from ksql_spark.spark.processing_log import ProcessingLog, create_stream
from ksql_spark.spark.python_calls import end_workers
from ksql_spark.spark.session import SparkProcess
from ksql_spark.statements import Action, Immediate, Logged, Scope, Services, StoredQuery, functions, handle
from ksql_spark.statements.entities import command_status
from ksql_spark.statements.sources import start_offsets

log = logging.getLogger(__name__)

Report = Callable[[str], None]
#: how long a pull query waits for its view to catch up, seconds
PULL_TIMEOUT_S = 30.0


@dataclass(frozen=True)
class Request:
    """What a client sends: statements, property overrides, session variables."""

    text: str
    properties: Mapping[str, Any] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)
    command_sequence_number: int | None = None


class Engine:
    """Statements in, queries on Spark, rows out. All methods may be called from any thread.

    Args:
        config: the server's configuration; without ``bootstrap.servers`` a broker is started below the
            data folder.
        spark: a running Spark to work on, which is left running; None: start one, and stop it again.
    """

    def __init__(self, config: Config, spark: SparkProcess | None = None) -> None:
        self.state = "STARTING"
        self._config = config
        self._data_dir = Path(str(config["ksql.spark.data.dir"])).expanduser().absolute()
        self._lock = threading.RLock()
        self._stack = contextlib.ExitStack()
        self._stopping = threading.Event()
        self._services: Services | None = None
        self._spark = spark
        self._owns_spark = spark is None
        self._streams: dict[str, QueryStream] = {}
        self._statuses: dict[str, dict[str, Any]] = {}
        self._cluster_id = ""
        #: whether there was a query, or a statement that changed something, since the start
        self._was_asked = False
        self._pending = PendingStatement(self._data_dir / "pending.json")

    # ---- life cycle ----------------------------------------------------------------------------------

    def start(self, report: Report = lambda text: None) -> None:
        """Start everything and return when statements can run; ``report`` gets progress lines.

        Raises:
            KsqlError: what could not be started, and what to do; nothing is left running then.
        """
        try:
            self._start(report)
        except BaseException:
            self.stop()
            raise
        with self._lock:
            if self._stopping.is_set():
                raise KsqlError("STOPPED")
            self.state = "RUNNING"

    def _start(self, report: Report) -> None:
        artifacts.ensure(report=report)
        self._check_stop()
        if self._spark is None:
            self._spark = SparkProcess(
                self._data_dir / "spark",
                memory=str(self._config["ksql.spark.memory"]),
                settings=self._config.with_prefix("spark."),
            )
            self._stack.callback(self._spark.stop)
        spark = self._spark
        failures: list[BaseException] = []

        def start_spark() -> None:
            try:
                if self._owns_spark:
                    report("starting Spark")
                    spark.start(report)
                    if self._stopping.is_set():  # stop() may have come before there was anything to stop
                        spark.stop()
            except BaseException as error:  # handed to the starting thread below
                failures.append(error)

        starting = threading.Thread(target=start_spark, name="spark-start", daemon=True)
        starting.start()
        try:
            servers = self._broker(report)
            admin = KafkaAdmin(servers, self._config.kafka_client_settings())
            self._cluster_id = admin.cluster_id()
        finally:
            starting.join()
        if failures:
            raise failures[0]
        self._check_stop()
        assert spark.session is not None
        session = spark.session
        producer = RecordProducer(servers, self._config.kafka_client_settings())
        self._stack.callback(producer.close)
        replicas = int(self._config["ksql.internal.topic.replicas"])
        command_log = CommandLog(admin, producer, str(self._config["ksql.service.id"]), replicas)
        command_log.open()
        views_dir = self._data_dir / "views"
        shutil.rmtree(views_dir, ignore_errors=True)
        views = Views(admin, views_dir)
        self._stack.callback(views.close)
        checkpoints = self._data_dir / "checkpoints"
        processing_log = self._processing_log(spark, admin)
        self._stack.callback(processing_log.close)
        queries = QueryManager(
            session,
            admin,
            checkpoints,
            self._setting,
            self._client,
            functions=self._user_functions,
            processing_log=processing_log,
        )
        self._stack.callback(queries.close)
        self._services = Services(
            metastore=MetaStore(),
            admin=admin,
            producer=producer,
            queries=queries,
            views=views,
            log=command_log,
            config=self._config.with_values({"bootstrap.servers": servers}),
            evaluate=lambda expressions: evaluate(session, expressions),
            write=lambda *record: sinks.write(session, self._client("producer", {}), *record),
            registry=schema_registry(self._config),
            host=str(self._config["listeners"]).split(",")[0].split("//")[-1],
            is_stopping=self._stopping.is_set,
            functions=self._python_functions(),
        )
        if self._config["ksql.udfs.enabled"]:
            functions.load(self._services.functions, self._services.metastore, report)
        self._stack.callback(end_workers, session, str(self._services.functions.extensions))
        self._sweep()
        with self._knowing_functions():
            self._replay(report)
        self._finish_pending()
        self._check_stop()
        self._create_log_stream(report)
        queries.start_registered(report)
        if self._owns_spark and self._config["ksql.spark.warm.up.enabled"] and not queries.all():
            warm_up = WarmUp(
                session,
                admin,
                producer,
                self._services.config,
                topics=f"{self._transient_prefix()}warm_up_",
                checkpoints=checkpoints / "transient_warm_up",
                is_needed=lambda: not self._was_asked,
            )
            self._stack.callback(warm_up.stop)
            self._was_asked = False  # the stream over the processing log was our own statement
            warm_up.start()

    def _log_topic(self) -> str:
        given = self._config["ksql.logging.processing.topic.name"]
        return str(given or f"{self._config['ksql.service.id']}ksql_processing_log")

    def _processing_log(self, spark: SparkProcess, admin: KafkaAdmin) -> ProcessingLog:
        """The processing log (reference §5.8); where its topic is not there, it only counts."""
        properties = self._config
        topic = self._log_topic()
        if properties["ksql.logging.processing.topic.auto.create"] and admin.topic(topic) is None:
            replicas = properties["ksql.logging.processing.topic.replication.factor"]
            with contextlib.suppress(KsqlError):  # another server may just have made it
                admin.create_topic(topic, properties["ksql.logging.processing.topic.partitions"], replicas)
        assert spark.session is not None
        return ProcessingLog(
            spark.session,
            f"{topic}@{admin.servers}",
            topic if admin.topic(topic) is not None else None,
            {**properties.client_settings("producer"), "bootstrap.servers": admin.servers},
            shows_rows=properties["ksql.logging.processing.rows.include"],
        )

    def _create_log_stream(self, report: Report) -> None:
        """The stream over the processing log, where it is wanted and was not made before."""
        services = self._ready()
        if not self._config["ksql.logging.processing.stream.auto.create"]:
            return
        name = str(self._config["ksql.logging.processing.stream.name"])
        text = create_stream(name, self._log_topic())
        (statement,) = grammar.parse(text)
        if services.metastore.find(statement.name) is not None:
            return
        try:
            self.execute(Request(text))
        except KsqlError as error:
            log.error("the stream %s over the processing log was not made: %s", name, error)
            report(f"no stream {name} over the processing log: {error.message}")

    def _python_functions(self) -> PythonFunctions:
        """Where this server's user functions are; relative paths are below the data folder."""
        extensions = self._data_dir / str(self._config["ksql.extension.dir"])
        modules = tuple(self._config["ksql.extension.modules"])
        return PythonFunctions(extensions, modules, self._data_dir / "functions")

    def _user_functions(self) -> Mapping[str, Spec]:
        return self._services.metastore.functions() if self._services is not None else {}

    def _knowing_functions(self) -> contextlib.AbstractContextManager[None]:
        """Within it this server's user functions are known, to this thread."""
        return registry.scope(self._user_functions)

    def _setting(self, name: str) -> Any:
        """The server's value of a property, as ALTER SYSTEM left it."""
        return (self._services.config if self._services is not None else self._config)[name]

    def _client(self, client: config.Client, overrides: Mapping[str, Any]) -> Mapping[str, str]:
        """Settings of a Kafka client on the JVM."""
        return self._ready().config.with_values(overrides).client_settings(client)

    def _broker(self, report: Report) -> str:
        given = self._config["bootstrap.servers"]
        if self._config.is_set("bootstrap.servers") and given:
            report(f"connecting to Kafka at {given}")
            return str(given)
        broker = EmbeddedBroker(self._data_dir / "kafka", report=report)
        self._stack.callback(broker.stop)
        self._check_stop()  # after the callback: a stop() from now on ends the start
        broker.start()
        report(f"Kafka runs at {broker.bootstrap_servers}, data in {broker.data_dir}")
        return broker.bootstrap_servers

    def _check_stop(self) -> None:
        if self._stopping.is_set():
            raise KsqlError("STOPPED")

    def _sweep(self) -> None:
        """Remove what push queries of a run that was killed have left."""
        services = self._ready()
        prefix = self._transient_prefix()
        left = [name for name in services.admin.topics() if name.startswith(prefix)]
        services.admin.delete_topics(left)
        for folder in (self._data_dir / "checkpoints").glob("transient_*"):
            shutil.rmtree(folder, ignore_errors=True)

    def _finish_pending(self) -> None:
        """Clean up after a statement during which the server was killed."""
        services = self._ready()
        left = self._pending.left(services.log.end())
        services.queries.remove_checkpoints(*left.queries)
        services.admin.delete_topics(name for name in left.topics if services.admin.topic(name) is not None)
        self._pending.done()

    def _transient_prefix(self) -> str:
        return f"_confluent-ksql-{self._config['ksql.service.id']}transient_"

    def _replay(self, report: Report) -> None:
        """Rebuild metastore and queries from the command log."""
        services = self._ready()
        count = 0
        for sequence, command in services.log.replay():
            self._check_stop()
            try:
                scope = Scope(
                    services,
                    services.metastore.copy(),
                    dict(command.properties),
                    {},
                    is_replay=True,
                    stored=_stored(command),
                )
                statement = grammar.parse_one(command.statement + ";")
                action = handle(statement, scope)
                if isinstance(action, Logged):
                    outcome = action.apply(sequence, command.starts)
                    self._note(command.id, outcome.message, outcome.query_id)
            except (KsqlError, grammar.ParseFailed) as error:
                log.error("command %d of the log cannot be carried out again: %s", sequence, error)
                report(f"skipped command {sequence} of the log, see the log: {command.statement[:60]}")
            count += 1
        if count:
            report(f"replayed {count} statements")

    def stop(self) -> None:
        """Stop everything, also a start that is under way; may be called again."""
        if self.state == "STARTING":
            artifacts.interrupt()
        self._stopping.set()
        self.state = "STOPPING"
        with self._lock:
            for stream in list(self._streams.values()):
                with contextlib.suppress(Exception):
                    stream.close()
            stack, self._stack = self._stack, contextlib.ExitStack()
        stack.close()

    def _ready(self) -> Services:
        if self._services is None:
            raise KsqlError("NOT_READY")
        return self._services

    # ---- statements ----------------------------------------------------------------------------------

    def execute(self, request: Request) -> list[dict[str, Any]]:
        """Run statements (not queries) in order, all or none of them where one is wrong.

        Returns:
            one entity for each statement that answers with one (reference §7.3).

        Raises:
            KsqlError: with ``statement``, and ``entities`` of the statements that ran before it.
        """
        with self._knowing_functions():
            return self._execute(request)

    def _execute(self, request: Request) -> list[dict[str, Any]]:
        services = self._ready()
        entities: list[dict[str, Any]] = []
        with self._lock:
            scope = self._scope(request)
            rest = self._checked(_parsed(request, scope), scope, entities)
            rest = self._run_until_waiting(rest, services, entities)
        while rest:
            waiting, *rest = rest
            assert isinstance(waiting.action, Immediate)
            with _located(waiting.statement, entities):
                # without the lock: what waits must not keep other requests waiting
                entity = waiting.action.run()
            if entity is not None:
                entities.append(entity)
            with self._lock:
                # what was true of the statements after it may be so no longer
                scope = Scope(
                    services, services.metastore.copy(), dict(waiting.properties), dict(waiting.variables)
                )
                rest = self._checked((checked.statement for checked in rest), scope, entities)
                rest = self._run_until_waiting(rest, services, entities)
        return entities

    def _checked(
        self, statements: Iterable[Statement], scope: Scope, entities: list[dict[str, Any]]
    ) -> list[_Checked]:
        """The actions of statements, checked one after the other in the sandbox of ``scope``."""
        checked = []
        for statement in statements:
            if isinstance(statement, (Query, PrintTopic)):
                raise KsqlError("QUERY_IN_KSQL", statement=statement.source_text)
            with _located(statement, entities), registry.scope(scope.metastore.functions):
                action = handle(statement, scope)
            checked.append(_Checked(statement, action, dict(scope.properties), dict(scope.variables)))
        return checked

    def _run_until_waiting(
        self, checked: list[_Checked], services: Services, entities: list[dict[str, Any]]
    ) -> list[_Checked]:
        """Carry out actions up to the first one that waits; that one and those after it are returned."""
        for i, (statement, action, properties, _) in enumerate(checked):
            if isinstance(action, Immediate) and action.waits:
                return checked[i:]
            with _located(statement, entities):
                if isinstance(action, Immediate):
                    entity = action.run()
                else:
                    entity = self._carry_out(statement, action, properties, services)
            if entity is not None:
                entities.append(entity)
        return []

    def _scope(self, request: Request) -> Scope:
        services = self._ready()
        properties = {config.canonical(k) or k: v for k, v in request.properties.items()}
        services.config.with_overrides(properties)  # raises for what may not be overridden
        variables = {name.upper(): value for name, value in request.variables.items()}
        return Scope(services, services.metastore.copy(), properties, variables)

    def _carry_out(
        self, statement: Statement, action: Logged, properties: Mapping[str, Any], services: Services
    ) -> dict[str, Any]:
        """Apply first, log then: a statement that fails never enters the log."""
        self._was_asked = True
        before = services.metastore.copy()
        try:
            sequence = services.log.end()
            self._pending.begin(sequence, action.traces(sequence))
            starts = action.prepare()
            outcome = action.apply(sequence, starts)
            text = action.statement or statement.source_text
            services.log.append(
                Command(action.command_id, text, properties, starts, outcome.query_id, outcome.plan)
            )
        except BaseException:
            services.metastore = before
            action.undo()
            self._pending.done()
            raise
        action.after()
        self._pending.done()
        self._note(action.command_id, outcome.message, outcome.query_id)
        text = statement.source_text + ";"
        return command_status(text, action.command_id, outcome.message, outcome.query_id, sequence)

    def _note(self, command_id: str, message: str, query_id: str | None) -> None:
        self._statuses[command_id] = {"status": "SUCCESS", "message": message, "queryId": query_id}

    # ---- queries -------------------------------------------------------------------------------------

    def query(self, request: Request) -> QueryStream:
        """Start a SELECT or PRINT.

        Raises:
            KsqlError: the text is not exactly one query, or it cannot run.
        """
        services = self._ready()
        self._was_asked = True
        with self._lock:
            scope = self._scope(request)
            statements = list(_parsed(request, scope))
            if len(statements) != 1:
                reason = f"Expected exactly one KSQL statement; found {len(statements)}"
                raise KsqlError("BAD_REQUEST", reason=reason)
        (statement,) = statements
        with _located(statement), self._knowing_functions():
            if isinstance(statement, PrintTopic):
                stream = self._print(statement, services)
            elif not isinstance(statement, Query):
                raise KsqlError(
                    "BAD_REQUEST",
                    reason="Only SELECT and PRINT can be run here: send other statements to /ksql.",
                )
            elif statement.query.emit is not None:
                stream = self._push(statement, scope)
            else:
                stream = self._pull(statement, scope)
        if stream.kind == "PUSH":
            self._streams[stream.query_id] = stream
        return stream

    def _print(self, statement: PrintTopic, services: Services) -> QueryStream:
        topic = services.admin.topic(statement.topic)
        if topic is None:
            near = nearest(statement.topic, services.admin.topics())
            hint = f"Did you mean '{near}'?" if near else "SHOW TOPICS lists what there is."
            raise KsqlError("TOPIC_UNKNOWN", topic=statement.topic, hint=hint)
        return PrintResult(
            services.admin,
            statement.topic,
            from_beginning=statement.from_beginning,
            every=statement.interval or 1,
            limit=statement.limit,
        )

    def _push(self, statement: Query, scope: Scope) -> QueryStream:
        services = scope.services
        running = [q for q in services.queries.all() if q.is_transient]
        most = int(scope.config["ksql.max.push.queries"])
        if len(running) >= most:
            raise KsqlError("PUSH_LIMIT", limit=most)
        bound = analyzer.bind_push(statement.query, scope.metastore, scope.config)
        name = leaves(bound.root)[0].source.name
        query_id = f"transient_{name}_{random.getrandbits(62)}"
        topic = self._transient_prefix() + query_id.removeprefix("transient_")
        plan = lower_transient(bound.root, bound.output, topic, scope.config, query_id)
        check_runnable(plan)
        for source in plan.sources:
            services.admin.require_topic(source.topic)
        services.admin.create_topic(topic, 1)

        def clean_up() -> None:
            self._streams.pop(query_id, None)
            services.admin.delete_topics([topic])

        query = RunningQuery(
            id=query_id,
            statement=statement.source_text + ";",
            plan=plan,
            starts=start_offsets(plan, scope),
            properties=dict(scope.properties),
            sink_partitions=1,
            is_transient=True,
            logical=bound,
        )
        try:
            services.queries.start_new(query)
            return PushResult(query, services.queries, bound.output, services.admin, bound.limit, clean_up)
        except BaseException:
            services.queries.stop(query_id, drop_state=True)
            clean_up()
            raise

    def _pull(self, statement: Query, scope: Scope) -> QueryStream:
        services = scope.services
        bound = analyzer.bind_pull(statement.query, scope.metastore, scope.config)
        assert self._spark is not None and self._spark.session is not None
        session = self._spark.session
        consumer = self._client("consumer", scope.properties)
        if isinstance(bound, BatchQuery):
            return batch.run(
                bound, services.views, session, consumer, PULL_TIMEOUT_S, scope.config.__getitem__
            )
        if bound.source.is_table:
            return pull.run(bound, services.views, session, PULL_TIMEOUT_S)
        root: Any = Source(bound.source, bound.source.name)
        if bound.predicate is not None:
            root = Filter(root, bound.predicate)
        root = Project(root, (), bound.items)
        plan = lower_transient(root, root.schema.columns, "pull", scope.config)
        check_runnable(plan)
        return pull.run_on_stream(
            plan, root.schema.columns, session, consumer, bound.limit, bound.offset or 0
        )

    def close_query(self, query_id: str) -> bool:
        """End a query stream; False where no such query runs."""
        stream = self._streams.pop(query_id, None)
        if stream is None:
            return False
        stream.close()
        return True

    # ---- facts ---------------------------------------------------------------------------------------

    def info(self) -> dict[str, Any]:
        """Version, ids and status (GET /info)."""
        return {
            "version": __version__,
            "kafkaClusterId": self._cluster_id,
            "ksqlServiceId": str(self._config["ksql.service.id"]),
            "serverStatus": self.state,
        }

    def health(self) -> dict[str, Any]:
        """The body of GET /healthcheck."""
        kafka = False
        if self._services is not None:
            with contextlib.suppress(KsqlError):
                kafka = bool(self._services.admin.cluster_id())
        ok = self.state == "RUNNING"
        details = {"metastore": ok, "kafka": kafka, "commandRunner": ok}
        return {
            "isHealthy": all(details.values()),
            "details": {name: {"isHealthy": good} for name, good in details.items()},
            "serverState": "READY" if ok else self.state,
        }

    def statuses(self) -> dict[str, str]:
        """Command id -> status."""
        return {command: s["status"] for command, s in self._statuses.items()}

    def status(self, type: str, entity: str, action: str) -> dict[str, Any] | None:
        """Status, message and query id of one command; None where unknown."""
        return self._statuses.get(f"{type}/{entity}/{action}")

    def is_valid_property(self, name: str) -> bool:
        """Whether SET takes this property.

        Raises:
            KsqlError: PROPERTY_UNKNOWN or PROPERTY_FIXED, saying why not.
        """
        entry = config.find(name)
        if not entry.editable:
            raise KsqlError("PROPERTY_FIXED", name=name)
        return True


def schema_registry(config: Config) -> SchemaRegistry | None:
    """The schema registry of ``config``, None where there is none.

    Raises:
        KsqlError: PROPERTY_INVALID.
    """
    url, prefix = str(config["ksql.schema.registry.url"] or "").strip(), "ksql.schema.registry."
    if not url:
        return None
    # its client takes long to load, and most servers have no registry
    from ksql_spark.kafka.schema_registry import ConfluentRegistry

    settings = {name.removeprefix(prefix): str(v) for name, v in config.with_prefix(prefix).items()}
    return ConfluentRegistry(url, settings)


class _Checked(NamedTuple):
    """A statement that passed, its action, and the properties and variables in force after it."""

    statement: Statement
    action: Action
    properties: dict[str, Any]
    variables: dict[str, str]


def _parsed(request: Request, scope: Scope) -> list[Statement]:
    """The statements of a request; a syntax error as a KsqlError."""
    is_substituting = bool(scope.config["ksql.variable.substitution.enable"])
    try:
        return grammar.parse(request.text, request.variables, substitution=is_substituting)
    except grammar.ParseFailed as failed:
        raise KsqlError("SYNTAX", reason=str(failed), statement=failed.text) from None


def _stored(command: Command) -> StoredQuery | None:
    """The query that a command of the log started; None where the log does not have its plan."""
    if command.plan is None or command.query_id is None:
        return None
    logical, plan = codec.decode(command.plan)
    return StoredQuery(command.query_id, logical, plan)


@contextlib.contextmanager
def _located(statement: Statement, entities: list[dict[str, Any]] | None = None) -> Iterator[None]:
    """Give errors the statement's text, and the entities of those that ran before."""
    try:
        yield
    except KsqlError as error:
        if error.statement is None:
            error.statement = statement.source_text
        error.args = (error.message,)
        error.entities = list(entities or [])
        raise
    except RecursionError:
        deep = KsqlError(
            "INVALID_STATEMENT",
            reason="The statement has too long a chain of operators, or is nested too deeply.",
            hint="Use IN for many values, or several statements one after the other.",
            statement=statement.source_text,
        )
        deep.entities = list(entities or [])
        raise deep from None


__all__ = ["Engine", "QueryStream", "Request", "ResultColumn", "Row"]
