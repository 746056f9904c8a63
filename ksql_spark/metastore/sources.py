"""What a stream or table is: its schema, topic, formats, time and window (reference §2.1).

Immutable values; the mutable index of names is metastore.store.
"""

from __future__ import annotations

from dataclasses import dataclass

from ksql_spark.schema import Schema

STREAM, TABLE = "STREAM", "TABLE"


@dataclass(frozen=True)
class FormatSpec:
    """A serialisation format as a source uses it.

    Args:
        name: upper case, a key of formats.FORMATS.
        delimiter: DELIMITED only: one character.
        wrapped: whether a single column is written as a record (reference §5.3); None: the format's default.
        full_name: name of the record or message, for formats with a schema registry.
        schema_id: the registry's id that KEY_SCHEMA_ID or VALUE_SCHEMA_ID gave.
        nullable: PROTOBUF's OPTIONAL or WRAPPER.
    """

    name: str
    delimiter: str | None = None
    wrapped: bool | None = None
    full_name: str | None = None
    schema_id: int | None = None
    nullable: str | None = None


@dataclass(frozen=True)
class TimestampColumn:
    """TIMESTAMP='column' [, TIMESTAMP_FORMAT='pattern']: where the record's event time comes from (§5.7)."""

    column: str
    pattern: str | None = None


@dataclass(frozen=True)
class Windowing:
    """The window in a topic's keys (§6.9): TUMBLING, HOPPING or SESSION; ``size_ms`` absent for SESSION."""

    kind: str
    size_ms: int | None = None


@dataclass(frozen=True)
class DataSource:
    """A stream or a table.

    Args:
        name: as stored, case kept.
        kind: STREAM or TABLE.
        schema: key columns, then value columns.
        topic: the Kafka topic.
        key_format: NONE where there are no key columns.
        value_format: of the record's value.
        partitions: of the topic, where the statement or the broker said; None if not known yet.
        replicas: likewise.
        retention_ms: likewise; None: the broker's default.
        timestamp: event time column, None: Kafka's record timestamp.
        window: windowed keys, None: plain keys.
        read_only: CREATE SOURCE STREAM/TABLE.
        is_sink: written by a CREATE … AS SELECT.
        is_replicated: a table that streams join as a whole in every task (beyond ksqlDB).
        statement: the statement's text, with what was inferred written out.
    """

    name: str
    kind: str
    schema: Schema
    topic: str
    key_format: FormatSpec
    value_format: FormatSpec
    partitions: int | None = None
    replicas: int | None = None
    retention_ms: int | None = None
    timestamp: TimestampColumn | None = None
    window: Windowing | None = None
    read_only: bool = False
    is_sink: bool = False
    statement: str = ""
    is_replicated: bool = False

    @property
    def is_table(self) -> bool:
        """True for a table."""
        return self.kind == TABLE
