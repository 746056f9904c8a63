"""BYTES as text, as Java reads it."""

from __future__ import annotations

import binascii

from ksql_spark.formats.base import BadRecord


def from_base64(text: str) -> bytes:
    """The bytes in ``text``; the padding may be missing entirely.

    Raises:
        BadRecord: it is not base64.
    """
    bare = text.rstrip("=")
    padding = "=" * (-len(bare) % 4)
    if text not in (bare, bare + padding):
        raise BadRecord("It is not base64: its padding is wrong.")
    try:
        return binascii.a2b_base64((bare + padding).encode("ascii"), strict_mode=True)
    except ValueError as error:
        raise BadRecord(f"It is not base64: {error}") from None
