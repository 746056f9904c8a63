"""Serdes: how a source's keys and values are encoded and decoded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ksql_spark import __version__
from ksql_spark.errors import KsqlError
from ksql_spark.formats import CAPABILITIES, FORMATS, Format, lookup
from ksql_spark.metastore.sources import DataSource, FormatSpec
from ksql_spark.schema import Column


@dataclass(frozen=True)
class Serde:
    """The format, columns and wrapping of a source's keys or values; see formats.Format for the methods."""

    format: Format
    columns: tuple[Column, ...]
    wrapped: bool

    def encode(self, values: Sequence[Any]) -> bytes | None:
        """The bytes of one key or value."""
        return self.format.encode(values, self.columns, self.wrapped)

    def decode(self, data: bytes) -> list[Any] | None:
        """The values of the columns; None if the value as a whole is NULL.

        Raises:
            formats.BadRecord: the format cannot read ``data``.
        """
        return self.format.decode(data, self.columns, self.wrapped)

    def decode_sql(self, data: str) -> str:
        """Spark SQL text: a STRUCT of the columns in the binary ``data``, NULL if it cannot be read."""
        return self.format.decode_sql(data, self.columns, self.wrapped)

    def or_null_sql(self, data: str) -> str:
        """Spark SQL text: the binary ``data``, but NULL if its bytes mean null."""
        return self.format.or_null_sql(data)

    def explain_sql(self, data: str) -> str:
        """Spark SQL text: a STRING that says why the binary ``data`` cannot be read."""
        return self.format.explain_sql(data, self.columns, self.wrapped)

    def encode_sql(self, texts: Sequence[str]) -> str:
        """Spark SQL text: the binary that encodes the columns; ``texts``: their texts."""
        return self.format.encode_sql(texts, self.columns, self.wrapped)


def _serde(spec: FormatSpec, columns: tuple[Column, ...], *, is_key: bool) -> Serde:
    format_ = lookup(spec.name, spec.delimiter)
    return Serde(format_, columns, CAPABILITIES[spec.name].wraps(len(columns), is_key, spec.wrapped))


def unsupported_formats(source: DataSource) -> tuple[str, ...]:
    """The formats of ``source`` whose records cannot be read and written yet, each once."""
    names = (source.key_format.name, source.value_format.name)
    return tuple(dict.fromkeys(name for name in names if name not in FORMATS))


def check_supported(source: DataSource) -> None:
    """Check that records of ``source`` can be read and written.

    Raises:
        KsqlError: NOT_DONE_YET for a format that is not supported yet.
    """
    for name in unsupported_formats(source):
        raise KsqlError(
            "NOT_DONE_YET",
            what=f"The format {name}",
            version=__version__,
            hint=f"The formats are {', '.join(sorted(FORMATS))}.",
        )


def key_serde(source: DataSource) -> Serde:
    """The serde of ``source``'s keys (without a window's bounds); raises NOT_DONE_YET."""
    check_supported(source)
    return _serde(source.key_format, source.schema.key, is_key=True)


def value_serde(source: DataSource) -> Serde:
    """The serde of ``source``'s values; raises NOT_DONE_YET."""
    check_supported(source)
    return _serde(source.value_format, source.schema.value, is_key=False)
