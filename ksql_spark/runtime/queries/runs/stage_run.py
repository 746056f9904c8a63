"""One run of a sub-topology: from its checkpoint, its tasks and its start offsets to a Spark query."""

from __future__ import annotations

import contextlib
import json
import logging
import os
from dataclasses import replace
from typing import Any

from pyspark.sql import DataFrame

from ksql_spark.errors import KsqlError
from ksql_spark.functions import registry
from ksql_spark.metastore.sinks import archive_name
from ksql_spark.plan.distribution import Tasks, assign, staying
from ksql_spark.plan.stages import EXACTLY_ONCE, MICROBATCH, REALTIME
from ksql_spark.runtime.queries import exactly_once
from ksql_spark.runtime.queries.checkpoints import Offsets
from ksql_spark.runtime.queries.environment import Environment
from ksql_spark.runtime.queries.fencing import Fencing
from ksql_spark.runtime.queries.managed import ManagedQuery
from ksql_spark.spark import master, sinks
from ksql_spark.spark.build import build
from ksql_spark.spark.frames import Context, Topics, configure
from ksql_spark.spark.query import RUN_SETTING, SparkQuery, new_run_id
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


class StageRun:
    """A run of a stage of a query.

    Args:
        environment: what queries share.
        query: the KSQL query.
        number: the stage's.
        until: where reading ends; what is read so far makes state and no results. None: nowhere.
    """

    def __init__(
        self, environment: Environment, query: ManagedQuery, number: int, until: Offsets | None
    ) -> None:
        self._environment, self._query, self._number, self._until = environment, query, number, until
        self._admin = environment.admin
        # queries do not share settings, so each has its own session
        self.session = new_session(environment.session())
        topics = [source.topic for source in query.plan.sources]
        errors = environment.processing_log
        self._report = errors.attach(self.session, query.id, topics) if errors is not None else None
        self._id = f"{'transient-' if query.is_transient else ''}{new_run_id()}"
        self.session.conf.set(RUN_SETTING, self._id)
        plan = query.plan
        if until is not None:
            plan = replace(plan, mode=MICROBATCH, transactional_ids=())
        self._stage = plan.stages[number]
        self._checkpoint = environment.checkpoints.of(query, number)
        self._config = environment.config().with_values(query.properties)
        self._feeds = None if self._stage.is_last else self._stage.sink.topic
        #: the settings of its producer, once it is open, and whether the JVM has that producer already
        self._producer: dict[str, str] = {}
        self._is_opened = False

    def prepare(self, fencing: Fencing) -> Tasks:
        """Make its checkpoint agree with earlier commits, and stop what earlier runs still write.

        Args:
            fencing: opens producers.

        Returns:
            its tasks: those of its state, or new ones.

        Raises:
            KsqlError: CHECKPOINT_DAMAGED, STATE_INCOMPATIBLE, BROKER_UNREACHABLE, KAFKA_REFUSED;
                TRANSACTIONS_REFUSED: the query is exactly once, or its stage was until now.
        """
        query, stage = self._query, self._stage
        producer = self._config.client_settings("producer")
        try:
            exactly_once.begin(self._admin, self.session, self._id, stage, self._checkpoint, producer)
        except KsqlError as error:
            if error.condition != "TRANSACTIONS_REFUSED" or query.plan.guarantee == EXACTLY_ONCE:
                raise
            log.warning(
                "query %s: what a crash repeats in its internal topics is counted twice. %s",
                query.id,
                error.message,
            )
            self._stage = stage = replace(query.plan, transactional_ids=()).stages[self._number]
            exactly_once.begin(self._admin, self.session, self._id, stage, self._checkpoint, producer)
        linger_ms = int(self._setting("ksql.sink.linger.ms"))
        self._producer = producer = sinks.producer_settings(producer, stage.mode, linger_ms)
        is_exempt = self._is_exactly_once or query.is_transient or self._until is not None
        self._is_opened = self._is_exactly_once or (
            not is_exempt and fencing.open(query, self._number, self.session, self._id, producer, self._feeds)
        )
        self._checkpoint.fit(stage)
        scattered = query.topics.scattered if query.topics is not None else ()
        threads = int(self._setting("ksql.streams.num.stream.threads"))
        planned = assign(stage, query.partitions, min(threads, _cores()), scattered)
        return self._checkpoint.tasks(planned)

    def slots(self, tasks: Tasks) -> int:
        """Return how many of Spark's tasks it needs at once."""
        if self._stage.mode != REALTIME:
            return 1
        shuffled = max(0, len(self._stage.stateful) - 1) - len(staying(self._stage))
        return tasks.readers + tasks.count * (tasks.is_exchanged + shuffled)

    def start(self, tasks: Tasks, numbers: tuple[int, ...]) -> SparkQuery:
        """Start its Spark query.

        Args:
            tasks: what prepare() has returned.
            numbers: the result of task_numbers for them.

        Raises:
            KsqlError: STATE_INCOMPATIBLE, CHECKPOINT_DAMAGED; as KafkaAdmin.
        """
        forgotten = self._checkpoint.forgotten()
        configure(
            self.session,
            tasks,
            numbers,
            by_event_time=self._stage.by_event_time,
            operators=len(self._stage.stateful),
            staying=staying(self._stage),
            forgotten=forgotten,
        )
        context = Context(
            self.session,
            self._stage,
            self._topics(tasks),
            tasks,
            numbers,
            setting=self._setting,
            log=self._report,
            is_resumed=self._checkpoint.resumed_at is not None or self._query.is_continued,
        )
        with registry.with_functions(self._environment.functions):
            built = build(context)
        self._checkpoint.check_layout(built.layout, self.session.version, built.appended, built.former)
        return self._write(built.frame, tasks)

    def release(self) -> None:
        """Release what a run that did not start has taken."""
        with contextlib.suppress(Exception):  # the JVM may be gone
            release(self.session, self._id)

    def _topics(self, tasks: Tasks) -> Topics:
        """Return how it reads."""
        query, stage = self._query, self._stage
        consumer = self._config.client_settings("consumer")
        if query.plan.transactional_ids:
            consumer["isolation.level"] = "read_committed"
        has_heartbeats = stage.needs_heartbeats and stage.mode == MICROBATCH and self._until is None
        archived = [source.topic for source in query.plan.sources if source.archive is not None]
        return Topics(
            consumer,
            self._starts(),
            self._id,
            heartbeats=self._environment.heartbeat.topic() if has_heartbeats else None,
            max_idle_ms=int(self._setting("ksql.streams.max.task.idle.ms")),
            batch_ms=self._interval_ms,
            most_records=self._most_records(tasks),
            fails_on_loss=not self._environment.skips_losses(query),
            until=self._until,
            archive_names={topic: archive_name(topic, self._admin.topic_id(topic)) for topic in archived},
            compacted=[topic for topic in archived if self._admin.is_compacted(topic)],
        )

    def _write(self, frame: DataFrame, tasks: Tasks) -> SparkQuery:
        """Start the Spark query that writes a frame to the stage's sink."""
        query, stage, is_last = self._query, self._stage, self._stage.is_last
        records = sinks.encode(
            frame,
            stage.sink,
            query.sink_partitions if is_last else None,
            self._report.of_topic(stage.record_topic) if self._report is not None else None,
            keeps_partition=tasks.keeps_partition,
            stops_on_no_time=bool(self._setting(STOPS_ON_NO_TIME)),
            records=stage.records,
        )
        topic_config = self._admin.config(stage.sink.topic) if is_last and not query.is_transient else None
        return sinks.start(
            records,
            name=query.id if is_last else f"{query.id}/{self._number}",
            run=self._id,
            producer=self._producer,
            topic=stage.sink.topic,
            mode=stage.mode,
            checkpoint=self._checkpoint.folder,
            interval_ms=self._interval_ms,
            feeds=self._feeds,
            slots=self.slots(tasks),
            is_opened=self._is_opened,
            collected=master.most_results(self.session) if self._is_collected else None,
            topic_config=topic_config,
            fails_on_refusal=bool(self._setting("ksql.fail.on.production.error")),
            is_discarded=self._until is not None,
        )

    def _setting(self, name: str) -> Any:
        return self._environment.setting(self._query, name)

    @property
    def _is_exactly_once(self) -> bool:
        return self._stage.guarantee == EXACTLY_ONCE

    @property
    def _is_collected(self) -> bool:
        """Whether executors return results to the server, which runs the transaction."""
        return self._is_exactly_once and not master.is_local(str(self.session.sparkContext.master))

    @property
    def _interval_ms(self) -> int:
        """The time between two checkpoints; 0: back to back."""
        if self._stage.mode == REALTIME:
            return int(self._setting("ksql.checkpoint.interval.ms"))
        return int(self._setting("ksql.streams.commit.interval.ms")) if self._is_exactly_once else 0

    def _most_records(self, tasks: Tasks) -> int:
        """Return how many records of a topic a batch has at most; 0: any number."""
        is_ordered = self._stage.by_event_time or tasks.is_merged or tasks.is_one_order
        if not self._is_exactly_once or is_ordered:
            return 0
        most = int(self._setting("ksql.transaction.max.records"))
        return min(most or COLLECTED_RECORDS, COLLECTED_RECORDS) if self._is_collected else most

    def _starts(self) -> dict[str, str]:
        """Return where it starts to read its topics, in the form of Spark's source."""
        begins = self._environment.checkpoints.position(self._query, self._number)
        starts = {topic: dict(offsets) for topic, offsets in begins.items() if offsets}
        if self._checkpoint.committed() is None:  # otherwise Spark ignores them
            patterns = [topic for topic in self._stage.topics if pattern_of(topic) is not None]
            topics = self._admin.expanded(patterns)
            gone = {name for topic in patterns for name in matching(topic, starts)} - set(topics)
            starts = {name: offsets for name, offsets in starts.items() if name not in gone}
            for name in topics:
                starts.setdefault(name, {})
            for topic, offsets in starts.items():
                there = self._admin.topic(topic)
                partitions = map(str, range(there.partitions if there is not None else 0))
                offsets.update({p: _EARLIEST for p in partitions if p not in offsets})
        return {topic: json.dumps(offsets) for topic, offsets in starts.items()}


def _cores() -> int:
    """Return the number of cores available to this process."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


__all__ = ["StageRun"]
