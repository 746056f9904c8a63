"""Runs a batch query (plan.queries.Job) as one Spark query over existing rows.

Each logical node becomes the text of a query with exactly the node's columns; Catalyst optimizes the whole.
"""

from __future__ import annotations

import itertools
import os
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from pyspark.sql import DataFrame, SparkSession

from ksql_spark import __version__
from ksql_spark.errors import KsqlError
from ksql_spark.expressions import ColumnRef, Expression, Literal, walk
from ksql_spark.formats import json_serde
from ksql_spark.functions import registry
from ksql_spark.functions.lowering import lower, lower_condition
from ksql_spark.functions.spark_text import has_own_order, spark_type
from ksql_spark.metastore.sources import DataSource
from ksql_spark.plan import clauses, nodes, trees
from ksql_spark.plan.clauses import AggregateCall, FramedCall, NamedExpression, SortKey
from ksql_spark.plan.nodes import SET_NUMBER, Node
from ksql_spark.schema import NULL_VALUE, ROWTIME, WINDOWEND, WINDOWSTART, Column, Schema
from ksql_spark.spark import aggregate_calls, sources
from ksql_spark.spark.evaluate import STORED_KEY, DecodedRows, StoredRow, values
from ksql_spark.spark.frames import Transformations, named, quoted
from ksql_spark.spark.session import new_session
from ksql_spark.types import INTEGER, contains_map

#: the number of rows from which on more than one task pays off
_MANY_ROWS = 100_000
#: the largest LIMIT and OFFSET that Spark accepts
_MAX_LIMIT = 2**31 - 1


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
    return Transformations(raw).select(*decoded.parts).filter(decoded.is_readable).select(*columns).frame()


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


def build(
    session: SparkSession, root: Node, relations: Iterable[DataFrame], setting: Callable[[str], Any]
) -> DataFrame:
    """The frame of ``root``: one text in Spark SQL.

    Args:
        session: the query's session.
        root: the last node of a batch query.
        relations: the frames of ``plan.trees.relations(root)``, in that order.
        setting: effective value of a property, by name.

    Raises:
        KsqlError: NOT_DONE_YET for an aggregate that batch queries do not support yet.
    """
    frames = list(relations)
    names = [f"ksql_{uuid.uuid4().hex}" for _ in frames]
    builder = _Builder(iter(names), setting)
    text = builder.query(root)
    try:
        for name, frame in zip(names, frames, strict=True):
            # Spark refuses LATERAL over expressions that it must compute once, as decoders are
            rows = frame.localCheckpoint(eager=False) if builder.is_lateral else frame
            rows.createOrReplaceTempView(name)
        return session.sql(text)
    finally:
        for name in names:  # the frame has their plans
            session.catalog.dropTempView(name)


class _Below(NamedTuple):
    """``FROM`` and the rows below a node, and all of its columns."""

    columns: str
    rows: str


class _Builder:
    """Texts of nodes. Only SubQuery and LATERAL refer to rows around them, by the name of these rows."""

    def __init__(self, relations: Iterator[str], setting: Callable[[str], Any]) -> None:
        self._relations = relations
        self._setting = setting
        #: values of the rows around a sub-query, and sub-queries -> their texts
        self._computed: dict[Expression, str] = {}
        self._numbers = itertools.count()
        #: whether the query has a LATERAL
        self.is_lateral = False

    def query(self, node: Node) -> str:
        """``SELECT …`` with the columns of ``node``."""
        match node:
            case nodes.Source():
                return f"SELECT * FROM {next(self._relations)}"
            case nodes.Values():
                return self._values(node)
            case nodes.Filter(child, predicate):
                below = self._below(child, node)
                condition = lower_condition(predicate, self._computed)
                return f"SELECT {below.columns} {below.rows} WHERE {condition}"
            case nodes.Project(child, keys, values):
                below = self._below(child, node)
                return f"SELECT {', '.join(self._all((*keys, *values)))} {below.rows}"
            case nodes.FlatMap():
                return self._flat_map(node)
            case nodes.BatchJoin():
                return self._join(node)
            case nodes.BatchOver():
                return self._over(node)
            case nodes.FirstWithin():
                return self._first_within(node)
            case nodes.Aggregate():
                return self._aggregate(node)
            case nodes.UnionAll(children):
                return " UNION ALL ".join(f"({self.query(child)})" for child in children)
            case nodes.SetOperation(left, right, operator):
                return f"({self.query(left)}) {operator} ({self.query(right)})"
            case nodes.Distinct(child):
                return f"SELECT DISTINCT * {self._below(child, node).rows}"
            case nodes.Sort(child, by):
                below = self._below(child, node)
                return f"SELECT {below.columns} {below.rows} ORDER BY {', '.join(map(self._sort_key, by))}"
            case nodes.Limit(child, limit, offset):
                most = "" if limit is None else f" LIMIT {min(limit, _MAX_LIMIT)}"
                skipped = f" OFFSET {min(offset, _MAX_LIMIT)}" if offset else ""
                return f"SELECT * {self._below(child, node).rows}{most}{skipped}"
        raise TypeError(f"no batch query for {type(node).__name__}")

    def _below(self, child: Node, node: Node) -> _Below:
        """The rows of ``child``, with a column for each sub-query in the expressions of ``node``."""
        below = f"({self.query(child)})"
        inner = trees.sub_queries(node)
        if not inner:
            return _Below("*", f"FROM {below}")
        rows = f"__rows_{next(self._numbers)}"
        columns = _qualified(rows, [argument for each in inner for argument in each.arguments])
        names, texts = [], []
        for sub_query in inner:
            for parameter, argument in sub_query.given:
                self._computed[parameter] = lower(argument, {**self._computed, **columns})
            text = f"{sub_query.kind}({self.query(sub_query.root)})"
            if sub_query.kind == "IN":
                text = f"({', '.join(map(self._lower, sub_query.operands))}) {text}"
                if not isinstance(node, nodes.Filter):
                    # as a value, Spark's IN and NOT IN are false where they are NULL
                    text = f"CASE WHEN {text} THEN true WHEN NOT ({text}) THEN false END"
            names.append(f"__value_{next(self._numbers)}")
            texts.append(f"{text} AS {names[-1]}")
            self._computed[sub_query] = names[-1]
        values = f"SELECT *, {', '.join(texts)} FROM {below} AS {rows}"
        return _Below(f"* EXCEPT ({', '.join(names)})", f"FROM ({values})")

    def _lower(self, expression: Expression) -> str:
        return lower(expression, self._computed)

    def _all(self, columns: Iterable[NamedExpression]) -> list[str]:
        return [named(self._lower(c.expression), c.name) for c in columns]

    def _values(self, node: nodes.Values) -> str:
        if not node.columns:
            return "SELECT 1 AS __row"
        rows = (
            f"struct({', '.join(named(lower(v), c.name) for v, c in zip(row, node.columns, strict=True))})"
            for row in node.rows
        )
        # not UNION ALL: Spark's tasks cannot read some plans with unions of constants beside a sub-query
        return f"SELECT inline(array({', '.join(rows)}))"

    def _flat_map(self, node: nodes.FlatMap) -> str:
        """One row for each element of the longest array, NULL where another has ended.

        A NULL is as an empty array: a function that fails for one row leaves the rows of the others as they
        are.
        """
        names = [quoted(function.name) for function in node.functions]
        below = self._below(node.child, node)
        arrays = (
            f"coalesce({self._lower(f.expression)}, array()) AS {name}"
            for f, name in zip(node.functions, names, strict=True)
        )
        zipped = f"explode(arrays_zip({', '.join(names)})) AS __row"
        elements = ", ".join(f"__row.{name} AS {name}" for name in names)
        with_arrays = f"SELECT {below.columns}, {', '.join(arrays)} {below.rows}"
        rows = f"SELECT * EXCEPT ({', '.join(names)}), {zipped} FROM ({with_arrays})"
        return f"SELECT * EXCEPT (__row), {elements} FROM ({rows})"

    def _join(self, node: nodes.BatchJoin) -> str:
        left = f"FROM ({self.query(node.left)})"
        condition = f"ON {lower_condition(node.condition, self._computed)}"
        lateral = ""
        if node.parameters:
            rows, lateral, self.is_lateral = f"__rows_{next(self._numbers)}", "LATERAL ", True
            left += f" AS {rows}"
            for parameter, value in node.parameters:
                self._computed[parameter] = lower(value, {**self._computed, **_qualified(rows, [value])})
        return f"SELECT * {left} {node.join} JOIN {lateral}({self.query(node.right)}) {condition}"

    def _over(self, node: nodes.BatchOver) -> str:
        below = self._below(node.child, node)
        parts = [f"PARTITION BY {', '.join(map(self._lower, node.keys))}"] if node.keys else []
        parts += [f"ORDER BY {', '.join(map(self._sort_key, node.order))}"] if node.order else []
        any_order = [] if node.order else ["ORDER BY 1"]
        results = []
        for framed in node.calls:
            call, frame = framed.call, _frame(framed, node.is_range) if node.order else ""
            arguments = [self._lower(argument) for argument in call.arguments]
            if call.function in nodes.WINDOW_FUNCTIONS:
                more = [frame] if call.function in nodes.FRAMED else any_order
                text = f"{call.function}({', '.join(arguments)}) OVER ({' '.join([*parts, *more])})"
            else:
                window = f" OVER ({' '.join([*parts, frame])})"
                if call.condition is not None:
                    window = f" FILTER (WHERE {lower_condition(call.condition, self._computed)}){window}"
                # by names: functions in arguments are no aggregates
                names = [
                    text if isinstance(argument, Literal) else f"`__arg_{i}`"
                    for i, (argument, text) in enumerate(zip(call.arguments, arguments, strict=True))
                ]
                text = aggregate_calls.extended(self._text(call, names, True), window)
                for name, argument_text in zip(names, arguments, strict=True):
                    text = text.replace(name, argument_text)
            results.append(named(f"cast({text} AS {spark_type(call.type)})", call.name))
        return f"SELECT {below.columns}, {', '.join(results)} {below.rows}"

    def _first_within(self, node: nodes.FirstWithin) -> str:
        keys = [named(self._lower(key), f"__key_{i}") for i, key in enumerate(node.keys)]
        number, time, stream_time = map(self._lower, (node.number, node.time, node.stream_time))
        order = f"struct({number} AS n, {time} AS t, {stream_time} AS at) AS __at"
        row = f"struct({number} AS n, struct(*) AS row) AS __row"
        rows = f"SELECT {', '.join([order, row, *keys])} FROM ({self.query(node.child)})"
        by = f" GROUP BY {', '.join(f'__key_{i}' for i, _ in enumerate(keys))}" if keys else ""
        groups = (
            f"SELECT array_sort(collect_list(__at)) AS __at, collect_list(__row) AS __rows FROM ({rows}){by}"
        )
        # a row that came too late is over at once: the next row of its key is a first one again
        firsts = (
            "aggregate(__at, cast(array() AS array<struct<n: bigint, until: bigint>>), (firsts, r) -> "
            "if(r.at <= try_element_at(firsts, -1).until, firsts, "
            f"concat(firsts, array(struct(r.n AS n, r.t + {node.within_ms}L AS until))))).n AS __firsts"
        )
        each = f"SELECT {firsts}, explode(__rows) AS __row FROM ({groups})"
        is_first = f"array_contains(__firsts, __row.n) AS {quoted(node.name)}"
        return f"SELECT __row.row.*, {is_first} FROM ({each})"

    def _aggregate(self, node: nodes.Aggregate) -> str:
        arrival = node.child.by if isinstance(node.child, nodes.Sort) else ()
        below = self._below(node.child.child if isinstance(node.child, nodes.Sort) else node.child, node)
        columns = [named(self._lower(g.expression), f"__key_{i}") for i, g in enumerate(node.group_by)]
        single_partition = _is_single_partition(node)
        keys = [named(f"__key_{i}", g.name) for i, g in enumerate(node.group_by)]
        results = []
        for i, call in enumerate(node.aggregates):
            arguments = aggregate_calls.arguments(
                call, i, lambda e, _: self._lower(e), self._setting, {}, columns
            )
            text = self._text(call, arguments, single_partition)
            if call.condition is not None:
                text = aggregate_calls.extended(text, f" FILTER (WHERE __filter_{i})")
            results.append(named(f"cast({text} AS {spark_type(call.type)})", call.name))
        hint = order = ""
        if single_partition:
            # one partition needs no exchange and its rows are sorted by group, so Spark keeps their order
            columns += [named(self._lower(key.expression), f"__order_{i}") for i, key in enumerate(arrival)]
            sorted_by = [
                f"__key_{i}" for i, g in enumerate(node.group_by) if not contains_map(g.expression.type)
            ]
            sorted_by += [f"__order_{i}{_direction(key)}" for i, key in enumerate(arrival)]
            hint = "/*+ COALESCE(1) */ "
            order = f" SORT BY {', '.join(sorted_by)}" if sorted_by else ""
        by = f" GROUP BY {', '.join(f'__key_{i}' for i, _ in enumerate(node.group_by))}"
        rows = f"SELECT {hint}{', '.join([*columns, '1 AS __row'])} {below.rows}{order}"
        if not node.group_by:
            return f"SELECT {', '.join(results)} FROM ({rows})"
        text = f"SELECT {', '.join([*keys, *results])} FROM ({rows}){by}"
        if (total := _number_of_total(node)) is None:
            return text
        # Spark has no group for the set () if there are no rows, and SQL has one
        nulls = [named(f"cast(NULL AS {spark_type(g.expression.type)})", g.name) for g in node.group_by[:-1]]
        of_none = [*nulls, named(str(total), node.group_by[-1].name), *results]
        without = f"SELECT {', '.join(of_none)} FROM ({rows}) WHERE false"
        return f"{text} UNION ALL SELECT * FROM ({without}) WHERE NOT EXISTS (SELECT 1 FROM ({rows}))"

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

    def _sort_key(self, key: SortKey) -> str:
        text = self._lower(key.expression)
        if has_own_order(key.expression.type):
            text = f"ksql.rank({text})"
        return text + _direction(key)


def _number_of_total(node: nodes.Aggregate) -> int | None:
    """The number of the grouping set without columns (analyzer.select.grouping_sets), or None."""
    child = node.child.child if isinstance(node.child, nodes.Sort) else node.child
    if not isinstance(child, nodes.FlatMap) or not child.functions[0].name.startswith(SET_NUMBER):
        return None
    number = 2 ** (len(node.group_by) - 1) - 1
    return number if Literal(number, INTEGER) in walk(child.functions[0].expression) else None


def _qualified(rows: str, expressions: Iterable[Expression]) -> dict[Expression, str]:
    """The columns in ``expressions`` as those of ``rows``."""
    columns = (part for each in expressions for part in walk(each) if isinstance(part, ColumnRef))
    return {column: f"{rows}.{quoted(column.name)}" for column in columns}


def _direction(key: SortKey) -> str:
    return f"{' DESC' if key.descending else ''} NULLS {'FIRST' if key.nulls_first else 'LAST'}"


def _frame(framed: FramedCall, is_range: bool) -> str:
    kind = "RANGE" if is_range else "ROWS"
    return f"{kind} BETWEEN {_bound(framed.first, 'PRECEDING')} AND {_bound(framed.last, 'FOLLOWING')}"


def _bound(rows: int | None, side: str) -> str:
    """A bound of a frame; ``side``: where a frame without that bound ends."""
    if rows is None:
        return f"UNBOUNDED {side}"
    return "CURRENT ROW" if rows == 0 else f"{abs(rows)} {'PRECEDING' if rows > 0 else 'FOLLOWING'}"


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
    project = nodes.Project(root, (), items)
    frame = build(session, project, [table(session, relation, rows)], lambda name: None)
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
