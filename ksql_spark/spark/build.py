"""build: physical steps to a DataFrame, one small function per step.

Every frame has exactly the columns that physical.steps describes. All expressions go over to the JVM as
Spark SQL text, a whole projection in one call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from ksql_spark.expressions import Expression, Literal
from ksql_spark.functions import registry
from ksql_spark.functions.lowering import lower
from ksql_spark.functions.spark_text import spark_type
from ksql_spark.logical.nodes import AggregateCall, Named
from ksql_spark.physical import steps
from ksql_spark.physical.steps import NULL_VALUE, Step
from ksql_spark.schema import ROWOFFSET, ROWPARTITION, ROWTIME, WINDOWEND, WINDOWSTART
from ksql_spark.spark import sources
from ksql_spark.spark.sources import quoted
from ksql_spark.types import SqlType


@dataclass(frozen=True)
class Context:
    """What building needs beside the steps.

    Args:
        session: a session of the query's own, so that settings of queries do not meet.
        servers: bootstrap servers.
        starts: topic -> Spark's ``startingOffsets`` for it (JSON or "earliest").
        is_batch: read what the topics hold now, then end (pull queries on streams).
        held: topics to read nothing of for now (while the tables of a join are loaded).
    """

    session: SparkSession
    servers: str
    starts: Mapping[str, str]
    is_batch: bool = False
    held: frozenset[str] = frozenset()


def build(step: Step, context: Context) -> DataFrame:
    """The frame of ``step`` and all below it."""
    return _BUILDERS[type(step)](step, context)


#: hidden columns that go along with rows as long as they are there
_HIDDEN = (ROWTIME, NULL_VALUE, ROWPARTITION, ROWOFFSET, WINDOWSTART, WINDOWEND)
#: hidden columns of every frame; an aggregate or a join has no others but its window
_ALWAYS = (ROWTIME, NULL_VALUE)


def _hidden(frame: DataFrame, taken: Iterable[str], wanted: Sequence[str] = _HIDDEN) -> list[str]:
    there, taken = set(frame.columns), set(taken)
    return [quoted(name) for name in wanted if name in there and name not in taken]


def _as(text: str, name: str) -> str:
    return f"{text} AS {quoted(name)}"


def _named(columns: Iterable[Named]) -> list[str]:
    return [_as(lower(c.expression), c.name) for c in columns]


def _source(step: steps.StreamSource | steps.TableSource, context: Context) -> DataFrame:
    raw = sources.read(
        context.session,
        context.servers,
        step.source.topic,
        context.starts,
        is_batch=context.is_batch,
        is_held=step.source.topic in context.held,
    )
    return sources.decode(raw, step.source, step.prefix, step.exposed)


def _stream_filter(step: steps.StreamFilter, context: Context) -> DataFrame:
    return build(step.child, context).filter(f"NOT {NULL_VALUE} AND {lower(step.predicate)}")


def _table_filter(step: steps.TableFilter, context: Context) -> DataFrame:
    frame = _deleting(step, context)
    key = _state_key([quoted(c.name) for c in step.schema.key])
    tagged = frame.selectExpr(
        _as(key, "k"),
        _as(NULL_VALUE, "deleted"),
        _as(f"struct({', '.join(map(quoted, frame.columns))})", "row"),
    )
    kept = _operator(context, "passPresent", tagged)
    return kept.selectExpr("row.*")


def _deleting(step: steps.TableFilter, context: Context) -> DataFrame:
    """The child with rows that do not match turned into deletions."""
    frame = build(step.child, context)
    deleted = f"({NULL_VALUE} OR NOT coalesce({lower(step.predicate)}, false))"
    kept = [quoted(c) for c in frame.columns if c != NULL_VALUE]
    return frame.selectExpr(*kept, _as(deleted, NULL_VALUE))


def _select_key(step: steps.StreamSelectKey, context: Context) -> DataFrame:
    frame = build(step.child, context)
    new = {k.name for k in step.keys}
    rest = [quoted(c.name) for c in step.schema.columns if c.name not in new]
    return frame.selectExpr(*_named(step.keys), *rest, *_hidden(frame, new))


def _flat_map(step: steps.StreamFlatMap, context: Context) -> DataFrame:
    frame = build(step.child, context).filter(f"NOT {NULL_VALUE}")
    arrays = []
    for function in step.functions:
        arrays.append(_as(lower(function.expression), function.name))
    zipped = frame.selectExpr(*map(quoted, frame.columns), *arrays)
    names = ", ".join(quoted(f.name) for f in step.functions)
    kept = [quoted(c) for c in frame.columns]
    exploded = zipped.selectExpr(*kept, f"explode(arrays_zip({names})) AS __row")
    return exploded.selectExpr(*kept, *(_as(f"__row.{quoted(f.name)}", f.name) for f in step.functions))


def _select(step: steps.StreamSelect | steps.TableSelect, context: Context) -> DataFrame:
    frame = build(step.child, context)
    columns = (*step.keys, *step.values)
    taken = {c.name for c in columns}
    return frame.selectExpr(*_named(columns), *_hidden(frame, taken))


def _aggregate_calls(calls: Sequence[AggregateCall]) -> tuple[list[str], list[Any]]:
    """Texts of the argument columns, and the aggregate columns over them."""
    arguments: list[str] = []
    results = []
    for i, call in enumerate(calls):
        spec = registry.require(call.function)
        assert spec.spark is not None
        names = [quoted(f"__arg_{i}_{j}") for j in range(len(call.arguments))]
        arguments += [f"{lower(a)} AS {n}" for a, n in zip(call.arguments, names, strict=True)]
        # constants (k of TOPK, flags) must stay literals inside the aggregate
        texts = [lower(a) if _is_constant(a) else n for a, n in zip(call.arguments, names, strict=True)]
        results.append(F.expr(spec.spark(texts, [a.type for a in call.arguments])).alias(call.name))
    return arguments, results


def _is_constant(expression: Expression) -> bool:
    return isinstance(expression, Literal)


def _grouped(
    step: steps.StreamAggregate | steps.StreamWindowedAggregate, context: Context, arguments: list[str]
) -> DataFrame:
    """Rows that count (§6.8: no NULL value, no NULL group), with grouping and argument columns."""
    frame = build(step.child, context).filter(f"NOT {NULL_VALUE}")
    frame = frame.selectExpr(*_named(step.group_by), *arguments, _as(quoted(ROWTIME), ROWTIME))
    groups = " AND ".join(f"{quoted(g.name)} IS NOT NULL" for g in step.group_by)
    return frame.filter(groups) if groups else frame


def _aggregate(step: steps.StreamAggregate, context: Context) -> DataFrame:
    arguments, results = _aggregate_calls(step.aggregates)
    frame = _grouped(step, context, arguments)
    keys = [F.col(quoted(g.name)) for g in step.group_by]
    done = frame.groupBy(*keys).agg(*results, F.max(ROWTIME).alias(ROWTIME))
    return done.selectExpr(*(quoted(c.name) for c in step.schema.columns), ROWTIME, _as("false", NULL_VALUE))


def _windowed_aggregate(step: steps.StreamWindowedAggregate, context: Context) -> DataFrame:
    spec = step.window_spec
    arguments, results = _aggregate_calls(step.aggregates)
    frame = _grouped(step, context, arguments)
    frame = frame.selectExpr(*map(quoted, frame.columns), "timestamp_millis(ROWTIME) AS __event_time")
    # Spark drops a row when its window's end is at or before the watermark, KSQL when end + grace is at or
    # before stream time (§6.9): the same rule, but the watermark moves at checkpoint boundaries only.
    frame = frame.withWatermark("__event_time", f"{spec.grace_ms} milliseconds")
    size, advance = f"{spec.size_ms} milliseconds", f"{spec.advance_ms or spec.size_ms} milliseconds"
    window = F.window("__event_time", size, advance).alias("__window")
    keys = [F.col(quoted(g.name)) for g in step.group_by]
    done = frame.groupBy(*keys, window).agg(*results, F.max(ROWTIME).alias(ROWTIME))
    return done.selectExpr(
        *(quoted(c.name) for c in step.schema.columns),
        ROWTIME,
        _as("false", NULL_VALUE),
        _as("unix_millis(__window.start)", WINDOWSTART),
        _as("unix_millis(__window.end)", WINDOWEND),
    )


def _state_key(texts: Sequence[str]) -> str:
    """Bytes that are equal where all values are equal and not NULL; the key of a keyed operator's state."""
    if len(texts) == 1:
        return f"cast(cast({texts[0]} AS string) AS binary)"
    return f"cast(to_json(struct({', '.join(texts)})) AS binary)"


def _side(
    frame: DataFrame, side: int, key: Expression, own: str, other_fields: str, *, keep_null_key: bool
) -> DataFrame:
    """One input of a join as (k, side, ts, l, r): its row in its own struct, the other NULL."""
    row = f"struct({', '.join(quoted(c) for c in frame.columns if c not in _HIDDEN)})"
    row = f"if({NULL_VALUE}, NULL, {row})"
    empty = f"cast(NULL AS {other_fields})"
    k = _state_key([lower(key)])
    # a NULL key meets nothing; where its row must come out all the same it goes by a key no value has
    k = f"coalesce(concat(X'01', {k}), X'00')"
    left, right = (row, empty) if own == "l" else (empty, row)
    tagged = frame.selectExpr(
        _as(k, "k"), _as(str(side), "side"), _as(ROWTIME, "ts"), _as(left, "l"), _as(right, "r")
    )
    return tagged if keep_null_key else tagged.filter("k <> X'00'")


def _struct_type(schema: Any, frame: DataFrame) -> str:
    types: dict[str, SqlType] = {c.name: c.type for c in schema.columns}
    fields = (f"{quoted(c)}: {spark_type(types[c])}" for c in frame.columns if c not in _HIDDEN)
    return f"STRUCT<{', '.join(fields)}>"


def _operator(context: Context, name: str, frame: DataFrame, *arguments: Any) -> DataFrame:
    """Apply one of the JVM's keyed operators."""
    operators = context.session._jvm.org.ksqlspark.KeyedOperators  # type: ignore[union-attr]
    return DataFrame(getattr(operators, name)(frame._jdf, *arguments), context.session)


def _stream_table_join(step: steps.StreamTableJoin, context: Context) -> DataFrame:
    left, right = build(step.left, context), _join_table(step.right, context)
    left = left.filter(f"NOT {NULL_VALUE}")
    left_type, right_type = _struct_type(step.left.schema, left), _struct_type(step.right.schema, right)
    is_outer = step.join == "LEFT"
    both = _side(left, 0, step.left_key, "l", right_type, keep_null_key=is_outer).unionAll(
        _side(right, 1, step.right_key, "r", left_type, keep_null_key=False)
    )
    return _with_key(step, _operator(context, "streamTableJoin", both, is_outer))


def _join_table(step: Step, context: Context) -> DataFrame:
    """A table as a join's input: what a filter drops is a deletion, which needs no state of its own here."""
    return _deleting(step, context) if isinstance(step, steps.TableFilter) else build(step, context)


def _stream_stream_join(step: steps.StreamStreamJoin, context: Context) -> DataFrame:
    left = build(step.left, context).filter(f"NOT {NULL_VALUE}")
    right = build(step.right, context).filter(f"NOT {NULL_VALUE}")
    left_type, right_type = _struct_type(step.left.schema, left), _struct_type(step.right.schema, right)
    both = _side(left, 0, step.left_key, "l", right_type, keep_null_key=False).unionAll(
        _side(right, 1, step.right_key, "r", left_type, keep_null_key=False)
    )
    within = step.within
    grace = 24 * 3600 * 1000 if within.grace_ms is None else within.grace_ms
    joined = _operator(context, "streamStreamJoin", both, within.before_ms, within.after_ms, grace)
    return _with_key(step, joined)


def _with_key(step: steps.StreamTableJoin | steps.StreamStreamJoin, joined: DataFrame) -> DataFrame:
    """The step's columns out of (k, ts, l, r); the key column carries the join value of the left side."""
    flat = joined.selectExpr("l.*", "r.*", _as("ts", ROWTIME), _as("false", NULL_VALUE))
    keyed = [] if step.key_name in flat.columns else [_as(lower(step.left_key), step.key_name)]
    if step.key_name in {c.name for c in step.right.schema.columns}:
        # the right side's column stands for the join value, which only the left side always has
        columns = [c for c in flat.columns if c != step.key_name]
        return flat.selectExpr(_as(lower(step.left_key), step.key_name), *map(quoted, columns))
    return flat.selectExpr(*keyed, *map(quoted, flat.columns))


def _union(step: steps.StreamUnion, context: Context) -> DataFrame:
    first, *rest = step.children
    frame = build(first, context)
    for child in rest:
        other = build(child, context)
        pairs = zip(child.schema.columns, step.schema.columns, strict=True)
        renamed = [_as(quoted(theirs.name), ours.name) for theirs, ours in pairs]
        hidden = _hidden(frame, (), _ALWAYS)
        frame = frame.selectExpr(*(quoted(c.name) for c in step.schema.columns), *hidden).unionAll(
            other.selectExpr(*renamed, *hidden)
        )
    return frame


def _transient_select(step: steps.TransientSelect, context: Context) -> DataFrame:
    frame = build(step.child, context)
    flag, *results = step.schema.columns
    deleted = NULL_VALUE if step.is_table else "false"
    columns = [_as(deleted, flag.name)]
    for name, column in zip(step.output, results, strict=True):
        masked = step.is_table and name not in step.keys
        columns.append(
            _as(f"if({NULL_VALUE}, NULL, {quoted(name)})" if masked else quoted(name), column.name)
        )
    return frame.selectExpr(*columns, _as(quoted(ROWTIME), ROWTIME), _as("false", NULL_VALUE))


_BUILDERS: dict[type, Callable[[Any, Context], DataFrame]] = {
    steps.StreamSource: _source,
    steps.TableSource: _source,
    steps.StreamFilter: _stream_filter,
    steps.TableFilter: _table_filter,
    steps.StreamSelectKey: _select_key,
    steps.StreamFlatMap: _flat_map,
    steps.StreamSelect: _select,
    steps.TableSelect: _select,
    steps.StreamAggregate: _aggregate,
    steps.StreamWindowedAggregate: _windowed_aggregate,
    steps.StreamTableJoin: _stream_table_join,
    steps.StreamStreamJoin: _stream_stream_join,
    steps.StreamUnion: _union,
    steps.TransientSelect: _transient_select,
}
