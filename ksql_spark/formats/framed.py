"""Formats whose schemas are in a registry: Confluent's frame around each record (reference §5.2).

The frame is a zero byte and the big-endian four-byte id of the writer's schema; or a one byte and the 16
bytes of its GUID, which newer serializers write into a header of the record instead.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from ksql_spark.formats.base import BadRecord, Serde
from ksql_spark.formats.spec import KEY, VALUE
from ksql_spark.schema_registry import RegisteredSchema
from ksql_spark.types import quote_identifier

MAGIC, GUID_MAGIC = b"\0", b"\1"
FRAME, GUID_FRAME = 5, 17
#: side -> the header that may contain its frame
HEADERS = {KEY: "__key_schema_id", VALUE: "__value_schema_id"}


def framed(schema_id: int, body: bytes) -> bytes:
    """``body`` with the id of its schema."""
    return MAGIC + schema_id.to_bytes(4, "big", signed=True) + body


def with_schema_id(
    data: bytes | None, headers: Sequence[tuple[str, bytes | None]], side: str
) -> bytes | None:
    """A record's key or value with the frame from its last matching header; unchanged if there is none."""
    if data is None:
        return None
    name = HEADERS[side]
    frame = next((frame for header, frame in reversed(headers) if header == name), None)
    return data if frame is None else frame + data


def unframed(data: bytes) -> tuple[int | UUID, bytes]:
    """The id of a record's schema, or its GUID, and the rest of the record.

    Raises:
        BadRecord: the frame is missing.
    """
    if data[:1] == GUID_MAGIC and len(data) >= GUID_FRAME:
        return UUID(bytes=data[1:GUID_FRAME]), data[GUID_FRAME:]
    if len(data) < FRAME or data[:1] != MAGIC:
        raise BadRecord("It does not start with a zero and the id of a schema.")
    return int.from_bytes(data[1:FRAME], "big", signed=True), data[FRAME:]


class FramedSerde(Serde):
    """A serde whose records name the schema with which they were written.

    Records may have any schema. To write, ``spec`` must have the schema and its id: see ``new_schema`` and
    metastore.serdes.registered.
    """

    @property
    def asks_registry(self) -> bool:
        """Records name their schemas."""
        return True

    @property
    @abstractmethod
    def new_schema(self) -> str:
        """The schema of the columns, for registration."""

    @abstractmethod
    def encode_body(self, values: Sequence[Any]) -> bytes:
        """The bytes after the frame; for errors see Serde.encode."""

    @abstractmethod
    def decode_body(self, schema_id: int | UUID, body: bytes) -> list[Any] | None:
        """The column values in ``body``; for errors see Serde.decode."""

    @property
    def schema_id(self) -> int:
        """The id of the schema used for writing."""
        if self.spec.schema_id is None:
            raise ValueError(f"the schema of {self.spec.subject} is not registered yet")
        return self.spec.schema_id

    def writer(self, schema_id: int | UUID) -> RegisteredSchema:
        """The schema with this id or GUID.

        Raises:
            BadRecord: the registry does not have it.
            KsqlError: the registry does not respond.
        """
        schema = None if self.registry is None else self.registry.cached(schema_id)
        if schema is None:
            kind = "id" if isinstance(schema_id, int) else "GUID"
            raise BadRecord(f"The schema registry has no schema with the {kind} {schema_id}.")
        return schema

    def encode(self, values: Sequence[Any]) -> bytes | None:
        """The body in its frame; a bare NULL becomes a null record."""
        if not self.columns or (not self.wrapped and values[0] is None):
            return None
        return framed(self.schema_id, self.encode_body(values))

    def decode(self, data: bytes) -> list[Any] | None:
        """Decode the body in the frame."""
        return self.decode_body(*unframed(data))

    def framed_sql(self, data: str, headers: str) -> str:
        """A call of Frame.java."""
        return f"ksql.{quote_identifier(f'framed:{HEADERS[self.spec.side]}')}({data}, {headers})"
