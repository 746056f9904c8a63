"""EXPLAIN: logical and physical plans as text, in KSQL's terms."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeAlias

from ksql_spark.expressions import name_text
from ksql_spark.metastore.sources import DataSource
from ksql_spark.plan import nodes, operations, trees
from ksql_spark.plan.clauses import GROUP, SORT, call_texts, written_out
from ksql_spark.plan.distribution import stays, tasks_text
from ksql_spark.plan.nodes import MESSAGE, Exchange, Node
from ksql_spark.plan.queries import IndexLookup, Job, KeyLookup, Lookup
from ksql_spark.plan.stages import EXACTLY_ONCE, REALTIME, Plan, Stage
from ksql_spark.plan.text import (
    aggregates_text,
    best_text,
    emit_text,
    groups_text,
    items_text,
    on_text,
    pattern_details,
    set_operation_text,
    span_text,
    window_text,
    windowing_text,
    within_text,
)
from ksql_spark.schema import Schema

#: details of a node in EXPLAIN: (title, value); the title may be "", a value of None is hidden
Details: TypeAlias = Sequence[tuple[str, Any]]

_READ_COMMITTED = "readers with isolation.level = read_committed see each result once"


def explain(plan: Plan) -> str:
    """A plan as text: what was bound as the logical plan, then its stages as the physical plan."""
    bound = explain_logical(trees.unplanned(plan.root))
    return f"Logical plan\n{bound}\n\nPhysical plan\n{explain_plan(plan)}"


# ---- the logical plan ---------------------------------------------------------------------------------


def explain_logical(root: Node) -> str:
    """The nodes, one per line: the last one first, each node's inputs indented below it."""
    return "\n".join(_logical_lines(root, 1))


def _logical_lines(node: Node, depth: int) -> Iterator[str]:
    details = _described(_logical_details(node))
    yield f"{'  ' * depth}{_spaced(type(node).__name__)}{details}"
    for child in trees.children(node):
        yield from _logical_lines(child, depth + 1)
    for sub_query in trees.sub_queries(node):
        yield f"{'  ' * (depth + 1)}Sub-query | {sub_query}"
        yield from _logical_lines(sub_query.root, depth + 2)


def _logical_details(node: Node) -> Details:
    match node:
        case nodes.Source(source, alias):
            alias_text = "" if alias == source.name else f" {name_text(alias)}"
            return [
                ("", f"{source.kind} {name_text(source.name)}{alias_text}"),
                ("Window", windowing_text(node.window)),
            ]
        case nodes.Filter(_, predicate):
            return [("", written_out(predicate, _internal(node.child)))]
        case nodes.Deduplicate(_, keys, within_ms) | nodes.FirstWithin(_, keys, within_ms=within_ms):
            within = None if within_ms is None else span_text(within_ms)
            return [("", ", ".join(map(str, keys))), ("Within", within)]
        case nodes.Over(_, keys, calls, within_ms):
            return [
                ("", ", ".join(map(str, calls))),
                ("Partition by", ", ".join(map(str, keys))),
                ("Within", None if within_ms is None else span_text(within_ms)),
            ]
        case nodes.MatchRecognize(_, by_columns, pattern):
            return pattern_details(by_columns, pattern)
        case nodes.TopN(_, by, order, count, _, limit):
            return [
                ("", best_text(count, limit)),
                ("Partition by", groups_text(by)),
                ("Order by", ", ".join(map(str, order))),
            ]
        case nodes.SelectKey(_, keys):
            return [("Key", items_text(keys) or "none")]
        case nodes.FlatMap(_, functions):
            return [("", items_text(functions))]
        case nodes.Join():
            kind = node.type.lower().replace("_", "-")
            return [
                ("", f"{node.join} {kind}"),
                ("On", on_text(node.left_key, node.right_key, node.residual)),
                ("Within", within_text(node.within)),
                ("Grace period", None if node.grace_ms is None else span_text(node.grace_ms)),
                ("Order", "the table first" if node.is_loaded_first else None),
            ]
        case nodes.Aggregate():
            return [
                ("Group by", groups_text(node.group_by)),
                ("", aggregates_text(node.aggregates)),
                ("Window", window_text(node.window_spec)),
                ("Emit", "FINAL" if node.emit_final else emit_text(node.every_ms)),
                ("TTL", None if node.ttl_ms is None else span_text(node.ttl_ms)),
            ]
        case nodes.Expire(_, ttl_ms):
            return [("TTL", span_text(ttl_ms))]
        case nodes.Project(_, keys, values):
            texts = _internal(node.child)
            return [("Key", items_text(keys, texts)), ("Values", items_text(values, texts))]
        case nodes.BatchJoin(_, _, join, condition):
            return [("", join), ("On", None if condition is None else written_out(condition, {}))]
        case nodes.BatchOver(_, keys, by_order, calls):
            return [
                ("", ", ".join(map(str, calls))),
                ("Partition by", ", ".join(map(str, keys))),
                ("Order by", ", ".join(map(str, by_order))),
            ]
        case nodes.Sort(_, by):
            texts = _internal(node.child)
            shown = (replace(key, expression=written_out(key.expression, texts)) for key in by)
            return [("", ", ".join(map(str, shown)))]
        case nodes.Limit(_, limit, offset):
            return [("", limit), ("Offset", offset or None)]
        case nodes.SetOperation(_, _, operator):
            return [("", operator)]
        case nodes.Values(columns, rows) if columns:
            return [("", f"{len(rows)} rows"), ("Columns", ", ".join(map(str, columns)))]
    return []


def _internal(node: Node) -> dict[str, str]:
    """The columns of ``node`` whose names users do not know -> what users wrote for them."""
    match node:
        case nodes.Aggregate(_, groups, calls):
            named = {g.name: str(g.expression) for g in groups if g.name.startswith(GROUP)}
            return named | call_texts(calls)
        case nodes.MatchRecognize(_, _, pattern):
            return pattern.texts
        case nodes.Project(child, _, values):
            below = _internal(child)
            sorted_by = (v for v in values if v.name.startswith(SORT))
            return {v.name: str(written_out(v.expression, below)) for v in sorted_by}
        case nodes.Filter(child) | nodes.Sort(child) | nodes.Limit(child) | nodes.Distinct(child):
            return _internal(child)
    return {}


# ---- the physical plan --------------------------------------------------------------------------------


def explain_plan(plan: Plan) -> str:
    """The steps of each sub-topology with their schemas, its sink first; then its mode, and why.

    If all sub-topologies run in the same mode, that is stated once, before them.
    """
    shared = _shared_execution(plan)
    parts = [] if shared is None else [f"Execution: {shared}."]
    if plan.guarantee == EXACTLY_ONCE:
        parts.append(f"Guarantee: {EXACTLY_ONCE}; {_READ_COMMITTED}.")
    for number, stage in enumerate(plan.stages):
        lines = [f"Sub-topology {number}"] if plan.inner else []
        is_shown = stage.is_last and plan.is_transient
        schema = plan.shown_schema if is_shown else stage.sink.schema
        lines.append(f" > [ SINK ] | Topic: {stage.sink.topic} | Schema: {schema}")
        lines += _step_lines(_last_step(stage), 1)
        if shared is None:
            lines.append(f"Execution: {execution(stage)}.")
        if tasks := tasks_text(stage):
            lines.append(f"Tasks: {tasks}")
        if order := _order(stage):
            lines.append(f"Order: {order}")
        parts.append("\n".join(lines))
    return "\n".join(parts)


def _step_lines(step: _Step, depth: int) -> Iterator[str]:
    described = _described([*step.details, ("Schema", step.schema)])
    yield f"{'    ' * depth}> [ {step.title.upper()} ]{described}"
    for below in step.inputs:
        yield from _step_lines(below, depth + 1)


class _Step(NamedTuple):
    """A step of a stage, as users see it; an exchange is two at most in each of its stages.

    ``topic`` is that of a source, ``state`` what it keeps.
    """

    title: str
    details: Details
    schema: Schema
    inputs: tuple[_Step, ...]
    topic: str | None = None
    state: str | None = None


def _last_step(stage: Stage) -> _Step:
    """The last step of a stage, above its others."""
    step = _step(stage.root, stage.plan)
    exchange, output = stage.exchange, stage.plan.output
    if exchange is not None and not exchange.carries_messages:
        key = ", ".join(map(str, exchange.key)) or "none"
        return _Step("Packed", [("Key", key)], MESSAGE, (step,))
    if exchange is None and output is not None:
        select = [("Select", ", ".join(map(name_text, output)))]
        return _Step("Transient Select", select, stage.plan.shown_schema, (step,))
    return step


def _step(node: Node, plan: Plan) -> _Step:
    if isinstance(node, Exchange):
        details = [("", name_text(node.topic)), ("Topic", node.topic)]
        source = _Step(f"{node.kind.title()} Source", details, MESSAGE, (), node.topic)
        return source if node.carries_messages else _Step("Unpacked", [], node.carried, (source,))
    below = tuple(_step(child, plan) for child in operations.inputs(node))
    if isinstance(node, nodes.Join) and node.is_loaded_first:
        left, right = below
        below = (left, right._replace(details=[*right.details, ("Order", "before the other inputs")]))
    topic = node.source.topic if isinstance(node, nodes.Source) else None
    state = operations.state_text(node)
    details = list(_details(node, plan))
    if state is not None and operations.operators_below(node):
        details.append(("Rows", "stay in their task" if stays(node) else "go to the tasks of their keys"))
    return _Step(title(node), details, _shown_schema(node), below, topic, state)


def _shown_schema(node: Node) -> Schema:
    """The columns of a node, as users name them."""
    aggregate, _ = operations.grouped(node)
    if aggregate is not None:
        texts = call_texts(aggregate.aggregates)
        return Schema(tuple(replace(c, name=texts.get(c.name, c.name)) for c in node.schema.columns))
    return node.carried if isinstance(node, nodes.Changes) else node.schema


def _details(node: Node, plan: Plan) -> Details:
    idle = span_text(plan.idle_ms) if plan.idle_ms and operations.waits(node) else None
    match node:
        case nodes.Source(source):
            lateness, ahead = (
                None if ms is None else span_text(ms) for ms in (source.lateness_ms, source.max_ahead_ms)
            )
            return [
                ("", name_text(source.name)),
                ("Topic", source.topic),
                ("Envelope", source.envelope),
                ("Lateness", lateness),
                ("Max ahead", ahead),
                ("Constraints", ", ".join(c.text for c in source.constraints)),
                ("Window", windowing_text(node.window)),
            ]
        case nodes.Filter(nodes.Aggregate() as aggregate, having):
            texts = call_texts(aggregate.aggregates)
            return _group_details(aggregate, str(written_out(having, texts)), idle, plan)
        case nodes.Aggregate():
            return _group_details(node, None, idle, plan)
        case nodes.Filter(_, predicate):
            return [("Where", written_out(predicate, {}))]
        case nodes.Deduplicate(_, keys, within_ms):
            within = None if within_ms is None else span_text(within_ms)
            return [("Distinct on", ", ".join(map(str, keys))), ("Within", within)]
        case nodes.FlatMap(_, functions):
            return [("Functions", items_text(functions))]
        case nodes.Project(child, keys, values):
            of, _ = operations.grouped(child)
            return [("Select", items_text((*keys, *values), {} if of is None else call_texts(of.aggregates)))]
        case nodes.Join():
            return [
                ("", node.join),
                ("On", on_text(node.left_key, node.right_key, node.residual)),
                ("Table", "whole in every task" if node.type == nodes.REPLICATED else None),
                ("Within", within_text(node.within)),
                ("Grace period", None if node.grace_ms is None else span_text(node.grace_ms)),
                ("Idle timeout", idle),
            ]
        case nodes.SetOperation():
            return [("", set_operation_text(operations.postfix(node)))]
        case nodes.ForeignKeySubscribe(_, foreign_key, join):
            return [("", join), ("Foreign key", foreign_key)]
        case nodes.ForeignKeyAnswer():
            return [("", node.join), ("Key", node.right_key)]
        case nodes.UnionAll() | nodes.Changes() | nodes.ForeignKeyJoin():
            return []
    return _logical_details(node)


def _group_details(node: nodes.Aggregate, having: str | None, idle: str | None, plan: Plan) -> Details:
    lost = ", windows that a jump in time leaves behind are lost" if plan.is_lossy else ""
    return [
        ("", aggregates_text(node.aggregates)),
        ("Group by", groups_text(node.group_by)),
        ("Having", having),
        ("Emit", emit_text(node.every_ms)),
        ("TTL", None if node.ttl_ms is None else span_text(node.ttl_ms)),
        ("Window", window_text(node.window_spec)),
        ("Emit", f"FINAL{lost}" if node.emit_final else None),
        ("Idle timeout", idle),
    ]


def _shared_execution(plan: Plan) -> str | None:
    """The execution of all sub-topologies, if there are several and it is the same for all; else None."""
    ways = {execution(stage) for stage in plan.stages}
    return ways.pop() if plan.inner and len(ways) == 1 else None


def execution(stage: Stage) -> str:
    """Describe how a sub-topology runs, and why."""
    how = (
        "in real time (a row leaves as soon as it is processed)"
        if stage.mode == REALTIME
        else "in micro-batches"
    )
    return f"{how}: {stage.reason}"


def _order(stage: Stage) -> str | None:
    """The order in which rows of different topics meet, where it matters: in joins."""
    if not any(operations.keeps_state(n) and len(operations.inputs(n)) > 1 for n in stage.operations):
        return None
    if stage.by_event_time:
        return "the rows of all topics meet by event time, what is there at the start as one batch."
    return "the rows of all topics meet by event time, as far as they have been written."


# ---- pull queries -------------------------------------------------------------------------------------


def explain_lookup(query: Lookup) -> str:
    """Describe what a look-up reads, and whether it looks up rows or scans them."""
    details = [
        ("Where", None if query.predicate is None else written_out(query.predicate, {})),
        ("Select", items_text(query.items)),
        ("Limit", query.limit),
        ("Offset", query.offset),
    ]
    return f"{_read(query.source, query.lookups, query.index)}{_described(details)}"


def explain_job(query: Job) -> str:
    """The logical plan of a job, and how each source is read."""
    relations = trees.relations(query.root)
    read = (
        _read(relation.source, keys, index)
        for relation, keys, index in zip(relations, query.lookups, query.indexes, strict=True)
    )
    lines = "\n".join(f"  {line}" for line in dict.fromkeys(read))
    plan = explain_logical(query.root)
    return f"Logical plan\n{plan}\n\nRead\n{lines}\nExecution: one Spark batch query over these rows."


def _read(source: DataSource, lookups: tuple[KeyLookup, ...] | None, index: IndexLookup | None) -> str:
    name = name_text(source.name)
    if not source.is_table:
        read = f"Scan of stream {name}, from its first record to its last one now"
    elif lookups is None and index is not None:
        read = f"Look-up in table {name} | Index: {name_text(index.index.name)} | {_ranges(index)}"
    elif lookups is None:
        read = f"Scan of table {name}"
    else:
        keys = (", ".join(map(str, lookup.values)) for lookup in lookups)
        read = f"Look-up in table {name} | Keys: {'; '.join(keys)}"
    return f"{read} | Topic: {source.topic}"


def _ranges(look_up: IndexLookup) -> str:
    """What an index look-up asks for, column by column."""
    columns = look_up.index.texts
    ranges = []
    for each in look_up.ranges:
        equal = [f"{column} = {value}" for column, value in zip(columns, each.equal, strict=False)]
        bounds = [f"{columns[len(equal)]} {name} {value}" for name, value in each.bounds]
        ranges.append(" AND ".join([*equal, *bounds]))
    return "; ".join(ranges)


# ---- steps to be drawn ---------------------------------------------------------------------------------


class DrawnStep(NamedTuple):
    """A step of a plan, for drawings.

    Args:
        id: tells the steps of a plan apart.
        details: names and texts, as EXPLAIN shows them.
        inputs: the ids of the steps whose rows it reads.
        topic: of a source or a sink.
        state: what it keeps.
    """

    id: str
    title: str
    details: tuple[tuple[str, str], ...]
    inputs: tuple[str, ...]
    topic: str | None = None
    state: str | None = None


def drawn_logical(root: Node) -> list[DrawnStep]:
    """The nodes of a logical plan, each after those that it reads."""
    drawn: list[DrawnStep] = []

    def add(node: Node) -> str:
        inputs = tuple([add(child) for child in trees.children(node)])
        drawn.append(
            DrawnStep(str(len(drawn)), _spaced(type(node).__name__), _shown(_logical_details(node)), inputs)
        )
        return drawn[-1].id

    add(root)
    return drawn


def drawn_stage(stage: Stage) -> list[DrawnStep]:
    """The steps of a sub-topology, each after those that it reads; its sink is the last."""
    drawn: list[DrawnStep] = []

    def add(step: _Step) -> str:
        inputs = tuple([add(below) for below in step.inputs])
        details = _shown(step.details)
        drawn.append(DrawnStep(str(len(drawn)), step.title, details, inputs, step.topic, step.state))
        return drawn[-1].id

    last = add(_last_step(stage))
    topic = stage.sink.topic
    drawn.append(DrawnStep(str(len(drawn)), "Sink", (("Topic", topic),), (last,), topic))
    return drawn


# ---- topics and state ---------------------------------------------------------------------------------


def explain_topology(plan: Plan, sizes: Sequence[object] = ()) -> str:
    """The sub-topologies: the topics that each reads and writes, the state that it keeps, its mode.

    If all sub-topologies run in the same mode, that is stated once, before them.

    Args:
        plan: the physical plan.
        sizes: for a running query, the size of each stage's state, upstream first, or None if unknown.
    """
    shared = _shared_execution(plan)
    parts = [] if shared is None else [f"Runs {shared}"]
    if plan.guarantee == EXACTLY_ONCE:
        parts.append(f"Guarantee: {EXACTLY_ONCE}")
    for number, stage in enumerate(plan.stages):
        lines = [f"Sub-topology {number}"]
        for node in stage.operations:
            if isinstance(node, Exchange):
                lines.append(f"  Source: topic {node.topic} (internal)")
            elif isinstance(node, nodes.Source):
                lines.append(f"  Source: {_topic(node.source)}")
        states = [f"{title(node)}: {operations.state_text(node)}" for node in reversed(stage.stateful)]
        lines += [f"  State: {state}" for state in states or ("none",)]
        if number < len(sizes) and sizes[number] is not None:
            lines.append(f"  State now: {sizes[number]}")
        reader = "read for the client" if plan.is_transient else None
        lines.append(f"  Sink: {_topic(stage.sink, reader if stage.is_last else 'internal')}")
        if shared is None:
            lines.append(f"  Runs {execution(stage)}")
        parts.append("\n".join(lines))
    return "\n".join(parts)


def _topic(source: DataSource, what: str | None = None) -> str:
    return f"topic {source.topic} ({what or f'{source.kind.lower()} {name_text(source.name)}'})"


# ---- parts of both ------------------------------------------------------------------------------------


def title(node: Node) -> str:
    """StreamWindowedAggregate -> Stream Windowed Aggregate."""
    return _spaced(operations.name(node))


def _spaced(name: str) -> str:
    return "".join(f" {c}" if c.isupper() and i else c for i, c in enumerate(name))


def _described(details: Iterable[tuple[str, Any]]) -> str:
    """`` | Name: value`` for each detail that has a value."""
    return "".join(f" | {f'{name}: ' if name else ''}{text}" for name, text in _shown(details))


def _shown(details: Iterable[tuple[str, Any]]) -> tuple[tuple[str, str], ...]:
    """The details that have a value, as texts."""
    return tuple((name, str(value)) for name, value in details if value is not None and str(value))


__all__ = [
    "DrawnStep",
    "drawn_logical",
    "drawn_stage",
    "execution",
    "explain",
    "explain_job",
    "explain_logical",
    "explain_lookup",
    "explain_plan",
    "explain_topology",
    "title",
]
