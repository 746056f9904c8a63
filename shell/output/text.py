"""Text in cells: its width on the screen, and values as text."""

from __future__ import annotations

import json
import secrets
from decimal import Decimal
from typing import Any

from prompt_toolkit.utils import get_cwidth

NULL = "null"
TOMBSTONE = "<TOMBSTONE>"

#: control characters of two kinds, and what turns the direction of text
_C0, _C1, _TURNING = range(0x20), range(0x7F, 0xA0), (*range(0x202A, 0x202F), *range(0x2066, 0x206A))
_IN_JSON = {code: f"\\u{code:04x}" for code in (*_C1, *_TURNING)}
#: what would act on the terminal; tables handle line feeds
_CONTROL = _IN_JSON | {code: f"\\x{code:02x}" for code in (*_C0, *_C1) if code != 0x0A}
_CONTROL |= {0x09: "\\t", 0x0D: "\\r"}
_IN_LINES = _CONTROL | {0x09: "\t", 0x0D: None}
_MARK = f"decimal-{secrets.token_hex(8)}:"


def width(text: str) -> int:
    """The number of terminal columns that ``text`` needs."""
    return len(text) if text.isascii() else get_cwidth(text)


def safe(text: str) -> str:
    r"""Lines of text without what would act on the terminal, because somebody else may have written them.

    >>> safe("a\x1b[31m b")
    'a\\x1b[31m b'
    """
    return text if text.isprintable() else text.translate(_IN_LINES)


def value_text(value: Any) -> str:
    """A result value as a cell shows it.

    >>> value_text({"A": [1, None]})
    '{"A": [1, null]}'
    """
    if isinstance(value, str):
        return value if value.isprintable() else value.translate(_CONTROL)
    if value is None:
        return NULL
    if isinstance(value, (dict, list)):
        return json_text(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def json_text(value: Any, indent: int | None = None) -> str:
    """``value`` as JSON; decimals keep all their digits."""
    text = json.dumps(
        value, ensure_ascii=False, indent=indent, default=lambda v: f"{_MARK}{_plain(v)}{_MARK}"
    )
    text = text.replace(f'"{_MARK}', "").replace(f'{_MARK}"', "") if _MARK in text else text
    return text if text.isascii() else text.translate(_IN_JSON)


def _plain(value: Any) -> str:
    if isinstance(value, Decimal):
        return str(value)
    raise TypeError(f"no JSON form for {type(value).__name__}")


def clip(text: str, columns: int, ellipsis: str = "...") -> str:
    """``text`` truncated to ``columns``, with ``ellipsis`` at its end if it was longer."""
    if width(text) <= columns:
        return text
    if columns <= len(ellipsis):
        return ellipsis[:columns]
    return text[: _prefix(text, columns - len(ellipsis))] + ellipsis


def clip_start(text: str, columns: int, ellipsis: str = "...") -> str:
    """The end of ``text``, at most ``columns`` wide, with ``ellipsis`` before it if it was longer."""
    return clip(text[::-1], columns, ellipsis[::-1])[::-1]


def fold(text: str, columns: int) -> list[str]:
    """``text`` in lines of at most ``columns``, broken at a space, or after a ``_`` and the like."""
    lines = []
    for line in text.split("\n"):
        while width(line) > columns:
            cut = _prefix(line, columns)
            space = line.rfind(" ", cut // 2, cut + 1)
            if space > 0:
                lines.append(line[:space])
                line = line[space + 1 :]
            else:
                cut = max((line.rfind(mark, cut // 2, cut) + 1 for mark in "_-.,/"), default=0) or cut
                lines.append(line[:cut])
                line = line[cut:]
        lines.append(line)
    return lines


def _prefix(text: str, columns: int) -> int:
    """Return how many characters of ``text`` fit into ``columns``, at least one so that callers progress."""
    if text.isascii():
        return max(1, columns)
    used = 0
    for index, character in enumerate(text):
        used += get_cwidth(character)
        if used > columns:
            return max(1, index)
    return len(text)


def pad(text: str, columns: int, right: bool = False) -> str:
    """``text`` padded with spaces to ``columns``."""
    fill = " " * (columns - width(text))
    return fill + text if right else text + fill
