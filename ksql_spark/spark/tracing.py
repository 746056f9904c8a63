"""Finds the records that a row was made of: the query's plan as a batch over its topics (EXPLAIN ROW).

REPROCESS reads its inputs in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import expr

from ksql_spark.analyzer.rows.traced_plans import added, place, step
from ksql_spark.analyzer.rows.tracing import Trace
from ksql_spark.plan.nodes import BatchJoin, FlatMap, Node, Source
from ksql_spark.plan.trees import children
from ksql_spark.schema import ROWOFFSET, ROWPARTITION, ROWTIME, WINDOW_BOUNDS
from ksql_spark.spark import batch
from ksql_spark.spark.frames import quoted
from ksql_spark.spark.sources import WHOLE_TOPICS, BatchRanges

#: partition -> offset
Offsets = Mapping[int, int]
_COLUMNS = ("time", "input", "partition", "offset")


class Place(NamedTuple):
    """The event time (epoch ms) and the place of a record.

    Args:
        input: the number of the trace's input that it is a record of.
        step: the number of the step that has dropped it; None: it was used.
    """

    time_ms: int
    input: int
    partition: int
    offset: int
    step: int | None


class TracedRecords(NamedTuple):
    """The records that a trace found: numbers by step (None: used), the first and the last places by time."""

    counts: Mapping[int | None, int]
    first: Sequence[Place]
    last: Sequence[Place]


def find(
    session: SparkSession,
    consumer: Mapping[str, str],
    trace: Trace,
    starts: Sequence[Offsets],
    ends: Sequence[Offsets],
    setting: Callable[[str], Any],
    *,
    used: bool,
    most: int,
) -> TracedRecords:
    """Read the topics of ``trace`` once.

    Args:
        session: any session.
        consumer: settings of Kafka's consumers.
        trace: the records.
        starts: for each input the offsets where the query began; a partition that lacks: at its beginning.
        ends: for each input the offsets after the last records.
        setting: effective value of a property, by name.
        used: whether the places of used records are wanted, else of the others.
        most: how many first and last places.
    """
    own = batch.session_for(session, trace.root, sum(sum(each.values()) for each in ends))
    frames = inputs(own, consumer, trace.inputs, starts, ends)
    places = _places(batch.build(own, trace.root, frames, setting), trace).persist()
    try:
        counts = {row[0]: row[1] for row in places.groupBy("step").count().collect()}
        selected = places.filter(f"step IS {'' if used else 'NOT '}NULL")
        first = selected.orderBy(*_COLUMNS).limit(most)
        last = selected.orderBy(*(selected[name].desc() for name in _COLUMNS)).limit(most)
        return TracedRecords(counts, _collected(first), _collected(last)[::-1])
    finally:
        places.unpersist()


def inputs(
    session: SparkSession,
    consumer: Mapping[str, str],
    relations: Sequence[Source],
    starts: Sequence[Offsets],
    ends: Sequence[Offsets],
    ranges: BatchRanges = WHOLE_TOPICS,
) -> list[DataFrame]:
    """The frames of a Tracer's inputs.

    Args:
        session: the batch's own session.
        consumer: settings of Kafka's consumers.
        relations: the inputs.
        starts: for each the offsets where the query began; a partition that lacks: at its beginning.
        ends: for each the offsets after the last records.
        ranges: what is read of streams.
    """
    return [
        _changes(session, consumer, number, relation, ends[number])
        if relation.source.is_table
        else _stream(session, consumer, number, relation, starts[number], ends[number], ranges)
        for number, relation in enumerate(relations)
    ]


def _stream(
    session: SparkSession,
    consumer: Mapping[str, str],
    number: int,
    relation: Source,
    starts: Offsets,
    ends: Offsets,
    ranges: BatchRanges,
) -> DataFrame:
    frame = batch.stream(session, consumer, relation, ends, ranges)
    partition, offset = (quoted(relation.column_name(name)) for name in (ROWPARTITION, ROWOFFSET))
    before = [
        f"({partition} = {number} AND {offset} < {start})" for number, start in starts.items() if start > 0
    ]
    is_read = f"NOT ({' OR '.join(before)})" if before else "true"
    return frame.selectExpr("*", f"{is_read} AS {quoted(added(number).is_read)}")


def _changes(
    session: SparkSession, consumer: Mapping[str, str], number: int, relation: Source, ends: Offsets
) -> DataFrame:
    extra, source = added(number), relation.source
    frame = batch.changes(session, consumer, relation, ends, extra.deletes)
    bounds = WINDOW_BOUNDS if source.window is not None else ()
    key = [ROWPARTITION, *(column.name for column in source.schema.key), *bounds]
    time, offset, *keys = (quoted(relation.column_name(name)) for name in (ROWTIME, ROWOFFSET, *key))
    until = f"lead({time}) OVER (PARTITION BY {', '.join(keys)} ORDER BY {offset})"
    return frame.selectExpr("*", f"{until} AS {quoted(extra.until)}")


def _places(frame: DataFrame, trace: Trace) -> DataFrame:
    """The records of the rows, each once, with the first step that drops all rows that it is part of."""
    records = ", ".join(
        f"struct({time} AS time, {number} AS input, {partition} AS partition, {offset} AS offset)"
        for number, _ in enumerate(trace.inputs)
        for time, partition, offset in [map(quoted, place(number))]
    )
    rows = frame.selectExpr(f"explode(array({records})) AS record", f"{_dropped_by(trace)} AS step")
    distinct = rows.filter("record.offset IS NOT NULL").selectExpr("record.*", "step")
    if not _repeats(trace.root):
        return distinct
    first = "if(bool_or(step IS NULL), NULL, min(step)) AS step"
    return distinct.groupBy(*_COLUMNS).agg(expr(first))


def _dropped_by(trace: Trace) -> str:
    """Spark SQL text of the first step that a row does not pass; NULL: it passes all."""
    whens = [f"WHEN NOT {quoted(step(i))} THEN {i}" for i, _ in enumerate(trace.steps)]
    return f"CASE {' '.join(whens)} END" if whens else "cast(NULL AS INT)"


def _repeats(node: Node) -> bool:
    """Whether a record can be part of several rows."""
    return isinstance(node, (BatchJoin, FlatMap)) or any(map(_repeats, children(node)))


def _collected(frame: DataFrame) -> list[Place]:
    return [Place(*row) for row in frame.select(*_COLUMNS, "step").collect()]
