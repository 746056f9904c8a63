"""Serdes of streams and tables: how their keys and values are encoded and decoded."""

from __future__ import annotations

from ksql_spark import __version__
from ksql_spark.errors import KsqlError
from ksql_spark.formats import CAPABILITIES, FORMATS, RecordSpec, Serde, SerdeSpec, bind
from ksql_spark.formats.spec import KEY, VALUE
from ksql_spark.metastore.sources import DataSource, FormatSpec
from ksql_spark.schema import Column
from ksql_spark.schema_registry import SchemaRegistry, subject_of


def record_spec(source: DataSource) -> RecordSpec:
    """How the records of ``source`` are encoded, as data for plans."""
    return RecordSpec(
        _spec(source.topic, source.key_format, source.schema.key, is_key=True),
        _spec(source.topic, source.value_format, source.schema.value, is_key=False),
    )


def _spec(topic: str, format_: FormatSpec, columns: tuple[Column, ...], *, is_key: bool) -> SerdeSpec:
    capability = CAPABILITIES[format_.name]
    return SerdeSpec(
        format=format_.name,
        columns=columns,
        wrapped=capability.wraps(len(columns), is_key, format_.wrapped),
        side=KEY if is_key else VALUE,
        topic=topic,
        delimiter=format_.delimiter,
        subject=None if capability.registry is None else subject_of(topic, is_key),
        full_name=format_.full_name,
        nullable=format_.nullable,
        schema_id=format_.schema_id,
    )


def unsupported_formats(source: DataSource) -> tuple[str, ...]:
    """The formats of ``source`` whose records cannot be read and written yet, each once."""
    names = (source.key_format.name, source.value_format.name)
    return tuple(dict.fromkeys(name for name in names if name not in FORMATS))


def check_supported(source: DataSource) -> None:
    """Check that records of ``source`` can be read and written.

    Raises:
        KsqlError: NOT_DONE_YET for a format that is not supported yet.
    """
    for name in unsupported_formats(source):
        raise KsqlError(
            "NOT_DONE_YET",
            what=f"The format {name}",
            version=__version__,
            hint=f"The formats are {', '.join(sorted(FORMATS))}.",
        )


def serdes(
    source: DataSource, records: RecordSpec | None = None, registry: SchemaRegistry | None = None
) -> tuple[Serde, Serde]:
    """The serdes of ``source``'s keys (without a window's bounds) and values.

    Args:
        source: a stream or a table.
        records: how its records are encoded, from a plan; None: as ``source`` says.
        registry: see formats.Serde.

    Raises:
        KsqlError: NOT_DONE_YET.
    """
    check_supported(source)
    records = records or record_spec(source)
    return bind(records.key, registry), bind(records.value, registry)


def key_serde(source: DataSource, registry: SchemaRegistry | None = None) -> Serde:
    """The serde of ``source``'s keys alone; see ``serdes``."""
    return serdes(source, registry=registry)[0]


def value_serde(source: DataSource, registry: SchemaRegistry | None = None) -> Serde:
    """The serde of ``source``'s values alone; see ``serdes``."""
    return serdes(source, registry=registry)[1]
