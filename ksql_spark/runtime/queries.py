"""Runs queries: starts, watches, restarts and stops the Spark queries behind each query of KSQL."""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from pyspark.sql import SparkSession

from ksql_spark.config import Client
from ksql_spark.errors import KsqlError
from ksql_spark.folders import Folder
from ksql_spark.functions.spec import Spec
from ksql_spark.kafka.admin import KafkaAdmin
from ksql_spark.kafka.consumer import EndOffsets
from ksql_spark.kafka.transactions import fence
from ksql_spark.physical.distribution import waits_for
from ksql_spark.physical.steps import EXACTLY_ONCE
from ksql_spark.runtime import exactly_once
from ksql_spark.runtime.idle_heartbeat import IdleHeartbeat
from ksql_spark.runtime.launching import Launcher
from ksql_spark.runtime.managed_query import (
    ManagedQuery,
    internal_topics,
    log_failure,
)
from ksql_spark.runtime.placement import Placement
from ksql_spark.runtime.query_checkpoints import QueryCheckpoints
from ksql_spark.runtime.query_errors import (
    SYSTEM,
    USER,
    QueryError,
    classify,
    data_loss,
    is_state_unreadable,
    reason,
)
from ksql_spark.runtime.query_state import Event, State, TransitionRefused
from ksql_spark.runtime.query_topics import QueryTopics, all_names
from ksql_spark.spark.processing_log import Counts, ProcessingLog
from ksql_spark.spark.traffic import Traffic

log = logging.getLogger(__name__)

#: how often queries are checked
WATCH_EVERY_S = 0.5
#: how often the topics of queries are looked at; what has gone is noticed the second time, in seconds
LOOK_AT_TOPICS_EVERY_S = 3.0
#: a value of ksql.on.data.loss
SKIP_AND_RECORD = "skip-and-record"


class QueryManager:
    """All queries of this server. Thread-safe.

    Args:
        session: returns the Spark session of now; the JVM may be restarted.
        admin: of the cluster that queries read from and write to.
        checkpoints: folder with one folder for each query's checkpoints.
        heartbeat: for queries with an idle timeout.
        setting: value of a property in the server's configuration, by name.
        client: settings of a Kafka client on the JVM ("consumer", "producer"), with a query's overrides.
        functions: returns the server's user functions by name.
        processing_log: takes errors of single records; None: they are not reported.
        placement: says which queries are this server's; None: all are.
        scratch: folder with one folder for each push query's checkpoints; None: ``checkpoints``.
    """

    def __init__(
        self,
        session: Callable[[], SparkSession],
        admin: KafkaAdmin,
        checkpoints: Folder,
        heartbeat: IdleHeartbeat,
        setting: Callable[[str], Any],
        client: Callable[[Client, Mapping[str, Any]], Mapping[str, str]],
        *,
        functions: Callable[[], Mapping[str, Spec]] = dict,
        processing_log: ProcessingLog | None = None,
        placement: Placement | None = None,
        scratch: Folder | None = None,
    ) -> None:
        self._placement = placement
        self.checkpoints = QueryCheckpoints(checkpoints, scratch or checkpoints)
        self._admin = admin
        self._setting = setting
        self._log = processing_log
        self._queries: dict[str, ManagedQuery] = {}
        self._lock = threading.RLock()
        #: push query -> how many records it could not read, and when the last one came, epoch ms
        self._unreadable: dict[str, tuple[int, int]] = {}
        #: how many records push queries could not read, those that have ended included
        self.unreadable_by_push = 0
        #: how often Spark's JVM was started again
        self.spark_restarts = 0
        #: nothing is started while the command log is replayed
        self._replaying = True
        #: set from the end of Spark's JVM until it is there again; the supervisor restarts queries then
        self._spark_is_gone = threading.Event()
        self._closing = threading.Event()
        self._launcher = Launcher(
            session,
            admin,
            self.checkpoints,
            heartbeat,
            setting_of=self._property,
            skips_losses=self._skips_losses,
            client=client,
            functions=functions,
            processing_log=processing_log,
            runs=lambda: [run for query in self._managed() for run in query.spark],
            is_closing=self._closing.is_set,
        )
        self._watcher = threading.Thread(target=self._watch, name="query-watcher", daemon=True)
        self._watcher.start()
        self._topic_watcher = threading.Thread(target=self._watch_topics, name="topic-watcher", daemon=True)
        self._topic_watcher.start()

    def is_here(self, query: ManagedQuery) -> bool:
        """Whether a query is this server's to run."""
        return query.is_transient or self._placement is None or self._placement.owns(query.id)

    def start_new(self, query: ManagedQuery) -> None:
        """Start a query that never ran; first remove what a query with its id left that was never logged.

        Where it does not start, drop() removes what it leaves.

        Raises:
            KsqlError: as start().
        """
        if self.is_here(query):
            self._remove_state(query)
        self.start(query)

    def start(self, query: ManagedQuery) -> None:
        """Start ``query``, from its checkpoint if there is one, and keep it running.

        Raises:
            KsqlError: QUERY_FAILED if Spark refuses the query; STATE_INCOMPATIBLE, CHECKPOINT_DAMAGED;
                SOURCE_TOPIC_DELETED, DATA_LOST.
            TransitionRefused: it is paused, or has ended.
        """
        if not self.is_here(query):
            query.lifecycle.apply(Event.LEAVE)
            return
        query.lifecycle.check(Event.START)
        self.checkpoints.keep(query.id)
        self._create_internal_topics(query)
        if not query.is_transient:
            self._fit_topics(query)
        # threads of an earlier start do nothing more: their token is not in this set
        query.loading = set()
        query.spark = []
        try:
            is_backfilling = self._has_history(query)
            for i, _ in enumerate(query.plan.stages[:1] if is_backfilling else query.plan.stages):
                query.spark.append(self._launcher.launch(query, i))
            query.retries.started_at = time.monotonic()
            query.lifecycle.apply(Event.START)
        except Exception:
            self._end(query)
            raise
        query.accepts_loss = False
        with self._lock:
            self._queries[query.id] = query
        if is_backfilling:
            token = object()
            query.loading.add(token)
            threading.Thread(
                target=self._backfill, args=(query, token), name=f"backfill-{query.id}", daemon=True
            ).start()

    def _create_internal_topics(self, query: ManagedQuery) -> None:
        partitions = query.internal_partitions
        replicas = int(self._property(query, "ksql.streams.replication.factor"))
        for stage in query.plan.inner:
            if self._admin.topic(stage.sink.topic) is None:
                config = {"cleanup.policy": "compact" if stage.sink.is_table else "delete"}
                config |= {"retention.ms": "-1"}
                self._admin.create_topic(stage.sink.topic, partitions, replicas, config)
        for transactional_id in query.plan.transactional_ids:
            exactly_once.create_commits_topic(self._admin, transactional_id, replicas)

    def _topics(self, query: ManagedQuery) -> QueryTopics:
        if query.topics is None:
            query.topics = QueryTopics(self._admin, self.checkpoints.folder(query.id), query.plan)
        return query.topics

    def _skips_losses(self, query: ManagedQuery) -> bool:
        return query.accepts_loss or self._property(query, "ksql.on.data.loss") == SKIP_AND_RECORD

    def _fit_topics(self, query: ManagedQuery) -> None:
        """See QueryTopics.fit; what is lost is recorded."""
        accepts = self._skips_losses(query)
        query.topics = None
        losses = self._topics(query).fit(
            accepts_loss=accepts,
            sink_partitions=query.sink_partitions,
            checks_ends=query.retries.in_a_row > 0 or query.accepts_loss,
        )
        for loss in losses:
            log.warning("query %s goes on without records: %s", query.id, loss.text)
            self._note_error(query, f"Records are lost, the query goes on. {loss.text}", USER)
            if self._log is not None:
                self._log.lost(query.id, loss.topic, loss.text)

    def _remove_state(self, query: ManagedQuery) -> None:
        """Remove the checkpoints and internal topics of a query that is not running."""
        self.checkpoints.remove(query.id)
        self._admin.delete_topics(internal_topics(query.plan))

    def end_transactions(self, *transactional_ids: str) -> None:
        """Abort the transactions that queries which no longer run have left open."""
        for transactional_id in transactional_ids:
            fence(self._admin.servers, transactional_id, self._admin.settings)

    def _is_current(self, query: ManagedQuery, token: object) -> bool:
        """Whether a query was neither stopped nor restarted since its ``loading`` got ``token``."""
        return token in query.loading and bool(query.spark) and self._queries.get(query.id) is query

    def _has_history(self, query: ManagedQuery) -> bool:
        """Whether sub-topologies must start one after another, so that each reads all of its history.

        Results of a transaction come later than the records that they were made of. A join with such results
        must not begin while there is a backlog: it would run ahead in its other topics.
        """
        plan = query.plan
        is_joined = any(waits_for(plan, number) for number in range(len(plan.stages)))
        if plan.guarantee == EXACTLY_ONCE and is_joined:
            return True
        if not plan.by_event_time or not plan.inner:
            return False
        return not self.checkpoints.is_loaded(query)

    def _backfill(self, query: ManagedQuery, token: object) -> None:
        """Start each further stage once the one before it has committed what is there now."""
        try:
            for i in range(1, len(query.plan.stages)):
                there = self._ends(query, i - 1)
                while not self.checkpoints.has_reached(query, i - 1, there):
                    with self._lock:
                        if not self._is_current(query, token) or not query.spark[-1].is_active:
                            return
                    if self._closing.wait(0.05):
                        return
                with self._lock:
                    if not self._is_current(query, token):
                        return
                    query.spark.append(self._launcher.launch(query, i))
            self.checkpoints.set_loaded(query)
        except Exception as error:
            with query.control:
                if token in query.loading:  # else it was stopped, or Spark has ended
                    log_failure(log, "query %s did not go on after its history was read", query, error)
                    self._drain_and_end(query)
                    self._failed(query, error)
        finally:
            with self._lock:
                query.loading.discard(token)

    def _ends(self, query: ManagedQuery, number: int) -> Mapping[tuple[str, int], int]:
        """Where the topics of a stage end, for readers of committed records."""
        offsets = EndOffsets(self._admin.servers, self._admin.settings)
        try:
            return offsets.of(set(query.plan.stages[number].topics))
        finally:
            offsets.close()

    @property
    def is_replaying(self) -> bool:
        """Whether the command log is replayed: start_registered() starts queries then."""
        return self._replaying

    def end_replay(self) -> None:
        """Start what is added from now on at once; start_registered() starts what is there already."""
        self._replaying = False

    def begin(self, query: ManagedQuery) -> None:
        """Add a query that never ran, and start it; one that does not start is retried like a failed one.

        Where servers share queries, its owner starts it soon after: others wait for this server to follow the
        command log, and the first query of a JVM takes seconds to start.

        Raises:
            KsqlError: as start(); the query is there, in ERROR.
        """
        with query.control:
            self._register(query)
            if self._placement is not None:
                self._placement.take_soon()
            elif not self._replaying:
                self._start_registered(query, self.start_new)

    def take_over(self, query: ManagedQuery, old: ManagedQuery) -> None:
        """Run ``query`` in the place of ``old``, on its checkpoints; if ``old`` is paused, so is ``query``.

        Raises:
            KsqlError: as start(); the query is there, in ERROR. Spark may not be able to resume from the
                checkpoints with the new plan.
        """
        with old.control, query.control:
            self._drain_and_end(old)
            self._register(query)
            if old.lifecycle.apply(Event.END) is State.PAUSED:
                query.lifecycle.apply(Event.PAUSE)
            elif self._placement is not None:
                self._placement.take_soon()
            elif not self._replaying:
                self._start_registered(query, self.start)

    def _register(self, query: ManagedQuery) -> None:
        with self._lock:
            self._queries[query.id] = query
        if self._placement is not None:
            self._placement.slots.add(query.id)

    # ---- several servers (runtime.placement) ---------------------------------------------------------

    def take(self, owns: Callable[[str], bool]) -> None:
        """Start the queries that wait and that, as ``owns`` says, are this server's."""

        def start(query: ManagedQuery) -> None:
            with query.control:
                waits = query.state in (State.ELSEWHERE, State.REGISTERED) and not query.spark
                if waits and owns(query.id) and self.find(query.id) is query and not self._closing.is_set():
                    log.info("query %s runs here now", query.id)
                    self._start_or_fail(query)

        if not self._replaying:
            with ThreadPoolExecutor(max_workers=4, thread_name_prefix="query-take") as pool:
                list(pool.map(start, [query for query in self.all() if not query.is_transient]))

    def give(self, owns: Callable[[str], bool], *, at_once: bool) -> None:
        """Stop the queries that this server does not own.

        Args:
            owns: whether it owns the query with an id.
            at_once: in the middle of a batch, because another server may run them already.
        """

        def end(query: ManagedQuery) -> None:
            with query.control:
                if not self._has(query):
                    return  # it was dropped meanwhile
                if at_once:
                    self._end(query)
                else:
                    self._drain_and_end(query)
                query.loading = set()
                query.lifecycle.apply(Event.LEAVE)
                query.retries.forget()

        gone = [query for query in self.all() if not query.is_transient and not owns(query.id)]
        with ThreadPoolExecutor(max_workers=8, thread_name_prefix="query-give") as pool:
            list(pool.map(end, gone))

    def troubles(self, owns: Callable[[str], bool]) -> dict[str, str]:
        """Id -> state of the queries that ``owns`` knows and that do not simply run."""
        mine = [query for query in self.all() if not query.is_transient and owns(query.id)]
        return {query.id: query.state for query in mine if query.state is not State.RUNNING}

    def records(self) -> dict[str, int]:
        """Id -> records that a persistent query which runs has read and written since Spark started."""
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
            self._failed(query, error)
            if isinstance(error, KsqlError):
                raise
            raise KsqlError("QUERY_FAILED", id=query.id, reason=reason(error)) from error

    def add(self, query: ManagedQuery) -> None:
        """Add a push query that runs without Spark, so that it is listed, and TERMINATE ends it."""
        query.lifecycle.apply(Event.START)
        with self._lock:
            self._queries[query.id] = query

    def share(self, query: ManagedQuery, runner: ManagedQuery) -> bool:
        """Add a push query for which ``runner`` runs, too; False if that has failed or ends."""
        with self._lock:
            if not self._has(runner) or not runner.clients or runner.errors:
                return False
            query.shares, query.errors = runner, runner.errors
            query.lifecycle.apply(Event.START)
            runner.clients.add(query.id)
            self._queries[query.id] = query
            return True

    def _let_go(self, query: ManagedQuery) -> ManagedQuery | None:
        """Take a client away from what runs for it; what is to be ended now, None: others need it still."""
        runner = query.runner
        with self._lock:
            if not query.is_transient or (query is runner and not query.clients):
                return query
            query.is_listed = False
            runner.clients.discard(query.id)
            if query is not runner and self._has(query):
                del self._queries[query.id]
                query.lifecycle.apply(Event.END)
            return None if runner.clients else runner

    @property
    def logs_records(self) -> bool:
        """Whether errors of single records are written to a topic."""
        return self._log is not None and self._log.has_topic

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
                self._start_or_fail(query)

        with ThreadPoolExecutor(max_workers=4, thread_name_prefix="query-start") as pool:
            list(pool.map(start, enumerate(waiting, 1)))

    def _property(self, query: ManagedQuery, name: str) -> Any:
        return query.properties.get(name, self._setting(name))

    def find(self, query_id: str) -> ManagedQuery | None:
        """The query with this id, or None."""
        with self._lock:
            query = self._queries.get(query_id)
            return query if query is not None and query.is_listed else None

    def all(self) -> list[ManagedQuery]:
        """All queries, sorted by id."""
        return [query for query in self._managed() if query.is_listed]

    def _managed(self) -> list[ManagedQuery]:
        """All queries, also those that run only for push queries that share them."""
        with self._lock:
            return [self._queries[i] for i in sorted(self._queries)]

    def _has(self, query: ManagedQuery) -> bool:
        """Whether a query is this manager's still."""
        with self._lock:
            return self._queries.get(query.id) is query

    def stopped_writers(self, source: str) -> tuple[str, ...]:
        """The ids of the queries that write a stream or table, and do not run now."""
        # without the lock, since each look-up asks: a copy is made in one step
        queries = tuple(self._queries.values())
        return tuple(q.id for q in queries if q.state is not State.RUNNING and q.plan.sink.name == source)

    def counts(self, query_id: str) -> Counts:
        """Errors of single records of a query since the server started."""
        counts = self._log.counts(query_id) if self._log is not None else Counts(0, 0, 0, 0, None)
        own = self._unreadable.get(query_id)
        return counts if own is None else counts._replace(unreadable=own[0], last_ms=own[1])

    def traffic(self) -> dict[str, Traffic]:
        """What queries read and write, by id, since Spark's JVM started."""
        return self._log.traffic() if self._log is not None else {}

    def jvm_figures(self) -> dict[str, float]:
        """Figures about Spark's JVM by their names in JvmFigures.java."""
        return self._log.jvm_figures() if self._log is not None else {}

    def note_unreadable(self, query_id: str) -> None:
        """A push query that Spark does not run could not read a record. Called by one thread a query."""
        known = self._unreadable.get(query_id, (0, 0))
        self._unreadable[query_id] = known[0] + 1, int(time.time() * 1000)
        self.unreadable_by_push += 1

    def kill(self, query_id: str) -> ManagedQuery | None:
        """End a query at once, in the middle of a batch; its state stays, for drop()."""
        query = self.find(query_id)
        if query is not None:
            self._kill(query)
        return query

    def _kill(self, query: ManagedQuery) -> None:
        with query.control:
            self._remove(query)
            self._end(query)

    def _remove(self, query: ManagedQuery) -> None:
        """Remove a query from the manager."""
        with self._lock:
            if self._queries.get(query.id) is query:
                del self._queries[query.id]
                query.lifecycle.apply(Event.END)
                self._unreadable.pop(query.id, None)
                if self._placement is not None and not self._closing.is_set():
                    self._placement.remove(query.id)
        if self._log is not None:
            self._log.forget(query.id)

    def _start_or_fail(self, query: ManagedQuery) -> None:
        """Start a query; if it does not start, it is in ERROR and is retried."""
        try:
            self.start(query)
        except TransitionRefused as refused:  # it was paused or dropped meanwhile
            log.info("not started: %s", refused, extra={"query": query.id})
        except Exception as error:
            if not isinstance(error, (KsqlError, OSError)):  # the store of its state may be away
                log_failure(log, "query %s did not start", query, error)
            self._failed(query, error)

    def drop(self, query: ManagedQuery) -> None:
        """Kill a query if it still runs, and remove its checkpoints, their state, and its internal topics.

        A push query that shares its Spark query ends alone; the last one takes that with it.
        """
        runs = self._let_go(query)
        if runs is None:
            log.info("query %s has ended", query.id, extra={"query": query.id})
            return
        query = runs
        is_here = self.is_here(query)
        if self._has(query):
            self._kill(query)
            log.info("query %s has ended", query.id, extra={"query": query.id})
        if not is_here:
            return  # its owner removes what it leaves
        # its run has ended its transaction, unless its JVM has gone
        self.end_transactions(*query.plan.transactional_ids)
        self._remove_state(query)

    def stop(self, query_id: str) -> None:
        """Drain a query, then end it; its state stays."""
        query = self.find(query_id)
        if query is not None:
            with query.control:
                self._remove(query)
                self._drain_and_end(query)

    def pause(self, *query_ids: str) -> None:
        """Stop queries, but keep them and their state until resume()."""
        with contextlib.ExitStack() as locks:
            queries = [query for query in map(self.find, query_ids) if query is not None]
            for query in queries:
                locks.enter_context(query.control)
            running = [query for query in queries if query.lifecycle.allows(Event.PAUSE)]
            for query in running:
                query.lifecycle.apply(Event.PAUSE)
            self._drain_and_end(*running)

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
            self._start_or_fail(query)

    def restart(self, query_id: str) -> None:
        """Stop a query and start it again, for example with other settings; a paused query stays paused."""
        query = self.find(query_id)
        if query is None:
            return
        with query.control:
            if query.state is not State.PAUSED:
                self._drain_and_end(query)
                self._start_or_fail(query)

    def rebuild(self, query: ManagedQuery) -> None:
        """Remove the state and the internal topics of a query, and start it where it once began.

        A topic that was made again since is read from its beginning. A paused query starts at resume().

        Raises:
            KsqlError: QUERY_UNKNOWN if it was dropped meanwhile; KAFKA_REFUSED, BROKER_UNREACHABLE; the state
                is gone nevertheless.
        """
        with query.control:
            if not self._has(query):
                raise KsqlError("QUERY_UNKNOWN", id=query.id, hint="It was dropped meanwhile.")
            log.warning("the state of query %s is removed, and computed anew", query.id)
            self._end(query)
            checkpoints = [self.checkpoints.of(query, number) for number, _ in enumerate(query.plan.stages)]
            moved = [checkpoint.moved_or_none() for checkpoint in checkpoints]
            self._remove_state(query)
            self.checkpoints.keep(query.id)
            for checkpoint, topics in zip(checkpoints, moved, strict=True):
                for topic, offsets in topics.items():
                    checkpoint.move(topic, offsets)
            query.retries.forget()
            if query.state is not State.PAUSED and not self._replaying:
                self._start_or_fail(query)

    # ---- the end of Spark's JVM (runtime.supervisor) --------------------------------------------------

    def lose_spark(self, message: str) -> list[ManagedQuery]:
        """Note that Spark's JVM has ended; ``message`` is the error of the queries that ran on it.

        Returns:
            the persistent queries that ran, which start_lost() starts again.
        """
        self._spark_is_gone.set()
        lost = []
        for query in self._managed():
            with query.control:
                if not query.spark:
                    continue
                query.spark, query.loading = [], set()
                self.halt(query, message)
                if not query.is_transient:
                    lost.append(query)
        return lost

    def regain_spark(self) -> None:
        """Note that Spark's JVM is there again."""
        self.spark_restarts += 1
        self._spark_is_gone.clear()

    def start_lost(self, query: ManagedQuery) -> None:
        """Start a query that lose_spark() returned, unless it was dropped, paused or resumed since."""
        with query.control:
            if self.find(query.id) is query and query.state is State.ERROR and not query.spark:
                self._start_or_fail(query)  # the JVM may end again

    def halt(self, query: ManagedQuery, message: str) -> None:
        """Put a query into ERROR with a message; only RESUME starts it again. A paused one stays paused."""
        with query.control:
            if query.lifecycle.allows(Event.FAIL):
                self._note_error(query, message, SYSTEM)
                query.retries.halt()
                query.lifecycle.apply(Event.FAIL)

    def fence(self, message: str) -> None:
        """End all queries at once, in the middle of a batch: another server runs them now."""
        log.error("all queries are ended: %s", message)
        for query in self._managed():
            with query.control:
                self._end(query)
                self.halt(query, message)

    def shut_down(self) -> None:
        """Stop all queries in parallel; their state stays."""
        self._closing.set()
        with self._lock:
            queries = list(self._queries.values())
            self._queries.clear()
        self._drain_and_end(*queries)
        self._watcher.join(5)
        self._topic_watcher.join(5)

    def _drain_and_end(self, *queries: ManagedQuery) -> None:
        """End queries once what they have read is committed, so that no work is repeated."""
        for query in queries:
            self._drain(query)

        def end(query: ManagedQuery) -> None:
            self._end(query, 0.0 if query.is_transient else self._stop_timeout_s())

        with ThreadPoolExecutor(max_workers=8, thread_name_prefix="query-stop") as pool:
            list(pool.map(end, queries))

    def _drain(self, query: ManagedQuery) -> None:
        """Stop a query from reading."""
        for run in query.spark:
            with contextlib.suppress(Exception):  # as in _end
                run.drain()

    def _end(self, query: ManagedQuery, timeout_s: float = 0.0) -> None:
        """End a query, once it is drained or after ``timeout_s`` seconds."""
        with self._lock:
            running, query.spark = query.spark, []
        deadline = time.monotonic() + timeout_s
        for run in running:
            with contextlib.suppress(Exception):  # the JVM may be gone; there is nothing left to stop then
                is_done = run.stop(deadline - time.monotonic())
                if timeout_s and not is_done:
                    log.warning(
                        "query %s was stopped before what it had read was done",
                        query.id,
                        extra={"query": query.id},
                    )

    def _stop_timeout_s(self) -> float:
        return float(self._setting("ksql.query.stop.timeout.ms")) / 1000

    def _watch(self) -> None:
        """Notice queries that ended by themselves, and restart them with back-off (reference §6.11)."""
        while not self._closing.wait(WATCH_EVERY_S):
            self.checkpoints.remove_late(lambda query_id: query_id in self._queries)
            for query in self._managed():
                try:
                    if not self._spark_is_gone.is_set():
                        self._check(query)
                except Exception as error:
                    if self._closing.is_set():
                        return  # Spark is stopping as well
                    if self._spark_is_gone.is_set():
                        break
                    log_failure(log, "query %s cannot be watched", query, error)
                    self._failed(query, error)

    def _watch_topics(self) -> None:
        """Notice that topics of queries have gone, were made again, or are there again."""
        doubted: set[tuple[str, str]] = set()
        while not self._closing.wait(LOOK_AT_TOPICS_EVERY_S):
            states = (State.RUNNING, State.ERROR)
            queries = [q for q in self.all() if not q.is_transient and q.state in states]
            try:
                there = self._admin.topic_ids(all_names([self._topics(q) for q in queries]))
            except KsqlError as error:  # the queries will notice it, too
                log.warning("the topics of queries cannot be looked at: %s", error.message)
                continue
            seen: set[tuple[str, str]] = set()
            for query in queries:
                topics = self._topics(query)
                changed = topics.changed(there)
                seen |= {(query.id, name) for name in changed}
                if not query.control.acquire(blocking=False):
                    continue  # it is being started or ended
                try:
                    self._note_topics(query, topics, [n for n in changed if (query.id, n) in doubted], there)
                except Exception as error:
                    if not (self._closing.is_set() or self._spark_is_gone.is_set()):
                        log_failure(log, "the topics of query %s cannot be watched", query, error)
                finally:
                    query.control.release()
            doubted = seen

    def _note_topics(
        self, query: ManagedQuery, topics: QueryTopics, changed: list[str], there: Mapping[str, str]
    ) -> None:
        """Stop a query whose topics have changed; start one that waited for a topic."""
        if self.find(query.id) is not query or self._spark_is_gone.is_set():
            return
        missing = topics.missing(there)
        if query.state is State.RUNNING and changed:
            if query.plan.sink.topic in changed:
                self._end(query)
            else:
                self._drain_and_end(query)
            if missing:
                self._failed(query, KsqlError("SOURCE_TOPIC_DELETED", topic=missing[0]))
            else:
                self._start_or_fail(query)
        elif query.state is State.ERROR and not missing and not query.spark:
            is_retried = bool(changed) and not query.retries.is_halted
            if query.waits_for_topic or is_retried:
                self._start_or_fail(query)

    def _check(self, query: ManagedQuery) -> None:
        if not query.control.acquire(blocking=False):
            return  # it is being started or ended
        try:
            self._check_locked(query)
        finally:
            query.control.release()

    def _check_locked(self, query: ManagedQuery) -> None:
        if query.loading:
            return
        if query.state is State.RUNNING:
            ended = [run for run in query.spark if not run.is_active]
            if not ended or not self._has(query):  # shut_down has ended it
                return
            cause = next((c for c in (run.exception() for run in ended) if c is not None), None)
            what = data_loss(cause)
            if what is not None and not self._skips_losses(query):
                cause = KsqlError("DATA_LOST", what=what)
            elif cause is not None and is_state_unreadable(cause):
                cause = KsqlError("STATE_UNREADABLE", id=query.id, reason=reason(cause))
            log.error("query %s failed: %s", query.id, cause, extra={"query": query.id})
            self._drain_and_end(query)
            self._failed(query, cause)
        elif query.state is State.ERROR and time.monotonic() >= query.retries.due_at and self._has(query):
            self._start_or_fail(query)

    def _failed(self, query: ManagedQuery, cause: BaseException | None) -> None:
        """Record a failure, and when to retry (Retries.failed). The caller has the query's control.

        A query that was paused or dropped meanwhile, or is not this server's any more, has not failed.
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
            first_s=float(self._setting("ksql.query.retry.backoff.initial.ms")) / 1000,
            longest_s=float(self._setting("ksql.query.retry.backoff.max.ms")) / 1000,
        )
        message = reason(cause) if cause is not None else "the query ended by itself"
        self._note_error(query, message, classify(cause))
        if self._log is not None:
            self._log.query_failed(query.id, message)
        condition = cause.condition if isinstance(cause, KsqlError) else None
        query.waits_for_topic = condition == "SOURCE_TOPIC_DELETED"
        if condition in ("SOURCE_TOPIC_DELETED", "DATA_LOST"):
            query.retries.halt()  # until there is a topic, or RESUME
        query.lifecycle.apply(Event.FAIL)

    def _note_error(self, query: ManagedQuery, message: str, kind: str) -> None:
        query.errors.append(QueryError(int(time.time() * 1000), message, kind))
        while len(query.errors) > int(self._property(query, "ksql.query.error.max.queue.size")):
            query.errors.popleft()
