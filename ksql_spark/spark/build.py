"""build: a stage of a plan to a DataFrame, one small function per class of nodes.

A node's frame has exactly these columns: those of its schema by name, ROWTIME (BIGINT, epoch ms), NULL_VALUE
(BOOLEAN: the record's value is NULL) and, where they exist, EVENT_TIME, NULL_KEY, FORWARDED_HEADERS,
ROWPARTITION, ROWOFFSET, WINDOWSTART, WINDOWEND, and the sign of changes. Expressions are passed to the JVM as
Spark SQL text, a whole projection in one call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pyspark.sql import DataFrame

from ksql_spark.expressions import Expression, columns_in, name_text
from ksql_spark.metastore.sources import TABLE, DataSource
from ksql_spark.plan import nodes, operations, trees
from ksql_spark.plan.clauses import NamedExpression
from ksql_spark.plan.distribution import stays
from ksql_spark.plan.nodes import Node
from ksql_spark.plan.stages import Plan, internal_source
from ksql_spark.schema import (
    EVENT_TIME,
    FORWARDED_HEADERS,
    NULL_KEY,
    NULL_VALUE,
    ROWOFFSET,
    ROWPARTITION,
    ROWTIME,
    STREAM_TIME,
    WINDOW_BOUNDS,
    WINDOWEND,
    WINDOWSTART,
)
from ksql_spark.spark import python_calls, sources
from ksql_spark.spark.frames import (
    Built,
    Context,
    Signs,
    Topics,
    event_time_column,
    exploded,
    named,
    quoted,
    union,
)
from ksql_spark.spark.keyed import aggregates, exchanges, foreign_keys, joins, matching, partition_by, tables

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
    nodes.SIGN,
)


def build(context: Context) -> Built:
    """The frame of what the stage of ``context`` writes."""
    stage = context.stage
    built = _built(stage.root, context)
    if stage.exchange is not None:
        if stage.exchange.carries_messages:
            return built
        return replace(built, frame=exchanges.pack(stage.exchange, built.frame, context))
    if stage.plan.output is None:
        return built
    return replace(built, frame=_output(stage.plan, stage.plan.output, built.frame))


def _built(node: Node, context: Context) -> Built:
    """The frame of ``node``, built on the frames of all operations below it."""
    number = operations.operators_below(node)
    below = list(_inputs(node, context))
    if number and operations.keeps_state(node):
        # rows stay in their task, or an operation with state has dealt them out by their keys
        tasks = replace(context.tasks, by_partition=stays(node), is_merged=False)
        context = replace(context, tasks=tasks, number=number)
    inputs = [built.frame for built in below]
    if context.log is not None:
        topic = operations.record_topic(operations.inputs(node)[0]) if len(inputs) == 1 else None
        context = replace(context, log=context.log.of_topic(topic))
    # a branch of merged inputs handles one record at a time, so its calls are made row by row
    called = None if context.tasks.is_merged else python_calls.compute(node, inputs, context.log)
    if called is not None:
        context, inputs = replace(context, computed=called.texts), [called.frame, *inputs[1:]]
    result = BUILDERS[type(node)](node, inputs, context)
    built = result if isinstance(result, Built) else Built(result)
    if called is not None:
        built = replace(built, frame=called.drop(built.frame))
    keeping = next((each for each in below if each.layout), None)
    if keeping is None:
        return built
    return built.after(keeping, number) if built.layout else replace(keeping, frame=built.frame)


def _inputs(node: Node, context: Context) -> Iterator[Built]:
    for side, child in enumerate(operations.inputs(node)):
        is_first = isinstance(node, nodes.Join) and node.is_loaded_first and side == 1
        completes = isinstance(node, nodes.KeepUnchanged)
        below = replace(context, is_first=is_first, completes=completes, says=_signs(node, context))
        if operations.keeps_state(node) and below.says is None:  # else it is a filter without state
            is_needed = stays(node) and operations.operators_below(node) > 0
            tasks = replace(below.tasks, keeps_partition=is_needed, feeds_task=is_needed)
            below = replace(below, tasks=tasks)
        if operations.unfiltered(node, child) is child or below.says is not None:
            yield _built(child, below)
        elif isinstance(child, nodes.Filter):
            built = _built(child.child, below)
            yield replace(built, frame=tables.deleting(child, built.frame, below))
        else:
            yield from (_built(source, replace(below, completes=True)) for source in trees.children(child))


def _signs(node: Node, context: Context) -> Signs | None:
    """How the operations below say how their rows change: they do for ``Changes``, through projections."""
    match node:
        case nodes.Changes(is_direct=True):
            return Signs.of(node)
        case nodes.Project():
            return context.says
        case nodes.Filter() if operations.is_table_filter(node):
            return context.says
    return None


def _hidden(frame: DataFrame, visible: Iterable[str]) -> list[str]:
    there, visible = set(frame.columns), set(visible)
    return [quoted(name) for name in _HIDDEN if name in there and name not in visible]


def _all(columns: Iterable[NamedExpression], context: Context, step: str, child: Node) -> list[str]:
    row = [c.name for c in child.schema.columns]
    return [
        named(_lowered(c.expression, context, step, f"Column {name_text(c.name)}", row), c.name)
        for c in columns
    ]


def _lowered(expression: Expression, context: Context, step: str, what: str, row: Sequence[str]) -> str:
    """As ``Context.lower``; a failure was reported when the row came, not when it is taken back."""
    text = context.lower(expression, step, what, row)
    if context.says is None or text == (silent := context.lower_silently(expression)):
        return text
    return f"if({nodes.SIGN} < 0, {silent}, {text})"


def _source(node: nodes.Source, _: Sequence[DataFrame], context: Context) -> DataFrame:
    prefix = f"{node.alias}_" if node.prefixed else ""
    return _read(node.source, prefix, node.exposed, context)


def _exchange(node: nodes.Exchange, _: Sequence[DataFrame], context: Context) -> DataFrame:
    frame = _read(internal_source(node), "", (), context)
    return frame if node.carries_messages else exchanges.unpack(node, frame)


def _read(source: DataSource, prefix: str, exposed: tuple[str, ...], context: Context) -> DataFrame:
    reads = context.reads
    if isinstance(reads, Topics):
        options = context.options_of(source, reads)
        reads = sources.read(context.session, reads.consumer, source.topic, reads.starts, options=options)
    return sources.decode(
        reads,
        source,
        prefix,
        exposed,
        context.log,
        context.setting,
        context.stage.plan.serdes.get(source),
        keeps_null_keys=context.tasks.ignored_have_turns,
        has_unchanged=context.completes,
    )


def _filter(node: nodes.Filter, inputs: Sequence[DataFrame], context: Context) -> Built | DataFrame:
    if isinstance(node.child, nodes.Aggregate):
        return aggregates.aggregate(node, inputs, context)
    if node.kind == TABLE and context.says is None:
        return tables.table_filter(node, inputs, context)
    row = [c.name for c in node.schema.columns]
    predicate = _lowered(node.predicate, context, "WhereFilter", "WHERE", row)
    return inputs[0].filter(f"NOT {NULL_VALUE} AND {predicate}")


def _select_key(node: nodes.SelectKey, inputs: Sequence[DataFrame], context: Context) -> DataFrame:
    """PARTITION BY (reference §6.3). If a value is NULL, so is each key that needs more than the old key."""
    new = {k.name for k in node.keys}
    rest = [quoted(c.name) for c in node.schema.columns if c.name not in new]
    row = [c.name for c in node.child.schema.columns]
    old_key = {c.name for c in node.child.schema.key}
    keys = []
    for key in node.keys:
        text = context.lower(key.expression, "PartitionBy", f"Column {name_text(key.name)}", row)
        if not columns_in(key.expression) <= old_key:
            text = f"if({NULL_VALUE}, NULL, {text})"
        keys.append(named(text, key.name))
    if ROWTIME in new:
        rest.append(named(event_time_column(inputs[0].columns), EVENT_TIME))
        new.add(EVENT_TIME)
    return inputs[0].selectExpr(*keys, *rest, *_hidden(inputs[0], {*new, NULL_KEY}))


def _flat_map(node: nodes.FlatMap, inputs: Sequence[DataFrame], context: Context) -> DataFrame:
    functions = _all(node.functions, context, "FlatMap", node.child)
    return exploded(inputs[0].filter(f"NOT {NULL_VALUE}"), functions, [f.name for f in node.functions])


def _project(node: nodes.Project, inputs: Sequence[DataFrame], context: Context) -> DataFrame:
    columns = (*node.keys, *node.values)
    selected = _all(columns, context, "Project", node.child)
    return inputs[0].selectExpr(*selected, *_hidden(inputs[0], (c.name for c in columns)))


def _union(node: nodes.UnionAll, inputs: Sequence[DataFrame], _: Context) -> DataFrame:
    frames = []
    own_time = EVENT_TIME if any(c.name == ROWTIME for c in node.schema.columns) else ROWTIME
    for child, frame in zip(node.children, inputs, strict=True):
        pairs = zip(child.schema.columns, node.schema.columns, strict=True)
        renamed = [named(quoted(theirs.name), ours.name) for theirs, ours in pairs]
        null_key = NULL_KEY if NULL_KEY in frame.columns else named("false", NULL_KEY)
        time = named(event_time_column(frame.columns), own_time)
        frames.append(frame.selectExpr(*renamed, time, NULL_VALUE, null_key, FORWARDED_HEADERS))
    return union(frames)


def _join(node: nodes.Join, inputs: Sequence[DataFrame], context: Context) -> Built | DataFrame:
    return _JOINS[node.type](node, inputs, context)


def _output(plan: Plan, output: Sequence[str], frame: DataFrame) -> DataFrame:
    """A push query's result (see Plan): a stream's NULL value is not shown; a table's is a deletion."""
    is_table = plan.root.kind == TABLE
    flag, *results = plan.sink.schema.columns
    frame = frame if is_table else frame.filter(f"NOT {NULL_VALUE}")
    columns = [named(NULL_VALUE if is_table else "false", flag.name)]
    keys = {c.name for c in plan.root.schema.key} | WINDOW_BOUNDS.keys()
    for name, column in zip(output, results, strict=False):
        is_masked = is_table and name not in keys
        columns.append(
            named(f"if({NULL_VALUE}, NULL, {quoted(name)})" if is_masked else quoted(name), column.name)
        )
    places = zip((ROWPARTITION, ROWOFFSET), results[len(output) :], strict=False)
    columns += (named(quoted(name), column.name) for name, column in places)
    time = named(event_time_column(frame.columns), ROWTIME)
    return frame.selectExpr(*columns, time, named("false", NULL_VALUE))


_Builder = Callable[[Any, Sequence[DataFrame], Context], Built | DataFrame]
_JOINS: Mapping[str, _Builder] = {
    nodes.STREAM_STREAM: joins.stream_stream_join,
    nodes.STREAM_TABLE: joins.stream_table_join,
    nodes.REPLICATED: joins.stream_table_join,
    nodes.TABLE_TABLE: joins.table_table_join,
}
#: class -> builder: takes the node, the frames of its inputs, and the context
BUILDERS: Mapping[type, _Builder] = {
    nodes.Aggregate: aggregates.aggregate,
    nodes.Changes: tables.table_changes,
    nodes.Deduplicate: partition_by.deduplicate,
    nodes.Exchange: _exchange,
    nodes.Expire: tables.expire,
    nodes.Filter: _filter,
    nodes.FlatMap: _flat_map,
    nodes.ForeignKeyAnswer: foreign_keys.foreign_key_answer,
    nodes.ForeignKeyJoin: foreign_keys.foreign_key_latest,
    nodes.ForeignKeySubscribe: foreign_keys.foreign_key_subscribe,
    nodes.Join: _join,
    nodes.KeepUnchanged: tables.keep_unchanged,
    nodes.MatchRecognize: matching.match_recognize,
    nodes.Over: partition_by.over,
    nodes.Project: _project,
    nodes.SelectKey: _select_key,
    nodes.SetOperation: tables.set_operation,
    nodes.Source: _source,
    nodes.TopN: partition_by.top_n,
    nodes.UnionAll: _union,
}
