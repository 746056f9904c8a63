"""Builds steps with state per key on the JVM's keyed operators: filters, de-duplication, joins, aggregates.

Rows go in and come out packed into bytes (PackedRow.java); KeyedOperator.java lists the columns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from pyspark.sql import DataFrame

from ksql_spark.expressions import ColumnRef, Expression
from ksql_spark.functions import registry
from ksql_spark.functions.lowering import lower, lower_condition
from ksql_spark.functions.spark_text import has_own_order, spark_type
from ksql_spark.logical.nodes import RANKS, AggregateCall, NamedExpression
from ksql_spark.physical import steps
from ksql_spark.physical.steps import FORWARDED_HEADERS, NULL_KEY, NULL_VALUE, STREAM_TIME
from ksql_spark.schema import (
    PSEUDO_COLUMNS,
    ROWPARTITION,
    ROWTIME,
    WINDOW_BOUNDS,
    WINDOWEND,
    WINDOWSTART,
    Schema,
)
from ksql_spark.spark import aggregate_calls, jvm, sources
from ksql_spark.spark.frames import Context, Transformations, event_time_column, named, quoted
from ksql_spark.types import BIGINT, BOOLEAN, BYTES, INTEGER, SqlType

#: a record's headers as bytes; most have none
_PACKED_HEADERS = f"if(size({FORWARDED_HEADERS}) > 0, ksql.pack(struct({FORWARDED_HEADERS})), NULL)"
_HEADERS_DDL = "h array<struct<key string, value binary>>"
#: hidden columns that operators pass through
_PASSED_THROUGH = (ROWTIME, FORWARDED_HEADERS)

#: column: whether the row that replaces a retracted one in its group follows
_IS_REPLACED = "__is_replaced"
#: the side of such rows, REPLACED in KeyedOperator.java
_REPLACED = 3

#: end of the logger's name
GROUP_BY = "Aggregate.GroupBy"


@dataclass(frozen=True)
class _Side:
    """One input of a keyed operator: a frame and the types of its columns (without hidden ones)."""

    frame: DataFrame
    types: Mapping[str, SqlType]

    @classmethod
    def of(cls, frame: DataFrame, schema: Schema) -> _Side:
        return cls(frame, _types(schema))

    @property
    def ddl(self) -> str:
        return _ddl(self.types)

    def records(
        self,
        side: int | str,
        key: Sequence[str],
        context: Context,
        *,
        nulls: bool = False,
        packs_nulls: bool = False,
        task: str | None = None,
    ) -> DataFrame:
        """The frame as an operator's input: task, k, side, ts, v, h.

        Args:
            side: the input's number, 0 or 1, or the text of a number over the frame's columns.
            key: texts of the key's members, over the frame's columns.
            context: of the query.
            nulls: keep records whose key has a NULL member, with an empty key; else they are dropped.
            packs_nulls: keep them, with a key in which NULL is a value like others.
            task: text of the task, over the frame's columns; None: the task of the key.
        """
        # computed in a frame of its own: an expression that reports its failures must be evaluated only once
        parts_of_key = [f"__part_{i}" for i in range(len(key))]
        rows = Transformations(self.frame).select(
            *map(quoted, self.frame.columns), *map(named, key, parts_of_key)
        )
        known = " AND ".join(f"{part} IS NOT NULL" for part in parts_of_key)
        members = ", ".join(f"'c{i}', {part}" for i, part in enumerate(parts_of_key))
        packed = f"ksql.pack(named_struct({members}))"
        if not packs_nulls:
            packed = f"if({known}, {packed}, X'')"
        row = f"if({NULL_VALUE}, NULL, ksql.pack(struct({', '.join(map(quoted, self.types))})))"
        own = [named(task, "task")] if task is not None else []
        if context.tasks.by_partition:
            own = [named(ROWPARTITION, "task")]
        # a filter on the packed key would be pushed down and pack it a second time
        if not nulls and not packs_nulls:
            rows.filter(known)
        time = event_time_column(self.frame.columns)
        parts = [named(packed, "k"), named(str(side), "side"), named(time, "ts"), named(row, "v")]
        rows.select(*parts, named(_PACKED_HEADERS, "h"), *own)
        task_column = "task" if own else named(context.task("k"), "task")
        return rows.select(task_column, "k", "side", "ts", "v", "h").frame()


def _rows_of_table(side: _Side, schema: Schema) -> _Side:
    """The rows of a table that have a key; some of its columns may be NULL, as in grouping sets."""
    has_key = " OR ".join(f"{quoted(c.name)} IS NOT NULL" for c in schema.key)
    return replace(side, frame=Transformations(side.frame).filter(has_key).frame())


def _types(schema: Schema) -> dict[str, SqlType]:
    return {c.name: c.type for c in schema.columns}


def _ddl(types: Mapping[str, SqlType]) -> str:
    return ", ".join(f"{quoted(name)} {spark_type(type_)}" for name, type_ in types.items())


def _unpacked(column: str, ddl: str) -> str:
    return f"ksql.{quoted(f'unpack:{ddl}')}({column})"


def _key_ddl(types: Sequence[SqlType]) -> str:
    return ", ".join(f"c{i} {spark_type(t)}" for i, t in enumerate(types))


def _operator(
    context: Context, name: str, inputs: Sequence[DataFrame], *arguments: Any, state: Mapping[str, str]
) -> Transformations:
    """Apply a keyed operator of the JVM to the union of ``inputs``: k, l, r, ws, we, ROWTIME and headers.

    ``state``: the layout of the bytes that it keeps, see Context.state_layout.
    """
    context.state_layout.update({"operator": name, **state})
    both = inputs[0]
    for other in inputs[1:]:
        both = both.unionAll(other)
    done = jvm.keyed_operator(name, both, *arguments)
    headers = f"{_unpacked('h', _HEADERS_DDL)}.h"
    columns = ["k", "l", "r", "ws", "we", named("ts", ROWTIME), named(headers, FORWARDED_HEADERS)]
    return Transformations(done).select(*columns, named("task", ROWPARTITION), named("st", STREAM_TIME))


def _passed_through(context: Context) -> tuple[str, ...]:
    """Hidden columns that a join or a filter passes through."""
    return (*_PASSED_THROUGH, ROWPARTITION, STREAM_TIME) if context.tasks.keeps_partition else _PASSED_THROUGH


def _heartbeats(idle_ms: int, context: Context) -> list[DataFrame]:
    """A frame of heartbeats for every task, if an operator with this idle timeout (ms) needs them."""
    if not idle_ms or context.heartbeats is None:
        return []
    latest = {context.heartbeats: '{"0": -1}'}
    topic = context.heartbeats
    raw = sources.read(context.session, context.consumer, topic, latest, options=context.source_options)
    task = named(f"explode(array({', '.join(map(str, context.numbers))}))", "task")
    nothing = ("cast(NULL AS binary) AS v", "cast(NULL AS binary) AS h")
    return [raw.selectExpr(task, "X'' AS k", "2 AS side", "0L AS ts", *nothing)]


def deleting(step: steps.TableFilter, frame: DataFrame, context: Context) -> DataFrame:
    """A table whose rows that do not match are deletions (even of keys that were never there)."""
    row = [c.name for c in step.schema.columns]
    predicate = context.lower(step.predicate, "WhereFilter", "WHERE", row)
    deleted = f"({NULL_VALUE} OR NOT coalesce({predicate}, false))"
    kept = [quoted(c) for c in frame.columns if c != NULL_VALUE]
    return frame.selectExpr(*kept, named(deleted, NULL_VALUE))


def table_filter(step: steps.TableFilter, inputs: Sequence[DataFrame], context: Context) -> DataFrame:
    """WHERE on a table: a deletion only for a row that was passed on before (reference §6.2)."""
    frame = deleting(step, inputs[0], context)
    return _passed_on(step, frame, context, "tombstoneFilter", context.is_resumed, state={})


def expire(step: steps.TableExpire, inputs: Sequence[DataFrame], context: Context) -> DataFrame:
    """TTL of a table's rows (reference §6.16)."""
    state = {"TTL": f"{step.ttl_ms} ms"}
    return _passed_on(step, inputs[0], context, "expire", step.ttl_ms, state=state)


def _passed_on(
    step: steps.TableFilter | steps.TableExpire,
    frame: DataFrame,
    context: Context,
    operator: str,
    argument: bool | int,
    *,
    state: Mapping[str, str],
) -> DataFrame:
    """A table's rows and deletions, by its key, through an operator that leaves rows as they are."""
    side = _Side.of(frame, step.schema)
    bounds = [] if step.window is None else [WINDOWSTART, WINDOWEND]
    keys = [*(quoted(c.name) for c in step.schema.key), *bounds]
    key_ddl = _key_ddl([*(c.type for c in step.schema.key), *(BIGINT for _ in bounds)])
    records = _rows_of_table(side, step.schema).records(0, keys, context, packs_nulls=True)
    done = _operator(context, operator, [records], argument, state={"key": key_ddl, **state})
    done.select(
        named(_unpacked("k", key_ddl), "__k"),
        named(_unpacked("l", side.ddl), "__l"),
        *_passed_through(context),
        named("l IS NULL", NULL_VALUE),
    )
    names = [*(c.name for c in step.schema.key), *bounds]
    columns = [named(f"__k.c{i}", name) for i, name in enumerate(names)]
    columns += [named(f"__l.{quoted(c.name)}", c.name) for c in step.schema.value]
    return done.select(*columns, *_passed_through(context), NULL_VALUE).frame()


def deduplicate(step: steps.StreamDeduplicate, inputs: Sequence[DataFrame], context: Context) -> DataFrame:
    """DISTINCT ON (reference §6.13); rows keep hidden columns. The operator takes -1 ms for no WITHIN."""
    carried = _Carried.of(inputs[0], step.child.schema, context)
    side = _Side(Transformations(inputs[0]).filter(f"NOT {NULL_VALUE}").frame(), carried.types)
    row = _names(step.child.schema)
    keys = [context.lower(key, "Deduplicate", f"DISTINCT ON: {key}", row) for key in step.keys]
    within_ms = -1 if step.within_ms is None else step.within_ms
    state = {"key": _key_ddl([key.type for key in step.keys]), "within": f"{within_ms} ms"}
    records = side.records(0, keys, context, packs_nulls=True)
    done = _operator(context, "deduplicate", [records], within_ms, state=state)
    done.select(named(_unpacked("l", side.ddl), "__l"), *carried.hidden)
    return done.select(*carried.columns, *carried.hidden_names).frame()


def over(step: steps.StreamOver, inputs: Sequence[DataFrame], context: Context) -> DataFrame:
    """Calls with OVER (reference §6.14); rows keep hidden columns.

    The operator takes -1 for UNBOUNDED, and for no WITHIN.
    """
    carried = _Carried.of(inputs[0], step.child.schema, context)
    row = _names(step.child.schema)
    state = {"key": _key_ddl([key.type for key in step.keys])}
    keys = [f"__key_{i}" for i in range(len(step.keys))]
    made = [
        named(context.lower(key, "Over", f"PARTITION BY: {key}", row), name)
        for name, key in zip(keys, step.keys, strict=True)
    ]
    types: dict[str, SqlType] = {"__one": INTEGER}
    made.append(named("1", "__one"))
    frames: dict[tuple[int | None, int, int | None], list[tuple[AggregateCall, str]]] = {}
    for i, framed in enumerate(step.calls):
        arguments = _arguments(framed.call, i, "Over", row, context, types, made)
        lowering = registry.require(framed.call.function).spark
        assert lowering is not None  # the analyzer allows only such functions
        text = lowering(arguments, [a.type for a in framed.call.arguments])
        state[str(framed)] = text
        output = named(f"cast({text} AS {spark_type(framed.call.type)})", framed.call.name)
        frame = (framed.first, framed.last, framed.range_ms)
        frames.setdefault(frame, []).append((framed.call, output))
    aggregators, ddls = [], []
    for (first, last, range_ms), calls in frames.items():
        template = jvm.empty_frame(context.session, _ddl(types)).selectExpr(*(output for _, output in calls))
        aggregator, buffers = jvm.aggregator(template, has_condition=False)
        aggregators.append(aggregator)
        ddls.append(_ddl({call.name: call.type for call, _ in calls}))
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
    side = _Side(rows.frame(), {"__row": BYTES, "__arguments": BYTES})
    firsts = [-1 if first is None else first for first, *_ in frames]
    records = side.records(0, keys, context, packs_nulls=True)
    lasts = [last for _, last, _ in frames]
    ranges = [-1 if range_ms is None else range_ms for *_, range_ms in frames]
    if min(lasts) < 0:
        state["waiting rows"] = f"time, headers, {_ddl(carried.types)}, results, arguments"
    within_ms = -1 if step.within_ms is None else step.within_ms
    if within_ms >= 0:
        state["within"] = f"{within_ms} ms"
    done = _operator(context, "over", [records], aggregators, firsts, lasts, ranges, within_ms, state=state)
    results = ", ".join(f"f{i} binary" for i in range(len(frames)))
    done.select(
        named(_unpacked("l", _ddl(carried.types)), "__l"),
        named(_unpacked("r", results), "__f"),
        *carried.hidden,
    )
    unpacked = [named(_unpacked(f"__f.f{i}", ddl), f"__f{i}") for i, ddl in enumerate(ddls)]
    done.select("__l", *unpacked, *carried.hidden_names)
    columns = [
        named(f"__f{i}.{quoted(call.name)}", call.name)
        for i, calls in enumerate(frames.values())
        for call, _ in calls
    ]
    return done.select(*carried.columns, *columns, *carried.hidden_names).frame()


def top_n(
    step: steps.StreamTopN | steps.TableTopN, inputs: Sequence[DataFrame], context: Context
) -> DataFrame:
    """QUALIFY ROW_NUMBER() … <= n (reference §6.15): a table; each row keeps its time."""
    is_table = isinstance(step, steps.TableTopN)
    identity, sign = (step.identity, step.sign) if isinstance(step, steps.TableTopN) else ((), "1")
    kept = (c for c in step.child.schema.columns if c.name not in (sign, *WINDOW_BOUNDS))
    carried = _Carried.of(inputs[0].drop(*WINDOW_BOUNDS), Schema(tuple(kept)), context)
    row = _names(step.child.schema)
    made = [
        named(context.lower(key.expression, "TopN", f"PARTITION BY: {key}", row, at_root=False), f"__key_{i}")
        for i, key in enumerate(step.keys)
    ]
    orders = [f"__order_{i}" for i in range(len(step.order))]
    for name, order in zip(orders, step.order, strict=True):
        text = context.lower(order.expression, "TopN", f"ORDER BY: {order.expression}", row)
        made.append(named(f"ksql.rank({text})" if has_own_order(order.expression.type) else text, name))
    hidden = [carried.time, FORWARDED_HEADERS, NULL_VALUE, *([ROWPARTITION] * context.tasks.by_partition)]
    rows = Transformations(inputs[0]).filter(f"NOT {NULL_VALUE}")
    rows.select(*map(quoted, inputs[0].columns), *made)
    rows = _grouped(step.keys, "PARTITION BY", rows, context)
    fields = rows.frame().select(*orders).schema.fields
    types = ", ".join(f"{field.name} {field.dataType.simpleString()}" for field in fields)
    packed = [
        named(f"ksql.pack(struct({', '.join(map(quoted, carried.types))}))", "__row"),
        named(f"ksql.pack(struct({', '.join(orders)}))", "__orders"),
        named(f"ksql.pack(struct({', '.join(map(quoted, identity))}))" if is_table else "X''", "__id"),
        named(f"cast({sign} AS int)", "__sign"),
    ]
    keys = [f"__key_{i}" for i in range(len(step.keys))]
    rows.select(*packed, *keys, *map(quoted, hidden))
    side = _Side(rows.frame(), {"__row": BYTES, "__orders": BYTES, "__id": BYTES, "__sign": INTEGER})
    key_ddl = _key_ddl([key.expression.type for key in step.keys])
    texts = [str(order) for order in step.order]
    state = {
        "key": key_ddl,
        "row": _ddl(carried.types),
        "order": f"{', '.join(texts)}: {types}",
        "rows": f"{step.limit} of {'a table' if is_table else 'a stream'}: time, identity, row, order",
    }
    descending = [order.descending for order in step.order]
    nulls_first = [order.nulls_first for order in step.order]
    arguments = (types, descending, nulls_first, step.limit, step.count, is_table)
    done = _operator(context, "topN", [side.records(0, keys, context)], *arguments, state=state)
    done.select(
        named(_unpacked("k", key_ddl), "__k"),
        named(_unpacked("l", _ddl(carried.types)), "__l"),
        named(_unpacked("r", _ddl(dict.fromkeys(RANKS, BIGINT))), "__n"),
        named("ws", "__rank"),
        *carried.hidden[:-1],
        named("l IS NULL", NULL_VALUE),
    )
    new = [key.name for key in step.keys]
    columns = [named(f"__k.c{i}", name) for i, name in enumerate(new)]
    columns += [named("__rank", step.rank)] if step.rank else []
    left = [name for name in carried.types if name not in (*new, NULL_KEY)]
    columns += [named(f"__l.{quoted(name)}", name) for name in left]
    columns += [named(f"__n.{name}", name) for name in RANKS if step.ranks]
    return done.select(*columns, *carried.hidden_names).frame()


@dataclass(frozen=True)
class _Carried:
    """The columns of a stream's rows that pass through an operator.

    Args:
        time: the column with the event time.
        types: those that are packed, hidden ones too; the operator's output has them in ``__l``.
        added: hidden columns of the operator's output that the rows do not have.
    """

    time: str
    types: Mapping[str, SqlType]
    added: tuple[str, ...]

    @classmethod
    def of(cls, frame: DataFrame, schema: Schema, context: Context) -> _Carried:
        time = event_time_column(frame.columns)
        known = {**PSEUDO_COLUMNS, **WINDOW_BOUNDS, NULL_KEY: BOOLEAN, **_types(schema)}
        names = [n for n in frame.columns if n in known and n not in (time, FORWARDED_HEADERS)]
        added = (n for n in _passed_through(context) if n not in (*_PASSED_THROUGH, *names))
        return cls(time, {name: known[name] for name in names}, tuple(added))

    @property
    def hidden(self) -> list[str]:
        """Texts of the hidden columns that are not packed, over the operator's output."""
        return [named(ROWTIME, self.time), FORWARDED_HEADERS, *self.added, named("false", NULL_VALUE)]

    @property
    def hidden_names(self) -> list[str]:
        """Their names."""
        return [quoted(self.time), FORWARDED_HEADERS, *self.added, NULL_VALUE]

    @property
    def columns(self) -> list[str]:
        """Texts of the packed columns, over ``__l``."""
        return [named(f"__l.{quoted(name)}", name) for name in self.types]


_Join: TypeAlias = steps.StreamTableJoin | steps.StreamStreamJoin | steps.TableTableJoin


@dataclass(frozen=True)
class _JoinInputs:
    """A join's two sides and their records."""

    step: _Join
    left: _Side
    right: _Side

    @classmethod
    def of(cls, step: _Join, inputs: Sequence[DataFrame]) -> _JoinInputs:
        left, right = _Side.of(inputs[0], step.left.schema), _Side.of(inputs[1], step.right.schema)
        is_keyed_by_left = isinstance(step, steps.StreamTableJoin) and step.is_replicated
        if is_keyed_by_left and NULL_KEY in left.frame.columns:
            left = replace(left, types={**left.types, NULL_KEY: BOOLEAN})
        return cls(step, left, right)

    def records(
        self, context: Context, *, left_nulls: bool, right_nulls: bool, left_task: str | None = None
    ) -> list[DataFrame]:
        """Both sides as the operator's inputs.

        Args:
            context: of the query.
            left_nulls, right_nulls: whether records without a key give results.
            left_task: see _Side.records.
        """
        has_turn = context.tasks.ignored_have_turns
        left = context.lower(self.step.left_key, "Join.Left", "Join key", _names(self.step.left.schema))
        right = context.lower(self.step.right_key, "Join.Right", "Join key", _names(self.step.right.schema))
        return [
            self.left.records(0, [left, *self.bounds], context, nulls=left_nulls or has_turn, task=left_task),
            self.right.records(1, [right, *self.bounds], context, nulls=right_nulls or has_turn),
        ]

    @property
    def bounds(self) -> list[str]:
        """The bounds of a windowed key: only rows of the same window join."""
        return [] if self.step.window is None else [WINDOWSTART, WINDOWEND]

    @property
    def state(self) -> dict[str, str]:
        """The state's layout in a join that keeps both sides' rows."""
        return {"key": self.key_ddl, "left": self.left.ddl, "right": self.right.ddl}

    @property
    def key_ddl(self) -> str:
        return _key_ddl([self.step.left_key.type, *(BIGINT for _ in self.bounds)])

    def condition(self, context: Context) -> Any:
        """What two rows must satisfy besides equal keys, as the operator's argument; None: nothing."""
        if self.step.residual is None:
            return None
        both = jvm.empty_frame(context.session, f"{self.left.ddl}, {self.right.ddl}")
        return jvm.pair_condition(both.filter(lower_condition(self.step.residual)), len(self.left.types))

    def result(self, done: Transformations, context: Context) -> DataFrame:
        """An operator's output as the step's columns; the key column has the value that was joined on."""
        done.select(
            named(_unpacked("k", self.key_ddl), "__k"),
            named(_unpacked("l", self.left.ddl), "__l"),
            named(_unpacked("r", self.right.ddl), "__r"),
            *_passed_through(context),
            named("l IS NULL AND r IS NULL", NULL_VALUE),
        )
        columns = []
        for column in self.step.schema.columns:
            side = "__l" if column.name in self.left.types else "__r"
            text = "__k.c0" if column.name == self.step.key_name else f"{side}.{quoted(column.name)}"
            columns.append(named(text, column.name))
        columns += [named(f"__k.c{i}", bound) for i, bound in enumerate(self.bounds, 1)]
        columns += [named(f"__l.{NULL_KEY}", NULL_KEY)] * (NULL_KEY in self.left.types)
        return done.select(*columns, *_passed_through(context), NULL_VALUE).frame()


def _names(schema: Schema) -> list[str]:
    return [c.name for c in schema.columns]


def stream_table_join(
    step: steps.StreamTableJoin, inputs: Sequence[DataFrame], context: Context
) -> DataFrame:
    """A stream with a table (reference §6.6), or with its versions."""
    is_outer = step.join == "LEFT"
    join = _JoinInputs.of(step, inputs)
    task = None
    if step.is_replicated:
        # a stream's row goes to the task of its partition (or of its key), a table's row to all tasks
        own = [lower(ColumnRef(c.name, c.type)) for c in step.left.schema.key]
        by_key = context.task(f"ksql.pack(struct({', '.join(own)}))") if own else str(context.numbers[0])
        task = context.task_of(ROWPARTITION) if ROWPARTITION in inputs[0].columns else by_key
    left, right = join.records(context, left_nulls=is_outer, right_nulls=False, left_task=task)
    if step.is_replicated:
        everywhere = f"explode(array({', '.join(map(str, context.numbers))}))"
        right = right.selectExpr(named(everywhere, "task"), "k", "side", "ts", "v", "h")
    state = {"key": join.key_ddl, "right": join.right.ddl}
    condition = join.condition(context)
    if not isinstance(step, steps.StreamVersionedTableJoin):
        return join.result(
            _operator(context, "streamTableJoin", [left, right], is_outer, condition, state=state), context
        )
    state |= {"left": join.left.ddl, "rows": "versions by key, waiting rows by time"}
    # a record without a value joins with nothing, but advances stream time
    inputs = [left, right, *_heartbeats(step.idle_ms, context)]
    arguments = (is_outer, condition, step.grace_ms, step.idle_ms)
    return join.result(_operator(context, "versionedTableJoin", inputs, *arguments, state=state), context)


def table_table_join(step: steps.TableTableJoin, inputs: Sequence[DataFrame], context: Context) -> DataFrame:
    """Two tables by their primary keys (reference §6.7)."""
    join = _JoinInputs.of(step, inputs)
    outer = (step.join in ("LEFT", "FULL"), step.join in ("RIGHT", "FULL"))
    records = join.records(context, left_nulls=False, right_nulls=False)
    return join.result(_operator(context, "tableTableJoin", records, *outer, state=join.state), context)


def stream_stream_join(
    step: steps.StreamStreamJoin, inputs: Sequence[DataFrame], context: Context
) -> DataFrame:
    """Two streams (reference §6.5). The operator takes a grace period of -1 ms for none."""
    join = _JoinInputs.of(step, inputs)
    outer = (step.join in ("LEFT", "FULL"), step.join in ("RIGHT", "FULL"))
    records = join.records(context, left_nulls=outer[0], right_nulls=outer[1])
    before, after = step.within.before_ms, step.within.after_ms
    if step.join == "RIGHT":
        # a RIGHT join is a LEFT join with swapped inputs, but (before, after) are not swapped (§6.5)
        before, after = after, before
    grace = -1 if step.within.grace_ms is None else step.within.grace_ms
    # a record with a NULL value joins with nothing, but advances stream time
    inputs = [*records, *_heartbeats(step.idle_ms, context)]
    arguments = (*outer, join.condition(context), before, after, grace, step.idle_ms)
    state = {**join.state, "rows": "groups by side, bucket and key"}
    return join.result(_operator(context, "streamStreamJoin", inputs, *arguments, state=state), context)


def aggregate(
    step: steps.StreamAggregate | steps.StreamWindowedAggregate | steps.TableAggregate,
    inputs: Sequence[DataFrame],
    context: Context,
) -> DataFrame:
    """GROUP BY (reference §6.8): each row that has a value and a group updates Catalyst's aggregates."""
    types: dict[str, SqlType] = {}
    columns = []
    row = [c.name for c in step.child.schema.columns]
    for i, group in enumerate(step.group_by):
        types[f"__key_{i}"] = group.expression.type
        # a failure here gives a NULL group, which is reported anyway
        text = context.lower(group.expression, GROUP_BY, "GROUP BY", row, at_root=False)
        columns.append(named(text, f"__key_{i}"))
    keys = list(map(quoted, types))
    results: dict[Expression, str] = {
        ColumnRef(g.name, g.expression.type): f"first({k})" for g, k in zip(step.group_by, keys, strict=True)
    }
    key_types = [g.expression.type for g in step.group_by] or [INTEGER]
    state = {"key": _key_ddl(key_types)}
    for i, call in enumerate(step.aggregates):
        arguments = _arguments(call, i, "Aggregate.Prepare", row, context, types, columns)
        spec = registry.require(call.function)
        lowering = spec.spark
        if isinstance(step, steps.TableAggregate):
            lowering = spec.spark_table_distinct if call.distinct else spec.spark_table
            arguments.append(quoted(step.sign))
        elif call.distinct:
            lowering = spec.spark_distinct
        elif step.window is not None and step.window.kind == "SESSION" and spec.spark_merged is not None:
            lowering = spec.spark_merged
        assert lowering is not None  # the planner has checked it
        text = lowering(arguments, [a.type for a in call.arguments])
        state[str(call)] = text
        results[ColumnRef(call.name, call.type)] = f"cast({text} AS {spark_type(call.type)})"
    replaced = []
    if isinstance(step, steps.TableAggregate):
        types[step.sign] = INTEGER
        columns.append(named(f"if({quoted(step.sign)} < 0, -1, 1)", step.sign))
        replaced = [named(f"{quoted(step.sign)} < -1", _IS_REPLACED)]
    if not keys:  # one global group (push queries)
        types["__all"] = INTEGER
        columns.append("1 AS __all")
        keys = ["1"]
    output = [named(results[ColumnRef(a.name, a.type)], a.name) for a in step.aggregates]
    ddl = [f"{quoted(a.name)} {spark_type(a.type)}" for a in step.aggregates]
    if step.having is not None:
        output.append(named(f"coalesce({context.lower_having(step.having, results)}, false)", "__passes"))
        ddl.append("__passes boolean")
    partition = [ROWPARTITION] if context.tasks.by_partition else []
    hidden = [named(event_time_column(inputs[0].columns), ROWTIME), FORWARDED_HEADERS, NULL_VALUE]
    rows = (
        Transformations(inputs[0])
        .filter(f"NOT {NULL_VALUE}")
        .select(*columns, *hidden, *partition, *replaced)
    )
    side = _Side(_grouped(step.group_by, "GROUP BY", rows, context).frame(), types)
    window = step.window_spec if isinstance(step, steps.StreamWindowedAggregate) else None
    idle_ms = step.idle_ms if isinstance(step, steps.StreamWindowedAggregate) else 0
    size_ms = window.size_ms if window else 0
    if isinstance(step, steps.StreamAggregate) and step.ttl_ms is not None:
        size_ms = step.ttl_ms
        state["TTL"] = f"{size_ms} ms"
    template = jvm.empty_frame(context.session, side.ddl).selectExpr(*output)
    aggregator, buffers = jvm.aggregator(template, step.having is not None)
    for part, buffer in zip([*map(str, step.aggregates), "HAVING"], buffers, strict=False):
        if buffer:  # HAVING rarely has a buffer of its own
            state[f"buffer of {part}"] = buffer
    number = f"if({_IS_REPLACED}, {_REPLACED}, 0)" if replaced else "0"
    done = _operator(
        context,
        "aggregate",
        [side.records(number, keys, context), *_heartbeats(idle_ms, context)],
        aggregator,
        step.having is not None,
        window.kind if window else "NONE",
        size_ms,
        (window.advance_ms or window.size_ms) if window else 0,
        window.grace_ms if window else 0,
        isinstance(step, steps.StreamWindowedAggregate) and step.emit_final,
        isinstance(step, steps.StreamWindowedAggregate) and step.is_lossy,
        idle_ms,
        state=state,
    )
    bounds = [named("ws", WINDOWSTART), named("we", WINDOWEND)] if window else []
    done.select(
        named(_unpacked("k", _key_ddl(key_types)), "__k"),
        named(_unpacked("l", ", ".join(ddl)), "__l"),
        *_PASSED_THROUGH,
        named("l IS NULL", NULL_VALUE),
        *bounds,
    )
    groups = [named(f"__k.c{i}", g.name) for i, g in enumerate(step.group_by)]
    values = [named(f"__l.{quoted(a.name)}", a.name) for a in step.aggregates]
    hidden = [*_PASSED_THROUGH, NULL_VALUE, *([WINDOWSTART, WINDOWEND] if window else [])]
    return done.select(*groups, *values, *hidden).frame()


def _arguments(
    call: AggregateCall,
    number: int,
    step: str,
    row: Sequence[str],
    context: Context,
    types: dict[str, SqlType],
    columns: list[str],
) -> list[str]:
    """As aggregate_calls.arguments; failures are reported for ``step``, with the columns ``row``."""

    def lowered(expression: Expression, what: str) -> str:
        return context.lower(expression, step, what, row)

    return aggregate_calls.arguments(call, number, lowered, context.setting, types, columns)


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
    return f"ksql.pack(named_struct({members}))" if members else "X''"


def pack(step: steps.Packed, inputs: Sequence[DataFrame], context: Context) -> DataFrame:
    """Rows packed for an internal topic: columns K and V as bytes."""
    (frame,) = inputs
    key = _packed_key(step.key, context)
    names = [quoted(c.name) for c in step.child.schema.columns]
    if step.window is not None:
        names += [WINDOWSTART, WINDOWEND]
    if _has_null_key(step.child.schema):
        names.append(NULL_KEY if NULL_KEY in frame.columns else named("false", NULL_KEY))
    row = f"ksql.pack(struct({', '.join(names)}))"
    return frame.selectExpr(named(key, "K"), named(row, "V"), *_passed_through(context), NULL_VALUE)


def unpack(step: steps.Unpacked, inputs: Sequence[DataFrame], context: Context) -> DataFrame:
    """The rows that ``pack`` wrote to an internal topic."""
    ddl = _ddl(_types(step.schema))
    bounds = [WINDOWSTART, WINDOWEND] if step.window is not None else []
    ddl += "".join(f", {b} bigint" for b in bounds)
    null_key = []
    if _has_null_key(step.schema):
        ddl += f", {quoted(NULL_KEY)} boolean"
        null_key = [] if step.is_table else [named(f"__v.{NULL_KEY}", NULL_KEY)]
    keys = step.schema.key if step.is_table else ()
    hidden = [*_PASSED_THROUGH, NULL_VALUE, ROWPARTITION]
    headers = f"filter({FORWARDED_HEADERS}, h -> h.key <> '{sources.STREAM_TIME_HEADER}')"
    own = [named(headers, FORWARDED_HEADERS) if name == FORWARDED_HEADERS else name for name in hidden]
    parts = [named(_unpacked("V", ddl), "__v"), *own]
    if keys:
        parts.append(named(_unpacked("K", _key_ddl([c.type for c in keys])), "__k"))
    columns = [named(f"__k.c{i}", c.name) for i, c in enumerate(keys)]
    taken = {c.name for c in keys}
    columns += [named(f"__v.{quoted(c.name)}", c.name) for c in step.schema.columns if c.name not in taken]
    columns += [named(f"__v.{b}", b) for b in bounds]
    return Transformations(inputs[0]).select(*parts).select(*columns, *null_key, *hidden).frame()


def table_changes(step: steps.TableChanges, inputs: Sequence[DataFrame], context: Context) -> DataFrame:
    """Old rows to retract and new rows to add; the sign (see the step) is the last column."""
    sign = step.schema.columns[-1]
    side = _Side.of(inputs[0], step.child.schema)
    bounds = [] if step.child.window is None else [WINDOWSTART, WINDOWEND]
    keys = [*(quoted(c.name) for c in step.child.schema.key), *bounds]
    key_ddl = _key_ddl([*(c.type for c in step.child.schema.key), *(BIGINT for _ in bounds)])
    state = {"key": key_ddl, "row": side.ddl}
    records = _rows_of_table(side, step.child.schema).records(0, keys, context, packs_nulls=True)
    rows = _operator(context, "tableChanges", [records], state=state)
    shown = [name for name in bounds if step.schema.find(name)]
    hidden = [*shown, *_PASSED_THROUGH, NULL_VALUE]
    key = _unpacked("k", key_ddl)
    rows.select(
        named(_unpacked("l", side.ddl), "__row"),
        named(_unpacked("r", side.ddl), "__next"),
        named("cast(ws AS int)", sign.name),
        *(named(f"{key}.c{len(keys) - 2 + bounds.index(name)}", name) for name in shown),
        *_PASSED_THROUGH,
        named("false", NULL_VALUE),
    )
    done = rows.frame()
    if step.key is not None:
        group = _packed_key(step.key, context)
        both = ["__row", "__next", quoted(sign.name), *hidden]
        done = done.selectExpr("*", "__row.*").selectExpr(*both, named(group, "__group"))
        done = done.selectExpr("*", "__next.*").selectExpr(*both, "__group", named(group, "__next_group"))
        is_replaced = "__next IS NOT NULL AND __group = __next_group"
        done = done.selectExpr(
            "__row", named(f"if({is_replaced}, -2, {quoted(sign.name)})", sign.name), *hidden
        )
    return done.selectExpr("__row.*", *shown, quoted(sign.name), *_PASSED_THROUGH, NULL_VALUE)


def foreign_key_subscribe(
    step: steps.ForeignKeySubscribe, inputs: Sequence[DataFrame], context: Context
) -> DataFrame:
    """See ForeignKeyJoin.java, Subscribe."""
    side = _Side.of(inputs[0], step.child.schema)
    keys = ", ".join(f"'c{i}', {quoted(c.name)}" for i, c in enumerate(step.child.schema.key))
    foreign = context.lower_silently(step.foreign_key)
    row = f"ksql.pack(struct({', '.join(map(quoted, side.types))}))"
    frame = side.frame.selectExpr(
        named(f"ksql.pack(named_struct({keys}))", "k"),
        named(f"if(({foreign}) IS NULL, X'', ksql.pack(named_struct('c0', {foreign})))", "f"),
        named(row, "v"),
        named(ROWTIME, "ts"),
        named(_PACKED_HEADERS, "h"),
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
        "key": _key_ddl([c.type for c in step.child.schema.key]),
        "foreign key": _key_ddl([step.foreign_key.type]),
        "row": side.ddl,
    }
    done = _operator(context, "foreignKeySubscribe", [records], step.join == "LEFT", state=state)
    return done.select("k AS K", "l AS V", *_PASSED_THROUGH, named("false", NULL_VALUE)).frame()


def _messages(frame: DataFrame, context: Context) -> DataFrame:
    """The messages between two parts of a foreign-key join, as a keyed operator's input."""
    task = named(context.task("K"), "task")
    return frame.selectExpr(
        task, "K AS k", "0 AS side", named(ROWTIME, "ts"), "V AS v", named(_PACKED_HEADERS, "h")
    )


def foreign_key_answer(
    step: steps.ForeignKeyAnswer, inputs: Sequence[DataFrame], context: Context
) -> DataFrame:
    """See ForeignKeyJoin.java, Answer."""
    asked = _messages(inputs[0], context)
    side = _Side.of(inputs[1], step.right.schema)
    right = side.records(1, [context.lower_silently(step.right_key)], context)
    state = {"key": _key_ddl([step.right_key.type]), "right": side.ddl}
    done = _operator(context, "foreignKeyAnswer", [asked, right], step.join == "LEFT", state=state)
    value = "concat(cast(length(l) AS binary), l, coalesce(r, X''))"
    return done.select("k AS K", named(value, "V"), *_PASSED_THROUGH, named("false", NULL_VALUE)).frame()


def foreign_key_latest(
    step: steps.ForeignKeyLatest, inputs: Sequence[DataFrame], context: Context
) -> DataFrame:
    """See ForeignKeyJoin.java, Latest."""
    keys = step.left.key
    key_ddl = _key_ddl([c.type for c in keys])
    done = _operator(context, "foreignKeyLatest", [_messages(inputs[0], context)], state={"key": key_ddl})
    left, right = _types(step.left), _types(step.right)
    done.select(
        named(_unpacked("k", key_ddl), "__k"),
        named(_unpacked("l", _ddl(left)), "__l"),
        named(_unpacked("r", _ddl(right)), "__r"),
        *_PASSED_THROUGH,
        named("l IS NULL", NULL_VALUE),
    )
    names = {c.name: f"__k.c{i}" for i, c in enumerate(keys)}
    columns = []
    for column in step.schema.columns:
        side = "__l" if column.name in left else "__r"
        columns.append(named(names.get(column.name, f"{side}.{quoted(column.name)}"), column.name))
    return done.select(*columns, *_PASSED_THROUGH, NULL_VALUE).frame()
