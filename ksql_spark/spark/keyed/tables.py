"""Builds operations on tables by their keys: WHERE, TTL, set operations, changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from pyspark.sql import DataFrame

from ksql_spark.expressions import columns_in
from ksql_spark.plan.nodes import SIGN, Changes, Expire, Filter, KeepUnchanged, SetOperation, Source
from ksql_spark.plan.operations import postfix
from ksql_spark.plan.trees import operands
from ksql_spark.schema import (
    NULL_VALUE,
    PSEUDO_COLUMNS,
    ROWOFFSET,
    ROWPARTITION,
    WINDOW_BOUNDS,
    WINDOWEND,
    WINDOWSTART,
    Column,
    Schema,
)
from ksql_spark.spark import sources
from ksql_spark.spark.frames import Built, Context, Transformations, named, quoted
from ksql_spark.spark.keyed.exchanges import packed_key
from ksql_spark.spark.keyed.operator import (
    Side,
    column_types,
    columns_ddl,
    key_ddl,
    operator,
    passed_through,
    signs,
    unpacked,
)
from ksql_spark.types import BIGINT


def rows_of_table(side: Side, schema: Schema) -> Side:
    """The rows of a table that have a key; some of its columns may be NULL, as in grouping sets."""
    has_key = " OR ".join(f"{quoted(c.name)} IS NOT NULL" for c in schema.key)
    return replace(side, frame=Transformations(side.frame).filter(has_key).frame())


def deleting(node: Filter, frame: DataFrame, context: Context) -> DataFrame:
    """A table whose rows that do not match are deletions (even of keys that were never there)."""
    row = [c.name for c in node.schema.columns]
    predicate = context.lower(node.predicate, "WhereFilter", "WHERE", row)
    deleted = f"({NULL_VALUE} OR NOT coalesce({predicate}, false))"
    columns = [quoted(c) for c in frame.columns if c != NULL_VALUE]
    return frame.selectExpr(*columns, named(deleted, NULL_VALUE))


def table_filter(node: Filter, inputs: Sequence[DataFrame], context: Context) -> Built:
    """WHERE on a table: a deletion only for a row that was passed on before (reference §6.2).

    Rows of a push query of one step keep the places of their records. It needs no state if conditions are on
    keys alone.
    """
    plan = context.stage.plan
    is_push = plan.output is not None and not plan.inner
    if is_push and columns_in(node.predicate) <= {c.name for c in node.schema.key} | WINDOW_BOUNDS.keys():
        row = [c.name for c in node.schema.columns]
        return Built(inputs[0].filter(context.lower(node.predicate, "WhereFilter", "WHERE", row)))
    frame = deleting(node, inputs[0], context)
    places = _places(node, frame) if is_push else []
    return _passed_on(node, frame, context, "tombstoneFilter", context.is_resumed, places=places, state={})


def expire(node: Expire, inputs: Sequence[DataFrame], context: Context) -> Built:
    """TTL of a table's rows (reference §6.16)."""
    state = {"TTL": f"{node.ttl_ms} ms"}
    return _passed_on(node, inputs[0], context, "expire", node.ttl_ms, state=state)


def keep_unchanged(node: KeepUnchanged, inputs: Sequence[DataFrame], context: Context) -> Built:
    """A table whose changes leave out columns (reference §5.9); rows have the places of their records."""
    assert isinstance(node.child, Source)
    source, prefix = node.child.source, f"{node.child.alias}_" if node.child.prefixed else ""
    places = _places(node, inputs[0])
    built = _passed_on(node, inputs[0], context, "keepUnchanged", places=places, state={})
    if not source.constraints:
        return built
    allowed = sources.allowed(source, prefix, context.log, has_place=False)
    return replace(built, frame=built.frame.filter(allowed))


def _places(node: Filter | KeepUnchanged, frame: DataFrame) -> list[str]:
    """The pseudo columns with the places of records that ``frame`` has beside the columns of ``node``."""
    there = frame.columns
    return [name for name in (ROWPARTITION, ROWOFFSET) if name in there and node.schema.find(name) is None]


def _passed_on(
    node: Filter | Expire | KeepUnchanged,
    frame: DataFrame,
    context: Context,
    name: str,
    *arguments: bool | int,
    state: Mapping[str, str],
    places: Sequence[str] = (),
) -> Built:
    """A table's rows and deletions, by its key, through an operator that leaves rows as they are.

    ``places``: the pseudo columns of its records that rows keep.
    """
    side = Side.of(frame, Schema((*node.schema.columns, *(Column(n, PSEUDO_COLUMNS[n]) for n in places))))
    bounds = [] if node.window is None else [WINDOWSTART, WINDOWEND]
    keys = [*(quoted(c.name) for c in node.schema.key), *bounds]
    keys_ddl = key_ddl([*(c.type for c in node.schema.key), *(BIGINT for _ in bounds)])
    records = rows_of_table(side, node.schema).records(0, keys, context, packs_nulls=True)
    done = operator(context, name, [records], *arguments, state={"key": keys_ddl, **state}, tables=[side])
    done.select(
        named(unpacked("k", keys_ddl), "__k"),
        named(unpacked("l", side.ddl), "__l"),
        *passed_through(context),
        named("l IS NULL", NULL_VALUE),
    )
    names = [*(c.name for c in node.schema.key), *bounds]
    columns = [named(f"__k.c{i}", name) for i, name in enumerate(names)]
    passed = passed_through(context)
    names_of_values = [*(c.name for c in node.schema.value), *(name for name in places if name not in passed)]
    columns += [named(f"__l.{quoted(name)}", name) for name in names_of_values]
    return done.select(*columns, *passed, NULL_VALUE).built()


def set_operation(node: SetOperation, inputs: Sequence[DataFrame], context: Context) -> Built:
    """UNION, EXCEPT and INTERSECT of tables (reference §6.18): the rows of each key are compared."""
    records, branches = [], operands(node)
    for number, (branch, frame) in enumerate(zip(branches, inputs, strict=True)):
        side = rows_of_table(Side.of(frame, branch.schema), branch.schema)
        keys = [quoted(c.name) for c in branch.schema.key]
        # the numbers that KeyedOperator.java has for other rows are left out
        records.append(side.records(number + 2 * (number > 1), keys, context, packs_nulls=True))
    row = columns_ddl(column_types(node.schema))
    state = {
        "key": key_ddl([c.type for c in branches[0].schema.key]),
        "row": row,
        "rows": "by branch",
    }
    done = operator(context, "setOperation", records, list(postfix(node)), state=state)
    sign = ["sign"] if context.says is not None else []
    is_deleted = named("l IS NULL", NULL_VALUE)
    done.select(named(unpacked("k", row), "__row"), *passed_through(context), is_deleted, *sign)
    texts = {c.name: f"__row.{quoted(c.name)}" for c in node.schema.columns}
    columns = [named(text, name) for name, text in texts.items()]
    sign = signs(context, texts, texts)  # equal rows have equal keys: none replaces another
    return done.select(*columns, *passed_through(context), NULL_VALUE, *sign).built()


def table_changes(node: Changes, inputs: Sequence[DataFrame], context: Context) -> Built:
    """Old rows to retract and new rows to add; the sign (see the node) is the last column."""
    side, passed = Side.of(inputs[0], node.schema), passed_through(context)
    bounds = [] if node.child.window is None else [WINDOWSTART, WINDOWEND]
    if node.is_direct:
        columns = [quoted(c.name) for c in node.carried.columns]
        return Built(rows_of_table(side, node.schema).frame.selectExpr(*columns, *passed, NULL_VALUE))
    keys = [*(quoted(c.name) for c in node.schema.key), *bounds]
    keys_ddl = key_ddl([*(c.type for c in node.schema.key), *(BIGINT for _ in bounds)])
    state = {"key": keys_ddl, "row": side.ddl}
    records = rows_of_table(side, node.schema).records(0, keys, context, packs_nulls=True)
    rows = operator(context, "tableChanges", [records], state=state, tables=[side])
    shown = bounds if node.has_bounds else []
    hidden = [*shown, *passed, NULL_VALUE]
    key = unpacked("k", keys_ddl)
    rows.select(
        named(unpacked("l", side.ddl), "__row"),
        named(unpacked("r", side.ddl), "__next"),
        named("cast(ws AS int)", SIGN),
        *(named(f"{key}.c{len(keys) - 2 + bounds.index(name)}", name) for name in shown),
        *passed,
        named("false", NULL_VALUE),
    )
    group = packed_key(node.group, context)
    both = ["__row", "__next", quoted(SIGN), *hidden]
    done = rows.frame().selectExpr("*", "__row.*").selectExpr(*both, named(group, "__group"))
    done = done.selectExpr("*", "__next.*").selectExpr(*both, "__group", named(group, "__next_group"))
    is_replaced = "__next IS NOT NULL AND __group = __next_group"
    done = done.selectExpr("__row", named(f"if({is_replaced}, -2, {quoted(SIGN)})", SIGN), *hidden)
    return Built(done.selectExpr("__row.*", *shown, quoted(SIGN), *passed, NULL_VALUE), rows.layout)
