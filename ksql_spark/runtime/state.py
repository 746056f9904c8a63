"""How much state a running query keeps, as Spark reported last."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import Any

from ksql_spark.runtime.queries import ManagedQuery


@dataclass(frozen=True)
class StateSize:
    """The state of one sub-topology when its latest batch ended.

    Args:
        entries: rows of the state store, bookkeeping such as lists of what a window holds among them.
        bytes: what they take in files and in memory, both.
        at: end of the batch, ISO 8601 in UTC.
    """

    entries: int
    bytes: int
    at: str

    def __str__(self) -> str:
        return f"{self.entries} entries, {self.bytes} bytes at {self.at}"


def state_sizes(query: ManagedQuery) -> tuple[StateSize | None, ...]:
    """The state of each sub-topology, upstream first; None: it has none, or Spark has not reported yet.

    In real time Spark tells it at checkpoints (``ksql.checkpoint.interval.ms``).
    """
    sizes: list[StateSize | None] = []
    for run in list(query.spark):
        progress: Any = None
        with contextlib.suppress(Exception):  # it ends just now
            progress = run.progress
        sizes.append(_size(progress) if progress is not None else None)
    return tuple(sizes)


def _size(progress: Any) -> StateSize | None:
    operators = progress["stateOperators"]
    if not operators:
        return None
    entries = sum(int(operator["numRowsTotal"]) for operator in operators)
    kept = sum(
        int(operator["memoryUsedBytes"]) + int(operator["customMetrics"].get("rocksdbSstFileSize", 0))
        for operator in operators
    )
    return StateSize(entries, kept, str(progress["timestamp"]))
