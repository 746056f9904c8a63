"""SQL types as Arrow types, and what all lake tables do with Arrow's rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pyarrow as pa
import pyarrow.compute as pc

from ksql_spark.functions.spark_text import bounded
from ksql_spark.metastore.sinks import PartitionColumn
from ksql_spark.schema import Column
from ksql_spark.types import Array, Decimal, Map, Primitive, SqlType, Struct

_PRIMITIVES = {
    "BOOLEAN": pa.bool_(),
    "INTEGER": pa.int32(),
    "BIGINT": pa.int64(),
    "DOUBLE": pa.float64(),
    "STRING": pa.string(),
    "BYTES": pa.binary(),
    "DATE": pa.date32(),
    "TIME": pa.time32("ms"),
    "TIMESTAMP": pa.timestamp("us", "UTC"),
    "VARIANT": pa.string(),  # its JSON
}


def arrow_type(type_: SqlType, time: pa.DataType | None = None) -> pa.DataType:
    """The Arrow type of ``type_``; ``time`` stands for TIME."""
    match type_:
        case Primitive("TIME") if time is not None:
            return time
        case Primitive(name):
            return _PRIMITIVES[name]
        case Decimal():
            fitting = bounded(type_)
            return pa.decimal128(fitting.precision, fitting.scale)
        case Array(element):
            return pa.list_(arrow_type(element, time))
        case Map(key, value):
            return pa.map_(arrow_type(key, time), arrow_type(value, time))
        case Struct(fields):
            return pa.struct([pa.field(f.name, arrow_type(f.type, time)) for f in fields])
    raise ValueError(f"no Arrow type for {type_}")


def schema_of(columns: Iterable[Column], time: pa.DataType | None = None) -> pa.Schema:
    """The Arrow schema of columns; ``time`` stands for TIME."""
    return pa.schema([pa.field(column.name, arrow_type(column.type, time)) for column in columns])


#: a part of PARTITION_BY -> the type of its column, and its values
_TRANSFORMS: dict[str, tuple[pa.DataType, Callable[[pa.ChunkedArray], pa.ChunkedArray]]] = {
    "year": (pa.int32(), lambda values: pc.year(values).cast(pa.int32())),
    "month": (pa.string(), lambda values: pc.strftime(values, format="%Y-%m")),
    "day": (pa.date32(), lambda values: values.cast(pa.date32())),
    "hour": (pa.string(), lambda values: pc.strftime(values, format="%Y-%m-%d-%H")),
}


def with_partitions(schema: pa.Schema, partition_by: Iterable[PartitionColumn]) -> pa.Schema:
    """``schema`` with the columns that PARTITION_BY computes."""
    for part in partition_by:
        if part.transform is not None:
            schema = schema.append(pa.field(part.name, _TRANSFORMS[part.transform][0]))
    return schema


def partitioned(rows: pa.Table, partition_by: Iterable[PartitionColumn]) -> pa.Table:
    """``rows`` with the columns that PARTITION_BY computes."""
    for part in partition_by:
        if part.transform is not None:
            values = rows[part.column]
            if pa.types.is_date(values.type):
                values = values.cast(pa.timestamp("s"))
            rows = rows.append_column(part.name, _TRANSFORMS[part.transform][1](values))
    return rows
