"""JSON_SR: JSON in the frame of a registered JSON Schema (reference §5.2).

The columns determine what is read; a record's schema is not fetched.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, ClassVar
from uuid import UUID

from ksql_spark.formats import json_schema
from ksql_spark.formats.framed import FramedSerde, framed
from ksql_spark.formats.json import JsonSerde
from ksql_spark.formats.spec import SerdeSpec
from ksql_spark.functions.spark_text import string
from ksql_spark.schema_registry import SchemaRegistry
from ksql_spark.types import quote_identifier


class JsonSrSerde(FramedSerde):
    """JSON after a frame."""

    name: ClassVar[str] = "JSON_SR"

    def __init__(self, spec: SerdeSpec, registry: SchemaRegistry | None = None) -> None:
        super().__init__(spec, registry)
        self._json = JsonSerde(replace(spec, format=JsonSerde.name))

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
        """JSON."""
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
        return f"if({_body(data)} IS NULL, {missing}, {self._json.explain_sql(_body(data))})"

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
