"""Watches queries: they end unexpectedly, their topics disappear or reappear, retries are due."""

from __future__ import annotations

import functools
import logging
import threading
import time
from collections.abc import Mapping
from typing import Protocol

from ksql_spark.errors import KsqlError
from ksql_spark.kafka.admin import TopicIdentity
from ksql_spark.runtime.errors import (
    data_loss,
    is_state_unreadable,
    partitions_changed,
    reason,
)
from ksql_spark.runtime.queries.environment import Environment
from ksql_spark.runtime.queries.figures import QueryFigures
from ksql_spark.runtime.queries.managed import ManagedQuery, log_failure
from ksql_spark.runtime.queries.runs.runs import QueryRuns
from ksql_spark.runtime.queries.state_bounds import BOUNDS, Fill
from ksql_spark.runtime.queries.states import State
from ksql_spark.runtime.queries.topics import QueryTopics, all_names
from ksql_spark.runtime.queries.watching.periodic import PeriodicTask
from ksql_spark.runtime.queries.watching.removals import PendingRemovals
from ksql_spark.runtime.queries.watching.spark_loss import SparkLoss
from ksql_spark.runtime.queries.watching.state_size import state_size
from ksql_spark.spark import jvm

log = logging.getLogger(__name__)

#: how often queries are checked
WATCH_EVERY_S = 0.5
#: how often to check the topics of queries; a missing topic is acted on at the second check, in seconds
LOOK_AT_TOPICS_EVERY_S = 3.0
#: how often the sizes of states are checked, in seconds; Spark reports them at checkpoints
LOOK_AT_STATES_EVERY_S = 5.0


class Manager(Protocol):
    """The part of the query manager that the watcher uses; the manager decides what a query does next."""

    #: whether Spark's JVM has exited, so that queries cannot be checked
    spark_loss: SparkLoss

    def managed(self) -> list[ManagedQuery]:
        """All queries."""

    def knows(self, query_id: str) -> bool:
        """Whether a query with this id exists."""

    def has(self, query: ManagedQuery) -> bool:
        """Whether a query still exists."""

    def start_or_fail(self, query: ManagedQuery) -> None:
        """Start a query; if it does not start, it has failed."""

    def failed(self, query: ManagedQuery, cause: BaseException | None) -> None:
        """Count a failure of a query, and retry later."""


class QueryWatcher:
    """Checks all queries and their topics periodically, in its own threads.

    Args:
        manager: of the queries.
        runs: of the queries.
        environment: what queries share.
        removals: the pending removals of queries that have ended.
        figures: of the queries.
    """

    def __init__(
        self,
        manager: Manager,
        runs: QueryRuns,
        environment: Environment,
        removals: PendingRemovals,
        figures: QueryFigures,
    ) -> None:
        self._manager = manager
        self._figures = figures
        self._runs = runs
        self._environment = environment
        self._removals = removals
        self._closing = threading.Event()
        #: topics that had changed at the last check: query id and topic
        self._doubted: set[tuple[str, str]] = set()
        self._watches = (
            PeriodicTask("query-watcher", WATCH_EVERY_S, self._look),
            PeriodicTask("topic-watcher", LOOK_AT_TOPICS_EVERY_S, self._look_at_topics),
            PeriodicTask("state-watcher", LOOK_AT_STATES_EVERY_S, self._look_at_states),
            PeriodicTask("pending-removals", WATCH_EVERY_S, self._remove_pending),
        )

    def start(self) -> None:
        """Start watching."""
        for watch in self._watches:
            watch.start()

    def close(self) -> None:
        """Stop watching."""
        self._closing.set()
        for watch in self._watches:
            watch.close()

    def join(self, timeout_s: float) -> bool:
        """Wait for running checks to finish, this long for each thread; returns whether they have."""
        return all([watch.join(timeout_s) for watch in self._watches])

    @property
    def problem(self) -> str | None:
        """The reason why queries cannot be watched properly; None if they can."""
        return next((watch.problem for watch in self._watches if watch.problem is not None), None)

    def _look(self) -> None:
        """Detect queries that ended unexpectedly, and restart them with backoff (reference §6.11)."""
        failed: Exception | None = None
        for query in self._manager.managed():
            if self._manager.spark_loss.is_gone:
                break
            try:
                self.check(query)
            except Exception as error:  # the others are checked anyway
                failed = failed or error
        self._environment.checkpoints.remove_late(self._manager.knows)
        if failed is not None:
            raise failed

    def _remove_pending(self) -> None:
        self._removals.remove_due(self._manager.knows, self._closing.is_set)

    def check(self, query: ManagedQuery) -> None:
        """Check a query, unless it is starting or ending; if the check fails, so does the query."""
        if not query.control.acquire(blocking=False):
            return
        try:
            self._check(query)
        except Exception as error:
            if self._closing.is_set() or self._manager.spark_loss.is_gone:
                return  # Spark is stopping as well, or is restarting with all queries
            log_failure(log, "could not watch query %s", query, error)
            if not jvm.is_gone(error):  # otherwise the supervisor will notice it
                self._runs.drain_and_end(query)
            self._manager.failed(query, error)
        finally:
            query.control.release()

    def _check(self, query: ManagedQuery) -> None:
        if query.loading:
            return
        if query.state is State.RUNNING:
            ended = [run for run in query.spark if not run.is_active]
            is_missing = not query.spark and not query.is_transient
            if not (ended or is_missing) or not self._manager.has(query):  # somebody has just ended it
                return
            cause = next((c for c in (run.exception() for run in ended) if c is not None), None)
            what = data_loss(cause)
            if what is not None and not self._environment.skips_losses(query):
                cause = KsqlError("DATA_LOST", what=what)
            elif cause is not None and is_state_unreadable(cause):
                cause = KsqlError("STATE_UNREADABLE", id=query.id, reason=reason(cause))
            elif (changed := partitions_changed(cause, query.id)) and not query.is_transient:
                cause = self._partitions_changed(query) or changed
            log.error("query %s failed: %s", query.id, cause, extra={"query": query.id})
            self._runs.drain_and_end(query)
            self._manager.failed(query, cause)
        elif (
            query.state is State.ERROR
            and time.monotonic() >= query.retries.due_at
            and self._manager.has(query)
        ):
            self._manager.start_or_fail(query)

    def _partitions_changed(self, query: ManagedQuery) -> KsqlError | None:
        """Return the error of QueryTopics about a topic that has gained partitions; None if none has."""
        topics = self._environment.topics(query)
        try:
            topics.check_partitions(self._environment.admin.identities(topics.names))
        except KsqlError as error:
            return error
        return None

    def _look_at_topics(self) -> None:
        """Detect topics of queries that have been deleted, recreated, or exist again."""
        states = (State.RUNNING, State.ERROR)
        queries = [q for q in self._manager.managed() if not q.is_transient and q.state in states]
        try:
            there = self._environment.admin.identities(
                all_names([self._environment.topics(q) for q in queries])
            )
        except KsqlError as error:  # the queries will notice it, too
            log.warning("could not inspect the topics of queries: %s", error.message)
            return
        doubted, self._doubted = self._doubted, set()
        failed: Exception | None = None
        for query in queries:
            try:
                topics = self._environment.topics(query)
                changed = topics.changed(there)
                self._doubted |= {(query.id, name) for name in changed}
                confirmed = [name for name in changed if (query.id, name) in doubted]
                if query.control.acquire(blocking=False):  # otherwise it is starting or ending
                    try:
                        self._note_topics(query, topics, confirmed, there)
                    finally:
                        query.control.release()
            except Exception as error:  # as in _look
                if not self._manager.spark_loss.is_gone:
                    failed = failed or error
        if failed is not None:
            raise failed

    def _look_at_states(self) -> None:
        """Stop queries whose state has reached its bound; warn of queries that are about to."""
        bounds = self._figures.state_bounds
        queries = [
            query
            for query in self._manager.managed()
            if not query.is_transient
            and any(self._environment.setting(query, name) is not None for name in BOUNDS)
        ]
        for query in queries:
            size = state_size(query, self._figures)
            if query.state is not State.RUNNING or size is None:
                continue
            was = bounds.fill(query.id)
            setting = functools.partial(self._environment.setting, query)
            fill = bounds.note(query.id, size.bytes, size.entries, setting)
            if fill is not None and fill.is_full:
                self._stop_full(query, fill)
            elif fill is not None and fill.is_nearly_full and not (was is not None and was.is_nearly_full):
                log.warning("state of query %s: %s", query.id, fill, extra={"query": query.id})
        bounds.keep({query.id for query in queries})

    def _stop_full(self, query: ManagedQuery, fill: Fill) -> None:
        if not query.control.acquire(blocking=False):  # it is starting or ending: later
            return
        try:
            if query.state is State.RUNNING and not query.loading and self._manager.has(query):
                self._runs.drain_and_end(query)
                self._manager.failed(
                    query, KsqlError("STATE_FULL", fill=str(fill), name=fill.name, id=query.id)
                )
        finally:
            query.control.release()

    def _note_topics(
        self, query: ManagedQuery, topics: QueryTopics, changed: list[str], there: Mapping[str, TopicIdentity]
    ) -> None:
        """Stop a query whose topics have changed; start one that waited for a topic."""
        if not self._manager.has(query) or self._manager.spark_loss.is_gone:
            return
        missing = topics.missing(there)
        if query.state is State.RUNNING and not changed:
            try:
                topics.check_partitions(there)
                if new := topics.note_new_matches(there):
                    log.info("query %s reads %s, too", query.id, ", ".join(new), extra={"query": query.id})
                    for run in query.spark:
                        run.end_batch()
            except KsqlError as error:
                log.error("query %s stops: %s", query.id, error, extra={"query": query.id})
                # not drained: the records that it reads now may be of keys whose state is elsewhere
                self._runs.end(query)
                self._manager.start_or_fail(query)  # which fails, or rebuilds the state
        elif query.state is State.RUNNING:
            if query.plan.sink.topic in changed:
                self._runs.end(query)
            else:
                self._runs.drain_and_end(query)
            if missing:
                self._manager.failed(query, KsqlError("SOURCE_TOPIC_DELETED", topic=missing[0]))
            else:
                self._manager.start_or_fail(query)
        elif query.state is State.ERROR and not missing and not query.spark:
            is_retried = bool(changed) and not query.retries.is_halted
            if query.waits_for_topic or is_retried:
                self._manager.start_or_fail(query)


__all__ = ["QueryWatcher"]
