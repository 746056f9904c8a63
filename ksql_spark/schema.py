"""Columns and schemas: key columns first, then value columns (reference §2.1, §3.6)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from ksql_spark.types import BIGINT, INTEGER, SqlType, quote_identifier


class Role(Enum):
    """The part of a record in which a column is."""

    KEY = "KEY"
    VALUE = "VALUE"
    HEADERS = "HEADERS"
    #: the name of its topic (beyond ksqlDB)
    TOPIC = "TOPIC"


@dataclass(frozen=True)
class Column:
    """One column; ``header_key`` names the header of a HEADER('k') column."""

    name: str
    type: SqlType
    role: Role = Role.VALUE
    header_key: str | None = None

    def __str__(self) -> str:
        suffix = "" if self.role is Role.VALUE else f" {self.role.value}"
        if self.header_key is not None:
            suffix = f" HEADER('{self.header_key}')"
        return f"{quote_identifier(self.name)} {self.type}{suffix}"


@dataclass(frozen=True)
class Schema:
    """The columns of a source, in stored order: keys, then values and headers."""

    columns: tuple[Column, ...]

    @classmethod
    def of(cls, columns: Iterable[Column]) -> Schema:
        """A schema of ``columns``: key columns first, each group in declaration order."""
        columns = list(columns)
        keys = [c for c in columns if c.role is Role.KEY]
        return cls((*keys, *(c for c in columns if c.role is not Role.KEY)))

    @property
    def key(self) -> tuple[Column, ...]:
        """The key columns."""
        return tuple(c for c in self.columns if c.role is Role.KEY)

    @property
    def value(self) -> tuple[Column, ...]:
        """The columns stored in the record's value."""
        return tuple(c for c in self.columns if c.role is Role.VALUE)

    @property
    def headers(self) -> tuple[Column, ...]:
        """Read-only columns filled from what a record has beside key and value: headers, its topic."""
        return tuple(c for c in self.columns if c.role in (Role.HEADERS, Role.TOPIC))

    def find(self, name: str) -> Column | None:
        """The column called exactly ``name``, or None."""
        return next((c for c in self.columns if c.name == name), None)

    def __str__(self) -> str:
        return ", ".join(map(str, self.columns))


ROWTIME, ROWPARTITION, ROWOFFSET = "ROWTIME", "ROWPARTITION", "ROWOFFSET"
WINDOWSTART, WINDOWEND = "WINDOWSTART", "WINDOWEND"

#: the latest event time, epoch ms, that a TIMESTAMP of Spark's can hold (Timestamps.java)
LATEST_TIME_MS = (2**63 - 1) // 1000

#: columns that every record has without declaration (§3.6)
PSEUDO_COLUMNS: dict[str, SqlType] = {ROWTIME: BIGINT, ROWPARTITION: INTEGER, ROWOFFSET: BIGINT}
#: bounds of a record's window, on windowed sources and in windowed aggregates
WINDOW_BOUNDS: dict[str, SqlType] = {WINDOWSTART: BIGINT, WINDOWEND: BIGINT}
#: names that may not be declared as columns (§2.1)
RESERVED_COLUMNS = frozenset(PSEUDO_COLUMNS) | frozenset(WINDOW_BOUNDS)

# hidden columns of frames, besides pseudo columns (spark/build.py)
#: the record's value is NULL (in a table: a tombstone)
NULL_VALUE = "__NULL_VALUE"
#: hidden column of streams with several key columns (BOOLEAN): the record's key as a whole is NULL
NULL_KEY = "__NULL_KEY"
#: hidden column of rows that come from one record: its headers, which are copied to the output (§6.1)
FORWARDED_HEADERS = "__HEADERS"
#: hidden column with the event time, ms, of rows where PARTITION BY made a key called ROWTIME
EVENT_TIME = "__ROWTIME"
#: hidden column of rows whose changes may leave out columns (ARRAY<INTEGER>): the numbers of these, or NULL
UNCHANGED = "__UNCHANGED"
#: hidden column of internal topics: the operator's stream time when the row left it, ms
STREAM_TIME = "__STREAM_TIME"
