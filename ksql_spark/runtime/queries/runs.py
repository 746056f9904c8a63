"""Starts and ends the Spark queries of a KSQL query."""

from __future__ import annotations

import contextlib
import json
import logging
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any

from pyspark.sql import SparkSession

from ksql_spark import topic_patterns
from ksql_spark.config import Config
from ksql_spark.errors import KsqlError
from ksql_spark.functions.spec import Spec
from ksql_spark.kafka.admin import KafkaAdmin
from ksql_spark.kafka.transactions import fence
from ksql_spark.plan.distribution import waits_for
from ksql_spark.plan.stages import EXACTLY_ONCE, tables_in_state, transactional_id
from ksql_spark.runtime.errors import USER, QueryError
from ksql_spark.runtime.queries import differences, exactly_once
from ksql_spark.runtime.queries.checkpoint_folders import QueryCheckpoints
from ksql_spark.runtime.queries.checkpoints import Offsets
from ksql_spark.runtime.queries.differences import Differences, TopicRows
from ksql_spark.runtime.queries.idle_heartbeat import IdleHeartbeat
from ksql_spark.runtime.queries.launcher import Launcher
from ksql_spark.runtime.queries.managed import ManagedQuery, internal_topics, log_failure
from ksql_spark.runtime.queries.session_rows import delete_session_rows
from ksql_spark.runtime.queries.states import State
from ksql_spark.runtime.queries.topics import Loss, QueryTopics
from ksql_spark.spark import jvm
from ksql_spark.spark.processing_log import ProcessingLog

log = logging.getLogger(__name__)

#: how many queries to end in parallel
STOP_THREADS = 32
#: the file beside a new version's checkpoints that says that it has taken over
_SWAPPED = "swapped.json"
#: the file beside the checkpoints of a query whose new version begins where the old one ended: that place
_ANEW = "anew.json"
#: a value of ksql.on.data.loss
SKIP_AND_RECORD = "skip-and-record"
#: a value of ksql.on.partitions.change
REBUILD = "rebuild"


class QueryRuns:
    """Starts and ends Spark queries, for the query manager, which decides when. Thread-safe.

    Args:
        session: as in QueryManager, like everything not described here.
        admin: of the cluster.
        checkpoints: of all queries.
        heartbeat: for queries with an idle timeout.
        config: returns the server's current configuration.
        functions: returns the server's user functions by name.
        processing_log: receives errors of single records; None: they are not reported.
        queries: returns the manager's queries.
        failed: called in another thread with a query that has started but cannot continue, and the cause.
    """

    def __init__(
        self,
        session: Callable[[], SparkSession],
        admin: KafkaAdmin,
        checkpoints: QueryCheckpoints,
        heartbeat: IdleHeartbeat,
        config: Callable[[], Config],
        *,
        functions: Callable[[], Mapping[str, Spec]],
        processing_log: ProcessingLog | None,
        queries: Callable[[], list[ManagedQuery]],
        failed: Callable[[ManagedQuery, Exception], None],
    ) -> None:
        self._admin = admin
        self._checkpoints = checkpoints
        self._config = config
        self._log = processing_log
        self._failed = failed
        self._lock = threading.RLock()
        self._closing = threading.Event()
        self._launcher = Launcher(
            session,
            admin,
            checkpoints,
            heartbeat,
            setting_of=self.setting,
            skips_losses=self.skips_losses,
            config=config,
            functions=functions,
            processing_log=processing_log,
            runs=lambda: [run for query in queries() for run in query.spark],
            is_closing=self._closing.is_set,
        )

    def close(self) -> None:
        """Start nothing more, because Spark is stopping, too."""
        self._closing.set()

    def setting(self, query: ManagedQuery, name: str) -> Any:
        """The value of a property for a query."""
        return query.properties.get(name, self._config()[name])

    def skips_losses(self, query: ManagedQuery) -> bool:
        """Whether a query continues after losing records."""
        return query.accepts_loss or self.setting(query, "ksql.on.data.loss") == SKIP_AND_RECORD

    def topics(self, query: ManagedQuery) -> QueryTopics:
        """The topics of a query as of its last start."""
        if query.topics is None:
            folder = self._checkpoints.folder(query.id)
            query.topics = QueryTopics(
                self._admin, folder, query.id, query.plan, query.partitions, query.starts
            )
        return query.topics

    def note_error(self, query: ManagedQuery, message: str, kind: str) -> None:
        """Add an error to a query's latest ones; ``kind``: USER, SYSTEM or UNKNOWN."""
        query.errors.append(QueryError(int(time.time() * 1000), message, kind))
        while len(query.errors) > int(self.setting(query, "ksql.query.error.max.queue.size")):
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
        self._begin_anew(query)
        self._create_internal_topics(query)
        if not query.is_transient:
            self._finish_swap(query)
            self._fit_topics(query)
        # this stops threads of an earlier start: their token is no longer in the set
        query.loading = set()
        self.end(query)  # leftovers of an earlier start, from when Spark's JVM was considered gone
        try:
            until = self.warm_up(query)
            is_all = until is None and not self._has_history(query)
            for i, _ in enumerate(query.plan.stages if is_all else query.plan.stages[:1]):
                query.spark.append(self._launcher.launch(query, i, until))
        except Exception:
            self.end(query)
            raise
        return is_all

    def swapped(self, query: ManagedQuery) -> Differences | None:
        """Return how a new version changed its table when it took over; None if it has not done so yet.

        Raises:
            OSError, KsqlError: the note cannot be read.
        """
        evolution = query.evolution
        if evolution is None or not evolution.is_swapped or not evolution.source:
            return None
        noted = self._noted(query, _SWAPPED)
        if noted is None or noted.get("moved_from", "") != evolution.moved_from:
            return None
        return Differences(int(noted["changed"]), int(noted["removed"]))

    def has_taken_over(self, query: ManagedQuery) -> bool:
        """Whether a new version has done all that comes before its first row in the sink's topic.

        Raises:
            OSError, KsqlError: the notes cannot be read.
        """
        evolution = query.evolution
        if evolution is None or not evolution.is_swapped:
            return False
        if evolution.source:  # if its state was rebuilt since, the note is gone, and so is the topic
            return self.swapped(query) is not None or self._admin.topic(evolution.source) is None
        noted = self._noted(query, _ANEW)
        return noted is not None and (noted["anew"], noted["is_done"]) == (evolution.anew, True)

    def _noted(self, query: ManagedQuery, name: str) -> dict[str, Any] | None:
        """A note beside a query's checkpoints; None: there is none."""
        folder = self._checkpoints.folder(query.id)
        try:
            noted: dict[str, Any] = json.loads(folder.read(name))
        except FileNotFoundError:
            return None
        except ValueError as error:
            raise KsqlError("CHECKPOINT_DAMAGED", file=f"{folder}/{name}", reason=error) from error
        return noted

    def warm_up(self, query: ManagedQuery) -> Offsets | None:
        """Return up to where a new version reads what the old one has read; None if it reads nothing again.

        Raises:
            OSError, KsqlError: the note cannot be read.
        """
        evolution = query.evolution
        if evolution is None or not evolution.is_warmed or self.has_taken_over(query):
            return None
        noted = self._noted(query, _ANEW)
        if noted is None or noted["anew"] != evolution.anew:
            return None
        until = self._ended(query, noted)
        return {topic: until[topic] for topic in query.starts if topic in until}

    def position(self, query: ManagedQuery) -> Offsets:
        """Return up to where a query has processed its input, which is where its successor begins.

        A version that has not taken over has answered nothing: it is where the one before it ended.

        Raises:
            KsqlError: CHECKPOINT_DAMAGED: nobody knows.
            OSError: the state's store is unavailable.
        """
        evolution = query.evolution
        if evolution is None or not evolution.anew or evolution.source or self.has_taken_over(query):
            found = self._checkpoints.committed_offsets(query)
            return {topic: {str(p): at for p, at in offsets.items()} for topic, offsets in found.items()}
        noted = self._noted(query, _ANEW)
        if noted is not None and noted["anew"] == evolution.anew:
            return self._ended(query, noted)
        return self._checkpoints.of(query, 0).position(evolution.began)

    def _ended(self, query: ManagedQuery, noted: Mapping[str, Any]) -> Offsets:
        """Return where the old version ended, as noted; a topic recreated since counts as not yet read."""
        return {**noted["offsets"], **self._checkpoints.of(query, 0).moved_since(noted["anew"])}

    def _begin_anew(self, query: ManagedQuery) -> None:
        """Exchange the old version's state for its position, where the new version begins.

        The old version does not run, and had one sub-topology. Its position is noted before its state goes,
        so the next start completes what was interrupted. A version that is warmed up starts from its own
        first offsets until it has reached that position.

        Raises:
            KsqlError: CHECKPOINT_DAMAGED, BROKER_UNREACHABLE, KAFKA_REFUSED; SPARK_RESTARTING.
            OSError: the state's store is unavailable.
        """
        evolution = query.evolution
        if evolution is None or not evolution.anew or evolution.source or self.has_taken_over(query):
            return
        anew = evolution.anew
        noted = self._noted(query, _ANEW)
        folder = self._checkpoints.folder(query.id)
        if noted is None or noted["anew"] != anew:
            self.end(query)
            exactly_once.leave(self._admin, self._checkpoints.of(query, 0))
            noted = {"anew": anew, "is_done": False, "offsets": self.position(query)}
            folder.write(_ANEW, json.dumps(noted))
        self._place(query, noted)

    def _place(self, query: ManagedQuery, noted: dict[str, Any]) -> None:
        """Remove the state of a stopped query; its next start reads from the place in its note.

        Raises:
            KsqlError, OSError: as _begin_anew.
        """
        is_warmed = _is_warmed(query)
        if is_warmed:
            offsets = _earlier(query.starts, noted["offsets"])
        else:
            whole = tables_in_state(query.plan)
            offsets = {**noted["offsets"], **{topic: query.starts[topic] for topic in whole}}
        for number, stage in enumerate(query.plan.stages):
            read = (name for topic in stage.topics for name in topic_patterns.names(topic, offsets))
            there = {name: offsets[name] for name in read}
            self._checkpoints.of(query, number).begin_anew(there, noted["anew"])
        self._admin.delete_topics([stage.sink.topic for stage in query.plan.inner])
        self._checkpoints.folder(query.id).write(_ANEW, json.dumps({**noted, "is_done": not is_warmed}))
        log.info("query %s begins anew at %s", query.id, offsets)

    def _finish_swap(self, query: ManagedQuery) -> None:
        """Write what differs to a table's topic, before its new version, or a query that moved, writes there.

        Nothing that writes it runs. If this is interrupted, the next start compares again, perhaps on another
        server. A server that was taken for dead can then commit no more differences.

        Raises:
            KsqlError: TOPIC_UNKNOWN, BROKER_UNREACHABLE, KAFKA_REFUSED; SPARK_RESTARTING.
            OSError: the state's store is unavailable.
        """
        evolution = query.evolution
        if evolution is None or not evolution.is_swapped or not evolution.source:
            return
        is_there = self._admin.topic(evolution.source) is not None
        if is_there and self.swapped(query) is None:
            self.end(query)
            target = query.plan.sink.topic
            service = self._config()["ksql.service.id"]
            beside = evolution.topic or f"_confluent-ksql-{service}query_{query.id}-move"
            *others, old = evolution.predecessors or (beside,)
            with contextlib.closing(differences.writer(self._admin, old)) as writer:
                # transactions of a killed server would hide what is committed
                for other in (*others, *query.plan.transactional_ids):
                    fence(self._admin.servers, other, self._admin.settings)
                # most of them were read before the old version ended
                both = query.rows or (TopicRows(target), TopicRows(evolution.source))
                if query.plan.guarantee != EXACTLY_ONCE:
                    # nothing that a frozen server still has on its way comes after what is read next
                    old_rows = both[0].read(self._admin)
                    differences.write(writer, target, differences.one_of_each_partition(old_rows))
                records = list(differences.changes(*(each.read(self._admin) for each in both)))
                differences.write(writer, target, records)
            self.topics(query).forget(evolution.source)
            found = differences.count(records)
            noted = {**found._asdict(), "moved_from": evolution.moved_from}
            self._checkpoints.folder(query.id).write(_SWAPPED, json.dumps(noted))
            log.info("query %s writes topic %s from now on: %s", query.id, target, found)
        query.rows = None
        if is_there and evolution.topic:
            self._admin.delete_topics([evolution.topic])

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
        replicas = int(self.setting(query, "ksql.streams.replication.factor"))
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
            rebuilds = self.setting(query, "ksql.on.partitions.change") == REBUILD
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
            if self._log is not None:
                self._log.lost(query.id, loss.topic, loss.text)

    def _losses(self, query: ManagedQuery) -> list[Loss]:
        query.topics = None
        return self.topics(query).fit(
            accepts_loss=self.skips_losses(query),
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
        if plan.guarantee == EXACTLY_ONCE and is_joined:
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
        until = self.warm_up(query)
        if until is None:
            return True
        there = {(topic, int(p)): end for topic, ends in until.items() for p, end in ends.items()}
        if not self._await(query, token, 0, there):
            return False
        with self._lock:
            if not self._is_current(query, token):
                return False
            self.end(query)
            noted = self._noted(query, _ANEW) or {}
            self._checkpoints.folder(query.id).write(_ANEW, json.dumps({**noted, "is_done": True}))
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
        left_s = None if within_s is None else max(0.0, began + within_s - time.monotonic())
        done, late = wait(ends, left_s)
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
        topics = self.topics(query)
        noted = topics.noted_for_rebuild(self._admin.identities(topics.names))
        begun, swapped = self._noted(query, _ANEW), self._noted(query, _SWAPPED)
        self.remove_state(query)
        window = query.plan.sink.window
        if window is not None and window.kind in ("SESSION", "SLIDING"):
            service = str(self._config()["ksql.service.id"])
            writer = transactional_id(service, query.id, len(query.plan.inner))
            delete_session_rows(self._admin, query.plan.sink.topic, writer)
        self._checkpoints.keep(query.id)
        if swapped is not None:  # or else a topic that it wrote before would be compared again
            self._checkpoints.folder(query.id).write(_SWAPPED, json.dumps(swapped))
        if begun is not None and query.evolution is not None and begun["anew"] == query.evolution.anew:
            self._place(query, begun)
        elif begun is not None:  # the present version is yet to begin, where this one then is
            checkpoints[0].begin_anew(begun["offsets"], begun["anew"])
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
        return float(self._config()["ksql.query.stop.timeout.ms"]) / 1000


def _earlier(starts: Offsets, others: Offsets) -> Offsets:
    """``starts``, but nowhere beyond the position ``others``."""
    return {
        topic: {p: min(at, others[topic].get(p, 0)) for p, at in offsets.items()}
        if topic in others
        else offsets
        for topic, offsets in starts.items()
    }


def _is_warmed(query: ManagedQuery) -> bool:
    return query.evolution is not None and query.evolution.is_warmed


__all__ = ["QueryRuns"]
