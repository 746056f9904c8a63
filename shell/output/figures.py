"""Figures of queries (GET /graph) as short texts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

#: what a cell shows that is not known
UNKNOWN = "-"
_BYTES = ("B", "KB", "MB", "GB", "TB")


def count_text(value: float | None) -> str:
    """A number of things.

    >>> count_text(1234), count_text(0.25), count_text(None)
    ('1,234', '0.2', '-')
    """
    if value is None:
        return UNKNOWN
    return f"{value:,.1f}" if value < 10 and value != int(value) else f"{value:,.0f}"


def time_text(seconds: float | None) -> str:
    """Format a duration.

    >>> time_text(0.012), time_text(2.5), time_text(75), time_text(7300)
    ('12 ms', '2.5 s', '1 min', '2 h')
    """
    if seconds is None:
        return UNKNOWN
    for least, each, unit in ((3600, 3600, "h"), (60, 60, "min")):
        if seconds >= least:
            return f"{seconds / each:.0f} {unit}"
    return f"{seconds:.1f} s" if seconds >= 1 else f"{seconds * 1000:.0f} ms"


def bytes_text(value: float | None) -> str:
    """Format a number of bytes.

    >>> bytes_text(512), bytes_text(2_500_000)
    ('512 B', '2.5 MB')
    """
    if value is None:
        return UNKNOWN
    for unit in _BYTES:
        if value < 1000 or unit == _BYTES[-1]:
            break
        value /= 1000
    return f"{value:.1f} {unit}" if unit != "B" and value < 100 else f"{value:.0f} {unit}"


def behind(graph: Mapping[str, Any], sources: Iterable[str]) -> str:
    """The lag and the errors of the queries that write ``sources``, and of those before them; "" without any.

    Args:
        graph: the answer of GET /graph.
        sources: names of streams and tables.
    """
    before: dict[str, list[str]] = {}
    for edge in graph.get("edges") or []:
        before.setdefault(edge["target"], []).append(edge["source"])
    unvisited = [f"{kind}:{name}" for name in sources for kind in ("stream", "table")]
    seen: set[str] = set()
    while unvisited:
        node = unvisited.pop()
        if node not in seen:
            seen.add(node)
            unvisited += before.get(node, ())
    figures = [
        node.get("figures") or {}
        for node in graph.get("nodes") or []
        if node.get("kind") == "QUERY" and f"query:{node.get('name')}" in seen
    ]
    if not figures:
        return ""
    errors = sum(map(errors_of, figures))
    lag = max((one["lagRecords"] for one in figures if one.get("lagRecords") is not None), default=None)
    return f"lag {count_text(lag)} · {errors:,} error{'' if errors == 1 else 's'}"


def errors_of(figures: Mapping[str, Any]) -> int:
    """Count the records that failed; records that came too late are no errors."""
    return sum(number for kind, number in (figures.get("errors") or {}).items() if kind != "late")
