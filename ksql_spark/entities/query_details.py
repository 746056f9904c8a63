"""Details of a running query, step by step (GET /queries/{id})."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ksql_spark.entities.base import Body, Omitted


@dataclass(frozen=True)
class RecordVolume(Body):
    """Records, and the bytes of their keys and values, since Spark started."""

    records: int
    bytes: int


@dataclass(frozen=True)
class Histogram(Body):
    """A histogram of durations since Spark started.

    Args:
        bounds: upper bounds, seconds.
        counts: how many are up to each bound and above the one before; then how many are above the last.
        sum_seconds: all times together, if they are known.
    """

    bounds: tuple[float, ...]
    counts: tuple[int, ...]
    sum_seconds: Omitted[float] = None


@dataclass(frozen=True)
class StepDetail(Body):
    """A step of a plan as EXPLAIN shows it; the name may be empty."""

    name: str
    text: str


@dataclass(frozen=True, kw_only=True)
class PlanStep(Body):
    """A step of a plan.

    Args:
        id: tells the steps of a plan apart.
        title: what it does, in EXPLAIN's words.
        inputs: the ids of the steps whose rows it reads, left to right.
        topic: which a source reads, or a sink writes.
        volume: what a source has fetched from its topic, or what brokers have acknowledged of a sink.
        state: what it keeps, in words.
    """

    id: str
    title: str
    details: tuple[StepDetail, ...]
    inputs: tuple[str, ...]
    topic: Omitted[str] = None
    volume: Omitted[RecordVolume] = None
    state: Omitted[str] = None


@dataclass(frozen=True, kw_only=True)
class StateVolume(Body):
    """The state of a sub-topology, as of its latest batch: ``at``, ISO 8601 in UTC.

    Args:
        outgrown: what to say if it no longer fits the memory of RocksDB.
    """

    rows: int
    bytes: int
    at: str
    outgrown: Omitted[str] = None


@dataclass(frozen=True, kw_only=True)
class CheckpointReport(Body):
    """A batch that ended with a checkpoint.

    Args:
        batch: its number.
        time_ms: when it began, epoch milliseconds.
        took_ms: how long it ran; in real time that is the interval between checkpoints.
        pause_ms: in real time, for how long of that it processed nothing.
        records: how many it has read.
        parts_ms: how long its parts took, by Spark's names.
    """

    batch: int
    time_ms: int
    took_ms: int
    records: int
    parts_ms: Mapping[str, int]
    pause_ms: Omitted[int] = None


@dataclass(frozen=True, kw_only=True)
class SubTopology(Body):
    """A part of a query that reads topics and writes one.

    Args:
        number: the furthest upstream is 0.
        execution: how it runs, and why.
        steps: the last is its sink; the others come before the steps that read them.
        checkpoints: the latest, the oldest first; since it was started last.
    """

    number: int
    execution: str
    steps: tuple[PlanStep, ...]
    state: StateVolume | None
    checkpoints: tuple[CheckpointReport, ...]


@dataclass(frozen=True, kw_only=True)
class QueryTransition(Body):
    """A query's state has changed.

    Args:
        time_ms: epoch milliseconds.
        event: start, fail, pause, resume, leave (for another server).
        state: from then on.
        reason: of a failure.
    """

    time_ms: int
    event: str
    state: str
    reason: Omitted[str] = None


@dataclass(frozen=True, kw_only=True)
class QueryDetails(Body):
    """The response to GET /queries/{id}.

    Args:
        time_ms: when this was asked, epoch milliseconds.
        logical: the steps of the logical plan, each after those it reads.
        sub_topologies: of the physical plan, upstream first.
        latencies: by topic that is written: from a result's event time until readers can see it.
        reached: by topic and partition, the offset of the first record that was not processed yet, as of now.
        pauses: of a real-time query, for checkpoints.
        graces: of late records, the GRACE PERIOD with which each would not have been late; null: there are
            none, or no period would have been enough.
        transitions: the latest, the oldest first; since this server started.
    """

    id: str
    state: str
    time_ms: int
    logical: tuple[PlanStep, ...]
    sub_topologies: tuple[SubTopology, ...]
    latencies: Mapping[str, Histogram]
    reached: Mapping[str, Mapping[str, int]]
    pauses: Histogram | None
    graces: Histogram | None
    transitions: tuple[QueryTransition, ...]
