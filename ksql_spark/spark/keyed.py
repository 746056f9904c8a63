"""Builds operations with state per key on the JVM's keyed operators: filters, joins, aggregates and others.

Rows go in and come out packed into bytes (PackedRow.java); KeyedOperator.java lists the columns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pyspark.sql import DataFrame

from ksql_spark.expressions import ColumnRef, Expression
from ksql_spark.functions import registry
from ksql_spark.functions.lowering import lower, lower_condition
from ksql_spark.functions.spark_text import has_own_order, spark_type
from ksql_spark.metastore.sources import TABLE
from ksql_spark.plan.nodes import (
    RANKS,
    REPLICATED,
    SEMI,
    SIGN,
    Aggregate,
    AggregateCall,
    Changes,
    Deduplicate,
    Exchange,
    Expire,
    Filter,
    ForeignKeyAnswer,
    ForeignKeyJoin,
    ForeignKeySubscribe,
    Join,
    KeepUnchanged,
    NamedExpression,
    Over,
    SetOperation,
    Source,
    TopN,
    operands,
)
from ksql_spark.plan.operations import grouped, is_of_changes, postfix, waits
from ksql_spark.schema import (
    FORWARDED_HEADERS,
    NULL_KEY,
    NULL_VALUE,
    PSEUDO_COLUMNS,
    ROWOFFSET,
    ROWPARTITION,
    ROWTIME,
    WINDOW_BOUNDS,
    WINDOWEND,
    WINDOWSTART,
    Column,
    Schema,
)
from ksql_spark.spark import jvm, sources
from ksql_spark.spark.frames import Built, Context, Transformations, event_time_column, named, quoted
from ksql_spark.spark.packed import (
    PACKED_HEADERS,
    PASSED_THROUGH,
    Carried,
    Side,
    call_arguments,
    column_types,
    columns_ddl,
    heartbeats,
    key_ddl,
    operator,
    passed_through,
    unpacked,
)
from ksql_spark.types import BIGINT, BOOLEAN, BYTES, INTEGER, SqlType

#: column: whether the row that replaces a retracted one in its group follows
_IS_REPLACED = "__is_replaced"
#: the side of such rows, REPLACED in KeyedOperator.java
_REPLACED = 3

#: part of a state's layout: how many aggregates it began with, if others have been appended
FIRST = "aggregates at the beginning"
#: end of the logger's name
GROUP_BY = "Aggregate.GroupBy"


def _rows_of_table(side: Side, schema: Schema) -> Side:
    """The rows of a table that have a key; some of its columns may be NULL, as in grouping sets."""
    has_key = " OR ".join(f"{quoted(c.name)} IS NOT NULL" for c in schema.key)
    return replace(side, frame=Transformations(side.frame).filter(has_key).frame())


def deleting(node: Filter, frame: DataFrame, context: Context) -> DataFrame:
    """A table whose rows that do not match are deletions (even of keys that were never there)."""
    row = [c.name for c in node.schema.columns]
    predicate = context.lower(node.predicate, "WhereFilter", "WHERE", row)
    deleted = f"({NULL_VALUE} OR NOT coalesce({predicate}, false))"
    kept = [quoted(c) for c in frame.columns if c != NULL_VALUE]
    return frame.selectExpr(*kept, named(deleted, NULL_VALUE))


def table_filter(node: Filter, inputs: Sequence[DataFrame], context: Context) -> Built:
    """WHERE on a table: a deletion only for a row that was passed on before (reference §6.2)."""
    frame = deleting(node, inputs[0], context)
    return _passed_on(node, frame, context, "tombstoneFilter", context.is_resumed, state={})


def expire(node: Expire, inputs: Sequence[DataFrame], context: Context) -> Built:
    """TTL of a table's rows (reference §6.16)."""
    state = {"TTL": f"{node.ttl_ms} ms"}
    return _passed_on(node, inputs[0], context, "expire", node.ttl_ms, state=state)


def keep_unchanged(node: KeepUnchanged, inputs: Sequence[DataFrame], context: Context) -> Built:
    """A table whose changes leave out columns (reference §5.9); rows have the places of their records."""
    assert isinstance(node.child, Source)
    source, prefix = node.child.source, f"{node.child.alias}_" if node.child.prefixed else ""
    places = [name for name in (ROWPARTITION, ROWOFFSET) if node.schema.find(name) is None]
    built = _passed_on(node, inputs[0], context, "keepUnchanged", places=places, state={})
    if not source.constraints:
        return built
    allowed = sources.allowed(source, prefix, context.log, has_place=False)
    return replace(built, frame=built.frame.filter(allowed))


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
    records = _rows_of_table(side, node.schema).records(0, keys, context, packs_nulls=True)
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
    left = [*(c.name for c in node.schema.value), *(name for name in places if name not in passed)]
    columns += [named(f"__l.{quoted(name)}", name) for name in left]
    return done.select(*columns, *passed, NULL_VALUE).built()


def deduplicate(node: Deduplicate, inputs: Sequence[DataFrame], context: Context) -> Built:
    """DISTINCT ON (reference §6.13); rows keep hidden columns. The operator takes -1 ms for no WITHIN."""
    carried = Carried.of(inputs[0], node.child.schema, context)
    side = Side(Transformations(inputs[0]).filter(f"NOT {NULL_VALUE}").frame(), carried.types)
    row = _names(node.child.schema)
    keys = [context.lower(key, "Deduplicate", f"DISTINCT ON: {key}", row) for key in node.keys]
    within_ms = -1 if node.within_ms is None else node.within_ms
    state = {"key": key_ddl([key.type for key in node.keys]), "within": f"{within_ms} ms"}
    records = side.records(0, keys, context, packs_nulls=True)
    done = operator(context, "deduplicate", [records], within_ms, state=state)
    done.select(named(unpacked("l", side.ddl), "__l"), *carried.hidden)
    return done.select(*carried.columns, *carried.hidden_names).built()


def over(node: Over, inputs: Sequence[DataFrame], context: Context) -> Built:
    """Calls with OVER (reference §6.14); rows keep hidden columns.

    The operator takes -1 for UNBOUNDED, and for no WITHIN.
    """
    carried = Carried.of(inputs[0], node.child.schema, context)
    row = _names(node.child.schema)
    state = {"key": key_ddl([key.type for key in node.keys])}
    keys = [f"__key_{i}" for i in range(len(node.keys))]
    made = [
        named(context.lower(key, "Over", f"PARTITION BY: {key}", row), name)
        for name, key in zip(keys, node.keys, strict=True)
    ]
    types: dict[str, SqlType] = {"__one": INTEGER}
    made.append(named("1", "__one"))
    frames: dict[tuple[int | None, int, int | None], list[tuple[AggregateCall, str]]] = {}
    for i, framed in enumerate(node.calls):
        arguments = call_arguments(framed.call, i, "Over", row, context, types, made)
        lowering = registry.require(framed.call.function).spark
        assert lowering is not None  # the analyzer allows only such functions
        text = lowering(arguments, [a.type for a in framed.call.arguments])
        state[str(framed)] = text
        output = named(f"cast({text} AS {spark_type(framed.call.type)})", framed.call.name)
        frame = (framed.first, framed.last, framed.range_ms)
        frames.setdefault(frame, []).append((framed.call, output))
    aggregators, ddls = [], []
    for (first, last, range_ms), calls in frames.items():
        template = jvm.empty_frame(context.session, columns_ddl(types)).selectExpr(
            *(output for _, output in calls)
        )
        aggregator, buffers = jvm.aggregator(template, has_condition=False)
        aggregators.append(aggregator)
        ddls.append(columns_ddl({call.name: call.type for call, _ in calls}))
        if range_ms is None:
            state[f"buffers of ROWS {first} {last}"] = ", ".join(buffers)
        else:
            state["rows"] = "time, arguments"
    packed = [
        named(f"ksql.pack(struct({', '.join(map(quoted, carried.types))}))", "__row"),
        named(f"ksql.pack(struct({', '.join(map(quoted, types))}))", "__arguments"),
    ]
    hidden = [carried.time, FORWARDED_HEADERS, NULL_VALUE, *([ROWPARTITION] * context.tasks.by_partition)]
    rows = Transformations(inputs[0]).filter(f"NOT {NULL_VALUE}")
    rows.select(*map(quoted, inputs[0].columns), *made).select(*packed, *keys, *map(quoted, hidden))
    side = Side(rows.frame(), {"__row": BYTES, "__arguments": BYTES})
    firsts = [-1 if first is None else first for first, *_ in frames]
    records = side.records(0, keys, context, packs_nulls=True)
    lasts = [last for _, last, _ in frames]
    ranges = [-1 if range_ms is None else range_ms for *_, range_ms in frames]
    if min(lasts) < 0:
        state["waiting rows"] = f"time, headers, {columns_ddl(carried.types)}, results, arguments"
    within_ms = -1 if node.within_ms is None else node.within_ms
    if within_ms >= 0:
        state["within"] = f"{within_ms} ms"
    done = operator(context, "over", [records], aggregators, firsts, lasts, ranges, within_ms, state=state)
    results = ", ".join(f"f{i} binary" for i in range(len(frames)))
    done.select(
        named(unpacked("l", columns_ddl(carried.types)), "__l"),
        named(unpacked("r", results), "__f"),
        *carried.hidden,
    )
    parts_of_results = [named(unpacked(f"__f.f{i}", ddl), f"__f{i}") for i, ddl in enumerate(ddls)]
    done.select("__l", *parts_of_results, *carried.hidden_names)
    columns = [
        named(f"__f{i}.{quoted(call.name)}", call.name)
        for i, calls in enumerate(frames.values())
        for call, _ in calls
    ]
    return done.select(*carried.columns, *columns, *carried.hidden_names).built()


def top_n(node: TopN, inputs: Sequence[DataFrame], context: Context) -> Built:
    """QUALIFY ROW_NUMBER() … <= n (reference §6.15): a table; each row keeps its time."""
    is_table = is_of_changes(node)
    changes = node.child.child if isinstance(node.child, Exchange) else None
    bounds = changes.bounds if isinstance(changes, Changes) else ()
    identity = [column.name for column in (*node.child.schema.key, *bounds)]
    carried = Carried.of(inputs[0].drop(*WINDOW_BOUNDS), node.child.schema, context)
    row = _names(node.child.schema)
    made = [
        named(context.lower(key.expression, "TopN", f"PARTITION BY: {key}", row, at_root=False), f"__key_{i}")
        for i, key in enumerate(node.keys)
    ]
    orders = [f"__order_{i}" for i in range(len(node.order))]
    for name, order in zip(orders, node.order, strict=True):
        text = context.lower(order.expression, "TopN", f"ORDER BY: {order.expression}", row)
        made.append(named(f"ksql.rank({text})" if has_own_order(order.expression.type) else text, name))
    hidden = [carried.time, FORWARDED_HEADERS, NULL_VALUE, *([ROWPARTITION] * context.tasks.by_partition)]
    rows = Transformations(inputs[0]).filter(f"NOT {NULL_VALUE}")
    rows.select(*map(quoted, inputs[0].columns), *made)
    rows = _grouped(node.keys, "PARTITION BY", rows, context)
    fields = rows.frame().select(*orders).schema.fields
    types = ", ".join(f"{field.name} {field.dataType.simpleString()}" for field in fields)
    packed = [
        named(f"ksql.pack(struct({', '.join(map(quoted, carried.types))}))", "__row"),
        named(f"ksql.pack(struct({', '.join(orders)}))", "__orders"),
        named(f"ksql.pack_key(struct({', '.join(map(quoted, identity))}))" if is_table else "X''", "__id"),
        named(f"cast({SIGN if is_table else 1} AS int)", "__sign"),
    ]
    keys = [f"__key_{i}" for i in range(len(node.keys))]
    rows.select(*packed, *keys, *map(quoted, hidden))
    side = Side(rows.frame(), {"__row": BYTES, "__orders": BYTES, "__id": BYTES, "__sign": INTEGER})
    keys_ddl = key_ddl([key.expression.type for key in node.keys])
    texts = [str(order) for order in node.order]
    state = {
        "key": keys_ddl,
        "row": columns_ddl(carried.types),
        "order": f"{', '.join(texts)}: {types}",
        "rows": f"{node.limit} of {'a table' if is_table else 'a stream'}: time, identity, row, order",
    }
    descending = [order.descending for order in node.order]
    nulls_first = [order.nulls_first for order in node.order]
    arguments = (types, descending, nulls_first, node.limit, node.count, is_table)
    done = operator(context, "topN", [side.records(0, keys, context)], *arguments, state=state)
    done.select(
        named(unpacked("k", keys_ddl), "__k"),
        named(unpacked("l", columns_ddl(carried.types)), "__l"),
        named(unpacked("r", columns_ddl(dict.fromkeys(RANKS, BIGINT))), "__n"),
        named("ws", "__rank"),
        *carried.hidden[:-1],
        named("l IS NULL", NULL_VALUE),
    )
    new = [key.name for key in node.keys]
    columns = [named(f"__k.c{i}", name) for i, name in enumerate(new)]
    columns += [named("__rank", node.rank)] if node.rank else []
    left = [name for name in carried.types if name not in (*new, NULL_KEY)]
    columns += [named(f"__l.{quoted(name)}", name) for name in left]
    columns += [named(f"__n.{name}", name) for name in RANKS if node.ranks]
    return done.select(*columns, *carried.hidden_names).built()


@dataclass(frozen=True)
class _JoinInputs:
    """A join's two sides and their records."""

    node: Join
    left: Side
    right: Side

    @classmethod
    def of(cls, node: Join, inputs: Sequence[DataFrame]) -> _JoinInputs:
        left, right = Side.of(inputs[0], node.left.schema), Side.of(inputs[1], node.right.schema)
        if node.type == REPLICATED and NULL_KEY in left.frame.columns:
            left = replace(left, types={**left.types, NULL_KEY: BOOLEAN})
        return cls(node, left, right)

    def records(
        self, context: Context, *, left_nulls: bool, right_nulls: bool, left_task: str | None = None
    ) -> list[DataFrame]:
        """Return the records of both sides, as the operator's inputs.

        Args:
            context: of the query.
            left_nulls, right_nulls: whether records without a key give results.
            left_task: see Side.records.
        """
        has_turn = context.tasks.ignored_have_turns
        left = context.lower(self.node.left_key, "Join.Left", "Join key", _names(self.node.left.schema))
        right = context.lower(self.node.right_key, "Join.Right", "Join key", _names(self.node.right.schema))
        return [
            self.left.records(0, [left, *self.bounds], context, nulls=left_nulls or has_turn, task=left_task),
            self.right.records(1, [right, *self.bounds], context, nulls=right_nulls or has_turn),
        ]

    @property
    def bounds(self) -> list[str]:
        """The bounds of a windowed key: only rows of the same window join."""
        return [] if self.node.window is None else [WINDOWSTART, WINDOWEND]

    @property
    def state(self) -> dict[str, str]:
        """The state's layout in a join that keeps both sides' rows."""
        return {"key": self.key_ddl, "left": self.left.ddl, "right": self.right.ddl}

    @property
    def key_ddl(self) -> str:
        return key_ddl([self.node.left_key.type, *(BIGINT for _ in self.bounds)])

    def condition(self, context: Context) -> Any:
        """Return the operator's argument for the join condition besides equal keys; None if there is none."""
        if self.node.residual is None:
            return None
        both = jvm.empty_frame(context.session, f"{self.left.ddl}, {self.right.ddl}")
        return jvm.pair_condition(both.filter(lower_condition(self.node.residual)), len(self.left.types))

    def done(
        self,
        context: Context,
        name: str,
        inputs: Sequence[DataFrame],
        *arguments: Any,
        state: Mapping[str, str],
    ) -> Built:
        """The node's columns from an operator's output; the key column has the value that was joined on."""
        done = operator(context, name, inputs, *arguments, state=state, tables=[self.left, self.right])
        done.select(
            named(unpacked("k", self.key_ddl), "__k"),
            named(unpacked("l", self.left.ddl), "__l"),
            named(unpacked("r", self.right.ddl), "__r"),
            *passed_through(context),
            named("l IS NULL AND r IS NULL", NULL_VALUE),
        )
        columns = []
        for column in self.node.schema.columns:
            side = "__l" if column.name in self.left.types else "__r"
            text = "__k.c0" if column.name == self.node.key_name else f"{side}.{quoted(column.name)}"
            columns.append(named(text, column.name))
        columns += [named(f"__k.c{i}", bound) for i, bound in enumerate(self.bounds, 1)]
        columns += [named(f"__l.{NULL_KEY}", NULL_KEY)] * (NULL_KEY in self.left.types)
        return done.select(*columns, *passed_through(context), NULL_VALUE).built()


def _names(schema: Schema) -> list[str]:
    return [c.name for c in schema.columns]


def stream_table_join(node: Join, inputs: Sequence[DataFrame], context: Context) -> Built:
    """A stream with a table (reference §6.6), or with its versions."""
    is_outer = node.join == "LEFT"
    join = _JoinInputs.of(node, inputs)
    task = None
    if node.type == REPLICATED:
        # a stream's row goes to the task of its partition (or of its key), a table's row to all tasks
        own = [lower(ColumnRef(c.name, c.type)) for c in node.left.schema.key]
        by_key = context.task(f"ksql.pack_key(struct({', '.join(own)}))") if own else str(context.numbers[0])
        task = context.task_of(ROWPARTITION) if ROWPARTITION in inputs[0].columns else by_key
    left, right = join.records(context, left_nulls=is_outer, right_nulls=False, left_task=task)
    if node.type == REPLICATED:
        everywhere = f"explode(array({', '.join(map(str, context.numbers))}))"
        right = right.selectExpr(named(everywhere, "task"), "k", "side", "ts", "v", "h")
    state = {"key": join.key_ddl, "right": join.right.ddl}
    condition = join.condition(context)
    if node.grace_ms is None:
        return join.done(context, "streamTableJoin", [left, right], is_outer, condition, state=state)
    state |= {"left": join.left.ddl, "rows": "versions by key, waiting rows by time"}
    # a record without a value joins with nothing, but advances stream time
    idle_ms = context.idle_ms_of(node)
    inputs = [left, right, *heartbeats(idle_ms, context)]
    arguments = (is_outer, condition, node.grace_ms, idle_ms)
    return join.done(context, "versionedTableJoin", inputs, *arguments, state=state)


def table_table_join(node: Join, inputs: Sequence[DataFrame], context: Context) -> Built:
    """Two tables by their primary keys (reference §6.7)."""
    join = _JoinInputs.of(node, inputs)
    outer = (node.join in ("LEFT", "FULL"), node.join in ("RIGHT", "FULL"))
    records = join.records(context, left_nulls=False, right_nulls=False)
    return join.done(context, "tableTableJoin", records, *outer, state=join.state)


def set_operation(node: SetOperation, inputs: Sequence[DataFrame], context: Context) -> Built:
    """UNION, EXCEPT and INTERSECT of tables (reference §6.18): the rows of each key are compared."""
    records, branches = [], operands(node)
    for number, (branch, frame) in enumerate(zip(branches, inputs, strict=True)):
        side = _rows_of_table(Side.of(frame, branch.schema), branch.schema)
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
    done.select(named(unpacked("k", row), "__row"), *passed_through(context), named("l IS NULL", NULL_VALUE))
    columns = [named(f"__row.{quoted(c.name)}", c.name) for c in node.schema.columns]
    return done.select(*columns, *passed_through(context), NULL_VALUE).built()


def stream_stream_join(node: Join, inputs: Sequence[DataFrame], context: Context) -> Built:
    """Two streams (reference §6.5). The operator takes a grace period of -1 ms for none."""
    assert node.within is not None  # the analyzer has required it
    join, idle_ms = _JoinInputs.of(node, inputs), context.idle_ms_of(node)
    outer = (node.join in ("LEFT", "FULL"), node.join in ("RIGHT", "FULL"))
    records = join.records(context, left_nulls=outer[0], right_nulls=outer[1])
    before, after = node.within.before_ms, node.within.after_ms
    grace = -1 if node.within.grace_ms is None else node.within.grace_ms
    # a record with a NULL value joins with nothing, but advances stream time
    inputs = [*records, *heartbeats(idle_ms, context)]
    is_semi = node.join == SEMI
    arguments = (*outer, is_semi, join.condition(context), before, after, grace, idle_ms)
    state = {**join.state, "rows": "groups by side, bucket and key"}
    if is_semi:
        state["left rows"] = "without a partner"
    return join.done(context, "streamStreamJoin", inputs, *arguments, state=state)


def aggregate(operation: Filter | Aggregate, inputs: Sequence[DataFrame], context: Context) -> Built:
    """GROUP BY and HAVING (reference §6.8): a row with a value and a group updates Catalyst's aggregates."""
    node, having = grouped(operation)
    assert node is not None
    is_table, window = is_of_changes(node), node.window_spec
    types: dict[str, SqlType] = {}
    columns = []
    row = [c.name for c in node.child.schema.columns]
    for i, group in enumerate(node.group_by):
        types[f"__key_{i}"] = group.expression.type
        # a failure here gives a NULL group, which is reported anyway
        text = context.lower(group.expression, GROUP_BY, "GROUP BY", row, at_root=False)
        columns.append(named(text, f"__key_{i}"))
    keys = list(map(quoted, types))
    results: dict[Expression, str] = {
        ColumnRef(g.name, g.expression.type): f"first({k})" for g, k in zip(node.group_by, keys, strict=True)
    }
    key_types = [g.expression.type for g in node.group_by] or [INTEGER]
    state = {"key": key_ddl(key_types)}
    for i, call in enumerate(node.aggregates):
        arguments = call_arguments(call, i, "Aggregate.Prepare", row, context, types, columns)
        spec = registry.require(call.function)
        lowering = spec.spark
        if is_table:
            lowering = spec.spark_table_distinct if call.distinct else spec.spark_table
            arguments.append(quoted(SIGN))
        elif call.distinct:
            lowering = spec.spark_distinct
        elif window is not None and window.kind == "SESSION" and spec.spark_merged is not None:
            lowering = spec.spark_merged
        assert lowering is not None  # the planner has checked it
        text = lowering(arguments, [a.type for a in call.arguments])
        state[str(call)] = text
        results[ColumnRef(call.name, call.type)] = f"cast({text} AS {spark_type(call.type)})"
    replaced = []
    if is_table:
        types[SIGN] = INTEGER
        columns.append(named(f"if({quoted(SIGN)} < 0, -1, 1)", SIGN))
        replaced = [named(f"{quoted(SIGN)} < -1", _IS_REPLACED)]
    if not keys:  # one global group (push queries)
        types["__all"] = INTEGER
        columns.append("1 AS __all")
        keys = ["1"]
    output = [named(results[ColumnRef(a.name, a.type)], a.name) for a in node.aggregates]
    ddl = [f"{quoted(a.name)} {spark_type(a.type)}" for a in node.aggregates]
    if having is not None:
        output.append(named(f"coalesce({context.lower_having(having, results)}, false)", "__passes"))
        ddl.append("__passes boolean")
    partition = [ROWPARTITION] if context.tasks.by_partition else []
    hidden = [named(event_time_column(inputs[0].columns), ROWTIME), FORWARDED_HEADERS, NULL_VALUE]
    rows = (
        Transformations(inputs[0])
        .filter(f"NOT {NULL_VALUE}")
        .select(*columns, *hidden, *partition, *replaced)
    )
    side = Side(_grouped(node.group_by, "GROUP BY", rows, context).frame(), types)
    is_final, idle_ms, every_ms = waits(operation), context.idle_ms_of(operation), node.every_ms or 0
    size_ms = window.size_ms if window else 0
    if node.ttl_ms is not None:
        size_ms = node.ttl_ms
        state["TTL"] = f"{size_ms} ms"
    if every_ms:
        state["held results"] = "by window and key"
    template = jvm.empty_frame(context.session, side.ddl).selectExpr(*output)
    appended = [call for call in node.aggregates if call.is_appended]
    if appended:
        state[FIRST] = str(len(node.aggregates) - len(appended))
    aggregator, buffers = jvm.aggregator(template, having is not None, len(appended))
    for part, buffer in zip([*map(str, node.aggregates), "HAVING"], buffers, strict=False):
        if buffer:  # HAVING rarely has a buffer of its own
            state[f"buffer of {part}"] = buffer
    number = f"if({_IS_REPLACED}, {_REPLACED}, 0)" if replaced else "0"
    done = operator(
        context,
        "aggregate",
        [side.records(number, keys, context), *heartbeats(idle_ms, context, every_ms)],
        aggregator,
        window.kind if window else "NONE",
        size_ms,
        (window.advance_ms or window.size_ms) if window else 0,
        str(window.calendar or "") if window else "",
        str(window.step or "") if window else "",
        window.grace_ms if window else 0,
        is_final,
        is_final and context.stage.plan.is_lossy,
        idle_ms,
        every_ms,
        state=state,
    )
    bounds = [named("ws", WINDOWSTART), named("we", WINDOWEND)] if window else []
    done.select(
        named(unpacked("k", key_ddl(key_types)), "__k"),
        named(unpacked("l", ", ".join(ddl)), "__l"),
        *PASSED_THROUGH,
        named("l IS NULL", NULL_VALUE),
        *bounds,
    )
    groups = [named(f"__k.c{i}", g.name) for i, g in enumerate(node.group_by)]
    values = [named(f"__l.{quoted(a.name)}", a.name) for a in node.aggregates]
    hidden = [*PASSED_THROUGH, NULL_VALUE, *([WINDOWSTART, WINDOWEND] if window else [])]
    new = [FIRST, *map(str, appended), *(f"buffer of {call}" for call in appended)] if appended else []
    return done.select(*groups, *values, *hidden).built(new)


def _grouped(
    groups: Sequence[NamedExpression], clause: str, rows: Transformations, context: Context
) -> Transformations:
    """Rows that belong to a group, by their columns ``__key_<n>``; the others are reported (§6.8)."""
    if context.log is None:
        return rows
    log = context.log.of_topic(None)
    shown = log.record({str(g.expression): f"__key_{i}" for i, g in enumerate(groups)})
    for i, group in enumerate(groups):
        message = f"{clause}: {group.expression} is NULL, so the row belongs to no group."
        report = log.failed(GROUP_BY, message, "It is NULL, or could not be computed.", shown)
        rows.filter(f"__key_{i} IS NOT NULL OR {report}")
    return rows


def _has_null_key(schema: Schema) -> bool:
    """Whether packed rows have NULL_KEY: with one key column, that column shows if the key was NULL."""
    return len(schema.key) > 1


def _packed_key(key: Sequence[Expression], context: Context) -> str:
    """Text: the bytes of a key of an internal topic."""
    members = ", ".join(f"'c{i}', {context.lower_silently(e)}" for i, e in enumerate(key))
    return f"ksql.pack_key(named_struct({members}))" if members else "X''"


def pack(node: Exchange, frame: DataFrame, context: Context) -> DataFrame:
    """Rows packed for an internal topic: columns K and V as bytes."""
    key = _packed_key(node.key, context)
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
    taken = {c.name for c in keys}
    columns += [named(f"__v.{quoted(c.name)}", c.name) for c in node.carried.columns if c.name not in taken]
    columns += [named(f"__v.{b}", b) for b in bounds]
    return Transformations(frame).select(*parts).select(*columns, *null_key, *hidden).frame()


def table_changes(node: Changes, inputs: Sequence[DataFrame], context: Context) -> Built:
    """Old rows to retract and new rows to add; the sign (see the node) is the last column."""
    side = Side.of(inputs[0], node.schema)
    bounds = [] if node.child.window is None else [WINDOWSTART, WINDOWEND]
    keys = [*(quoted(c.name) for c in node.schema.key), *bounds]
    keys_ddl = key_ddl([*(c.type for c in node.schema.key), *(BIGINT for _ in bounds)])
    state = {"key": keys_ddl, "row": side.ddl}
    records = _rows_of_table(side, node.schema).records(0, keys, context, packs_nulls=True)
    rows = operator(context, "tableChanges", [records], state=state, tables=[side])
    shown = bounds if node.has_bounds else []
    hidden = [*shown, *PASSED_THROUGH, NULL_VALUE]
    key = unpacked("k", keys_ddl)
    rows.select(
        named(unpacked("l", side.ddl), "__row"),
        named(unpacked("r", side.ddl), "__next"),
        named("cast(ws AS int)", SIGN),
        *(named(f"{key}.c{len(keys) - 2 + bounds.index(name)}", name) for name in shown),
        *PASSED_THROUGH,
        named("false", NULL_VALUE),
    )
    group = _packed_key(node.group, context)
    both = ["__row", "__next", quoted(SIGN), *hidden]
    done = rows.frame().selectExpr("*", "__row.*").selectExpr(*both, named(group, "__group"))
    done = done.selectExpr("*", "__next.*").selectExpr(*both, "__group", named(group, "__next_group"))
    is_replaced = "__next IS NOT NULL AND __group = __next_group"
    done = done.selectExpr("__row", named(f"if({is_replaced}, -2, {quoted(SIGN)})", SIGN), *hidden)
    return Built(done.selectExpr("__row.*", *shown, quoted(SIGN), *PASSED_THROUGH, NULL_VALUE), rows.layout)


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
    asked = _messages(inputs[0], context)
    side = Side.of(inputs[1], node.right.schema)
    right = side.records(1, [context.lower_silently(node.right_key)], context)
    state = {"key": key_ddl([node.right_key.type]), "right": side.ddl}
    done = operator(context, "foreignKeyAnswer", [asked, right], node.join == "LEFT", state=state)
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
