"""A KSQL query as this server runs it."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Mapping
from typing import Any

from ksql_spark import topic_patterns
from ksql_spark.plan.queries import PersistentQuery
from ksql_spark.plan.stages import Plan
from ksql_spark.runtime.errors import QueryError
from ksql_spark.runtime.queries import exactly_once
from ksql_spark.runtime.queries.backoff import Retries
from ksql_spark.runtime.queries.definition import QueryDefinition
from ksql_spark.runtime.queries.differences import TopicRows
from ksql_spark.runtime.queries.evolution import Backfill, Evolution, Swap
from ksql_spark.runtime.queries.states import Lifecycle, State
from ksql_spark.runtime.queries.topics import QueryTopics
from ksql_spark.spark import jvm
from ksql_spark.spark.query import SparkQuery


class ManagedQuery:
    """A KSQL query that the query manager starts, watches and stops: its definition, and how it runs.

    Args:
        definition: its definition, which the properties show.
    """

    def __init__(self, definition: QueryDefinition) -> None:
        self._definition = definition
        # push queries come and go by the thousand
        self.lifecycle = Lifecycle(definition.id, logging.DEBUG if definition.is_transient else logging.INFO)
        #: held by the thread that starts or ends it; the watcher skips the query meanwhile
        self.control = threading.RLock()
        #: the Spark queries of its stages, upstream first
        self.spark: list[SparkQuery] = []
        #: a token for each thread that will start more of its stages once history has been read
        self.loading: set[object] = set()
        #: the latest failures, oldest first
        self.errors: deque[QueryError] = deque()
        #: the query's failures, and when to restart it
        self.retries = Retries()
        #: whether it has failed because a topic that it reads is gone
        self.waits_for_topic = False
        #: whether its next start continues despite lost records, whatever ksql.on.data.loss says
        self.accepts_loss = False
        #: overrides of properties that RESUME has brought: other bounds of its state
        self.resumed_with: Mapping[str, Any] = {}
        #: the query's topics, as they were at its last start
        self.topics: QueryTopics | None = None
        #: the push query whose Spark query also runs for this one, or None if it has its own, or needs none
        self.shares: ManagedQuery | None = None
        #: ids of the push queries, including itself, that share its Spark query
        self.clients: set[str] = set()
        #: the reason why its automatic swap was refused last; None if it was not
        self.swap_refusal: str | None = None
        #: if it is a new version: the rows of the table and its own, as of the last attempt to swap
        self.rows: tuple[TopicRows, TopicRows] | None = None
        #: when its automatic swap may be tried again, on the monotonic clock
        self.swap_not_before = 0.0
        #: whether it is listed and can be terminated; not if it only runs for other push queries
        self.is_listed = True

    @property
    def id(self) -> str:
        """KSQL's query id."""
        return self._definition.id

    @property
    def statement(self) -> str:
        """The statement's text."""
        return self._definition.statement

    @property
    def plan(self) -> Plan:
        """The running plan: for a push query that shares a Spark query, that one's."""
        return self.runner._definition.plan

    @property
    def starts(self) -> Mapping[str, Mapping[str, int]]:
        """Topic -> {partition: offset} where reading starts without a checkpoint."""
        return self._definition.starts

    @property
    def properties(self) -> Mapping[str, Any]:
        """The property overrides of the statement, and of a RESUME that has changed bounds since."""
        own = self._definition.properties
        return {**own, **self.resumed_with} if self.resumed_with else own

    @property
    def sink_partitions(self) -> int:
        """Number of partitions of the sink's topic."""
        return self._definition.sink_partitions

    @property
    def creates_sink(self) -> bool:
        """Whether the sink is dropped together with this query."""
        return self._definition.creates_sink

    @property
    def is_transient(self) -> bool:
        """Whether it is a push query."""
        return self._definition.is_transient

    @property
    def is_continued(self) -> bool:
        """Whether it goes on where an earlier push query of its client has stopped."""
        return self._definition.is_continued

    @property
    def logical(self) -> PersistentQuery | None:
        """The query as it was bound, for CREATE OR REPLACE; None for a push query."""
        return self._definition.logical

    @property
    def evolution(self) -> Evolution | None:
        """How it follows the version before; None if there was none, or it goes on with its state."""
        return self._definition.evolution

    @property
    def own_topics(self) -> tuple[str, ...]:
        """The topics that end with it: internal ones, and that of a new version beside the old one."""
        internal, evolution = internal_topics(self.plan), self.evolution
        return (*internal, evolution.topic) if isinstance(evolution, Backfill | Swap) else internal

    @property
    def definition(self) -> QueryDefinition:
        """The parts of the query that do not change while it runs."""
        return self._definition

    @property
    def state(self) -> State:
        """The state of the query; ``lifecycle`` changes it."""
        return self.lifecycle.state

    @property
    def is_halted(self) -> bool:
        """Whether it has failed, and only RESUME restarts it."""
        return self.state is State.ERROR and self.retries.is_halted

    @property
    def runner(self) -> ManagedQuery:
        """The query that runs for it: itself, or the push query whose Spark query it shares."""
        return self.shares or self

    @property
    def why_failed(self) -> str:
        """The message of its latest failure; empty if it never failed."""
        return self.errors[-1].message if self.errors else ""

    @property
    def internal_partitions(self) -> int:
        """The number of partitions of its internal topics: the maximum of the topics that it reads."""
        return max([1, *(len(offsets) for offsets in self.starts.values())])

    @property
    def partitions(self) -> Mapping[str, int]:
        """The number of partitions of each topic when it was planned, by name."""
        between = dict.fromkeys(internal_topics(self.plan), self.internal_partitions)
        starts = self.starts
        sources = {
            source.topic: max(
                [1, *(len(starts[name]) for name in topic_patterns.names(source.topic, starts))]
            )
            for source in self.plan.sources
        }
        return {self.plan.sink.topic: self.sink_partitions, **between, **sources}


def internal_topics(plan: Plan) -> tuple[str, ...]:
    """The names of the topics between the plan's sub-topologies, and of its topics of commits."""
    between = (stage.sink.topic for stage in plan.inner)
    return (*between, *map(exactly_once.commits_topic, plan.transactional_ids))


def log_failure(logger: logging.Logger, text: str, query: ManagedQuery, error: Exception) -> None:
    """Log an event of a query: with the stack trace, unless Spark's JVM has exited.

    Args:
        logger: the module's logger.
        text: with a placeholder for the query's id.
        query: the query.
        error: its cause.
    """
    if jvm.is_gone(error):
        logger.error(f"{text}: Spark does not answer", query.id, extra={"query": query.id})
    else:
        logger.error(text, query.id, exc_info=error, extra={"query": query.id})
