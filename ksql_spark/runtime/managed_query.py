"""A query of KSQL as this server runs it, and the states that it can be in."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ksql_spark.logical.nodes import PersistentQuery, PushQuery
from ksql_spark.physical.steps import PhysicalPlan
from ksql_spark.runtime import exactly_once
from ksql_spark.runtime.query_errors import QueryError, is_jvm_gone
from ksql_spark.runtime.query_topics import QueryTopics
from ksql_spark.spark.query import SparkQuery

RUNNING, ERROR, PAUSED = "RUNNING", "ERROR", "PAUSED"
#: known from the command log, but not started yet
REGISTERED = "REGISTERED"
#: ids of push queries begin like this
TRANSIENT_PREFIX = "transient_"
#: another server runs it
ELSEWHERE = "ELSEWHERE"


@dataclass
class ManagedQuery:
    """A query of KSQL that the query manager starts, watches and stops.

    Args:
        id: KSQL's query id.
        statement: the statement's text.
        plan: the physical plan that runs.
        starts: topic -> {partition: offset} where reading begins without a checkpoint.
        properties: the statement's property overrides.
        sink_partitions: number of partitions of the sink's topic.
        creates_sink: the sink is dropped together with this query.
        is_transient: it is a push query.
        shares: the push query whose Spark query runs for this one, too; None: it has its own, or needs none.
        clients: ids of the push queries, itself among them, for which its Spark query runs.
        is_listed: it is listed, and can be terminated; not if it runs only for other push queries still.
        logical: the logical plan, for EXPLAIN and CREATE OR REPLACE.
        state: RUNNING, ERROR, PAUSED, REGISTERED or ELSEWHERE.
        errors: the latest failures, oldest first.
        spark: the Spark queries of its stages, upstream first.
        loading: a token for each thread that will start more of its stages, once history has been read.
        failures: number of failures in a row.
        failed_times: number of failures since the server started.
        started_at: when it was last started, on the monotonic clock, seconds.
        retry_at: when it is started again after a failure, on the same clock.
        committed_at_failure: the offsets it had committed when it last failed.
        waits_for_topic: it has failed because a topic that it reads has gone.
        accepts_loss: its next start goes on where records are lost, whatever ksql.on.data.loss says.
        topics: its topics, as they were at its last start.
        control: lock of the thread that starts or ends it; the watcher skips the query meanwhile.
    """

    id: str
    statement: str
    plan: PhysicalPlan
    starts: Mapping[str, Mapping[str, int]]
    properties: Mapping[str, Any]
    sink_partitions: int
    creates_sink: bool = False
    is_transient: bool = False
    shares: ManagedQuery | None = field(default=None, repr=False, compare=False)
    clients: set[str] = field(default_factory=set)
    is_listed: bool = True
    logical: PersistentQuery | PushQuery | None = None
    state: str = RUNNING
    errors: deque[QueryError] = field(default_factory=deque)
    spark: list[SparkQuery] = field(default_factory=list)
    loading: set[object] = field(default_factory=set)
    failures: int = 0
    failed_times: int = 0
    started_at: float = 0.0
    retry_at: float = 0.0
    committed_at_failure: Mapping[str, Mapping[int, int]] | None = None
    waits_for_topic: bool = False
    accepts_loss: bool = False
    topics: QueryTopics | None = field(default=None, repr=False, compare=False)
    control: Any = field(default_factory=threading.RLock, repr=False, compare=False)

    @property
    def runner(self) -> ManagedQuery:
        """What runs for it: itself, or the push query that it shares a Spark query with."""
        return self.shares or self

    @property
    def why_failed(self) -> str:
        """The message of its latest failure; empty if there was none."""
        return self.errors[-1].message if self.errors else ""

    @property
    def internal_partitions(self) -> int:
        """Of its internal topics: the greatest number among the topics that it reads."""
        return max([1, *(len(offsets) for offsets in self.starts.values())])

    @property
    def is_loading(self) -> bool:
        """True while history is read."""
        return bool(self.loading)


def internal_topics(plan: PhysicalPlan) -> tuple[str, ...]:
    """The names of the topics between the plan's sub-topologies, and of those of its commits."""
    between = (stage.sink.topic for stage in plan.inner)
    return (*between, *map(exactly_once.commits_topic, plan.transactional_ids))


def log_failure(logger: logging.Logger, text: str, query: ManagedQuery, error: Exception) -> None:
    """Log what happened to a query: with the stack trace, unless Spark's JVM has ended.

    Args:
        logger: of the module where it happened.
        text: with a place for the query's id.
        query: the query.
        error: its cause.
    """
    if is_jvm_gone(error):
        logger.error(f"{text}: Spark does not answer", query.id, extra={"query": query.id})
    else:
        logger.error(text, query.id, exc_info=error, extra={"query": query.id})
