"""The storage of a stream or table: the bytes in its topic, and its schemas in a registry."""

from __future__ import annotations

from dataclasses import dataclass

from ksql_spark.entities.base import Body


@dataclass(frozen=True)
class RawBytes(Body):
    """Bytes of a record in base64, which may be only the first; ``size``: how many there are."""

    base64: str
    size: int


@dataclass(frozen=True)
class RawHeader(Body):
    """A header of a record; its value may be null."""

    name: str
    value: RawBytes | None


@dataclass(frozen=True, kw_only=True)
class RawRecord(Body):
    """A record as it is in Kafka: epoch milliseconds; a key or value may be null."""

    offset: int
    time_ms: int
    key: RawBytes | None
    value: RawBytes | None
    headers: tuple[RawHeader, ...]


@dataclass(frozen=True, kw_only=True)
class RawRecords(Body):
    """The response to GET /topics/{topic}/records.

    Args:
        partitions: how many the topic has.
        first_offset, end_offset: of the partition: its oldest record, and after its newest.
        records: in the order of their offsets.
    """

    topic: str
    partition: int
    partitions: int
    first_offset: int
    end_offset: int
    records: tuple[RawRecord, ...]


@dataclass(frozen=True, kw_only=True)
class SchemaVersion(Body):
    """A version of a subject: ``type`` is AVRO, JSON or PROTOBUF."""

    version: int
    id: int
    type: str
    schema: str


@dataclass(frozen=True)
class SubjectVersions(Body):
    """The latest versions of a subject, the newest first."""

    subject: str
    versions: tuple[SchemaVersion, ...]


@dataclass(frozen=True)
class SourceSchemas(Body):
    """The response to GET /sources/{name}/schemas; null for a side without a schema in the registry."""

    key: SubjectVersions | None
    value: SubjectVersions | None
