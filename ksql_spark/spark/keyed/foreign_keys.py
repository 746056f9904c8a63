"""Builds the three parts of a join of tables by a foreign key (ForeignKeyJoin.java)."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame

from ksql_spark.plan.nodes import ForeignKeyAnswer, ForeignKeyJoin, ForeignKeySubscribe
from ksql_spark.schema import (
    NULL_VALUE,
    ROWPARTITION,
    ROWTIME,
)
from ksql_spark.spark.frames import Built, Context, named, quoted
from ksql_spark.spark.keyed.operator import (
    PACKED_HEADERS,
    PASSED_THROUGH,
    Side,
    column_types,
    columns_ddl,
    key_ddl,
    operator,
    unpacked,
)


def foreign_key_subscribe(node: ForeignKeySubscribe, inputs: Sequence[DataFrame], context: Context) -> Built:
    """See ForeignKeyJoin.java, Subscribe."""
    side = Side.of(inputs[0], node.child.schema)
    keys = ", ".join(f"'c{i}', {quoted(c.name)}" for i, c in enumerate(node.child.schema.key))
    foreign = context.lower_silently(node.foreign_key)
    row = f"ksql.pack(struct({', '.join(map(quoted, side.types))}))"
    frame = side.frame.selectExpr(
        named(f"ksql.pack_key(named_struct({keys}))", "k"),
        named(f"if(({foreign}) IS NULL, X'', ksql.pack_key(named_struct('c0', {foreign})))", "f"),
        named(row, "v"),
        named(ROWTIME, "ts"),
        named(PACKED_HEADERS, "h"),
        NULL_VALUE,
        *([ROWPARTITION] if context.tasks.by_partition else []),
    )
    records = frame.selectExpr(
        named(context.task("k"), "task"),
        "k",
        "0 AS side",
        "ts",
        f"if({NULL_VALUE}, NULL, concat(cast(length(f) AS binary), f, v)) AS v",
        "h",
    )
    state = {
        "key": key_ddl([c.type for c in node.child.schema.key]),
        "foreign key": key_ddl([node.foreign_key.type]),
        "row": side.ddl,
    }
    done = operator(context, "foreignKeySubscribe", [records], node.join == "LEFT", state=state)
    return done.select("k AS K", "l AS V", *PASSED_THROUGH, named("false", NULL_VALUE)).built()


def _messages(frame: DataFrame, context: Context) -> DataFrame:
    """The messages between two parts of a foreign-key join, as a keyed operator's input."""
    task = named(context.task("K"), "task")
    return frame.selectExpr(
        task, "K AS k", "0 AS side", named(ROWTIME, "ts"), "V AS v", named(PACKED_HEADERS, "h")
    )


def foreign_key_answer(node: ForeignKeyAnswer, inputs: Sequence[DataFrame], context: Context) -> Built:
    """See ForeignKeyJoin.java, Answer."""
    requests = _messages(inputs[0], context)
    side = Side.of(inputs[1], node.right.schema)
    right = side.records(1, [context.lower_silently(node.right_key)], context)
    state = {"key": key_ddl([node.right_key.type]), "right": side.ddl}
    done = operator(context, "foreignKeyAnswer", [requests, right], node.join == "LEFT", state=state)
    value = "concat(cast(length(l) AS binary), l, coalesce(r, X''))"
    return done.select("k AS K", named(value, "V"), *PASSED_THROUGH, named("false", NULL_VALUE)).built()


def foreign_key_latest(node: ForeignKeyJoin, inputs: Sequence[DataFrame], context: Context) -> Built:
    """See ForeignKeyJoin.java, Latest."""
    keys = node.bound.left.schema.key
    keys_ddl = key_ddl([c.type for c in keys])
    done = operator(context, "foreignKeyLatest", [_messages(inputs[0], context)], state={"key": keys_ddl})
    left, right = (column_types(side.schema) for side in (node.bound.left, node.bound.right))
    done.select(
        named(unpacked("k", keys_ddl), "__k"),
        named(unpacked("l", columns_ddl(left)), "__l"),
        named(unpacked("r", columns_ddl(right)), "__r"),
        *PASSED_THROUGH,
        named("l IS NULL", NULL_VALUE),
    )
    names = {c.name: f"__k.c{i}" for i, c in enumerate(keys)}
    columns = []
    for column in node.schema.columns:
        side = "__l" if column.name in left else "__r"
        columns.append(named(names.get(column.name, f"{side}.{quoted(column.name)}"), column.name))
    return done.select(*columns, *PASSED_THROUGH, NULL_VALUE).built()
