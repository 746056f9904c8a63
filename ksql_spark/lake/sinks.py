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
from ksql_spark.lake import archives
from ksql_spark.lake.following import Follower, Run
from ksql_spark.lake.tables import Refusal, TableSpec, compact, complete, open_table
from ksql_spark.metastore.catalog import Catalog
from ksql_spark.metastore.sinks import Sink, archive_name
from ksql_spark.metastore.sources import DataSource
from ksql_spark.metastore.store import MetaStore
from ksql_spark.runtime.errors import reason
from ksql_spark.schema import WINDOW_BOUNDS, Column

if TYPE_CHECKING:
    import pyarrow as pa

log = logging.getLogger(__name__)

#: the most records of one commit, which pass through the server's memory
MOST_RECORDS = 500_000
#: how often in a row another writer may be faster before that is reported; seconds until the next attempt
_OVERTAKEN_TIMES, _OVERTAKEN_PAUSE_S = 5, 0.2

WAITING, RUNNING, ERROR = "WAITING", "RUNNING", "ERROR"


@dataclass(frozen=True)
class Range:
    """Records of a topic: partition -> the first offset, and the one after the last."""

    starts: Mapping[int, int]
    ends: Mapping[int, int]

    @property
    def size(self) -> int:
        """The number of offsets in the range."""
        return sum(end - self.starts[partition] for partition, end in self.ends.items())


class Reports(Protocol):
    """Takes rows that a table refused."""

    def __call__(self, sink: Sink, refused: Sequence[Refusal]) -> None:
        """Write them into the errors of ``sink``."""


class Reader(Protocol):
    """Reads records of a topic as rows."""

    def __call__(self, sink: Sink, source: DataSource, columns: tuple[Column, ...], part: Range) -> pa.Table:
        """The rows of ``part``; of a table the last one of each key, with the column DELETED; of an archive
        its records.
        """


@dataclass(frozen=True)
class SinkStatus:
    """The status of a sink on this server.

    Args:
        state: WAITING, RUNNING or ERROR.
        reason: why the latest attempt failed.
        positions: partition -> the first offset that the table lacks.
        ends: partition -> the end of the topic at the latest look.
        commits: how many commits were made.
        rows: how many rows they had.
        removed: records that retention had removed before they were read.
        last_commit_ms: epoch milliseconds.
        compacted: which COMPACT SINK was carried out; None: nothing has run here yet.
        last_compaction_ms: epoch milliseconds.
    """

    state: str = WAITING
    reason: str | None = None
    positions: Mapping[int, int] = field(default_factory=dict)
    ends: Mapping[int, int] = field(default_factory=dict)
    commits: int = 0
    rows: int = 0
    removed: int = 0
    last_commit_ms: int | None = None
    compacted: int | None = None
    last_compaction_ms: int | None = None

    @property
    def lag(self) -> int | None:
        """Records that the table lacks, or None if unknown."""
        if not self.ends:
            return None
        return sum(max(end - self.positions.get(p, 0), 0) for p, end in self.ends.items())


def columns_of(sink: Sink, source: DataSource) -> tuple[Column, ...]:
    """The columns of a lake table: those of the source, and the bounds of its windows; or of an archive."""
    if sink.is_archive:
        return archives.COLUMNS
    bounds = WINDOW_BOUNDS.items() if source.window is not None else ()
    return (*source.schema.columns, *(Column(name, type_) for name, type_ in bounds))


def spec_of(sink: Sink, source: DataSource, topic_id: str) -> TableSpec:
    """Return the specification of the lake table of ``sink``."""
    keys: tuple[str, ...] = ()
    if source.is_table:
        bounds = WINDOW_BOUNDS if source.window is not None else ()
        keys = (*(column.name for column in source.schema.key), *bounds)
    topic = archive_name(source.topic, topic_id) if sink.is_archive else f"{source.topic}:{topic_id}"
    partition_by = archives.PARTITION_BY if sink.is_archive else sink.partition_by
    columns = columns_of(sink, source)
    return TableSpec(sink.path, topic, columns, keys, partition_by, sink.table or "", sink.is_archive)


def next_range(positions: Mapping[int, int], ends: Mapping[int, int], most: int) -> Range:
    """The next records to write, about ``most`` at most, shared out among the partitions that have some.

    >>> next_range({0: 5, 1: 0}, {0: 6, 1: 100}, 11)
    Range(starts={0: 5, 1: 0}, ends={0: 6, 1: 10})
    """
    until: dict[int, int] = {}
    partitions = sorted(ends, key=lambda p: ends[p] - positions[p])
    for i, partition in enumerate(partitions):
        share = -(-most // (len(partitions) - i))
        until[partition] = min(ends[partition], positions[partition] + max(share, 1))
        most -= until[partition] - positions[partition]
    return Range(dict(positions), dict(sorted(until.items())))


class SinkRun(Run[Sink, SinkStatus]):
    """A run that writes one sink, until close().

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
        if status.compacted is None:  # what was asked before this server has run it is over
            status = replace(status, compacted=sink.compactions)
        super().__init__(f"sink {sink.name}", sink, status)
        self.sink = sink
        self._find = find
        self._admin = admin
        self._read = read
        self._report = report
        #: the table and the ends of the topic when all was written: until they change, it is not opened
        self._complete: tuple[TableSpec, Mapping[int, int]] | None = None

    def work(self) -> float:
        """Make a commit, if there is something to write, and a compaction, if one is wanted."""
        has_more = self.commit()
        if self.status.compacted != self.sink.compactions:
            self.compact()
        return 0.0 if has_more else self.sink.interval_ms / 1000

    def failed(self, why: str) -> None:
        """Record the failure in the status."""
        self.status = replace(self.status, state=ERROR, reason=why)

    def is_passing(self, error: Exception, failures: int) -> float | None:
        """Another writer may be faster, as where PAUSE and RESUME follow each other during a commit."""
        is_overtaken = isinstance(error, KsqlError) and error.condition == "LAKE_CONFLICT"
        return _OVERTAKEN_PAUSE_S if is_overtaken and failures <= _OVERTAKEN_TIMES else None

    def compact(self) -> None:
        """Compact the table, between two commits.

        Raises:
            KsqlError: those of tables.compact.
        """
        source = self._find(self.sink.source)
        if source is not None:
            compact(self.sink.type, self._checked(self._spec(source)))
            done_ms = int(time.time() * 1000)
            self.status = replace(self.status, compacted=self.sink.compactions, last_compaction_ms=done_ms)

    def _spec(self, source: DataSource) -> TableSpec:
        """Return the specification of the table."""
        return spec_of(self.sink, source, self._admin.topic_id(source.topic) or "")

    def _checked(self, spec: TableSpec) -> TableSpec:
        """Return ``spec``, if its archive is one of its topic.

        Raises:
            KsqlError: those of archives.check.
        """
        if self.sink.is_archive:
            archives.check(self.sink.path, spec.topic)
        return spec

    def commit(self) -> bool:
        """Write the next records, if there are any; returns whether more are waiting.

        Raises:
            KsqlError: those of open_table and LakeTable.write; TOPIC_UNKNOWN.
        """
        source = self._find(self.sink.source)
        if source is None:
            return False  # it can only be dropped after the sink, which is about to be stopped
        spec = self._spec(source)
        begins = {p: offset for (_, p), offset in self._admin.beginning_offsets(source.topic).items()}
        ends = {p: offset for (_, p), offset in self._admin.committed_ends(source.topic).items()}
        if self._find(self.sink.source) != source:
            return True  # these ends may lie behind records with columns that this version lacks
        if self._complete == (spec, ends):
            self.status = replace(self.status, state=RUNNING, reason=None)
            return False
        table = open_table(self.sink.type, self._checked(spec))
        begins = {p: begin for p, begin in begins.items() if p in ends}
        positions = self._look(begins, ends, table.positions())
        part = next_range(positions, ends, MOST_RECORDS)
        if part.size:
            rows = self._read(self.sink, source, spec.columns, part)
            refused: list[Refusal] = []

            def report(refusals: Sequence[Refusal]) -> None:
                refused.extend(refusals)
                self._report(self.sink, refusals)

            table.write(rows, part.ends, report)
            self.status = replace(
                self.status,
                positions=part.ends,
                commits=self.status.commits + 1,
                rows=self.status.rows + rows.num_rows - len(refused),
                last_commit_ms=int(time.time() * 1000),
            )
        self.status = replace(self.status, state=RUNNING, reason=None)
        has_more = part.ends != ends
        self._complete = None if has_more else (spec, ends)
        return has_more

    def _look(
        self, begins: Mapping[int, int], ends: Mapping[int, int], written: Mapping[int, int]
    ) -> Mapping[int, int]:
        """Note how far the sink and its topic are, and what retention has removed since the last look.

        Returns the positions to read from; ``written``: those of the table.
        """
        # partitions that the sink's statement did not see were added empty
        first = begins if self.sink.begins is None else {**dict.fromkeys(begins, 0), **self.sink.begins}
        before = {p: max(written.get(p, first[p]), self.status.positions.get(p, 0)) for p in begins}
        positions = {p: max(written.get(p, begin), begin) for p, begin in begins.items()}
        removed = sum(max(begin - before[p], 0) for p, begin in begins.items())
        if removed:
            log.warning("sink %s: retention removed %d records before it", self.sink.name, removed)
        self.status = replace(
            self.status, positions=positions, ends=ends, removed=self.status.removed + removed
        )
        return positions


class Sinks(Follower[Sink, SinkStatus]):
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
        super().__init__("sinks", catalog, is_here)
        self._admin = admin
        self._read = read
        self._report = report

    def complete(self) -> None:
        """Complete commits of a run that was killed, in a thread of its own: that needs no Spark."""

        def work() -> None:
            for sink in self._catalog.published.sinks():
                try:
                    complete(sink.type, sink.path)
                except Exception as error:  # the sink itself tries it again, and says so
                    log.warning("sink %s: %s", sink.name, reason(error))

        if self._is_here():
            threading.Thread(target=work, name="sinks-complete", daemon=True).start()

    def definitions(self, store: MetaStore) -> Mapping[str, Sink | None]:
        """Sinks, and which of them are not paused."""
        return {sink.name: None if sink.is_paused else sink for sink in store.sinks()}

    def run_of(self, definition: Sink, status: SinkStatus) -> SinkRun:
        """A run of a sink."""
        return SinkRun(definition, self._find, self._admin, self._read, status, self._report)

    def new_status(self) -> SinkStatus:
        """Return the status of a sink that has not run here."""
        return SinkStatus()

    def _find(self, name: str) -> DataSource | None:
        return self._catalog.published.find(name)
