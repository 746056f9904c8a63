"""Reads the traffic of queries: the figures of Traffic.java."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import NamedTuple

from pyspark.sql import SparkSession

from ksql_spark.spark import jvm

#: Traffic.java says so where no record waits
_NONE = 2**63 - 1


class Volume(NamedTuple):
    """Records, and the bytes of their keys and values."""

    records: int
    bytes: int


class Times(NamedTuple):
    """A histogram of durations.

    Args:
        bounds: upper bounds, seconds.
        counts: how many are up to each bound and above the one before; then how many are above the last.
        sum_s: all times together, seconds.
    """

    bounds: tuple[float, ...]
    counts: tuple[int, ...]
    sum_s: float

    @property
    def total(self) -> int:
        """The number of durations."""
        return sum(self.counts)

    def within_s(self, share: float) -> float | None:
        """Return the time below which ``share`` of the durations are, seconds, as if those between two bounds
        were spread evenly (as Prometheus' histogram_quantile has it); None if there are none, or it is above
        the last bound.
        """
        remaining = share * self.total
        for at, (bound, count) in enumerate(zip(self.bounds, self.counts, strict=False)):
            if count and remaining <= count:
                below = self.bounds[at - 1] if at else 0.0
                return below + (bound - below) * remaining / count
            remaining -= count
        return None


class Traffic(NamedTuple):
    """The figures of one query since Spark's JVM started.

    Args:
        read: topic -> what was fetched from it.
        written: topic -> what its brokers have acknowledged.
        latencies: topic that is written -> from a record's time until all can read it, without records
            whose time was old when they came; a query that is exactly once has none.
        pauses: between two batches in real time, which a checkpoint makes.
        waiting_ms: since when the oldest record waits that was fetched, epoch ms: its time, or when all
            before it was read, if that was later.
        reached: topic -> partition -> the offset of the first record that was not processed yet.
        odd_ms: the first event time of a result that is more than a year ahead, or before 1980, epoch ms.
    """

    read: Mapping[str, Volume]
    written: Mapping[str, Volume]
    latencies: Mapping[str, Times]
    pauses: Times
    waiting_ms: int | None
    reached: Mapping[str, Mapping[int, int]]
    odd_ms: int | None = None


def traffic(session: SparkSession, server: str) -> dict[str, Traffic]:
    """The figures of all queries of a server by their ids; ``server``: the name of its processing log."""
    report = json.loads(jvm.traffic_report(session, server))
    bounds = tuple(bound / 1000 for bound in report["bounds"])

    def times(sums: list[int]) -> Times:
        return Times(bounds, tuple(sums[:-1]), sums[-1] / 1000)

    return {
        query: Traffic(
            {topic: Volume(*sums) for topic, sums in one["read"].items()},
            {topic: Volume(*sums) for topic, sums in one["written"].items()},
            {topic: times(sums) for topic, sums in one["latencies"].items()},
            times(one["pauses"]),
            min((ms for ms in one["waiting"].values() if ms < _NONE), default=None),
            _reached(one["reached"]),
            one["oddTime"],
        )
        for query, one in report["queries"].items()
    }


def furthest(committed: Mapping[int, int], now: Mapping[int, int]) -> dict[int, int]:
    """How far a topic was read, by partition: as of checkpoints, or of tasks where these are ahead."""
    return {**now, **{partition: max(at, now.get(partition, 0)) for partition, at in committed.items()}}


def _reached(by_task: Mapping[str, int]) -> dict[str, dict[int, int]]:
    """The least offset of each partition; where two parts of a query read it, both have reached that."""
    reached: dict[str, dict[int, int]] = {}
    for name, offset in by_task.items():
        _, topic, partition = name.rsplit("/", 2)
        if offset >= 0:  # else the task reads no more
            offsets = reached.setdefault(topic, {})
            offsets[int(partition)] = min(offset, offsets.get(int(partition), offset))
    return reached
