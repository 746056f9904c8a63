"""The health of a running engine's parts, each checked on its own (GET /healthcheck)."""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Generic, NamedTuple, TypeVar

from ksql_spark.entities.servers import (
    CommandRunnerHealth,
    HealthCheckResponse,
    HealthDetails,
    LakesHealth,
    PartHealth,
    QueriesHealth,
    ServiceHealth,
    SkippedCommand,
)
from ksql_spark.errors import KsqlError
from ksql_spark.kafka.admin import KafkaAdmin
from ksql_spark.lake import origins, sinks
from ksql_spark.runtime.queries.states import State
from ksql_spark.statements import Services

#: how long a part may take to respond; a slower part is unhealthy
DEADLINE_S = 1.0

log = logging.getLogger(__name__)

Answer = TypeVar("Answer")


class Probe(Generic[Answer]):
    """Checks a part that may hang in its own thread, one check at a time.

    Args:
        name: the part's name.
        ask: the check.
    """

    def __init__(self, name: str, ask: Callable[[], Answer]) -> None:
        self._ask = ask
        self._name = name
        self._lock = threading.Lock()
        self._answer: Future[Answer] | None = None
        self._questions: queue.SimpleQueue[Future[Answer] | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None

    def begin(self) -> Future[Answer]:
        """Start a check unless one is still running; return the future of its result."""
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._serve, name=f"health-{self._name}", daemon=True)
                self._thread.start()
            if self._answer is None or self._answer.done():
                self._answer = Future()
                self._questions.put(self._answer)
            return self._answer

    def close(self) -> None:
        """Start no more checks; a running one may finish."""
        self._questions.put(None)

    def _serve(self) -> None:
        while (answer := self._questions.get()) is not None:
            try:
                answer.set_result(self._ask())
            except Exception as error:  # a part that cannot respond is unhealthy, whatever the reason
                log.warning("health: %s is unhealthy: %s", self._name, error)
                answer.set_exception(error)


class _Queries(NamedTuple):
    """The persistent queries that do not run: id -> why they failed; ids of those that are still starting."""

    failed: dict[str, str]
    starting: tuple[str, ...]


class Health:
    """Checks the health of an engine's parts, all at once.

    Args:
        services: the parts.
        admin: a client of the same cluster, with a short timeout.
        deadline_s: how long a part may take, seconds.
    """

    def __init__(self, services: Services, admin: KafkaAdmin, deadline_s: float = DEADLINE_S) -> None:
        self._services = services
        self._admin = admin
        self._deadline_s = deadline_s
        self._parts = {
            "metastore": Probe("metastore", self._metastore),
            "kafka": Probe("kafka", self._kafka),
            "command runner": Probe("command runner", self._command_runner),
            "spark": Probe("spark", self._spark),
        }
        self._queries = Probe("queries", self._not_running)
        self._registry = Probe("registry", self._registry_problem)

    def check(self) -> HealthCheckResponse:
        """The health of a running server, which is healthy if all its parts are.

        It returns within ``deadline_s``.
        """
        deadline = time.monotonic() + self._deadline_s
        answers = {name: probe.begin() for name, probe in self._parts.items()}
        not_running = self._queries.begin()
        has_registry = self._services.registry is not None and self._services.registry.has_schemas()
        registry = self._registry.begin() if has_registry else None
        parts = {name: _in_time(answer, deadline) is True for name, answer in answers.items()}
        commands = self._services.commands
        parts["command runner"] &= parts["kafka"] and commands.newer is None
        queries = _in_time(not_running, deadline)
        failed, starting = queries or _Queries({}, ())
        # of the threads that restart queries
        problem = self._services.queries.watcher.problem
        are_running = queries is not None and not failed and not starting and problem is None
        skipped = tuple(
            SkippedCommand(r.topic, r.partition, r.offset, r.reason, r.statement, r.remedy)
            for r in commands.skipped
        )
        details = HealthDetails(
            metastore=PartHealth(parts["metastore"]),
            kafka=PartHealth(parts["kafka"]),
            command_runner=CommandRunnerHealth(parts["command runner"], skipped),
            spark=ServiceHealth(parts["spark"], self._services.spark.problem()),
            queries=QueriesHealth(
                is_healthy=are_running,
                in_error=tuple(failed),
                reasons=failed,
                starting=starting,
                problem=problem,
            ),
            lakes=(lakes := self._lakes_health()),
            # the server works without these
            registry=self._registry_health(registry, deadline),
            connect=self._connect_health(),
        )
        is_well = are_running and all(parts.values()) and (lakes is None or lakes.is_healthy)
        return HealthCheckResponse(is_healthy=is_well, details=details, server_state="READY")

    def _lakes_health(self) -> LakesHealth | None:
        """The sinks and sources of lakes that fail on this server; None if there are none at all."""
        services = self._services
        store = services.catalog.published
        if not store.sinks() and not store.origins():
            return None
        writing = {sink.name: services.sink_status(sink.name) for sink in store.sinks() if not sink.is_paused}
        reading = {name: services.origin_status(name) for name in store.origins()}
        failed = {name: s.reason or "" for name, s in writing.items() if s.state == sinks.ERROR}
        failed |= {name: s.reason or "" for name, s in reading.items() if s.state == origins.ERROR}
        return LakesHealth(is_healthy=not failed, reasons=failed)

    def _registry_health(self, answer: Future[str] | None, deadline: float) -> ServiceHealth | None:
        if answer is None:
            return None
        problem = _in_time(answer, deadline)
        why = f"It did not respond within {self._deadline_s:g} s." if problem is None else problem or None
        return ServiceHealth(why is None, why)

    def _connect_health(self) -> ServiceHealth | None:
        if not self._services.connect.is_in_use():
            return None
        problem = self._services.connect.problem()
        return ServiceHealth(problem is None, problem)

    def close(self) -> None:
        """Start no more checks."""
        for probe in self._parts.values():
            probe.close()
        self._queries.close()
        self._registry.close()

    def _registry_problem(self) -> str:
        """Return why the schema registry cannot be used; empty if it can."""
        registry = self._services.registry
        return (registry.problem() or "") if registry is not None else ""

    def _kafka(self) -> bool:
        """Whether the cluster responds."""
        try:
            return bool(self._admin.cluster_id())
        except KsqlError:
            return False

    def _metastore(self) -> bool:
        """Whether the metastore has all sources that queries read."""
        find = self._services.metastore.find
        return all(find(source.name) for q in self._services.queries.all() for source in q.plan.sources)

    def _command_runner(self) -> bool:
        """Whether the command log is readable, and this server executes its commands in time."""
        services = self._services
        if services.server.is_replaced():
            return False
        try:
            end, limit_s = services.log.end(), self._deadline_s / 2
            services.commands.wait_for(end - 1, limit_s, services.server.is_stopping)
        except KsqlError:
            return False
        return True

    def _spark(self) -> bool:
        """Whether Spark's process runs and answers."""
        return self._services.spark.process.answers()

    def _not_running(self) -> _Queries:
        """The persistent queries that are in ERROR, or that this server will start soon."""
        services = self._services
        queries = [query for query in services.queries.all() if not query.is_transient]
        failed = {query.id: query.why_failed for query in queries if query.state is State.ERROR}
        # with shared queries, a query may wait for a server that has yet to start
        waiting = queries if services.placement is None else []
        return _Queries(failed, tuple(query.id for query in waiting if query.state is State.REGISTERED))


def _in_time(answer: Future[Answer], deadline: float) -> Answer | None:
    """The result; None if it does not arrive before ``deadline`` (monotonic, seconds), or is an error."""
    try:
        return answer.result(max(0.0, deadline - time.monotonic()))
    except Exception:  # a TimeoutError, or something that the probe has logged
        return None
