"""The size of a running query's state, as Spark last reported it."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import Any

from ksql_spark.runtime.queries.figures import QueryFigures
from ksql_spark.runtime.queries.managed import ManagedQuery


@dataclass(frozen=True)
class StateSize:
    """The state of a sub-topology, or of all of a query's, after its latest batch.

    Args:
        entries: number of rows in the operators' states, including bookkeeping as lists of a window's keys.
        bytes: their size in files plus their size in memory.
        at: the batch's end, ISO 8601 in UTC.
    """

    entries: int
    bytes: int
    at: str

    def __str__(self) -> str:
        return f"{self.entries} entries, {self.bytes} bytes at {self.at}"


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
    return StateSize(sum(size.entries for size in sizes), sum(size.bytes for size in sizes), sizes[-1].at)


def _size(query_id: str, progress: Any, figures: QueryFigures) -> StateSize | None:
    operators = progress["stateOperators"]
    if not operators:
        return None
    entries = figures.state_entries(query_id, str(progress["id"]))
    size_bytes = sum(
        int(operator["memoryUsedBytes"]) + int(operator["customMetrics"].get("rocksdbSstFileSize", 0))
        for operator in operators
    )
    return StateSize(entries, size_bytes, str(progress["timestamp"]))
