"""Literals of PostgreSQL in KSQL's text: ``E'…'``, ``DATE '…'``, and texts that are cast to a type."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable

from sqlglot.tokenizer_core import Token, TokenType

from ksql_spark.instants import read_date, read_timestamp
from ksql_spark.server.postgres.values import values

#: NUMERIC without a precision, which KSQL does not have: 20 digits before the point, and 18 after it
NUMERIC = "DECIMAL(38, 18)"
_ESCAPED = re.compile(r"\\(x[0-9a-fA-F]{1,2}|[0-7]{1,3}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)", re.DOTALL)
_ESCAPES = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_HEX = re.compile(r"\\x((?:[0-9a-fA-F]{2})*)")
_READ: dict[str, Callable[[str], str | None]] = {
    "TIMESTAMP": read_timestamp, "TIMESTAMPTZ": read_timestamp, "DATE": read_date,
}  # fmt: skip
_NUMBER = re.compile(r"[+-]?\d+(?:\.\d+)?")
#: types whose literals are numbers without quotes, and what of these fits
_NUMBERS = {
    NUMERIC: re.compile(r"[+-]?\d{1,20}(?:\.\d{1,18})?"),
    "INT": re.compile(r"[+-]?\d{1,9}"),
    "INTEGER": re.compile(r"[+-]?\d{1,9}"),
    "BIGINT": re.compile(r"[+-]?\d{1,18}"),
}


def quoted(text: str) -> str:
    """A text as a literal.

    >>> quoted("it's")
    "'it''s'"
    """
    doubled = text.replace("'", "''")
    return f"'{doubled}'"


def is_escaped(word: Token, text: Token) -> bool:
    """Whether two tokens are a text with backslashes: ``E'…'``."""
    is_text = text.token_type == TokenType.STRING and text.start == word.end + 1
    return is_text and word.token_type == TokenType.VAR and word.text.upper() == "E"


_UNICODE = r"{0}(?:({0})|([0-9a-fA-F]{{4}})|\+([0-9a-fA-F]{{6}})|(.?))"


def with_code_points(text: str, escape: str = "\\") -> str | None:
    r"""The text that ``U&'text' UESCAPE 'escape'`` stands for; None: an escape in it is none.

    >>> with_code_points(r"d\0061t\+000061 \\"), with_code_points("d!0061", "!"), with_code_points(r"\00")
    ('data \\', 'da', None)
    """
    pattern = re.compile(_UNICODE.format(re.escape(escape)), re.DOTALL)
    if any(found[4] is not None for found in pattern.finditer(text)):
        return None
    codes = (int(found[2] or found[3], 16) for found in pattern.finditer(text) if not found[1])
    if any(code >= 0x110000 or not code for code in codes):
        return None
    whole = pattern.sub(lambda found: found[1] or chr(int(found[2] or found[3], 16)), text)
    # two escapes may be the surrogates of one character
    return whole.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def unescaped(text: str) -> str:
    r"""The text that ``E'text'`` stands for.

    >>> unescaped(r"a\tb\\c\x41\u00e9")
    'a\tb\\cAé'
    """
    return _ESCAPED.sub(_character, text)


def _character(match: re.Match[str]) -> str:
    what = match[1]
    if what[0] in "xuU" and len(what) > 1:
        code = int(what[1:], 16)
        return chr(code) if code < 0x110000 else "\ufffd"
    return chr(int(what, 8) & 0xFF) if what[0] in "01234567" else _ESCAPES.get(what, what)


def cast_text(text: str, type_: str) -> str | None:
    """``'text'::type`` in KSQL, where PostgreSQL's form of the text differs, or None if it does not.

    Args:
        type_: as KSQL spells it.

    >>> cast_text("2024-02-29 12:00+02", "TIMESTAMP"), cast_text("{1,NULL}", "ARRAY<INT>")
    ("CAST('2024-02-29T10:00:00.000' AS TIMESTAMP)", 'CAST(ARRAY[1, NULL] AS ARRAY<INT>)')
    """
    if type_.startswith("ARRAY<"):
        try:
            elements = values.elements_of(text)
        except ValueError:
            return None
        inner = type_[6:-1]
        listed = ", ".join("NULL" if one is None else _element(one, inner) for one in elements)
        return f"CAST(ARRAY[{listed}] AS {type_})"
    if (number := _NUMBERS.get(type_)) is not None:  # an index finds only constants
        if not number.fullmatch(text.strip()):
            return None
        return f"CAST({text.strip()} AS BIGINT)" if type_ == "BIGINT" else text.strip()
    if (digits := _HEX.fullmatch(text)) is not None and type_ == "BYTES":
        return f"CAST({quoted(base64.b64encode(bytes.fromhex(digits[1])).decode())} AS BYTES)"
    read = _READ.get(type_)
    time = None if read is None else read(text)
    return None if time is None else f"CAST({quoted(time)} AS {type_})"


def list_of(text: str) -> str | None:
    """The elements of an array as literals of a list, or None if it is empty or no array.

    >>> list_of("{1,NULL}"), list_of("{}")
    ("'1', NULL", None)
    """
    try:
        elements = values.elements_of(text)
    except ValueError:
        return None
    return ", ".join("NULL" if one is None else quoted(one) for one in elements) or None


def _element(text: str, type_: str) -> str:
    if type_ not in ("VARCHAR", "BYTES") and _NUMBER.fullmatch(text):
        return text
    return text if type_ == "BOOLEAN" and text in ("true", "false") else _cast_element(text, type_)


def _cast_element(text: str, type_: str) -> str:
    if type_ == "VARCHAR":
        return quoted(text)
    return cast_text(text, type_) or f"CAST({quoted(text)} AS {type_})"
