"""NONE: no columns, no bytes (reference §5.1)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from ksql_spark.formats.base import Serde


class NoneSerde(Serde):
    """The format of keys that do not exist or are not read."""

    name: ClassVar[str] = "NONE"

    def encode(self, values: Sequence[Any]) -> bytes | None:
        """Always a null record."""
        return None

    def decode(self, data: bytes) -> list[Any] | None:
        """Whatever the bytes are: no columns."""
        return []

    def decode_sql(self, data: str) -> str:
        """A struct without fields."""
        return "named_struct()"

    def encode_sql(self, texts: Sequence[str]) -> str:
        """Always a null record."""
        return "cast(NULL as binary)"
