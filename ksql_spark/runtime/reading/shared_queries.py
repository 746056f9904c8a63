"""Spark queries that several push queries share, if they ask the same (ADR 39).

A client must not notice that it shares a query. A query's rows depend on where it starts, so a client joins a
running query only in two cases:

* It started at the same offsets. Then the client reads the topic with its results from the beginning.
* It started earlier, and each row says which record it was made of. Then the client skips rows of records
  before its own start.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from ksql_spark.config import Config
from ksql_spark.errors import KsqlError
from ksql_spark.kafka.admin import KafkaAdmin
from ksql_spark.plan import codec
from ksql_spark.plan.queries import Feed
from ksql_spark.runtime.queries.managed import ManagedQuery
from ksql_spark.runtime.queries.manager import QueryManager

log = logging.getLogger(__name__)

TOKENS = "ksql.query.push.v2.continuation.tokens.enabled"
#: properties that do not affect a query's rows, or only determine where it starts
_OF_CLIENTS = frozenset(("auto.offset.reset", "ksql.streams.auto.offset.reset", TOKENS))

Starts = Mapping[str, Mapping[str, int]]


def plan_text(bound: Feed) -> str:
    """A query's plan without its LIMIT."""
    return json.dumps(codec.encode((bound.root, bound.output)), sort_keys=True)


def sameness(bound: Feed, config: Config, topic_ids: Mapping[str, str]) -> str:
    """A value that is equal for queries that produce the same rows if they start at the same offsets.

    LIMIT does not count: each client has its own.

    Args:
        bound: the query.
        config: the effective properties.
        topic_ids: the ids of the topics that it reads, by name.
    """
    settings = {n: str(v) for n, v in config.with_prefix("").items() if n not in _OF_CLIENTS}
    return json.dumps([plan_text(bound), settings, dict(topic_ids)], sort_keys=True)


@dataclass(eq=False)
class SharedQuery:
    """A Spark query for several clients.

    Args:
        query: the first client's, which has the Spark query.
        same: the sameness that it shares with the others.
        readers: the number of results that read its topic.
    """

    query: ManagedQuery
    same: str
    readers: int = 0

    @property
    def topic(self) -> str:
        """The topic with its rows."""
        return self.query.plan.sink.topic


class SharedQueries:
    """The Spark queries that push queries share. Thread-safe.

    Args:
        admin: of the cluster.
        queries: the manager that runs them.
    """

    def __init__(self, admin: KafkaAdmin, queries: QueryManager) -> None:
        self._admin = admin
        self._queries = queries
        self._lock = threading.Lock()
        self._shared: list[SharedQuery] = []
        #: key of a starting query -> its lock, and how many wait for it or hold it
        self._starting: dict[str, tuple[threading.Lock, int]] = {}

    @contextmanager
    def starting(self, same: str) -> Iterator[None]:
        """A block for one thread at a time, so that clients that arrive together share what the first one
        starts.
        """
        with self._lock:
            lock, count = self._starting.get(same, (threading.Lock(), 0))
            self._starting[same] = lock, count + 1
        try:
            with lock:
                yield
        finally:
            with self._lock:
                lock, count = self._starting.pop(same)
                if count > 1:
                    self._starting[same] = lock, count - 1

    def ends(self, same: str) -> dict[SharedQuery, int]:
        """The current end offsets of the results of queries that can be shared.

        Raises:
            KsqlError: BROKER_UNREACHABLE.
        """
        ends = {}
        for shared in self._running(same):
            with _may_have_gone():
                ends[shared] = self._admin.end_offsets(shared.topic)[shared.topic, 0]
        return ends

    def join(
        self, same: str, query: ManagedQuery, ends: Mapping[SharedQuery, int], *, has_places: bool
    ) -> tuple[SharedQuery, int] | None:
        """Let a query join a running one; returns that query, and the offset of its topic at which to start.

        Args:
            same: its sameness.
            query: a new push query.
            ends: where results ended just before the query's start was set to the ends of its topics, so that
                earlier rows are of earlier records. Empty if it starts elsewhere.
            has_places: whether rows say which records they were made of.

        Raises:
            KsqlError: BROKER_UNREACHABLE.
        """
        for shared in self._running(same):
            if shared.query.starts == query.starts:
                begin = 0
            elif has_places and _covers(shared.query.starts, query.starts):
                begin = ends.get(shared, 0)
            else:
                continue
            with self._lock:
                if shared not in self._shared:
                    continue
                shared.readers += 1
            is_in = False
            try:
                with _may_have_gone():
                    is_there = begin > 0 or self._is_whole(shared.topic)
                    is_in = is_there and self._queries.share(query, shared.query)
                if is_in:
                    return shared, begin
            finally:
                if not is_in:
                    self.leave(shared)
        return None

    def add(self, same: str, query: ManagedQuery) -> SharedQuery:
        """Let others join a query that has started; it has one reader."""
        shared = SharedQuery(query, same, 1)
        with self._lock:
            self._shared.append(shared)
        return shared

    def leave(self, shared: SharedQuery) -> None:
        """A result is no longer read; its topic is removed with the last reader, later if that is not
        possible now.
        """
        with self._lock:
            shared.readers -= 1
            if shared.readers:
                return
            self._shared.remove(shared)
        try:
            self._admin.delete_topics([shared.topic])
        except KsqlError as error:
            log.warning("topic %s will be deleted later: %s", shared.topic, error.message)
            self._queries.removals.add(shared.topic, lambda: self._admin.delete_topics([shared.topic]))

    def _running(self, same: str) -> list[SharedQuery]:
        with self._lock:
            return [s for s in self._shared if s.same == same and s.query.clients and not s.query.errors]

    def _is_whole(self, topic: str) -> bool:
        """Whether the topic still has everything that was written to it."""
        return not any(self._admin.beginning_offsets(topic).values())


@contextmanager
def _may_have_gone() -> Iterator[None]:
    """Continue if a topic no longer exists: its last reader has left meanwhile."""
    try:
        yield
    except KsqlError as error:
        if error.condition != "TOPIC_UNKNOWN":
            raise


def _covers(theirs: Starts, ours: Starts) -> bool:
    """Whether a query that starts at ``theirs`` reads everything from ``ours`` on."""
    return theirs.keys() == ours.keys() and all(
        theirs[topic].keys() == offsets.keys()
        and all(theirs[topic][partition] <= offset for partition, offset in offsets.items())
        for topic, offsets in ours.items()
    )
