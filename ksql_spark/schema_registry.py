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
    """The name that a schema has for another one, and its place in the registry."""

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
        references: the schemas it refers to, also indirectly: name (of an import, a $ref, a type) -> text;
            each after those that it refers to itself.
        refers: where the registry has those that it refers to directly.
    """

    id: int
    kind: str
    text: str
    references: Mapping[str, str] = field(default_factory=dict)
    refers: tuple[Reference, ...] = ()


class SchemaRegistry(Protocol):
    """Schemas by subject and by id. Calls may take seconds.

    Every call raises KsqlError REMOTE_UNREACHABLE or REMOTE_REFUSED if the registry does not answer.
    """

    @property
    def url(self) -> str:
        """Its address; where it is started only when it is needed, valid once it runs."""

    @property
    def address(self) -> str | None:
        """Where it answers now; None: it is started only when it is needed, and was not yet."""

    def require(self) -> None:
        """Make sure that it is there for records to come, if it is started only when it is needed.

        Raises:
            KsqlError: it cannot be started.
        """

    def has_schemas(self) -> bool:
        """Whether it may have any; asking does not start it. False: it was never needed before."""

    def problem(self) -> str | None:
        """Why it cannot be used now, if so; one that starts when it is needed is not started by asking."""

    def latest(self, subject: str) -> RegisteredSchema | None:
        """The newest schema of ``subject``, or None if there is no such subject."""

    def by_id(self, schema_id: int) -> RegisteredSchema | None:
        """The schema with this id, or None."""

    def kept(self, schema_id: int | UUID) -> RegisteredSchema | None:
        """Like ``by_id``, but asked only once for an id that there is: for records. A UUID is its GUID."""

    def incompatibility(self, subject: str, schema: RegisteredSchema) -> str | None:
        """Why ``schema`` cannot be registered under ``subject``, in the registry's words; None: it can be."""

    def register(self, subject: str, schema: RegisteredSchema) -> int:
        """Register ``schema``, whose id counts for nothing, under ``subject``, and return its id.

        Raises:
            KsqlError: SCHEMA_INCOMPATIBLE with the registry's words.
        """

    def subjects(self, schema_id: int) -> list[str]:
        """The subjects of the schema with this id; empty if there is no such id."""


#: how subjects are named, by the names of Confluent's strategies
TOPIC_NAME, RECORD_NAME, TOPIC_RECORD_NAME = STRATEGIES = (
    "TopicNameStrategy", "RecordNameStrategy", "TopicRecordNameStrategy",
)  # fmt: skip


def subject_of(topic: str, is_key: bool, strategy: str = TOPIC_NAME, record: str | None = None) -> str:
    """The subject of a topic's keys or values (reference §5.5).

    Args:
        topic: the topic.
        is_key: whether it is that of keys.
        strategy: one of STRATEGIES.
        record: the full name of the record or message; without one, the topic's name counts.
    """
    if strategy == TOPIC_NAME or record is None:
        return f"{topic}-{'key' if is_key else 'value'}"
    return record if strategy == RECORD_NAME else f"{topic}-{record}"
