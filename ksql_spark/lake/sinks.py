"""Runs sinks: each is a thread that moves ranges of a topic into a lake table, one commit after another.

Nothing but the table knows how far it is, so a commit that was interrupted anywhere is either there with its
position, or is made again (ADR 57).
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol

from ksql_spark.errors import KsqlError
from ksql_spark.kafka.admin import KafkaAdmin
from ksql_spark.lake.tables import Refusal, TableSpec, open_table
from ksql_spark.metastore.catalog import Catalog
from ksql_spark.metastore.sinks import Sink
from ksql_spark.metastore.sources import DataSource
from ksql_spark.runtime.errors import reason
from ksql_spark.runtime.queries.periodic import PeriodicTask
from ksql_spark.schema import WINDOW_BOUNDS, Column

if TYPE_CHECKING:
    import pyarrow as pa

log = logging.getLogger(__name__)

#: the most records of one commit, which pass through the server's memory
MOST_RECORDS = 500_000
#: how soon sinks follow the metastore, seconds
_FOLLOW_S = 0.5
#: the longest pause after a failure, seconds
_LONGEST_PAUSE_S = 60.0
#: how long a stop waits for commits that are being made, seconds
_STOP_S = 10.0

#: how often in a row another writer may be faster before that is told, as where PAUSE and RESUME follow each
#: other while a commit is being made; and the pause before the next attempt, seconds
_OVERTAKEN_TIMES, _OVERTAKEN_PAUSE_S = 5, 0.2

WAITING, RUNNING, ERROR = "WAITING", "RUNNING", "ERROR"


@dataclass(frozen=True)
class Range:
    """Records of a topic: partition -> the first offset, and the one after the last."""

    starts: Mapping[int, int]
    ends: Mapping[int, int]

    @property
    def size(self) -> int:
        """How many offsets it has."""
        return sum(end - self.starts[partition] for partition, end in self.ends.items())


class Reports(Protocol):
    """Takes rows that a table refused."""

    def __call__(self, sink: Sink, refused: Sequence[Refusal]) -> None:
        """Write them into the errors of ``sink``."""


class Reader(Protocol):
    """Reads records of a topic as rows."""

    def __call__(self, sink: Sink, source: DataSource, columns: tuple[Column, ...], part: Range) -> pa.Table:
        """The rows of ``part``; of a table the last one of each key, with the column DELETED."""


@dataclass(frozen=True)
class SinkStatus:
    """How a sink is doing on this server.

    Args:
        state: WAITING, RUNNING or ERROR.
        reason: why the latest attempt failed.
        positions: partition -> the first offset that the table lacks.
        ends: partition -> the end of the topic at the latest look.
        commits: how many commits were made.
        rows: how many rows they had.
        removed: records that retention had removed before they were read.
        last_commit_ms: epoch milliseconds.
    """

    state: str = WAITING
    reason: str | None = None
    positions: Mapping[int, int] = field(default_factory=dict)
    ends: Mapping[int, int] = field(default_factory=dict)
    commits: int = 0
    rows: int = 0
    removed: int = 0
    last_commit_ms: int | None = None

    @property
    def lag(self) -> int | None:
        """Records that the table lacks; None: not known."""
        if not self.ends:
            return None
        return sum(max(end - self.positions.get(p, 0), 0) for p, end in self.ends.items())


def columns_of(source: DataSource) -> tuple[Column, ...]:
    """The columns of a lake table: those of the source, and the bounds of its windows."""
    bounds = WINDOW_BOUNDS.items() if source.window is not None else ()
    return (*source.schema.columns, *(Column(name, type_) for name, type_ in bounds))


def spec_of(sink: Sink, source: DataSource, topic_id: str) -> TableSpec:
    """What the lake table of ``sink`` must be like."""
    keys: tuple[str, ...] = ()
    if source.is_table:
        bounds = WINDOW_BOUNDS if source.window is not None else ()
        keys = (*(column.name for column in source.schema.key), *bounds)
    topic = f"{source.topic}:{topic_id}"
    return TableSpec(sink.path, topic, columns_of(source), keys, sink.partition_by, sink.table or "")


def next_range(positions: Mapping[int, int], ends: Mapping[int, int], most: int) -> Range:
    """The next records to write, about ``most`` at most, shared out among the partitions that have some.

    >>> next_range({0: 5, 1: 0}, {0: 6, 1: 100}, 11)
    Range(starts={0: 5, 1: 0}, ends={0: 6, 1: 10})
    """
    until: dict[int, int] = {}
    left = sorted(ends, key=lambda p: ends[p] - positions[p])
    for i, partition in enumerate(left):
        share = -(-most // (len(left) - i))
        until[partition] = min(ends[partition], positions[partition] + max(share, 1))
        most -= until[partition] - positions[partition]
    return Range(dict(positions), dict(sorted(until.items())))


class SinkRun:
    """One sink, until close().

    Args:
        sink: the sink.
        find: the stream or table of that name, or None.
        admin: of the cluster.
        read: reads records.
        status: of the sink so far.
        report: takes rows that the table refused.
    """

    def __init__(
        self,
        sink: Sink,
        find: Callable[[str], DataSource | None],
        admin: KafkaAdmin,
        read: Reader,
        status: SinkStatus,
        report: Reports = lambda sink, refused: None,
    ) -> None:
        self.sink = sink
        self.status = status
        self._find = find
        self._admin = admin
        self._read = read
        self._report = report
        self._closing = threading.Event()
        self._failures = 0
        self._thread = threading.Thread(target=self._run, name=f"sink-{sink.name}", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def close(self) -> None:
        """Make no more commits after the one that is being made."""
        self._closing.set()

    def join(self, timeout_s: float) -> None:
        """Wait for that one."""
        self._thread.join(timeout_s)

    def _run(self) -> None:
        pause = 0.0
        while not self._closing.wait(pause):
            try:
                is_behind = self.commit()
            except Exception as error:
                if self._closing.is_set():
                    return
                self._failures += 1
                if _is_overtaken(error) and self._failures <= _OVERTAKEN_TIMES:
                    pause = _OVERTAKEN_PAUSE_S
                    continue
                why = reason(error)
                if why != self.status.reason:
                    log.warning("sink %s: %s", self.sink.name, why, exc_info=not isinstance(error, KsqlError))
                self.status = replace(self.status, state=ERROR, reason=why)
                pause = min(2.0 ** min(self._failures, 10), _LONGEST_PAUSE_S)
            else:
                self._failures = 0
                pause = 0.0 if is_behind else self.sink.interval_ms / 1000

    def commit(self) -> bool:
        """Write the next records, if there are any; returns whether more are waiting.

        Raises:
            KsqlError: those of open_table and LakeTable.write; TOPIC_UNKNOWN.
        """
        source = self._find(self.sink.source)
        if source is None:
            return False  # it can only be dropped after the sink, which is about to be stopped
        topic_id = self._admin.topic_id(source.topic) or ""
        table = open_table(self.sink.type, spec_of(self.sink, source, topic_id))
        begins = {p: offset for (_, p), offset in self._admin.beginning_offsets(source.topic).items()}
        ends = {p: offset for (_, p), offset in self._admin.committed_ends(source.topic).items()}
        if self._find(self.sink.source) != source:
            return True  # these ends may lie behind records with columns that this version lacks
        written = table.positions()
        positions = {p: max(written.get(p, begin), begin) for p, begin in begins.items() if p in ends}
        removed = sum(positions[p] - offset for p, offset in written.items() if p in positions)
        if removed:
            log.warning("sink %s: retention removed %d records before it", self.sink.name, removed)
        self.status = replace(
            self.status, positions=positions, ends=ends, removed=self.status.removed + removed
        )
        part = next_range(positions, ends, MOST_RECORDS)
        if part.size:
            rows = self._read(self.sink, source, columns_of(source), part)
            refused: list[Refusal] = []

            def report(found: Sequence[Refusal]) -> None:
                refused.extend(found)
                self._report(self.sink, found)

            table.write(rows, part.ends, report)
            self.status = replace(
                self.status,
                positions=part.ends,
                commits=self.status.commits + 1,
                rows=self.status.rows + rows.num_rows - len(refused),
                last_commit_ms=int(time.time() * 1000),
            )
        self.status = replace(self.status, state=RUNNING, reason=None)
        return part.ends != ends


def _is_overtaken(error: Exception) -> bool:
    return isinstance(error, KsqlError) and error.condition == "LAKE_CONFLICT"


class Sinks:
    """The sinks of a server, which follow the metastore. Thread-safe.

    Args:
        catalog: has the sinks.
        admin: of the cluster.
        read: reads records.
        is_here: whether this server runs a sink.
        report: takes rows that tables refused.
    """

    def __init__(
        self,
        catalog: Catalog,
        admin: KafkaAdmin,
        read: Reader,
        is_here: Callable[[], bool] = lambda: True,
        report: Reports = lambda sink, refused: None,
    ) -> None:
        self._catalog = catalog
        self._admin = admin
        self._read = read
        self._is_here = is_here
        self._report = report
        self._runs: dict[str, SinkRun] = {}
        self._statuses: dict[str, SinkStatus] = {}
        self._lock = threading.Lock()
        self._is_closed = False
        self._following = PeriodicTask("sinks", _FOLLOW_S, self.follow)

    def start(self) -> None:
        """Begin to follow the metastore."""
        self._following.start()

    def close(self) -> None:
        """Stop all sinks."""
        self._following.close()
        with self._lock:
            self._is_closed = True
            runs, self._runs = list(self._runs.values()), {}
        for run in runs:
            run.close()
        until = time.monotonic() + _STOP_S
        for run in runs:
            run.join(max(until - time.monotonic(), 0.0))

    def status(self, name: str) -> SinkStatus:
        """How a sink is doing."""
        run = self._runs.get(name)
        return run.status if run is not None else self._statuses.get(name, SinkStatus())

    def follow(self) -> None:
        """Start and stop sinks as the metastore says."""
        with self._lock:
            if not self._is_closed:
                self._follow()

    def _follow(self) -> None:
        there = {sink.name: sink for sink in self._catalog.published.sinks()}
        wanted = {s.name: s for s in there.values() if not s.is_paused} if self._is_here() else {}
        for name, run in list(self._runs.items()):
            if wanted.get(name) != run.sink:
                run.close()
                self._statuses[name] = run.status
                del self._runs[name]
        for name in [n for n in self._statuses if n not in there]:
            del self._statuses[name]
        for name, sink in wanted.items():
            if name not in self._runs:
                status = self._statuses.get(name, SinkStatus())
                run = SinkRun(sink, self._find, self._admin, self._read, status, self._report)
                self._runs[name] = run
                run.start()

    def _find(self, name: str) -> DataSource | None:
        return self._catalog.published.find(name)
