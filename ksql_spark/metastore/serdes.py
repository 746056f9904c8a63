"""Serdes of streams and tables: how their keys and values are encoded and decoded."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import replace

from ksql_spark.errors import KsqlError
from ksql_spark.formats import CAPABILITIES, FramedSerde, RecordSpec, Serde, SerdeSpec, bind
from ksql_spark.formats.envelopes import may_be_unavailable
from ksql_spark.formats.registered import FieldLeftOut, NotConvertible, columns
from ksql_spark.formats.schemas import read_schema
from ksql_spark.formats.spec import KEY, VALUE
from ksql_spark.metastore.sources import DataSource, FormatSpec
from ksql_spark.schema import Column
from ksql_spark.schema_registry import RECORD_NAME, RegisteredSchema, SchemaRegistry, subject_of

log = logging.getLogger(__name__)


def record_spec(source: DataSource) -> RecordSpec:
    """Return the encoding of the records of ``source``, as data for plans."""
    return RecordSpec(
        _spec(source.topic, source.key_format, source.schema.key, is_key=True),
        _spec(source.topic, source.value_format, source.schema.value, is_key=False),
    )


def _spec(topic: str, format_: FormatSpec, own: tuple[Column, ...], *, is_key: bool) -> SerdeSpec:
    capability = CAPABILITIES[format_.name]
    spec = SerdeSpec(
        format=format_.name,
        columns=own,
        wrapped=format_.envelope is not None or capability.wraps(len(own), is_key, format_.wrapped),
        side=KEY if is_key else VALUE,
        topic=topic,
        delimiter=format_.delimiter,
        subject=None if capability.registry is None else subject_of(topic, is_key),
        full_name=format_.full_name,
        nullable=format_.nullable,
        schema_id=format_.schema_id,
        envelope=format_.envelope,
    )
    if spec.subject is None or format_.naming is None or not own or format_.envelope is not None:
        return spec
    record = format_.full_name or _record_name(spec)
    return replace(spec, subject=subject_of(topic, is_key, format_.naming, record))


def _record_name(spec: SerdeSpec) -> str | None:
    """The name of the record or message in a new schema; None for a bare value, or if it has none."""
    serde = bind(spec)
    assert isinstance(serde, FramedSerde)
    return read_schema(RegisteredSchema(0, CAPABILITIES[spec.format].registry or "", serde.new_schema)).name


def registered(records: RecordSpec, registry: SchemaRegistry | None) -> RecordSpec:
    """``records`` with the schemas for writing and their ids, once the registry has them.

    A side with KEY_SCHEMA_ID or VALUE_SCHEMA_ID is written with that schema, any other with a schema made
    from its columns. Either is registered under the side's subject.

    Raises:
        KsqlError: SCHEMA_REGISTRY_MISSING, SCHEMA_INCOMPATIBLE, SCHEMA_UNKNOWN.
    """

    def of(spec: SerdeSpec) -> SerdeSpec:
        if spec.schema is not None:
            return spec
        schema = _to_write(spec, registry)
        if schema is None or spec.subject is None or registry is None:
            return spec
        if spec.schema_id is None:
            schema_id = registry.register(spec.subject, schema)
            return replace(spec, schema_id=schema_id, schema=schema.text)
        if not _is_under(spec, registry):
            registry.register(spec.subject, schema)
        return replace(spec, schema=schema.text, references=tuple(schema.references.items()))

    return RecordSpec(of(records.key), of(records.value))


def writing_serdes(source: DataSource, registry: SchemaRegistry | None) -> tuple[Serde, Serde]:
    """Serdes that write single records to ``source``: of its keys, of its values.

    A side whose subject has a schema of exactly these columns is written with that schema, any other as
    ``registered`` describes.

    Raises:
        KsqlError: as ``registered``.
    """
    specs = registered(_with_latest(source, registry), registry)
    return bind(specs.key, registry), bind(specs.value, registry)


def check_writable(source: DataSource, registry: SchemaRegistry | None) -> None:
    """Check that ``writing_serdes`` will succeed; it may still fail if the registry changes meanwhile.

    Raises:
        KsqlError: as ``registered``.
    """
    check_registrable(_with_latest(source, registry), registry)


def subjects_of(source: DataSource) -> tuple[str, ...]:
    """The subjects that have schemas of the topic of ``source`` only: none that is called as a record."""
    records = record_spec(source)
    sides = (records.key, source.key_format), (records.value, source.value_format)
    return tuple(s.subject for s, format_ in sides if s.subject is not None and format_.naming != RECORD_NAME)


def delete_subjects(subjects: Iterable[str], registry: SchemaRegistry | None) -> None:
    """Delete those of ``subjects`` that exist.

    Raises:
        KsqlError: as SchemaRegistry.
    """
    if registry is not None and registry.has_schemas():
        for subject in subjects:
            registry.delete(subject)


def try_to_delete_subjects(subjects: Iterable[str], registry: SchemaRegistry | None) -> None:
    """Delete those of ``subjects`` that exist; where that fails, the log says so."""
    subjects = list(subjects)
    try:
        delete_subjects(subjects, registry)
    except KsqlError as error:
        log.warning("cannot delete the subjects %s: %s", ", ".join(subjects), error.message)


def _with_latest(source: DataSource, registry: SchemaRegistry | None) -> RecordSpec:
    """The encoding of the records of ``source``, with the latest schemas where they are of its columns."""

    def of(spec: SerdeSpec) -> SerdeSpec:
        latest = None if registry is None or spec.subject is None else registry.latest(spec.subject)
        if latest is None or spec.schema_id is not None or not _is_of(latest, spec):
            return spec
        references = tuple(latest.references.items())
        return replace(spec, schema_id=latest.id, schema=latest.text, references=references)

    records = record_spec(source)
    return RecordSpec(of(records.key), of(records.value))


def _is_of(schema: RegisteredSchema, spec: SerdeSpec) -> bool:
    """Whether a schema has the columns of ``spec``, and nothing else."""
    if schema.kind != CAPABILITIES[spec.format].registry:
        return False
    try:
        single = None if spec.wrapped else spec.columns[0].name if spec.columns else None
        fields = columns(read_schema(schema, spec.full_name).type, single, keep_case=False)
    except (NotConvertible, FieldLeftOut):
        return False
    ours = {c.name.upper(): c.type for c in spec.columns}
    return {f.name.upper(): f.type for f in fields} == ours


def check_registrable(records: RecordSpec, registry: SchemaRegistry | None) -> None:
    """Check that ``registered`` will succeed; it may still fail if the registry changes meanwhile."""
    for spec in (records.key, records.value):
        if spec.schema is not None:
            continue
        schema = _to_write(spec, registry)
        if schema is None or spec.subject is None or registry is None:
            continue
        if spec.schema_id is None or not _is_under(spec, registry):
            reason = registry.incompatibility(spec.subject, schema)
            if reason is not None:
                raise KsqlError("SCHEMA_INCOMPATIBLE", subject=spec.subject, reason=reason)


def check_registry(records: RecordSpec, registry: SchemaRegistry | None) -> None:
    """Check that a registry exists if the formats of ``records`` need one; starts the embedded one.

    Raises:
        KsqlError: SCHEMA_REGISTRY_MISSING; those of SchemaRegistry.require().
    """
    for spec in (records.key, records.value):
        if spec.subject is not None and spec.columns:
            if registry is None:
                raise KsqlError("SCHEMA_REGISTRY_MISSING", what=f"The format {spec.format}", alternative="")
            registry.require()


def _is_under(spec: SerdeSpec, registry: SchemaRegistry) -> bool:
    """Whether the schema with the id of ``spec`` belongs to its subject."""
    return spec.schema_id is not None and spec.subject in registry.subjects(spec.schema_id)


def _to_write(spec: SerdeSpec, registry: SchemaRegistry | None) -> RegisteredSchema | None:
    """The schema for writing, with the id 0 if it is new; None if the format has none."""
    serde = bind(spec, registry)
    kind = CAPABILITIES[spec.format].registry
    if kind is None or not spec.columns or not isinstance(serde, FramedSerde):
        return None
    if registry is None:
        raise KsqlError("SCHEMA_REGISTRY_MISSING", what=f"The format {spec.format}", alternative="")
    if spec.schema_id is None:
        return RegisteredSchema(0, kind, serde.new_schema)
    schema = registry.by_id(spec.schema_id)
    if schema is None:
        raise KsqlError(
            "SCHEMA_UNKNOWN",
            what=f"message {spec.side.lower()}s",
            topic=spec.topic,
            looked_for=f"Schema Id: {spec.schema_id}",
        )
    return schema


def serdes(
    source: DataSource, records: RecordSpec | None = None, registry: SchemaRegistry | None = None
) -> tuple[Serde, Serde]:
    """The serdes of ``source``'s keys (without a window's bounds) and values.

    Args:
        source: a stream or a table.
        records: how its records are encoded, from a plan; None: as ``source`` says.
        registry: see formats.Serde.
    """
    records = records or record_spec(source)
    return bind(records.key, registry), bind(records.value, registry)


def leaves_out_columns(source: DataSource) -> bool:
    """Whether it is a table whose changes may leave out columns that they do not change."""
    return source.is_table and any(may_be_unavailable(source.envelope, c.type) for c in source.schema.value)


def stored_serdes(source: DataSource, registry: SchemaRegistry | None = None) -> tuple[Serde, Serde]:
    """The serdes of a table's rows in its view: as its records, or JSON if a row is made of several."""
    if leaves_out_columns(source):
        source = replace(source, value_format=FormatSpec("JSON", wrapped=True))
    return serdes(source, registry=registry)


def key_serde(source: DataSource, registry: SchemaRegistry | None = None) -> Serde:
    """The serde of ``source``'s keys alone; see ``serdes``."""
    return serdes(source, registry=registry)[0]


def value_serde(source: DataSource, registry: SchemaRegistry | None = None) -> Serde:
    """The serde of ``source``'s values alone; see ``serdes``."""
    return serdes(source, registry=registry)[1]
