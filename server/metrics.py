"""Counts requests, and writes all figures in the format of Prometheus."""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

if TYPE_CHECKING:
    from ksql_spark.engine import Figure

#: the prefix of all names
PREFIX = "ksql_spark_"
#: upper bounds of the histogram of times, seconds
BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
#: paths with parts that clients choose
_WITH_PARTS = ("/status", "/is_valid_property")


def has_metrics() -> bool:
    """Whether prometheus-client is installed."""
    return importlib.util.find_spec("prometheus_client") is not None


class Metrics:
    """The figures of one server.

    Args:
        figures: returns those of the engine.
        paths: the endpoints; requests to other paths are counted together.
    """

    def __init__(self, figures: Callable[[], Iterable[Figure]], paths: Iterable[str]) -> None:
        from prometheus_client import (
            CollectorRegistry,
            Counter,
            GCCollector,
            Histogram,
            PlatformCollector,
            ProcessCollector,
        )

        self._paths = frozenset(paths)
        self._registry = CollectorRegistry()
        for collector in (ProcessCollector, PlatformCollector, GCCollector):
            collector(registry=self._registry)
        self._requests = Counter(
            f"{PREFIX}requests", "Requests.", ("path", "status"), registry=self._registry
        )
        self._seconds = Histogram(
            f"{PREFIX}request_seconds",
            "Time from a request to the first byte of its answer.",
            ("path",),
            buckets=BUCKETS,
            registry=self._registry,
        )
        self._registry.register(_Engine(figures))

    def note(self, path: str, status: int, seconds: float) -> None:
        """A request has been answered."""
        known = path if path in self._paths else next((p for p in _WITH_PARTS if path.startswith(p)), "other")
        self._requests.labels(known, status).inc()
        self._seconds.labels(known).observe(seconds)

    def text(self) -> tuple[bytes, str]:
        """All figures as text, and its media type."""
        from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

        return generate_latest(self._registry), CONTENT_TYPE_LATEST


class _Engine:
    """The engine's figures, asked for when they are wanted."""

    def __init__(self, figures: Callable[[], Iterable[Figure]]) -> None:
        self._figures = figures

    def describe(self) -> Iterable[Any]:
        """Nothing: so that the engine is not asked before it is wanted."""
        return ()

    def collect(self) -> Iterator[Any]:
        """The families of figures."""
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

        families: dict[str, Any] = {}
        for measure, labels, value in self._figures():
            family = families.get(measure.name)
            if family is None:
                make = CounterMetricFamily if measure.kind == "counter" else GaugeMetricFamily
                family = make(PREFIX + measure.name, measure.help, labels=measure.labels)
                families[measure.name] = family
            family.add_metric(labels, value)
        yield from families.values()


class CountingMiddleware:
    """Counts requests and measures them."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass one request on (ASGI)."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began = time.perf_counter()
        path = scope["path"].rstrip("/") or "/"

        async def noted(message: Message) -> None:
            if message["type"] == "http.response.start":
                self._metrics.note(path, message["status"], time.perf_counter() - began)
            await send(message)

        await self._app(scope, receive, noted)
