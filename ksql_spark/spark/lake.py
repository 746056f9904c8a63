"""Records of topics as Arrow rows, for sinks; Arrow rows as records of topics, for origins."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from pyspark.sql import SparkSession, functions

from ksql_spark.formats import RecordSpec
from ksql_spark.metastore.sources import DataSource
from ksql_spark.schema import NULL_VALUE, ROWOFFSET, ROWTIME, Column
from ksql_spark.spark import sinks, sources
from ksql_spark.spark.frames import quoted
from ksql_spark.spark.processing_log import QueryLog

if TYPE_CHECKING:
    import pyarrow as pa

_NEWEST = "__newest"
#: the prefix that encoders write instead of bytes, before the reason why there are none (Unwritable.java)
UNWRITABLE = bytes.fromhex("ff6b73716c5ed371ec0b963fa72284ff")


def rows(
    session: SparkSession,
    consumer: Mapping[str, str],
    source: DataSource,
    columns: Sequence[Column],
    starts: Mapping[int, int],
    ends: Mapping[int, int],
    deleted: str,
    log: QueryLog | None,
    setting: Callable[[str], Any],
) -> pa.Table:
    """The rows of the records from ``starts`` to ``ends``.

    Args:
        session: any session.
        consumer: settings of Kafka's consumers.
        source: the stream or table; of a table, each key has one row, the last.
        columns: the columns, TIME as milliseconds of the day.
        starts: of every partition, the first offset.
        ends: of every partition, the offset after the last.
        deleted: of a table, the name of the column that says whether the row is to be removed.
        log: takes reports of records that cannot be read.
        setting: effective value of a property, by name.
    """
    first = json.dumps({str(partition): offset for partition, offset in starts.items()})
    raw = sources.read(session, consumer, source.topic, {source.topic: first}, ends=ends)
    frame = sources.decode(raw, source, "", (), log, setting)
    names = [quoted(column.name) for column in columns]
    if not source.is_table:
        return frame.filter(f"NOT {NULL_VALUE}").selectExpr(*names).toArrow()
    keys = [quoted(c.name) for c in source.schema.key]
    keys += [quoted(c.name) for c in columns[len(source.schema.columns) :]]
    newest = f"row_number() OVER (PARTITION BY {', '.join(keys)} ORDER BY {ROWOFFSET} DESC)"
    last = frame.selectExpr("*", f"{newest} AS {_NEWEST}").filter(f"{_NEWEST} = 1")
    return last.selectExpr(*names, f"{NULL_VALUE} AS {deleted}").toArrow()


def raw_records(
    session: SparkSession,
    consumer: Mapping[str, str],
    topic: str,
    columns: Sequence[Column],
    starts: Mapping[int, int],
    ends: Mapping[int, int],
) -> pa.Table:
    """The records from ``starts`` to ``ends`` as they are; those of a partition in the order of offsets.

    ``columns``: of Spark's source of Kafka; the other parameters are those of rows().
    """
    first = json.dumps({str(partition): offset for partition, offset in starts.items()})
    raw = sources.read(session, consumer, topic, {topic: first}, ends=ends)
    return raw.selectExpr(*(quoted(column.name) for column in columns)).toArrow()


def times(session: SparkSession, source: DataSource, rows: pa.Table) -> pa.ChunkedArray:
    """Return the event times in the rows' TIMESTAMP column, epoch ms; NULL for rows without one."""
    assert source.timestamp is not None
    time = sources.event_time(source, quoted(source.timestamp.column))
    frame = session.createDataFrame(rows).selectExpr(f"cast({time} AS bigint) AS __t")
    return frame.selectExpr(f"if({sources.is_time('__t')}, __t, NULL) AS __time").toArrow()["__time"]


def encoded(
    session: SparkSession, source: DataSource, records: RecordSpec, rows: pa.Table, now_ms: int
) -> pa.Table:
    """The records of a stream's rows, in their order: key, value and time.

    Args:
        session: one for this call.
        source: the stream.
        records: how its records are encoded, with their schemas.
        rows: its columns, TIME as milliseconds of the day.
        now_ms: the time of rows that have none, epoch ms. Whoever reads them leaves them out and tells so,
            where the stream has a TIMESTAMP column.
    """
    time = "NULL" if source.timestamp is None else sources.event_time(source, quoted(source.timestamp.column))
    frame = session.createDataFrame(rows).selectExpr("*", f"cast({time} AS bigint) AS __t")
    frame = frame.selectExpr(
        "* EXCEPT (__t)",
        f"false AS {NULL_VALUE}",
        f"if({sources.is_time('__t')}, __t, {now_ms}L) AS {ROWTIME}",
    )
    # the time is there already, and no row is left out here
    return sinks.encode(frame, replace(source, timestamp=None), records=records).toArrow()


class Difference(NamedTuple):
    """The result of writing rows to a topic.

    Args:
        rows: rows with a key.
        written: of those, which the topic lacked.
        removed: keys of the topic that have no row.
        without_key: rows that have none.
        twice: if not None, nothing was written: the key, as JSON, that several rows have.
    """

    rows: int
    written: int
    removed: int
    without_key: int
    twice: str | None


def bring_into_step(
    session: SparkSession,
    consumer: Mapping[str, str],
    producer: Mapping[str, str],
    table: DataSource,
    records: RecordSpec,
    rows: pa.Table,
    ends: Mapping[int, int],
    now_ms: int,
) -> Difference:
    """Write to a table's topic the rows that it lacks, and tombstones for its keys that have no row.

    Keys and values are compared as they are encoded.

    Args:
        session: one for this call.
        consumer: settings of Kafka's consumers.
        producer: settings of Kafka's producers.
        table: the table.
        records: how its records are encoded, with their schemas.
        rows: its columns, TIME as milliseconds of the day.
        ends: of every partition of its topic, the offset after the last.
        now_ms: the timestamp of new records, epoch ms.
    """
    keys = ", ".join(quoted(column.name) for column in table.schema.key)
    frame = session.createDataFrame(rows)
    frame = frame.selectExpr("*", f"false AS {NULL_VALUE}", f"{now_ms}L AS {ROWTIME}")
    shown = [f"to_json(struct({keys})) AS shown"]
    encoded = sinks.encode(frame, table, records=records, also=shown)
    target = encoded.groupBy("key").agg(
        *_exprs("first(value) AS value", "count(*) AS n", "first(shown) AS shown")
    )
    raw = sources.read(session, consumer, table.topic, {}, ends=ends)
    there = raw.groupBy("key").agg(*_exprs("max_by(value, offset) AS value"))
    target.createOrReplaceTempView("wanted")
    there.createOrReplaceTempView("there")
    compared = session.sql(
        "SELECT coalesce(w.key, t.key) AS key, w.value AS value, w.n, w.shown,"
        " w.n IS NOT NULL AND NOT w.value <=> t.value AS is_new,"
        " w.n IS NULL AND t.value IS NOT NULL AS is_gone"
        " FROM (SELECT * FROM wanted WHERE key IS NOT NULL) w"
        " FULL JOIN (SELECT * FROM there WHERE key IS NOT NULL) t ON w.key = t.key"
    ).persist()
    try:
        (counts,) = compared.selectExpr(
            "coalesce(sum(n), 0)", "count_if(is_new)", "count_if(is_gone)", "max_by(shown, n)", "max(n)"
        ).collect()
        with_key, written, removed, shown_key, most = counts
        without = rows.num_rows - with_key
        if (most or 0) > 1:
            return Difference(with_key, 0, 0, without, shown_key)
        if written or removed:
            changes = compared.filter("is_new OR is_gone")
            sinks.save(changes.selectExpr("key", "value", f"{now_ms}L AS time"), producer, table.topic)
        return Difference(with_key, written, removed, without, None)
    finally:
        compared.unpersist()


def _exprs(*texts: str) -> list[Any]:
    return [functions.expr(text) for text in texts]
