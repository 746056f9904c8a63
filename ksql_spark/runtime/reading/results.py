"""Results of SELECT and PRINT: columns, rows, and values as the REST API shows them (reference §7.5)."""

from __future__ import annotations

import base64
import datetime
import functools
import math
import time
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

from ksql_spark.entities.schemas import DecimalParameters, SchemaInfo, StructField
from ksql_spark.errors import KsqlError
from ksql_spark.instants import date_text, timestamp_text
from ksql_spark.schema import Column
from ksql_spark.types import (
    BYTES,
    DATE,
    DOUBLE,
    TIME,
    TIMESTAMP,
    VARIANT,
    Array,
    Decimal,
    Map,
    SqlType,
    Struct,
)


class RawJson(str):
    """A VARIANT: the text of a JSON value, which is a part of the JSON of a row as it is."""

    __slots__ = ()


def schema_info(type_: SqlType) -> SchemaInfo:
    """A type's parts (reference §7.3)."""
    match type_:
        case Struct(fields):
            return SchemaInfo(
                "STRUCT", fields=tuple(StructField(f.name, schema_info(f.type)) for f in fields)
            )
        case Array(element):
            return SchemaInfo("ARRAY", member_schema=schema_info(element))
        case Map(_, value):
            return SchemaInfo("MAP", member_schema=schema_info(value))
        case Decimal(precision, scale):
            return SchemaInfo("DECIMAL", parameters=DecimalParameters(precision, scale))
    return SchemaInfo(str(type_))


@dataclass(frozen=True)
class ResultColumn:
    """One column of a query's result.

    Args:
        type: SQL text, for example ``ARRAY<STRING>``.
        schema: the type in its parts.
    """

    name: str
    type: str
    is_key: bool = False
    schema: SchemaInfo = field(default=SchemaInfo("STRING"), compare=False)

    @classmethod
    def of(cls, name: str, type_: SqlType, is_key: bool = False) -> ResultColumn:
        """A column of this type."""
        return cls(name, str(type_), is_key, schema_info(type_))


@dataclass
class Row:
    """One result row; values are JSON-ready. ``tombstone``: the row was deleted from a table."""

    values: list[Any]
    tombstone: bool = False
    #: the values as JSON, once a client has received them; other clients get the same bytes
    json: bytes | None = field(default=None, init=False, repr=False, compare=False)


class Rows(list[Row]):
    """Rows of one read, which several clients may get. They are not changed once they are made."""

    def __init__(self, rows: Iterable[Row] = ()) -> None:
        super().__init__(rows)
        #: kind of format -> the rows in it, made once for all clients
        self.encoded: dict[Hashable, bytes] = {}
        self._parts: tuple[Rows, ...] = ()

    @classmethod
    def of(cls, parts: Sequence[Rows]) -> Rows:
        """The rows of all ``parts``, one after another."""
        if len(parts) == 1:
            return parts[0]
        whole = cls(row for part in parts for row in part)
        whole._parts = tuple(parts)
        return whole

    @property
    def parts(self) -> tuple[Rows, ...]:
        """The parts that these rows were joined of; other clients get each of these, too."""
        return self._parts or (self,)


#: how many rows are returned at once
SMALL = 2_000


def pull_query_id() -> str:
    """An id for a new pull query."""
    return f"query_{int(time.time() * 1000)}"


class QueryStream(Protocol):
    """The rows of one SELECT or PRINT; ``kind`` is PUSH, PULL, STREAM_PULL or PRINT."""

    query_id: str
    kind: str
    columns: list[ResultColumn]
    final_message: str | None
    #: whether the whole result is small and complete: read() never waits, and there is nothing to close
    is_complete: bool = False

    @property
    def is_live(self) -> bool:
        """Whether read(0) never blocks, so that reading needs no thread: when_arrived() calls back."""
        return False

    @property
    def continuation(self) -> str | None:
        """A token of the position, from which an equal query can resume; None if tokens are not wanted."""
        return None

    def when_arrived(self, on_arrival: Callable[[], None]) -> None:
        """Call ``on_arrival`` once, in any thread, when there may be something to read."""
        on_arrival()

    def read(self, timeout_s: float) -> Rows | None:
        """The rows that have arrived; [] if none came within ``timeout_s`` seconds; None at the end."""
        ...

    def close(self) -> None:
        """Stop the query and free its resources; may be called more than once."""
        ...


#: a result that others may have, too: it is small and complete; or the error in its place; None: neither
Shareable: TypeAlias = "PullResult | KsqlError | None"


class Computed(QueryStream, Protocol):
    """The rows of a pull query, which others may wait for as well."""

    def share(self, on_known: Callable[[Shareable], None], others_wait: Callable[[], bool]) -> None:
        """Let others have the result.

        Args:
            on_known: called once, in any thread, when it is known what they get.
            others_wait: returns whether to go on for them after the client has closed the stream.
        """
        on_known(None)


class PullResult(Computed):
    """The result of a pull query, whose rows are in memory.

    Args:
        columns: of the result.
        rows: all of them.
        final_message: what follows the rows.
        kind: PULL or STREAM_PULL.
    """

    def __init__(
        self,
        columns: list[ResultColumn],
        rows: list[Row],
        final_message: str | None = None,
        kind: str = "PULL",
    ) -> None:
        self.query_id = pull_query_id()
        self.kind = kind
        self.columns = columns
        self.final_message: str | None = None
        self._final = final_message
        self._rows: Rows | None = rows if isinstance(rows, Rows) else Rows(rows)
        self.is_complete = len(rows) <= SMALL

    def again(self) -> PullResult:
        """The same result for another client, before it has been read."""
        return PullResult(self.columns, self._rows or [], self._final, self.kind)

    def share(self, on_known: Callable[[Shareable], None], others_wait: Callable[[], bool]) -> None:
        """See Computed."""
        on_known(self.again() if self.is_complete else None)

    def read(self, timeout_s: float) -> Rows | None:
        """All rows at the first call, then None."""
        rows, self._rows = self._rows, None
        if rows is None:
            self.final_message = self._final
        return rows

    def close(self) -> None:
        """Forget the rows; there is nothing else to free."""
        self._rows = None


def result_columns(columns: Sequence[Column], keys: frozenset[str] = frozenset()) -> list[ResultColumn]:
    """Result columns of a schema; those named in ``keys`` are flagged KEY."""
    return [ResultColumn.of(c.name, c.type, c.name in keys) for c in columns]


def row_form(types: Iterable[SqlType]) -> Callable[[Iterable[Any]], list[Any]]:
    """A function that applies api_value to the values of a row, which have these types."""
    forms = [api_form(type_) for type_ in types]
    return lambda row: [v if form is None else form(v) for v, form in zip(row, forms, strict=True)]


def api_value(value: Any, type_: SqlType) -> Any:
    """A value in the formats' Python form (see formats.base) as the REST API shows it (reference §7.5).

    DATE ``yyyy-MM-dd``; TIME ``HH:mm[:ss]``; TIMESTAMP ``yyyy-MM-ddTHH:mm:ss.SSS``; BYTES base64; NaN and
    infinities as text; VARIANT RawJson.
    """
    form = api_form(type_)
    return value if form is None else form(value)


@functools.lru_cache(10_000)
def api_form(type_: SqlType) -> Callable[[Any], Any] | None:
    """A function equivalent to api_value for ``type_``; None if that does not change values."""
    match type_:
        case Array(element):
            of_element = api_form(element) or _same
            form: Callable[[Any], Any] | None = lambda value: list(map(of_element, value))  # noqa: E731
        case Map(_, inner):
            of_member = api_form(inner) or _same
            form = lambda value: {k: of_member(v) for k, v in value.items()}  # noqa: E731
        case Struct(fields):
            of_fields = [(f.name, api_form(f.type) or _same) for f in fields]
            form = lambda value: {name: of_field(value.get(name)) for name, of_field in of_fields}  # noqa: E731
        case _:  # a DECIMAL keeps all its digits: the JSON writer writes it as a plain number
            form = _FORMS.get(type_)
    return None if form is None else lambda value: None if value is None else form(value)


def _same(value: Any) -> Any:
    return value


_DAY_MS = 86_400_000


def _time_text(milliseconds: int) -> str:
    """A TIME; the end of the day is its start."""
    at = (datetime.datetime.min + datetime.timedelta(milliseconds=milliseconds % _DAY_MS)).time()
    return at.strftime("%H:%M:%S" if at.second else "%H:%M")


def _double_text(value: float) -> float | str:
    """A DOUBLE; what JSON has no number for is text."""
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else ("Infinity" if value > 0 else "-Infinity")


_FORMS: dict[SqlType, Callable[[Any], Any]] = {
    BYTES: lambda value: base64.b64encode(value).decode(),
    DATE: date_text,
    DOUBLE: _double_text,
    TIME: _time_text,
    TIMESTAMP: timestamp_text,
    VARIANT: RawJson,
}
