"""The WINDOW clause: checks and defaults (reference §2.6)."""

from __future__ import annotations

import difflib
from dataclasses import replace
from zoneinfo import available_timezones

from sqlglot import exp

from ksql_spark.analyzer.base.failures import Placed, invalid
from ksql_spark.grammar import nodes
from ksql_spark.metastore.calendars import DAY_MS, Calendar
from ksql_spark.plan.clauses import WindowSpec

HOUR_MS = 3_600_000
LONGEST_MS = 10**9 * DAY_MS
#: the maximum number of windows that may contain a record: a task keeps state and a result for each in memory
MAX_WINDOWS = 100_000
_CALENDAR_UNITS = ("WEEKS", "MONTHS", "YEARS")
#: how many months units have
_MONTHS = {"MONTHS": 1, "YEARS": 12}
#: zones that Python has and Java has not
_NOT_JAVAS = frozenset({"EST", "Factory", "GMT+0", "GMT-0", "HST", "MST", "ROC", "localtime"})


def bind_window(node: nodes.Window, emit_final: bool, lateness_ms: int | None = None) -> WindowSpec:
    """The window with its defaults filled in; all lengths in ms.

    Args:
        node: the clause.
        emit_final: with EMIT FINAL the grace period is 0 unless given.
        lateness_ms: the grace period unless given: LATENESS of the rows' source.

    Raises:
        KsqlError: INVALID_STATEMENT for invalid lengths.
    """
    size = node.size.milliseconds
    if size <= 0:
        what = "gap" if node.kind == "SESSION" else "SIZE"
        raise invalid(f"The window's {what} must be longer than zero.", node.size)
    calendar = step = None
    if node.kind in ("HOPPING", "SLIDING"):
        _check_fixed(node)
    elif node.kind != "SESSION":
        calendar = bind_calendar(node.size, node.zone, node.offset)
    advance = _advance(node, size)
    if node.kind == "CUMULATIVE":
        assert node.step is not None  # the parser wants it
        calendar = calendar or Calendar(node.size.amount, node.size.unit)
        advance, step = _step(node.size, node.step, calendar)
    if calendar is not None:
        size = longest_ms(calendar)
    if node.grace is not None:
        grace = node.grace.milliseconds
    elif lateness_ms is not None:
        grace = lateness_ms
    else:
        grace = 0 if emit_final else max(DAY_MS - size, 0)
    if node.retention is None:
        return WindowSpec(node.kind, size, advance, max(DAY_MS, size + grace), grace, calendar, step)
    retention = node.retention.milliseconds
    is_given = node.grace is not None or lateness_ms is not None
    least = size + (grace if is_given else 0)
    if retention < least:
        raise invalid(
            f"RETENTION must be at least the window's size plus its grace period: {least} ms, "
            f"got {retention} ms.",
            node.retention,
        )
    return WindowSpec(node.kind, size, advance, retention, min(grace, retention - size), calendar, step)


def bind_calendar(
    size: nodes.TimeSpan, zone: Placed | None, offset: nodes.TimeSpan | None, name: str | None = None
) -> Calendar | None:
    """TIME ZONE, OFFSET, and sizes in weeks, months and years; None: starts are multiples of the size.

    Args:
        size: that of a window.
        zone: where it is written; a literal unless there is a ``name``.
        offset: how much later windows begin.
        name: of the zone.

    Raises:
        KsqlError: INVALID_STATEMENT for an unknown zone, a window that a zone cannot have, a long offset.
    """
    if name is None:
        name = zone.this if isinstance(zone, exp.Literal) else "UTC"
    if zone is not None:
        _check_zone(name, zone)
        if size.unit not in ("DAYS", *_CALENDAR_UNITS):
            raise invalid(
                f"TIME ZONE needs a SIZE in DAYS, WEEKS, MONTHS or YEARS, not in {size.unit}.", zone,
                hint="Shorter windows begin later with OFFSET.",
            )  # fmt: skip
    months = offset_ms = 0
    if offset is not None:
        if offset.unit in _MONTHS:
            months = offset.amount * _MONTHS[offset.unit]
            is_short = size.unit in _MONTHS and months < size.amount * _MONTHS[size.unit]
        else:
            offset_ms = offset.milliseconds
            is_short = offset_ms < size.milliseconds
        if not is_short:
            raise invalid("OFFSET must be shorter than the SIZE of the window.", offset)
    calendar = Calendar(size.amount, size.unit, name, months, offset_ms)
    if calendar == Calendar(size.amount, size.unit) and size.unit not in _CALENDAR_UNITS:
        return None
    if size.milliseconds > LONGEST_MS:
        raise invalid("Windows by a calendar cannot be longer than 1000000000 DAYS.", size)
    return calendar


def longest_ms(calendar: Calendar) -> int:
    """Return the maximum length of a calendar's windows."""
    longest = nodes.TimeSpan(calendar.amount, calendar.unit).milliseconds
    return longest if calendar.zone == "UTC" else longest + HOUR_MS


def _check_zone(name: str, node: Placed) -> None:
    names = available_timezones() - _NOT_JAVAS
    if name in names:
        return
    by_text = {zone.casefold(): zone for zone in names}
    # most people know the city
    cities = {zone.rpartition("/")[2]: zone for zone in sorted(by_text)}
    folded = name.casefold()
    near = [by_text[zone] for zone in difflib.get_close_matches(folded, by_text, n=3)]
    near += [by_text[cities[city]] for city in difflib.get_close_matches(folded, cities, n=3)]
    hint = f"Did you mean {' or '.join(repr(n) for n in dict.fromkeys(near))}?" if near else None
    raise invalid(
        f"There is no time zone '{name}'.",
        node,
        hint=hint or "Zones are named as in 'Europe/Berlin' or 'UTC'.",
    )


def _check_fixed(node: nodes.Window) -> None:
    for part, what in ((node.zone, "TIME ZONE"), (node.offset, "OFFSET")):
        if part is not None:
            raise invalid(f"{what} is for TUMBLING and CUMULATIVE windows only.", part)
    for span in (node.size, node.advance):
        if span is not None and span.unit in _CALENDAR_UNITS:
            raise invalid(f"{span.unit} are for TUMBLING and CUMULATIVE windows only.", span)


def _advance(node: nodes.Window, size: int) -> int | None:
    advance = node.advance.milliseconds if node.advance is not None else None
    if advance is not None and not 0 < advance <= size:
        raise invalid("ADVANCE BY must be longer than zero and at most the SIZE of the window.", node.advance)
    if advance is not None and size // advance > MAX_WINDOWS:
        raise invalid(
            f"Each record would be in {size // advance} windows; the maximum is {MAX_WINDOWS}. Use a longer "
            f"ADVANCE BY.",
            node.advance,
        )
    return advance


def _step(
    size: nodes.TimeSpan, step: nodes.TimeSpan, calendar: Calendar
) -> tuple[int | None, Calendar | None]:
    """STEP of cumulative windows: its length in ms, or the bounds up to which they grow."""
    if step.amount == 0:
        raise invalid("STEP must be longer than zero.", step)
    if not _divides(size, step):
        raise invalid(
            f"The SIZE of the window must be a multiple of STEP: {step.amount} {step.unit} do not divide "
            f"{size.amount} {size.unit}.",
            step,
        )
    most = size.milliseconds // step.milliseconds
    if most > MAX_WINDOWS:
        raise invalid(
            f"Each record would be in {most} windows; the maximum is {MAX_WINDOWS}. Use a longer STEP.", step
        )
    if step.unit in ("DAYS", *_CALENDAR_UNITS):
        months = calendar.offset_months if step.unit in _MONTHS else 0
        return None, replace(calendar, amount=step.amount, unit=step.unit, offset_months=months)
    return step.milliseconds, None


def _divides(size: nodes.TimeSpan, step: nodes.TimeSpan) -> bool:
    """Whether each window consists of whole steps; one hour of a day may be a step short or long."""
    if step.unit == size.unit:
        return size.amount % step.amount == 0
    if step.unit in _MONTHS:
        return size.unit == "YEARS" and 12 * size.amount % step.amount == 0
    if step.unit == "WEEKS":
        return False
    if size.unit in _CALENDAR_UNITS:
        return step.amount == 1 if step.unit == "DAYS" else DAY_MS % step.milliseconds == 0
    return step.unit != "DAYS" and size.milliseconds % step.milliseconds == 0
