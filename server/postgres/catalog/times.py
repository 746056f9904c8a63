"""Times in queries that the catalog answers: texts as in the REST API's rows, which SQLite can compare.

PostgreSQL's documentation of date/time functions and operators decides.
"""

from __future__ import annotations

import calendar
import datetime
import re
from collections.abc import Callable, Iterable
from typing import Any

from ksql_spark.server.postgres.values.failures import CatalogError

_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}")
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
#: a quantity of an interval: hours:minutes[:seconds], or a number and its unit; and the blanks after it
_QUANTITY = re.compile(r"([+-]?)(\d+):(\d\d)(?::(\d\d(?:\.\d+)?))?\s*|([+-]?\d+(?:\.\d+)?)\s*([a-z]+)\s*")
_SECONDS = {
    "microsecond": 1e-6, "us": 1e-6, "millisecond": 0.001, "ms": 0.001, "second": 1, "sec": 1, "s": 1,
    "minute": 60, "min": 60, "m": 60, "hour": 3600, "hr": 3600, "h": 3600,
}  # fmt: skip
_DAYS = {"day": 1, "d": 1, "week": 7, "w": 7}
_MONTHS = {"month": 1, "mon": 1, "year": 12, "yr": 12, "y": 12, "decade": 120, "century": 1200}


def is_timestamp(value: Any) -> bool:
    """Whether a value is a timestamp of this module."""
    return isinstance(value, str) and _TIME.fullmatch(value) is not None


def is_date(value: Any) -> bool:
    """Whether a value is a date of this module."""
    return isinstance(value, str) and _DATE.fullmatch(value) is not None


def now() -> str:
    """The present time, UTC."""
    return _text(datetime.datetime.now(datetime.UTC))


def timestamp(value: Any) -> str | None:
    """A text as a timestamp; '' is a parameter that has no value yet."""
    return _text(_moment(value)) if value not in (None, "") else None


def date(value: Any) -> Any:
    """The date of a timestamp; any other text is left to the client."""
    return value[:10] if is_timestamp(value) else value


def shifted(value: Any, sign: int, by: Any) -> str | None:
    """A date or timestamp plus (1) or minus (-1) an interval or, for a date, a number of days.

    >>> shifted("2026-03-31", -1, "1 month 1 day"), shifted("2026-03-31", 1, 1)
    ('2026-02-27T00:00:00.000', '2026-04-01')
    """
    if value is None or by is None:
        return None
    if isinstance(by, int) and is_date(value):
        shift_of = datetime.timedelta(days=sign * by)
        return _bounded(lambda: (_moment(value) + shift_of).date().isoformat())

    def shift() -> str:
        months, days, seconds = _interval(by)
        moment = _moment(value)
        year, month = divmod(moment.year * 12 + moment.month - 1 + sign * months, 12)
        last = calendar.monthrange(year, month + 1)[1]
        moved = moment.replace(year=year, month=month + 1, day=min(moment.day, last))
        return _text(moved + sign * datetime.timedelta(days=days, seconds=seconds))

    return _bounded(shift)


def truncated(unit: Any, value: Any) -> str | None:
    """DATE_TRUNC: the start of a unit of time."""
    if value is None:
        return None
    moment = _moment(value)
    day = moment.replace(hour=0, minute=0, second=0, microsecond=0)
    name = _singular(str(unit))
    starts = {
        "millisecond": moment.replace(microsecond=moment.microsecond // 1000 * 1000),
        "second": moment.replace(microsecond=0),
        "minute": moment.replace(second=0, microsecond=0),
        "hour": moment.replace(minute=0, second=0, microsecond=0),
        "day": day,
        "month": day.replace(day=1),
        "quarter": day.replace(month=(moment.month - 1) // 3 * 3 + 1, day=1),
        "year": day.replace(month=1, day=1),
    }
    if name == "week":
        return _bounded(lambda: _text(day - datetime.timedelta(days=day.weekday())))
    if name not in starts:
        raise _no_unit(unit, (*starts, "week"))
    return _text(starts[name])


def part(unit: Any, value: Any) -> int | float | None:
    """EXTRACT and DATE_PART."""
    if value is None:
        return None
    moment = _moment(value)
    parts = {
        "microsecond": moment.second * 1_000_000 + moment.microsecond,
        "millisecond": moment.second * 1000 + moment.microsecond / 1000,
        "second": moment.second + moment.microsecond / 1_000_000,
        "minute": moment.minute,
        "hour": moment.hour,
        "day": moment.day,
        "dow": moment.isoweekday() % 7,
        "isodow": moment.isoweekday(),
        "doy": moment.timetuple().tm_yday,
        "week": moment.isocalendar().week,
        "month": moment.month,
        "quarter": (moment.month + 2) // 3,
        "year": moment.year,
        "isoyear": moment.isocalendar().year,
        "epoch": moment.replace(tzinfo=datetime.UTC).timestamp(),
    }
    name = _singular(str(unit))
    if name not in parts:
        raise _no_unit(unit, parts)
    return parts[name]


def _text(moment: datetime.datetime) -> str:
    return moment.replace(tzinfo=None).isoformat(timespec="milliseconds")


def _moment(value: Any) -> datetime.datetime:
    try:
        moment = datetime.datetime.fromisoformat(str(value).strip())
    except ValueError:
        reason = f"{str(value)[:50]!r} is no timestamp such as '2026-03-31 12:00:00'."
        raise CatalogError("22007", reason) from None
    return moment.astimezone(datetime.UTC).replace(tzinfo=None) if moment.tzinfo else moment


def _interval(value: Any) -> tuple[int, float, float]:
    """The months, days and seconds of an interval."""
    text = str(value).strip().lower()
    months, days, seconds = 0, 0.0, 0.0
    at = 0
    while at < len(text):
        quantity = _QUANTITY.match(text, at)
        unit = _singular(quantity[6]) if quantity is not None and quantity[6] else ""
        if quantity is None or (unit and unit not in _SECONDS | _DAYS | _MONTHS):
            break
        if not unit:
            total = int(quantity[2]) * 3600 + int(quantity[3]) * 60 + float(quantity[4] or 0)
            seconds += -total if quantity[1] == "-" else total
        elif unit in _MONTHS:
            months += round(float(quantity[5]) * _MONTHS[unit])
        elif unit in _DAYS:
            days += float(quantity[5]) * _DAYS[unit]
        else:
            seconds += float(quantity[5]) * _SECONDS[unit]
        at = quantity.end()
    if not text or at < len(text):
        raise CatalogError(
            "22007", f"{str(value)[:50]!r} is no interval such as '1 hour' or '2 days 03:00:00'."
        )
    return months, days, seconds


def _singular(unit: str) -> str:
    """A unit of time without the s of its plural.

    >>> [_singular(unit) for unit in ("Hours", "ms", "us", "s", "century", "centuries")]
    ['hour', 'ms', 'us', 's', 'century', 'century']
    """
    name = unit.lower()
    if name in ("ms", "us", "s"):
        return name
    return "century" if name == "centuries" else name.removesuffix("s")


def _bounded(compute: Callable[[], str]) -> str:
    try:
        return compute()
    except (OverflowError, ValueError):
        raise CatalogError("22008", "The time is outside the years 1 to 9999.") from None


def _no_unit(unit: Any, known: Iterable[str]) -> CatalogError:
    return CatalogError(
        "22023", f"{str(unit)[:50]!r} is no unit of time here; these are: {', '.join(known)}."
    )
