"""Columns that CREATE does not list: from a schema registry, or from sample records (reference §5.6)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ksql_spark import grammar
from ksql_spark.analyzer.base import settings
from ksql_spark.analyzer.base.failures import Placed, failure, invalid, within_statement
from ksql_spark.analyzer.base.serialization import check_wrapping, require_format
from ksql_spark.analyzer.definitions.properties import Properties, with_naming
from ksql_spark.analyzer.definitions.sources import OR_LIST_COLUMNS, check_alterable, format_names
from ksql_spark.analyzer.definitions.write_rules import check_one_topic
from ksql_spark.expressions import name_text
from ksql_spark.formats import CAPABILITIES, ENVELOPES
from ksql_spark.formats.capabilities import KINDS
from ksql_spark.formats.framed import with_schema_id
from ksql_spark.formats.registered import FieldLeftOut, NotConvertible, ReadSchema, columns
from ksql_spark.formats.sampling import Sample, guessed, propose, schema_of
from ksql_spark.formats.schemas import check_further, read_schema
from ksql_spark.grammar.statements.sources import AlterSource, CreateSource, RefreshSchema
from ksql_spark.grammar.with_properties import CREATE
from ksql_spark.metastore.sources import DataSource, FormatSpec
from ksql_spark.metastore.store import MetaStore
from ksql_spark.schema import RESERVED_COLUMNS, Column, Role
from ksql_spark.schema_registry import PROTOBUF, TOPIC_NAME, RegisteredSchema, SchemaRegistry, subject_of
from ksql_spark.types import STRING, Array, Field, Map, SqlType, Struct, quote_identifier

#: name of the column of a bare key or value
SINGLE = {"KEY": "ROWKEY", "VALUE": "ROWVAL"}
_WORDS = {"STREAM": "KEY", "TABLE": "PRIMARY KEY"}


def infer_columns(
    statement: CreateSource,
    config: Mapping[str, Any],
    registry: SchemaRegistry | None,
    sample: Sampler = lambda topic: (),
) -> CreateSource:
    """The statement with the columns that it does not list; unchanged if no columns are missing.

    A key or value without columns, whose format keeps schemas in a registry, gets the columns of the latest
    schema of its subject, or of the schema in KEY_SCHEMA_ID or VALUE_SCHEMA_ID. With INFER = 'sample',
    missing formats and columns come from records in the topic (beyond ksqlDB). The command log stores the
    result, so that nobody is asked again; do not call this function on replay.

    Args:
        statement: CREATE [OR REPLACE] [SOURCE] STREAM | TABLE as the user wrote it.
        config: server and session properties.
        registry: None if none is configured.
        sample: returns records of a topic, for INFER.

    Raises:
        KsqlError: SCHEMA_REGISTRY_MISSING; SCHEMA_UNKNOWN; INVALID_STATEMENT for a schema without columns in
            SQL, for an id together with columns, or for samples that give no columns; those of ``sample``.
    """
    with within_statement(statement):
        properties = Properties(statement.properties, CREATE)
        topic = properties.get("KAFKA_TOPIC")
        if not topic:
            return statement  # it will be refused later
        if "INFER" in properties:
            return _sampled(statement, properties, topic, config, registry, sample)
        inferred = {
            side: _side(statement, side, properties, topic, config, registry) for side in ("KEY", "VALUE")
        }
    if not any(inferred.values()):
        return statement
    if "ENVELOPE" in properties and (value := inferred["VALUE"]) is not None:  # rows have their key, too
        keys = {c.name for c in (inferred["KEY"] or ((),))[0]} | {c.name for c in statement.columns}
        inferred["VALUE"] = tuple(c for c in value[0] if c.name not in keys), value[1]
    return _written_out(statement, inferred, properties)


def _side(
    statement: CreateSource, side: str, properties: Properties, topic: str, config: Mapping[str, Any],
    registry: SchemaRegistry | None,
) -> tuple[tuple[Column, ...], ReadSchema] | None:  # fmt: skip
    """The columns of one side and the schema they come from; None if nothing is inferred."""
    names = format_names(properties, statement, config)
    name, envelope = names[side], properties.envelope(names["VALUE"])
    spec = with_naming(properties.format_spec(side, name), side, config)
    constraints = ("KEY", "PRIMARY KEY") if side == "KEY" else (None,)
    is_listed = any(c.constraint in constraints for c in statement.columns)
    node = properties.node(f"{side}_SCHEMA_ID")
    if spec.schema_id is not None:
        check_id(side, name, node)
        if is_listed:
            raise invalid(
                f"Table elements and {side}_SCHEMA_ID cannot both exist for create statement.", node
            )
    elif is_listed or not CAPABILITIES[name].registry:
        return None
    if side == "VALUE":
        check_wrapping(name, 1, spec.wrapped, properties.node("WRAP_SINGLE_VALUE"))
    is_bare = CAPABILITIES[name].unwrapped if side == "KEY" else spec.wrapped is False
    is_bare = is_bare and envelope is None
    schema = _fetched(side, spec, topic, registry, node or statement)
    member = ENVELOPES[envelope].row if envelope is not None and side == "VALUE" else None
    columns, read = _columns(side, spec, topic, schema, is_bare, node or statement, member)
    if len(read.names) > 1 and spec.full_name is None:
        listed = "\n".join(f"- {n}" for n in read.names)
        raise invalid(
            f"{side.capitalize()} schema has multiple schema definitions.\n\n{listed}\n\n"
            f"Please specify a schema full name in the WITH clause using {side}_SCHEMA_FULL_NAME",
            node or statement,
        )
    if side == "KEY" and len(columns) > 1 and envelope is None:
        raise invalid(
            f"The key schema for {_origin(spec, topic)} contains multiple columns, which is not supported by "
            f"ksqlDB at this time.\nSchema:{schema.text}",
            node or statement,
        )
    return columns, read


# ---- ALTER … REFRESH SCHEMA ----------------------------------------------------------------------------


def refreshed(
    statement: RefreshSchema, metastore: MetaStore, registry: SchemaRegistry | None
) -> AlterSource | None:
    """The ALTER … ADD COLUMN of the columns that the newest registered schema has and the source has not.

    None if there are none. Columns that the schema has no more stay; their values in new records are NULL.

    Raises:
        KsqlError: those of check_alterable; INVALID_STATEMENT for a format without schemas, a source of one
            schema, and for columns whose types have changed; SCHEMA_REGISTRY_MISSING, SCHEMA_UNKNOWN.
    """
    with within_statement(statement):
        source, node = check_alterable(statement, metastore), statement.this
        check_one_topic(source, "refresh the schema of", node)
        spec = source.value_format
        if not CAPABILITIES[spec.name].registry:
            raise invalid(
                f"The values of {source.name} are in {spec.name}, which has no schemas in a registry.", node,
                hint=f"ALTER {source.kind} {source.name} ADD COLUMN ...",
            )  # fmt: skip
        if spec.schema_id is not None:
            reason = f"The values of {source.name} have the schema of VALUE_SCHEMA_ID = {spec.schema_id}."
            raise invalid(reason, node, hint="CREATE OR REPLACE names another one.")
        schema = _fetched("VALUE", spec, source.topic, registry, node)
        member = None if spec.envelope is None else ENVELOPES[spec.envelope].row
        is_bare = spec.wrapped is False and spec.envelope is None
        columns, _ = _columns("VALUE", spec, source.topic, schema, is_bare, node, member)
        others = {c.name for c in source.schema.columns if c.role is not Role.VALUE}
        there = {c.name: c.type for c in source.schema.value}
        changed = [c for c in columns if c.name in there and c.type != there[c.name]]
        if changed:
            listed = ", ".join(f"{name_text(c.name)} from {there[c.name]} to {c.type}" for c in changed)
            raise invalid(
                f"The newest schema of {source.name} changes columns, which must keep their types: {listed}.",
                node,
                hint="Declare another stream or table over the topic, with the new types.",
            )
        new = [c for c in columns if c.name not in there and c.name not in others]
        if not new:
            return None
        added = ", ".join(f"ADD COLUMN {quote_identifier(c.name)} {c.type}" for c in new)
        name = quote_identifier(source.name)
        altered = grammar.parse_one(f"ALTER {source.kind} {name} {added}", substitution=False)
        assert isinstance(altered, AlterSource)
        return altered


# ---- from samples --------------------------------------------------------------------------------------

#: returns records of a topic
Sampler = Callable[[str], Sequence[Sample]]
#: INFER
SAMPLE = "sample"


def _sampled(
    statement: CreateSource, properties: Properties, topic: str, config: Mapping[str, Any],
    registry: SchemaRegistry | None, sample: Sampler,
) -> CreateSource:  # fmt: skip
    """``statement`` with the formats and columns of sample records, and without INFER."""
    node = properties.node("INFER")
    if "ENVELOPE" in properties:
        raise invalid("'INFER' is not for sources with an ENVELOPE.", node, hint="List the columns.")
    if str(properties.get("INFER")).lower() != SAMPLE:
        reason = f"Expected '{SAMPLE}', got '{properties.get('INFER')}'"
        raise failure("PROPERTY_IN_WITH", node, name="INFER", reason=reason)
    words = {side: _WORDS[statement.kind] if side == "KEY" else None for side in ("KEY", "VALUE")}
    missing = [s for s, word in words.items() if all(c.constraint != word for c in statement.columns)]
    if not missing:
        raise invalid("INFER is only for statements that do not list all columns.", node)
    if properties.windowing() is not None and "KEY" in missing:
        raise invalid("The key of a windowed topic cannot be inferred: list it.", node)
    samples = sample(topic)
    inferred: dict[str, tuple[tuple[Column, ...], ReadSchema] | None] = {"KEY": None, "VALUE": None}
    rendered = [grammar.render(p) for p in statement.properties if p.name.upper() != "INFER"]
    for side in missing:
        own = [(r.key if side == "KEY" else r.value, r.headers) for r in samples]
        data = [d for d, _ in own if d is not None]
        framed = [d for data_, headers in own if (d := with_schema_id(data_, headers, side)) is not None]
        if not data and side == "KEY" and statement.kind == "STREAM":
            continue
        if not data:
            raise invalid(
                f"Topic '{topic}' has no records with a {side.lower()} that columns could be inferred from.",
                node,
                hint="List the columns.",
            )
        name, is_given = _format_of(side, properties, config, framed, registry)
        data = framed if CAPABILITIES[name].registry else data
        if not is_given:
            rendered.append(f"{side}_FORMAT = '{name}'")
        columns_, read = _proposed(side, properties, config, topic, name, data, registry, node or statement)
        inferred[side] = columns_, read
    names = {c.name for c in inferred["KEY"][0]} if inferred["KEY"] else set()
    names |= {c.name for c in statement.columns} | RESERVED_COLUMNS
    if inferred["VALUE"] is not None:
        others = tuple(c for c in inferred["VALUE"][0] if c.name not in names)
        inferred["VALUE"] = others, inferred["VALUE"][1]
    return _written_out(statement, inferred, properties, rendered)


def _format_of(
    side: str, properties: Properties, config: Mapping[str, Any], data: Sequence[bytes],
    registry: SchemaRegistry | None,
) -> tuple[str, bool]:  # fmt: skip
    """The format of a side, guessed if it is not given; and whether it was guessed."""
    name, node = properties.format_name(side)
    default = settings.text(config, "ksql.persistence.default.format.value") if side == "VALUE" else None
    if name is None and default is not None:
        name = require_format(default, properties.node("INFER") or node)
    if name is not None:
        return name, node is not None
    return guessed(data, registry) or "KAFKA", False


def _proposed(
    side: str, properties: Properties, config: Mapping[str, Any], topic: str, name: str,
    data: Sequence[bytes], registry: SchemaRegistry | None, node: Placed,
) -> tuple[tuple[Column, ...], ReadSchema]:  # fmt: skip
    spec = with_naming(properties.format_spec(side, name), side, config)
    role = Role.KEY if side == "KEY" else Role.VALUE
    if CAPABILITIES[name].registry:
        return _of_named_schema(side, spec, topic, data, registry, node)
    if name in ("NONE", "PROTOBUF_NOSR"):
        raise invalid(f"Records in {name} do not describe their columns: list the columns.", node)
    proposal = propose(name, data, spec.delimiter)
    if proposal is None or not proposal.fields:
        raise invalid(
            f"None of {len(data)} {side.lower()}s in topic '{topic}' is {name} with columns.", node,
            hint="PRINT shows what the records look like.",
        )  # fmt: skip
    fields = proposal.fields
    if name == "DELIMITED" and side == "KEY":
        fields = tuple(Field(f.name.replace("COL", "KEY"), f.type) for f in fields)
    if side == "VALUE" and proposal.is_bare and name == "JSON" and spec.wrapped is not False:
        raise invalid(
            f"The values in topic '{topic}' are not JSON objects.", node,
            hint="For bare values, add WRAP_SINGLE_VALUE = false.",
        )  # fmt: skip
    if side == "VALUE" and spec.wrapped is False and not proposal.is_bare:
        fields = (Field("", Struct(fields)),)
    if side == "KEY" and len(fields) == 1 and fields[0].name:
        fields = (Field("", fields[0].type if name == "DELIMITED" else Struct(fields)),)
    if side == "KEY":
        fields = tuple(Field(f.name, _without_maps(f.type)) for f in fields)
    return tuple(Column(f.name or SINGLE[side], f.type, role) for f in fields), ReadSchema(Struct(fields))


def _without_maps(type_: SqlType) -> SqlType:
    """Keys cannot contain MAPs; their text becomes a STRING."""
    match type_:
        case Map():
            return STRING
        case Array(element):
            return Array(_without_maps(element))
        case Struct(fields):
            return Struct(tuple(Field(f.name, _without_maps(f.type)) for f in fields))
    return type_


def _of_named_schema(
    side: str, spec: FormatSpec, topic: str, data: Sequence[bytes], registry: SchemaRegistry | None,
    node: Placed,
) -> tuple[tuple[Column, ...], ReadSchema]:  # fmt: skip
    """The columns of the newest schema that the records name."""
    if registry is None:
        raise failure(
            "SCHEMA_REGISTRY_MISSING", node, what=f"Taking the {side.lower()} columns from a schema",
            alternative=OR_LIST_COLUMNS,
        )  # fmt: skip
    resolved = schema_of(spec.name, data, registry)
    if resolved is None:
        raise invalid(f"None of {len(data)} {side.lower()}s in topic '{topic}' names a schema.", node)
    schema, message = resolved
    _check_kind(side, spec, topic, schema, node)
    is_bare = CAPABILITIES[spec.name].unwrapped if side == "KEY" else spec.wrapped is False
    spec = replace(spec, full_name=spec.full_name or message)
    return _columns(side, spec, topic, schema, is_bare, node)


def check_id(side: str, format_name: str, node: Placed | None) -> None:
    """Refuse KEY_SCHEMA_ID or VALUE_SCHEMA_ID for a format that keeps no schemas in a registry."""
    if not CAPABILITIES[format_name].registry:
        raise invalid(
            f"{side}_FORMAT should support schema inference when {side}_SCHEMA_ID is provided. "
            f"Current format is {format_name}.",
            node,
        )


def _written_out(
    statement: CreateSource,
    by_side: Mapping[str, tuple[tuple[Column, ...], ReadSchema] | None],
    written_properties: Properties,
    texts: Sequence[str] | None = None,
) -> CreateSource:
    """``statement`` with the inferred columns, and with the full name of a schema that an id denotes.

    ``texts``: the text of its properties; None: as they are.
    """
    word = _WORDS[statement.kind]
    listed: list[str] = []
    for side, is_side in (("KEY", ("KEY", "PRIMARY KEY")), ("VALUE", (None,))):
        inferred = by_side[side]
        if inferred is None:
            listed += [grammar.render(c) for c in statement.columns if c.constraint in is_side]
        else:
            suffix = f" {word}" if side == "KEY" else ""
            listed += [f"{quote_identifier(c.name)} {c.type}{suffix}" for c in inferred[0]]
    listed += [grammar.render(c) for c in statement.columns if c.constraint in ("HEADERS", "HEADER", "TOPIC")]
    listed += map(grammar.render, statement.checks)
    names = []
    for side, inferred in by_side.items():
        has_id = written_properties.get(f"{side}_SCHEMA_ID") is not None
        own = (f"{side}_SCHEMA_FULL_NAME", f"{side}_AVRO_SCHEMA_FULL_NAME")
        if (
            inferred is not None
            and inferred[1].name
            and has_id
            and not any(n in written_properties for n in own)
        ):
            text = inferred[1].name.replace("'", "''")
            names.append(f"{side}_SCHEMA_FULL_NAME = '{text}'")
    bare = statement.copy()
    bare.set("columns", [])
    bare.set("checks", [])
    bare.set("properties", [])
    if texts is None:
        texts = list(map(grammar.render, statement.properties))
    properties = ", ".join([*texts, *names])
    text = f"{grammar.render(bare)} ({', '.join(listed)}) WITH ({properties})"
    written = grammar.parse_one(text, substitution=False)
    assert isinstance(written, CreateSource)
    return written


# ---- CREATE … AS SELECT -------------------------------------------------------------------------------


def with_schema_ids(sink: DataSource, properties: Properties, registry: SchemaRegistry | None) -> DataSource:
    """``sink`` with the full names of the schemas in *_SCHEMA_ID, which its columns must match.

    The columns of a side must be the first ones of its schema, with the same names and types; further fields
    of the schema are written with their defaults.

    Raises:
        KsqlError: SCHEMA_REGISTRY_MISSING; a format without schemas, an unknown schema, columns that do not
        match.
    """
    key = _fitting("KEY", sink.key_format, sink.schema.key, sink, properties, registry)
    value = _fitting("VALUE", sink.value_format, sink.schema.value, sink, properties, registry)
    return replace(sink, key_format=key, value_format=value)


def _fitting(
    side: str, spec: FormatSpec, own: Sequence[Column], sink: DataSource, properties: Properties,
    registry: SchemaRegistry | None,
) -> FormatSpec:  # fmt: skip
    node = properties.node(f"{side}_SCHEMA_ID")
    if node is None:
        return spec
    check_id(side, spec.name, node)
    is_bare = CAPABILITIES[spec.name].unwrapped if side == "KEY" else spec.wrapped is False
    schema = _fetched(side, spec, sink.topic, registry, node)
    columns, read = _columns(side, spec, sink.topic, schema, is_bare, node)
    wrong = [c for i, c in enumerate(own) if i >= len(columns) or c != columns[i]]
    if wrong:
        raise invalid(
            f"The following {side.lower()} columns are changed, missing or reordered: "
            f"[{', '.join(map(str, wrong))}]. Schema from schema registry is "
            f"[{', '.join(map(str, columns))}]",
            node,
        )
    if not is_bare:
        try:
            check_further(schema, [c.name for c in own])
        except ValueError as error:
            raise invalid(
                f"The {side.lower()} columns lack a field of the registered schema. {error}", node
            ) from None
    return spec if spec.full_name is not None else replace(spec, full_name=read.name)


# ---- asking the registry ------------------------------------------------------------------------------


def _fetched(
    side: str, spec: FormatSpec, topic: str, registry: SchemaRegistry | None, node: Placed
) -> RegisteredSchema:
    """The schema of a side, checked to be of its format's kind."""
    if registry is None:
        raise failure(
            "SCHEMA_REGISTRY_MISSING", node, what=f"Taking the {side.lower()} columns from a schema",
            alternative=OR_LIST_COLUMNS if spec.schema_id is None else "",
        )  # fmt: skip
    subject = subject_of(topic, side == "KEY", spec.naming or TOPIC_NAME, spec.full_name)
    schema = registry.latest(subject) if spec.schema_id is None else registry.by_id(spec.schema_id)
    if schema is None:
        raise failure(
            "SCHEMA_UNKNOWN", node, what=f"message {side.lower()}s", topic=topic,
            looked_for=f"Subject: {subject}" if spec.schema_id is None else f"Schema Id: {spec.schema_id}",
            hint=_missing_hint(side, spec),
        )  # fmt: skip
    _check_kind(side, spec, topic, schema, node)
    return schema


def _check_kind(side: str, spec: FormatSpec, topic: str, schema: RegisteredSchema, node: Placed) -> None:
    expected = KINDS[spec.name]
    if schema.kind != expected:
        fitting = next((f for f, kind in KINDS.items() if kind == schema.kind), schema.kind)
        raise invalid(
            f"{side.capitalize()} schema is not in the expected format. You may want to set {side}_FORMAT to "
            f"'{fitting}'.\n{_origin(spec, topic)}\nexpected format: {expected}\n"
            f"actual format from Schema Registry: {schema.kind}",
            node,
        )


def _missing_hint(side: str, spec: FormatSpec) -> str | None:
    if spec.schema_id is not None:
        return None
    if spec.naming is not None and spec.full_name is None:
        return f"With {spec.naming}, {side}_SCHEMA_FULL_NAME says which record's schema is meant."
    return "List the columns, or register a schema first."


def _columns(
    side: str, spec: FormatSpec, topic: str, schema: RegisteredSchema, is_bare: bool, node: Placed,
    member: str | None = None,
) -> tuple[tuple[Column, ...], ReadSchema]:  # fmt: skip
    """The columns of one side from its schema, or from the record in a ``member`` of it.

    With a schema id, names keep their case; else they are converted to upper case.
    """
    try:
        read = read_schema(schema, spec.full_name if schema.kind == PROTOBUF else None)
        single = SINGLE[side] if is_bare else None
        type_ = read.type if member is None else _member(read.type, member)
        fields = columns(type_, single, keep_case=spec.schema_id is not None)
    except (NotConvertible, FieldLeftOut) as error:
        raise invalid(
            f"Unable to verify if the {side.lower()} schema for {_origin(spec, topic)} is compatible with "
            f"ksqlDB.\nReason: {error}\nSchema:{schema.text}",
            node,
        ) from None
    role = Role.KEY if side == "KEY" else Role.VALUE
    return tuple(Column(f.name, f.type, role) for f in fields), read


def _member(record: SqlType, name: str) -> SqlType:
    """The type of a record's member.

    Raises:
        NotConvertible: there is none.
    """
    types = [f.type for f in record.fields if f.name.upper() == name] if isinstance(record, Struct) else []
    if not types:
        raise NotConvertible(f"it is no envelope: it has no {name.lower()}")
    return types[0]


def _origin(spec: FormatSpec, topic: str) -> str:
    return f"topic: {topic}" + (f", schema id: {spec.schema_id}" if spec.schema_id is not None else "")
