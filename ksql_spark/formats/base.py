"""What a format is: how it encodes and decodes; capabilities.py says which columns it carries (reference §5).

One module per format; ``formats.FORMATS`` lists them. Python values: DATE as days, TIME and TIMESTAMP as
milliseconds (int), DECIMAL as decimal.Decimal, BYTES as bytes, ARRAY as list, MAP as dict, STRUCT as dict
by field name.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from ksql_spark.functions.spark_text import string
from ksql_spark.schema import Column


class BadRecord(ValueError):
    """Bytes that do not hold the columns they should; the text says where and why (one line)."""


@dataclass(frozen=True)
class Format(ABC):
    """One serialization format; instances are immutable and shared."""

    name: ClassVar[str]

    # ---- in Python -----------------------------------------------------------------------------------

    @abstractmethod
    def encode(self, values: Sequence[Any], columns: Sequence[Column], wrapped: bool) -> bytes | None:
        """The bytes of one key or value; None is a null record.

        Raises:
            ValueError: a value cannot be written.
        """

    @abstractmethod
    def decode(self, data: bytes, columns: Sequence[Column], wrapped: bool) -> list[Any] | None:
        """The column values in ``data``; None where it says null.

        Raises:
            BadRecord: ``data`` does not hold these columns.
        """

    # ---- in Spark SQL --------------------------------------------------------------------------------

    @abstractmethod
    def decode_sql(self, data: str, columns: Sequence[Column], wrapped: bool) -> str:
        """Spark SQL text: the STRUCT of ``columns`` in the binary ``data``; NULL where bad or NULL."""

    def or_null_sql(self, data: str) -> str:
        """Spark SQL text: the binary ``data``, but NULL where the format says null with its bytes."""
        return data

    def explain_sql(self, data: str, columns: Sequence[Column], wrapped: bool) -> str:
        """Spark SQL text: why ``data`` is bad, a STRING of one sentence; evaluated for bad records only."""
        return string(f"The bytes are no {self.name} record of the columns {', '.join(map(str, columns))}.")

    @abstractmethod
    def encode_sql(self, texts: Sequence[str], columns: Sequence[Column], wrapped: bool) -> str:
        """Spark SQL text: the binary that holds ``texts``, one for each of ``columns``."""
