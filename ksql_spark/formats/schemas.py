"""Registered schemas as SQL types."""

from __future__ import annotations

from collections.abc import Sequence

from ksql_spark.formats.avro import schema as avro_schema
from ksql_spark.formats.json import schema as json_schema
from ksql_spark.formats.protobuf import schema as protobuf_schema
from ksql_spark.formats.registered import NotConvertible, ReadSchema
from ksql_spark.schema_registry import AVRO, JSON, RegisteredSchema


def read_schema(schema: RegisteredSchema, full_name: str | None = None) -> ReadSchema:
    """The SQL types of a schema; names keep their case.

    Args:
        schema: a schema of any kind in capabilities.KINDS.
        full_name: PROTOBUF only: the name of the message.

    Raises:
        NotConvertible: it is not a valid schema, or SQL has no type for it.
    """
    try:
        if schema.kind == AVRO:
            return avro_schema.read(schema.text, schema.references)
        if schema.kind == JSON:
            return json_schema.read(schema.text, schema.references)
        return protobuf_schema.read(schema.text, schema.references, full_name)
    except RecursionError:
        raise NotConvertible("it is nested too deeply") from None
    except (AttributeError, KeyError, TypeError) as error:
        # for example a text instead of an object, because registries do not validate everything
        raise NotConvertible(f"it is not well-formed: {error}") from None


def check_further(schema: RegisteredSchema, names: Sequence[str]) -> None:
    """Make sure that records of an AVRO or JSON schema can be written with only the fields ``names``.

    Raises:
        ValueError: it requires another field, or is not well-formed.
    """
    try:
        if schema.kind == AVRO:
            avro_schema.check_further(schema.text, names)
        if schema.kind == JSON:
            json_schema.further_members(schema.text, schema.references, names)
    except (AttributeError, TypeError) as error:
        raise NotConvertible(f"it is not well-formed: {error}") from None
