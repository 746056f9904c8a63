"""NONE: no columns, no bytes (reference §5.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from ksql_spark.formats.base import Format
from ksql_spark.schema import Column


@dataclass(frozen=True)
class NoneFormat(Format):
    """For keys that do not exist or are not read."""

    name: ClassVar[str] = "NONE"

    def encode(self, values: Sequence[Any], columns: Sequence[Column], wrapped: bool) -> bytes | None:
        """Always a null record."""
        return None

    def decode(self, data: bytes, columns: Sequence[Column], wrapped: bool) -> list[Any] | None:
        """No columns, whatever the bytes are."""
        return []

    def decode_sql(self, data: str, columns: Sequence[Column], wrapped: bool) -> str:
        """A struct without fields."""
        return "named_struct()"

    def encode_sql(self, texts: Sequence[str], columns: Sequence[Column], wrapped: bool) -> str:
        """Always a null record."""
        return "cast(NULL as binary)"
