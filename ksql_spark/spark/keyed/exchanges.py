"""Packs rows for internal topics, and unpacks them."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame

from ksql_spark.expressions import Expression
from ksql_spark.metastore.sources import TABLE
from ksql_spark.plan.nodes import Exchange
from ksql_spark.schema import (
    FORWARDED_HEADERS,
    NULL_KEY,
    NULL_VALUE,
    ROWPARTITION,
    WINDOWEND,
    WINDOWSTART,
    Schema,
)
from ksql_spark.spark import frames, sources
from ksql_spark.spark.frames import Context, Transformations, named, quoted
from ksql_spark.spark.keyed.operator import (
    PASSED_THROUGH,
    column_types,
    columns_ddl,
    key_ddl,
    passed_through,
    unpacked,
)


def _has_null_key(schema: Schema) -> bool:
    """Whether packed rows have NULL_KEY: with one key column, that column shows if the key was NULL."""
    return len(schema.key) > 1


def packed_key(key: Sequence[Expression], context: Context) -> str:
    """Text: the bytes of a key of an internal topic."""
    return frames.packed_key(map(context.lower_silently, key)) if key else "X''"


def pack(node: Exchange, frame: DataFrame, context: Context) -> DataFrame:
    """Rows packed for an internal topic: columns K and V as bytes."""
    key = packed_key(node.key, context)
    names = [quoted(c.name) for c in node.carried.columns]
    if node.window is not None:
        names += [WINDOWSTART, WINDOWEND]
    if _has_null_key(node.schema):
        names.append(NULL_KEY if NULL_KEY in frame.columns else named("false", NULL_KEY))
    row = f"ksql.pack(struct({', '.join(names)}))"
    return frame.selectExpr(named(key, "K"), named(row, "V"), *passed_through(context), NULL_VALUE)


def unpack(node: Exchange, frame: DataFrame) -> DataFrame:
    """The rows that ``pack`` wrote to an internal topic."""
    is_table = node.kind == TABLE
    ddl = columns_ddl(column_types(node.carried))
    bounds = [WINDOWSTART, WINDOWEND] if node.window is not None else []
    ddl += "".join(f", {b} bigint" for b in bounds)
    null_key = []
    if _has_null_key(node.schema):
        ddl += f", {quoted(NULL_KEY)} boolean"
        null_key = [] if is_table else [named(f"__v.{NULL_KEY}", NULL_KEY)]
    keys = node.schema.key if is_table else ()
    hidden = [*PASSED_THROUGH, NULL_VALUE, ROWPARTITION]
    headers = f"filter({FORWARDED_HEADERS}, h -> h.key <> '{sources.STREAM_TIME_HEADER}')"
    own = [named(headers, FORWARDED_HEADERS) if name == FORWARDED_HEADERS else name for name in hidden]
    parts = [named(unpacked("V", ddl), "__v"), *own]
    if keys:
        parts.append(named(unpacked("K", key_ddl([c.type for c in keys])), "__k"))
    columns = [named(f"__k.c{i}", c.name) for i, c in enumerate(keys)]
    key_names = {c.name for c in keys}
    columns += [
        named(f"__v.{quoted(c.name)}", c.name) for c in node.carried.columns if c.name not in key_names
    ]
    columns += [named(f"__v.{b}", b) for b in bounds]
    return Transformations(frame).select(*parts).select(*columns, *null_key, *hidden).frame()
