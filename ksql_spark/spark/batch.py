"""Runs a batch query (plan.queries.Job) as one Spark query over existing rows.

Each logical node becomes a frame with exactly the node's columns; Catalyst optimizes the whole.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame, SparkSession, Window, WindowSpec
from pyspark.sql import functions as F

from ksql_spark import __version__
from ksql_spark.errors import KsqlError
from ksql_spark.expressions import Expression
from ksql_spark.formats import json_serde
from ksql_spark.functions import registry
from ksql_spark.functions.lowering import lower, lower_condition
from ksql_spark.functions.spark_text import has_own_order, spark_type
from ksql_spark.metastore.sources import DataSource
from ksql_spark.plan import clauses, nodes, trees
from ksql_spark.plan.clauses import AggregateCall, FramedCall, NamedExpression, SortKey
from ksql_spark.plan.nodes import Node
from ksql_spark.schema import NULL_VALUE, ROWTIME, WINDOWEND, WINDOWSTART, Column, Schema
from ksql_spark.spark import aggregate_calls, jvm, sources
from ksql_spark.spark.evaluate import STORED_KEY, DecodedRows, StoredRow, values
from ksql_spark.spark.frames import exploded, named, quoted, union
from ksql_spark.spark.session import new_session
from ksql_spark.types import contains_map

#: the number of rows from which on more than one task pays off
_MANY_ROWS = 100_000
#: the largest LIMIT and OFFSET that Spark accepts
_MAX_LIMIT = 2**31 - 1
_RANKINGS: Mapping[str, Callable[[], SparkColumn]] = {
    nodes.ROW_NUMBER: F.row_number,
    nodes.RANK: F.rank,
    nodes.DENSE_RANK: F.dense_rank,
}
_JOINS = {
    "INNER": "inner",
    "LEFT": "left",
    "RIGHT": "right",
    "FULL": "full",
    "SEMI": "left_semi",
    "ANTI": "left_anti",
}


def session_for(session: SparkSession, root: Node, row_count: int) -> SparkSession:
    """The session for a batch query that reads about ``row_count`` rows: a new one if its settings differ."""
    settings = {}
    if row_count >= _MANY_ROWS:
        tasks = str(os.cpu_count() or 1)
        settings = {"spark.sql.shuffle.partitions": tasks, "spark.sql.files.minPartitionNum": tasks}
    if _has_single_partition(root):
        # sort aggregation has one state per group; hash aggregation may split a group when its map is full
        settings["spark.sql.execution.useObjectHashAggregateExec"] = "false"
    if not settings:
        return session
    own = new_session(session)
    for name, value in settings.items():
        own.conf.set(name, value)
    return own


def _has_single_partition(node: Node) -> bool:
    here = isinstance(node, nodes.Aggregate) and _is_single_partition(node)
    return here or any(_has_single_partition(child) for child in trees.children(node))


def _is_single_partition(node: nodes.Aggregate) -> bool:
    """Whether one state must take all rows of a group: they are ordered, or states cannot be merged."""
    specs = (registry.require(call.function) for call in node.aggregates)
    return isinstance(node.child, nodes.Sort) or not all(spec.merge for spec in specs)


# ---- sources -----------------------------------------------------------------------------------------


def table(
    session: SparkSession,
    relation: nodes.Source,
    rows: Sequence[StoredRow] | Path,
    *,
    are_deletions: bool = False,
) -> DataFrame:
    """A table's rows.

    Args:
        session: the query's session.
        relation: the table, with its alias and exposed columns.
        rows: (key bytes, value bytes, ROWTIME ms, window start ms, window end ms), a few thousand at most; or
            a CSV file of such rows, with the bytes in hexadecimal digits.
        are_deletions: the rows have been deleted: their values are NULL.
    """
    source = relation.source
    if isinstance(rows, Path):
        schema = "k string, v string, __time bigint, __start bigint, __end bigint"
        raw = session.read.schema(schema).csv(str(rows))
        # an empty field reads as NULL
        raw = raw.selectExpr(
            "coalesce(unhex(k), X'') AS __key", "coalesce(unhex(v), X'') AS __value",
            "__time", "__start", "__end",
        )  # fmt: skip
    elif rows:
        raw = session.sql(f"SELECT * FROM {values(rows)}")
    else:
        raw = session.sql(f"SELECT * FROM {values([(b'', b'', 0, None, None)])} WHERE false")
    decoded = DecodedRows.of(replace(source, schema=Schema(source.schema.key)) if are_deletions else source)
    texts = {c.name: f"cast(NULL AS {spark_type(c.type)})" for c in source.schema.columns}
    texts |= decoded.columns
    prefix = f"{relation.alias}_" if relation.prefixed else ""
    names = [*(c.name for c in source.schema.columns), *relation.exposed]
    columns = [named(texts[name], prefix + name) for name in names]
    return raw.selectExpr(*decoded.parts).filter(decoded.is_readable).selectExpr(*columns)


def stream(
    session: SparkSession,
    consumer: Mapping[str, str],
    relation: nodes.Source,
    ends: Mapping[int, int] | None,
    ranges: sources.BatchRanges,
) -> DataFrame:
    """Return a stream's rows, from ``ranges`` up to ``ends`` (partition -> offset; None: all)."""
    frame = _records(session, consumer, relation, ends, ranges).filter(f"NOT {NULL_VALUE}")
    return frame.selectExpr(*(quoted(c.name) for c in relation.schema.columns))


def changes(
    session: SparkSession,
    consumer: Mapping[str, str],
    relation: nodes.Source,
    ends: Mapping[int, int],
    deletes: str,
) -> DataFrame:
    """Return a table's changes like rows of ``stream``; the column ``deletes`` is true for deletions."""
    frame = _records(session, consumer, relation, ends, sources.WHOLE_TOPICS)
    columns = (quoted(c.name) for c in relation.schema.columns)
    return frame.selectExpr(*columns, f"{NULL_VALUE} AS {quoted(deletes)}")


def _records(
    session: SparkSession,
    consumer: Mapping[str, str],
    relation: nodes.Source,
    ends: Mapping[int, int] | None,
    ranges: sources.BatchRanges,
) -> DataFrame:
    source = relation.source
    archive = ranges.archives.get(source.topic)
    raw = sources.read(session, consumer, source.topic, ranges.starts, ends=ends, archive=archive)
    # without a prefix, an exposed column is the hidden one of that name, which is there anyway
    prefix, exposed = (f"{relation.alias}_", relation.exposed) if relation.prefixed else ("", ())
    return sources.decode(raw, source, prefix, exposed)


# ---- nodes --------------------------------------------------------------------------------------------


def build(root: Node, relations: Iterable[DataFrame], setting: Callable[[str], Any]) -> DataFrame:
    """The frame of ``root``.

    Args:
        root: the last node of a batch query.
        relations: the frames of ``plan.trees.relations(root)``, in that order.
        setting: effective value of a property, by name.

    Raises:
        KsqlError: NOT_DONE_YET for an aggregate that batch queries do not support yet.
    """
    return _Builder(iter(relations), setting).build(root)


class _Builder:
    def __init__(self, relations: Iterator[DataFrame], setting: Callable[[str], Any]) -> None:
        self._relations = relations
        self._setting = setting

    def build(self, node: Node) -> DataFrame:
        match node:
            case nodes.Source():
                return next(self._relations)
            case nodes.Filter(child, predicate):
                return self.build(child).filter(lower_condition(predicate))
            case nodes.Project(child, keys, values):
                return self.build(child).selectExpr(*_all((*keys, *values)))
            case nodes.FlatMap(child, functions):
                return exploded(self.build(child), _all(functions), [f.name for f in functions])
            case nodes.BatchJoin(left, right, join, condition):
                sides = self.build(left), self.build(right)
                return sides[0].join(sides[1], F.expr(lower_condition(condition)), _JOINS[join])
            case nodes.BatchOver():
                return self._over(node)
            case nodes.FirstWithin():
                return self._first_within(node)
            case nodes.Aggregate():
                return self._aggregate(node)
            case nodes.UnionAll(children):
                return union(map(self.build, children))
            case nodes.SetOperation(left, right, operator):
                sides = self.build(left), self.build(right)
                if operator == nodes.UNION:
                    return sides[0].unionAll(sides[1]).distinct()
                return (
                    sides[0].subtract(sides[1]) if operator == nodes.EXCEPT else sides[0].intersect(sides[1])
                )
            case nodes.Distinct(child):
                return self.build(child).distinct()
            case nodes.Sort(child, by):
                return self.build(child).orderBy(*map(_sort_key, by))
            case nodes.Limit(child, limit, offset):
                frame = self.build(child)
                frame = frame.offset(min(offset, _MAX_LIMIT)) if offset else frame
                return frame if limit is None else frame.limit(min(limit, _MAX_LIMIT))
        raise TypeError(f"no batch frame for {type(node).__name__}")

    def _over(self, node: nodes.BatchOver) -> DataFrame:
        group = Window.partitionBy(*(F.expr(lower(key)) for key in node.keys))
        if node.order:
            group = group.orderBy(*map(_sort_key, node.order))
        results = []
        for framed in node.calls:
            call = framed.call
            if call.function in _RANKINGS:
                column = _RANKINGS[call.function]().over(group)
            else:
                text = self._text(call, [lower(argument) for argument in call.arguments], True)
                column = F.expr(text).over(_frame(group, framed, node.is_range) if node.order else group)
            results.append(column.cast(spark_type(call.type)).alias(call.name))
        return self.build(node.child).select("*", *results)

    def _first_within(self, node: nodes.FirstWithin) -> DataFrame:
        keys = [named(lower(key), f"__key_{i}") for i, key in enumerate(node.keys)]
        order = f"struct({lower(node.number)} AS n, {lower(node.time)} AS t, {lower(node.stream_time)} AS at)"
        row = f"struct({lower(node.number)} AS n, struct(*) AS row)"
        rows = self.build(node.child).selectExpr(f"{order} AS __at", f"{row} AS __row", *keys)
        groups = rows.groupBy(*(f"__key_{i}" for i, _ in enumerate(keys))).agg(
            F.expr("array_sort(collect_list(__at)) AS __at"), F.expr("collect_list(__row) AS __rows")
        )
        # a row that came too late is over at once: the next row of its key is a first one again
        firsts = (
            "aggregate(__at, cast(array() AS array<struct<n: bigint, until: bigint>>), (firsts, r) -> "
            "if(r.at <= try_element_at(firsts, -1).until, firsts, "
            f"concat(firsts, array(struct(r.n AS n, r.t + {node.within_ms}L AS until))))).n AS __firsts"
        )
        each = groups.selectExpr(firsts, "explode(__rows) AS __row")
        return each.selectExpr("__row.row.*", f"array_contains(__firsts, __row.n) AS {quoted(node.name)}")

    def _aggregate(self, node: nodes.Aggregate) -> DataFrame:
        arrival = node.child.by if isinstance(node.child, nodes.Sort) else ()
        below = self.build(node.child.child if isinstance(node.child, nodes.Sort) else node.child)
        groups = [named(lower(g.expression), f"__key_{i}") for i, g in enumerate(node.group_by)]
        columns, results = list(groups), []
        single_partition = _is_single_partition(node)
        for i, call in enumerate(node.aggregates):
            arguments = aggregate_calls.arguments(call, i, lambda e, _: lower(e), self._setting, {}, columns)
            results.append(named(self._call(call, arguments, single_partition), call.name))
        if single_partition:
            # one partition needs no exchange and its rows are sorted by group, so Spark keeps their order
            orders = [named(lower(key.expression), f"__order_{i}") for i, key in enumerate(arrival)]
            sorted_by = [
                f"__key_{i}" for i, g in enumerate(node.group_by) if not contains_map(g.expression.type)
            ]
            sorted_by += [f"__order_{i}" for i, _ in enumerate(orders)]
            rows = below.coalesce(1).selectExpr(*columns, *orders, "1 AS __row")
            rows = rows.sortWithinPartitions(*sorted_by) if sorted_by else rows
        else:
            rows = below.selectExpr(*columns, "1 AS __row")
        keys = [F.col(f"__key_{i}").alias(g.name) for i, g in enumerate(node.group_by)]
        if not results:  # GROUP BY alone
            return rows.select(*keys).distinct()
        grouped = rows.groupBy(*keys).agg(*map(F.expr, results))
        has_filter = any(call.condition is not None for call in node.aggregates)
        return jvm.with_aggregate_filters(grouped) if has_filter else grouped

    def _call(self, call: AggregateCall, arguments: list[str], single_partition: bool) -> str:
        return f"cast({self._text(call, arguments, single_partition)} AS {spark_type(call.type)})"

    def _text(self, call: AggregateCall, arguments: list[str], single_partition: bool) -> str:
        spec = registry.require(call.function)
        if call.distinct and call.function == "COUNT" and not single_partition:
            # unlike the streams' lowering, this keeps no array of values, but it merges states of all calls
            return f"count(DISTINCT {arguments[0]})"
        lowering = spec.spark_distinct if call.distinct else spec.spark
        if lowering is None:
            what = f"{spec.name}(DISTINCT ...)" if call.distinct else f"The function {spec.name}"
            raise KsqlError("NOT_DONE_YET", what=what, version=__version__)
        return lowering(arguments, [a.type for a in call.arguments])


def _all(columns: Iterable[NamedExpression]) -> list[str]:
    return [named(lower(c.expression), c.name) for c in columns]


def _frame(group: WindowSpec, framed: FramedCall, is_range: bool) -> WindowSpec:
    first = Window.unboundedPreceding if framed.first is None else -framed.first
    return (group.rangeBetween if is_range else group.rowsBetween)(first, -framed.last)


def _sort_key(key: SortKey) -> Any:
    text = lower(key.expression)
    if has_own_order(key.expression.type):
        text = f"ksql.rank({text})"
    column = F.expr(text)
    if key.descending:
        return column.desc_nulls_first() if key.nulls_first else column.desc_nulls_last()
    return column.asc_nulls_first() if key.nulls_first else column.asc_nulls_last()


# ---- rows in memory ----------------------------------------------------------------------------------

_HIDDEN = (ROWTIME, WINDOWSTART, WINDOWEND, STORED_KEY.name)


def evaluate_rows(
    session: SparkSession,
    source: DataSource,
    rows: Sequence[StoredRow],
    expressions: Sequence[Expression],
    predicate: Expression | None,
) -> list[list[Any]]:
    """The values of ``expressions``, a list for each of a table's stored rows that satisfies ``predicate``.

    Args:
        session: any session.
        source: the table.
        rows: (key bytes, value bytes, ROWTIME ms, window start ms, window end ms).
        expressions: over the table's columns, ROWTIME and the window's bounds; or STORED_KEY.
        predicate: a condition over the same columns; None: all rows.
    """
    if not rows:
        return []
    relation = nodes.Source(source, source.name, exposed=_HIDDEN)
    root: Node = relation if predicate is None else nodes.Filter(relation, predicate)
    columns = [Column(f"C{i}", e.type) for i, e in enumerate(expressions)]
    items = tuple(clauses.NamedExpression(c.name, e) for c, e in zip(columns, expressions, strict=True))
    frame = build(nodes.Project(root, (), items), [table(session, relation, rows)], lambda name: None)
    return list(results(frame, columns, at_once=True))


# ---- results -----------------------------------------------------------------------------------------


def results(frame: DataFrame, columns: Sequence[Column], *, at_once: bool = False) -> Iterator[list[Any]]:
    """The frame's rows in order, in the formats' Python form (see formats.base), as Spark produces them.

    Rows travel as JSON, because every type already has a JSON encoder and decoder.

    Args:
        frame: the rows.
        columns: their columns, in order.
        at_once: fetch all of them, which takes no job if the inputs are in memory.
    """
    plain = [Column(f"C{i}", c.type) for i, c in enumerate(columns)]
    names = [c.name for c in plain]
    json = json_serde(plain)
    text = json.encode_sql([quoted(name) for name in names])
    encoded = frame.toDF(*names).selectExpr(f"{text} AS row")
    for record in encoded.collect() if at_once else encoded.toLocalIterator():
        decoded = json.decode(bytes(record[0]))
        if decoded is not None:
            yield decoded
