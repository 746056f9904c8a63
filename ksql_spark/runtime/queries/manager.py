"""The queries of a server: operations on them, and events that happen to them, change their state here."""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from types import MappingProxyType
from typing import Any

from ksql_spark.errors import KsqlError
from ksql_spark.kafka.transactions import fence
from ksql_spark.runtime.cluster.placement import Placement
from ksql_spark.runtime.errors import SYSTEM, classify, reason
from ksql_spark.runtime.queries.environment import Environment
from ksql_spark.runtime.queries.figures import QueryFigures
from ksql_spark.runtime.queries.managed import ManagedQuery, log_failure
from ksql_spark.runtime.queries.registry import QueryRegistry
from ksql_spark.runtime.queries.runs.runs import QueryRuns
from ksql_spark.runtime.queries.states import Event, State, TransitionRefused
from ksql_spark.runtime.queries.watching.removals import PendingRemovals
from ksql_spark.runtime.queries.watching.spark_loss import SparkLoss
from ksql_spark.runtime.queries.watching.watcher import QueryWatcher
from ksql_spark.spark import jvm

log = logging.getLogger(__name__)

#: how long Spark may take on shutdown to stop queries that have processed what they had read, seconds
END_S = 1.5


class QueryManager(QueryRegistry):
    """Starts, stops and retries the queries of this server. Thread-safe.

    Args:
        environment: what queries share.
        placement: decides which queries are this server's, or None for all.
    """

    def __init__(self, environment: Environment, placement: Placement | None = None) -> None:
        super().__init__()
        self.environment = environment
        self._placement = placement
        self.checkpoints = environment.checkpoints
        self._admin = environment.admin
        self.figures = QueryFigures(environment.processing_log)
        #: nothing starts during the replay of the command log
        self._replaying = True
        self._closing = threading.Event()
        self._runs = QueryRuns(environment, queries=self.managed, failed=self._fail_resumption)
        self.takeovers = self._runs.takeovers
        self.spark_loss = SparkLoss(self, self._runs, self.halt, self.start_or_fail)
        self.removals = PendingRemovals()
        self.watcher = QueryWatcher(self, self._runs, environment, self.removals, self.figures)
        self.watcher.start()

    def is_here(self, query: ManagedQuery) -> bool:
        """Whether a query belongs to this server."""
        return query.is_transient or self._placement is None or self._placement.owns(query.id)

    def start_new(self, query: ManagedQuery) -> None:
        """Start a new query; first remove what an unlogged query with its id left behind.

        If it does not start, drop() removes what it leaves behind.

        Raises:
            KsqlError: as start().
        """
        if self.is_here(query):
            self._runs.remove_state(query)
        self.start(query)

    def start(self, query: ManagedQuery) -> None:
        """Start ``query``, from its checkpoint if there is one, and keep it running.

        Raises:
            KsqlError: QUERY_FAILED if Spark refuses the query; STATE_INCOMPATIBLE, CHECKPOINT_DAMAGED;
                SOURCE_TOPIC_DELETED, DATA_LOST.
            TransitionRefused: it is paused or has ended.
        """
        if not self.is_here(query):
            query.lifecycle.apply(Event.LEAVE)
            return
        query.lifecycle.check(Event.START)
        is_all = self._runs.start(query)
        query.retries.started_at = time.monotonic()
        try:
            query.lifecycle.apply(Event.START)
        except TransitionRefused:
            self._runs.end(query)
            raise
        query.accepts_loss = False
        self._list(query)
        if not is_all:
            self._runs.start_rest(query)

    def state_of(self, query: ManagedQuery) -> tuple[str, str | None]:
        """Return a query's state, and its host if that is another server, according to that server's note.

        Raises:
            KsqlError: as KafkaAdmin.
        """
        if self._placement is None or self.is_here(query):
            return query.state, None
        state, host = self._placement.state_of(query.id, self._placement.notes())
        return State.PAUSED if query.state is State.PAUSED else state, host

    def _fail_resumption(self, query: ManagedQuery, cause: Exception) -> None:
        """End the running parts of a query that QueryRuns could not continue, and handle its failure."""
        if not jvm.is_gone(cause):  # otherwise the supervisor will notice it
            self._runs.drain_and_end(query)
        self.failed(query, cause)

    def end_transactions(self, *transactional_ids: str) -> None:
        """Abort transactions that are still open from queries that no longer run."""
        for transactional_id in transactional_ids:
            fence(self._admin.servers, transactional_id, self._admin.settings)

    @property
    def is_replaying(self) -> bool:
        """Whether the command log is being replayed: afterwards start_registered() starts queries."""
        return self._replaying

    def end_replay(self) -> None:
        """Start queries at once that are added from now on; start_registered() starts the existing ones."""
        self._replaying = False

    def begin(self, query: ManagedQuery) -> None:
        """Add a new query and start it; if it does not start, it is retried like a failed one.

        With shared queries, its owner starts it soon after: other servers wait for this one to follow the
        command log, and the first query of a JVM takes seconds to start.

        Raises:
            KsqlError: as start(); the query exists in ERROR.
        """
        with query.control:
            self._register(query)
            if self._placement is not None:
                self._placement.take_soon()
            elif not self._replaying:
                self._start_registered(query, self.start_new)

    def take_over(self, query: ManagedQuery, old: ManagedQuery) -> None:
        """Run ``query`` in place of ``old``, on its checkpoints; if ``old`` is paused, so is ``query``.

        Raises:
            KsqlError: as start(); the query exists in ERROR. Spark may not be able to resume from the
                checkpoints with the new plan.
        """
        with old.control, query.control:
            self._runs.drain_and_end(old)
            self._register(query)
            if old.lifecycle.apply(Event.END) is State.PAUSED:
                query.lifecycle.apply(Event.PAUSE)
            elif self._placement is not None:
                self._placement.take_soon()
            elif not self._replaying:
                self._start_registered(query, self.start)

    def _register(self, query: ManagedQuery) -> None:
        self._list(query)
        if self._placement is not None:
            self._placement.slots.add(query.id, self._beside(query))

    def leave(self, query: ManagedQuery, *, at_once: bool) -> None:
        """Stop a query that now belongs to another server; its state stays.

        Args:
            query: which.
            at_once: end it in the middle of a batch, because that server may already run it.
        """
        with query.control:
            if not self.has(query):
                return  # it has been dropped meanwhile
            if at_once:
                self._runs.end(query)
            else:
                self._runs.drain_and_end(query)
            query.loading, query.rows = set(), None
            query.lifecycle.apply(Event.LEAVE)
            query.retries.forget()

    def _start_registered(self, query: ManagedQuery, start: Callable[[ManagedQuery], None]) -> None:
        try:
            start(query)
        except Exception as error:
            self.failed(query, error)
            if isinstance(error, KsqlError):
                raise
            raise KsqlError("QUERY_FAILED", id=query.id, reason=reason(error)) from error

    def start_registered(self, report: Callable[[str], None]) -> None:
        """Start the registered queries; one that does not start is retried like a failed one."""
        self.end_replay()
        waiting = [q for q in self.all() if q.state is State.REGISTERED and self.is_here(q)]

        def start(numbered: tuple[int, ManagedQuery]) -> None:
            i, query = numbered
            if self._closing.is_set():
                return
            with query.control:
                if self.find(query.id) is not query or query.state is not State.REGISTERED:
                    return  # a statement was faster
                report(f"starting query {i} of {len(waiting)}: {query.id}")
                self.start_or_fail(query)

        with ThreadPoolExecutor(max_workers=4, thread_name_prefix="query-start") as pool:
            list(pool.map(start, enumerate(waiting, 1)))

    def kill(self, query_id: str) -> ManagedQuery | None:
        """End a query at once, in the middle of a batch; its state stays for drop()."""
        query = self.find(query_id)
        if query is not None:
            self._kill(query)
        return query

    def _kill(self, query: ManagedQuery) -> None:
        with query.control:
            self._remove(query)
            self._runs.end(query)

    def _remove(self, query: ManagedQuery) -> None:
        """Remove a query from the manager."""
        if self._take_out(query) and self._placement is not None and not self._closing.is_set():
            self._placement.remove(query.id)
        self.figures.forget(query.id)

    def start_or_fail(self, query: ManagedQuery) -> None:
        """Start a query; if it does not start, it is in ERROR and will be retried."""
        try:
            self.start(query)
        except TransitionRefused as refused:  # it has been paused or dropped meanwhile
            log.info("not started: %s", refused, extra={"query": query.id})
        except Exception as error:
            if not isinstance(error, (KsqlError, OSError)):  # the state's store may be unavailable
                log_failure(log, "query %s did not start", query, error)
            self.failed(query, error)

    def drop(self, query: ManagedQuery) -> None:
        """Kill a query if it still runs, and remove its checkpoints, their state, and its internal topics.

        A push query that shares its Spark query ends alone; the last one takes the Spark query with it.
        """
        runs = self._let_go(query)
        if runs is None:
            log.info("query %s has ended", query.id, extra={"query": query.id})
            return
        query = runs
        is_here = self.is_here(query)
        if self.has(query):
            self._kill(query)
            log.info("query %s has ended", query.id, extra={"query": query.id})
        if not is_here:  # its owner cleans up, unless it has just died
            self.removals.add(query.id, lambda: self._remove_all(query))
            return
        try:
            self._remove_all(query)
        except (KsqlError, OSError):
            self.removals.add(query.id, lambda: self._remove_all(query))
            raise

    def _remove_all(self, query: ManagedQuery) -> None:
        """Clean up after a query that has ended.

        Its run has ended its transaction, unless its JVM is gone.
        """
        self.end_transactions(*self._opened(query))
        self.checkpoints.remove(query.id)
        self._admin.delete_topics(query.own_topics)

    def _opened(self, query: ManagedQuery) -> Iterator[str]:
        """The transactional ids that its stages have used: none where the cluster gives no transactions."""
        for number, transactional_id in enumerate(query.plan.transactional_ids):
            noted: str | None = transactional_id
            with contextlib.suppress(KsqlError):  # the note is damaged
                noted = self.checkpoints.of(query, number).transactional_id
            if noted == transactional_id:
                yield transactional_id

    def stop(self, query_id: str) -> None:
        """Drain a query, then end it; its state stays."""
        query = self.find(query_id)
        if query is not None:
            with query.control:
                self._remove(query)
                self._runs.drain_and_end(query)

    def pause(self, *query_ids: str) -> None:
        """Stop queries, but keep them and their state until resume()."""
        with contextlib.ExitStack() as locks:
            queries = [query for query in map(self.find, query_ids) if query is not None]
            for query in queries:
                locks.enter_context(query.control)
            running = [query for query in queries if query.lifecycle.allows(Event.PAUSE)]
            for query in running:
                query.lifecycle.apply(Event.PAUSE)
            self._runs.drain_and_end(*running)

    def resume(self, *query_ids: str, bounds: Mapping[str, Any] = MappingProxyType({})) -> None:
        """Continue paused or halted queries; one that does not start is in ERROR and is retried.

        Args:
            query_ids: the queries.
            bounds: of their states from now on (state_bounds.BOUNDS); others stay.
        """
        for query in filter(None, map(self.find, query_ids)):
            with query.control:
                query.resumed_with = {**query.resumed_with, **bounds}
                is_halted = query.is_halted
                if not is_halted and query.state is not State.PAUSED:
                    continue
                query.lifecycle.apply(Event.RESUME)
                query.accepts_loss = is_halted
                if self._placement is not None:
                    self._placement.take_soon()
                elif not self._replaying:
                    self.start_or_fail(query)

    def restart(self, query_id: str) -> None:
        """Stop a query and start it again, for example with other settings; a paused query stays paused."""
        query = self.find(query_id)
        if query is not None:
            with query.control:
                with self.stopped(query):
                    pass
                if query.is_halted and self.has(query):  # perhaps the settings were the cause
                    self.start_or_fail(query)

    @contextlib.contextmanager
    def stopped(self, query: ManagedQuery) -> Iterator[None]:
        """A context in which a query does not run, and has committed all that it has read if there was time.

        One that is paused or halted stays so.
        """
        with query.control:
            is_stopped = query.state is State.PAUSED or query.is_halted
            self._runs.drain_and_end(query)
            try:
                yield
            finally:
                if not is_stopped and self.has(query):
                    self.start_or_fail(query)

    def rebuild(self, query: ManagedQuery) -> None:
        """Remove a query's state and internal topics, and start it where it first started.

        See QueryRuns.reset(). A paused query starts at resume().

        Raises:
            KsqlError: QUERY_UNKNOWN if it was dropped meanwhile; KAFKA_REFUSED, BROKER_UNREACHABLE; the state
            is gone in any case.
        """
        with query.control:
            if not self.has(query):
                raise KsqlError("QUERY_UNKNOWN", id=query.id, hint="It has been dropped meanwhile.")
            log.warning("removed the state of query %s; recomputing it", query.id)
            self._runs.end(query)
            self._runs.reset(query)
            query.retries.forget()
            if query.state is not State.PAUSED and not self._replaying:
                self.start_or_fail(query)

    def halt(self, query: ManagedQuery, message: str) -> None:
        """Put a query into ERROR with a message; only RESUME restarts it. A paused query stays paused."""
        with query.control:
            if query.lifecycle.allows(Event.FAIL):
                self._runs.note_error(query, message, SYSTEM)
                query.retries.halt()
                query.lifecycle.apply(Event.FAIL, message)

    def fence(self, message: str) -> None:
        """End all queries at once, in the middle of a batch, because another server now runs them."""
        log.error("ending all queries: %s", message)
        for query in self.managed():
            with query.control:
                self._runs.end(query)
                self.halt(query, message)

    def shut_down(self) -> bool:
        """Stop all queries in parallel; their state stays.

        Returns:
            whether all have ended. Those that wait for an unavailable Kafka end with Spark's JVM.
        """
        self._closing.set()
        self.watcher.close()
        self._runs.close()
        queries = self._take_out_all()
        limit_s = self._runs.stop_timeout_s()
        deadline = time.monotonic() + limit_s
        for query in queries:  # a starting query must have started before it can be stopped
            if query.control.acquire(timeout=max(0.0, deadline - time.monotonic())):
                query.control.release()
        have_ended = self._runs.drain_and_end(*queries, within_s=limit_s + END_S)
        self.watcher.join(1)
        return have_ended

    def failed(self, query: ManagedQuery, cause: BaseException | None) -> None:
        """Record a failure, and when to retry (Retries.failed). The caller holds the query's control.

        A query that has been paused or dropped meanwhile, or no longer belongs to this server, has not
        failed.
        """
        if not query.lifecycle.allows(Event.FAIL):
            return
        if not self.is_here(query):
            query.lifecycle.apply(Event.LEAVE)
            return
        query.retries.failed(
            time.monotonic(),
            committed=self.checkpoints.committed_or_none(query),
            was_running=query.state is State.RUNNING,
            first_s=float(self.environment.config()["ksql.query.retry.backoff.initial.ms"]) / 1000,
            longest_s=float(self.environment.config()["ksql.query.retry.backoff.max.ms"]) / 1000,
        )
        message = reason(cause) if cause is not None else "the query ended unexpectedly"
        self._runs.note_error(query, message, classify(cause))
        self.figures.query_failed(query.id, message)
        condition = cause.condition if isinstance(cause, KsqlError) else None
        query.waits_for_topic = condition == "SOURCE_TOPIC_DELETED"
        if condition in ("SOURCE_TOPIC_DELETED", "DATA_LOST", "STATE_FULL"):
            query.retries.halt()  # until the topic exists, or RESUME
        query.lifecycle.apply(Event.FAIL, message)
