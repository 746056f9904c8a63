"""The queries of a server: operations on them, and events that happen to them, change their state here."""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor

from ksql_spark.errors import KsqlError
from ksql_spark.kafka.transactions import fence
from ksql_spark.runtime.cluster.placement import Placement
from ksql_spark.runtime.errors import SYSTEM, classify, reason
from ksql_spark.runtime.queries.environment import Environment
from ksql_spark.runtime.queries.evolution import Backfill
from ksql_spark.runtime.queries.managed import ManagedQuery, log_failure
from ksql_spark.runtime.queries.removals import PendingRemovals
from ksql_spark.runtime.queries.runs import QueryRuns
from ksql_spark.runtime.queries.states import Event, State, TransitionRefused
from ksql_spark.runtime.queries.watcher import QueryWatcher
from ksql_spark.runtime.replay import Failed, Replay, Replayed
from ksql_spark.spark import jvm
from ksql_spark.spark.processing_log import Counts
from ksql_spark.spark.traffic import Traffic

log = logging.getLogger(__name__)

#: how long Spark may take on shutdown to stop queries that have processed what they had read, seconds
END_S = 1.5


class QueryManager:
    """All queries of this server. Thread-safe.

    Args:
        environment: what queries share.
        placement: decides which queries are this server's; None: all are.
    """

    def __init__(self, environment: Environment, placement: Placement | None = None) -> None:
        self._environment = environment
        self._placement = placement
        self.checkpoints = environment.checkpoints
        self._admin = environment.admin
        self._log = environment.processing_log
        self._queries: dict[str, ManagedQuery] = {}
        #: stream or table -> the queries that write it; lookups read it without the lock
        self._writers: dict[str, tuple[ManagedQuery, ...]] = {}
        self._lock = threading.RLock()
        #: push query -> the number of records that it could not read, and the time of the last one, epoch ms
        self._unreadable: dict[str, tuple[int, int]] = {}
        #: the number of records that push queries could not read, including those that have ended
        self.unreadable_by_push = 0
        #: restarts of Spark's JVM
        self.spark_restarts = 0
        #: nothing starts during the replay of the command log
        self._replaying = True
        #: set from the exit of Spark's JVM until it is back; the supervisor then restarts queries
        self._spark_is_gone = threading.Event()
        self._closing = threading.Event()
        self._runs = QueryRuns(environment, queries=self.managed, failed=self._did_not_go_on)
        self.takeovers = self._runs.takeovers
        self.removals = PendingRemovals()
        self._watcher = QueryWatcher(self, self._runs, environment, self.removals)
        self._watcher.start()

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

    def _did_not_go_on(self, query: ManagedQuery, cause: Exception) -> None:
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

    def _beside(self, query: ManagedQuery) -> str | None:
        """The id of the query beside which a new version runs until it takes over; None if there is none."""
        evolution = query.evolution
        if not isinstance(evolution, Backfill):
            return None
        with self._lock:
            writers = self._writers.get(evolution.table, ())
        return next((writer.id for writer in writers if writer.creates_sink), None)

    # ---- several servers (runtime.placement) ---------------------------------------------------------

    def take(self, owns: Callable[[str], bool]) -> None:
        """Start the waiting queries that, according to ``owns``, belong to this server."""

        def start(query: ManagedQuery) -> None:
            with query.control:
                waits = query.state in (State.ELSEWHERE, State.REGISTERED) and not query.spark
                if waits and owns(query.id) and self.find(query.id) is query and not self._closing.is_set():
                    log.info("query %s now runs here", query.id)
                    self.start_or_fail(query)

        if not self._replaying:
            with ThreadPoolExecutor(max_workers=4, thread_name_prefix="query-take") as pool:
                list(pool.map(start, [query for query in self.all() if not query.is_transient]))

    def give(self, owns: Callable[[str], bool], *, at_once: bool) -> None:
        """Stop the queries that this server does not own.

        Args:
            owns: whether this server owns the query with an id.
            at_once: end them in the middle of a batch, because another server may already run them.
        """

        def end(query: ManagedQuery) -> None:
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

        gone = [query for query in self.all() if not query.is_transient and not owns(query.id)]
        with ThreadPoolExecutor(max_workers=8, thread_name_prefix="query-give") as pool:
            list(pool.map(end, gone))

    def troubles(self, owns: Callable[[str], bool]) -> dict[str, str]:
        """Id -> state of the queries in ``owns`` that are not simply running."""
        mine = [query for query in self.all() if not query.is_transient and owns(query.id)]
        return {query.id: query.state for query in mine if query.state is not State.RUNNING}

    def records(self) -> dict[str, int]:
        """Id -> the number of records that a running persistent query has read and written since Spark
        started.
        """
        traffic = self.traffic()
        return {
            query.id: sum(volume.records for side in traffic[query.id][:2] for volume in side.values())
            if query.id in traffic
            else 0
            for query in self.all()
            if not query.is_transient and query.state is State.RUNNING
        }

    def _start_registered(self, query: ManagedQuery, start: Callable[[ManagedQuery], None]) -> None:
        try:
            start(query)
        except Exception as error:
            self.failed(query, error)
            if isinstance(error, KsqlError):
                raise
            raise KsqlError("QUERY_FAILED", id=query.id, reason=reason(error)) from error

    def add(self, query: ManagedQuery) -> None:
        """Add a push query that runs without Spark, so that it is listed and TERMINATE ends it."""
        query.lifecycle.apply(Event.START)
        with self._lock:
            self._queries[query.id] = query

    def share(self, query: ManagedQuery, runner: ManagedQuery) -> bool:
        """Let a push query share the Spark query of ``runner``; False if that one fails or ends."""
        with self._lock:
            if not self.has(runner) or not runner.clients or runner.errors:
                return False
            query.shares, query.errors = runner, runner.errors
            query.lifecycle.apply(Event.START)
            runner.clients.add(query.id)
            self._queries[query.id] = query
            return True

    def _let_go(self, query: ManagedQuery) -> ManagedQuery | None:
        """Remove a client from its shared query; returns the query to end, None if others still need it."""
        runner = query.runner
        with self._lock:
            if not query.is_transient or (query is runner and not query.clients):
                return query
            query.is_listed = False
            runner.clients.discard(query.id)
            if query is not runner and self.has(query):
                del self._queries[query.id]
                query.lifecycle.apply(Event.END)
            return None if runner.clients else runner

    @property
    def logs_records(self) -> bool:
        """Whether errors of single records are written to a topic."""
        return self._log is not None and self._log.has_topic

    @property
    def log_topic(self) -> str | None:
        """The topic to which errors of single records are written; None: they are only counted."""
        return self._log.topic if self._log is not None else None

    def replay(self, query: ManagedQuery, writer_id: str, find: Callable[[], Iterable[Failed]]) -> Replayed:
        """Send failed records of a query without state through it once more; see Replay.

        Raises:
            KsqlError: as Replay.run().
        """
        return Replay(query, self._environment, writer_id).run(find)

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

    def find(self, query_id: str) -> ManagedQuery | None:
        """The query with this id, or None."""
        with self._lock:
            query = self._queries.get(query_id)
            return query if query is not None and query.is_listed else None

    def all(self) -> list[ManagedQuery]:
        """All queries, sorted by id."""
        return [query for query in self.managed() if query.is_listed]

    def managed(self) -> list[ManagedQuery]:
        """All queries, including those that only run for push queries that share them."""
        with self._lock:
            return [self._queries[i] for i in sorted(self._queries)]

    def runs(self) -> frozenset[tuple[str, float, State]]:
        """The runs of queries: id, last start and state, which change with each run."""
        return frozenset((q.id, q.retries.started_at, q.state) for q in self.managed())

    def has(self, query: ManagedQuery) -> bool:
        """Whether the manager still has a query."""
        with self._lock:
            return self._queries.get(query.id) is query

    def knows(self, query_id: str) -> bool:
        """Whether a query with this id exists, here or on another server."""
        return query_id in self._queries

    def stopped_writers(self, source: str) -> tuple[str, ...]:
        """The ids of the queries that write a stream or table and are not running."""
        # without the lock, because each lookup asks
        return tuple([q.id for q in self._writers.get(source, ()) if q.state is not State.RUNNING])

    def counts(self, query_id: str) -> Counts:
        """Counts of a query's record errors since the server started."""
        counts = self._log.counts(query_id) if self._log is not None else Counts(0, 0, 0, 0, None)
        own = self._unreadable.get(query_id)
        return counts if own is None else counts._replace(unreadable=own[0], last_ms=own[1])

    def traffic(self) -> dict[str, Traffic]:
        """Records and bytes that queries have read and written, by id, since Spark's JVM started."""
        return self._log.traffic() if self._log is not None else {}

    def jvm_figures(self) -> dict[str, float]:
        """Metrics of Spark's JVM, by their names in JvmFigures.java."""
        return self._log.jvm_figures() if self._log is not None else {}

    def note_unreadable(self, query_id: str) -> None:
        """A push query without Spark could not read a record. Only one thread per query calls this."""
        known = self._unreadable.get(query_id, (0, 0))
        self._unreadable[query_id] = known[0] + 1, int(time.time() * 1000)
        self.unreadable_by_push += 1

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

    def _list(self, query: ManagedQuery) -> None:
        """Add a query to the manager, perhaps in place of another one with its id."""
        with self._lock:
            before = self._queries.get(query.id)
            if before is not None:
                self._unlist_writer(before)
            self._queries[query.id] = query
            self._writers[query.plan.sink.name] = (*self._other_writers(query), query)

    def _unlist_writer(self, query: ManagedQuery) -> None:
        if others := self._other_writers(query):
            self._writers[query.plan.sink.name] = others
        else:
            self._writers.pop(query.plan.sink.name, None)

    def _other_writers(self, query: ManagedQuery) -> tuple[ManagedQuery, ...]:
        """The other queries that write what ``query`` writes."""
        return tuple(q for q in self._writers.get(query.plan.sink.name, ()) if q.id != query.id)

    def _remove(self, query: ManagedQuery) -> None:
        """Remove a query from the manager."""
        with self._lock:
            if self._queries.get(query.id) is query:
                del self._queries[query.id]
                self._unlist_writer(query)
                query.lifecycle.apply(Event.END)
                self._unreadable.pop(query.id, None)
                if self._placement is not None and not self._closing.is_set():
                    self._placement.remove(query.id)
        if self._log is not None:
            self._log.forget(query.id)

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
        self.end_transactions(*query.plan.transactional_ids)
        self.checkpoints.remove(query.id)
        self._admin.delete_topics(query.own_topics)

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

    def resume(self, *query_ids: str) -> None:
        """Continue paused or halted queries; one that does not start is in ERROR and is retried."""
        for query in map(self.find, query_ids):
            if query is not None:
                with query.control:
                    self._resume(query)

    def _resume(self, query: ManagedQuery) -> None:
        is_halted = query.state is State.ERROR and query.retries.is_halted
        if not is_halted and query.state is not State.PAUSED:
            return
        query.lifecycle.apply(Event.RESUME)
        query.accepts_loss = is_halted
        if self._placement is not None:
            self._placement.take_soon()
        elif not self._replaying:
            self.start_or_fail(query)

    def restart(self, query_id: str) -> None:
        """Stop a query and start it again, for example with other settings; a paused query stays paused."""
        query = self.find(query_id)
        if query is None:
            return
        with query.control:
            if query.state is not State.PAUSED:
                self._runs.drain_and_end(query)
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

    # ---- the end of Spark's JVM (runtime.supervisor) --------------------------------------------------

    def lose_spark(self, what: str) -> list[ManagedQuery]:
        """Record that Spark's JVM has exited, for the queries that ran on it.

        Args:
            what: what happened to it, a sentence without its full stop.

        Returns:
            the persistent queries that ran, which start_lost() starts again.
        """
        self._spark_is_gone.set()
        lost = []
        for query in self.managed():
            with query.control:
                if not self._runs.forget(query):
                    continue
                then = "Send the query again." if query.is_transient else "Then this query continues."
                self.halt(query, f"{what} and is restarting. {then}")
                if not query.is_transient:
                    lost.append(query)
        return lost

    @property
    def watch_problem(self) -> str | None:
        """The reason why queries cannot be watched properly; None if they can."""
        return self._watcher.problem

    @property
    def is_spark_gone(self) -> bool:
        """Whether Spark's JVM has exited and is not back yet."""
        return self._spark_is_gone.is_set()

    def regain_spark(self) -> None:
        """Record that Spark's JVM is back."""
        self.spark_restarts += 1
        self._spark_is_gone.clear()

    def start_lost(self, query: ManagedQuery) -> None:
        """Start a query that lose_spark() returned, unless it has been dropped, paused or resumed since."""
        with query.control:
            if self.find(query.id) is query and query.state is State.ERROR and not query.spark:
                self.start_or_fail(query)  # the JVM may exit again

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
        self._watcher.close()
        self._runs.close()
        with self._lock:
            queries = list(self._queries.values())
            self._queries.clear()
            self._writers.clear()
        limit_s = self._runs.stop_timeout_s()
        deadline = time.monotonic() + limit_s
        for query in queries:  # a starting query must have started before it can be stopped
            if query.control.acquire(timeout=max(0.0, deadline - time.monotonic())):
                query.control.release()
        have_ended = self._runs.drain_and_end(*queries, within_s=limit_s + END_S)
        self._watcher.join(1)
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
            first_s=float(self._environment.config()["ksql.query.retry.backoff.initial.ms"]) / 1000,
            longest_s=float(self._environment.config()["ksql.query.retry.backoff.max.ms"]) / 1000,
        )
        message = reason(cause) if cause is not None else "the query ended unexpectedly"
        self._runs.note_error(query, message, classify(cause))
        if self._log is not None:
            self._log.query_failed(query.id, message)
        condition = cause.condition if isinstance(cause, KsqlError) else None
        query.waits_for_topic = condition == "SOURCE_TOPIC_DELETED"
        if condition in ("SOURCE_TOPIC_DELETED", "DATA_LOST"):
            query.retries.halt()  # until the topic exists, or RESUME
        query.lifecycle.apply(Event.FAIL, message)
