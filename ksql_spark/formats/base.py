"""The interface of formats: encoding and decoding. capabilities.py lists the columns they support (§5).

Each format has a module; ``formats.FORMATS`` lists them. The formats' Python form of values: DATE as days,
TIME and TIMESTAMP as milliseconds (int), DECIMAL as decimal.Decimal, BYTES as bytes, ARRAY as list, MAP as
dict, STRUCT as dict by field name.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from ksql_spark.functions.spark_text import string
from ksql_spark.schema import Column


class BadRecord(ValueError):
    """Bytes that cannot be decoded to the columns; the text says where and why, in one line."""


@dataclass(frozen=True)
class Format(ABC):
    """One serialization format; instances are immutable and shared."""

    name: ClassVar[str]

    # ---- in Python -----------------------------------------------------------------------------------

    @abstractmethod
    def encode(self, values: Sequence[Any], columns: Sequence[Column], wrapped: bool) -> bytes | None:
        """The bytes of one key or value; None for NULL.

        Raises:
            ValueError: a value cannot be written.
        """

    @abstractmethod
    def decode(self, data: bytes, columns: Sequence[Column], wrapped: bool) -> list[Any] | None:
        """The column values in ``data``; None if its bytes mean null.

        Raises:
            BadRecord: ``data`` cannot be decoded to these columns.
        """

    # ---- in Spark SQL --------------------------------------------------------------------------------

    @abstractmethod
    def decode_sql(self, data: str, columns: Sequence[Column], wrapped: bool) -> str:
        """Spark SQL text: a STRUCT of ``columns`` from the binary ``data``; NULL if NULL or unreadable."""

    def or_null_sql(self, data: str) -> str:
        """Spark SQL text: the binary ``data``, but NULL if its bytes mean null in this format."""
        return data

    def explain_sql(self, data: str, columns: Sequence[Column], wrapped: bool) -> str:
        """Spark SQL text: a sentence (STRING) that says why ``data`` is unreadable; only evaluated then."""
        return string(f"The bytes are no {self.name} record of the columns {', '.join(map(str, columns))}.")

    @abstractmethod
    def encode_sql(self, texts: Sequence[str], columns: Sequence[Column], wrapped: bool) -> str:
        """Spark SQL text: the binary that encodes ``columns``; ``texts``: the text of each column."""
