"""Formats whose schemas are in a registry: Confluent's frame around each record (reference §5.2).

The frame is a zero byte and the id of the writer's schema, four bytes, most significant first.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

from ksql_spark.formats.base import BadRecord, Serde
from ksql_spark.schema_registry import RegisteredSchema

MAGIC = b"\0"
FRAME = 5


def framed(schema_id: int, body: bytes) -> bytes:
    """``body`` with the id of its schema."""
    return MAGIC + schema_id.to_bytes(4, "big", signed=True) + body


def unframed(data: bytes) -> tuple[int, bytes]:
    """The id of a record's schema, and what follows it.

    Raises:
        BadRecord: there is no frame.
    """
    if len(data) < FRAME or data[:1] != MAGIC:
        raise BadRecord("It does not start with a zero and the id of a schema.")
    return int.from_bytes(data[1:FRAME], "big", signed=True), data[FRAME:]


class FramedSerde(Serde):
    """A serde whose records name the schema that they were written by.

    Records are read by any schema. To write, ``spec`` must have the schema and its id: see ``new_schema`` and
    metastore.serdes.registered.
    """

    @property
    @abstractmethod
    def new_schema(self) -> str:
        """The schema of the columns, to be registered."""

    @abstractmethod
    def encode_body(self, values: Sequence[Any]) -> bytes:
        """What follows the frame; for errors see Serde.encode."""

    @abstractmethod
    def decode_body(self, schema_id: int, body: bytes) -> list[Any] | None:
        """The column values in ``body``; for errors see Serde.decode."""

    @property
    def schema_id(self) -> int:
        """The id of the schema that is written."""
        if self.spec.schema_id is None:
            raise ValueError(f"the schema of {self.spec.subject} is not registered yet")
        return self.spec.schema_id

    def writer(self, schema_id: int) -> RegisteredSchema:
        """The schema with this id.

        Raises:
            BadRecord: the registry does not have it.
            KsqlError: the registry does not answer.
        """
        found = None if self.registry is None else self.registry.kept(schema_id)
        if found is None:
            raise BadRecord(f"The schema registry has no schema with the id {schema_id}.")
        return found

    def encode(self, values: Sequence[Any]) -> bytes | None:
        """The body in its frame; a bare NULL is a null record."""
        if not self.columns or (not self.wrapped and values[0] is None):
            return None
        return framed(self.schema_id, self.encode_body(values))

    def decode(self, data: bytes) -> list[Any] | None:
        """The body of the frame."""
        return self.decode_body(*unframed(data))
