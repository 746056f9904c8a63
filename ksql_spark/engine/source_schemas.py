"""The schemas of a stream or table in the registry (GET /sources/{name}/schemas)."""

from __future__ import annotations

from ksql_spark.entities.samples import SchemaVersion, SourceSchemas, SubjectVersions
from ksql_spark.formats import SerdeSpec
from ksql_spark.metastore.serdes import record_spec
from ksql_spark.metastore.sources import DataSource
from ksql_spark.schema_registry import SchemaRegistry

#: how many versions are listed
MOST_VERSIONS = 20


def source_schemas(source: DataSource, registry: SchemaRegistry | None) -> SourceSchemas:
    """The latest versions of the subjects of a source's keys and values.

    Raises:
        KsqlError: as SchemaRegistry.
    """

    def of(spec: SerdeSpec) -> SubjectVersions | None:
        if spec.subject is None or not spec.columns or registry is None or not registry.has_schemas():
            return None
        versions = registry.versions(spec.subject, MOST_VERSIONS)
        return SubjectVersions(
            spec.subject,
            tuple(
                SchemaVersion(version=number, id=schema.id, type=schema.kind, schema=schema.text)
                for number, schema in versions
            ),
        )

    records = record_spec(source)
    return SourceSchemas(of(records.key), of(records.value))
