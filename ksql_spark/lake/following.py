"""Threads that follow the metastore: one for each thing there, for as long as it is there."""

from __future__ import annotations

import logging
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Generic, TypeVar

from ksql_spark.errors import KsqlError
from ksql_spark.metastore.catalog import Catalog
from ksql_spark.metastore.store import MetaStore
from ksql_spark.runtime.errors import reason
from ksql_spark.runtime.queries.watching.periodic import PeriodicTask

log = logging.getLogger(__name__)

#: how soon threads follow the metastore, seconds
_FOLLOW_S = 0.5
#: the longest pause after a failure, seconds
_LONGEST_PAUSE_S = 60.0
#: how long a stop waits for work that is being done, seconds
_STOP_S = 10.0

Definition = TypeVar("Definition")
Status = TypeVar("Status")


class Run(ABC, Generic[Definition, Status]):
    """Work that a thread repeats until close().

    Args:
        name: of the thread, and in the log.
        definition: what the metastore says of it.
        status: how it is doing so far.
    """

    def __init__(self, name: str, definition: Definition, status: Status) -> None:
        self.name = name
        self.definition = definition
        self.status = status
        self._closing = threading.Event()
        self._failures = 0
        self._reported: str | None = None
        self._thread = threading.Thread(target=self._run, name=name.replace(" ", "-"), daemon=True)

    @abstractmethod
    def work(self) -> float:
        """Do a piece of work; returns the pause before the next one, seconds."""

    @abstractmethod
    def failed(self, why: str) -> None:
        """The latest piece of work failed: change the status."""

    def is_passing(self, error: Exception, failures: int) -> float | None:
        """The pause before the next attempt, if a failure need not be reported; ``failures``: in a row."""
        return None

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def close(self) -> None:
        """Do nothing more after the piece of work that is being done."""
        self._closing.set()

    def join(self, timeout_s: float) -> None:
        """Wait until the run has ended."""
        self._thread.join(timeout_s)

    def _run(self) -> None:
        pause = 0.0
        while not self._closing.wait(pause):
            try:
                pause = self.work()
            except Exception as error:
                if self._closing.is_set():
                    return
                pause = self._after(error)
            else:
                self._failures, self._reported = 0, None

    def _after(self, error: Exception) -> float:
        self._failures += 1
        passing = self.is_passing(error, self._failures)
        if passing is not None:
            return passing
        why = reason(error)
        if why != self._reported:
            log.warning("%s: %s", self.name, why, exc_info=not isinstance(error, KsqlError))
        self._reported = why
        pause = min(2.0 ** min(self._failures, 10), _LONGEST_PAUSE_S)
        self.failed(f"{why} (next attempt in {pause:.0f} s)")
        return pause


class Follower(ABC, Generic[Definition, Status]):
    """The runs of a server, which follow the metastore. Thread-safe.

    Args:
        name: of the thread that follows.
        catalog: has the metastore.
        is_here: whether this server does the work.
    """

    def __init__(self, name: str, catalog: Catalog, is_here: Callable[[], bool] = lambda: True) -> None:
        self._catalog = catalog
        self._is_here = is_here
        self._runs: dict[str, Run[Definition, Status]] = {}
        self._statuses: dict[str, Status] = {}
        self._lock = threading.Lock()
        self._is_closed = False
        self._following = PeriodicTask(name, _FOLLOW_S, self.follow)

    @abstractmethod
    def definitions(self, store: MetaStore) -> Mapping[str, Definition | None]:
        """Return the definitions in the metastore by name; None for one that is there but has no work now."""

    @abstractmethod
    def run_of(self, definition: Definition, status: Status) -> Run[Definition, Status]:
        """A run, which is not started yet."""

    @abstractmethod
    def new_status(self) -> Status:
        """The status of what has not run here."""

    def start(self) -> None:
        """Begin to follow the metastore."""
        self._following.start()

    def close(self) -> None:
        """Stop all runs."""
        self._following.close()
        with self._lock:
            self._is_closed = True
            runs, self._runs = list(self._runs.values()), {}
        for run in runs:
            run.close()
        until = time.monotonic() + _STOP_S
        for run in runs:
            run.join(max(until - time.monotonic(), 0.0))

    def status(self, name: str) -> Status:
        """Return the status of the run with this name."""
        run = self._runs.get(name)
        if run is not None:
            return run.status
        return self._statuses[name] if name in self._statuses else self.new_status()

    def follow(self) -> None:
        """Start and stop runs, so that they match the metastore."""
        with self._lock:
            if not self._is_closed:
                self._follow()

    def _follow(self) -> None:
        there = self.definitions(self._catalog.published)
        definitions = {n: d for n, d in there.items() if d is not None} if self._is_here() else {}
        for name, run in list(self._runs.items()):
            if definitions.get(name) != run.definition:
                run.close()
                self._statuses[name] = run.status
                del self._runs[name]
        for name in [n for n in self._statuses if n not in there]:
            del self._statuses[name]
        for name, definition in definitions.items():
            if name not in self._runs:
                self._runs[name] = run = self.run_of(definition, self._statuses.get(name, self.new_status()))
                run.start()
