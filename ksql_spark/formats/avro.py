"""AVRO: a record of the columns, or a bare value, by a registered schema (reference §5.2, §5.5)."""

from __future__ import annotations

import io
import json
import math
import struct
from collections.abc import Mapping, Sequence
from decimal import Context
from decimal import Decimal as PythonDecimal
from functools import cached_property, lru_cache
from typing import Any, ClassVar
from uuid import UUID

from ksql_spark.formats import avro_schema
from ksql_spark.formats.base import BadRecord
from ksql_spark.formats.framed import FramedSerde
from ksql_spark.formats.number_text import fit_decimal
from ksql_spark.formats.registered import NotConvertible
from ksql_spark.functions.spark_text import string
from ksql_spark.schema_registry import AVRO, RegisteredSchema
from ksql_spark.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    INTEGER,
    STRING,
    TIME,
    TIMESTAMP,
    Array,
    Decimal,
    Map,
    SqlType,
    Struct,
    quote_identifier,
)

#: type of Avro -> types of columns that take its values as they are
_TAKEN: dict[str, tuple[SqlType, ...]] = {
    "boolean": (BOOLEAN,),
    "int": (INTEGER, BIGINT, DATE, TIME),
    "long": (BIGINT, TIMESTAMP),
    "string": (STRING,),
    "bytes": (BYTES,),
    "fixed": (BYTES,),
    "enum": (STRING,),
}
#: arithmetic with more digits than any DECIMAL has
_EXACT = Context(prec=1000)
#: types that are nested more deeply are read in a way that cannot exhaust the stack
_MOST_NESTED = 100
#: bounds of an int
_INT = range(-(2**31), 2**31)


class AvroSerde(FramedSerde):
    """Each record is resolved from its writer's schema to the columns; names match whatever their case."""

    name: ClassVar[str] = "AVRO"

    @property
    def new_schema(self) -> str:
        """A record whose fields may all be null; a bare value's type."""
        return avro_schema.write(self.columns, self.wrapped, self.spec.full_name)

    # ---- in Python -----------------------------------------------------------------------------------

    def encode_body(self, values: Sequence[Any]) -> bytes:
        """Fields that are no columns have their defaults."""
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
        """Fields that the writer does not have are NULL."""
        schema = _schema(self.writer(schema_id))
        data = io.BytesIO(body)
        try:
            value = schema.reader(data, schema.plain, None, handle_unicode_errors="replace")
        except RecursionError:
            raise BadRecord("It is nested too deeply.") from None
        except (
            EOFError,
            ValueError,
            LookupError,
            TypeError,
            OverflowError,
            struct.error,
            MemoryError,
        ) as error:
            raise BadRecord(f"It is not Avro of the schema {schema_id}: {error}") from None
        if data.read(1):
            raise BadRecord("There are bytes after its end.")
        found = schema.to_sql(value, schema.root, self._type, "It")
        if not self.wrapped:
            return [found]
        return None if found is None else [found[c.name] for c in self.columns]

    @property
    def _type(self) -> SqlType:
        return avro_schema.row_type(self.columns) if self.wrapped else self.columns[0].type

    # ---- in Spark SQL --------------------------------------------------------------------------------

    def decode_sql(self, data: str) -> str:
        """A call of AvroDecoder.java, the columns in the function's name."""
        return f"ksql.{quote_identifier(f'decode_avro:{self.ddl}')}({data})"

    def explain_sql(self, data: str) -> str:
        """The decoder's message."""
        return f"ksql.{quote_identifier(f'explain_avro:{self.ddl}')}({data})"

    def encode_sql(self, texts: Sequence[str]) -> str:
        """A call of AvroEncoder.java, the schema in the function's name."""
        if not self.columns:
            return "cast(NULL as binary)"
        members = ", ".join(f"{string(c.name)}, {t}" for c, t in zip(self.columns, texts, strict=True))
        given = {
            "id": self.schema_id,
            "schema": self.spec.schema,
            "references": [text for _, text in self.spec.references],
        }
        name = f"{'encode_avro' if self.wrapped else 'encode_avro_bare'}:{json.dumps(given)}"
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
    """A writer's schema: how its values become SQL values, and the other way round.

    ``root`` is the schema, ``plain`` the same without logical types, whose values stay numbers and bytes.
    """

    def __init__(self, text: str, references: Sequence[str]) -> None:
        self.root, self._types = avro_schema.parse(text, references)
        whole = self._whole(self.root, set()) if references else json.loads(text)
        self.plain, _ = avro_schema.parse(json.dumps(_without_logical(whole)), [])
        self._is_empty(self.root, {})

    def _whole(self, schema: Any, seen: set[str]) -> Any:
        """A schema with the types that it refers to in place of their names, where each is met first."""
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

    @cached_property
    def reader(self) -> Any:
        """fastavro's function that reads a record.

        The one in C ends the process where data are nested too deeply, as only a type that is part of itself
        allows; the one in Python raises RecursionError.
        """
        if self._depth(self.root, {}) > _MOST_NESTED:
            from fastavro import _read_py

            return _read_py.schemaless_reader
        from fastavro import schemaless_reader  # slow to import

        return schemaless_reader

    def _depth(self, schema: Any, known: dict[str, float]) -> float:
        """How deeply values can be nested; ``known``: the depths of records."""
        found = self._of(schema)
        if isinstance(found, list):
            return max((self._depth(branch, known) for branch in found), default=0)
        match found["type"]:
            case "record":
                if found["name"] not in known:
                    known[found["name"]] = math.inf  # if it is met again within itself
                    fields = (self._depth(f["type"], known) for f in found["fields"])
                    known[found["name"]] = 1 + max(fields, default=0)
                return known[found["name"]]
            case "array":
                return 1 + self._depth(found["items"], known)
            case "map":
                return 1 + self._depth(found["values"], known)
        return 0

    def _is_empty(self, schema: Any, known: dict[str, bool]) -> bool:
        """Whether values take no bytes; ``known``: of records.

        Raises:
            NotConvertible: it has an array of such values, of which five bytes would make billions.
        """
        found = self._of(schema)
        if isinstance(found, list):
            for branch in found:
                self._is_empty(branch, known)
            return False
        match found["type"]:
            case "record":
                if found["name"] not in known:
                    known[found["name"]] = False
                    known[found["name"]] = all([self._is_empty(f["type"], known) for f in found["fields"]])
                return known[found["name"]]
            case "array":
                if self._is_empty(found["items"], known):
                    raise NotConvertible("the items of an array take no bytes")
            case "map":
                self._is_empty(found["values"], known)
            case "fixed":
                return not found["size"]
            case "null":
                return True
        return False

    def _of(self, schema: Any) -> Any:
        """The schema as an object or a list of branches; names are looked up."""
        while True:
            if isinstance(schema, str):
                if schema not in self._types:
                    return {"type": schema}
                schema = self._types[schema]
            elif isinstance(schema, dict) and not isinstance(schema["type"], str):
                schema = schema["type"]
            elif isinstance(schema, dict) and schema["type"] in self._types:
                schema = self._types[schema["type"]]
            else:
                return schema

    def _is_nullable(self, schema: Any) -> bool:
        found = self._of(schema)
        return isinstance(found, list) and any(self._of(b) == {"type": "null"} for b in found)

    def _branch(self, value: Any, branches: Sequence[Any]) -> Any:
        """The branch of a union that a value is of."""
        from fastavro.validation import validate

        for branch in branches:
            found = self._of(branch)
            is_null = found == {"type": "null"}
            if is_null == (value is None) and (
                len(branches) == 2 or validate(value, found, raise_errors=False)
            ):
                return found
        return {"type": "null"}

    # ---- to SQL --------------------------------------------------------------------------------------

    def to_sql(self, value: Any, schema: Any, type_: SqlType, path: str) -> Any:
        """A value that fastavro read, as ``type_``; ``path`` is for the error."""
        schema = self._of(schema)
        if isinstance(schema, list):
            others = [b for b in schema if self._of(b) != {"type": "null"}]
            found = self._branch(value, schema)
            if len(others) > 1 and isinstance(type_, Struct) and _is_union_of(type_, others, self._of):
                return self._alternative(value, found, type_, path)
            return None if value is None else self.to_sql(value, found, type_, path)
        match type_, schema["type"]:
            case Struct(fields), "record":
                made = {}
                for field in fields:
                    theirs = _named(schema["fields"], field.name)
                    made[field.name] = (
                        None
                        if theirs is None
                        else self.to_sql(value[theirs["name"]], theirs["type"], field.type, theirs["name"])
                    )
                return made
            case Array(element), "array":
                return [self.to_sql(v, schema["items"], element, path) for v in value]
            case Map(_, item), "map":
                return {k: self.to_sql(v, schema["values"], item, path) for k, v in value.items()}
            case Map(key, item), "array" if avro_schema.is_entry(entry := self._of(schema["items"])):
                kinds = {f["name"]: f["type"] for f in entry["fields"]}
                return {
                    self.to_sql(v["key"], kinds["key"], key, path): self.to_sql(
                        v["value"], kinds["value"], item, path
                    )
                    for v in value
                }
        return _scalar(value, schema, type_, path)

    def _alternative(self, value: Any, branch: Any, type_: Struct, path: str) -> Any:
        if value is None:
            return None
        name = avro_schema.branch_name(branch).upper()
        return {
            f.name: self.to_sql(value, branch, f.type, path) if f.name.upper() == name else None
            for f in type_.fields
        }

    # ---- to Avro -------------------------------------------------------------------------------------

    def to_avro(self, value: Any, schema: Any, type_: SqlType) -> Any:
        """A SQL value as fastavro writes it by this schema without logical types."""
        schema = self._of(schema)
        if isinstance(schema, list):
            if value is None:
                return None
            others = [b for b in schema if self._of(b) != {"type": "null"}]
            return self.to_avro(value, others[0], type_)
        match type_, schema["type"]:
            case Struct(fields), "record":
                own = {f.name: f.type for f in fields}
                made = {}
                for field in schema["fields"]:
                    name = _column(own, field["name"])
                    if name is not None and value.get(name) is None and "default" in field:
                        # what cannot be NULL has its default then, as Connect does it
                        name = name if self._is_nullable(field["type"]) else None
                    if name is not None:
                        made[field["name"]] = self.to_avro(value.get(name), field["type"], own[name])
                    elif "default" not in field:
                        made[field["name"]] = None
                return made
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
        if isinstance(type_, Decimal) and value is not None:
            digits = int(PythonDecimal(value).scaleb(int(schema.get("scale", 0)), _EXACT))
            size = schema["size"] if schema["type"] == "fixed" else digits.bit_length() // 8 + 1
            return digits.to_bytes(size, "big", signed=True)
        if type_ == TIMESTAMP and value is not None and schema.get("logicalType") == "timestamp-micros":
            return value * 1000
        return value


def _scalar(value: Any, schema: Mapping[str, Any], type_: SqlType, path: str) -> Any:
    kind, logical = schema["type"], schema.get("logicalType")
    if kind == "int" and value not in _INT:
        raise BadRecord("A number does not fit INT.")
    if isinstance(type_, Decimal) and avro_schema.is_decimal(schema):
        number = PythonDecimal(int.from_bytes(value, "big", signed=True)).scaleb(
            -int(schema.get("scale", 0)), _EXACT
        )
        return fit_decimal(number, type_)
    if type_ == TIMESTAMP and logical == "timestamp-micros":
        return value // 1000
    if type_ in (TIME, INTEGER) and logical == "time-micros":
        return value // 1000
    if type_ == DOUBLE and kind in ("int", "long", "float", "double"):
        return float(value)
    if type_ == STRING and kind in ("int", "long", "boolean"):
        return str(value).lower()
    if type_ == BYTES and kind == "string":
        return value.encode()
    if type_ == STRING and kind == "bytes" and not avro_schema.is_decimal(schema):
        return value.decode(errors="replace")
    if type_ in _TAKEN.get(kind, ()):
        return value
    raise BadRecord(f"{path} is of the Avro type {kind}, which does not fit {type_}.")


def _named(fields: Sequence[Any], name: str) -> Any:
    by_name = {f["name"]: f for f in reversed(fields)}
    folded = {f["name"].upper(): f for f in reversed(fields)}
    return by_name.get(name) or folded.get(name.upper())


def _column(own: Mapping[str, SqlType], name: str) -> str | None:
    if name in own:
        return name
    return {n.upper(): n for n in own}.get(name.upper())


def _is_union_of(type_: Struct, branches: Sequence[Any], of: Any) -> bool:
    names = {avro_schema.branch_name(of(b)).upper() for b in branches}
    return all(f.name.upper() in names for f in type_.fields)


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
