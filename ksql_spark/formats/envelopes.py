"""Envelopes: what programs that capture the changes of a database put around rows (reference §5.9).

An envelope is a record of any format that has records: what happened, and the row after it. So the format's
own serde reads a struct of both, and functions of the JVM (Envelope.java) take the row out of it. Its key is
a record of the key columns.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import md5
from typing import Any, ClassVar
from uuid import UUID

from ksql_spark.formats.base import BadRecord, Serde
from ksql_spark.formats.spec import KEY, SerdeSpec
from ksql_spark.functions.spark_text import string
from ksql_spark.schema import UNCHANGED, Column
from ksql_spark.schema_registry import SchemaRegistry
from ksql_spark.types import (
    BIGINT,
    BYTES,
    DATE,
    DOUBLE,
    INTEGER,
    STRING,
    VARIANT,
    Array,
    Field,
    Map,
    SqlType,
    Struct,
    quote_identifier,
)

#: the column that tells whether a row was deleted, beside those of the row
DELETED = "__DELETED"
#: stands for a value that a change leaves out
UNAVAILABLE = object()
#: the member in which Kafka Connect's JSON converter puts a record beside its schema
_PAYLOAD = "PAYLOAD"


@dataclass(frozen=True)
class Envelope:
    """A kind of envelope.

    Args:
        formats: the formats of its records.
        operation: the member that tells what happened.
        row: the member with the row after it.
        upserts: what happened to a row that is there.
        deletions: what happened to a row that is gone.
        key_prefix: before the columns' names in keys.
        unavailable: what stands for a large value that the change left as it was, or None.
    """

    formats: tuple[str, ...]
    operation: str
    row: str
    upserts: tuple[str, ...]
    deletions: tuple[str, ...]
    key_prefix: str = ""
    unavailable: str | None = None


#: name -> envelope
ENVELOPES: dict[str, Envelope] = {
    "debezium": Envelope(
        ("JSON", "JSON_SR", "AVRO", "PROTOBUF"), "OP", "AFTER", ("c", "u", "r"), ("d",),
        unavailable="__debezium_unavailable_value",
    ),
    "maxwell": Envelope(
        ("JSON",), "TYPE", "DATA", ("insert", "update", "bootstrap-insert"), ("delete",), "PK."
    ),
}  # fmt: skip


def _forms(text: str, type_: SqlType) -> Sequence[Any]:
    """Return the values that may stand for an unavailable one in a column of this type."""
    data = text.encode()
    match type_:
        case Map(_, value) if value == STRING:
            return ({text: text},)
        case Array(element) if element in (STRING, BYTES):
            return ([text], [data], [str(UUID(bytes=md5(data).digest(), version=3))])
        case Array(element) if element in (INTEGER, BIGINT, DOUBLE, DATE):
            return (list(data),)
    if type_ not in (STRING, VARIANT, BYTES):
        return ()
    # arrays, maps and JSON may be columns of texts, too
    return (text, f"[{text}]", json.dumps(text), f'{{"{text}":"{text}"}}', data)


def may_be_unavailable(envelope: str | None, type_: SqlType) -> bool:
    """Whether a change in such an envelope may leave out the value of a column of this type."""
    text = ENVELOPES[envelope].unavailable if envelope is not None else None
    return text is not None and bool(_forms(text, type_))


class EnvelopeSerde(Serde):
    """Reads the columns in envelopes, or in their keys; it writes keys only, as plain objects.

    Args:
        spec: with the name of an envelope.
        inner: makes serdes of the format, without an envelope.
    """

    name: ClassVar[str] = "ENVELOPE"

    def __init__(
        self,
        spec: SerdeSpec,
        inner: Callable[[SerdeSpec, SchemaRegistry | None], Serde],
        registry: SchemaRegistry | None = None,
    ) -> None:
        super().__init__(spec, registry)
        self._envelope = ENVELOPES[spec.envelope or ""]
        # Connect puts a schema beside JSON without a registry
        self._has_payload = spec.format == "JSON"
        self._is_key = spec.side == KEY
        self._make = inner
        self._inner: Serde = self._bind(self._key_columns() if self._is_key else self._value_columns())

    def _bind(self, columns: Sequence[Column], wrapped: bool = True) -> Serde:
        """The format's own serde of these columns."""
        spec = replace(self.spec, columns=tuple(columns), wrapped=wrapped, envelope=None)
        return self._make(spec, self.registry)

    def _value_columns(self) -> list[Column]:
        fields = (
            Field(self._envelope.operation, STRING),
            Field(self._envelope.row, Struct(tuple(Field(c.name, c.type) for c in self.columns))),
        )
        own = [Column(f.name, f.type) for f in fields]
        return [*own, Column(_PAYLOAD, Struct(fields))] if self._has_payload else own

    def _key_columns(self) -> list[Column]:
        own = [Column(self._envelope.key_prefix + c.name, c.type) for c in self.columns]
        if not self._has_payload or any(c.name.upper() == _PAYLOAD for c in own):
            return own
        return [*own, Column(_PAYLOAD, Struct(tuple(Field(c.name, c.type) for c in own)))]

    @property
    def asks_registry(self) -> bool:
        """Whether the inner format asks the registry."""
        return self._inner.asks_registry

    @property
    def _is_bare_too(self) -> bool:
        """Whether a key may also be a bare value, as Connect's ExtractField leaves it."""
        return self._has_payload and self._is_key and len(self.columns) == 1

    # ---- in Python -----------------------------------------------------------------------------------

    def encode(self, values: Sequence[Any]) -> bytes | None:
        """A key as a plain object."""
        if not self._is_key:
            raise ValueError(f"No rows can be written in envelopes of {self.spec.envelope}.")
        return self._bind(self._key_columns()[: len(self.columns)]).encode(values)

    def decode(self, data: bytes) -> list[Any] | None:
        """The columns' values, NULL where the change leaves them out; None for a row that was deleted."""
        if self._is_key:
            return self._key(data)
        values = self.change(data)
        return None if values is None else [None if v is UNAVAILABLE else v for v in values]

    def change(self, data: bytes) -> list[Any] | None:
        """The values of a row's columns, UNAVAILABLE where the change leaves them out, or None if it was
        deleted.

        Raises:
            BadRecord, KsqlError: as decode.
        """
        values = self._inner.decode(data)
        if values is None:
            return None
        operation, row, *payload = values
        if payload and payload[0] is not None:
            operation, row = payload[0][self._envelope.operation], payload[0][self._envelope.row]
        if operation in self._envelope.deletions:
            return None
        if operation not in self._envelope.upserts or row is None:
            raise BadRecord(self._reason(operation))
        return [UNAVAILABLE if row[n] in forms else row[n] for n, forms in self._unavailable]

    @cached_property
    def _unavailable(self) -> list[tuple[str, Sequence[Any]]]:
        """The columns, each with what the program writes, for its type, instead of a large value."""
        text = self._envelope.unavailable
        return [(c.name, () if text is None else _forms(text, c.type)) for c in self.columns]

    def _reason(self, operation: str | None) -> str:
        member = self._envelope.operation.lower()
        if operation is None:
            return f"It is no envelope: it has no {member}."
        if operation in self._envelope.upserts:
            return f'Its {member} is "{operation}", but it has no {self._envelope.row.lower()}.'
        return f'Its {member} is "{operation}", which tells nothing about one row.'

    def _key(self, data: bytes) -> list[Any] | None:
        count = len(self.columns)
        if self._is_bare_too and not _is_object(data):
            values = self._bind(self.columns, wrapped=False).decode(data)
        else:
            values = self._key_in_object(data)
        if values is None:
            return None
        if None in values[:count]:
            raise BadRecord(self._missing())
        return values[:count]

    def _key_in_object(self, data: bytes) -> list[Any] | None:
        count = len(self.columns)
        try:
            values = self._inner.decode(data)
        except BadRecord:
            if not self._is_bare_too:
                raise
            return self._bind(self._bare_payload()).decode(data)
        payload = None if values is None or len(values) == count else values[count]
        return values if payload is None else [payload[c.name] for c in self._key_columns()[:count]]

    def _bare_payload(self) -> list[Column]:
        return [Column(_PAYLOAD, self.columns[0].type)]

    def _missing(self) -> str:
        names = ", ".join(c.name for c in self._key_columns()[: len(self.columns)])
        return f"The key has no {names}, or it is NULL."

    # ---- in Spark SQL --------------------------------------------------------------------------------

    def decode_sql(self, data: str) -> str:
        """Calls of Envelope.java over what the format's own decoder returns."""
        if not self._is_key:
            return f"{self._call('change')}({self._inner.decode_sql(data)})"
        decoded = self._key_sql(self._inner, data)
        if not self._is_bare_too:
            return decoded
        bare = self._bind(self.columns, wrapped=False).decode_sql(data)
        inside = self._key_sql(self._bind(self._bare_payload()), data)
        return f"if({_is_object_sql(data)}, coalesce({decoded}, {inside}), {bare})"

    def deleted_sql(self, row: str) -> str | None:
        """A column of the row."""
        return None if self._is_key else f"coalesce({row}.{DELETED}, false)"

    def unchanged_sql(self, row: str) -> str | None:
        """A column of the row."""
        return None if self._is_key else f"{row}.{UNCHANGED}"

    def framed_sql(self, data: str, headers: str) -> str:
        """Return the inner format's text."""
        return self._inner.framed_sql(data, headers)

    def or_null_sql(self, data: str) -> str:
        """Return the inner format's text."""
        return self._inner.or_null_sql(data)

    def explain_sql(self, data: str) -> str:
        """Return text that describes what is wrong with the envelope, or else with the record."""
        if not self._is_key:
            envelope = f"{self._call('explain_change')}({self._inner.decode_sql(data)})"
            return f"coalesce({envelope}, {self._inner.explain_sql(data)})"
        missing = f"if({self._inner.decode_sql(data)} IS NULL, NULL, {string(self._missing())})"
        explanation = f"coalesce({missing}, {self._inner.explain_sql(data)})"
        if not self._is_bare_too:
            return explanation
        bare = self._bind(self.columns, wrapped=False).explain_sql(data)
        return f"if({_is_object_sql(data)}, {explanation}, {bare})"

    def encode_sql(self, texts: Sequence[str]) -> str:
        """Raise NotImplementedError: the analyzer refuses to write envelopes."""
        raise NotImplementedError

    def _call(self, function: str) -> str:
        words: Mapping[str, Any] = {
            "upserts": self._envelope.upserts,
            "deletions": self._envelope.deletions,
            "unavailable": self._envelope.unavailable,
        }
        return f"ksql.{quote_identifier(f'{function}:{json.dumps(words)}')}"

    def _key_sql(self, inner: Serde, data: str) -> str:
        names = json.dumps([c.name for c in self.columns])
        return f"ksql.{quote_identifier(f'change_key:{names}')}({inner.decode_sql(data)})"


def _is_object(data: bytes) -> bool:
    return data.lstrip()[:1] == b"{"


def _is_object_sql(data: str) -> str:
    return f"ltrim(cast({data} AS string)) LIKE '{{%'"


__all__ = ["DELETED", "ENVELOPES", "UNAVAILABLE", "Envelope", "EnvelopeSerde", "may_be_unavailable"]
