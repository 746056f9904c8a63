"""Notices what happens to queries by itself: they end, their topics go or come back, it is time to retry."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Mapping
from typing import Protocol

from ksql_spark.errors import KsqlError
from ksql_spark.kafka.admin import KafkaAdmin
from ksql_spark.runtime.managed_query import ManagedQuery, log_failure
from ksql_spark.runtime.query_checkpoints import QueryCheckpoints
from ksql_spark.runtime.query_errors import data_loss, is_state_unreadable, reason
from ksql_spark.runtime.query_runs import QueryRuns
from ksql_spark.runtime.query_state import State
from ksql_spark.runtime.query_topics import QueryTopics, all_names

log = logging.getLogger(__name__)

#: how often queries are checked
WATCH_EVERY_S = 0.5
#: how often the topics of queries are looked at; what has gone is noticed the second time, in seconds
LOOK_AT_TOPICS_EVERY_S = 3.0


class Manager(Protocol):
    """What the watcher asks of the query manager, which decides what a query does next."""

    @property
    def is_spark_gone(self) -> bool:
        """Whether Spark's JVM has ended, and queries cannot be looked at."""

    def managed(self) -> list[ManagedQuery]:
        """All queries."""

    def knows(self, query_id: str) -> bool:
        """Whether there is a query with this id."""

    def has(self, query: ManagedQuery) -> bool:
        """Whether a query is there still."""

    def start_or_fail(self, query: ManagedQuery) -> None:
        """Start a query; if it does not start, it has failed."""

    def failed(self, query: ManagedQuery, cause: BaseException | None) -> None:
        """Count a failure of a query, and retry later."""


class QueryWatcher:
    """Looks at all queries again and again, and at their topics, in two threads of its own.

    Args:
        manager: of the queries.
        runs: of the queries.
        checkpoints: of the queries.
        admin: of the cluster.
    """

    def __init__(
        self, manager: Manager, runs: QueryRuns, checkpoints: QueryCheckpoints, admin: KafkaAdmin
    ) -> None:
        self._manager = manager
        self._runs = runs
        self._checkpoints = checkpoints
        self._admin = admin
        self._closing = threading.Event()
        self._threads = [
            threading.Thread(target=self._watch, name="query-watcher", daemon=True),
            threading.Thread(target=self._watch_topics, name="topic-watcher", daemon=True),
        ]

    def start(self) -> None:
        """Watch from now on."""
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        """Watch no more."""
        self._closing.set()

    def join(self, timeout_s: float) -> None:
        """Wait until both threads have ended, for so long each."""
        for thread in self._threads:
            thread.join(timeout_s)

    def _watch(self) -> None:
        """Notice queries that ended by themselves, and restart them with back-off (reference §6.11)."""
        while not self._closing.wait(WATCH_EVERY_S):
            self._checkpoints.remove_late(self._manager.knows)
            for query in self._manager.managed():
                try:
                    if not self._manager.is_spark_gone:
                        self.check(query)
                except Exception as error:
                    if self._closing.is_set():
                        return  # Spark is stopping as well
                    if self._manager.is_spark_gone:
                        break
                    log_failure(log, "query %s cannot be watched", query, error)
                    self._manager.failed(query, error)

    def check(self, query: ManagedQuery) -> None:
        """Look at a query once, unless it is being started or ended."""
        if not query.control.acquire(blocking=False):
            return
        try:
            self._check(query)
        finally:
            query.control.release()

    def _check(self, query: ManagedQuery) -> None:
        if query.loading:
            return
        if query.state is State.RUNNING:
            ended = [run for run in query.spark if not run.is_active]
            if not ended or not self._manager.has(query):  # the server stops, and has ended it
                return
            cause = next((c for c in (run.exception() for run in ended) if c is not None), None)
            what = data_loss(cause)
            if what is not None and not self._runs.skips_losses(query):
                cause = KsqlError("DATA_LOST", what=what)
            elif cause is not None and is_state_unreadable(cause):
                cause = KsqlError("STATE_UNREADABLE", id=query.id, reason=reason(cause))
            log.error("query %s failed: %s", query.id, cause, extra={"query": query.id})
            self._runs.drain_and_end(query)
            self._manager.failed(query, cause)
        elif (
            query.state is State.ERROR
            and time.monotonic() >= query.retries.due_at
            and self._manager.has(query)
        ):
            self._manager.start_or_fail(query)

    def _watch_topics(self) -> None:
        """Notice that topics of queries have gone, were made again, or are there again."""
        doubted: set[tuple[str, str]] = set()
        states = (State.RUNNING, State.ERROR)
        while not self._closing.wait(LOOK_AT_TOPICS_EVERY_S):
            queries = [q for q in self._manager.managed() if not q.is_transient and q.state in states]
            try:
                there = self._admin.topic_ids(all_names([self._runs.topics(q) for q in queries]))
            except KsqlError as error:  # the queries will notice it, too
                log.warning("the topics of queries cannot be looked at: %s", error.message)
                continue
            seen: set[tuple[str, str]] = set()
            for query in queries:
                topics = self._runs.topics(query)
                changed = topics.changed(there)
                seen |= {(query.id, name) for name in changed}
                if not query.control.acquire(blocking=False):
                    continue  # it is being started or ended
                try:
                    self._note_topics(query, topics, [n for n in changed if (query.id, n) in doubted], there)
                except Exception as error:
                    if not (self._closing.is_set() or self._manager.is_spark_gone):
                        log_failure(log, "the topics of query %s cannot be watched", query, error)
                finally:
                    query.control.release()
            doubted = seen

    def _note_topics(
        self, query: ManagedQuery, topics: QueryTopics, changed: list[str], there: Mapping[str, str]
    ) -> None:
        """Stop a query whose topics have changed; start one that waited for a topic."""
        if not self._manager.has(query) or self._manager.is_spark_gone:
            return
        missing = topics.missing(there)
        if query.state is State.RUNNING and changed:
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
