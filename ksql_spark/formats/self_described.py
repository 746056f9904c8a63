"""Renders records as JSON with the schemas that they name, for PRINT (reference §2.12)."""

from __future__ import annotations

from uuid import UUID

from ksql_spark.errors import KsqlError
from ksql_spark.formats import CAPABILITIES, BadRecord, Serde, SerdeSpec, bind
from ksql_spark.formats.framed import unframed
from ksql_spark.formats.json.format import JsonSerde
from ksql_spark.formats.protobuf.format import ProtobufSerde, message_name
from ksql_spark.formats.registered import FieldLeftOut, NotConvertible, columns
from ksql_spark.formats.schemas import read_schema
from ksql_spark.schema import Column
from ksql_spark.schema_registry import RegisteredSchema, SchemaRegistry
from ksql_spark.types import Struct


class SelfDescribed:
    """Renders records as JSON.

    Args:
        registry: has their schemas. If it does not respond, it is not asked again.
    """

    def __init__(self, registry: SchemaRegistry) -> None:
        self._registry = registry
        self._is_away = not registry.has_schemas()
        self._serdes: dict[tuple[int | UUID, str | None], tuple[Serde, Serde]] = {}

    def text(self, format_: str, data: bytes) -> str:
        """A key or value in ``format_`` as JSON.

        Raises:
            BadRecord: it is not in this format, or its schema does not exist.
        """
        schema_id, body = unframed(data)
        schema = self._schema(schema_id)
        if schema is None or schema.kind != CAPABILITIES[format_].registry:
            raise BadRecord("It has no schema of this format.")
        try:
            name = message_name(schema, body) if format_ == ProtobufSerde.name else None
            serde, json = self._serdes.get((schema_id, name)) or self._bound(format_, schema_id, schema, name)
            values = serde.decode(data)
        except (NotConvertible, FieldLeftOut, KsqlError) as error:
            raise BadRecord(str(error)) from None
        encoded = None if values is None else json.encode(values)
        return "null" if encoded is None else encoded.decode()

    def _schema(self, schema_id: int | UUID) -> RegisteredSchema | None:
        if self._is_away:
            return None
        try:
            return self._registry.cached(schema_id)
        except KsqlError:
            self._is_away = True
            return None

    def _bound(
        self, format_: str, schema_id: int | UUID, schema: RegisteredSchema, name: str | None
    ) -> tuple[Serde, Serde]:
        read = read_schema(schema, name)
        wrapped = isinstance(read.type, Struct)
        fields = columns(read.type, None if wrapped else "VALUE", keep_case=True)
        own = tuple(Column(f.name, f.type) for f in fields)
        serdes = (
            bind(SerdeSpec(format_, own, wrapped), self._registry),
            bind(SerdeSpec(JsonSerde.name, own, wrapped)),
        )
        self._serdes[schema_id, name] = serdes
        return serdes
