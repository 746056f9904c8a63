"""Counts requests, and renders all metrics in Prometheus' text format."""

from __future__ import annotations

import importlib.util
import time
from bisect import bisect_left
from collections.abc import Awaitable, Callable, Iterable, Iterator
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

if TYPE_CHECKING:
    from ksql_spark.engine import Figure

#: the prefix of all metric names
PREFIX = "ksql_spark_"
#: upper bounds of the duration histogram, seconds
BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
SECONDS = "Time from a request to the first byte of its response."
#: the status of a request that has become a WebSocket
SWITCHED = 101
#: paths whose parts clients choose
_WITH_PARTS = ("/status", "/is_valid_property")


def has_metrics() -> bool:
    """Whether prometheus-client is installed."""
    return importlib.util.find_spec("prometheus_client") is not None


class Metrics:
    """The metrics of one server.

    Args:
        figures: returns the engine's metrics.
        paths: the endpoints' paths; requests to other paths are counted together.
    """

    def __init__(self, figures: Callable[[], Iterable[Figure]], paths: Iterable[str]) -> None:
        from prometheus_client import CollectorRegistry, GCCollector, PlatformCollector, ProcessCollector

        self._paths = frozenset(paths)
        self._registry = CollectorRegistry()
        for collector in (ProcessCollector, PlatformCollector, GCCollector):
            collector(registry=self._registry)
        self._requests = _Requests()
        self._registry.register(self._requests)
        self._registry.register(_Engine(figures))

    def note(self, path: str, status: int, seconds: float) -> None:
        """A request has finished. Called by one thread only."""
        label = path if path in self._paths else next((p for p in _WITH_PARTS if path.startswith(p)), "other")
        self._requests.note(label, status, seconds)

    def text(self) -> tuple[bytes, str]:
        """All metrics as text, and the media type."""
        from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

        return generate_latest(self._registry), CONTENT_TYPE_LATEST


class _Requests:
    """Requests and their durations; cheaper to count than prometheus-client's own counters."""

    def __init__(self) -> None:
        self._counts: dict[tuple[str, int], int] = {}
        #: path -> the number of requests in each bucket, the last of which has no bound
        self._buckets: dict[str, list[int]] = {}
        self._sums: dict[str, float] = {}

    def note(self, path: str, status: int, seconds: float) -> None:
        """Count a request."""
        self._counts[path, status] = self._counts.get((path, status), 0) + 1
        buckets = self._buckets.get(path)
        if buckets is None:
            buckets = self._buckets[path] = [0] * (len(BUCKETS) + 1)
            self._sums[path] = 0.0
        buckets[bisect_left(BUCKETS, seconds)] += 1
        self._sums[path] += seconds

    def describe(self) -> Iterable[Any]:
        """Return nothing."""
        return ()

    def collect(self) -> Iterator[Any]:
        """Return the metric families of requests."""
        from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily

        counts = CounterMetricFamily(f"{PREFIX}requests", "Requests.", labels=("path", "status"))
        for (path, status), count in list(self._counts.items()):
            counts.add_metric((path, str(status)), count)
        yield counts
        seconds = HistogramMetricFamily(f"{PREFIX}request_seconds", SECONDS, labels=("path",))
        for path, buckets in list(self._buckets.items()):
            seconds.add_metric((path,), _cumulated(BUCKETS, buckets), self._sums[path])
        yield seconds


class _Engine:
    """The engine's metrics, fetched only on collection."""

    def __init__(self, figures: Callable[[], Iterable[Figure]]) -> None:
        self._figures = figures

    def describe(self) -> Iterable[Any]:
        """Return nothing, so that registration does not query the engine."""
        return ()

    def collect(self) -> Iterator[Any]:
        """Return the metric families of the engine."""
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily

        kinds = {
            "counter": CounterMetricFamily,
            "gauge": GaugeMetricFamily,
            "histogram": HistogramMetricFamily,
        }

        families: dict[str, Any] = {}
        for measure, labels, value in self._figures():
            family = families.get(measure.name)
            if family is None:
                family = kinds[measure.kind](PREFIX + measure.name, measure.help, labels=measure.labels)
                families[measure.name] = family
            if not isinstance(value, (int, float)):
                family.add_metric(labels, _cumulated(value.bounds, value.counts), value.sum_s)
            else:
                family.add_metric(labels, value)
        yield from families.values()


def _cumulated(bounds: Iterable[float], counts: Iterable[int]) -> list[tuple[str, int]]:
    """A histogram's cumulative buckets, as Prometheus expects them."""
    names = (*(str(float(bound)) for bound in bounds), "+Inf")
    return list(zip(names, accumulate(counts), strict=True))


class CountingMiddleware:
    """Counts and times requests."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        """Pass one request on (ASGI)."""
        if scope["type"] not in ("http", "websocket"):
            return self._app(scope, receive, send)
        began = time.perf_counter()
        path = scope["path"]

        def noted(message: Message) -> Awaitable[None]:
            kind = message["type"]
            if kind in ("http.response.start", "websocket.http.response.start"):
                self._metrics.note(path, message["status"], time.perf_counter() - began)
            elif kind == "websocket.accept":
                self._metrics.note(path, SWITCHED, time.perf_counter() - began)
            return send(message)

        return self._app(scope, receive, noted)
