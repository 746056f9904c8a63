"""Streams and tables as values: schema, topic, formats, event time and window (reference §2.1).

They are immutable; metastore.store is the mutable index of names.
"""

from __future__ import annotations

from dataclasses import dataclass

from ksql_spark import topic_patterns
from ksql_spark.errors import nearest
from ksql_spark.expressions import Expression, name_text
from ksql_spark.metastore.calendars import Calendar
from ksql_spark.schema import Column, Schema

STREAM, TABLE = "STREAM", "TABLE"


@dataclass(frozen=True)
class FormatSpec:
    """A serialization format with a source's options.

    Args:
        name: upper case, a key of formats.FORMATS.
        delimiter: DELIMITED only: one character.
        wrapped: whether a single column is a record (reference §5.3), or None for the format's default.
        full_name: name of the record or message, for formats with a schema registry.
        schema_id: the id from KEY_SCHEMA_ID or VALUE_SCHEMA_ID.
        nullable: PROTOBUF's OPTIONAL or WRAPPER.
        naming: how the subject of its schemas is named (schema_registry.STRATEGIES); None: by the topic.
        envelope: what a program that captures changes puts around rows and their keys (formats.ENVELOPES).
    """

    name: str
    delimiter: str | None = None
    wrapped: bool | None = None
    full_name: str | None = None
    schema_id: int | None = None
    nullable: str | None = None
    naming: str | None = None
    envelope: str | None = None


@dataclass(frozen=True)
class TimestampColumn:
    """TIMESTAMP='column' [, TIMESTAMP_FORMAT='pattern']: where the record's event time comes from (§5.7)."""

    column: str
    pattern: str | None = None


@dataclass(frozen=True)
class Windowing:
    """The window in a topic's keys (§6.9): TUMBLING, HOPPING, CUMULATIVE, SLIDING or SESSION.

    A key has the start of its window; the end is ``size_ms`` later, or what ``calendar`` says. With neither,
    as for SESSION and CUMULATIVE, the key has both bounds.
    """

    kind: str
    size_ms: int | None = None
    calendar: Calendar | None = None

    @property
    def has_end(self) -> bool:
        """Whether keys have the end of their window too, before its start."""
        return self.kind in ("CUMULATIVE", "SESSION")


@dataclass(frozen=True)
class Constraint:
    """A condition that rows must meet, or they are left out (an extension of ksqlDB).

    Args:
        text: as users read it: ``AMOUNT NOT NULL``, ``CHECK (…)``.
        predicate: over the source's columns; a row meets it if it is TRUE.
    """

    text: str
    predicate: Expression


@dataclass(frozen=True)
class DataSource:
    """A stream or a table.

    Args:
        name: its name, in the case in which it is stored.
        kind: STREAM or TABLE.
        schema: key columns, then value columns.
        topic: the Kafka topic, or a pattern of topics (topic_patterns.py).
        key_format: the format of keys; NONE without key columns.
        value_format: the format of values.
        partitions: number of the topic's partitions; None if not known yet.
        replicas: number of the topic's replicas; None if not known.
        retention_ms: the topic's retention, or None for the broker's default.
        timestamp: the event time column; None: Kafka's record timestamp.
        window: the window in the keys; None: plain keys.
        read_only: CREATE SOURCE STREAM/TABLE.
        is_sink: written by a CREATE … AS SELECT.
        statement: the statement's text, with inferred columns written out.
        is_replicated: a table that every task of a join keeps as a whole (an extension of ksqlDB).
        constraints: what rows of its topic must meet.
        lateness_ms: the GRACE PERIOD of windows over it that have none, or None for ksqlDB's default.
        max_ahead_ms: how far a stream's event times may be ahead of the clock; None: as far as they are.
        history_ms: how long a table's topic keeps all changes at least; None: as the broker does.
        archive: the folder with the records that its topic has no more.
        dropped: columns that only rows of earlier versions have, which are still in its topic.
        past_from_ms: the time of the statement that moved a table to its topic, which has no earlier past.
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
    constraints: tuple[Constraint, ...] = ()
    lateness_ms: int | None = None
    max_ahead_ms: int | None = None
    history_ms: int | None = None
    archive: str | None = None
    dropped: tuple[Column, ...] = ()
    past_from_ms: int | None = None

    @property
    def envelope(self) -> str | None:
        """The envelope around the rows in the source's topic; None without one."""
        return self.value_format.envelope

    @property
    def time_column(self) -> Column | None:
        """The column that has the event time of its records; None: Kafka's timestamp has it, as in sinks."""
        return None if self.timestamp is None or self.is_sink else self.schema.find(self.timestamp.column)

    def lacks(self, *path: str) -> tuple[str, str]:
        """Why there is no column, or no field of a column, at ``path``; and a hint which may be meant."""
        near = nearest(path[0], (column.name for column in self.schema.columns))
        reason = f"{name_text(self.name)} has no column {'->'.join(map(name_text, path))}."
        if near is None or near == path[0]:
            return reason, f"DESCRIBE {name_text(self.name)}; shows its columns."
        return reason, f"Did you mean {near}?"

    @property
    def topic_pattern(self) -> str | None:
        """The regular expression of a stream over all topics that match it; else None."""
        return topic_patterns.pattern_of(self.topic)

    @property
    def is_table(self) -> bool:
        """True for a table."""
        return self.kind == TABLE
