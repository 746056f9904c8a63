"""COPY: its options, and the rows that COPY … TO STDOUT writes."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn

from sqlglot.tokenizer_core import Token, TokenType

from ksql_spark.server.postgres.text.respelling import word, word_at
from ksql_spark.server.postgres.values.failures import Failure


@dataclass(frozen=True)
class CopyOptions:
    """The format of the rows of COPY; only quoted or escaped values contain one of the texts."""

    is_csv: bool = False
    is_binary: bool = False
    has_header: bool = False
    delimiter: bytes = b"\t"
    null: bytes = b"\\N"
    quote: bytes = b'"'


_OPTION_WORDS = frozenset(("TRUE", "FALSE", "ON", "OFF", "CSV", "TEXT", "XML", "BINARY", "MATCH"))
#: a NULL of the format binary
_NULL = struct.pack("!i", -1)
#: its beginning and its end: a signature, flags and the length of what may follow
BINARY_HEAD, BINARY_END = b"PGCOPY\n\xff\r\n\0" + bytes(8), b"\xff\xff"


def copy_options(tokens: Sequence[Token]) -> CopyOptions:
    """Parse what follows STDIN or STDOUT: ``(FORMAT csv, HEADER)``, or ``WITH CSV HEADER``.

    Raises:
        Failure: an option that is not supported.
    """
    options, unknown = {}, ""
    at = 0
    while at < len(tokens):
        token, at = tokens[at], at + 1
        if word(token) in ("WITH", "(", ")", ","):
            continue
        if token.token_type != TokenType.VAR:
            unknown = unknown or token.text
            continue
        at += word_at(tokens, at) == "AS"
        value = tokens[at] if at < len(tokens) else None
        name = token.text.lower()
        if value is not None and value.token_type == TokenType.STRING:
            options[name], at = value.text, at + 1
        elif value is not None and (word(value) in _OPTION_WORDS or value.token_type == TokenType.IDENTIFIER):
            options[name], at = value.text.lower(), at + 1
        else:
            options[name] = "true"
    form = next((one for one in ("csv", "binary") if options.pop(one, None)), None)
    form = form or options.pop("format", "text").lower()
    header, delimiter, null, quote, escape, encoding = (
        options.pop(name, None) for name in ("header", "delimiter", "null", "quote", "escape", "encoding")
    )
    if options or unknown:
        name = (next(iter(options), None) or unknown).upper()[:40]
        _refuse(f"COPY has no option {name} here: FORMAT, HEADER, DELIMITER, NULL and QUOTE are supported.")
    if form not in ("csv", "text", "binary"):
        _refuse("COPY has FORMAT csv, text or binary.")
    is_csv = form == "csv"
    for what, mark in (("DELIMITER", delimiter), ("QUOTE", quote)):
        if mark is not None and (len(mark.encode()) != 1 or mark in "\r\n\\"):
            _refuse(f"{what} is one character of ASCII.")
    quote = quote or '"'
    if delimiter == quote or escape not in (None, quote):
        _refuse("DELIMITER differs from QUOTE, and ESCAPE is QUOTE here.")
    if encoding is not None and encoding.lower() not in ("utf8", "utf-8"):
        _refuse("ENCODING is UTF8 here.")
    return CopyOptions(
        is_csv,
        form == "binary",
        header not in (None, "false", "off"),
        (delimiter or ("," if is_csv else "\t")).encode(),
        ("" if is_csv else "\\N").encode() if null is None else null.encode(),
        quote.encode(),
    )


def _refuse(message: str) -> NoReturn:
    raise Failure("42601", message)


def copied(cells: Sequence[bytes | None], how: CopyOptions) -> bytes:
    """A row of COPY: binary, CSV, or columns with backslashes for what is special."""
    if how.is_binary:
        sized = (_NULL if cell is None else struct.pack("!i", len(cell)) + cell for cell in cells)
        return struct.pack("!h", len(cells)) + b"".join(sized)
    written = _csv if how.is_csv else _escaped
    line = how.delimiter.join(how.null if cell is None else written(cell, how) for cell in cells)
    return line + b"\n"


def _csv(cell: bytes, how: CopyOptions) -> bytes:
    quote = how.quote
    if cell == how.null or any(mark in cell for mark in (how.delimiter, quote, b"\n", b"\r")):
        return quote + cell.replace(quote, quote * 2) + quote
    return cell


def _escaped(cell: bytes, how: CopyOptions) -> bytes:
    for mark, written in ((b"\\", b"\\\\"), (b"\t", b"\\t"), (b"\n", b"\\n"), (b"\r", b"\\r")):
        cell = cell.replace(mark, written)
    return cell if how.delimiter == b"\t" else cell.replace(how.delimiter, b"\\" + how.delimiter)
