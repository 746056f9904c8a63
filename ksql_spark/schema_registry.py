"""The port to a schema registry: schemas by subject and id (reference §5.5, §5.6).

The analyzer uses this interface; ksql_spark.kafka.schema_registry implements it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol
from uuid import UUID

AVRO, JSON, PROTOBUF = "AVRO", "JSON", "PROTOBUF"


@dataclass(frozen=True)
class Reference:
    """The name by which a schema refers to another one, and that one's place in the registry."""

    name: str
    subject: str
    version: int


@dataclass(frozen=True)
class RegisteredSchema:
    """A schema in a registry.

    Args:
        id: its id in the registry.
        kind: AVRO, JSON or PROTOBUF.
        text: the schema itself.
        references: the schemas it refers to, also indirectly: name (of an import, a $ref, a type) -> text, in
            dependency order.
        refers: the registry's places of its direct references.
    """

    id: int
    kind: str
    text: str
    references: Mapping[str, str] = field(default_factory=dict)
    refers: tuple[Reference, ...] = ()


class SchemaRegistry(Protocol):
    """Schemas by subject and by id. Calls may take seconds.

    Every call raises KsqlError REMOTE_UNREACHABLE or REMOTE_REFUSED if the registry does not respond.
    """

    @property
    def url(self) -> str:
        """The registry's address; for an on-demand registry, valid once it is running."""

    @property
    def address(self) -> str | None:
        """The registry's current address; None for an on-demand registry that has not started."""

    def require(self) -> None:
        """Make sure that it is available for future records, if it starts on demand.

        Raises:
            KsqlError: it cannot be started.
        """

    def has_schemas(self) -> bool:
        """Whether it may have schemas; does not start it. False if it was never needed."""

    def problem(self) -> str | None:
        """Return why the registry currently cannot be used, or None; does not start an on-demand registry."""

    def latest(self, subject: str) -> RegisteredSchema | None:
        """The newest schema of ``subject``, or None if the subject does not exist."""

    def versions(self, subject: str, most: int) -> list[tuple[int, RegisteredSchema]]:
        """The latest versions of ``subject`` with their numbers, the newest first; [] if there is none."""

    def by_id(self, schema_id: int) -> RegisteredSchema | None:
        """The schema with this id, or None."""

    def cached(self, schema_id: int | UUID) -> RegisteredSchema | None:
        """Return ``by_id`` of an id, cached if it exists, for reading records. A UUID is a GUID."""

    def incompatibility(self, subject: str, schema: RegisteredSchema) -> str | None:
        """Return why the registry would not accept ``schema`` under ``subject``, in its words; else None."""

    def register(self, subject: str, schema: RegisteredSchema) -> int:
        """Register ``schema``, ignoring its id, under ``subject``, and return the new id.

        Raises:
            KsqlError: SCHEMA_INCOMPATIBLE with the registry's words.
        """

    def delete(self, subject: str) -> None:
        """Delete a subject, if it exists (a soft delete): its schemas can still be read by their ids."""

    def subjects(self, schema_id: int) -> list[str]:
        """The subjects of the schema with this id; empty if the id does not exist."""


#: how subjects are named, by the names of Confluent's strategies
TOPIC_NAME, RECORD_NAME, TOPIC_RECORD_NAME = STRATEGIES = (
    "TopicNameStrategy", "RecordNameStrategy", "TopicRecordNameStrategy",
)  # fmt: skip


def subject_of(topic: str, is_key: bool, strategy: str = TOPIC_NAME, record: str | None = None) -> str:
    """The subject of a topic's keys or values (reference §5.5).

    Args:
        topic: the topic.
        is_key: whether it is the subject of keys.
        strategy: one of STRATEGIES.
        record: the full name of the record or message; without one, the topic's name is used.
    """
    if strategy == TOPIC_NAME or record is None:
        return f"{topic}-{'key' if is_key else 'value'}"
    return record if strategy == RECORD_NAME else f"{topic}-{record}"
