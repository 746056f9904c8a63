"""Starts the Spark query of a sub-topology: its session, tasks, start offsets and sink."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from pyspark.sql import SparkSession

from ksql_spark.config import Config
from ksql_spark.errors import KsqlError
from ksql_spark.functions import registry
from ksql_spark.functions.spec import Spec
from ksql_spark.kafka.admin import KafkaAdmin
from ksql_spark.metastore.sinks import archive_name
from ksql_spark.plan.distribution import Tasks, assign
from ksql_spark.plan.stages import (
    EXACTLY_ONCE,
    MICROBATCH,
    REALTIME,
    Stage,
)
from ksql_spark.runtime.errors import is_state_unreadable, reason
from ksql_spark.runtime.queries import exactly_once
from ksql_spark.runtime.queries.checkpoint_folders import QueryCheckpoints
from ksql_spark.runtime.queries.checkpoints import Offsets
from ksql_spark.runtime.queries.fencing import Fencing
from ksql_spark.runtime.queries.idle_heartbeat import IdleHeartbeat
from ksql_spark.runtime.queries.managed import ManagedQuery, log_failure
from ksql_spark.spark import jvm, master, sinks
from ksql_spark.spark.build import build
from ksql_spark.spark.frames import Context, Topics, configure, task_numbers
from ksql_spark.spark.processing_log import ProcessingLog, QueryLog
from ksql_spark.spark.query import SparkQuery, new_run_id
from ksql_spark.spark.session import new_session
from ksql_spark.spark.sources import STOPS_ON_NO_TIME
from ksql_spark.spark.transactions import release
from ksql_spark.topic_patterns import names as matching
from ksql_spark.topic_patterns import pattern_of

log = logging.getLogger(__name__)

#: the maximum number of records of a topic in a transaction whose results pass through the server's memory
COLLECTED_RECORDS = 100_000

#: the offset that means the beginning of a partition to Spark's source
_EARLIEST = -2


class Launcher:
    """Starts the Spark queries of sub-topologies. Thread-safe.

    Args:
        session: returns the current Spark session; the JVM may restart.
        admin: of the cluster that queries read from and write to.
        checkpoints: of all queries.
        heartbeat: for queries with an idle timeout.
        setting_of: the value of a property for a query, by name.
        skips_losses: whether a query continues after losing records.
        config: returns the server's current configuration.
        functions: returns the server's user functions by name.
        processing_log: receives errors of single records; None: they are not reported.
        runs: returns the Spark queries that this server has started.
        is_closing: whether the server, and with it Spark, is stopping.
    """

    def __init__(
        self,
        session: Callable[[], SparkSession],
        admin: KafkaAdmin,
        checkpoints: QueryCheckpoints,
        heartbeat: IdleHeartbeat,
        *,
        setting_of: Callable[[ManagedQuery, str], Any],
        skips_losses: Callable[[ManagedQuery], bool],
        config: Callable[[], Config],
        functions: Callable[[], Mapping[str, Spec]],
        processing_log: ProcessingLog | None,
        runs: Callable[[], Iterable[SparkQuery]],
        is_closing: Callable[[], bool],
    ) -> None:
        self._session = session
        self._admin = admin
        self._checkpoints = checkpoints
        self._heartbeat = heartbeat
        self._setting_of = setting_of
        self._skips_losses = skips_losses
        self._config = config
        self._functions = functions
        self._log = processing_log
        self._runs = runs
        self._is_closing = is_closing
        self._fencing = Fencing(admin, config)
        self._lock = threading.Lock()
        #: numbers of parts and tasks -> the parts' numbers
        self._task_numbers: dict[tuple[int, int], tuple[int, ...]] = {}

    def launch(self, query: ManagedQuery, number: int, until: Offsets | None = None) -> SparkQuery:
        """Start the Spark query of a stage.

        Args:
            query: the KSQL query.
            number: the stage's.
            until: where reading ends; what is read so far makes state and no results. None: nowhere.

        Raises:
            KsqlError: as QueryManager.start().
        """
        # queries do not share settings, so each has its own session
        session = new_session(self._session())
        topics = [source.topic for source in query.plan.sources]
        report = self._log.attach(session, query.id, topics) if self._log is not None else None
        run = f"{'transient-' if query.is_transient else ''}{new_run_id()}"
        try:
            return self._launch_run(query, number, session, report, run, until)
        except KsqlError as error:
            log.error("query %s did not start: %s", query.id, error.message, extra={"query": query.id})
            self._release(session, run)
            raise
        except Exception as error:
            if not self._is_closing():  # otherwise Spark is stopping as well
                log_failure(log, "query %s did not start", query, error)
            self._release(session, run)
            if is_state_unreadable(error):
                raise KsqlError("STATE_UNREADABLE", id=query.id, reason=reason(error)) from error
            raise KsqlError("QUERY_FAILED", id=query.id, reason=reason(error)) from error

    def _release(self, session: SparkSession, run: str) -> None:
        with contextlib.suppress(Exception):  # the JVM may be gone
            release(session, run)

    def _launch_run(
        self,
        query: ManagedQuery,
        number: int,
        session: SparkSession,
        report: QueryLog | None,
        run: str,
        until: Offsets | None,
    ) -> SparkQuery:
        plan = query.plan
        if until is not None:
            plan = replace(plan, mode=MICROBATCH, transactional_ids=())
        stage = plan.stages[number]
        is_exactly_once = stage.guarantee == EXACTLY_ONCE
        checkpoint = self._checkpoints.of(query, number)
        config = self._config().with_values(query.properties)
        producer = config.client_settings("producer")
        # executors return results to the server, which runs the transaction
        is_collected = is_exactly_once and not master.is_local(str(session.sparkContext.master))
        exactly_once.begin(self._admin, session, run, stage, checkpoint, producer)
        is_last = stage.is_last
        feeds = None if is_last else stage.sink.topic
        topic_config = self._admin.config(stage.sink.topic) if is_last and not query.is_transient else None
        producer = sinks.producer_settings(
            producer, stage.mode, int(self._setting_of(query, "ksql.sink.linger.ms"))
        )
        is_exempt = is_exactly_once or query.is_transient or until is not None
        is_fenced = not is_exempt and self._fencing.open(query, number, session, run, producer, feeds)
        checkpoint.fit(stage)
        tasks = checkpoint.tasks(self._assign(query, stage))
        needed = tasks.readers + tasks.count * tasks.is_exchanged if stage.mode == REALTIME else 1
        self._check_slots(query, needed)
        numbers = self._numbers(session, tasks)
        configure(session, tasks, numbers, by_event_time=stage.by_event_time)
        resumed_at = checkpoint.resumed_at
        starts = self._starts(query, number)
        interval_ms = self._interval_ms(query, stage)
        consumer = config.client_settings("consumer")
        if query.plan.guarantee == EXACTLY_ONCE:
            consumer["isolation.level"] = "read_committed"
        is_limited = is_exactly_once and not (stage.by_event_time or tasks.is_merged or tasks.is_one_order)
        most_records = int(self._setting_of(query, "ksql.transaction.max.records")) if is_limited else 0
        if is_limited and is_collected:
            most_records = min(most_records or COLLECTED_RECORDS, COLLECTED_RECORDS)
        archived = [source.topic for source in plan.sources if source.archive is not None]
        reads = Topics(
            consumer,
            starts,
            run,
            heartbeats=self._heartbeat.topic()
            if stage.needs_heartbeats and stage.mode == MICROBATCH and until is None
            else None,
            max_idle_ms=int(self._setting_of(query, "ksql.streams.max.task.idle.ms")),
            batch_ms=interval_ms,
            most_records=most_records,
            fails_on_loss=not self._skips_losses(query),
            until=until,
            archive_names={topic: archive_name(topic, self._admin.topic_id(topic)) for topic in archived},
            compacted=[topic for topic in archived if self._admin.is_compacted(topic)],
        )
        context = Context(
            session,
            stage,
            reads,
            tasks,
            numbers,
            setting=lambda name: self._setting_of(query, name),
            log=report,
            is_resumed=resumed_at is not None,
        )
        with registry.with_functions(self._functions):
            built = build(context)
        checkpoint.check_layout(built.layout, session.version, built.appended)
        records = sinks.encode(
            built.frame,
            stage.sink,
            query.sink_partitions if is_last else None,
            report.of_topic(stage.record_topic) if report is not None else None,
            keeps_partition=tasks.keeps_partition,
            stops_on_no_time=bool(self._setting_of(query, STOPS_ON_NO_TIME)),
            records=stage.records,
        )
        return sinks.start(
            records,
            name=query.id if is_last else f"{query.id}/{number}",
            run=run,
            producer=producer,
            topic=stage.sink.topic,
            mode=stage.mode,
            checkpoint=checkpoint.folder,
            interval_ms=interval_ms,
            feeds=feeds,
            slots=needed,
            is_opened=is_exactly_once or is_fenced,
            collected=master.most_results(session) if is_collected else None,
            topic_config=topic_config,
            fails_on_refusal=bool(self._setting_of(query, "ksql.fail.on.production.error")),
            is_discarded=until is not None,
        )

    def _interval_ms(self, query: ManagedQuery, stage: Stage) -> int:
        """The time between two checkpoints; 0: back to back."""
        if stage.mode == REALTIME:
            return int(self._setting_of(query, "ksql.checkpoint.interval.ms"))
        is_exactly_once = stage.guarantee == EXACTLY_ONCE
        return int(self._setting_of(query, "ksql.streams.commit.interval.ms")) if is_exactly_once else 0

    def _check_slots(self, query: ManagedQuery, needed: int) -> None:
        """Check that Spark can run this many more tasks at once, besides those of all queries.

        Raises:
            KsqlError: SPARK_NO_SLOTS.
        """
        session = self._session()
        if master.is_local(str(session.sparkContext.master)):
            return
        total = jvm.task_slots(session)
        free = total - sum(run.slots for run in self._runs() if run.is_active)
        if needed > free:
            what = f"Query {query.id}"
            raise KsqlError("SPARK_NO_SLOTS", what=what, needed=needed, total=total, free=max(free, 0))

    def _starts(self, query: ManagedQuery, number: int) -> dict[str, str]:
        """Return where a sub-topology starts to read its topics, in the form of Spark's source."""
        begins = self._checkpoints.position(query, number)
        starts = {topic: dict(offsets) for topic, offsets in begins.items() if offsets}
        if self._checkpoints.of(query, number).committed() is None:  # otherwise Spark ignores them
            patterns = [topic for topic in query.plan.stages[number].topics if pattern_of(topic) is not None]
            found = self._admin.expanded(patterns)
            gone = {name for topic in patterns for name in matching(topic, starts)} - set(found)
            starts = {name: offsets for name, offsets in starts.items() if name not in gone}
            for name in found:
                starts.setdefault(name, {})
            for topic, offsets in starts.items():
                there = self._admin.topic(topic)
                partitions = map(str, range(there.partitions if there is not None else 0))
                offsets.update({p: _EARLIEST for p in partitions if p not in offsets})
        return {topic: json.dumps(offsets) for topic, offsets in starts.items()}

    def _assign(self, query: ManagedQuery, stage: Stage) -> Tasks:
        """The tasks of a new sub-topology."""
        scattered = query.topics.scattered if query.topics is not None else ()
        threads = int(self._setting_of(query, "ksql.streams.num.stream.threads"))
        return assign(stage, query.partitions, min(threads, _cores()), scattered)

    def _numbers(self, session: SparkSession, tasks: Tasks) -> tuple[int, ...]:
        """The result of task_numbers, computed once."""
        wanted = (tasks.partitions, tasks.count)
        with self._lock:
            if wanted not in self._task_numbers:
                self._task_numbers[wanted] = task_numbers(session, *wanted)
            return self._task_numbers[wanted]


def _cores() -> int:
    """The number of cores available to this process."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
