"""Types and columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ksql_spark.entities.base import Body, Omitted


@dataclass(frozen=True)
class DecimalParameters(Body):
    """The parameters of DECIMAL."""

    precision: int
    scale: int


@dataclass(frozen=True)
class SchemaInfo(Body):
    """A type.

    Args:
        type: the base name, such as STRING or ARRAY.
        fields: of a STRUCT.
        member_schema: of an ARRAY's elements or a MAP's values.
        parameters: of a DECIMAL.
    """

    type: str
    fields: tuple[StructField, ...] | None = None
    member_schema: SchemaInfo | None = None
    parameters: Omitted[DecimalParameters] = None


@dataclass(frozen=True)
class StructField(Body):
    """A field of a STRUCT."""

    name: str
    schema: SchemaInfo


@dataclass(frozen=True)
class FieldInfo(Body):
    """A column; only keys and headers have a ``type``, one header a key, and some a comment."""

    name: str
    schema: SchemaInfo
    type: Omitted[Literal["KEY", "HEADER", "TOPIC"]] = None
    header_key: Omitted[str] = None
    comment: Omitted[str] = None
