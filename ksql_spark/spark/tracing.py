"""Finds the records that a row was made of: the query's plan as a batch over its topic (EXPLAIN ROW)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from pyspark.sql import DataFrame, SparkSession

from ksql_spark.analyzer.tracing import PLACES, Trace, step
from ksql_spark.schema import ROWOFFSET, ROWPARTITION
from ksql_spark.spark import batch
from ksql_spark.spark.frames import quoted

#: the step of records that were used, and that lie before the query's start
USED, BEFORE_START = 0, -1
_STEP = "__step"


class Place(NamedTuple):
    """The event time (epoch ms) and the place of a record.

    ``step``: the number of the filter that has dropped it, from 1, or one of the constants above.
    """

    time_ms: int
    partition: int
    offset: int
    step: int


class Found(NamedTuple):
    """How many records, by step; and the first and the last places of those that were asked for, by time."""

    counts: Mapping[int, int]
    first: Sequence[Place]
    last: Sequence[Place]


def find(
    session: SparkSession,
    consumer: Mapping[str, str],
    trace: Trace,
    starts: Mapping[int, int],
    ends: Mapping[int, int],
    setting: Callable[[str], Any],
    *,
    used: bool,
    most: int,
) -> Found:
    """Read the topic of ``trace`` once, up to ``ends``.

    Args:
        session: any session.
        consumer: settings of Kafka's consumers.
        trace: the records.
        starts: partition -> the offset where the query began.
        ends: partition -> the offset after the last record.
        setting: effective value of a property, by name.
        used: whether the places of used records are wanted, else of the others.
        most: how many first and last places.
    """
    own = batch.session_for(session, trace.root, sum(ends.values()))
    frame = batch.build(trace.root, [batch.stream(own, consumer, trace.relation, ends)], setting)
    texts = [*map(quoted, PLACES), f"{_dropped_by(trace, starts)} AS {_STEP}"]
    places = frame.selectExpr(*texts).persist()
    try:
        counts = {row[0]: row[1] for row in places.groupBy(_STEP).count().collect()}
        wanted = places.filter(f"{_STEP} {'=' if used else '!='} {USED}").distinct()
        first = _places(wanted.orderBy(*map(quoted, PLACES)).limit(most))
        last = _places(wanted.orderBy(*(wanted[name].desc() for name in PLACES)).limit(most))
        return Found(counts, first, last[::-1])
    finally:
        places.unpersist()


def _dropped_by(trace: Trace, starts: Mapping[int, int]) -> str:
    before = " OR ".join(
        f"({quoted(ROWPARTITION)} = {partition} AND {quoted(ROWOFFSET)} < {start})"
        for partition, start in starts.items()
        if start > 0
    )
    whens = [f"WHEN {before} THEN {BEFORE_START}"] if before else []
    whens += [
        f"WHEN NOT coalesce({quoted(step(i))}, false) THEN {i + 1}" for i, _ in enumerate(trace.filters)
    ]
    return f"CASE {' '.join(whens)} ELSE {USED} END" if whens else str(USED)


def _places(frame: DataFrame) -> list[Place]:
    return [Place(*row) for row in frame.collect()]
