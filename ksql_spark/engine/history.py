"""The figures of the last hours, by query: sampled every few seconds, kept in rings of fixed size."""

from __future__ import annotations

import math
import threading
import time
from array import array
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import starmap
from operator import sub

from ksql_spark.engine import metrics
from ksql_spark.engine.metrics import Figure
from ksql_spark.entities.graph import MetricsHistory, QueryFigures, QuerySeries
from ksql_spark.spark.traffic import Times

#: how often figures are sampled, seconds, and how many samples are kept: two hours
EVERY_S, SAMPLES = 5, 1440
#: the same for a longer time: twelve hours
COARSE_EVERY_S, COARSE_SAMPLES = 120, 360
#: the most of the time that may go into samples: where one takes long, they are rarer
MOST_OF_TIME = 0.05
#: the share of results whose latency is told
SHARE = 0.95
_SERIES = ("arriving_per_s", "read_per_s", "written_per_s", "lag_records", "latency_seconds")


@dataclass
class Totals:
    """What the figures say of one query, over all its topics."""

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
    """Query id -> what ``figures`` say of it."""
    found: dict[str, Totals] = {}
    for measure, labels, value in figures:
        if measure.labels[:1] != metrics.QUERY:
            continue
        of = found.setdefault(labels[0], Totals())
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
    return found


def _added(one: Times, other: Times) -> Times:
    counts = tuple(a + b for a, b in zip(one.counts, other.counts, strict=True))
    return Times(one.bounds, counts, one.sum_s + other.sum_s)


class Ring:
    """The latest samples of all queries, at one distance in time. A sample has five floats of a query.

    Args:
        every_s: the least distance between two samples.
        size: how many samples are kept.
    """

    def __init__(self, every_s: int, size: int) -> None:
        self.every_s = every_s
        self._size = size
        self._times = array("d")
        self._next = 0
        self._values: dict[str, array[float]] = {}
        #: what the latest sample was made of
        self._before: Mapping[str, Totals] = {}

    def add(self, now: float, found: Mapping[str, Totals]) -> None:
        """Take a sample, unless the latest is too young.

        Args:
            now: seconds since 1970.
            found: see totals().
        """
        passed = now - self._times[self._next - 1] if self._times else math.inf
        # a clock that was set back starts anew; half a second, for a thread that was late the last time
        if 0 <= passed < self.every_s - 0.5:
            return
        if len(self._times) < self._size:
            self._times.append(now)
        else:
            self._times[self._next] = now
        for query in [query for query in self._values if query not in found]:
            del self._values[query]
        for query, of in found.items():
            values = self._values.setdefault(query, array("f"))
            if missing := len(self._times) * len(_SERIES) - len(values):
                values.extend([math.nan] * missing)
            start = self._next * len(_SERIES)
            before = self._before.get(query)
            values[start : start + len(_SERIES)] = array("f", _sample(of, before, passed))
        self._next = (self._next + 1) % self._size
        self._before = dict(found)

    def sample(self, query: str, until: float = math.inf) -> dict[str, float | None]:
        """The latest sample of a query, or the latest one up to a time; empty: there is none."""
        values = self._values.get(query)
        if values is None:
            return {}
        slot = next((slot for slot in reversed(self._order()) if self._times[slot] <= until), None)
        if slot is None:
            return {}
        found = values[slot * len(_SERIES) : (slot + 1) * len(_SERIES)]
        return dict(zip(_SERIES, map(_known, found), strict=True))

    def _order(self) -> list[int]:
        """The slots, the oldest sample first."""
        count = len(self._times)
        return [*range(self._next, count), *range(self._next)] if count == self._size else list(range(count))

    def since(self, start: float, queries: Callable[[str], bool]) -> MetricsHistory:
        """The samples from ``start`` on, seconds since 1970, of the queries for which ``queries`` is true."""
        slots = [slot for slot in self._order() if self._times[slot] >= start]
        width = len(_SERIES)
        return MetricsHistory(
            every_s=self.every_s,
            times_ms=tuple(int(self._times[slot] * 1000) for slot in slots),
            queries={
                query: QuerySeries(
                    **{
                        name: tuple(_known(values[slot * width + column]) for slot in slots)
                        for column, name in enumerate(_SERIES)
                    }
                )
                for query, values in self._values.items()
                if queries(query)
            },
        )


def _known(value: float) -> float | None:
    return None if math.isnan(value) else round(value, 3)


def _sample(of: Totals, before: Totals | None, passed: float) -> list[float]:
    def rate(now: float | None, then: float | None) -> float:
        if before is None or now is None or not math.isfinite(passed) or passed <= 0:
            return math.nan
        # counters begin at 0 when Spark is started again
        grown = now - (then or 0)
        return (grown if grown >= 0 else now) / passed

    was = before or Totals()
    latency = None
    if of.latency is not None:
        latest = of.latency
        if was.latency is not None and was.latency.total <= latest.total:
            grown = tuple(starmap(sub, zip(latest.counts, was.latency.counts, strict=True)))
            latest = Times(latest.bounds, grown, latest.sum_s - was.latency.sum_s)
        if latest.total > 0:
            latency = latest.within_s(SHARE)
            latency = latest.bounds[-1] if latency is None else latency
    return [
        rate(of.arrived, was.arrived) if was.arrived is not None else math.nan,
        rate(of.read, was.read),
        rate(of.written, was.written),
        math.nan if of.lag is None else of.lag,
        math.nan if latency is None else latency,
    ]


class History:
    """Samples the figures of an engine.

    Args:
        figures: the figures of now.
        clock: seconds since 1970.
    """

    def __init__(
        self, figures: Callable[[], Iterable[Figure]], clock: Callable[[], float] = time.time
    ) -> None:
        self._figures = figures
        self._clock = clock
        #: held while the engine is asked, which may take seconds
        self._sampling = threading.Lock()
        #: held for moments
        self._lock = threading.Lock()
        self._fine, self._coarse = Ring(EVERY_S, SAMPLES), Ring(COARSE_EVERY_S, COARSE_SAMPLES)
        self._found: Mapping[str, Totals] = {}
        self._at = 0.0
        #: how long the latest sample took, seconds
        self._took_s = 0.0

    def sample(self) -> None:
        """Take a sample of now, unless there is one."""
        with self._sampling:
            if not self._is_older_than(max(EVERY_S - 0.5, self._took_s / MOST_OF_TIME)):
                return
            begun = self._clock()
            found = totals(self._figures())
            with self._lock:
                self._found, self._at = found, self._clock()
                self._took_s = self._at - begun
                for ring in (self._fine, self._coarse):
                    ring.add(self._at, found)

    def latest(self) -> tuple[int, dict[str, QueryFigures]]:
        """When the latest sample was taken, epoch milliseconds, and what it says of each query.

        It is taken now where nothing takes samples periodically.
        """
        if self._is_older_than(3 * EVERY_S):
            self.sample()
        with self._lock:
            figures = {query: self._of(query, of) for query, of in self._found.items()}
            return int(self._at * 1000), figures

    def _is_older_than(self, seconds: float) -> bool:
        with self._lock:
            return not 0 <= self._clock() - self._at < seconds

    def lag_before(self, query: str, seconds: int) -> float | None:
        """The lag of a query so many seconds ago, in records."""
        with self._lock:
            return self._fine.sample(query, self._at - seconds).get("lag_records")

    def since(self, minutes: int, queries: Callable[[str], bool]) -> MetricsHistory:
        """The samples of the last ``minutes``: those of every few seconds as far back as these are kept.

        Args:
            minutes: how far back.
            queries: whether a query is wanted.
        """
        with self._lock:
            ring = self._fine if minutes * 60 <= EVERY_S * SAMPLES else self._coarse
            return ring.since(self._clock() - minutes * 60, queries)

    def _of(self, query: str, of: Totals) -> QueryFigures:
        sample = self._fine.sample(query)
        return QueryFigures(
            arriving_per_s=sample.get("arriving_per_s"),
            read_per_s=sample.get("read_per_s"),
            written_per_s=sample.get("written_per_s"),
            lag_records=None if of.lag is None else int(of.lag),
            lag_seconds=None if of.lag_s is None else round(of.lag_s, 3),
            latency_seconds=sample.get("latency_seconds"),
            errors=of.errors,
            failures=of.failures,
            state_rows=of.state_rows,
            state_bytes=of.state_bytes,
        )
