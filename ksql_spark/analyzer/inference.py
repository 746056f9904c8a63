"""Columns from a schema registry: for CREATE without columns, and for *_SCHEMA_ID (reference §5.6)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import grammar
from grammar.statements.sources import CreateSource
from ksql_spark.analyzer.failures import Placed, failure, invalid, within_statement
from ksql_spark.analyzer.properties import CREATE, Properties, with_naming
from ksql_spark.analyzer.serialization import check_wrapping
from ksql_spark.analyzer.sources import OR_LIST_COLUMNS, format_names
from ksql_spark.formats import CAPABILITIES
from ksql_spark.formats.capabilities import KINDS
from ksql_spark.formats.registered import FieldLeftOut, NotConvertible, ReadSchema, columns
from ksql_spark.formats.schemas import read_schema
from ksql_spark.metastore.sources import DataSource, FormatSpec
from ksql_spark.schema import Column, Role
from ksql_spark.schema_registry import PROTOBUF, TOPIC_NAME, RegisteredSchema, SchemaRegistry, subject_of
from ksql_spark.types import quote_identifier

#: name of the column of a bare key or value
SINGLE = {"KEY": "ROWKEY", "VALUE": "ROWVAL"}
_WORDS = {"STREAM": "KEY", "TABLE": "PRIMARY KEY"}


def infer_columns(
    statement: CreateSource, config: Mapping[str, Any], registry: SchemaRegistry | None
) -> CreateSource:
    """The statement with its columns from the registry written out; unchanged if no columns are missing.

    A key or value without columns, whose format keeps schemas in a registry, gets the columns of the latest
    schema of its subject, or of the schema in KEY_SCHEMA_ID or VALUE_SCHEMA_ID. The command log stores the
    result, so that the registry is not asked again; do not call this function with it.

    Args:
        statement: CREATE [OR REPLACE] [SOURCE] STREAM | TABLE as the user wrote it.
        config: server and session properties.
        registry: None if none is configured.

    Raises:
        KsqlError: SCHEMA_REGISTRY_MISSING; SCHEMA_UNKNOWN; INVALID_STATEMENT for a schema without columns in
            SQL, or for an id together with columns.
    """
    with within_statement(statement):
        given = Properties(statement.properties, CREATE)
        topic = given.get("KAFKA_TOPIC")
        if not topic:
            return statement  # it will be refused later
        found = {side: _side(statement, side, given, topic, config, registry) for side in ("KEY", "VALUE")}
    if not any(found.values()):
        return statement
    return _written_out(statement, found, given)


def _side(
    statement: CreateSource, side: str, given: Properties, topic: str, config: Mapping[str, Any],
    registry: SchemaRegistry | None,
) -> tuple[tuple[Column, ...], ReadSchema] | None:  # fmt: skip
    """The columns of one side and the schema they come from; None if nothing is inferred."""
    name = format_names(given, statement, config)[side]
    spec = with_naming(given.format_spec(side, name), side, config)
    wanted = ("KEY", "PRIMARY KEY") if side == "KEY" else (None,)
    is_listed = any(c.constraint in wanted for c in statement.columns)
    node = given.node(f"{side}_SCHEMA_ID")
    if spec.schema_id is not None:
        check_id(side, name, node)
        if is_listed:
            raise invalid(
                f"Table elements and {side}_SCHEMA_ID cannot both exist for create statement.", node
            )
    elif is_listed or not CAPABILITIES[name].registry:
        return None
    if side == "VALUE":
        check_wrapping(name, 1, spec.wrapped, given.node("WRAP_SINGLE_VALUE"))
    is_bare = CAPABILITIES[name].unwrapped if side == "KEY" else spec.wrapped is False
    schema = _fetched(side, spec, topic, registry, node or statement)
    found, read = _columns(side, spec, topic, schema, is_bare, node or statement)
    if len(read.names) > 1 and spec.full_name is None:
        listed = "\n".join(f"- {n}" for n in read.names)
        raise invalid(
            f"{side.capitalize()} schema has multiple schema definitions.\n\n{listed}\n\n"
            f"Please specify a schema full name in the WITH clause using {side}_SCHEMA_FULL_NAME",
            node or statement,
        )
    if side == "KEY" and len(found) > 1:
        raise invalid(
            f"The key schema for {_origin(spec, topic)} contains multiple columns, which is not supported by "
            f"ksqlDB at this time.\nSchema:{schema.text}",
            node or statement,
        )
    return found, read


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
    found: Mapping[str, tuple[tuple[Column, ...], ReadSchema] | None],
    given: Properties,
) -> CreateSource:
    """``statement`` with the inferred columns, and with the full name of a schema that an id denotes."""
    word = _WORDS[statement.kind]
    listed: list[str] = []
    for side, is_side in (("KEY", ("KEY", "PRIMARY KEY")), ("VALUE", (None,))):
        inferred = found[side]
        if inferred is None:
            listed += [grammar.render(c) for c in statement.columns if c.constraint in is_side]
        else:
            suffix = f" {word}" if side == "KEY" else ""
            listed += [f"{quote_identifier(c.name)} {c.type}{suffix}" for c in inferred[0]]
    listed += [grammar.render(c) for c in statement.columns if c.constraint in ("HEADERS", "HEADER")]
    names = []
    for side, inferred in found.items():
        has_id = given.get(f"{side}_SCHEMA_ID") is not None
        own = (f"{side}_SCHEMA_FULL_NAME", f"{side}_AVRO_SCHEMA_FULL_NAME")
        if inferred is not None and inferred[1].name and has_id and not any(n in given for n in own):
            text = inferred[1].name.replace("'", "''")
            names.append(f"{side}_SCHEMA_FULL_NAME = '{text}'")
    bare = statement.copy()
    bare.set("columns", [])
    bare.set("properties", [])
    properties = ", ".join([*map(grammar.render, statement.properties), *names])
    text = f"{grammar.render(bare)} ({', '.join(listed)}) WITH ({properties})"
    written = grammar.parse_one(text, substitution=False)
    assert isinstance(written, CreateSource)
    return written


# ---- CREATE … AS SELECT -------------------------------------------------------------------------------


def with_schema_ids(sink: DataSource, given: Properties, registry: SchemaRegistry | None) -> DataSource:
    """``sink`` with the full names of the schemas in *_SCHEMA_ID, which its columns must match.

    The columns of a side must be the first ones of its schema, with the same names and types; further fields
    of the schema are written with their defaults.

    Raises:
        KsqlError: SCHEMA_REGISTRY_MISSING; a format without schemas, no such schema, columns that do not fit.
    """
    key = _fitting("KEY", sink.key_format, sink.schema.key, sink, given, registry)
    value = _fitting("VALUE", sink.value_format, sink.schema.value, sink, given, registry)
    return replace(sink, key_format=key, value_format=value)


def _fitting(
    side: str, spec: FormatSpec, own: Sequence[Column], sink: DataSource, given: Properties,
    registry: SchemaRegistry | None,
) -> FormatSpec:  # fmt: skip
    node = given.node(f"{side}_SCHEMA_ID")
    if node is None:
        return spec
    check_id(side, spec.name, node)
    is_bare = CAPABILITIES[spec.name].unwrapped if side == "KEY" else spec.wrapped is False
    schema = _fetched(side, spec, sink.topic, registry, node)
    found, read = _columns(side, spec, sink.topic, schema, is_bare, node)
    wrong = [c for i, c in enumerate(own) if i >= len(found) or c != found[i]]
    if wrong:
        raise invalid(
            f"The following {side.lower()} columns are changed, missing or reordered: "
            f"[{', '.join(map(str, wrong))}]. Schema from schema registry is [{', '.join(map(str, found))}]",
            node,
        )
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
    expected = KINDS[spec.name]
    if schema.kind != expected:
        fitting = next((f for f, kind in KINDS.items() if kind == schema.kind), schema.kind)
        raise invalid(
            f"{side.capitalize()} schema is not in the expected format. You may want to set {side}_FORMAT to "
            f"'{fitting}'.\n{_origin(spec, topic)}\nexpected format: {expected}\n"
            f"actual format from Schema Registry: {schema.kind}",
            node,
        )
    return schema


def _missing_hint(side: str, spec: FormatSpec) -> str | None:
    if spec.schema_id is not None:
        return None
    if spec.naming is not None and spec.full_name is None:
        return f"With {spec.naming}, {side}_SCHEMA_FULL_NAME says which record's schema is meant."
    return "List the columns, or register a schema first."


def _columns(
    side: str, spec: FormatSpec, topic: str, schema: RegisteredSchema, is_bare: bool, node: Placed
) -> tuple[tuple[Column, ...], ReadSchema]:
    """The columns of one side from its schema.

    With a schema id, names keep their case; else they are converted to upper case.
    """
    try:
        read = read_schema(schema, spec.full_name if schema.kind == PROTOBUF else None)
        single = SINGLE[side] if is_bare else None
        fields = columns(read.type, single, keep_case=spec.schema_id is not None)
    except (NotConvertible, FieldLeftOut) as error:
        raise invalid(
            f"Unable to verify if the {side.lower()} schema for {_origin(spec, topic)} is compatible with "
            f"ksqlDB.\nReason: {error}\nSchema:{schema.text}",
            node,
        ) from None
    role = Role.KEY if side == "KEY" else Role.VALUE
    return tuple(Column(f.name, f.type, role) for f in fields), read


def _origin(spec: FormatSpec, topic: str) -> str:
    return f"topic: {topic}" + (f", schema id: {spec.schema_id}" if spec.schema_id is not None else "")
