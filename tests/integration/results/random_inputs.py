"""Topics for random statements, by seed, and the same rows in DuckDB.

Values are as formats have them in Python: a DATE is days since 1970, a TIMESTAMP milliseconds, a TIME those
of its day, a STRUCT a dictionary with names in upper case.
"""

from __future__ import annotations

import datetime
import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import duckdb

from tests.integration.results import random_statements as made
from tests.integration.results.comparing import BEGAN_MS, HOUR_MS
from tests.integration.results.random_statements import FAR, LAST, LAST_COUNT, LAST_INT, Shape, Statement

#: how many rows a stream has besides the last ones
ROWS = 40
_EPOCH = datetime.datetime(1970, 1, 1)
#: the formats of rel_s, rel_r, rel_t, rel_v, rel_u; DELIMITED cannot carry the columns of COMPLEX
FORMATS = ("JSON AVRO", "DELIMITED JSON AVRO JSON_SR", "AVRO JSON", "JSON DELIMITED", "JSON AVRO DELIMITED")

Row = dict[str, Any]


def days(text: str) -> int:
    """A DATE as formats have it."""
    return (datetime.date.fromisoformat(text) - _EPOCH.date()).days


def millis(text: str) -> int:
    """A TIMESTAMP as formats have it."""
    return (datetime.datetime.fromisoformat(text) - _EPOCH) // datetime.timedelta(milliseconds=1)


#: values of each column as formats have them; NULLs come besides
VALUES: Mapping[str, Sequence[Any]] = {
    "i": (-1, 0, 1, 2, 3, 2**31 - 1, -(2**31)),
    "n": (1, 2, 3, -7, 2**63 - 1, -(2**63)),
    "d": (0.5, 1.0, -2.0, 2.5, 0.0, -0.0, 1024.25),
    "e": (1e308, -1e308, 5e-324, 0.1, -0.0, 0.0, 1e15),
    "m": [*map(Decimal, ("1.25", "0.50", "-3.05", "9999999.99", "-9999999.99", "0.00"))],
    "w": [*map(Decimal, (f"{'9' * 28}.{'9' * 10}", f"-{'9' * 28}.{'9' * 10}", "0E-10", "1.2500000000",
                         "-0.0000000001", "3.0000000000"))],
    "x": ("a", "b", "", "ab", "u", FAR, f"b{FAR}é", " 12 ", "-1"),
    "y": ("a", "b", "A b", 'x,"y"', "new\nline", "3", FAR + FAR),
    "f": (True, False),
    "dt": [*map(days, ("2024-02-29", "0001-01-01", "9999-12-31", "1969-12-31", "1582-10-10"))],
    "ts": [*map(millis, ("2024-01-02T03:04:05", "0001-01-01T00:00:00", "9999-12-31T23:59:59.999",
                         "1969-12-31T23:59:59.999", "2024-02-29T12:00:00.500"))],
    "bb": (b"", b"\x00\xff", b"a", b"\x80"),
    "tm": (0, 86_399_999, 11_045_000, 45_000_000),
    "a": ([], [1], [1, 2, 3], [None, 2], [3, 1, 2, 3, None], [2**31 - 1]),
    "o": ({"P": 1, "Q": "a"}, {"P": None, "Q": None}, {"P": 3, "Q": ""}, {"P": -1, "Q": FAR}),
    "h": ({}, {"a": 1}, {"b": 2, "a": None}, {"a": 3, "": 0}),
}  # fmt: skip
#: what JSON has no number for
NOT_FINITE = (math.nan, math.inf, -math.inf)
KEYS = ("a", "b", "ab", "", FAR, "u")
INT_KEYS = (-1, 0, 1, 2, 3, 2**31 - 1)


@dataclass(frozen=True)
class Record:
    """A row of a topic: its time, key, and values; None where its key is deleted."""

    time_ms: int
    key: Any
    values: Row | None


@dataclass(frozen=True)
class Input(Shape):
    """Topics: the format of each, its records, and how queries over them run."""

    mode: str
    records: Mapping[str, Sequence[Record]]


def generated(seed: int) -> Input:
    """The topics of a round."""
    rng = random.Random(f"input {seed}")
    formats = {name: rng.choice(each.split()) for name, each in zip("srtvu", FORMATS, strict=True)}

    def values(format_: str) -> Row:
        row: Row = {}
        for name, some in VALUES.items():
            if name in made.COMPLEX and format_ == "DELIMITED":
                continue
            if name == "e" and format_ == "AVRO":
                some = (*some, *NOT_FINITE)
            row[name] = None if rng.random() < 0.2 else rng.choice(some)
            if format_ == "DELIMITED" and row[name] in ("", b""):
                row[name] = None
        return row

    records: dict[str, list[Record]] = {}
    is_ordered, time = rng.random() < 0.6, rng.choice((BEGAN_MS, BEGAN_MS, 0))
    for name in "tvu":
        own = records.setdefault(name, [])
        for _ in range(rng.randrange(12, 25)):
            time += rng.randrange(1, 30)
            key = rng.choice(INT_KEYS if name == "u" else KEYS)
            deleted = rng.random() < 0.15
            own.append(Record(time, key, None if deleted else values(formats[name])))
    start, times = time + 1000, set[int]()
    for name in "sr":
        own = records.setdefault(name, [])
        while len(own) < ROWS:
            at = start + rng.randrange(20_000)
            if at in times:
                continue
            times.add(at)
            row = values(formats[name])
            if own and rng.random() < 0.2:
                row = rng.choice(own).values or row
            # a record without a value is no row
            is_empty = rng.random() < 0.05
            own.append(Record(at, rng.choice((*KEYS, None)), None if is_empty else row))
        own.sort(key=lambda record: record.time_ms + (0 if is_ordered else rng.randrange(3000)))
        for i in range(LAST_COUNT):
            last = dict.fromkeys(values(formats[name])) | {"i": LAST_INT + i}
            own.append(Record(start + HOUR_MS * 2 + i * 2 + (name == "r"), f"{LAST}{i}", last))
    mode = rng.choice(("realtime", "realtime", "microbatch"))
    return Input(rng.choice((1, 2, 2, 3)), is_ordered, formats, mode, records)


def kind_of(name: str) -> str:
    """STREAM or TABLE."""
    return "STREAM" if name in "sr" else "TABLE"


def declared(name: str, format_: str) -> str:
    """The columns of a relation."""
    key, type_ = made.KEYS[name]
    columns = made.PLAIN | (made.COMPLEX if format_ != "DELIMITED" else {})
    role = "KEY" if name in "sr" else "PRIMARY KEY"
    return ", ".join([f"{key} {type_} {role}", *(f"{c} {t}" for c, t in columns.items())])


# ---- DuckDB ----------------------------------------------------------------------------------------------


#: types that have other names in DuckDB
OF_DUCKDB = {
    made.BYTES: "BLOB", made.INTS: "INT[]", made.RECORD: "STRUCT(p INT, q TEXT)", made.MAP: "MAP(TEXT, INT)"
}  # fmt: skip


def stored(value: Any, type_: str) -> Any:
    """A value as DuckDB takes it."""
    if value is None:
        return None
    match type_:
        case made.DATE:
            return (_EPOCH + datetime.timedelta(days=value)).date()
        case made.TIMESTAMP:
            return _EPOCH + datetime.timedelta(milliseconds=value)
        case made.TIME:
            return (_EPOCH + datetime.timedelta(milliseconds=value)).time()
    if type_.startswith("STRUCT"):
        return {name.lower(): member for name, member in value.items()}
    return value


def of_duckdb(given: Input) -> duckdb.DuckDBPyConnection:
    """DuckDB with the rows of all relations, those of tables as they are in the end."""
    base = duckdb.connect()
    base.execute("SET error_on_division_by_zero = false")
    base.execute("SET order_by_non_integer_literal = true")  # within an aggregate
    base.execute(made.MACROS)
    for name, records in given.records.items():
        key, key_type = made.KEYS[name]
        columns = {key: key_type, **made.PLAIN}
        columns |= made.COMPLEX if given.formats[name] != "DELIMITED" else {}
        types = ", ".join(f"{c} {OF_DUCKDB.get(t, t)}" for c, t in columns.items())
        base.execute(f"CREATE TABLE rel_{name} ({types}, rt BIGINT)")
        marks = ", ".join("?" * (len(columns) + 1))
        is_table = kind_of(name) == "TABLE"
        for record in {r.key: r for r in records}.values() if is_table else records:
            if record.values is not None:
                row = {key: record.key} | record.values
                cells = [stored(row[c], t) for c, t in columns.items()]
                base.execute(f"INSERT INTO rel_{name} VALUES ({marks})", [*cells, record.time_ms])
    return base


def selected(statement: Statement) -> str:
    """DuckDB's query, with times as formats have them."""
    columns = []
    for item in statement.items:
        text = {
            made.DATE: "date_diff('day', DATE '1970-01-01', {})",
            made.TIMESTAMP: "epoch_ms({})",
            made.TIME: "epoch_ms({})",
            "ARRAY<DATE>": "list_transform({}, lambda z: date_diff('day', DATE '1970-01-01', z))",
            "ARRAY<TIMESTAMP>": "list_transform({}, lambda z: epoch_ms(z))",
        }.get(item.type, "{}")
        if item.type in made.SCALARS and text == "{}":
            text = f"{{}}::{item.type}"
        columns.append(text.format(item.name))
    return f"SELECT {', '.join(columns)} FROM ({statement.text.duckdb})"
