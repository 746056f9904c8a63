"""build: physical steps to a DataFrame, one small function per step.

Every frame has exactly the columns that physical.steps describes. Expressions are passed to the JVM
as Spark SQL text, a whole projection in one call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from pyspark.sql import DataFrame

from ksql_spark.expressions import columns_in, name_text
from ksql_spark.logical.nodes import NamedExpression
from ksql_spark.physical import steps
from ksql_spark.physical.steps import EVENT_TIME, FORWARDED_HEADERS, NULL_KEY, NULL_VALUE, STREAM_TIME, Step
from ksql_spark.schema import ROWOFFSET, ROWPARTITION, ROWTIME, WINDOWEND, WINDOWSTART
from ksql_spark.spark import keyed, matching, python_calls, sources
from ksql_spark.spark.frames import Context, event_time_column, exploded, named, quoted

#: hidden columns that projections pass on, where they exist
_HIDDEN = (
    ROWTIME,
    EVENT_TIME,
    NULL_VALUE,
    NULL_KEY,
    ROWPARTITION,
    ROWOFFSET,
    WINDOWSTART,
    WINDOWEND,
    FORWARDED_HEADERS,
    STREAM_TIME,
)


def build(step: Step, context: Context) -> DataFrame:
    """The frame of ``step``, built on the frames of all steps below it."""
    inputs = []
    for child in step.inputs:
        if isinstance(step, steps.TableKeepingStep) and isinstance(child, steps.TableFilter):
            inputs.append(keyed.deleting(child, build(child.child, context), context))
        else:
            inputs.append(build(child, context))
    if context.log is not None:
        topic = steps.record_topic(step.inputs[0]) if len(step.inputs) == 1 else None
        context = replace(context, log=context.log.of_topic(topic))
    # a branch of merged inputs handles one record at a time, so its calls are made row by row
    called = None if context.tasks.is_merged else python_calls.compute(step, inputs, context.log)
    if called is None:
        return BUILDERS[type(step)](step, inputs, context)
    context = replace(context, computed=called.texts)
    return called.drop(BUILDERS[type(step)](step, [called.frame, *inputs[1:]], context))


def _hidden(frame: DataFrame, taken: Iterable[str]) -> list[str]:
    there, taken = set(frame.columns), set(taken)
    return [quoted(name) for name in _HIDDEN if name in there and name not in taken]


def _all(columns: Iterable[NamedExpression], context: Context, step: str, child: Step) -> list[str]:
    row = [c.name for c in child.schema.columns]
    return [
        named(context.lower(c.expression, step, f"Column {name_text(c.name)}", row), c.name) for c in columns
    ]


def _source(
    step: steps.StreamSource | steps.TableSource, _: Sequence[DataFrame], context: Context
) -> DataFrame:
    raw = context.records
    if raw is None:
        raw = sources.read(
            context.session,
            context.consumer,
            step.source.topic,
            context.starts,
            is_batch=context.is_batch,
            options=context.options_of(step.source, isinstance(step, steps.TableSource) and step.is_first),
        )
    return sources.decode(
        raw,
        step.source,
        step.prefix,
        step.exposed,
        context.log,
        context.setting,
        step.records,
        keeps_null_keys=context.tasks.ignored_have_turns,
    )


def _stream_filter(step: steps.StreamFilter, inputs: Sequence[DataFrame], context: Context) -> DataFrame:
    row = [c.name for c in step.schema.columns]
    predicate = context.lower(step.predicate, "WhereFilter", "WHERE", row)
    return inputs[0].filter(f"NOT {NULL_VALUE} AND {predicate}")


def _select_key(step: steps.StreamSelectKey, inputs: Sequence[DataFrame], context: Context) -> DataFrame:
    """PARTITION BY (reference §6.3). If a value is NULL, so is each key that needs more than the old key."""
    new = {k.name for k in step.keys}
    rest = [quoted(c.name) for c in step.schema.columns if c.name not in new]
    row = [c.name for c in step.child.schema.columns]
    old_key = {c.name for c in step.child.schema.key}
    keys = []
    for key in step.keys:
        text = context.lower(key.expression, "PartitionBy", f"Column {name_text(key.name)}", row)
        if not columns_in(key.expression) <= old_key:
            text = f"if({NULL_VALUE}, NULL, {text})"
        keys.append(named(text, key.name))
    if ROWTIME in new:
        rest.append(named(event_time_column(inputs[0].columns), EVENT_TIME))
        new.add(EVENT_TIME)
    return inputs[0].selectExpr(*keys, *rest, *_hidden(inputs[0], {*new, NULL_KEY}))


def _flat_map(step: steps.StreamFlatMap, inputs: Sequence[DataFrame], context: Context) -> DataFrame:
    functions = _all(step.functions, context, "FlatMap", step.child)
    return exploded(inputs[0].filter(f"NOT {NULL_VALUE}"), functions, [f.name for f in step.functions])


def _select(
    step: steps.StreamSelect | steps.TableSelect, inputs: Sequence[DataFrame], context: Context
) -> DataFrame:
    columns = (*step.keys, *step.values)
    made = _all(columns, context, "Project", step.child)
    return inputs[0].selectExpr(*made, *_hidden(inputs[0], (c.name for c in columns)))


def _union(step: steps.StreamUnion, inputs: Sequence[DataFrame], _: Context) -> DataFrame:
    frames = []
    own_time = EVENT_TIME if any(c.name == ROWTIME for c in step.schema.columns) else ROWTIME
    for child, frame in zip(step.branches, inputs, strict=True):
        pairs = zip(child.schema.columns, step.schema.columns, strict=True)
        renamed = [named(quoted(theirs.name), ours.name) for theirs, ours in pairs]
        null_key = NULL_KEY if NULL_KEY in frame.columns else named("false", NULL_KEY)
        time = named(event_time_column(frame.columns), own_time)
        frames.append(frame.selectExpr(*renamed, time, NULL_VALUE, null_key, FORWARDED_HEADERS))
    result = frames[0]
    for frame in frames[1:]:
        result = result.unionAll(frame)
    return result


def _transient_select(step: steps.TransientSelect, inputs: Sequence[DataFrame], _: Context) -> DataFrame:
    flag, *results = step.schema.columns
    # a stream's NULL value is not shown; a table's is a deletion
    frame = inputs[0] if step.is_table else inputs[0].filter(f"NOT {NULL_VALUE}")
    columns = [named(NULL_VALUE if step.is_table else "false", flag.name)]
    places = results[len(step.output) :]
    for name, column in zip(step.output, results[: len(step.output)], strict=True):
        is_masked = step.is_table and name not in step.keys
        columns.append(
            named(f"if({NULL_VALUE}, NULL, {quoted(name)})" if is_masked else quoted(name), column.name)
        )
    if places:
        hidden = (ROWPARTITION, ROWOFFSET)
        columns += (named(quoted(n), column.name) for n, column in zip(hidden, places, strict=True))
    time = named(event_time_column(frame.columns), ROWTIME)
    return frame.selectExpr(*columns, time, named("false", NULL_VALUE))


#: step -> builder: the step, the frames of its children, the context
BUILDERS: dict[type[Step], Callable[[Any, Sequence[DataFrame], Context], DataFrame]] = {
    steps.ForeignKeyAnswer: keyed.foreign_key_answer,
    steps.ForeignKeyLatest: keyed.foreign_key_latest,
    steps.ForeignKeySubscribe: keyed.foreign_key_subscribe,
    steps.Packed: keyed.pack,
    steps.StreamAggregate: keyed.aggregate,
    steps.StreamDeduplicate: keyed.deduplicate,
    steps.StreamFilter: _stream_filter,
    steps.StreamFlatMap: _flat_map,
    steps.StreamMatchRecognize: matching.match_recognize,
    steps.StreamOver: keyed.over,
    steps.StreamSelect: _select,
    steps.StreamSelectKey: _select_key,
    steps.StreamSource: _source,
    steps.StreamStreamJoin: keyed.stream_stream_join,
    steps.StreamTableJoin: keyed.stream_table_join,
    steps.StreamTopN: keyed.top_n,
    steps.StreamUnion: _union,
    steps.StreamVersionedTableJoin: keyed.stream_table_join,
    steps.StreamWindowedAggregate: keyed.aggregate,
    steps.TableAggregate: keyed.aggregate,
    steps.TableChanges: keyed.table_changes,
    steps.TableExpire: keyed.expire,
    steps.TableFilter: keyed.table_filter,
    steps.TableSelect: _select,
    steps.TableSetOperation: keyed.set_operation,
    steps.TableSource: _source,
    steps.TableTableJoin: keyed.table_table_join,
    steps.TableTopN: keyed.top_n,
    steps.TransientSelect: _transient_select,
    steps.Unpacked: keyed.unpack,
}
