"""Reads a range of a topic as Arrow rows, for sinks."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pyspark.sql import SparkSession

from ksql_spark.metastore.sources import DataSource
from ksql_spark.physical.steps import NULL_VALUE
from ksql_spark.schema import ROWOFFSET, Column
from ksql_spark.spark import sources
from ksql_spark.spark.frames import quoted
from ksql_spark.spark.processing_log import QueryLog

if TYPE_CHECKING:
    import pyarrow as pa

_NEWEST = "__newest"


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
    raw = sources.read(session, consumer, source.topic, {source.topic: first}, is_batch=True, ends=ends)
    frame = sources.decode(raw, source, "", (), log, setting)
    names = [quoted(column.name) for column in columns]
    if not source.is_table:
        return frame.filter(f"NOT {NULL_VALUE}").selectExpr(*names).toArrow()
    keys = [quoted(c.name) for c in source.schema.key]
    keys += [quoted(c.name) for c in columns[len(source.schema.columns) :]]
    newest = f"row_number() OVER (PARTITION BY {', '.join(keys)} ORDER BY {ROWOFFSET} DESC)"
    last = frame.selectExpr("*", f"{newest} AS {_NEWEST}").filter(f"{_NEWEST} = 1")
    return last.selectExpr(*names, f"{NULL_VALUE} AS {deleted}").toArrow()
