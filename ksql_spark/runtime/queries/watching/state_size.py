"""The size of a running query's state, as Spark last reported it."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import Any

from ksql_spark.runtime.queries.figures import QueryFigures
from ksql_spark.runtime.queries.managed import ManagedQuery

#: so many blocks a look-up are too many, unless they are few: a query that has just started reads each once
MOST_READS, MANY_BLOCKS = 0.5, 10_000
#: with fewer look-ups, what is read is read by scans and compaction
FEW_LOOKUPS = 1_000


@dataclass(frozen=True)
class StateSize:
    """The state of a sub-topology, or of all of a query's, after its latest batch.

    Args:
        entries: number of rows in the operators' states, including bookkeeping as lists of a window's keys.
        bytes: their size in files plus their size in memory.
        at: the batch's end, ISO 8601 in UTC.
        lookups: how often RocksDB was asked for a key in the batch.
        blocks_read: how many blocks it read from files for that, because its memory did not have them.
    """

    entries: int
    bytes: int
    at: str
    lookups: int = 0
    blocks_read: int = 0

    def __str__(self) -> str:
        return f"{self.entries} entries, {self.bytes} bytes at {self.at}"

    @property
    def outgrown(self) -> str | None:
        """What to say of a state that no longer fits RocksDB's memory; None if it fits.

        >>> StateSize(20_000_000, 10**9, "2026-01-01T00:00:00Z", 40_000, 61_000).outgrown
        'RocksDB read 61,000 blocks from files for 40,000 look-ups: the state has outgrown its memory'
        """
        if self.lookups < FEW_LOOKUPS or self.blocks_read < max(MANY_BLOCKS, self.lookups * MOST_READS):
            return None
        work = f"{self.blocks_read:,} blocks from files for {self.lookups:,} look-ups"
        return f"RocksDB read {work}: the state has outgrown its memory"


def state_sizes(query: ManagedQuery, figures: QueryFigures) -> tuple[StateSize | None, ...]:
    """The state of each sub-topology, upstream first; None if it has none, or Spark has not reported any yet.

    In real time Spark reports at checkpoints (``ksql.checkpoint.interval.ms``).
    """
    sizes: list[StateSize | None] = []
    for run in list(query.spark):
        progress: Any = None
        with contextlib.suppress(Exception):  # it may be ending
            progress = run.progress
        sizes.append(None if progress is None else _size(query.id, progress, figures))
    return tuple(sizes)


def state_size(query: ManagedQuery, figures: QueryFigures) -> StateSize | None:
    """The state of all sub-topologies together; None if there is none, or Spark has not reported any yet."""
    sizes = [size for size in state_sizes(query, figures) if size is not None]
    if not sizes:
        return None
    return StateSize(
        sum(size.entries for size in sizes),
        sum(size.bytes for size in sizes),
        sizes[-1].at,
        sum(size.lookups for size in sizes),
        sum(size.blocks_read for size in sizes),
    )


def _size(query_id: str, progress: Any, figures: QueryFigures) -> StateSize | None:
    operators = progress["stateOperators"]
    if not operators:
        return None

    def total(metric: str) -> int:
        return sum(int(operator["customMetrics"].get(metric, 0)) for operator in operators)

    in_memory = sum(int(operator["memoryUsedBytes"]) for operator in operators)
    return StateSize(
        figures.state_entries(query_id, str(progress["id"])),
        in_memory + total("rocksdbSstFileSize"),
        str(progress["timestamp"]),
        total("rocksdbGetCount"),
        total("rocksdbReadBlockCacheMissCount"),
    )
