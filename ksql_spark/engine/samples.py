"""The figures of now, by query and by topic: rates are those between two samples, a few seconds apart."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import starmap
from operator import sub
from typing import Any, NamedTuple

from ksql_spark.engine import metrics
from ksql_spark.engine.metrics import Figure
from ksql_spark.entities.graph import QueryFigures, TopicFigures
from ksql_spark.spark.traffic import Times

#: how often figures are sampled, seconds, and how many samples are kept: a minute
EVERY_S, SAMPLES = 5, 12
#: the most of the time that may go into samples: where one takes long, they are rarer
MOST_OF_TIME = 0.05
#: the share of results whose latency is told
SHARE = 0.95
#: members of QueryFigures
_OF_QUERIES = (
    "arriving_per_s", "read_per_s", "written_per_s", "lag_records", "lag_seconds", "latency_seconds",
    "state_rows", "state_bytes",
)  # fmt: skip


class TopicSpan(NamedTuple):
    """Offsets over all partitions of a topic: of the first record that is there, and after the last."""

    begin: int
    end: int


@dataclass
class Totals:
    """The totals of a query's figures over all its topics."""

    #: since the server's start, or None if unknown
    read: float | None = None
    written: float | None = None
    #: offsets that it has read at its last checkpoint, and that are behind these
    committed: float | None = None
    lag: float | None = None
    lag_s: float | None = None
    latency: Times | None = None
    errors: dict[str, int] = field(default_factory=dict)
    failures: int = 0
    state_rows: int | None = None
    state_bytes: int | None = None

    @property
    def arrived(self) -> float | None:
        """Offsets of its topics from where it began to read."""
        return None if self.committed is None or self.lag is None else self.committed + self.lag


def totals(figures: Iterable[Figure]) -> dict[str, Totals]:
    """Return the totals of ``figures`` by query id."""
    by_query: dict[str, Totals] = {}
    for measure, labels, value in figures:
        if measure.labels[:1] != metrics.QUERY:
            continue
        of = by_query.setdefault(labels[0], Totals())
        if isinstance(value, Times):
            if measure is metrics.LATENCY:
                of.latency = value if of.latency is None else _added(of.latency, value)
        elif measure is metrics.READ_RECORDS:
            of.read = (of.read or 0) + value
        elif measure is metrics.WRITTEN_RECORDS:
            of.written = (of.written or 0) + value
        elif measure is metrics.READ:
            of.committed = (of.committed or 0) + value
        elif measure is metrics.LAG:
            of.lag = (of.lag or 0) + value
        elif measure is metrics.LAG_SECONDS:
            of.lag_s = value
        elif measure is metrics.ERRORS:
            of.errors[labels[1]] = int(value)
        elif measure is metrics.FAILURES:
            of.failures = int(value)
        elif measure is metrics.STATE_ROWS:
            of.state_rows = int(value)
        elif measure is metrics.STATE_BYTES:
            of.state_bytes = int(value)
    return by_query


def _added(one: Times, other: Times) -> Times:
    counts = tuple(a + b for a, b in zip(one.counts, other.counts, strict=True))
    return Times(one.bounds, counts, one.sum_s + other.sum_s)


class _Rates(NamedTuple):
    """What a query did between two samples, or None if unknown."""

    arriving_per_s: float | None = None
    read_per_s: float | None = None
    written_per_s: float | None = None
    latency_seconds: float | None = None


class _Sample(NamedTuple):
    at: float
    #: of this server's queries
    totals: Mapping[str, Totals]
    spans: Mapping[str, TopicSpan]
    queries: Mapping[str, QueryFigures]
    topics: Mapping[str, TopicFigures]


def _per_s(now: float | None, then: float | None, passed: float) -> float | None:
    """The growth of a counter that may have begun at 0 again, because Spark was started again."""
    if now is None:
        return None
    grown = now - (then or 0)
    return round((grown if grown >= 0 else now) / passed, 3)


def _rates(of: Totals, then: Totals | None, passed: float) -> _Rates:
    """The rates between two samples, ``passed`` seconds apart; there is nothing to compare with before."""
    latency = None
    if of.latency is not None:
        latest = of.latency
        if then is not None and then.latency is not None and then.latency.total <= latest.total:
            grown = tuple(starmap(sub, zip(latest.counts, then.latency.counts, strict=True)))
            latest = Times(latest.bounds, grown, latest.sum_s - then.latency.sum_s)
        if latest.total > 0:
            within_s = latest.within_s(SHARE)
            latency = round(latest.bounds[-1] if within_s is None else within_s, 3)
    if then is None or passed <= 0:
        return _Rates(latency_seconds=latency)
    return _Rates(
        None if then.arrived is None else _per_s(of.arrived, then.arrived, passed),
        _per_s(of.read, then.read, passed),
        _per_s(of.written, then.written, passed),
        latency,
    )


def _figures(of: Totals, rates: _Rates) -> QueryFigures:
    return QueryFigures(
        **rates._asdict(),
        lag_records=None if of.lag is None else int(of.lag),
        arrived_records=None if of.arrived is None else int(of.arrived),
        lag_seconds=None if of.lag_s is None else round(of.lag_s, 3),
        errors=of.errors,
        failures=of.failures,
        state_rows=of.state_rows,
        state_bytes=of.state_bytes,
    )


def _encoded(figures: QueryFigures) -> list[Any]:
    """Figures as a note has them, which is short."""
    errors = {kind: count for kind, count in figures.errors.items() if count}
    return [*(getattr(figures, name) for name in _OF_QUERIES), figures.failures, errors]


def decoded_figures(report: Mapping[str, Any]) -> dict[str, QueryFigures]:
    """The figures of another server's queries; without those that another release wrote."""
    by_query = {}
    for query, row in report.items():
        if isinstance(row, list) and len(row) == len(_OF_QUERIES) + 2 and isinstance(row[-1], dict):
            numbers = dict(zip(_OF_QUERIES, row, strict=False))
            by_query[query] = QueryFigures(**numbers, failures=row[-2], errors=row[-1])
    return by_query


class Samples:
    """Samples the figures of an engine.

    Args:
        figures: the figures of now.
        clock: seconds since 1970.
        remote_figures: what other servers report of their queries now, by query id.
        spans: the topics of streams and tables; None if Kafka does not answer.
        states: those of queries; where one has changed, the figures of before are outdated.
    """

    def __init__(
        self,
        figures: Callable[[], Iterable[Figure]],
        clock: Callable[[], float] = time.time,
        *,
        remote_figures: Callable[[], Mapping[str, QueryFigures]] = dict,
        spans: Callable[[], Mapping[str, TopicSpan] | None] = dict,
        states: Callable[[], Mapping[str, object]] = dict,
    ) -> None:
        self._figures, self._remote_figures, self._spans, self._states = (
            figures,
            remote_figures,
            spans,
            states,
        )
        self._clock = clock
        #: held while the engine is asked, which may take seconds
        self._sampling = threading.Lock()
        #: held for moments
        self._lock = threading.Lock()
        self._latest = _Sample(0.0, {}, {}, {}, {})
        #: those that are far enough apart for rates
        self._samples: deque[_Sample] = deque(maxlen=SAMPLES)
        #: how long the latest sample took, seconds
        self._took_s = 0.0
        #: whether Kafka answered
        self.is_whole = True
        #: the states of queries just before it
        self._states_then: Mapping[str, object] = {}

    @property
    def report(self) -> Mapping[str, list[Any]]:
        """This server's report to others: its queries, with the figures that decoded_figures() reads."""
        with self._lock:
            return {query: _encoded(self._latest.queries[query]) for query in self._latest.totals}

    def sample(self) -> None:
        """Take a sample of now, unless there is one."""
        # while Kafka does not answer, a sample takes long, and whoever asks meanwhile gets the one before
        if not self._sampling.acquire(blocking=self.is_whole):
            return
        try:
            states = self._states()
            least_s = 0.0 if states != self._states_then else EVERY_S - 0.5
            if not self._is_older_than(max(least_s, self._took_s / MOST_OF_TIME)):
                return
            begun = self._clock()
            remote, own = self._remote_figures(), totals(self._figures())
            spans = self._spans()
            with self._lock:
                self._add(self._clock(), remote, own, spans or {})
                self._states_then = states
                self.is_whole = spans is not None
                # the next one is not late because Kafka made this one wait
                self._took_s = self._latest.at - begun if self.is_whole else 0.0
        finally:
            self._sampling.release()

    def _add(
        self,
        now: float,
        remote: Mapping[str, QueryFigures],
        own: Mapping[str, Totals],
        spans: Mapping[str, TopicSpan],
    ) -> None:
        before = self._samples[-1] if self._samples else _Sample(now, {}, {}, {}, {})
        passed = now - before.at
        # a clock that was set back starts anew; half a second, for a thread that was late the last time
        is_young = bool(self._samples) and 0 <= passed < EVERY_S - 0.5

        def rates(query: str, of: Totals) -> _Rates:
            if is_young and query in before.queries:
                return _Rates(*(getattr(before.queries[query], name) for name in _Rates._fields))
            return _rates(of, before.totals.get(query), passed)

        def arriving(topic: str, span: TopicSpan) -> float | None:
            if is_young and topic in before.topics:
                return before.topics[topic].arriving_per_s
            then = before.spans.get(topic)
            is_same = then is not None and span.end >= then.end and passed > 0
            return _per_s(span.end, then.end, passed) if is_same and then else None

        queries = {query: _figures(of, rates(query, of)) for query, of in own.items()}
        topics = {
            topic: TopicFigures(arriving_per_s=arriving(topic, span), records=span.end - span.begin)
            for topic, span in spans.items()
        }
        self._latest = _Sample(now, own, spans, {**remote, **queries}, topics)
        if not is_young:
            self._samples.append(self._latest)

    def latest(self) -> tuple[int, Mapping[str, QueryFigures]]:
        """Return the time of the latest sample, epoch milliseconds, and each query's figures in it.

        It is taken now where nothing takes samples periodically, and where a query's state has changed.
        """
        if self._is_older_than(3 * EVERY_S) or self._states() != self._states_then:
            self.sample()
        with self._lock:
            return int(self._latest.at * 1000), self._latest.queries

    def topics(self) -> Mapping[str, TopicFigures]:
        """The figures of topics in the latest sample."""
        with self._lock:
            return self._latest.topics

    def _is_older_than(self, seconds: float) -> bool:
        with self._lock:
            return not 0 <= self._clock() - self._latest.at < seconds

    def lag_before(self, query: str, seconds: int) -> float | None:
        """The lag of a query so many seconds ago, in records; at most a minute."""
        with self._lock:
            until = self._latest.at - seconds
            then = next((sample for sample in reversed(self._samples) if sample.at <= until), None)
            figures = None if then is None else then.queries.get(query)
            return None if figures is None else figures.lag_records
