"""Rows in JSON, written to a stream or table as they arrive (``/inserts-stream``, reference §7.6).

Rows are numbered from 0. Each is converted, sent by the server's idempotent producer without waiting, and
acknowledged in the order of the numbers once the brokers have it.
"""

from __future__ import annotations

import base64
import binascii
import datetime
import json
import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import ROUND_HALF_UP, InvalidOperation
from decimal import Decimal as PythonDecimal
from typing import Any, NamedTuple

import orjson

from ksql_spark.errors import KsqlError
from ksql_spark.expressions import Call, ColumnRef, Expression
from ksql_spark.formats.base import BadRecord
from ksql_spark.formats.json.format import check_depth, faithful, variant
from ksql_spark.kafka.producer import Writer
from ksql_spark.metastore.serdes import writing_serdes
from ksql_spark.metastore.sources import Constraint, DataSource
from ksql_spark.runtime.held_records import HeldRecords
from ksql_spark.runtime.plain_expressions import function_of, is_plain
from ksql_spark.schema_registry import SchemaRegistry
from ksql_spark.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    EXACT,
    INTEGER,
    STRING,
    TIME,
    TIMESTAMP,
    VARIANT,
    Array,
    Decimal,
    Map,
    SqlType,
    Struct,
    contains_variant,
)

log = logging.getLogger(__name__)

#: about how many rows of one client may be in flight
MAX_UNACKNOWLEDGED = 10_000
#: after how many rows to check what has been written
POLLED_ROWS = 100

_DECODER = json.JSONDecoder(parse_float=PythonDecimal)
_EPOCH = datetime.date(1970, 1, 1)

OnDelivered = Callable[[int, KsqlError | None], None]
"""Called with a row's number, and None once it is written, or the error."""


class Acknowledged(NamedTuple):
    """Rows from ``first`` to before ``end`` are written; ``error`` follows, unless it is None."""

    first: int
    end: int
    error: KsqlError | None


class RowInserter:
    """Writes rows to ``source``; the first row that fails is the last one to be acknowledged.

    One thread may call ``insert``, and one other ``acknowledged``.

    Args:
        source: from analyzer.bind_insert_target.
        writer: makes the writer to its topic, which reports the rows that it has written, or holds them until
            ``finish``.
        registry: has the schemas of formats that need them; or None.
        on_news: called in any thread when ``acknowledged`` has something new; not again until that is read.
        fields: the columns that a row may have, with their types as the REST API shows them.
    """

    def __init__(
        self,
        source: DataSource,
        writer: Callable[[OnDelivered], Writer | HeldRecords],
        registry: SchemaRegistry | None,
        on_news: Callable[[], None],
        fields: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> None:
        self._writer = writer(self._delivered)
        self._held = self._writer if isinstance(self._writer, HeldRecords) else None
        self._on_news = on_news
        self._key, self._value = writing_serdes(source, registry)
        self._keys = [(c.name, _converter(c.type)) for c in source.schema.key]
        self._values = [(c.name, _converter(c.type)) for c in source.schema.value]
        self.fields = fields or {}
        #: whether fractional numbers must keep all their digits
        self._has_decimals = any(_has_decimals(c.type) for c in source.schema.columns)
        self._has_variants = any(contains_variant(c.type) for c in source.schema.columns)
        self._constraints = [(c.text, met) for c, met in plain_constraints(source) if met is not None]
        #: a member's name as the client wrote it -> the column's name
        self._names: dict[str, str] = {}
        self._moved = threading.Lock()
        self._sent = 0
        self._reported = 0
        self._next = 0
        self._early: set[int] = set()
        self._errors: dict[int, KsqlError] = {}
        self._has_signalled = False
        self._closed = False

    def insert(self, lines: Iterable[bytes]) -> bool:
        """Send rows, each a JSON object; False if a row has failed, after which no more are accepted.

        It waits while MAX_UNACKNOWLEDGED rows are in flight.
        """
        with self._writer.attention:
            return self._insert(lines)

    def _insert(self, lines: Iterable[bytes]) -> bool:
        write, now_ms = self._writer.write, int(time.time() * 1000)
        for line in lines:
            if self._closed or self._errors:
                return False
            number = self._sent
            if number % POLLED_ROWS == 0:
                self._serve_deliveries()
            self._sent += 1
            try:
                key, value = self._encoded(line)
                write(number, key, value, now_ms)
            except KsqlError as error:
                self._delivered(number, error)
                return False
            except Exception as error:  # otherwise the client would wait for this row's acknowledgement
                log.exception("a row of an inserts stream")
                reason = f"{type(error).__name__}: {error}"
                self._delivered(number, KsqlError("INTERNAL", reason=reason))
                return False
        return True

    def _serve_deliveries(self) -> None:
        """Record what has been written, and wait while too many rows are in flight."""
        self._writer.poll()
        if self._sent - self._next < MAX_UNACKNOWLEDGED:
            return
        while self._sent - self._next > MAX_UNACKNOWLEDGED // 2 and not (self._closed or self._errors):
            self._writer.poll(0.1)

    def acknowledged(self) -> Acknowledged:
        """Return the range of rows that have been written since the last call."""
        with self._moved:
            self._has_signalled = False
            first, self._reported = self._reported, self._next
            return Acknowledged(first, self._next, self._errors.get(self._next))

    @property
    def is_idle(self) -> bool:
        """Whether every sent row has been acknowledged or has failed, and the client has read that."""
        with self._moved:
            return self._reported == self._sent or self._next in self._errors

    @property
    def is_whole(self) -> bool:
        """Whether no row is written before ``finish``."""
        return self._held is not None

    def finish(self) -> None:
        """Write the rows that are held.

        Raises:
            KsqlError: they cannot be written.
        """
        if self._held is not None:
            self._held.write_all()

    def close(self) -> None:
        """Accept no more rows, and forget those that are held; rows that were sent are still written."""
        with self._moved:
            self._closed = True
        if self._held is not None:
            self._held.close()

    def _delivered(self, number: int, error: KsqlError | None) -> None:
        with self._moved:
            if error is not None:
                self._errors[number] = error
            elif number == self._next:
                self._next += 1
                while self._next in self._early:
                    self._early.remove(self._next)
                    self._next += 1
            else:
                self._early.add(number)
            has_news = self._next > self._reported or self._next in self._errors
            if not has_news or self._has_signalled:
                return
            self._has_signalled = True
        self._on_news()

    def _encoded(self, line: bytes) -> tuple[bytes | None, bytes | None]:
        """The key and value of a row's record.

        Raises:
            KsqlError: BAD_REQUEST, INVALID_STATEMENT.
        """
        row = self._decoded(line)
        if not isinstance(row, dict):
            raise KsqlError("BAD_REQUEST", reason="A row of an inserts stream must be a JSON object")
        names = self._names
        values = {names.get(name) or self._column(name): value for name, value in row.items()}
        try:
            key = _all_converted(self._keys, values)
            if None in key:
                raise ValueError(f"Key field must be specified: {self._keys[key.index(None)][0]}")
            value = _all_converted(self._values, values)
            if self._constraints:
                self._check(key, value)
            return (self._key.encode_key(key) if key else None), self._value.encode(value)
        except (ValueError, OverflowError) as error:
            raise KsqlError("INVALID_STATEMENT", reason=str(error)) from None

    def _check(self, key: Sequence[Any], value: Sequence[Any]) -> None:
        """Refuse a row that every query would leave out. Raises ValueError."""
        names = (name for name, _ in (*self._keys, *self._values))
        row = dict(zip(names, (*key, *value), strict=True))
        for text, is_met in self._constraints:
            if not is_met(row):
                raise ValueError(f"The row violates {text}.")

    def _decoded(self, line: bytes) -> Any:
        """The JSON value of a line. Raises KsqlError BAD_REQUEST."""
        if not (self._has_decimals or self._has_variants):
            try:
                return orjson.loads(line)
            except ValueError:
                pass  # json reports the reason, or accepts it
        try:
            if not self._has_variants:
                return _DECODER.decode(line.decode())
            check_depth(line.decode())
            return faithful(line)
        except (BadRecord, ValueError, RecursionError, InvalidOperation) as error:
            raise KsqlError("BAD_REQUEST", reason=f"Invalid JSON in inserts stream: {error}") from None

    def _column(self, member: str) -> str:
        """The name of the column that a row's member refers to: upper case, unless it is quoted."""
        column = self._names.get(member)
        if column is None:
            column = column_name(member)
            if len(self._names) < 1000:
                self._names[member] = column
        return column


Row = Mapping[str, Any]


def plain_constraints(source: DataSource) -> list[tuple[Constraint, Callable[[Row], bool] | None]]:
    """Return each constraint of ``source`` with a predicate over rows; None if only Spark can check it.

    A row has the columns' values in the formats' Python form.
    """
    names = [column.name for column in source.schema.columns]
    columns = {name: place for place, name in enumerate(names)}

    def met(predicate: Expression) -> Callable[[Row], bool] | None:
        match predicate:
            case Call("IS NOT NULL", (ColumnRef(name),)):
                return lambda row: row.get(name) is not None
        if not is_plain(predicate):
            return None
        holds = function_of(predicate, columns)
        return lambda row: holds([row.get(name) for name in names], ()) is True

    return [(constraint, met(constraint.predicate)) for constraint in source.constraints]


def encode_key(source: DataSource, registry: SchemaRegistry | None, key: Mapping[str, Any]) -> bytes | None:
    """The key of a record with these values of key columns (name as clients write it -> JSON value).

    Raises:
        KsqlError: INVALID_STATEMENT if a column is missing or unknown, or a value does not fit its column.
    """
    values = {column_name(name): value for name, value in key.items()}
    names = [column.name for column in source.schema.key]
    try:
        if wrong := sorted(values.keys() ^ set(names)):
            raise ValueError(f"The key of {source.name} has the columns {', '.join(names)}, not {wrong[0]}")
        serde, _ = writing_serdes(source, registry)
        return serde.encode_key([_converted(c.name, _converter(c.type), values) for c in source.schema.key])
    except (ValueError, OverflowError) as error:
        raise KsqlError("INVALID_STATEMENT", reason=str(error)) from None


def column_name(text: str) -> str:
    """A column name as clients write it in JSON: quoted names are unchanged, others become upper case.

    >>> column_name("id"), column_name("`id`")
    ('ID', 'id')
    """
    if len(text) > 1 and text[0] == text[-1] == "`":
        return text[1:-1].replace("``", "`")
    return text.upper()


# ---- JSON values as a column's type ----------------------------------------------------------------------

Converter = Callable[[Any], Any]


def _has_decimals(type_: SqlType) -> bool:
    match type_:
        case Array(inner) | Map(_, inner):
            return _has_decimals(inner)
        case Struct(fields):
            return any(_has_decimals(f.type) for f in fields)
    return isinstance(type_, Decimal)


def _all_converted(columns: Sequence[tuple[str, Converter]], values: Mapping[str, Any]) -> list[Any]:
    """The values of ``columns``; a ValueError names the column."""
    try:
        return [None if (v := values.get(name)) is None else convert(v) for name, convert in columns]
    except (ValueError, OverflowError, InvalidOperation):
        return [_converted(name, convert, values) for name, convert in columns]


def _converted(name: str, convert: Converter, values: Mapping[str, Any]) -> Any:
    value = values.get(name)
    try:
        return None if value is None else convert(value)
    except (ValueError, OverflowError, InvalidOperation) as error:
        raise ValueError(f"Column {name}: {error}") from None


def _converter(type_: SqlType) -> Converter:
    """A function from JSON values (not null) to the formats' Python form; it raises ValueError."""
    match type_:
        case Array(element):
            return _list_of(_converter(element), type_)
        case Map(_, item):
            return _map_of(_converter(item), type_)
        case Struct(fields):
            return _struct_of([(f.name, _converter(f.type)) for f in fields], type_)
        case Decimal(precision, scale):
            return _decimal(precision, scale, type_)
    return SCALARS[type_]


def _list_of(convert: Converter, type_: SqlType) -> Converter:
    def read(value: Any) -> list[Any]:
        if not isinstance(value, list):
            raise _mismatch(value, type_)
        return [None if v is None else convert(v) for v in value]

    return read


def _map_of(convert: Converter, type_: SqlType) -> Converter:
    def read(value: Any) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise _mismatch(value, type_)
        return {k: None if v is None else convert(v) for k, v in value.items()}

    return read


def _struct_of(fields: list[tuple[str, Converter]], type_: SqlType) -> Converter:
    def read(value: Any) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise _mismatch(value, type_)
        fields_of_value = {column_name(name): inner for name, inner in value.items()}
        return {name: _converted(name, convert, fields_of_value) for name, convert in fields}

    return read


def _decimal(precision: int, scale: int, type_: SqlType) -> Converter:
    unit = PythonDecimal(1).scaleb(-scale)

    def read(value: Any) -> PythonDecimal:
        if isinstance(value, bool) or not isinstance(value, (int, str, PythonDecimal)):
            raise _mismatch(value, type_)
        try:
            number = PythonDecimal(value)
        except InvalidOperation:
            raise _mismatch(value, type_) from None
        if not number.is_finite() or number.adjusted() >= precision - scale:
            raise ValueError(f"{value} does not fit {type_}")
        rounded = number.quantize(unit, ROUND_HALF_UP, EXACT)
        if rounded.adjusted() >= precision - scale and rounded:
            raise ValueError(f"{value} does not fit {type_}")
        return rounded

    return read


def _whole(type_: SqlType, bits: int) -> Converter:
    most = 2 ** (bits - 1)

    def read(value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int):
            raise _mismatch(value, type_)
        if not -most <= value < most:
            raise ValueError(f"{value} does not fit {type_}")
        return int(value)

    return read


def _double(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float, PythonDecimal)):
        raise _mismatch(value, DOUBLE)
    return float(value)


def _exactly(python: type, type_: SqlType) -> Converter:
    def read(value: Any) -> Any:
        if not isinstance(value, python):
            raise _mismatch(value, type_)
        return value

    return read


def _bytes(value: Any) -> bytes:
    if not isinstance(value, str):
        raise _mismatch(value, BYTES)
    try:
        return base64.b64decode(value, validate=True)
    except binascii.Error as error:
        raise ValueError(f"it is not base64: {error}") from None


def _date(value: Any) -> int:
    if not isinstance(value, str):
        raise _mismatch(value, DATE)
    try:
        return (datetime.date.fromisoformat(value) - _EPOCH).days
    except ValueError:
        raise ValueError(f"'{value}' is not a valid DATE, which is written as 2026-01-31") from None


def _time(value: Any) -> int:
    if not isinstance(value, str):
        raise _mismatch(value, TIME)
    try:
        at = datetime.time.fromisoformat(value)
    except ValueError:
        raise ValueError(f"'{value}' is not a valid TIME, which is written as 12:34:56") from None
    return ((at.hour * 60 + at.minute) * 60 + at.second) * 1000 + at.microsecond // 1000


def _timestamp(value: Any) -> int:
    if not isinstance(value, str):
        raise _mismatch(value, TIMESTAMP)
    try:
        at = datetime.datetime.fromisoformat(value)
    except ValueError:
        raise ValueError(
            f"'{value}' is not a valid TIMESTAMP, which is written as 2026-01-31T12:34:56"
        ) from None
    at = at.replace(tzinfo=datetime.UTC) if at.tzinfo is None else at
    since = at - datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
    return since // datetime.timedelta(milliseconds=1)


#: converters of JSON values (not null) to the formats' Python form; they raise ValueError
SCALARS: dict[SqlType, Converter] = {
    STRING: _exactly(str, STRING),
    BOOLEAN: _exactly(bool, BOOLEAN),
    INTEGER: _whole(INTEGER, 32),
    BIGINT: _whole(BIGINT, 64),
    DOUBLE: _double,
    BYTES: _bytes,
    DATE: _date,
    TIME: _time,
    TIMESTAMP: _timestamp,
    VARIANT: variant,
}


def _mismatch(value: Any, type_: SqlType) -> ValueError:
    shown = json.dumps(value, default=str)
    shown = shown if len(shown) <= 40 else f"{shown[:37]}..."
    return ValueError(f"Can't coerce {shown} to {type_}")
