"""DATEs and TIMESTAMPs of all years as the REST API writes them; ``client.values.far_instant`` reads them."""

from __future__ import annotations

import datetime

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
