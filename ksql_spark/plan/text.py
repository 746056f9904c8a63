"""Parts of plans as KSQL text, for EXPLAIN."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ksql_spark.expressions import Expression, name_text
from ksql_spark.metastore.calendars import Calendar
from ksql_spark.metastore.sources import Windowing
from ksql_spark.plan.clauses import (
    GROUP,
    SORT,
    AggregateCall,
    NamedExpression,
    RowPattern,
    WindowSpec,
    WithinSpec,
    written_out,
)
from ksql_spark.plan.nodes import ROW_NUMBER

_UNITS = (("DAYS", 86_400_000), ("HOURS", 3_600_000), ("MINUTES", 60_000), ("SECONDS", 1000))


def _aliased(expression: Expression, name: str) -> str:
    text, as_name = str(expression), name_text(name)
    return text if text == as_name or name.startswith((GROUP, SORT)) else f"{text} AS {as_name}"


def items_text(items: Iterable[NamedExpression], texts: Mapping[str, str] | None = None) -> str:
    """Expressions as in SELECT, with AS where the name differs from the expression.

    ``texts``: the internal columns of the step below -> what users wrote for them.
    """
    return ", ".join(_aliased(written_out(item.expression, texts or {}), item.name) for item in items)


def on_text(left: Expression, right: Expression, residual: Expression | None) -> str:
    """ON of a join."""
    both = f"{left} = {right}"
    return both if residual is None else f"{both} AND {written_out(residual, {})}"


def best_text(count: int, limit: str) -> str:
    """Describe which rows of each group a Top-N keeps.

    >>> best_text(3, ROW_NUMBER), best_text(3, "RANK")
    ('the first 3', 'RANK <= 3')
    """
    return f"the first {count}" if limit == ROW_NUMBER else f"{limit} <= {count}"


def set_operation_text(operation: Iterable[str]) -> str:
    """Set operations in postfix notation as ``(1 UNION 2) EXCEPT 3``; inputs are counted from 1."""
    stack: list[str] = []
    for token in operation:
        if token.isdigit():
            stack.append(str(int(token) + 1))
        else:
            right, left = (part if part.isdigit() else f"({part})" for part in (stack.pop(), stack.pop()))
            stack.append(f"{left} {token} {right}")
    return stack.pop()


def groups_text(items: Iterable[NamedExpression]) -> str:
    """The expressions of GROUP BY; "all rows" if there are none."""
    return items_text(items) or "all rows"


def aggregates_text(calls: Iterable[AggregateCall]) -> str:
    """Calls of aggregate functions; users do not know the names of their columns."""
    return ", ".join(call.call for call in calls)


def span_text(ms: int) -> str:
    """A time span as KSQL writes it, in the largest unit in which it is a whole number.

    >>> span_text(7_200_000), span_text(1500)
    ('2 HOURS', '1500 MILLISECONDS')
    """
    unit, size = next(((u, s) for u, s in _UNITS if ms and ms % s == 0), ("MILLISECONDS", 1))
    return f"{ms // size} {unit}"


def emit_text(every_ms: int | None) -> str | None:
    """Describe when changes are emitted, as in "CHANGES EVERY 5 SECONDS"; None means at once."""
    return f"CHANGES EVERY {span_text(every_ms)}" if every_ms else None


def calendar_text(calendar: Calendar) -> str:
    """The size of windows by a calendar, their zone, and how much later they begin.

    >>> calendar_text(Calendar(1, "YEARS", "Europe/Berlin", 3))
    "1 YEARS, TIME ZONE 'Europe/Berlin', OFFSET 3 MONTHS"
    """
    parts = [f"{calendar.amount} {calendar.unit}"]
    if calendar.zone != "UTC":
        parts.append(f"TIME ZONE '{calendar.zone}'")
    months = f"{calendar.offset_months} MONTHS" if calendar.offset_months else None
    ms = span_text(calendar.offset_ms) if calendar.offset_ms else None
    if months or ms:
        parts.append(f"OFFSET {months or ms}")
    return ", ".join(parts)


def window_text(spec: WindowSpec | None) -> str | None:
    """The content of a WINDOW clause; None without one."""
    if spec is None:
        return None
    size = span_text(spec.size_ms) if spec.calendar is None else calendar_text(spec.calendar)
    parts = [size if spec.kind == "SESSION" else f"SIZE {size}"]
    if spec.advance_ms is not None:
        step = "STEP" if spec.kind == "CUMULATIVE" else "ADVANCE BY"
        parts.append(f"{step} {span_text(spec.advance_ms)}")
    if spec.step is not None:
        parts.append(f"STEP {spec.step.amount} {spec.step.unit}")
    parts += [f"RETENTION {span_text(spec.retention_ms)}", f"GRACE PERIOD {span_text(spec.grace_ms)}"]
    return f"{spec.kind} ({', '.join(parts)})"


def within_text(spec: WithinSpec | None) -> str | None:
    """The content of a WITHIN clause; None without one."""
    if spec is None:
        return None
    before, after = span_text(spec.before_ms), span_text(spec.after_ms)
    bounds = before if before == after else f"({before}, {after})"
    return f"{bounds} GRACE PERIOD {span_text(spec.grace_ms)}" if spec.grace_ms is not None else bounds


def windowing_text(window: Windowing | None) -> str | None:
    """The window in a source's keys; None without one."""
    if window is None:
        return None
    if window.calendar is not None:
        return f"{window.kind} {calendar_text(window.calendar)}"
    return window.kind + (f" {span_text(window.size_ms)}" if window.size_ms is not None else "")


__all__ = [
    "aggregates_text",
    "best_text",
    "calendar_text",
    "emit_text",
    "groups_text",
    "items_text",
    "span_text",
    "window_text",
    "windowing_text",
    "within_text",
]


def pattern_details(keys: Sequence[Expression], pattern: RowPattern) -> list[tuple[str, str]]:
    """MATCH_RECOGNIZE without MEASURES, as (title, value)."""
    return [
        ("Pattern", pattern.text),
        ("Define", pattern.shown_definitions),
        ("Partition by", ", ".join(map(str, keys))),
        ("Within", span_text(pattern.within_ms)),
        ("Rows per match", "all" if pattern.all_rows else "one"),
        ("Skip", pattern.shown_skip),
    ]
