"""EXPLAIN: logical and physical plans as text, in KSQL's terms."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ksql_spark.expressions import Expression, name_text
from ksql_spark.logical import nodes
from ksql_spark.logical.nodes import AggregateCall, Named, Node, WindowSpec, WithinSpec
from ksql_spark.metastore.sources import DataSource, Windowing
from ksql_spark.physical import steps
from ksql_spark.physical.steps import REALTIME, PhysicalPlan, Step

_UNITS = (("DAYS", 86_400_000), ("HOURS", 3_600_000), ("MINUTES", 60_000), ("SECONDS", 1000))


def explain(root: Node, plan: PhysicalPlan) -> str:
    """Both plans of a query: what it means, then how it runs."""
    return f"Logical plan\n{explain_logical(root)}\n\nPhysical plan\n{explain_plan(plan)}"


# ---- the logical plan ---------------------------------------------------------------------------------


def explain_logical(root: Node) -> str:
    """The nodes, the last one first, one line each, indented below what reads them."""
    return "\n".join(_logical_lines(root, 1))


def _logical_lines(node: Node, depth: int) -> Iterator[str]:
    details = _described(_logical_details(node))
    yield f"{'  ' * depth}{_title(node)}{details}"
    for child in nodes.children(node):
        yield from _logical_lines(child, depth + 1)


def _logical_details(node: Node) -> list[tuple[str, Any]]:
    match node:
        case nodes.Source(source, alias):
            alias_text = "" if alias == source.name else f" {name_text(alias)}"
            return [
                ("", f"{source.kind} {name_text(source.name)}{alias_text}"),
                ("Window", _keys(node.window)),
            ]
        case nodes.Filter(_, predicate):
            return [("", predicate)]
        case nodes.SelectKey(_, keys):
            return [("Key", _items(keys) or "none")]
        case nodes.FlatMap(_, functions):
            return [("", _items(functions))]
        case nodes.Join():
            kind = node.type.lower().replace("_", "-")
            return [
                ("", f"{node.join} {kind}"),
                ("On", f"{node.left_key} = {node.right_key}"),
                ("Within", _within(node.within)),
            ]
        case nodes.Aggregate():
            return [
                ("Group by", _groups(node.group_by)),
                ("", _aggregates(node.aggregates)),
                ("Window", _window(node.window_spec)),
                ("Emit", "FINAL" if node.emit_final else None),
            ]
        case nodes.Project(_, keys, values):
            return [("Key", _items(keys)), ("Values", _items(values))]
        case nodes.BatchJoin(_, _, join, condition):
            return [("", join), ("On", condition)]
        case nodes.Sort(_, by):
            return [("", ", ".join(map(str, by)))]
        case nodes.Limit(_, limit, offset):
            return [("", limit), ("Offset", offset or None)]
    return []


# ---- the physical plan --------------------------------------------------------------------------------


def explain_plan(plan: PhysicalPlan) -> str:
    """The steps of each sub-topology, its sink first, with their schemas; then how it runs, and why."""
    parts = []
    for number, stage in enumerate(plan.stages):
        lines = [f"Sub-topology {number}"] if plan.inner else []
        lines.append(f" > [ SINK ] | Topic: {stage.sink.topic} | Schema: {stage.sink.schema}")
        lines += _step_lines(stage.root, 1)
        lines.append(f"Execution: {_execution(stage)}.")
        parts.append("\n".join(lines))
    return "\n".join(parts)


def _step_lines(step: Step, depth: int) -> Iterator[str]:
    title = _title(step).upper()
    yield f"{'    ' * depth}> [ {title} ]{_described([*_details(step), ('Schema', step.schema)])}"
    for child in steps.children(step):
        yield from _step_lines(child, depth + 1)


def _details(step: Step) -> list[tuple[str, Any]]:
    match step:
        case steps.StreamSource() | steps.TableSource():
            return [
                ("", name_text(step.source.name)),
                ("Topic", step.source.topic),
                ("Window", _keys(step.window)),
            ]
        case steps.StreamFilter() | steps.TableFilter():
            return [("Where", step.predicate)]
        case steps.StreamSelectKey():
            return [("Key", _items(step.keys) or "none")]
        case steps.StreamFlatMap():
            return [("Functions", _items(step.functions))]
        case steps.StreamSelect() | steps.TableSelect():
            return [("Select", _items((*step.keys, *step.values)))]
        case steps.StreamAggregate() | steps.TableAggregate():
            return _grouping(step)
        case steps.StreamWindowedAggregate():
            emit = "FINAL" if step.emit_final else None
            window = ("Window", _window(step.window_spec))
            return [*_grouping(step), window, ("Emit", emit), ("Idle timeout", _idle(step.idle_ms))]
        case steps.StreamStreamJoin():
            within = ("Within", _within(step.within))
            return [*_join(step), within, ("Idle timeout", _idle(step.idle_ms))]
        case steps.StreamTableJoin(is_replicated=True):
            return [*_join(step), ("Table", "whole in every task")]
        case steps.StreamTableJoin() | steps.TableTableJoin():
            return _join(step)
        case steps.Packed():
            return [("Key", ", ".join(map(str, step.key)) or "none")]
        case steps.ForeignKeySubscribe():
            return [("", step.join), ("Foreign key", step.foreign_key)]
        case steps.ForeignKeyAnswer():
            return [("", step.join), ("Key", step.right_key)]
        case steps.TransientSelect():
            return [("Select", ", ".join(map(name_text, step.output)))]
    return []


_Grouping = steps.StreamAggregate | steps.StreamWindowedAggregate | steps.TableAggregate
_Joined = steps.StreamTableJoin | steps.StreamStreamJoin | steps.TableTableJoin


def _grouping(step: _Grouping) -> list[tuple[str, Any]]:
    return [
        ("", _aggregates(step.aggregates)),
        ("Group by", _groups(step.group_by)),
        ("Having", step.having),
    ]


def _idle(idle_ms: int) -> str | None:
    return span_text(idle_ms) if idle_ms else None


def _join(step: _Joined) -> list[tuple[str, Any]]:
    return [("", step.join), ("On", f"{step.left_key} = {step.right_key}")]


def _execution(stage: PhysicalPlan) -> str:
    how = (
        "in real time (a row leaves as soon as it is processed)"
        if stage.mode == REALTIME
        else "in micro-batches"
    )
    return f"{how}: {stage.reason}"


# ---- pull queries -------------------------------------------------------------------------------------


def explain_pull(query: nodes.PullQuery) -> str:
    """What a pull query reads, and how: no steps run, rows are looked up or scanned."""
    details = [
        ("Where", query.predicate),
        ("Select", _items(query.items)),
        ("Limit", query.limit),
        ("Offset", query.offset),
    ]
    return f"{_read(query.source, query.lookups)}{_described(details)}"


def explain_batch(query: nodes.BatchQuery) -> str:
    """What a pull query that Spark runs means, and how each source is read."""
    leaves = nodes.leaves(query.root)
    read = (_read(leaf.source, keys) for leaf, keys in zip(leaves, query.lookups, strict=True))
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


# ---- topics and state ---------------------------------------------------------------------------------


def explain_topology(plan: PhysicalPlan, sizes: Sequence[object] = ()) -> str:
    """The sub-topologies: the topics that each reads and writes, the state that it keeps, how it runs.

    ``sizes``: of a running query, how much state each stage keeps now, None where that is not known.
    """
    inner = {stage.sink.topic for stage in plan.inner}
    parts = []
    for number, stage in enumerate(plan.stages):
        lines = [f"Sub-topology {number}"]
        for step in steps.walk(stage.root):
            if isinstance(step, (steps.StreamSource, steps.TableSource)):
                lines.append(f"  Source: {_topic(step.source, inner)}")
        states = [f"{_title(step)}: {kept_state(step)}" for step in _stateful(stage.root)]
        lines += [f"  State: {state}" for state in states or ("none",)]
        if number < len(sizes) and sizes[number] is not None:
            lines.append(f"  State now: {sizes[number]}")
        lines.append(f"  Sink: {_topic(stage.sink, inner)}")
        lines.append(f"  Runs {_execution(stage)}")
        parts.append("\n".join(lines))
    return "\n".join(parts)


def _topic(source: DataSource, inner: Iterable[str]) -> str:
    what = "internal" if source.topic in inner else f"{source.kind.lower()} {name_text(source.name)}"
    return f"topic {source.topic} ({what})"


def _stateful(step: Step) -> Iterator[Step]:
    """The steps that keep state; a filter right below one needs none of its own: that one deletes."""
    is_stateful = isinstance(step, steps.STATEFUL)
    if is_stateful:
        yield step
    for child in steps.children(step):
        is_deleted_above = is_stateful and isinstance(child, steps.TableFilter)
        yield from _stateful(steps.children(child)[0] if is_deleted_above else child)


def kept_state(step: Step) -> str | None:
    """What ``step`` keeps between records, in RocksDB and its checkpoints; None for a step without state."""
    if not isinstance(step, steps.STATEFUL):
        return None
    if isinstance(step, steps.StreamWindowedAggregate):
        retention = span_text(step.window_spec.retention_ms)
        return f"the aggregates of each key and window, for {retention}"
    if isinstance(step, steps.StreamStreamJoin):
        within = step.within
        span = span_text(within.before_ms + within.after_ms)
        return f"the rows of both sides, for {span} and the grace period"
    if isinstance(step, steps.StreamTableJoin) and step.is_replicated:
        return f"{_STATES[steps.StreamTableJoin]}, in every task"
    return _STATES.get(type(step), "what it has seen")


_STATES: dict[type, str] = {
    steps.ForeignKeyAnswer: "the latest row of each key on the right, and the left keys that ask for it",
    steps.ForeignKeyLatest: "the latest row of each key on the left",
    steps.ForeignKeySubscribe: "the foreign key of each key on the left",
    steps.StreamAggregate: "the aggregates of each key",
    steps.StreamTableJoin: "the table's latest row of each key",
    steps.TableAggregate: "the aggregates of each key",
    steps.TableChanges: "the latest row of each key",
    steps.TableFilter: "the keys whose rows were passed on",
    steps.TableTableJoin: "both tables' latest row of each key",
}


# ---- parts of both ------------------------------------------------------------------------------------


def _title(node: Node | Step) -> str:
    """StreamWindowedAggregate -> Stream Windowed Aggregate."""
    name = type(node).__name__
    return "".join(f" {c}" if c.isupper() and i else c for i, c in enumerate(name))


def _described(details: Iterable[tuple[str, Any]]) -> str:
    """`` | Name: value`` for each detail that there is."""
    shown = ((name, str(value)) for name, value in details if value is not None)
    return "".join(f" | {f'{name}: ' if name else ''}{text}" for name, text in shown if text)


def _named(expression: Expression, name: str) -> str:
    text, as_name = str(expression), name_text(name)
    return text if text == as_name else f"{text} AS {as_name}"


def _items(items: Iterable[Named]) -> str:
    return ", ".join(_named(item.expression, item.name) for item in items)


def _groups(items: tuple[Named, ...]) -> str:
    return _items(items) or "all rows"


def _aggregates(calls: Iterable[AggregateCall]) -> str:
    def text(call: AggregateCall) -> str:
        inner = ", ".join(map(str, call.arguments)) or "*"
        distinct = "DISTINCT " if call.distinct else ""
        return f"{call.function}({distinct}{inner}) AS {name_text(call.name)}"

    return ", ".join(map(text, calls))


def span_text(ms: int) -> str:
    """A time span as KSQL writes it, in the largest unit that gives a whole number.

    >>> span_text(7_200_000), span_text(1500)
    ('2 HOURS', '1500 MILLISECONDS')
    """
    unit, size = next(((u, s) for u, s in _UNITS if ms and ms % s == 0), ("MILLISECONDS", 1))
    return f"{ms // size} {unit}"


def _window(spec: WindowSpec | None) -> str | None:
    if spec is None:
        return None
    size = span_text(spec.size_ms)
    parts = [size if spec.kind == "SESSION" else f"SIZE {size}"]
    if spec.advance_ms is not None:
        parts.append(f"ADVANCE BY {span_text(spec.advance_ms)}")
    parts += [f"RETENTION {span_text(spec.retention_ms)}", f"GRACE PERIOD {span_text(spec.grace_ms)}"]
    return f"{spec.kind} ({', '.join(parts)})"


def _within(spec: WithinSpec | None) -> str | None:
    if spec is None:
        return None
    before, after = span_text(spec.before_ms), span_text(spec.after_ms)
    bounds = before if before == after else f"({before}, {after})"
    return f"{bounds} GRACE PERIOD {span_text(spec.grace_ms)}" if spec.grace_ms is not None else bounds


def _keys(window: Windowing | None) -> str | None:
    """The window in a source's keys."""
    if window is None:
        return None
    return window.kind + (f" {span_text(window.size_ms)}" if window.size_ms is not None else "")


__all__ = [
    "explain",
    "explain_batch",
    "explain_logical",
    "explain_plan",
    "explain_pull",
    "explain_topology",
    "kept_state",
    "span_text",
]
