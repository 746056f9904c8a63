"""Evaluates constants in memory, with the lowering of streams, and decodes a table's stored rows.

Spark evaluates literals and local relations without a job, in 10 to 15 ms.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from pyspark.sql import SparkSession

from ksql_spark.expressions import ColumnRef, Expression
from ksql_spark.formats import json_serde
from ksql_spark.functions.lowering import lower
from ksql_spark.metastore.serdes import stored_serdes
from ksql_spark.metastore.sources import DataSource
from ksql_spark.schema import LATEST_TIME_MS, ROWTIME, WINDOWEND, WINDOWSTART, Column
from ksql_spark.spark.frames import quoted
from ksql_spark.spark.sources import event_time
from ksql_spark.types import BYTES, STRING

#: the bytes of a stored row's key
STORED_KEY = ColumnRef("__stored_key", BYTES)


def evaluate(session: SparkSession, expressions: Sequence[Expression]) -> list[Any]:
    """The values of constant expressions, in the formats' Python form (see formats.base).

    They travel as JSON, because every type already has a JSON encoder and decoder.
    """
    columns = [Column(f"C{i}", e.type) for i, e in enumerate(expressions)]
    json = json_serde(columns)
    inner = ", ".join(f"{lower(e)} AS {quoted(c.name)}" for e, c in zip(expressions, columns, strict=True))
    encoded = json.encode_sql([quoted(c.name) for c in columns])
    (row,) = session.sql(f"SELECT {encoded} AS row FROM (SELECT {inner})").collect()
    values = json.decode(bytes(row[0]))
    assert values is not None
    return values


StoredRow: TypeAlias = tuple[bytes, bytes, int, "int | None", "int | None"]


def values(rows: Sequence[StoredRow]) -> str:
    """Spark SQL text: stored rows as a relation (__key, __value, __time, __start, __end)."""
    texts = (
        f"(X'{key.hex()}', X'{value.hex()}', {time}L, {_long(start)}, {_long(end)})"
        for key, value, time, start, end in rows
    )
    return f"VALUES {', '.join(texts)} AS t(__key, __value, __time, __start, __end)"


@dataclass(frozen=True)
class DecodedRows:
    """The conversion of stored rows to a table's columns, as Spark SQL text.

    Args:
        parts: the first projection of stored rows.
        is_readable: a condition over ``parts``; rows that a format cannot read are dropped (reference §5.8).
        columns: name -> text over ``parts``, for the columns, ROWTIME, the window's bounds and STORED_KEY.
    """

    parts: tuple[str, ...]
    is_readable: str
    columns: Mapping[str, str]

    @classmethod
    def of(cls, source: DataSource) -> DecodedRows:
        """The rows of ``source``."""
        parts = ["__key", "__time", "__start", "__end"]
        readable = ["true"]
        columns = {ROWTIME: "__time", WINDOWSTART: "__start", WINDOWEND: "__end", STORED_KEY.name: "__key"}
        for column, serde in zip(("__key", "__value"), stored_serdes(source), strict=True):
            if serde.columns:
                parts.append(f"{serde.decode_sql(serde.or_null_sql(column))} AS {column}_row")
                readable.append(f"{column}_row IS NOT NULL")
                columns |= {c.name: f"{column}_row.{quoted(c.name)}" for c in serde.columns}
        time = source.time_column
        if time is not None and time.type == STRING:  # views have all other times
            columns[ROWTIME] = event_time(source, columns[time.name])
            readable.append(f"{columns[ROWTIME]} BETWEEN 0 AND {LATEST_TIME_MS}")
        return cls(tuple(parts), " AND ".join(readable), columns)


def _long(value: int | None) -> str:
    return "cast(NULL AS bigint)" if value is None else f"{value}L"
