"""Which formats keep schemas in a registry, and what their schemas say in SQL."""

from __future__ import annotations

from ksql_spark.formats import avro_schema, json_schema, protobuf_schema
from ksql_spark.formats.registered import NotConvertible, ReadSchema
from ksql_spark.schema_registry import AVRO, JSON, PROTOBUF, RegisteredSchema

#: format -> the kind of its schemas
KINDS = {"AVRO": AVRO, "JSON_SR": JSON, "PROTOBUF": PROTOBUF}


def read_schema(schema: RegisteredSchema, full_name: str | None = None) -> ReadSchema:
    """The SQL types of a schema, with its names as they are written.

    Args:
        schema: of any kind in KINDS.
        full_name: PROTOBUF only: which of its messages is meant.

    Raises:
        NotConvertible: it is no such schema, or SQL has no type for it.
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
        # a text stands where an object should: registries look at what they need, not at everything
        raise NotConvertible(f"it is not well-formed: {error}") from None
