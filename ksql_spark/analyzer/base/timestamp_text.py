"""Partial ISO date-times in comparisons: to epoch milliseconds beside ROWTIME (reference §3.3).

``2020``, ``2020-02``, ``2020-02-23T23:45`` and forms with a zone are read as in ksqlDB: missing parts have
their smallest value, the default zone is UTC.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

_MOMENT = re.compile(
    r"(?P<year>\d{4})(?:-(?P<month>\d{1,2})(?:-(?P<day>\d{1,2}))?)?"
    r"(?:T(?:(?P<hour>\d{1,2})(?::(?P<minute>\d{1,2})(?::(?P<second>\d{1,2})(?:[.,](?P<fraction>\d{1,9}))?)?)?)?)?"
    r"(?P<zone>Z|[+-]\d{1,2}(?::?\d{2})?|[A-Za-z]+(?:/[A-Za-z_+\-0-9]+)*)?"
)
_DATE = re.compile(r"(\d{4})(?:-(\d{1,2})(?:-(\d{1,2}))?)?")
_TIME = re.compile(r"(\d{1,2})(?::(\d{1,2})(?::(\d{1,2})(?:[.]\d{1,9})?)?)?")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def epoch_ms(text: str) -> int | None:
    """Epoch milliseconds of a partial ISO date-time; None if ``text`` is not one."""
    match = _MOMENT.fullmatch(text.strip())
    if match is None:
        return None
    part = match.groupdict()
    hour = int(part["hour"] or 0)
    is_midnight = hour == 24 and not any(int(part[p] or 0) for p in ("minute", "second", "fraction"))
    if hour > 23 and not is_midnight:
        return None
    try:
        moment = datetime(
            int(part["year"]), int(part["month"] or 1), int(part["day"] or 1),
            hour % 24, int(part["minute"] or 0), int(part["second"] or 0),
            int((part["fraction"] or "0").ljust(6, "0")[:6]),
        ).replace(tzinfo=_zone(part["zone"]))  # fmt: skip
    except (ValueError, KeyError, OSError):
        return None
    return (moment + timedelta(days=hour // 24) - _EPOCH) // timedelta(milliseconds=1)


#: how each type is written
FORMS = {
    "TIMESTAMP": "A TIMESTAMP is written as 2020-02-23T23:45:10.250, UTC or with a zone such as +02:00",
    "DATE": "A DATE is written as 2020-02-23",
    "TIME": "A TIME is written as 23:45:10.250",
}


def advice(text: str, kind: str) -> str:
    """A sentence about how to write ``text``, which is no ``kind``: TIMESTAMP, DATE or TIME.

    >>> advice("2026-03-01 10:00:00", "TIMESTAMP")
    "Write T between the date and the time: '2026-03-01T10:00:00'."
    >>> advice("2026-03-01T10:00", "DATE")
    "A DATE has no time: write '2026-03-01'."
    """
    day, _, time = text.strip().replace(" ", "T", 1).partition("T")
    if kind == "TIMESTAMP" and time and is_possible(f"{day}T{time}", kind):
        return f"Write T between the date and the time: '{day}T{time}'."
    if kind == "DATE" and time and is_possible(day, kind):
        return f"A DATE has no time: write '{day}'."
    if kind == "TIME" and time and is_possible(day, "DATE") and is_possible(time, kind):
        return f"A TIME has no date: write '{time}'."
    return f"{FORMS[kind]}; parts at its end may be missing."


def is_possible(text: str, kind: str) -> bool:
    """Whether a cast of ``text`` may give a value; False: it never does.

    Args:
        text: a literal.
        kind: TIMESTAMP, DATE or TIME; zones are not looked at.
    """
    day, separator, time = ("", "T", text) if kind == "TIME" else text.partition("T")
    if separator and (kind == "DATE" or (not time and kind == "TIME")):
        return False
    if day or kind != "TIME":
        match = _DATE.fullmatch(day)
        if match is None:
            return False
        try:
            date(int(match[1]), int(match[2] or 1), int(match[3] or 1))
        except ValueError:
            return int(match[1]) == 0  # Python has no year 0
    if not time:
        return True
    clock = _TIME.fullmatch(time) if kind == "TIME" else _TIME.match(time)
    if clock is None:
        return False
    return int(clock[1]) <= 24 and int(clock[2] or 0) <= 59 and int(clock[3] or 0) <= 59


def _zone(text: str | None) -> timezone | ZoneInfo:
    """The zone called ``text``; UTC for None.

    Raises:
        ValueError, KeyError: there is no such zone.
    """
    if text is None or text == "Z":
        return UTC
    if text[0] in "+-":
        digits = text[1:].replace(":", "")
        hours, minutes = (digits[:-2], digits[-2:]) if len(digits) > 2 else (digits, "0")
        offset = timedelta(hours=int(hours), minutes=int(minutes))
        return timezone(-offset if text[0] == "-" else offset)
    return ZoneInfo(text)
