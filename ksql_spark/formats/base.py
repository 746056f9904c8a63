"""What a format is: which columns it can carry, how it wraps them, how it encodes and decodes (reference §5).

One module per format; ``formats.FORMATS`` lists them. Python values: DATE as days, TIME and TIMESTAMP as
milliseconds (int), DECIMAL as decimal.Decimal, BYTES as bytes, ARRAY as list, MAP as dict, STRUCT as dict
by field name.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, ClassVar

from ksql_spark.errors import KsqlError
from ksql_spark.functions.spark_text import string
from ksql_spark.schema import Column
from ksql_spark.types import SqlType, contains_map, quote_identifier


class BadRecord(ValueError):
    """Bytes that do not hold the columns they should; the text says where and why (one line)."""


class Wrapping(Enum):
    """How a format stores a single column (reference §5.3)."""

    #: only as a bare value
    UNWRAPPED = "UNWRAPPED"
    #: as a record by default, as a bare value on demand; keys are bare
    BOTH = "BOTH"


@dataclass(frozen=True)
class Format(ABC):
    """One serialization format; instances are immutable and shared."""

    name: ClassVar[str]
    supports_key: ClassVar[bool] = True
    supports_value: ClassVar[bool] = True
    max_columns: ClassVar[int | None] = None
    wrapping: ClassVar[Wrapping] = Wrapping.UNWRAPPED

    # ---- what it can carry ---------------------------------------------------------------------------

    @abstractmethod
    def refusal(self, type_: SqlType) -> str | None:
        """Why a column of ``type_`` cannot be carried, or None where it can (reference §5.1)."""

    def check(self, columns: Sequence[Column], is_key: bool) -> None:
        """Raise KsqlError (FORMAT_COLUMNS) where the format cannot carry ``columns`` as key or value."""
        side = "key" if is_key else "value"
        if not (self.supports_key if is_key else self.supports_value):
            raise self._cannot(f"a {side}", f"it cannot be used for {side}s")
        if self.max_columns is not None and len(columns) > self.max_columns:
            limit = "no columns" if self.max_columns == 0 else f"at most {self.max_columns} column(s)"
            raise self._cannot(f"{len(columns)} {side} columns", f"it holds {limit}")
        for column in columns:
            reason = self.refusal(column.type)
            if is_key and contains_map(column.type):
                reason = "a key cannot contain a MAP"
            if reason:
                raise self._cannot(f"column {quote_identifier(column.name)} {column.type}", reason)

    def _cannot(self, what: str, reason: str) -> KsqlError:
        return KsqlError("FORMAT_COLUMNS", format=self.name, what=what, reason=reason)

    def wraps(self, count: int, is_key: bool, requested: bool | None = None) -> bool:
        """Whether ``count`` columns are stored as a record, not as a bare value (reference §5.3).

        Args:
            count: how many columns there are on that side.
            is_key: for a key; single keys are bare.
            requested: WRAP_SINGLE_VALUE, where given.

        Raises:
            KsqlError: INVALID_STATEMENT where WRAP_SINGLE_VALUE asks for what cannot be.
        """
        if requested is not None and not is_key:
            if count != 1:
                raise _unusable("it is for sources with a single value column")
            if self.wrapping is Wrapping.UNWRAPPED and requested:
                raise _unusable(f"the {self.name} format cannot wrap values")
        if count != 1:
            return True
        if self.wrapping is Wrapping.UNWRAPPED or is_key:
            return False
        return True if requested is None else requested

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

    def explain_sql(self, data: str, columns: Sequence[Column], wrapped: bool) -> str:
        """Spark SQL text: why ``data`` is bad, a STRING of one sentence; evaluated for bad records only."""
        return string(f"The bytes are no {self.name} record of the columns {', '.join(map(str, columns))}.")

    @abstractmethod
    def encode_sql(self, texts: Sequence[str], columns: Sequence[Column], wrapped: bool) -> str:
        """Spark SQL text: the binary that holds ``texts``, one for each of ``columns``."""


def _unusable(reason: str) -> KsqlError:
    return KsqlError("INVALID_STATEMENT", reason=f"WRAP_SINGLE_VALUE cannot be used here: {reason}.")
