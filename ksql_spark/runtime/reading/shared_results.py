"""Pull queries that several clients ask at once, each computed once for all of them.

A result has everything that was there when its statement arrived. So a client joins a computation that has
not begun; while one runs, all clients with the same statement wait for the next. A client that takes older
results also joins one that began that recently, unless this server has written to its topics since.
"""

from __future__ import annotations

import dataclasses
import math
import threading
import time
from collections.abc import Callable, Hashable, Mapping
from functools import partial

from ksql_spark import deadline
from ksql_spark.config import Config
from ksql_spark.deadline import Deadline
from ksql_spark.errors import KsqlError
from ksql_spark.expressions import Literal, Members
from ksql_spark.functions import registry
from ksql_spark.functions.spec import Category
from ksql_spark.metastore.sources import DataSource
from ksql_spark.plan.queries import Lookup, Read
from ksql_spark.runtime.reading.freshness import Ends
from ksql_spark.runtime.reading.results import Computed, PullResult, Shareable
from ksql_spark.schema import Schema

#: how often a client that waits is looked after, and how late a computation that nobody wants ends, seconds
_CHECK_S = 0.2
#: how many clients wait for others' results at once, each in a thread; the rest compute their own
_WAITING = 32
#: how many results are kept for clients that take older ones
_KEPT = 64
#: how fresh a result must be
STALENESS = "ksql.query.pull.max.staleness.ms"


def shared_staleness_ms(config: Config) -> int:
    """How old a shared result may be, milliseconds: 0 if the property was not set, or is null."""
    return int(config[STALENESS] or 0) if config.is_set(STALENESS) else 0


@dataclasses.dataclass(eq=False)
class _Computation:
    """One computation.

    Args:
        clients: each is set once it does not wait any more.
        began_at: when it began to read (monotonic); infinity: it has not.
        written: what this server had written to its topics by then.
        kept_until: until when others may take its result.
        is_done: whether ``result`` is known.
        result: what others get; None: each computes its own.
        stop: ends it if nobody waits for it any more.
    """

    clients: list[threading.Event] = dataclasses.field(default_factory=list)
    began_at: float = math.inf
    written: Mapping[str, Ends] = dataclasses.field(default_factory=dict)
    kept_until: float = 0.0
    is_done: bool = False
    result: Shareable = None
    stop: Callable[[], None] = lambda: None

    def has_clients_without(self, client: threading.Event) -> bool:
        """Whether others wait for its result after a client has gone."""
        client.set()
        return not self.is_done and not all(each.is_set() for each in self.clients)

    def interruption(self) -> str | None:
        """The condition that ends it: nobody waits for it."""
        return "STATEMENT_CANCELLED" if all(client.is_set() for client in self.clients) else None


class SharedResults:
    """Computes results, the same ones once. Thread-safe."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        #: by key: those that have not begun, and the last ones that have
        self._next: dict[Hashable, _Computation] = {}
        self._begun: dict[Hashable, _Computation] = {}
        self._waiting = 0

    def get(
        self,
        key: Hashable,
        compute: Callable[[], Computed],
        cancelled: threading.Event,
        staleness_s: float = 0.0,
        written: Callable[[], Mapping[str, Ends]] = dict,
    ) -> Computed:
        """The result of ``compute``, or that of another client with the same key.

        Only results that are small and complete are shared: of another one, each client gets its own.

        Args:
            key: equal for statements with equal results; None: nobody shares this one.
            compute: computes the result; calls deadline.check() as it goes.
            cancelled: set once the client does not wait any more.
            staleness_s: how old the result may be, seconds.
            written: returns what this server has written to the topics that are read.

        Raises:
            KsqlError: STATEMENT_CANCELLED; as ``compute``.
        """
        if key is not None and self._waiting < _WAITING:
            shared = self._joined(key, cancelled, staleness_s, written)
            if not shared.is_done:
                return self._run(key, shared, compute, cancelled)
            if isinstance(shared.result, KsqlError):
                raise shared.result.without_context()
            if shared.result is not None:
                return shared.result.again()
        return self._run(None, _Computation([cancelled]), compute, cancelled)

    def _joined(
        self,
        key: Hashable,
        cancelled: threading.Event,
        staleness_s: float,
        written: Callable[[], Mapping[str, Ends]],
    ) -> _Computation:
        """The computation for a client, once it is done or the caller is to run it."""
        with self._changed:
            now = time.monotonic()
            for old in [k for k, each in self._begun.items() if each.is_done and each.kept_until <= now]:
                del self._begun[old]
            shared = self._begun.get(key)
            is_recent = shared is not None and now - shared.began_at < staleness_s
            if shared is None or not is_recent or shared.written != written():
                shared = self._next.setdefault(key, _Computation())
            if shared.is_done:
                return shared
            shared.clients.append(cancelled)
            while not shared.is_done and not cancelled.is_set():
                before = self._begun.get(key)
                if self._next.get(key) is shared and (before is None or before.is_done):
                    shared.written, shared.began_at = written(), time.monotonic()
                    shared.kept_until = shared.began_at + staleness_s
                    self._begun[key] = self._next.pop(key)
                    return shared
                self._waiting += 1
                self._changed.wait(_CHECK_S)
                self._waiting -= 1
            is_last = shared.interruption() is not None
            if is_last and self._next.get(key) is shared:
                del self._next[key]
        if cancelled.is_set():
            if is_last:
                shared.stop()
            raise KsqlError("STATEMENT_CANCELLED")
        return shared

    def _run(
        self,
        key: Hashable,
        computation: _Computation,
        compute: Callable[[], Computed],
        cancelled: threading.Event,
    ) -> Computed:
        try:
            with deadline.limited(Deadline(0, computation.interruption)):
                deadline.check()
                result = compute()
        except KsqlError as error:
            self._end(key, computation, error if error.condition != "STATEMENT_CANCELLED" else None)
            raise
        except BaseException:
            self._end(key, computation, None)
            raise
        computation.stop = result.close
        result.share(
            partial(self._end, key, computation), partial(computation.has_clients_without, cancelled)
        )
        return result

    def _end(self, key: Hashable, computation: _Computation, result: Shareable) -> None:
        with self._changed:
            computation.is_done, computation.result = True, result
            is_kept = isinstance(result, PullResult) and computation.kept_until > time.monotonic()
            if key is not None and not is_kept:
                del self._begun[key]
            kept = [each for each, begun in self._begun.items() if begun.is_done]
            for oldest in kept[: max(len(kept) - _KEPT, 0)]:
                del self._begun[oldest]
            self._changed.notify_all()


def is_shareable(read: Read) -> bool:
    """Whether a query gives all who run it now the same rows: it computes no random values."""
    parts: list[object] = [read.predicate, read.items] if isinstance(read, Lookup) else [read.root]
    while parts:
        part = parts.pop()
        if isinstance(part, tuple):
            parts += part
        elif dataclasses.is_dataclass(part) and not isinstance(part, (DataSource, Schema, Literal, Members)):
            name = getattr(part, "function", None)
            spec = registry.find(name) if isinstance(name, str) else None
            if spec is not None and not spec.is_deterministic and spec.category != Category.DATE_TIME:
                return False
            parts += (getattr(part, field.name) for field in dataclasses.fields(part))
    return True
