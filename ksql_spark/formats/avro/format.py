"""AVRO: a record of the columns, or a bare value, with a registered schema (reference §5.2, §5.5)."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal as PythonDecimal
from functools import cached_property, lru_cache
from typing import Any, ClassVar
from uuid import UUID

from ksql_spark.formats.avro import schema as avro_schema
from ksql_spark.formats.avro.reader import Readers
from ksql_spark.formats.base import BadRecord
from ksql_spark.formats.framed import FramedSerde
from ksql_spark.formats.registered import NotConvertible
from ksql_spark.functions.spark_text import string
from ksql_spark.schema_registry import AVRO, RegisteredSchema
from ksql_spark.types import (
    EXACT,
    TIME,
    TIMESTAMP,
    Array,
    Decimal,
    Map,
    SqlType,
    Struct,
    quote_identifier,
)


class AvroSerde(FramedSerde):
    """Each record is resolved from its writer's schema to the columns; names match ignoring case."""

    name: ClassVar[str] = "AVRO"

    @property
    def new_schema(self) -> str:
        """A record whose fields may all be null; a bare value's type."""
        return avro_schema.write(self.columns, self.wrapped, self.spec.full_name)

    # ---- in Python -----------------------------------------------------------------------------------

    def encode_body(self, values: Sequence[Any]) -> bytes:
        """Fields that are not columns get their defaults."""
        import fastavro  # slow to import

        assert self.spec.schema is not None
        schema = _parsed(RegisteredSchema(0, AVRO, self.spec.schema, dict(self.spec.references)))
        type_, value = self._type, values[0]
        if self.wrapped:
            value = {c.name: v for c, v in zip(self.columns, values, strict=True)}
        out = io.BytesIO()
        try:
            fastavro.schemaless_writer(out, schema.plain, schema.to_avro(value, schema.root, type_))
        except (ValueError, TypeError, KeyError, OverflowError) as error:
            raise ValueError(f"The values do not fit the registered schema: {error}") from None
        return out.getvalue()

    def decode_body(self, schema_id: int | UUID, body: bytes) -> list[Any] | None:
        """Fields that the writer lacks are NULL."""
        read = self._readers.get(schema_id)
        if read is None:
            read = self._readers[schema_id] = _schema(self.writer(schema_id)).readers.reader(self._type)
        values = read(body)
        if not self.wrapped:
            return [values]
        return None if values is None else [values[c.name] for c in self.columns]

    @cached_property
    def _readers(self) -> dict[int | UUID, Callable[[bytes], Any]]:
        """Cached readers of known schemas."""
        return {}

    @property
    def _type(self) -> SqlType:
        return avro_schema.row_type(self.columns) if self.wrapped else self.columns[0].type

    # ---- in Spark SQL --------------------------------------------------------------------------------

    def decode_sql(self, data: str) -> str:
        """A call of AvroDecoder.java, with the columns in the function's name."""
        return f"ksql.{quote_identifier(f'decode_avro:{self.ddl}')}({data})"

    def explain_sql(self, data: str) -> str:
        """Return text with the decoder's message about a bad record."""
        return f"ksql.{quote_identifier(f'explain_avro:{self.ddl}')}({data})"

    def encode_sql(self, texts: Sequence[str]) -> str:
        """A call of AvroEncoder.java, with the schema in the function's name."""
        if not self.columns:
            return "cast(NULL as binary)"
        members = ", ".join(f"{string(c.name)}, {t}" for c, t in zip(self.columns, texts, strict=True))
        configuration = {
            "id": self.schema_id,
            "schema": self.spec.schema,
            "references": [text for _, text in self.spec.references],
        }
        name = f"{'encode_avro' if self.wrapped else 'encode_avro_bare'}:{json.dumps(configuration)}"
        return f"ksql.{quote_identifier(name)}(named_struct({members}))"


@lru_cache(maxsize=1000)
def _parsed_text(text: str, references: tuple[str, ...]) -> _Schema:
    return _Schema(text, references)


def _parsed(schema: RegisteredSchema) -> _Schema:
    return _parsed_text(schema.text, tuple(schema.references.values()))


def _schema(schema: RegisteredSchema) -> _Schema:
    try:
        return _parsed(schema)
    except NotConvertible as error:
        raise BadRecord(f"The schema {schema.id} cannot be used: {error}.") from None


class _Schema:
    """A writer's schema: converts its values to SQL values and back.

    ``root`` is the schema, ``plain`` the same without logical types, whose values stay numbers and bytes.
    """

    def __init__(self, text: str, references: Sequence[str]) -> None:
        self.root, self._types = avro_schema.parse(text, references)
        self._text = text
        self._has_references = bool(references)
        self.readers = Readers(self.root, self._types)
        self._of = self.readers.of

    @cached_property
    def plain(self) -> Any:
        """The schema that fastavro writes with."""
        import fastavro

        whole = self._whole(self.root, set()) if self._has_references else json.loads(self._text)
        try:
            return fastavro.parse_schema(_without_logical(whole), _ignore_default_error=True)
        except (ValueError, fastavro.schema.SchemaParseException, fastavro.schema.UnknownType) as error:
            raise ValueError(f"fastavro cannot write it: {error}") from None

    def _whole(self, schema: Any, seen: set[str]) -> Any:
        """A schema with named types inlined where each first occurs."""
        match schema:
            case str() if schema in self._types and schema not in seen:
                return self._whole(self._types[schema], seen)
            case list():
                return [self._whole(branch, seen) for branch in schema]
            case {"name": name, "type": "record" | "error"}:
                seen.add(name)
                fields = [{**f, "type": self._whole(f["type"], seen)} for f in schema["fields"]]
                return {**schema, "fields": fields}
            case {"name": name}:
                seen.add(name)
            case {"type": "array"}:
                return {**schema, "items": self._whole(schema["items"], seen)}
            case {"type": "map"}:
                return {**schema, "values": self._whole(schema["values"], seen)}
            case {"type": inner} if not isinstance(inner, str) or inner in self._types:
                return self._whole(inner, seen)
        return schema

    def _is_nullable(self, schema: Any) -> bool:
        resolved = self._of(schema)
        return isinstance(resolved, list) and any(self._of(b) == {"type": "null"} for b in resolved)

    # ---- to Avro -------------------------------------------------------------------------------------

    def to_avro(self, value: Any, schema: Any, type_: SqlType) -> Any:
        """A SQL value in the form that fastavro writes with this schema without logical types.

        Raises:
            ValueError: the value does not fit the schema.
        """
        schema = self._of(schema)
        if isinstance(schema, list):
            others = [b for b in schema if self._of(b) != {"type": "null"}]
            if value is None and len(others) < len(schema):
                return None
            if len(others) > 1 and isinstance(type_, Struct) and self._of(others[0])["type"] != "record":
                raise ValueError("The schema has a union of several types, which cannot be written.")
            return self.to_avro(value, others[0], type_)
        if value is None:
            raise ValueError("The schema allows no NULL.")
        match type_, schema["type"]:
            case Struct(fields), "record":
                own = {f.name: f.type for f in fields}
                record = {}
                for field in schema["fields"]:
                    name = _column(own, field["name"])
                    if name is not None and value.get(name) is None and "default" in field:
                        # fields that cannot be NULL then get their default, as in Connect
                        name = name if self._is_nullable(field["type"]) else None
                    if name is not None or "default" not in field:
                        of = own[name] if name is not None else type_
                        record[field["name"]] = self._field(field, name and value.get(name), of)
                return record
            case Array(element), "array":
                return [self.to_avro(v, schema["items"], element) for v in value]
            case Map(_, item), "map":
                return {k: self.to_avro(v, schema["values"], item) for k, v in value.items()}
            case Map(key, item), "array":
                kinds = {f["name"]: f["type"] for f in self._of(schema["items"])["fields"]}
                return [
                    {
                        "key": self.to_avro(k, kinds["key"], key),
                        "value": self.to_avro(v, kinds["value"], item),
                    }
                    for k, v in value.items()
                ]
        if isinstance(type_, Decimal):
            digits = int(PythonDecimal(value).scaleb(int(schema.get("scale", 0)), EXACT))
            size = schema["size"] if schema["type"] == "fixed" else digits.bit_length() // 8 + 1
            try:
                return digits.to_bytes(size, "big", signed=True)
            except OverflowError:
                raise ValueError(f"{value} does not fit {size} bytes.") from None
        if schema["type"] == "fixed" and len(value) != schema["size"]:
            raise ValueError(f"The schema wants {schema['size']} bytes.")
        if schema["type"] == "enum" and value not in schema["symbols"]:
            raise ValueError(f"The schema's enum {schema['name'].rpartition('.')[2]} has no {value}.")
        if type_ in (TIMESTAMP, TIME) and schema["type"] == "long":
            return value * (avro_schema.per_millisecond(schema, type_) or 1)
        return value

    def _field(self, field: Mapping[str, Any], value: Any, type_: SqlType) -> Any:
        """The value of a record's field; an error names it."""
        try:
            return self.to_avro(value, field["type"], type_)
        except ValueError as error:
            raise ValueError(f"{field['name']}: {error}") from None


def _column(own: Mapping[str, SqlType], name: str) -> str | None:
    if name in own:
        return name
    return {n.upper(): n for n in own}.get(name.upper())


def _without_logical(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_without_logical(s) for s in schema]
    if isinstance(schema, dict):
        return {
            k: _without_logical(v) if k in ("type", "items", "values", "fields") else v
            for k, v in schema.items()
            if k != "logicalType"
        }
    return schema
