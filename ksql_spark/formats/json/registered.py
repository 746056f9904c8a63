"""JSON_SR: JSON in the frame of a registered JSON Schema (reference §5.2).

The columns determine what is read; a record's schema is not fetched.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal as PythonDecimal
from functools import cached_property
from typing import Any, ClassVar
from uuid import UUID

from ksql_spark.formats.base import BadRecord
from ksql_spark.formats.binary_text import from_base64
from ksql_spark.formats.framed import FramedSerde, framed
from ksql_spark.formats.json import schema as json_schema
from ksql_spark.formats.json.format import JsonSerde, mismatch
from ksql_spark.formats.number_text import fit_decimal, is_decimal, whole_of_bytes
from ksql_spark.formats.spec import SerdeSpec
from ksql_spark.functions.spark_text import string
from ksql_spark.schema_registry import SchemaRegistry
from ksql_spark.types import (
    BOOLEAN,
    BYTES,
    DOUBLE,
    STRING,
    VARIANT,
    Array,
    Decimal,
    Field,
    Map,
    SqlType,
    Struct,
    quote_identifier,
)


class _ConnectJson(JsonSerde):
    """JSON as Kafka Connect's converter for JSON Schemas writes it."""

    def read(self, value: Any, type_: SqlType, path: str) -> Any:
        """A union is a value of one branch, a map may be an array of entries, a decimal base64."""
        match type_:
            case Struct(branches) if value is not None and json_schema.is_union(type_):
                return self._branch(value, branches, path)
            case Map(_, item) if isinstance(value, list):
                return self._entries(value, item, path)
            case Decimal(_, scale) if isinstance(value, str) and not is_decimal(value):
                return fit_decimal(_unscaled(value, scale, path), type_)
        return super().read(value, type_, path)

    def _branch(self, value: Any, branches: Sequence[Field], path: str) -> dict[str, Any]:
        """The branch that a value of a union is of."""
        misfit = None
        for branch in _candidates(value, branches):
            try:
                read = self.read(value, branch.type, path)
            except BadRecord as error:
                misfit = misfit or error
            else:
                return {b.name: read if b is branch else None for b in branches}
        raise misfit or mismatch(value, "one of the union's types", path)

    def _entries(self, entries: list[Any], item: SqlType, path: str) -> dict[str, Any]:
        """The form of maps whose keys are not texts."""
        entry = Struct((Field("key", STRING), Field("value", item)))
        read = [self.read(e, entry, f"{path}[{i}]") or {} for i, e in enumerate(entries)]
        if any(e.get("key") is None for e in read):
            raise BadRecord(f"The key of a map is null. Path: {path}")
        return {e["key"]: e["value"] for e in read}

    def write(self, value: Any, type_: SqlType) -> str:
        """A union is the value of its first branch that is not NULL."""
        if value is None or not (isinstance(type_, Struct) and json_schema.is_union(type_)):
            return super().write(value, type_)
        chosen = (b for b in type_.fields if value.get(b.name) is not None)
        return next((self.write(value[b.name], b.type) for b in chosen), "null")


def _fits(value: Any, type_: SqlType) -> bool:
    """Whether the JSON type of a value is one that Connect writes for ``type_``."""
    match type_:
        case Struct(branches) if json_schema.is_union(type_):
            return any(_fits(value, b.type) for b in branches)
        case Struct():
            return isinstance(value, dict)
        case Map():
            return isinstance(value, (dict, list))
        case Array():
            return isinstance(value, list)
        case Decimal():
            return _is_number(value) or isinstance(value, str)
    if type_ in (STRING, BYTES):
        return isinstance(value, str)
    if type_ == BOOLEAN:
        return isinstance(value, bool)
    if type_ == DOUBLE:
        return _is_number(value)
    return type_ == VARIANT or (_is_number(value) and isinstance(value, int))


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, PythonDecimal)) and not isinstance(value, bool)


def _candidates(value: Any, branches: Sequence[Field]) -> list[Field]:
    """The branches that a value may be of, in the order in which they are tried.

    A text is rather a text than base64. An object is rather a map than a record, and of several records
    the one with most of its members.
    """
    fitting = sorted((b for b in branches if _fits(value, b.type)), key=lambda b: _is_base64(value, b.type))
    records = [b for b in fitting if isinstance(b.type, Struct) and not json_schema.is_union(b.type)]
    shared = [len({*value, *(n.upper() for n in value)} & {f.name for f in _fields(b)}) for b in records]
    best = [b for b, count in zip(records, shared, strict=True) if count == max(shared)]
    return [*(b for b in fitting if b not in records), *best]


def _fields(branch: Field) -> Sequence[Field]:
    return branch.type.fields if isinstance(branch.type, Struct) else ()


def _is_base64(value: Any, type_: SqlType) -> bool:
    return isinstance(value, str) and (type_ == BYTES or isinstance(type_, Decimal))


def _unscaled(text: str, scale: int, path: str) -> PythonDecimal:
    """A decimal as the base64 of its digits."""
    try:
        digits = from_base64(text)
    except BadRecord:
        digits = b""
    if not digits:
        raise mismatch(text, "DECIMAL", path)
    sign, unscaled, _ = whole_of_bytes(digits).as_tuple()
    return PythonDecimal((sign, unscaled, -scale))


class JsonSrSerde(FramedSerde):
    """JSON after a frame."""

    name: ClassVar[str] = "JSON_SR"

    def __init__(self, spec: SerdeSpec, registry: SchemaRegistry | None = None) -> None:
        super().__init__(spec, registry)
        self._json = _ConnectJson(replace(spec, format=JsonSerde.name))

    @property
    def new_schema(self) -> str:
        """An object whose members may all be null; a bare value's type."""
        return json_schema.write(self.columns, self.wrapped, self.spec.full_name)

    # ---- in Python -----------------------------------------------------------------------------------

    def encode_body(self, values: Sequence[Any]) -> bytes:
        """JSON, including members that are not columns; never called for a bare NULL."""
        body = self._json.encode(values)
        assert body is not None
        return body if self._further == "" else body[:-1] + self._further.encode() + b"}"

    @cached_property
    def _further(self) -> str:
        """Members of the schema that are not columns, as JSON."""
        if not self.wrapped or self.spec.schema is None:
            return ""
        names = {c.name for c in self.columns}
        return json_schema.further_members(self.spec.schema, dict(self.spec.references), names)

    def decode_body(self, schema_id: int | UUID, body: bytes) -> list[Any] | None:
        """Decode the JSON of a record."""
        return self._json.decode(body)

    # ---- in Spark SQL --------------------------------------------------------------------------------

    def decode_sql(self, data: str) -> str:
        """A call of JsonDecoder.java, with the columns in the function's name."""
        return f"ksql.{quote_identifier(f'decode_json_sr:{self.ddl}')}({data})"

    def or_null_sql(self, data: str) -> str:
        """The literal ``null`` is a NULL key or value."""
        return f"if(ksql.is_json_null({_body(data)}), NULL, {data})"

    def explain_sql(self, data: str) -> str:
        """The message of JSON's decoder, if there is a frame."""
        missing = string("It does not start with a zero and the id of a schema.")
        explained = f"ksql.{quote_identifier(f'explain_json_sr:{self.ddl}')}({data})"
        return f"if({_body(data)} IS NULL, {missing}, {explained})"

    def encode_sql(self, texts: Sequence[str]) -> str:
        """A call of JsonEncoder.java, with the frame and further members in the function's name."""
        if not self.columns:
            return "cast(NULL as binary)"
        members = ", ".join(f"{string(c.name)}, {t}" for c, t in zip(self.columns, texts, strict=True))
        name = "encode_json_sr" if self.wrapped else "encode_json_sr_bare"
        argument = f"{framed(self.schema_id, b'').hex()}{self._json.columns_argument}{self._further}"
        name = quote_identifier(f"{name}:{argument}")
        return f"ksql.{name}(named_struct({members}))"


def _body(data: str) -> str:
    """The bytes after the frame; NULL if there is none."""
    return f"ksql.frame_body({data})"
