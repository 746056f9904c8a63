"""The flow of a query as a tree: its sink, below it the steps, at the leaves what it reads.

Made of EXPLAIN's plan, with the state of each step from the topology, and rates from GET /graph.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ksql_spark.shell.output.console import Console
from ksql_spark.shell.output.figures import count_text, errors_of, time_text
from ksql_spark.shell.output.table import UNLIMITED
from ksql_spark.shell.output.text import clip, safe

_STEP = re.compile(r"( *)> \[ ([^\]]+) \](.*)")
_STATE = re.compile(r"^ +State: ([^:\n]+): (.*)$", re.M)
_EXECUTION = re.compile(r"^Execution: (in real time|in micro-batches)", re.M)


@dataclass
class Tree:
    """A line, and what is below it."""

    label: str
    below: list[Tree] = field(default_factory=list)


def flow(description: Mapping[str, Any], graph: Mapping[str, Any]) -> Tree | None:
    """The flow of a query; None if its plan has no steps, as for a pull query.

    Args:
        description: the ``queryDescription`` of EXPLAIN.
        graph: the answer of GET /graph; empty: without rates.
    """
    plan = str(description.get("executionPlan") or "")
    _, _, plan = plan.rpartition("Physical plan\n")
    states = dict(_STATE.findall(str(description.get("topology") or "")))
    nodes = {str(node["id"]): node for node in graph.get("nodes") or []}
    writers: dict[str, list[str]] = {}
    for edge in graph.get("edges") or []:
        if str(edge["source"]).startswith(("query:", "connector:")):
            writers.setdefault(str(edge["target"]), []).append(_writer(nodes.get(str(edge["source"]), {})))
    sinks: dict[str, Tree] = {}
    open_steps: list[tuple[int, Tree]] = []
    last: Tree | None = None
    for line in plan.splitlines():
        match = _STEP.match(line)
        if match is None:
            continue
        depth, title, details = len(match[1]), match[2], _details(match[3])
        step = Tree(_label(title, details, states))
        topic = next((text[7:] for text in details if text.startswith("Topic: ")), "")
        while open_steps and open_steps[-1][0] >= depth:
            open_steps.pop()
        if title == "SINK":
            last = sinks[topic] = step
            open_steps.clear()
        elif open_steps:
            open_steps[-1][1].below.append(step)
        open_steps.append((depth, step))
        if title.endswith("SOURCE"):
            if topic in sinks:  # an internal topic: what writes it is part of this query
                step.below.append(sinks[topic])
            else:
                step.below += [Tree(writer) for writer in writers.get(f"topic:{topic}", ())]
    if last is None:
        return None
    query = nodes.get(f"query:{description.get('id')}")
    return Tree(_summary(description, query, plan), [last])


def _details(text: str) -> list[str]:
    parts = [part.strip() for part in text.split(" | ")]
    return [part for part in parts if part and not part.startswith("Schema: ")]


def _label(title: str, details: list[str], states: Mapping[str, str]) -> str:
    name = title.title()
    parts = [f"{name}  {details[0]}" if details else name, *details[1:]]
    if name in states:
        parts.append(f"keeps {states[name]}")
    return " · ".join(parts)


def _summary(description: Mapping[str, Any], query: Mapping[str, Any] | None, plan: str) -> str:
    figures = (query or {}).get("figures") or {}
    parts = [str(description.get("id") or description.get("queryType") or "query")]
    if description.get("state"):
        parts.append(str(description["state"]))
    if match := _EXECUTION.search(plan):
        parts.append(match[1])
    if figures:
        parts += [
            f"reads {count_text(figures.get('readPerS'))}/s",
            f"writes {count_text(figures.get('writtenPerS'))}/s",
            f"lag {count_text(figures.get('lagRecords'))}",
            f"p95 latency {time_text(figures.get('latencySeconds'))}",
            f"{errors_of(figures):,} errors",
        ]
    return " · ".join(parts)


def _writer(node: Mapping[str, Any]) -> str:
    figures = node.get("figures") or {}
    rate = (
        f" · writes {count_text(figures['writtenPerS'])}/s" if figures.get("writtenPerS") is not None else ""
    )
    return f"written by {str(node.get('kind')).lower()} {node.get('name')} · {node.get('state')}{rate}"


def draw_tree(tree: Tree, console: Console) -> str:
    """The tree as text; lines are cut at the terminal's width."""
    marks = ("├─ ", "└─ ", "│  ") if console.is_unicode else ("+- ", "`- ", "|  ")
    columns = console.columns or UNLIMITED

    def lines(node: Tree, first: str, others: str) -> Iterator[str]:
        text = clip(safe(node.label), max(1, columns - len(first)), console.ellipsis)
        yield console.dim(first) + text if first else console.bold(text)
        for index, child in enumerate(node.below):
            is_last = index == len(node.below) - 1
            yield from lines(child, others + marks[is_last], others + ("   " if is_last else marks[2]))

    return "\n".join(lines(tree, "", ""))
