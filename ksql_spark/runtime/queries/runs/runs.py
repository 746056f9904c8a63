"""Starts and ends the Spark queries of a KSQL query."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor, wait

from ksql_spark.errors import KsqlError
from ksql_spark.plan.distribution import waits_for
from ksql_spark.plan.stages import transactional_id
from ksql_spark.runtime.errors import USER, QueryError
from ksql_spark.runtime.queries import exactly_once
from ksql_spark.runtime.queries.environment import Environment
from ksql_spark.runtime.queries.managed import ManagedQuery, internal_topics, log_failure
from ksql_spark.runtime.queries.runs.launcher import Launcher
from ksql_spark.runtime.queries.runs.session_rows import delete_session_rows
from ksql_spark.runtime.queries.runs.takeovers import Takeovers
from ksql_spark.runtime.queries.states import State
from ksql_spark.runtime.queries.topics import Loss
from ksql_spark.spark import jvm

log = logging.getLogger(__name__)

#: how many queries to end in parallel
STOP_THREADS = 32
#: a value of ksql.on.partitions.change
REBUILD = "rebuild"


class QueryRuns:
    """Starts and ends Spark queries, for the query manager, which decides when. Thread-safe.

    Args:
        environment: what queries share.
        queries: returns the manager's queries.
        failed: called in another thread with a query that has started but cannot continue, and the cause.
    """

    def __init__(
        self,
        environment: Environment,
        queries: Callable[[], list[ManagedQuery]],
        failed: Callable[[ManagedQuery, Exception], None],
    ) -> None:
        self._environment = environment
        self._admin = environment.admin
        self._checkpoints = environment.checkpoints
        self._failed = failed
        self._lock = threading.RLock()
        self._closing = threading.Event()
        self.takeovers = Takeovers(environment)
        self._launcher = Launcher(
            environment,
            runs=lambda: [run for query in queries() for run in query.spark],
            is_closing=self._closing.is_set,
        )

    def close(self) -> None:
        """Start nothing more, because Spark is stopping, too."""
        self._closing.set()

    def note_error(self, query: ManagedQuery, message: str, kind: str) -> None:
        """Add an error to a query's latest ones; ``kind``: USER, SYSTEM or UNKNOWN."""
        query.errors.append(QueryError(int(time.time() * 1000), message, kind))
        while len(query.errors) > int(self._environment.setting(query, "ksql.query.error.max.queue.size")):
            query.errors.popleft()

    # ---- start ---------------------------------------------------------------------------------------

    def start(self, query: ManagedQuery) -> bool:
        """Start the Spark queries of a query, from its checkpoints if there are any.

        Returns:
            whether all have started; if not, start_rest() starts the others.

        Raises:
            KsqlError: as QueryManager.start(); nothing of the query is running.
        """
        self._checkpoints.keep(query.id)
        # this stops threads of an earlier start: their token is no longer in the set
        query.loading = set()
        self.end(query)  # leftovers of an earlier start, from when Spark's JVM was considered gone
        self.takeovers.begin(query)
        self._create_internal_topics(query)
        if not query.is_transient:
            self._fit_topics(query)
        try:
            until = self.takeovers.until(query)
            is_all = until is None and not self._has_history(query)
            for i, _ in enumerate(query.plan.stages if is_all else query.plan.stages[:1]):
                query.spark.append(self._launcher.launch(query, i, until))
        except Exception:
            self.end(query)
            raise
        return is_all

    def start_rest(self, query: ManagedQuery) -> None:
        """Start what start() has left, in another thread: a version that is being warmed up once it has read
        its history, and each further sub-topology once the one before it has."""
        token = object()
        query.loading.add(token)
        threading.Thread(
            target=self._start_rest, args=(query, token), name=f"backfill-{query.id}", daemon=True
        ).start()

    def _create_internal_topics(self, query: ManagedQuery) -> None:
        partitions = query.internal_partitions
        replicas = int(self._environment.setting(query, "ksql.streams.replication.factor"))
        for stage in query.plan.inner:
            if self._admin.topic(stage.sink.topic) is None:
                config = {"cleanup.policy": "compact" if stage.sink.is_table else "delete"}
                config |= {"retention.ms": "-1"}
                self._admin.create_topic(stage.sink.topic, partitions, replicas, config)
        for producer in query.plan.transactional_ids:
            exactly_once.create_commits_topic(self._admin, producer, replicas)

    def _fit_topics(self, query: ManagedQuery) -> None:
        """Call QueryTopics.fit, and record losses.

        Raises:
            KsqlError: as QueryTopics.fit; PARTITIONS_CHANGED unless ksql.on.partitions.change is rebuild.
        """
        try:
            losses = self._losses(query)
        except KsqlError as error:
            rebuilds = self._environment.setting(query, "ksql.on.partitions.change") == REBUILD
            if error.condition != "PARTITIONS_CHANGED" or not rebuilds:
                raise
            log.warning("recomputing the results of query %s: %s", query.id, error.message)
            self.note_error(query, f"The query recomputes its results. {error.message}", USER)
            self.reset(query)
            self._create_internal_topics(query)
            losses = self._losses(query)
        for loss in losses:
            log.warning("query %s continues without lost records: %s", query.id, loss.text)
            self.note_error(query, f"Records are lost; the query continues. {loss.text}", USER)
            if (report := self._environment.processing_log) is not None:
                report.lost(query.id, loss.topic, loss.text)

    def _losses(self, query: ManagedQuery) -> list[Loss]:
        query.topics = None
        return self._environment.topics(query).fit(
            accepts_loss=self._environment.skips_losses(query),
            sink_partitions=query.sink_partitions,
            checks_ends=query.retries.in_a_row > 0 or query.accepts_loss,
        )

    def _has_history(self, query: ManagedQuery) -> bool:
        """Whether sub-topologies must start one after another, so that each reads all of its history.

        Results of a transaction become visible later than the records that they were made of. A join with
        such results must not start during a backlog: it would run ahead in its other topics.
        """
        plan = query.plan
        is_joined = any(map(waits_for, plan.stages))
        if plan.transactional_ids and is_joined:
            return True
        if not plan.by_event_time or not plan.inner:
            return False
        return not self._checkpoints.is_loaded(query)

    def _start_rest(self, query: ManagedQuery, token: object) -> None:
        """Start each further stage once the one before it has committed all that is in its topics now."""
        try:
            if not self._end_warm_up(query, token):
                return
            for i in range(1, len(query.plan.stages)):
                if not self._await(query, token, i - 1, self._ends(query, i - 1)):
                    return
                with self._lock:
                    if not self._is_current(query, token):
                        return
                    query.spark.append(self._launcher.launch(query, i))
            self._checkpoints.set_loaded(query)
        except Exception as error:
            with query.control:
                if token in query.loading:  # otherwise it was stopped, or Spark has exited
                    log_failure(log, "query %s did not continue after it had read its history", query, error)
                    self._failed(query, error)
        finally:
            with self._lock:
                query.loading.discard(token)

    def _await(
        self, query: ManagedQuery, token: object, number: int, there: Mapping[tuple[str, int], int]
    ) -> bool:
        """Wait until a stage has committed all records before ``there``; False if the query ends before."""
        while not self._checkpoints.has_reached(query, number, there):
            with self._lock:
                if not self._is_current(query, token) or not query.spark[-1].is_active:
                    return False
            if self._closing.wait(0.05):
                return False
        return True

    def _end_warm_up(self, query: ManagedQuery, token: object) -> bool:
        """Let a new version write once it has read what the old one had; False if the query ends before."""
        until = self.takeovers.until(query)
        if until is None:
            return True
        there = {(topic, int(p)): end for topic, ends in until.items() for p, end in ends.items()}
        if not self._await(query, token, 0, there):
            return False
        with self._lock:
            if not self._is_current(query, token):
                return False
            self.end(query)
            self.takeovers.end_warm_up(query)
            query.spark.append(self._launcher.launch(query, 0))
        log.info("query %s has read its history", query.id)
        return True

    def _is_current(self, query: ManagedQuery, token: object) -> bool:
        """Whether a query has been neither stopped nor restarted since its ``loading`` got ``token``."""
        return token in query.loading and bool(query.spark) and query.state is State.RUNNING

    def _ends(self, query: ManagedQuery, number: int) -> Mapping[tuple[str, int], int]:
        """The ends of a stage's topics, for readers of committed records."""
        return self._admin.committed_ends(*self._admin.expanded(query.plan.stages[number].topics))

    # ---- end -----------------------------------------------------------------------------------------

    def drain_and_end(self, *queries: ManagedQuery, within_s: float | None = None) -> bool:
        """End queries once everything that they have read is committed, so that no work is repeated.

        Args:
            queries: which ones.
            within_s: the time limit in seconds, because Spark cannot end queries while it waits for Kafka;
                None: wait.

        Returns:
            whether all have ended.
        """
        began = time.monotonic()
        for query in queries:
            self._drain(query)
        deadline = began + self.stop_timeout_s()

        def end(query: ManagedQuery) -> None:
            self.end(query, 0.0 if query.is_transient else max(0.0, deadline - time.monotonic()))

        pool = ThreadPoolExecutor(max_workers=STOP_THREADS, thread_name_prefix="query-stop")
        ends = [pool.submit(end, query) for query in queries]
        remaining_s = None if within_s is None else max(0.0, began + within_s - time.monotonic())
        done, late = wait(ends, remaining_s)
        pool.shutdown(wait=False, cancel_futures=True)
        for ended in done:
            ended.result()
        return not late

    def end(self, query: ManagedQuery, timeout_s: float = 0.0) -> None:
        """End a query, once it is drained or after ``timeout_s`` seconds."""
        with self._lock:
            running, query.spark = query.spark, []
        deadline = time.monotonic() + timeout_s
        for run in running:
            try:
                is_done = run.stop(deadline - time.monotonic())
            except Exception as error:
                self._not_stopped(query, error)
                continue
            if timeout_s and not is_done:
                log.warning(
                    "query %s was stopped before it had processed all records that it had read",
                    query.id,
                    extra={"query": query.id},
                )

    def forget(self, query: ManagedQuery) -> bool:
        """Forget what ran of a query on a JVM that has exited; returns whether anything did."""
        with self._lock:
            running, query.spark, query.loading = query.spark, [], set()
        return bool(running)

    def reset(self, query: ManagedQuery) -> None:
        """Remove the state and internal topics of a stopped query, so that it starts where it first started.

        It reads a recreated topic from its beginning, and repartitions one with new partitions by key.

        Raises:
            KsqlError: KAFKA_REFUSED, BROKER_UNREACHABLE; the state is gone in any case.
            OSError: the state's store is unavailable.
        """
        checkpoints = [self._checkpoints.of(query, number) for number, _ in enumerate(query.plan.stages)]
        moved = [checkpoint.moved_or_none() for checkpoint in checkpoints]
        topics = self._environment.topics(query)
        noted = topics.noted_for_rebuild(self._admin.identities(topics.names))
        notes = self.takeovers.notes(query)
        self.remove_state(query)
        window = query.plan.sink.window
        if window is not None and window.kind in ("SESSION", "SLIDING"):
            writer = transactional_id(self._environment.service_id, query.id, len(query.plan.inner))
            delete_session_rows(self._admin, query.plan.sink.topic, writer)
        self._checkpoints.keep(query.id)
        self.takeovers.restore(query, notes)
        for checkpoint, places in zip(checkpoints, moved, strict=True):
            for topic, offsets in places.items():
                checkpoint.move(topic, offsets)
        topics.note(noted)

    def remove_state(self, query: ManagedQuery) -> None:
        """Remove the checkpoints and internal topics of a stopped query."""
        self._checkpoints.remove(query.id)
        self._admin.delete_topics(internal_topics(query.plan))

    def _drain(self, query: ManagedQuery) -> None:
        """Make a query stop reading."""
        for run in query.spark:
            try:
                run.drain()
            except Exception as error:
                self._not_stopped(query, error)

    def _not_stopped(self, query: ManagedQuery, error: Exception) -> None:
        """Report that a Spark query could not be stopped; if the JVM is gone, nothing runs any more."""
        if not jvm.is_gone(error) and not self._closing.is_set():
            log_failure(log, "query %s was not stopped properly", query, error)

    def stop_timeout_s(self) -> float:
        """The time that queries may take to finish what they have read, seconds."""
        return float(self._environment.config()["ksql.query.stop.timeout.ms"]) / 1000


__all__ = ["QueryRuns"]
