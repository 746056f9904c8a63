"""What a schema registry is to us: subjects and ids that give schemas (reference §5.5, §5.6).

The port that the analyzer asks; ksql_spark.kafka.schema_registry speaks to a real one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

AVRO, JSON, PROTOBUF = "AVRO", "JSON", "PROTOBUF"


@dataclass(frozen=True)
class RegisteredSchema:
    """A schema as a registry has it.

    Args:
        id: the registry's number for it.
        kind: AVRO, JSON or PROTOBUF.
        text: the schema itself.
        references: what it refers to, and what that refers to: name (of an import, a $ref, a type) -> text.
    """

    id: int
    kind: str
    text: str
    references: Mapping[str, str] = field(default_factory=dict)


class SchemaRegistry(Protocol):
    """Schemas by subject and by id. Calls may take seconds.

    Every call raises KsqlError REMOTE_UNREACHABLE or REMOTE_REFUSED where the registry gives no answer.
    """

    def latest(self, subject: str) -> RegisteredSchema | None:
        """The newest schema of ``subject``, None where there is no such subject."""

    def by_id(self, schema_id: int) -> RegisteredSchema | None:
        """The schema with this id, None where there is none."""

    def subjects(self, schema_id: int) -> list[str]:
        """The subjects that the schema with this id belongs to; none where there is no such id."""


def subject_of(topic: str, is_key: bool) -> str:
    """The subject of a topic's keys or values (reference §5.5)."""
    return f"{topic}-{'key' if is_key else 'value'}"
