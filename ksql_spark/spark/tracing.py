"""Finds the records that a row was made of, and the rows that a record has changed: batches over topics.

REPROCESS reads its inputs in the same way.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import broadcast, count, expr

from ksql_spark.analyzer.rows.traced_plans import added, place, step
from ksql_spark.analyzer.rows.tracing import Effect, Trace
from ksql_spark.formats import json_serde
from ksql_spark.metastore.sources import DataSource
from ksql_spark.plan.nodes import BatchJoin, FlatMap, Node, Source
from ksql_spark.plan.trees import children
from ksql_spark.schema import PSEUDO_COLUMNS, ROWOFFSET, ROWPARTITION, ROWTIME, WINDOW_BOUNDS, Column, Role
from ksql_spark.spark import batch
from ksql_spark.spark.frames import quoted
from ksql_spark.spark.sources import WHOLE_TOPICS, BatchRanges

#: partition and offset
Position = tuple[int, int]
#: partition -> offset
Offsets = Mapping[int, int]


class Place(NamedTuple):
    """The event time (epoch ms) and the place of a record.

    Args:
        input: the number of the trace's input that it is a record of.
        step: the number of the step that has dropped it, or None if it was used.
    """

    time_ms: int
    input: int
    partition: int
    offset: int
    step: int | None


class WrittenRow(NamedTuple):
    """Where a record has written a row, and the row's columns as JSON, or None if it has deleted it."""

    place: Place
    row: bytes | None


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
    at: Sequence[Collection[Position]] | None = None,
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
        at: for each input the records that are wanted, or None for all.
    """
    own = batch.session_for(session, trace.root, sum(sum(each.values()) for each in ends))
    frames = inputs(own, consumer, trace.inputs, starts, ends)
    places = _places(batch.build(own, trace.root, frames, setting), trace)
    if at is not None:
        wanted = [
            f"(record.input = {n} AND {_is_at('record.partition', 'record.offset', each)})"
            for n, each in enumerate(at)
            if each
        ]
        places = places.filter(" OR ".join(wanted) or "false")
    found = places.groupBy("step").agg(
        count("*"),
        expr(f"min_by(record, record, {most})"),
        expr(f"max_by(record, record, {most})"),
    )
    counts: dict[int | None, int] = {}
    first: list[Place] = []
    last: list[Place] = []
    for name, number, lowest, highest in found.collect():
        counts[name] = number
        if (name is None) == used:
            first += [Place._make([*each, name]) for each in lowest]
            last += [Place._make([*each, name]) for each in highest]
    first, last = (sorted(each, key=lambda of: of[:-1]) for each in (first, last))
    return TracedRecords(counts, first[:most], last[-most:])


@dataclass(frozen=True)
class Edit:
    """What a record is replaced by, to see what would be without it.

    Args:
        row: the columns of its source as JSON; None: a deletion.
        is_gone: it is as if it had never been written.
    """

    row: bytes | None = None
    is_gone: bool = False


class Change(NamedTuple):
    """A row that differs: the JSON that identifies it; its columns as JSON without and with the edits."""

    key: bytes
    before: bytes | None
    after: bytes | None


def differences(
    session: SparkSession,
    consumer: Mapping[str, str],
    effect: Effect,
    starts: Sequence[Offsets],
    ends: Sequence[Offsets],
    edits: Sequence[Mapping[Position, Edit]],
    setting: Callable[[str], Any],
    *,
    is_table: bool,
    most: int,
    without: Sequence[Mapping[Position, Edit]],
) -> tuple[int, list[Change]]:
    """Read the topics of ``effect`` twice, with and without ``edits`` of its inputs.

    Args:
        session: any session.
        consumer: settings of Kafka's consumers.
        effect: computes the rows.
        starts: for each input the offsets where the query began; a partition that lacks: at its beginning.
        ends: for each input the offsets after the last records.
        edits: for each input what its records are replaced by.
        setting: effective value of a property, by name.
        is_table: whether equal rows are one.
        most: how many rows are returned.
        without: edits that are made both times.

    Returns:
        how many rows differ, and the first ``most`` of them.
    """
    own = batch.session_for(session, effect.root, 2 * sum(sum(each.values()) for each in ends))
    row = _as_json(effect.columns)
    columns = {column.name: column for column in effect.columns}
    key = _as_json([columns[name] for name in effect.identity])

    def rows(number: int, edited: Sequence[Mapping[Position, Edit]]) -> DataFrame:
        frames = inputs(own, consumer, effect.inputs, starts, ends, edits=edited)
        # the names of columns may differ from those of the root's
        frame = batch.build(own, effect.root, frames, setting).toDF(*columns)
        encoded = frame.selectExpr(f"{key} AS key", f"{row} AS row", f"{number} AS n")
        return encoded.distinct() if is_table else encoded

    with_both = [{**each, **more} for each, more in zip(without, edits, strict=True)]
    both = rows(1, without).unionAll(rows(-1, with_both))
    differing = both.groupBy("key", "row").agg(expr("sum(n) AS n")).filter("n <> 0")
    changes = differing.groupBy("key").agg(
        expr("max(if(n < 0, row, NULL)) AS before"), expr("max(if(n > 0, row, NULL)) AS after")
    )
    # a struct is never NULL, other than its key
    of_all = changes.agg(count("*"), expr(f"min_by(struct(key, before, after), struct(key), {most})"))
    ((number_of_all, first),) = of_all.collect()
    rows_of = [[None if value is None else bytes(value) for value in each] for each in first or ()]
    return number_of_all, [Change(key or b"", before, after) for key, before, after in rows_of]


def written(
    session: SparkSession,
    consumer: Mapping[str, str],
    source: DataSource,
    effect: Effect,
    keys: Collection[bytes],
    ends: Offsets,
) -> dict[bytes, list[WrittenRow]]:
    """Find the records of a topic that have written rows: of a table's row the last one.

    Args:
        session: any session.
        consumer: settings of Kafka's consumers.
        source: the stream or table.
        effect: what its rows are computed by.
        keys: those of the rows, as JSON.
        ends: the offsets after the topic's last records.
    """
    bounds = WINDOW_BOUNDS if source.window is not None else ()
    relation = Source(source, source.name, exposed=(*PSEUDO_COLUMNS, *bounds))
    (frame,) = inputs(session, consumer, [relation], [{}], [ends])
    columns = {column.name: column for column in relation.schema.columns}
    key = _as_json([columns[name] for name in effect.identity])
    row = _as_json([columns[column.name] for column in effect.columns])
    if source.is_table:
        frame = frame.filter(f"{quoted(added(0).until)} IS NULL")
        row = f"if({quoted(added(0).deletes)}, NULL, {row})"
    wanted = ", ".join(_bytes(each) for each in keys)
    found = frame.selectExpr(f"{key} AS key", f"{row} AS row", *PSEUDO_COLUMNS).filter(f"key IN ({wanted})")
    rows: dict[bytes, list[WrittenRow]] = {}
    for each in found.orderBy(ROWPARTITION, ROWOFFSET).limit(10 * len(keys)).collect():
        place = Place(each[2], 0, each[3], each[4], None)
        row_then = None if each[1] is None else bytes(each[1])
        rows.setdefault(bytes(each[0]), []).append(WrittenRow(place, row_then))
    return rows


def row_of(data: bytes, columns: Sequence[Column]) -> dict[str, Any]:
    """The values of a row of ``differences``, in the formats' Python form."""
    values = json_serde(_plain(columns)).decode(data)
    return dict(zip((column.name for column in columns), values or (), strict=True))


def _plain(columns: Sequence[Column]) -> list[Column]:
    return [Column(f"C{i}", column.type) for i, column in enumerate(columns)]


def _as_json(columns: Sequence[Column]) -> str:
    """Spark SQL text: the values of ``columns`` as JSON, whatever these are called."""
    return json_serde(_plain(columns)).encode_sql([quoted(column.name) for column in columns])


def _bytes(data: bytes) -> str:
    return f"X'{data.hex()}'"


def _is_at(partition: str, offset: str, positions: Collection[Position]) -> str:
    """Spark SQL text: whether a record is at one of ``positions``."""
    places = ", ".join(f"({p}, {o}L)" for p, o in sorted(positions))
    return f"({partition}, {offset}) IN ({places})" if places else "false"


def inputs(
    session: SparkSession,
    consumer: Mapping[str, str],
    relations: Sequence[Source],
    starts: Sequence[Offsets],
    ends: Sequence[Offsets],
    ranges: BatchRanges = WHOLE_TOPICS,
    edits: Sequence[Mapping[Position, Edit]] | None = None,
    asked: Sequence[Collection[Position]] | None = None,
) -> list[DataFrame]:
    """The frames of a Tracer's inputs.

    Args:
        session: the batch's own session.
        consumer: settings of Kafka's consumers.
        relations: the inputs.
        starts: for each the offsets where the query began; a partition that lacks: at its beginning.
        ends: for each the offsets after the last records.
        ranges: what is read of streams.
        edits: for each what its records are replaced by.
        asked: for each the records that are asked for, if the Tracer is told of them.
    """
    frames = []
    for number, relation in enumerate(relations):
        edited = edits[number] if edits is not None else {}
        if relation.source.is_table:
            frames.append(_changes(session, consumer, number, relation, ends[number], edited))
        else:
            frame = _stream(session, consumer, number, relation, starts[number], ends[number], ranges)
            if asked is not None:
                frame = _with_asked(frame, relation, added(number).is_asked, asked[number])
            frames.append(_without(frame, relation, edited))
    return frames


def _with_asked(frame: DataFrame, relation: Source, name: str, positions: Collection[Position]) -> DataFrame:
    """With a column that tells whether a record is at one of ``positions``, which may be many."""
    text, schema = json.dumps([{"p": p, "o": o} for p, o in positions]), "array<struct<p: bigint, o: bigint>>"
    listed = frame.sparkSession.sql(f"SELECT inline(from_json('{text}', '{schema}'))")
    places = listed.selectExpr("p AS __p", "o AS __o").distinct()
    partition, offset = (quoted(relation.column_name(column)) for column in (ROWPARTITION, ROWOFFSET))
    joined = frame.join(broadcast(places), expr(f"{partition} = __p AND {offset} = __o"), "left")
    # not NULL: an OR with it would be NULL, too
    return joined.selectExpr("* EXCEPT (__p, __o)", f"__p IS NOT NULL AS {quoted(name)}")


def _without(frame: DataFrame, relation: Source, positions: Collection[Position]) -> DataFrame:
    if not positions:
        return frame
    partition, offset = (quoted(relation.column_name(name)) for name in (ROWPARTITION, ROWOFFSET))
    return frame.filter(f"NOT {_is_at(partition, offset, positions)}")


def _edited(frame: DataFrame, relation: Source, edits: Mapping[Position, Edit], deletes: str) -> DataFrame:
    """The changes of a table, some of them replaced by other rows of the same key."""
    if not edits:
        return frame
    partition, offset = (quoted(relation.column_name(name)) for name in (ROWPARTITION, ROWOFFSET))
    columns = relation.source.schema.columns
    cases = " ".join(
        f"WHEN {partition} = {p} AND {offset} = {o} THEN {'NULL' if e.row is None else _bytes(e.row)}"
        for (p, o), e in edits.items()
    )
    is_edited = _is_at(partition, offset, edits)
    decoded = json_serde(_plain(columns)).decode_sql("__edit")
    rows = frame.selectExpr("*", f"{is_edited} AS __is_edited", f"CASE {cases} END AS __edit")
    rows = rows.selectExpr("*", f"{decoded} AS __row")
    texts = {
        relation.column_name(column.name): f"__row.C{i}"
        for i, column in enumerate(columns)
        if column.role is not Role.KEY
    } | {deletes: "__edit IS NULL"}
    return rows.selectExpr(
        *(
            f"if(__is_edited, {texts[name]}, {quoted(name)}) AS {quoted(name)}"
            if name in texts
            else quoted(name)
            for name in frame.columns
        )
    )


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
    session: SparkSession,
    consumer: Mapping[str, str],
    number: int,
    relation: Source,
    ends: Offsets,
    edits: Mapping[Position, Edit],
) -> DataFrame:
    extra, source = added(number), relation.source
    frame = batch.changes(session, consumer, relation, ends, extra.deletes)
    frame = _without(frame, relation, [at for at, edit in edits.items() if edit.is_gone])
    frame = _edited(
        frame, relation, {at: edit for at, edit in edits.items() if not edit.is_gone}, extra.deletes
    )
    bounds = WINDOW_BOUNDS if source.window is not None else ()
    key = [ROWPARTITION, *(column.name for column in source.schema.key), *bounds]
    time, offset, *keys = (quoted(relation.column_name(name)) for name in (ROWTIME, ROWOFFSET, *key))
    until = f"lead({time}) OVER (PARTITION BY {', '.join(keys)} ORDER BY {offset})"
    return frame.selectExpr("*", f"{until} AS {quoted(extra.until)}")


def _places(frame: DataFrame, trace: Trace) -> DataFrame:
    """Each record of the rows once, as a struct (time, input, partition, offset), and ``step``: the first
    that drops all rows that it is part of.
    """
    records = ", ".join(
        f"struct({time} AS time, {number} AS input, {partition} AS partition, {offset} AS offset)"
        for number, _ in enumerate(trace.inputs)
        for time, partition, offset in [map(quoted, place(number))]
    )
    rows = frame.selectExpr(f"explode(array({records})) AS record", f"{_dropped_by(trace)} AS step")
    there = rows.filter("record.offset IS NOT NULL")
    if not _repeats(trace.root):
        return there
    return there.groupBy("record").agg(expr("if(bool_or(step IS NULL), NULL, min(step)) AS step"))


def _dropped_by(trace: Trace) -> str:
    """Spark SQL text of the first step that a row does not pass; NULL: it passes all."""
    whens = [f"WHEN NOT {quoted(step(i))} THEN {i}" for i, _ in enumerate(trace.steps)]
    return f"CASE {' '.join(whens)} END" if whens else "cast(NULL AS INT)"


def _repeats(node: Node) -> bool:
    """Whether a record can be part of several rows."""
    return isinstance(node, (BatchJoin, FlatMap)) or any(map(_repeats, children(node)))
