"""EXPLAIN: a physical plan as text, in KSQL's terms."""

from __future__ import annotations

from ksql_spark.physical import steps
from ksql_spark.physical.steps import REALTIME, PhysicalPlan, Step


def explain_plan(plan: PhysicalPlan) -> str:
    """The steps, the sink first, each with what it does and its schema; then how the query runs."""
    lines = [f" > [ SINK ] | Topic: {plan.sink.topic} | Schema: {plan.sink.schema}"]
    _append(plan.root, 1, lines)
    how = (
        "in real time (a row leaves as soon as it is processed)"
        if plan.mode == REALTIME
        else "in micro-batches"
    )
    lines.append(f"Execution: {how}: {plan.reason}.")
    return "\n".join(lines)


def _append(step: Step, depth: int, lines: list[str]) -> None:
    detail = _detail(step)
    head = f"{'    ' * depth}> [ {_title(step)} ]"
    lines.append(f"{head} | {detail + ' | ' if detail else ''}Schema: {step.schema}")
    for child in steps.children(step):
        _append(child, depth + 1, lines)


def _title(step: Step) -> str:
    """StreamWindowedAggregate -> STREAM WINDOWED AGGREGATE."""
    name = type(step).__name__
    return "".join(f" {c}" if c.isupper() and i else c for i, c in enumerate(name)).upper()


def _detail(step: Step) -> str:
    match step:
        case steps.StreamSource() | steps.TableSource():
            return f"{step.source.name} | Topic: {step.source.topic}"
        case steps.StreamFilter() | steps.TableFilter():
            return f"Where: {step.predicate}"
        case steps.StreamSelectKey():
            return f"Key: {', '.join(map(str, step.keys)) or 'none'}"
        case steps.StreamWindowedAggregate():
            return f"{_aggregates(step)} | Window: {step.window_spec.kind} {step.window_spec.size_ms} ms"
        case steps.StreamAggregate():
            return _aggregates(step)
        case steps.StreamStreamJoin():
            within = step.within
            bounds = f"{within.before_ms} ms before, {within.after_ms} ms after"
            return f"{step.join} on {step.left_key} = {step.right_key} | Within: {bounds}"
        case steps.StreamTableJoin() | steps.TableTableJoin():
            return f"{step.join} on {step.left_key} = {step.right_key}"
    return ""


def _aggregates(step: steps.StreamAggregate | steps.StreamWindowedAggregate) -> str:
    groups = ", ".join(str(g.expression) for g in step.group_by) or "all rows"
    having = f" | Having: {step.having}" if step.having is not None else ""
    return f"{', '.join(map(str, step.aggregates))} | Group by: {groups}{having}"


def explain_topology(plan: PhysicalPlan) -> str:
    """The query as topics and the state between them."""
    sources = ", ".join(f"topic {s.topic}" for s in plan.sources)
    state = [type(s).__name__ for s in steps.walk(plan.root) if isinstance(s, steps.STATEFUL)]
    kept = f"state of {', '.join(state)} in RocksDB" if state else "no state"
    return f"Sub-topology 0\n  Source: {sources}\n  Processor: {kept}\n  Sink: topic {plan.sink.topic}"
