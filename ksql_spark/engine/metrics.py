"""Metrics of a running engine for GET /metrics: counters since startup, and current values."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Literal, NamedTuple

from ksql_spark import topic_patterns
from ksql_spark.engine.query_service import QueryService
from ksql_spark.errors import KsqlError
from ksql_spark.runtime.queries.managed import ManagedQuery
from ksql_spark.runtime.queries.states import State
from ksql_spark.runtime.queries.watching.state_size import state_size
from ksql_spark.spark.traffic import Times, Traffic, furthest
from ksql_spark.statements import Services

log = logging.getLogger(__name__)


class Measure(NamedTuple):
    """A metric's definition.

    Args:
        name: without the prefix of this program.
        kind: a counter only grows until the server, or what it counts in, restarts.
        help: one sentence.
        labels: label names.
    """

    name: str
    kind: Literal["counter", "gauge", "histogram"]
    help: str
    labels: tuple[str, ...] = ()


class Figure(NamedTuple):
    """One sample of a metric; ``labels`` in the order of the metric's label names; Times for a histogram."""

    measure: Measure
    labels: tuple[str, ...]
    value: float | Times


QUERY = ("query_id",)

STATE = Measure("query_state", "gauge", "1 for the query's current state.", ("query_id", "state"))
READ = Measure(
    "query_read_offsets",
    "counter",
    "Offsets of a topic that a query has read since it was created.",
    ("query_id", "topic"),
)
LAG = Measure(
    "query_lag_records",
    "gauge",
    "Offsets of a topic that a query has not read yet.",
    ("query_id", "topic"),
)
ERRORS = Measure(
    "query_record_errors",
    "counter",
    "Records that could not be read (unreadable) or processed (failed), arrived too late (late), or were "
    "deleted before they were read (lost).",
    ("query_id", "kind"),
)
FAILURES = Measure("query_failures", "counter", "Failures of a query that led to a restart.", QUERY)
STATE_ROWS = Measure(
    "query_state_rows", "gauge", "Rows in a query's state, as of its last checkpoint.", QUERY
)
STATE_BYTES = Measure(
    "query_state_bytes", "gauge", "Bytes of a query's state, as of its last checkpoint.", QUERY
)
STATE_FILL = Measure(
    "query_state_fill", "gauge", "Size of a query's state as a share of its bound; absent without one.", QUERY
)
READ_RECORDS = Measure(
    "query_read_records",
    "counter",
    "Records that a query has fetched since Spark started.",
    ("query_id", "topic"),
)
READ_BYTES = Measure("query_read_bytes", "counter", "Bytes of their keys and values.", ("query_id", "topic"))
WRITTEN_RECORDS = Measure(
    "query_written_records",
    "counter",
    "Records of a query that the brokers have acknowledged since Spark started.",
    ("query_id", "topic"),
)
WRITTEN_BYTES = Measure(
    "query_written_bytes", "counter", "Bytes of their keys and values.", ("query_id", "topic")
)
LAG_SECONDS = Measure(
    "query_lag_seconds",
    "gauge",
    "For how long the oldest record has waited for a running query, at most since its event time; 0 if none "
    "waits. While a query reads nothing although records come, at least the time since it stopped reading.",
    QUERY,
)
LATENCY = Measure(
    "query_latency_seconds",
    "histogram",
    "Time from a result's event time until readers can see it, without results whose time was more than a "
    "minute old when their record came; not available for exactly-once queries.",
    ("query_id", "topic"),
)
PAUSES = Measure(
    "query_pause_seconds",
    "histogram",
    "Pauses of a real-time query for checkpoints.",
    QUERY,
)
SPARK_RESTARTS = Measure("spark_restarts", "counter", "Restarts of Spark's JVM.")
JVM = {
    name: Measure(f"spark_{name}", "counter" if counts else "gauge", text)
    for name, counts, text in (
        ("heap_bytes", False, "Used heap of Spark's JVM."),
        ("heap_max_bytes", False, "Maximum heap of Spark's JVM."),
        ("other_bytes", False, "Non-heap memory of Spark's JVM: classes, compiled code."),
        ("gc", True, "Garbage collections in Spark's JVM."),
        ("gc_seconds", True, "Time spent in garbage collections."),
        ("threads", False, "Threads of Spark's JVM."),
        ("cpu_seconds", True, "CPU time of Spark's JVM."),
    )
}
VIEW_LAG = Measure("view_lag_records", "gauge", "Offsets that a view has not read yet.", ("table",))
VIEW_BYTES = Measure("view_bytes", "gauge", "The size of a view's file.", ("table",))
STARTED = Measure("queries_started", "counter", "SELECT and PRINT requests.")
HITS = Measure("plan_cache_hits", "counter", "Pull queries with a cached plan.")
MISSES = Measure("plan_cache_misses", "counter", "Pull queries without a cached plan.")
PUSH_UNREADABLE = Measure(
    "push_unreadable_records", "counter", "Records that push queries without Spark could not read."
)
PUSH = Measure("push_queries", "gauge", "Running push queries.")

MEASURES = (
    STATE, READ, LAG, ERRORS, FAILURES, STATE_ROWS, STATE_BYTES, STATE_FILL, VIEW_LAG, VIEW_BYTES, STARTED,
    HITS, MISSES, PUSH, PUSH_UNREADABLE, READ_RECORDS, READ_BYTES, WRITTEN_RECORDS, WRITTEN_BYTES,
    LAG_SECONDS, LATENCY, PAUSES, SPARK_RESTARTS, *JVM.values(),
)  # fmt: skip


class Measures:
    """The metrics of an engine.

    Args:
        services: its parts.
        queries: what starts SELECT and PRINT.
    """

    def __init__(self, services: Services, queries: QueryService) -> None:
        self._services = services
        self._queries = queries

    def figures(self) -> list[Figure]:
        """All current samples. Those that are currently unavailable are left out."""
        services = self._services
        running = services.queries.all()
        # each of several servers reports its own
        persistent = [
            query for query in running if not query.is_transient and services.queries.is_here(query)
        ]
        views = services.views.positions()
        topics = {source.topic for query in persistent for source in query.plan.sources}
        ends = self._ends([*topics, *(topic for _, topic in views.values())])
        traffic = services.queries.figures.traffic()
        samples = [
            figure for query in persistent for figure in self._query(query, ends, traffic.get(query.id))
        ]
        services.queries.figures.halts.keep({query.id for query in persistent})
        for query in persistent:
            if query.id in traffic:
                samples += _traffic(query, traffic[query.id])
        for table, (positions, topic) in views.items():
            if topic in ends:
                samples.append(Figure(VIEW_LAG, (table,), behind(positions, ends[topic])))
        samples += (Figure(VIEW_BYTES, (table,), size) for table, size in services.views.sizes().items())
        samples.append(Figure(STARTED, (), self._queries.started))
        samples.append(Figure(HITS, (), self._queries.plans.hits))
        samples.append(Figure(MISSES, (), self._queries.plans.misses))
        samples.append(Figure(PUSH_UNREADABLE, (), services.queries.figures.unreadable_by_push))
        samples.append(Figure(PUSH, (), sum(query.is_transient for query in running)))
        samples.append(Figure(SPARK_RESTARTS, (), services.queries.spark_loss.restarts))
        jvm = services.queries.figures.jvm_figures()
        samples += (Figure(JVM[name], (), value) for name, value in jvm.items())
        return samples

    def _ends(self, topics: Iterable[str]) -> dict[str, dict[int, int]]:
        """The end offsets of existing topics."""
        try:
            there = self._services.admin.topics()
            names = (name for topic in topics for name in topic_patterns.names(topic, there))
            return self._services.views.ends(dict.fromkeys(names))
        except KsqlError as error:
            log.warning("metrics lack offsets: %s", error)
            return {}

    def _query(
        self, query: ManagedQuery, ends: Mapping[str, Mapping[int, int]], traffic: Traffic | None
    ) -> Iterator[Figure]:
        yield Figure(STATE, (query.id, query.state), 1)
        yield Figure(FAILURES, (query.id,), query.retries.total)
        counts = self._services.queries.figures.counts(query.id)
        for kind, count in (
            ("unreadable", counts.unreadable),
            ("failed", counts.failed),
            ("late", counts.late),
            ("lost", counts.lost),
        ):
            yield Figure(ERRORS, (query.id, kind), count)
        if (size := state_size(query, self._services.queries.figures)) is not None:
            yield Figure(STATE_ROWS, (query.id,), size.entries)
            yield Figure(STATE_BYTES, (query.id,), size.bytes)
        if (fill := self._services.queries.figures.state_bounds.fill(query.id)) is not None:
            yield Figure(STATE_FILL, (query.id,), round(fill.share, 4))
        try:
            committed = self._services.queries.checkpoints.committed_offsets(query)
        except (KsqlError, OSError, ValueError) as error:  # its checkpoint cannot be read
            log.warning("metrics lack offsets of %s: %s", query.id, error)
            return
        all_read = all_lag = 0.0
        sources = query.plan.sources
        read_topics = (topic_patterns.names(s.topic, committed) or [s.topic] for s in sources)
        for topic in dict.fromkeys(name for names in read_topics for name in names):
            now = traffic.reached.get(topic, {}) if traffic is not None else {}
            reached = furthest(committed.get(topic, {}), now)
            starts = query.starts.get(topic, {})
            read = sum(max(0, offset - starts.get(str(p), 0)) for p, offset in reached.items())
            yield Figure(READ, (query.id, topic), read)
            all_read += read
            if topic in ends:
                lag = behind(reached, ends[topic])
                all_lag += lag
                yield Figure(LAG, (query.id, topic), lag)
        if traffic is not None and query.state is State.RUNNING:
            figures = self._services.queries.figures
            figures.halts.note(query.id, all_read, all_lag, time.monotonic())
            yield Figure(LAG_SECONDS, (query.id,), figures.lag_s(query.id, traffic))


def _traffic(query: ManagedQuery, traffic: Traffic) -> Iterator[Figure]:
    for topic, volume in traffic.read.items():
        yield Figure(READ_RECORDS, (query.id, topic), volume.records)
        yield Figure(READ_BYTES, (query.id, topic), volume.bytes)
    for topic, volume in traffic.written.items():
        yield Figure(WRITTEN_RECORDS, (query.id, topic), volume.records)
        yield Figure(WRITTEN_BYTES, (query.id, topic), volume.bytes)
    for topic, times in traffic.latencies.items():
        yield Figure(LATENCY, (query.id, topic), times)
    if traffic.pauses.total:
        yield Figure(PAUSES, (query.id,), traffic.pauses)


def behind(positions: Mapping[int, int], ends: Mapping[int, int]) -> int:
    """Count the offsets between positions and ends, by partition."""
    return sum(max(0, end - positions.get(partition, 0)) for partition, end in ends.items())
