"""Results of SELECT and PRINT: columns, rows, and values as the REST API shows them (reference §7.5)."""

from __future__ import annotations

import base64
import datetime
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from ksql_spark.schema import Column
from ksql_spark.types import BYTES, DATE, TIME, TIMESTAMP, Array, Map, SqlType, Struct, type_json


@dataclass(frozen=True)
class ResultColumn:
    """One column of a query's result.

    Args:
        type: SQL text, for example ``ARRAY<STRING>``.
        schema: the type as the REST API's schema object (reference §7.3).
    """

    name: str
    type: str
    is_key: bool = False
    schema: Mapping[str, Any] = field(default_factory=dict, compare=False)

    @classmethod
    def of(cls, name: str, type_: SqlType, is_key: bool = False) -> ResultColumn:
        """A column of this type."""
        return cls(name, str(type_), is_key, type_json(type_))


@dataclass(frozen=True)
class Row:
    """One result row; values are JSON-ready. ``tombstone``: the row was deleted from a table."""

    values: list[Any]
    tombstone: bool = False


class QueryStream(Protocol):
    """The rows of one SELECT or PRINT; ``kind`` is PUSH, PULL, STREAM_PULL or PRINT."""

    query_id: str
    kind: str
    columns: list[ResultColumn]
    final_message: str | None

    def read(self, timeout_s: float) -> list[Row] | None:
        """The rows that have arrived; [] if none came within ``timeout_s`` seconds; None at the end."""
        ...

    def close(self) -> None:
        """Stop the query and free its resources; may be called more than once."""
        ...


def result_columns(columns: Sequence[Column], keys: frozenset[str] = frozenset()) -> list[ResultColumn]:
    """Result columns of a schema; those named in ``keys`` are flagged KEY."""
    return [ResultColumn.of(c.name, c.type, c.name in keys) for c in columns]


def api_value(value: Any, type_: SqlType) -> Any:
    """A value in the formats' Python form (see formats.base) as the REST API shows it (reference §7.5).

    DATE ``yyyy-MM-dd``; TIME ``HH:mm[:ss]``; TIMESTAMP ``yyyy-MM-ddTHH:mm:ss.SSS``; BYTES base64; NaN and
    infinities as text.
    """
    if value is None:
        return None
    match type_:
        case Array(element):
            return [api_value(v, element) for v in value]
        case Map(_, inner):
            return {k: api_value(v, inner) for k, v in value.items()}
        case Struct(fields):
            return {f.name: api_value(value.get(f.name), f.type) for f in fields}
    if type_ == BYTES:
        return base64.b64encode(value).decode()
    if type_ == DATE:
        return (datetime.date(1970, 1, 1) + datetime.timedelta(days=value)).isoformat()
    if type_ == TIME:
        at = (datetime.datetime.min + datetime.timedelta(milliseconds=value)).time()
        return at.strftime("%H:%M:%S" if at.second else "%H:%M")
    if type_ == TIMESTAMP:
        at_ = datetime.datetime(1970, 1, 1) + datetime.timedelta(milliseconds=value)
        return at_.isoformat(timespec="milliseconds")
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else ("Infinity" if value > 0 else "-Infinity")
    return value  # a DECIMAL keeps all its digits: the JSON writer writes it as a plain number
