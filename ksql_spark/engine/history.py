"""The figures of the last hours, by query and by topic: sampled every few seconds, in rings of fixed size."""

from __future__ import annotations

import math
import threading
import time
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import starmap
from operator import sub
from typing import Any, Generic, NamedTuple, TypeVar

from ksql_spark.engine import metrics
from ksql_spark.engine.metrics import Figure
from ksql_spark.entities.graph import MetricsHistory, QueryFigures, QuerySeries, TopicFigures, TopicSeries
from ksql_spark.spark.traffic import Times

#: how often figures are sampled, seconds, and how many samples are kept: two hours
EVERY_S, SAMPLES = 5, 1440
#: the same for a longer time: twelve hours
COARSE_EVERY_S, COARSE_SAMPLES = 120, 360
#: the most of the time that may go into samples: where one takes long, they are rarer
MOST_OF_TIME = 0.05
#: the share of results whose latency is told
SHARE = 0.95
#: members of QueryFigures
_OF_QUERIES = (
    "arriving_per_s", "read_per_s", "written_per_s", "lag_records", "lag_seconds", "latency_seconds",
    "state_rows", "state_bytes",
)  # fmt: skip
_OF_TOPICS = ("arriving_per_s", "records")

T = TypeVar("T")


class TopicSpan(NamedTuple):
    """Offsets over all partitions of a topic: of the first record that is there, and after the last."""

    begin: int
    end: int


@dataclass
class Totals:
    """The totals of a query's figures over all its topics."""

    #: since the server's start; None: unknown
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


class Ring(Generic[T]):
    """The latest samples of things by their names, at one distance in time.

    Args:
        every_s: the least distance between two samples.
        size: how many samples are kept.
        series: what a sample has.
        sample: makes one of what was found, of what was found before, and of the seconds between both.
    """

    def __init__(
        self,
        every_s: int,
        size: int,
        series: Sequence[str],
        sample: Callable[[T, T | None, float], Sequence[float]],
    ) -> None:
        self.every_s = every_s
        self._size, self._series, self._sample = size, series, sample
        self._times = array("d")
        self._next = 0
        self._values: dict[str, array[float]] = {}
        #: the totals from which the latest sample was computed
        self._before: Mapping[str, T] = {}

    def add(self, now: float, figures: Mapping[str, T]) -> None:
        """Take a sample, unless the latest is too young.

        Args:
            now: seconds since 1970.
            figures: by name.
        """
        passed = now - self._times[self._next - 1] if self._times else math.inf
        # a clock that was set back starts anew; half a second, for a thread that was late the last time
        if 0 <= passed < self.every_s - 0.5:
            return
        if len(self._times) < self._size:
            self._times.append(now)
        else:
            self._times[self._next] = now
        for name in [name for name in self._values if name not in figures]:
            del self._values[name]
        width = len(self._series)
        for name, of in figures.items():
            values = self._values.setdefault(name, array("f"))
            if missing := len(self._times) * width - len(values):
                values.extend([math.nan] * missing)
            start = self._next * width
            values[start : start + width] = array("f", self._sample(of, self._before.get(name), passed))
        self._next = (self._next + 1) % self._size
        self._before = dict(figures)

    def sample(self, name: str, until: float = math.inf) -> dict[str, float | None]:
        """The latest sample of a name, or the latest one up to a time; empty: there is none."""
        values = self._values.get(name)
        if values is None:
            return {}
        slot = next((slot for slot in reversed(self._order()) if self._times[slot] <= until), None)
        if slot is None:
            return {}
        numbers = values[slot * len(self._series) : (slot + 1) * len(self._series)]
        return dict(zip(self._series, map(_number_or_none, numbers), strict=True))

    def _order(self) -> list[int]:
        """The slots, the oldest sample first."""
        count = len(self._times)
        return [*range(self._next, count), *range(self._next)] if count == self._size else list(range(count))

    def since(self, start: float, has: Callable[[str], bool]) -> tuple[tuple[int, ...], dict[str, Any]]:
        """The samples from ``start`` on, seconds since 1970, of the names for which ``has`` is true: their
        times, epoch milliseconds; and by name and series, the numbers.
        """
        slots = [slot for slot in self._order() if self._times[slot] >= start]
        width = len(self._series)
        return tuple(int(self._times[slot] * 1000) for slot in slots), {
            name: {
                one: tuple(_number_or_none(values[slot * width + column]) for slot in slots)
                for column, one in enumerate(self._series)
            }
            for name, values in self._values.items()
            if has(name)
        }


def _number_or_none(value: float) -> float | None:
    return None if math.isnan(value) else round(value, 3)


def _sample(of: Totals | QueryFigures, before: Totals | QueryFigures | None, passed: float) -> list[float]:
    """Return the numbers of a query; those of another server's query are the ones that it reports."""
    if isinstance(of, QueryFigures):
        return [_or_nan(getattr(of, name)) for name in _OF_QUERIES]
    was = before if isinstance(before, Totals) else None

    def rate(now: float | None, then: float | None) -> float:
        if was is None or now is None or not math.isfinite(passed) or passed <= 0:
            return math.nan
        # counters begin at 0 when Spark is started again
        grown = now - (then or 0)
        return (grown if grown >= 0 else now) / passed

    then = was or Totals()
    latency = None
    if of.latency is not None:
        latest = of.latency
        if then.latency is not None and then.latency.total <= latest.total:
            grown = tuple(starmap(sub, zip(latest.counts, then.latency.counts, strict=True)))
            latest = Times(latest.bounds, grown, latest.sum_s - then.latency.sum_s)
        if latest.total > 0:
            latency = latest.within_s(SHARE)
            latency = latest.bounds[-1] if latency is None else latency
    return [
        rate(of.arrived, then.arrived) if then.arrived is not None else math.nan,
        rate(of.read, then.read),
        rate(of.written, then.written),
        *map(_or_nan, (of.lag, of.lag_s, latency, of.state_rows, of.state_bytes)),
    ]


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


def _or_nan(value: float | None) -> float:
    return math.nan if value is None else value


def _topic_sample(of: TopicSpan, before: TopicSpan | None, passed: float) -> list[float]:
    is_same = before is not None and of.end >= before.end and math.isfinite(passed) and passed > 0
    return [(of.end - before.end) / passed if is_same and before else math.nan, of.end - of.begin]


class History:
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
        sizes = ((EVERY_S, SAMPLES), (COARSE_EVERY_S, COARSE_SAMPLES))
        self._fine, self._coarse = (Ring(*size, _OF_QUERIES, _sample) for size in sizes)
        self._topics = [Ring(*size, _OF_TOPICS, _topic_sample) for size in sizes]
        self._figures_then: Mapping[str, Totals | QueryFigures] = {}
        self._spans_then: Mapping[str, TopicSpan] = {}
        self._at = 0.0
        #: how long the latest sample took, seconds
        self._took_s = 0.0
        #: whether Kafka answered
        self.is_whole = True
        #: the states of queries just before it
        self._states_then: Mapping[str, object] = {}
        #: this server's report to others: its queries, with the figures that decoded_figures() reads
        self.report: Mapping[str, list[Any]] = {}

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
            figures: dict[str, Totals | QueryFigures] = {**self._remote_figures(), **totals(self._figures())}
            found = self._spans()
            spans: Mapping[str, TopicSpan] = found or {}
            with self._lock:
                self._figures_then, self._at, self._states_then = figures, self._clock(), states
                self._spans_then = spans
                self.is_whole = found is not None
                # the next one is not late because Kafka made this one wait
                self._took_s = self._at - begun if self.is_whole else 0.0
                for ring in (self._fine, self._coarse):
                    ring.add(self._at, figures)
                for topics in self._topics:
                    topics.add(self._at, spans)
                self.report = {
                    query: _encoded(self._of(query, of))
                    for query, of in figures.items()
                    if isinstance(of, Totals)
                }
        finally:
            self._sampling.release()

    def latest(self) -> tuple[int, dict[str, QueryFigures]]:
        """Return the time of the latest sample, epoch milliseconds, and each query's figures in it.

        It is taken now where nothing takes samples periodically, and where a query's state has changed.
        """
        if self._is_older_than(3 * EVERY_S) or self._states() != self._states_then:
            self.sample()
        with self._lock:
            figures = {query: self._of(query, of) for query, of in self._figures_then.items()}
            return int(self._at * 1000), figures

    def topics(self) -> dict[str, TopicFigures]:
        """The figures of topics in the latest sample."""
        with self._lock:
            samples = {topic: self._topics[0].sample(topic) for topic in self._spans_then}
            return {
                topic: TopicFigures(
                    arriving_per_s=samples[topic].get("arriving_per_s"), records=span.end - span.begin
                )
                for topic, span in self._spans_then.items()
            }

    def _is_older_than(self, seconds: float) -> bool:
        with self._lock:
            return not 0 <= self._clock() - self._at < seconds

    def lag_before(self, query: str, seconds: int) -> float | None:
        """The lag of a query so many seconds ago, in records."""
        with self._lock:
            return self._fine.sample(query, self._at - seconds).get("lag_records")

    def since(
        self, minutes: int, queries: Callable[[str], bool], topics: Callable[[str], bool] = lambda _: False
    ) -> MetricsHistory:
        """The samples of the last ``minutes``: those of every few seconds as far back as these are kept.

        Args:
            minutes: how far back.
            queries: whether a query is wanted.
            topics: whether a topic is wanted.
        """
        with self._lock:
            is_fine = minutes * 60 <= EVERY_S * SAMPLES
            ring, spans = (self._fine, self._topics[0]) if is_fine else (self._coarse, self._topics[1])
            start = self._clock() - minutes * 60
            times_ms, of_queries = ring.since(start, queries)
            of_topics = spans.since(start, topics)[1]
        return MetricsHistory(
            every_s=ring.every_s,
            times_ms=times_ms,
            queries={query: QuerySeries(**series) for query, series in of_queries.items()},
            topics={topic: TopicSeries(**series) for topic, series in of_topics.items()},
        )

    def _of(self, query: str, of: Totals | QueryFigures) -> QueryFigures:
        if isinstance(of, QueryFigures):
            return of
        sample = self._fine.sample(query)
        return QueryFigures(
            arriving_per_s=sample.get("arriving_per_s"),
            read_per_s=sample.get("read_per_s"),
            written_per_s=sample.get("written_per_s"),
            lag_records=None if of.lag is None else int(of.lag),
            arrived_records=None if of.arrived is None else int(of.arrived),
            lag_seconds=None if of.lag_s is None else round(of.lag_s, 3),
            latency_seconds=sample.get("latency_seconds"),
            errors=of.errors,
            failures=of.failures,
            state_rows=of.state_rows,
            state_bytes=of.state_bytes,
        )
