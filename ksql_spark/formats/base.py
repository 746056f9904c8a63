"""Serdes: a format bound to the keys or values of one topic (reference §5).

One module per format; ``formats.FORMATS`` lists their classes, ``capabilities.py`` says which columns each
carries. Python values: DATE as days, TIME and TIMESTAMP as milliseconds (int), DECIMAL as decimal.Decimal,
BYTES as bytes, ARRAY as list, MAP as dict, STRUCT as dict by field name, VARIANT as its JSON (str).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from itertools import product
from typing import Any, ClassVar

from ksql_spark.formats.spec import SerdeSpec
from ksql_spark.functions.spark_text import spark_type, string
from ksql_spark.schema import Column
from ksql_spark.schema_registry import SchemaRegistry
from ksql_spark.types import quote_identifier


class BadRecord(ValueError):
    """Bytes that cannot be decoded to the columns; the text says where and why, in one line."""


class Serde(ABC):
    """Encodes and decodes the keys or values of one topic.

    Args:
        spec: what it is bound to.
        registry: has the schemas that records name, for encoding and decoding in Python; not needed for
            formats without schemas.
    """

    name: ClassVar[str]

    def __init__(self, spec: SerdeSpec, registry: SchemaRegistry | None = None) -> None:
        self.spec = spec
        self.registry = registry
        #: the columns that a key or value holds
        self.columns: tuple[Column, ...] = spec.columns

    @property
    def wrapped(self) -> bool:
        """Whether a single column is stored as a record."""
        return self.spec.wrapped

    @property
    def asks_registry(self) -> bool:
        """Whether reading a record may ask the registry for its schema."""
        return False

    @property
    def ddl(self) -> str:
        """The columns for decoders on the JVM, after "=" where there is one bare value."""
        return ("" if self.wrapped else "=") + self.columns_ddl

    @property
    def columns_ddl(self) -> str:
        """The columns as Spark DDL; TIME and VARIANT are Spark's types, which decoders can tell."""
        types = (spark_type(c.type, "time(3)", "variant") for c in self.columns)
        return ", ".join(f"{quote_identifier(c.name)} {t}" for c, t in zip(self.columns, types, strict=True))

    # ---- in Python -----------------------------------------------------------------------------------

    @abstractmethod
    def encode(self, values: Sequence[Any]) -> bytes | None:
        """The bytes of one key or value; None for NULL.

        Raises:
            ValueError: a value cannot be written.
        """

    def encode_key(self, values: Sequence[Any]) -> bytes | None:
        """The bytes that we write for a key: equal keys have equal bytes, so a zero has no sign.

        Raises:
            ValueError: a value cannot be written.
        """
        return self.encode([value + 0.0 if type(value) is float else value for value in values])

    def key_forms(self, values: Sequence[Any]) -> list[bytes]:
        """The bytes of all keys that are equal to one: others may have written zeros with a sign.

        Raises:
            ValueError: a value cannot be written.
        """
        forms: Iterable[Sequence[Any]] = [values]
        if 0.0 in values:
            forms = product(*((0.0, -0.0) if type(v) is float and v == 0 else (v,) for v in values))
        return [key for form in forms if (key := self.encode(form)) is not None]

    @abstractmethod
    def decode(self, data: bytes) -> list[Any] | None:
        """The column values in ``data``; None if its bytes mean null.

        Raises:
            BadRecord: ``data`` cannot be decoded to these columns.
            KsqlError: the registry, which has the schema of ``data``, does not respond.
        """

    # ---- in Spark SQL --------------------------------------------------------------------------------

    @abstractmethod
    def decode_sql(self, data: str) -> str:
        """Spark SQL text: the STRUCT of the columns in the binary ``data``; NULL if NULL or unreadable."""

    def deleted_sql(self, row: str) -> str | None:
        """Return Spark SQL text: whether ``row``, a STRUCT of decode_sql, means that a row was deleted.

        None: rows of this format never do.
        """
        return None

    def unchanged_sql(self, row: str) -> str | None:
        """Spark SQL text: the numbers of the columns that ``row``, a STRUCT of decode_sql, leaves out.

        It is an ARRAY of INTs, or NULL. None: rows of this format have all.
        """
        return None

    def framed_sql(self, data: str, headers: str) -> str:
        """Spark SQL text: the binary ``data`` in the form of the other texts.

        ``headers``: text of the record's headers, an ARRAY of STRUCTs, which may contain schema ids.
        """
        return data

    def or_null_sql(self, data: str) -> str:
        """Spark SQL text: the binary ``data``, or NULL if its bytes mean null in this format."""
        return data

    def explain_sql(self, data: str) -> str:
        """Spark SQL text: why ``data`` is bad, a STRING of one sentence; evaluated for bad records only."""
        return string(
            f"The bytes are no {self.name} record of the columns {', '.join(map(str, self.columns))}."
        )

    @abstractmethod
    def encode_sql(self, texts: Sequence[str]) -> str:
        """Spark SQL text: the binary of ``texts``, one per column."""
