"""Values of results as Python's types, pyarrow's and pandas': the type of a column decides, not the value.

| SQL | Python | pyarrow | pandas |
|---|---|---|---|
| INTEGER, BIGINT | int | int32, int64 | Int32, Int64 |
| DOUBLE | float | float64 | float64 |
| DECIMAL(p, s) | decimal.Decimal | decimal128(p, s) | object |
| BOOLEAN | bool | bool | boolean |
| STRING | str | string | object |
| BYTES | bytes | binary | object |
| DATE, TIME | datetime.date, datetime.time | date32, time32[ms] | object |
| TIMESTAMP | datetime.datetime in UTC | timestamp[ms, UTC] | datetime64[ms, UTC] |
| ARRAY, MAP, STRUCT | list, dict, dict | list, map, struct | object |
| VARIANT | what its JSON is, fractions as decimal.Decimal | string with JSON | object |

Dates and times outside the range of Python's types (after the year 9999) stay text, also as pandas' objects;
pyarrow and pandas' datetime64 have them.
"""

from __future__ import annotations

import base64
import contextlib
import datetime
import functools
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any, NamedTuple

#: the media type of a stream of Arrow's IPC format
ARROW_STREAM = "application/vnd.apache.arrow.stream"

_TOKEN = re.compile(r"`(?:[^`]|``)*`|\w+|[<>(),]")


class Type(NamedTuple):
    """A type of a column.

    Args:
        name: ``DECIMAL``, ``ARRAY`` …
        sizes: precision and scale of a DECIMAL.
        parts: names and types of its parts; elements have the name "".
    """

    name: str
    sizes: tuple[int, ...] = ()
    parts: tuple[tuple[str, Type], ...] = ()

    @property
    def has_variants(self) -> bool:
        """Whether it is a VARIANT, or has one inside."""
        return self.name == "VARIANT" or any(part.has_variants for _, part in self.parts)


def type_text(schema: Mapping[str, Any]) -> str:
    """A type as SQL, from a schema object of the REST API.

    >>> type_text({"type": "ARRAY", "memberSchema": {"type": "STRING"}})
    'ARRAY<STRING>'
    """
    match schema["type"]:
        case "ARRAY":
            return f"ARRAY<{type_text(schema['memberSchema'])}>"
        case "MAP":
            return f"MAP<STRING, {type_text(schema['memberSchema'])}>"
        case "STRUCT":
            names = (field["name"].replace("`", "``") for field in schema["fields"])
            types = (type_text(field["schema"]) for field in schema["fields"])
            return (
                f"STRUCT<{', '.join(f'`{name}` {type_}' for name, type_ in zip(names, types, strict=True))}>"
            )
        case "DECIMAL":
            return f"DECIMAL({schema['parameters']['precision']}, {schema['parameters']['scale']})"
    return str(schema["type"])


@functools.lru_cache(1000)
def type_of(text: str) -> Type:
    """A type from its text.

    >>> type_of("ARRAY<STRUCT<`a` DECIMAL(4, 2)>>").parts[0][1].parts
    (('a', Type(name='DECIMAL', sizes=(4, 2), parts=())),)
    """
    tokens = _TOKEN.findall(text)
    type_ = _read(tokens)
    if tokens:
        raise ValueError(f"unknown type {text}")
    return type_


def _read(tokens: list[str]) -> Type:
    name = tokens.pop(0).upper()
    if tokens[:1] == ["("]:
        end = tokens.index(")")
        sizes = tuple(int(size) for size in tokens[1:end] if size != ",")
        del tokens[: end + 1]
        return Type(name, sizes)
    parts: list[tuple[str, Type]] = []
    if tokens[:1] == ["<"]:
        while tokens.pop(0) != ">":  # and the commas
            if tokens[0] == ">":
                continue
            label = tokens.pop(0)[1:-1].replace("``", "`") if name == "STRUCT" else ""
            parts.append((label, _read(tokens)))
    return Type(name, parts=tuple(parts))


Convert = Callable[[Any], Any]


def converter(type_: Type) -> Convert | None:
    """Converts JSON, read with ``parse_float=Decimal``, to a Python value; None if it stays as it is."""
    convert = _CONVERT.get(type_.name)
    match type_.name:
        case "ARRAY":
            element = converter(type_.parts[0][1])
            convert = None if element is None else _list_of(element)
        case "MAP":
            member = converter(type_.parts[1][1])
            convert = None if member is None else _map_of(member)
        case "STRUCT":
            fields = {
                name: convert_field
                for name, part in type_.parts
                if (convert_field := converter(part)) is not None
            }
            convert = _struct_of(fields) if fields else None
    return None if convert is None else _or_none(convert)


def _or_none(convert: Convert) -> Convert:
    return lambda value: None if value is None else convert(value)


def _list_of(element: Convert) -> Convert:
    return lambda values: [element(value) for value in values]


def _map_of(member: Convert) -> Convert:
    return lambda values: {key: member(value) for key, value in values.items()}


def _struct_of(fields: dict[str, Convert]) -> Convert:
    return lambda values: {k: fields[k](v) if k in fields else v for k, v in values.items()}


def _timestamp(text: str) -> datetime.datetime | str:
    with contextlib.suppress(ValueError):
        return datetime.datetime.fromisoformat(text).replace(tzinfo=datetime.UTC)
    return text


def _date(text: str) -> datetime.date | str:
    with contextlib.suppress(ValueError):
        return datetime.date.fromisoformat(text)
    return text


def _time(text: str) -> datetime.time | str:
    with contextlib.suppress(ValueError):
        return datetime.time.fromisoformat(text)
    return text


#: a year outside the range of Python's types, month, day, and the time of a TIMESTAMP
_FAR = re.compile(r"([+-]?\d{4,})-(\d\d)-(\d\d)(?:T(.+))?")
_EPOCH_DAY = datetime.date(1970, 1, 1).toordinal()
_DAYS_IN_400_YEARS = 146_097
_DAY_MS = 86_400_000


def far_instant(text: str) -> int:
    """Return the epoch days of a DATE, or the epoch milliseconds of a TIMESTAMP, of any year.

    >>> far_instant("+10000-01-01"), far_instant("+10000-01-01T00:00:00.001")
    (2932897, 253402300800001)
    """
    match = _FAR.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is no date")
    year, month, day, time = match.groups()
    cycles, within = divmod(int(year), 400)  # the calendar repeats every four centuries
    date = datetime.date(within + 400, int(month), int(day))
    days = date.toordinal() - _EPOCH_DAY + (cycles - 1) * _DAYS_IN_400_YEARS
    if time is None:
        return days
    passed = datetime.datetime.combine(date, datetime.time.fromisoformat(time)) - datetime.datetime.combine(
        date, datetime.time()
    )
    return days * _DAY_MS + passed // datetime.timedelta(milliseconds=1)


_CONVERT: dict[str, Convert] = {
    "DOUBLE": float,  # a number, or the text NaN, Infinity, -Infinity
    "DECIMAL": Decimal,
    "BYTES": base64.b64decode,
    "DATE": _date,
    "TIME": _time,
    "TIMESTAMP": _timestamp,
}


def converters(types: Sequence[str]) -> list[Convert | None]:
    """The converter of each column."""
    return [converter(type_of(text)) for text in types]


def arrow_type(type_: Type) -> Any:
    """The pyarrow type."""
    import pyarrow as pa

    match type_.name:
        case "ARRAY":
            return pa.list_(arrow_type(type_.parts[0][1]))
        case "MAP":
            return pa.map_(pa.string(), arrow_type(type_.parts[1][1]))
        case "STRUCT":
            return pa.struct([(name, arrow_type(part)) for name, part in type_.parts])
        case "DECIMAL":
            return pa.decimal128(*type_.sizes) if type_.sizes[0] <= 38 else pa.decimal256(*type_.sizes)
    return {
        "INTEGER": pa.int32(),
        "BIGINT": pa.int64(),
        "DOUBLE": pa.float64(),
        "BOOLEAN": pa.bool_(),
        "BYTES": pa.binary(),
        "DATE": pa.date32(),
        "TIME": pa.time32("ms"),
        "TIMESTAMP": pa.timestamp("ms", "UTC"),
    }.get(type_.name, pa.string())


def arrow_array(values: Iterable[Any], type_: Type) -> Any:
    """A column as a pyarrow.Array."""
    import pyarrow as pa

    if type_.name in _IN_PAIRS:
        values = (_pairs(value, type_) for value in values)
    return pa.array(values, arrow_type(type_))


#: types whose values pyarrow wants in another form
_IN_PAIRS = frozenset({"MAP", "ARRAY", "STRUCT", "VARIANT", "DATE", "TIMESTAMP"})


def _pairs(value: Any, type_: Type) -> Any:
    """Return a value in pyarrow's form: MAPs as pairs, VARIANTs as JSON, far dates and times as numbers."""
    if value is None:
        return None
    match type_.name:
        case "MAP":
            return [(key, _pairs(member, type_.parts[1][1])) for key, member in value.items()]
        case "ARRAY":
            return [_pairs(element, type_.parts[0][1]) for element in value]
        case "STRUCT":
            return {name: _pairs(value.get(name), part) for name, part in type_.parts}
        case "VARIANT":
            return _json(value)
        case "DATE" | "TIMESTAMP" if isinstance(value, str):
            return far_instant(value)
    return value


def _json(value: Any) -> str:
    """A value as JSON, with all digits of numbers."""
    match value:
        case dict():
            return f"{{{','.join(f'{_json(name)}:{_json(member)}' for name, member in value.items())}}}"
        case list():
            return f"[{','.join(map(_json, value))}]"
        case Decimal():
            return str(value)
    return json.dumps(value, ensure_ascii=False)


def numpy_times(column: Sequence[datetime.datetime | str | None]) -> Any:
    """Return TIMESTAMPs of any year as a numpy array of datetime64[ms], in UTC; NULL is NaT."""
    import numpy

    plain = [far_instant(at) if isinstance(at, str) else at and at.replace(tzinfo=None) for at in column]
    return numpy.array(plain, "datetime64[ms]")


#: names of pandas' types; others are objects
PANDAS = {
    "INTEGER": "Int32",
    "BIGINT": "Int64",
    "DOUBLE": "float64",
    "BOOLEAN": "boolean",
    "TIMESTAMP": "datetime64[ms, UTC]",
}


__all__ = ["PANDAS", "arrow_array", "arrow_type", "converters", "type_of"]
