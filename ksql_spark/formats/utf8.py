"""Texts in records, whose bytes need not be UTF-8, as Java reads them."""

from __future__ import annotations

import re

#: half of a character in three bytes, or the first two of them: Java sees one error, Python one in each byte
_SURROGATE = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]?")


def replaced(data: bytes) -> str:
    """The text in ``data`` as ``new String(data, UTF_8)`` makes it: what is not UTF-8 becomes U+FFFD."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return _SURROGATE.sub(b"\xff", data).decode(errors="replace")
