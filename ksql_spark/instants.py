"""DATEs and TIMESTAMPs of all years as the REST API writes them; ``client.values.far_instant`` reads them.

Users also write them in PostgreSQL's forms, with a blank for ``T`` and with zones.
"""

from __future__ import annotations

import datetime
import re

_EPOCH = datetime.date(1970, 1, 1)
_DAY_MS = 86_400_000
#: the calendar repeats every four centuries
_CYCLE_YEARS, _CYCLE_DAYS = 400, 146_097


def date_text(days: int) -> str:
    """Return a DATE, given as epoch days, as text: with a sign before years outside four digits, as in Java.

    >>> date_text(0), date_text(2932897), date_text(-735160)
    ('1970-01-01', '+10000-01-01', '-0043-03-15')
    """
    try:
        return (_EPOCH + datetime.timedelta(days=days)).isoformat()
    except OverflowError:
        cycles, within = divmod(days, _CYCLE_DAYS)
        date = _EPOCH + datetime.timedelta(days=within)
        year = date.year + _CYCLE_YEARS * cycles
        signed = f"{year:+}" if year > datetime.MAXYEAR else f"-{-year:04}" if year < 0 else f"{year:04}"
        return f"{signed}-{date.month:02}-{date.day:02}"


def timestamp_text(milliseconds: int) -> str:
    """Return a TIMESTAMP, given as epoch milliseconds, as text; years as in ``date_text``.

    >>> timestamp_text(253402300800001)
    '+10000-01-01T00:00:00.001'
    """
    try:
        at = datetime.datetime(1970, 1, 1) + datetime.timedelta(milliseconds=milliseconds)
        return at.isoformat(timespec="milliseconds")
    except OverflowError:
        days, in_day = divmod(milliseconds, _DAY_MS)
        time = (datetime.datetime.min + datetime.timedelta(milliseconds=in_day)).time()
        return f"{date_text(days)}T{time.isoformat(timespec='milliseconds')}"


#: the fields of a STRUCT that is PostgreSQL's interval
INTERVAL_FIELDS = ("PG_MONTHS", "PG_DAYS", "PG_MILLISECONDS")
#: zones that PostgreSQL leaves out behind a date and a time of a day
_ZONED_DATE = re.compile(r"(\d{4}-\d\d-\d\d) ?[+-]\d\d(?::?\d\d)?$")
_ZONE = re.compile(r" ?(Z|[+-]\d\d(?::?\d\d)*)$")
_UTC = re.compile(r" ?(?:UTC|GMT|Z)$", re.IGNORECASE)


def _iso(text: str) -> str:
    """A text of PostgreSQL as ISO 8601 has it, where it is ``epoch`` or names UTC behind a time."""
    stripped = text.strip()
    return "1970-01-01" if stripped.lower() == "epoch" else _UTC.sub("Z", stripped)


def read_timestamp(text: str) -> str | None:
    """A timestamp, as PostgreSQL reads it, in UTC as the REST API writes it; None if it is none, or far away.

    >>> read_timestamp("2024-02-29 12:00+02"), read_timestamp("2024-02-29"), read_timestamp("noon")
    ('2024-02-29T10:00:00.000', '2024-02-29T00:00:00.000', None)
    >>> read_timestamp("2024-02-29 12:00:00 UTC"), read_timestamp("epoch")
    ('2024-02-29T12:00:00.000', '1970-01-01T00:00:00.000')
    """
    try:
        timestamp = datetime.datetime.fromisoformat(_iso(text))
        if timestamp.tzinfo is not None:
            timestamp = timestamp.astimezone(datetime.UTC).replace(tzinfo=None)
    except (ValueError, OverflowError):
        return None
    return timestamp.isoformat(timespec="milliseconds")


def read_date(text: str) -> str | None:
    """A date, as PostgreSQL reads it: without a time and a zone behind it; None if it is none, or far away.

    >>> read_date("2024-02-29 23:00:00-05"), read_date("2024-02-29 +01"), read_date("today")
    ('2024-02-29', '2024-02-29', None)
    """
    try:
        return datetime.datetime.fromisoformat(_ZONED_DATE.sub(r"\1", _iso(text))).date().isoformat()
    except ValueError:
        return None


def read_time(text: str) -> str | None:
    """A time of a day, without a zone; None if it is none.

    >>> read_time("12:34:56+02"), read_time("noon")
    ('12:34:56', None)
    """
    bare = _ZONE.sub("", text.strip())
    try:
        datetime.time.fromisoformat(bare)
    except ValueError:
        return None
    return bare
