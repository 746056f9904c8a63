"""Indexes of a view: each is a table in its sqlite file with the values of columns, and sqlite's index of it.

A value is stored in a form whose order in sqlite is that of KSQL, cut where it is long. Different values may
have one form, so an index finds all rows of a condition and perhaps more. Constants get the same form.
"""

from __future__ import annotations

import decimal
import json
import math
import re
import sqlite3
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from ksql_spark.metastore.indexes import Index
from ksql_spark.metastore.sources import DataSource
from ksql_spark.runtime.plain_expressions import function_of
from ksql_spark.runtime.reading.key_ranges import after_all, prefix_of
from ksql_spark.runtime.reading.row_decoding import READERS
from ksql_spark.runtime.reading.stored_row import Place, StoredRow
from ksql_spark.schema_registry import SchemaRegistry
from ksql_spark.types import BYTES, DOUBLE, STRING, Decimal, SqlType

_PLACE = "key, window_start, window_end"
#: how many bytes of a value are stored
_MOST_BYTES = 256
#: sqlite's integers have 64 bits; the digits of a DECIMAL that fit into them
_LEAST, _MOST, _MOST_DIGITS = -(2**63), 2**63 - 1, 18
_SUPPLEMENTARY = re.compile("[\U00010000-\U0010ffff]")
#: enough digits for all that DECIMALs have
_DIGITS = decimal.Context(prec=100)
#: the values of a row's columns, or None for a row that a format cannot read
_Values = Sequence[Any] | None


class StoredRange(NamedTuple):
    """A range of an index: the forms that its first columns equal, and bounds of the one after them."""

    equal: tuple[Any, ...]
    bounds: tuple[tuple[str, Any], ...] = ()


class ViewIndex:
    """An index of a view in its file.

    Args:
        index: the index.
        source: its table.
        registry: has the schemas of the table's formats.
    """

    def __init__(self, index: Index, source: DataSource, registry: SchemaRegistry | None) -> None:
        self.index = index
        expressions = index.expressions(source) or ()
        self._types = [expression.type for expression in expressions]
        places = READERS.of(source, registry).places
        self._gets = [function_of(expression, places) for expression in expressions]
        formats = [str(source.key_format), str(source.value_format)]
        #: what its contents depend on
        self.what = json.dumps([index.columns, list(map(str, self._types)), formats])
        self._table, self._by = _quoted(f"index {index.name}"), _quoted(f"by {index.name}")
        columns = [f"c{number}" for number in range(len(expressions))]
        listed, new = ", ".join(columns), ", ".join(f"excluded.{column}" for column in columns)
        self._create = (
            f"CREATE TABLE {self._table} (key BLOB NOT NULL, window_start INTEGER NOT NULL, "
            f"window_end INTEGER NOT NULL, {listed}, PRIMARY KEY ({_PLACE})) WITHOUT ROWID"
        )
        self._sort = f"CREATE INDEX {self._by} ON {self._table} ({listed})"
        # most changes of a row leave these columns as they are
        self._upsert = (
            f"INSERT INTO {self._table} VALUES (?, ?, ?, {', '.join('?' for _ in columns)}) "
            f"ON CONFLICT ({_PLACE}) DO UPDATE SET ({listed}) = ({new}) WHERE ({listed}) IS NOT ({new})"
        )
        self._delete = f"DELETE FROM {self._table} WHERE key = ? AND window_start = ? AND window_end = ?"

    # ---- writing -------------------------------------------------------------------------------------

    def begin(self, db: sqlite3.Connection) -> None:
        """Make it, empty; it is not complete."""
        db.execute(self._create)

    def complete(self, db: sqlite3.Connection) -> None:
        """Let sqlite sort it, once it has all rows."""
        db.execute("BEGIN")
        db.execute(self._sort)
        db.execute("INSERT INTO indexed VALUES (?, ?)", (self.index.name, self.what))
        db.execute("COMMIT")

    def write(self, db: sqlite3.Connection, rows: Iterable[tuple[Place, _Values]]) -> None:
        """Note the values of rows that are new or have changed."""
        db.executemany(self._upsert, [(*place, *self._forms(values)) for place, values in rows])

    def delete(self, db: sqlite3.Connection, places: Sequence[Place]) -> None:
        """Remove rows."""
        db.executemany(self._delete, places)

    def _forms(self, values: _Values) -> list[Any]:
        if values is None:  # look-ups leave it out, too
            return [None] * len(self._types)
        return [
            stored_form(get(values, ()), type_) for get, type_ in zip(self._gets, self._types, strict=True)
        ]

    # ---- reading -------------------------------------------------------------------------------------

    def range_of(self, equal: Sequence[Any], bounds: Sequence[tuple[str, Any]]) -> StoredRange:
        """A range with the forms of constants; ``bounds``: ``>=``, ``<=`` or ``LIKE``, and a constant."""
        forms = tuple(stored_form(value, type_) for value, type_ in zip(equal, self._types, strict=False))
        stored: list[tuple[str, Any]] = []
        for name, value in bounds:
            if name != "LIKE":
                stored.append((name, stored_form(value, self._types[len(forms)])))
                continue
            low = stored_form(None if value is None else prefix_of(value), STRING)
            high = None if low is None else after_all(low)
            stored += [(">=", low), *([] if high is None else [("<", high)])]
        return StoredRange(forms, tuple(stored))

    def places(self, range_: StoredRange) -> tuple[str, list[Any]]:
        """SQL text that selects the places of the rows in a range, and its values."""
        conditions = [f"c{number} = ?" for number in range(len(range_.equal))]
        conditions += [f"c{len(range_.equal)} {name} ?" for name, _ in range_.bounds]
        values = [*range_.equal, *(value for _, value in range_.bounds)]
        where = " AND ".join(conditions)
        return f"SELECT {_PLACE} FROM {self._table} INDEXED BY {self._by} WHERE {where}", values


class ViewIndexes:
    """The indexes that a view shall have.

    Args:
        source: the view's table.
        indexes: of the table.
        registry: has the schemas of the table's formats.
    """

    def __init__(
        self, source: DataSource | None, indexes: Iterable[Index], registry: SchemaRegistry | None = None
    ) -> None:
        self.all = [] if source is None else [ViewIndex(index, source, registry) for index in indexes]
        self._reader = READERS.of(source, registry) if source is not None and self.all else None

    def decoded(self, rows: Iterable[tuple[Place, StoredRow]]) -> list[tuple[Place, _Values]]:
        """The values of rows, for ViewIndex.write; none if there is no index."""
        reader = self._reader
        return [] if reader is None else [(place, reader.decode(row)) for place, row in rows]

    def kept(self, db: sqlite3.Connection) -> dict[Index, ViewIndex]:
        """Those that a file has; all others in it are removed."""
        has = dict(db.execute("SELECT name, what FROM indexed"))
        kept = {each.index: each for each in self.all if has.get(each.index.name) == each.what}
        names = {index.name for index in kept}
        tables = db.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        for (table,) in tables:
            if table.startswith("index ") and table.removeprefix("index ") not in names:
                db.execute(f"DROP TABLE {_quoted(table)}")
        db.executemany("DELETE FROM indexed WHERE name = ?", [(name,) for name in has if name not in names])
        return kept


NO_INDEXES = ViewIndexes(None, ())


def stored_form(value: Any, type_: SqlType) -> Any:
    """A value of a column of ``type_``, or one to compare with it, as an index has it.

    A value that is not greater than another has a form that is not greater. NULL and NaN, which nothing
    equals, are None.
    """
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    match type_:
        case Decimal(precision, scale):
            number = decimal.Decimal(value).scaleb(scale, _DIGITS)
            if precision <= _MOST_DIGITS:
                return _integer(number)
            return (max(-(2**127), min(math.floor(number), 2**127 - 1)) + 2**127).to_bytes(16)
    if type_ == STRING:
        return text_form(value)[:_MOST_BYTES]
    if type_ == BYTES:
        return value[:_MOST_BYTES]
    return float(value) if type_ == DOUBLE else _integer(value)


def _integer(number: float | decimal.Decimal) -> int:
    if isinstance(number, float) and math.isinf(number):
        return _MOST if number > 0 else _LEAST
    return max(_LEAST, min(math.floor(number), _MOST))


def text_form(text: str) -> bytes:
    """Bytes whose order is that of UTF-16 units, in which KSQL compares texts: UTF-8 of each unit."""
    if not text.isascii():
        text = _SUPPLEMENTARY.sub(lambda match: _units(match[0]), text)
    return text.encode("utf-8", "surrogatepass")


def _units(character: str) -> str:
    """The two surrogates of a character."""
    beyond = ord(character) - 0x10000
    return chr(0xD800 + (beyond >> 10)) + chr(0xDC00 + (beyond & 0x3FF))


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
