"""EXPLAIN: logical and physical plans as text, in KSQL's terms."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from ksql_spark.expressions import name_text
from ksql_spark.logical import nodes
from ksql_spark.logical.nodes import GROUP, SORT, Node, call_texts, written_out
from ksql_spark.metastore.sources import DataSource
from ksql_spark.physical.distribution import tasks_text
from ksql_spark.physical.steps import (
    EXACTLY_ONCE,
    REALTIME,
    Details,
    Plan,
    SourceStep,
    Stage,
    StatefulStep,
    Step,
    stateful_steps,
    walk,
)
from ksql_spark.physical.text import (
    aggregates_text,
    best_text,
    emit_text,
    groups_text,
    items_text,
    on_text,
    pattern_details,
    span_text,
    window_text,
    windowing_text,
    within_text,
)

_READ_COMMITTED = "readers with isolation.level = read_committed see each result once"


def explain(root: Node, plan: Plan) -> str:
    """Both plans of a query as text: the logical plan, then the physical plan."""
    return f"Logical plan\n{explain_logical(root)}\n\nPhysical plan\n{explain_plan(plan)}"


# ---- the logical plan ---------------------------------------------------------------------------------


def explain_logical(root: Node) -> str:
    """The nodes, one per line: the last one first, each node's inputs indented below it."""
    return "\n".join(_logical_lines(root, 1))


def _logical_lines(node: Node, depth: int) -> Iterator[str]:
    details = _described(_logical_details(node))
    yield f"{'  ' * depth}{title(node)}{details}"
    for child in nodes.children(node):
        yield from _logical_lines(child, depth + 1)


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
        case nodes.UnionAll() | nodes.Distinct():
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
        lines += _step_lines(stage.root, 1)
        if shared is None:
            lines.append(f"Execution: {execution(stage)}.")
        if tasks := tasks_text(plan, number):
            lines.append(f"Tasks: {tasks}")
        if order := _order(stage):
            lines.append(f"Order: {order}")
        parts.append("\n".join(lines))
    return "\n".join(parts)


def _step_lines(step: Step, depth: int) -> Iterator[str]:
    described = _described([*step.details, ("Schema", step.shown_schema)])
    yield f"{'    ' * depth}> [ {title(step).upper()} ]{described}"
    for child in step.inputs:
        yield from _step_lines(child, depth + 1)


def _shared_execution(plan: Plan) -> str | None:
    """The execution of all sub-topologies, if there are several and it is the same for all; else None."""
    ways = {execution(stage) for stage in plan.stages}
    return ways.pop() if plan.inner and len(ways) == 1 else None


def execution(stage: Stage) -> str:
    """How a sub-topology runs, and why."""
    how = (
        "in real time (a row leaves as soon as it is processed)"
        if stage.mode == REALTIME
        else "in micro-batches"
    )
    return f"{how}: {stage.reason}"


def _order(stage: Stage) -> str | None:
    """The order in which rows of different topics meet, where it matters: in joins."""
    joins = [s for s in walk(stage.root) if isinstance(s, StatefulStep) and len(s.inputs) > 1]
    if not joins:
        return None
    if stage.by_event_time:
        return "the rows of all topics meet by event time, what is there at the start as one batch."
    return "the rows of all topics meet by event time, as far as they have been written."


# ---- pull queries -------------------------------------------------------------------------------------


def explain_pull(query: nodes.PullQuery) -> str:
    """What a pull query reads, and whether it looks up rows or scans them."""
    details = [
        ("Where", None if query.predicate is None else written_out(query.predicate, {})),
        ("Select", items_text(query.items)),
        ("Limit", query.limit),
        ("Offset", query.offset),
    ]
    return f"{_read(query.source, query.lookups)}{_described(details)}"


def explain_batch(query: nodes.BatchQuery) -> str:
    """The logical plan of a pull query that Spark runs, and how each source is read."""
    relations = nodes.relations(query.root)
    read = (_read(relation.source, keys) for relation, keys in zip(relations, query.lookups, strict=True))
    lines = "\n".join(f"  {line}" for line in dict.fromkeys(read))
    plan = explain_logical(query.root)
    return f"Logical plan\n{plan}\n\nRead\n{lines}\nExecution: one Spark batch query over these rows."


def _read(source: DataSource, lookups: tuple[nodes.KeyLookup, ...] | None) -> str:
    name = name_text(source.name)
    if not source.is_table:
        read = f"Scan of stream {name}, from its first record to its last one now"
    elif lookups is None:
        read = f"Scan of table {name}"
    else:
        keys = (", ".join(map(str, lookup.values)) for lookup in lookups)
        read = f"Look-up in table {name} | Keys: {'; '.join(keys)}"
    return f"{read} | Topic: {source.topic}"


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
        inputs = tuple([add(child) for child in nodes.children(node)])
        drawn.append(DrawnStep(str(len(drawn)), title(node), _shown(_logical_details(node)), inputs))
        return drawn[-1].id

    add(root)
    return drawn


def drawn_stage(stage: Stage) -> list[DrawnStep]:
    """The steps of a sub-topology, each after those that it reads; its sink is the last."""
    drawn: list[DrawnStep] = []

    def add(step: Step) -> str:
        inputs = tuple([add(child) for child in step.inputs])
        topic = step.source.topic if isinstance(step, SourceStep) else None
        state = step.kept_state if isinstance(step, StatefulStep) else None
        drawn.append(DrawnStep(str(len(drawn)), title(step), _shown(step.details), inputs, topic, state))
        return drawn[-1].id

    last = add(stage.root)
    topic = stage.sink.topic
    drawn.append(DrawnStep(str(len(drawn)), "Sink", (("Topic", topic),), (last,), topic))
    return drawn


# ---- topics and state ---------------------------------------------------------------------------------


def explain_topology(plan: Plan, sizes: Sequence[object] = ()) -> str:
    """The sub-topologies: the topics that each reads and writes, the state that it keeps, its mode.

    If all sub-topologies run in the same mode, that is stated once, before them.

    Args:
        plan: the physical plan.
        sizes: for a running query, the size of each stage's state, upstream first; None: not known.
    """
    inner = {stage.sink.topic for stage in plan.inner}
    shared = _shared_execution(plan)
    parts = [] if shared is None else [f"Runs {shared}"]
    if plan.guarantee == EXACTLY_ONCE:
        parts.append(f"Guarantee: {EXACTLY_ONCE}")
    for number, stage in enumerate(plan.stages):
        lines = [f"Sub-topology {number}"]
        for step in walk(stage.root):
            if isinstance(step, SourceStep):
                lines.append(f"  Source: {_topic(step.source, inner)}")
        states = [f"{title(step)}: {step.kept_state}" for step in stateful_steps(stage.root)]
        lines += [f"  State: {state}" for state in states or ("none",)]
        if number < len(sizes) and sizes[number] is not None:
            lines.append(f"  State now: {sizes[number]}")
        reader = "read for the client" if stage.is_last and plan.is_transient else None
        lines.append(f"  Sink: {_topic(stage.sink, inner, reader)}")
        if shared is None:
            lines.append(f"  Runs {execution(stage)}")
        parts.append("\n".join(lines))
    return "\n".join(parts)


def _topic(source: DataSource, inner: Iterable[str], what: str | None = None) -> str:
    if what is None:
        what = "internal" if source.topic in inner else f"{source.kind.lower()} {name_text(source.name)}"
    return f"topic {source.topic} ({what})"


# ---- parts of both ------------------------------------------------------------------------------------


def title(node: Node | Step) -> str:
    """StreamWindowedAggregate -> Stream Windowed Aggregate."""
    name = type(node).__name__
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
    "explain_batch",
    "explain_logical",
    "explain_plan",
    "explain_pull",
    "explain_topology",
    "title",
]
