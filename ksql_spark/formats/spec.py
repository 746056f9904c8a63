"""The specification of a serde, as data: part of plans, so that a later release reads and writes the same."""

from __future__ import annotations

from dataclasses import dataclass

from ksql_spark.schema import Column

KEY, VALUE = "KEY", "VALUE"


@dataclass(frozen=True)
class SerdeSpec:
    """The encoding of the keys or the values of one topic.

    Args:
        format: a key of formats.CAPABILITIES.
        columns: the columns that a key or value holds, in order.
        wrapped: whether a single column is stored as a record, not as a bare value (reference §5.3).
        side: KEY or VALUE.
        topic: the topic.
        delimiter: DELIMITED only: from KEY_DELIMITER or VALUE_DELIMITER.
        subject: where the topic's schemas are in the registry, or None if the format has none there.
        full_name: name of the record or message, if given.
        nullable: PROTOBUF's OPTIONAL or WRAPPER.
        schema_id: the id of the schema for writing. Records are read with the schemas that they name.
        schema: the text of that schema, or None before it is registered.
        references: the schemas that it refers to: name and text, in dependency order.
        envelope: what is around the columns, a key of envelopes.ENVELOPES, or None.
    """

    format: str
    columns: tuple[Column, ...]
    wrapped: bool = True
    side: str = VALUE
    topic: str = ""
    delimiter: str | None = None
    subject: str | None = None
    full_name: str | None = None
    nullable: str | None = None
    schema_id: int | None = None
    schema: str | None = None
    references: tuple[tuple[str, str], ...] = ()
    envelope: str | None = None


@dataclass(frozen=True)
class RecordSpec:
    """The encoding of a topic's records: of their keys (without a window's bounds) and of their values."""

    key: SerdeSpec
    value: SerdeSpec
