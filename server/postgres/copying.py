"""COPY … TO STDOUT: its options, and the rows that it writes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn

from pygwire import messages
from sqlglot.tokenizer_core import Token, TokenType

from ksql_spark.server.postgres.failures import Failure
from ksql_spark.server.postgres.respelling import word, word_at


@dataclass(frozen=True)
class CopyOptions:
    """The format in which COPY writes rows; only quoted or escaped values contain one of the texts."""

    is_csv: bool = False
    has_header: bool = False
    delimiter: bytes = b"\t"
    null: bytes = b"\\N"


_OPTION_WORDS = frozenset(("TRUE", "FALSE", "ON", "OFF", "CSV", "TEXT", "XML", "BINARY"))


def copy_options(tokens: Sequence[Token]) -> CopyOptions:
    """Parse what follows TO STDOUT: ``(FORMAT csv, HEADER)``, or ``WITH CSV HEADER``.

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
        elif value is not None and word(value) in _OPTION_WORDS:
            options[name], at = value.text.lower(), at + 1
        else:
            options[name] = "true"
    form = "csv" if options.pop("csv", None) else options.pop("format", "text").lower()
    header, delimiter, null = (options.pop(name, None) for name in ("header", "delimiter", "null"))
    if options or unknown:
        name = (next(iter(options), None) or unknown).upper()[:40]
        _refuse(f"COPY has no option {name} here: FORMAT, HEADER, DELIMITER and NULL are supported.")
    if form not in ("csv", "text"):
        _refuse("COPY writes FORMAT csv or text.")
    is_csv = form == "csv"
    if delimiter is not None and (len(delimiter) != 1 or delimiter in '\r\n"\\'):
        _refuse("DELIMITER is one character.")
    return CopyOptions(
        is_csv,
        header not in (None, "false", "off"),
        (delimiter or ("," if is_csv else "\t")).encode(),
        ("" if is_csv else "\\N").encode() if null is None else null.encode(),
    )


def _refuse(message: str) -> NoReturn:
    raise Failure("42601", message)


def copied(cells: Sequence[bytes | None], how: CopyOptions) -> messages.CopyData:
    """A row of COPY: CSV, or columns with backslashes for what is special."""
    written = _csv if how.is_csv else _escaped
    line = how.delimiter.join(how.null if cell is None else written(cell, how) for cell in cells)
    return messages.CopyData(data=line + b"\n")


def _csv(cell: bytes, how: CopyOptions) -> bytes:
    if cell == how.null or any(mark in cell for mark in (how.delimiter, b'"', b"\n", b"\r")):
        return b'"' + cell.replace(b'"', b'""') + b'"'
    return cell


def _escaped(cell: bytes, how: CopyOptions) -> bytes:
    for mark, written in ((b"\\", b"\\\\"), (b"\t", b"\\t"), (b"\n", b"\\n"), (b"\r", b"\\r")):
        cell = cell.replace(mark, written)
    return cell if how.delimiter == b"\t" else cell.replace(how.delimiter, b"\\" + how.delimiter)
