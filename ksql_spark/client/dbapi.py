"""The constructors and type objects that DB-API 2.0 requires of a module besides connections."""

from __future__ import annotations

import datetime
from typing import Any

from ksql_spark.client import values

Date, Time, Timestamp, Binary = datetime.date, datetime.time, datetime.datetime, bytes


def DateFromTicks(ticks: float) -> datetime.date:
    """The date of a time in seconds since 1970, in local time."""
    return datetime.date.fromtimestamp(ticks)


def TimeFromTicks(ticks: float) -> datetime.time:
    """The time of day of a time in seconds since 1970, in local time."""
    return datetime.datetime.fromtimestamp(ticks).time()


def TimestampFromTicks(ticks: float) -> datetime.datetime:
    """A time in seconds since 1970, in UTC."""
    return datetime.datetime.fromtimestamp(ticks, datetime.UTC)


class TypeObject:
    """Equals the type codes of columns, which are SQL text, of several types."""

    def __init__(self, *names: str) -> None:
        self._names = frozenset(names)

    def __eq__(self, other: Any) -> bool:
        return other is self or (isinstance(other, str) and values.type_of(other).name in self._names)

    def __hash__(self) -> int:
        return hash(self._names)


STRING = TypeObject("STRING")
BINARY = TypeObject("BYTES")
NUMBER = TypeObject("INTEGER", "BIGINT", "DOUBLE", "DECIMAL")
DATETIME = TypeObject("DATE", "TIME", "TIMESTAMP")
ROWID = TypeObject()
