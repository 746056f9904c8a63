"""Evaluates plans over records that are there: those that REPLAY ERRORS sends through a query once more, and
those of the rows that REPROCESS computes again (runtime/queries/changes/replay.py, reprocessing.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.functions import expr

from ksql_spark.analyzer.rows.pairs import IS_ASKED, Pairs
from ksql_spark.analyzer.rows.recomputing import ASKED, OFFSET, PARTITION, Recomputation
from ksql_spark.analyzer.rows.traced_plans import place
from ksql_spark.functions.spark_text import string
from ksql_spark.kafka.consumer import Record
from ksql_spark.kafka.transactions import Written
from ksql_spark.plan import trees
from ksql_spark.plan.nodes import Node, Source
from ksql_spark.plan.stages import Plan, Stage
from ksql_spark.schema import ROWOFFSET, ROWPARTITION, ROWTIME, WINDOWEND, WINDOWSTART
from ksql_spark.spark import batch, jvm, sinks
from ksql_spark.spark.build import build
from ksql_spark.spark.frames import Context, quoted
from ksql_spark.spark.processing_log import QueryLog
from ksql_spark.spark.tracing import Position

#: headers that say how the bytes of a record are read (TopicSink.java)
_SCHEMA_IDS = frozenset({"__key_schema_id", "__value_schema_id"})
_HEADERS = "array<struct<key: string, value: binary>>"


class Result(NamedTuple):
    """A record of the sink, and the place of the record that it was made of.

    ``unwritable``: (key or value, why) where a row does not fit a schema.
    """

    partition: int
    offset: int
    record: Written
    unwritable: tuple[str, str] | None


def evaluate(
    session: SparkSession,
    stage: Stage,
    records: Sequence[Record],
    sink_partitions: int,
    reports: QueryLog,
    setting: Callable[[str], Any],
) -> list[Result]:
    """The results of ``stage``, which has no state and reads one topic, for some records of that topic.

    Args:
        session: the query's own session.
        stage: the stage.
        records: at least one, a few megabytes at most.
        sink_partitions: of the sink's topic.
        reports: takes what fails.
        setting: effective value of a property, by name.
    """
    context = Context(session, stage, _frame(session, records), setting=setting, log=reports)
    topic = records[0].topic
    encoded = sinks.encode(
        build(context).frame,
        stage.sink,
        sink_partitions,
        reports.of_topic(topic),
        records=stage.records,
        also=[f"{ROWPARTITION} AS __p", f"{ROWOFFSET} AS __o"],
    )
    results = []
    for fields, record, unwritable in _records(session, encoded.collect(), stage.sink.topic):
        results.append(Result(fields["__p"], fields["__o"], record, unwritable))
    return sorted(results, key=lambda result: result[:2])


def alone(
    session: SparkSession,
    plan: Plan,
    node: Node,
    records: Sequence[Record],
    reports: QueryLog,
    setting: Callable[[str], Any],
) -> dict[Position, int]:
    """The event times, epoch ms, of those of some records of a topic of which ``node`` makes a row.

    Args:
        session: the query's own session.
        plan: the query's.
        node: it keeps no state, and reads that topic.
        records: at least one, a few megabytes at most.
        reports: takes what fails.
        setting: effective value of a property, by name.
    """
    read = [relation.source for relation in trees.relations(node)]
    own = replace(plan, root=node, source_records=tuple(plan.serdes[source] for source in read))
    frame = build(
        Context(session, Stage(own, 0), _frame(session, records), setting=setting, log=reports)
    ).frame
    return {(row[ROWPARTITION], row[ROWOFFSET]): row[ROWTIME] for row in frame.collect()}


class Recomputed(NamedTuple):
    """A row of a table that was computed again.

    Args:
        record: its record; a tombstone if HAVING is not true of it.
        part: of its key.
        asked: the places of the records that it is made of and that were asked for.
        unwritable: why it cannot be written.
    """

    record: Written
    part: int
    asked: Sequence[Position]
    unwritable: str | None


class Parts(NamedTuple):
    """The parts of a query's keys, each with a stream time: see plan.distribution.Tasks."""

    number: int
    by_partition: bool

    def text(self, groups: Iterable[str]) -> str:
        """Text of a row's part over the columns of a Recomputation; ``groups``: see there."""
        if self.by_partition:
            return f"cast({PARTITION} AS int)"
        key = ", ".join(f"'c{i}', {quoted(name)}" for i, name in enumerate(groups))
        return f"ksql.kafka_partition(ksql.pack_key(named_struct({key})), {self.number})"


def recomputed(
    session: SparkSession,
    recomputation: Recomputation,
    plan: Plan,
    sink_partitions: int,
    parts: Parts,
    frames: Iterable[DataFrame],
    span: tuple[int, int],
    setting: Callable[[str], Any],
    *,
    only_asked: bool,
) -> Iterator[Recomputed]:
    """The rows of a windowed table, computed again.

    Args:
        session: the batch's own session.
        recomputation: the batch.
        plan: the query's, which says how records are encoded.
        sink_partitions: of the table's topic.
        parts: of the query's keys.
        frames: those of its inputs.
        span: the least start of the windows that are wanted, and their greatest end, epoch ms; sessions are
            computed all, because those that overlap depend on each other.
        setting: effective value of a property, by name.
        only_asked: whether only rows are wanted that are made of records that are asked for.
    """
    rows = batch.build(session, recomputation.root, frames, setting)
    if not recomputation.has_sessions:
        rows = rows.filter(f"{WINDOWSTART} >= {span[0]} AND {WINDOWEND} <= {span[1]}")
        rows = rows.filter(f"size({ASKED}) > 0") if only_asked else rows
    encoded = sinks.encode(
        rows,
        plan.sink,
        sink_partitions,
        records=plan.records,
        also=[f"{parts.text(recomputation.groups)} AS __part", ASKED],
    )
    for fields, record, unwritable in _records(session, encoded.toLocalIterator(), plan.sink.topic):
        reason = None if unwritable is None else unwritable[1]
        asked = [(partition, offset) for partition, offset in fields[ASKED] or ()]
        yield Recomputed(record, fields["__part"], asked, reason)


class Counted(NamedTuple):
    """A record of a join's rows: how many pairs make it, how many of these were asked for; see Recomputed."""

    record: Written
    pairs: int
    asked: int
    unwritable: str | None


def pairs(
    session: SparkSession,
    join: Pairs,
    plan: Plan,
    sink_partitions: int,
    frames: Iterable[DataFrame],
    processed: Sequence[Mapping[int, int]],
    setting: Callable[[str], Any],
) -> Iterator[Counted]:
    """The records that a join writes for pairs that are asked for.

    Args:
        session: the batch's own session.
        join: the batch.
        plan: the query's, which says how records are encoded.
        sink_partitions: of the sink's topic.
        frames: those of its inputs.
        processed: for each input partition -> offset up to which the query has processed it.
        setting: effective value of a property, by name.
    """
    rows = batch.build(session, join.root, frames, setting)
    for number, each in enumerate(processed):
        rows = rows.filter(_is_before(each, *place(number)[1:]))
    encoded = sinks.encode(rows, plan.sink, sink_partitions, records=plan.records, also=[IS_ASKED])
    others = [name for name in ("headers", "partition") if name in encoded.columns]
    counts = [expr("count(*) AS __pairs"), expr(f"count_if({IS_ASKED}) AS __asked")]
    counted = encoded.groupBy("key", "value", "time").agg(
        *counts, *(expr(f"first({name}) AS {name}") for name in others)
    )
    found = counted.filter("__asked > 0").toLocalIterator()
    for fields, record, unwritable in _records(session, found, plan.sink.topic):
        reason = None if unwritable is None else unwritable[1]
        yield Counted(record, fields["__pairs"], fields["__asked"], reason)


def reached(
    frames: Iterable[DataFrame], inputs: Iterable[Source], processed: Iterable[Mapping[int, int]]
) -> int:
    """The time that each partition of some streams has reached, if it has any records, epoch ms.

    Args:
        frames: those of the streams.
        inputs: the streams.
        processed: for each stream partition -> offset up to which the query has processed it.
    """
    times = []
    for frame, relation, offsets in zip(frames, inputs, processed, strict=True):
        time, partition, offset = (
            quoted(relation.column_name(name)) for name in (ROWTIME, ROWPARTITION, ROWOFFSET)
        )
        read = frame.filter(_is_before(offsets, partition, offset)).groupBy(expr(partition))
        times += [row[1] for row in read.agg(expr(f"max({time})")).collect()]
    return min(times, default=0)


def _is_before(offsets: Mapping[int, int], partition: str, offset: str) -> str:
    """Spark SQL text: whether a record is before the ``offsets`` of its topic."""
    return " OR ".join(f"({partition} = {p} AND {offset} < {end})" for p, end in offsets.items()) or "false"


def stream_times(
    session: SparkSession,
    recomputation: Recomputation,
    parts: Parts,
    frames: Iterable[DataFrame],
    processed: Mapping[int, int],
    setting: Callable[[str], Any],
) -> dict[int, int]:
    """By part of the keys, a time that stream time has reached, epoch ms; without those without rows.

    Args:
        session: the batch's own session.
        recomputation: the batch, which has one input.
        parts: of the query's keys.
        frames: those of its inputs.
        processed: partition -> offset up to which the query has processed the input's topic.
        setting: effective value of a property, by name.
    """
    rows = batch.build(session, recomputation.rows, frames, setting)
    processed_rows = rows.filter(_is_before(processed, PARTITION, OFFSET))
    timed = processed_rows.selectExpr(f"{parts.text(recomputation.groups)} AS part", ROWTIME)
    return {row[0]: row[1] for row in timed.groupBy("part").agg(expr(f"max({ROWTIME})")).collect()}


def _records(
    session: SparkSession, encoded: Iterable[Row], topic: str
) -> Iterator[tuple[dict[str, Any], Written, tuple[str, str] | None]]:
    """The columns of each row that ``sinks.encode`` returns, its record, and Result.unwritable."""
    for row in encoded:
        fields = row.asDict()
        key, value = (None if fields[n] is None else bytes(fields[n]) for n in ("key", "value"))
        reasons = ((name, jvm.unwritable(session, data)) for name, data in (("key", key), ("value", value)))
        headers = [
            (h["key"], None if h["value"] is None else bytes(h["value"]))
            for h in fields.get("headers") or ()
            if h["key"] not in _SCHEMA_IDS
        ]
        time_ms = fields["time"]
        record = Written(
            topic,
            key,
            value,
            None if time_ms is None or time_ms < 0 else time_ms,
            headers,
            fields.get("partition"),
        )
        yield fields, record, next(((name, reason) for name, reason in reasons if reason is not None), None)


def _frame(session: SparkSession, records: Sequence[Record]) -> DataFrame:
    """Records as ``sources.read`` returns them."""
    rows = ", ".join(
        f"({_bytes(r.key)}, {_bytes(r.value)}, {string(r.topic)}, {r.partition}, {r.offset}L, "
        f"{r.timestamp_ms}L, {_headers(r)})"
        for r in records
    )
    return session.sql(
        "SELECT key, value, topic, partition, offset, timestamp_millis(__time) AS timestamp, headers"
        f" FROM VALUES {rows} AS t(key, value, topic, partition, offset, __time, headers)"
    )


def _bytes(data: bytes | None) -> str:
    return "cast(NULL AS binary)" if data is None else f"X'{data.hex()}'"


def _headers(record: Record) -> str:
    if not record.headers:
        return f"cast(NULL AS {_HEADERS})"
    listed = ", ".join(
        f"named_struct('key', {string(name)}, 'value', {_bytes(value)})" for name, value in record.headers
    )
    return f"cast(array({listed}) AS {_HEADERS})"
