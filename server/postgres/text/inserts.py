"""What an INSERT of a client says, by its tokens: its columns, the rows that it has, what it returns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot.tokenizer_core import Token

from ksql_spark import deadline
from ksql_spark.grammar import StatementText
from ksql_spark.server.postgres.text.respelling import word, word_at
from ksql_spark.server.postgres.values.failures import Failure
from ksql_spark.server.postgres.values.names import is_name, name_of, shown_name


@dataclass(frozen=True)
class Returned:
    """An item of RETURNING.

    Args:
        column: the column of ours, or None for all.
        label: the name of the result's column.
    """

    column: str | None
    label: str


@dataclass(frozen=True)
class InsertText:
    """An INSERT.

    Args:
        target: the stream or table of ours.
        columns: those that are listed.
        query: the tokens of its query, if it is one to run once: from, and up to before; else None.
        rows: the number of rows behind VALUES.
        returned: the items of RETURNING.
    """

    target: str
    columns: tuple[str, ...]
    query: tuple[int, int] | None
    rows: int
    returned: tuple[Returned, ...]


def read_insert(piece: StatementText, is_continuous: bool) -> InsertText | None:
    """Read an INSERT, or None if it has another form, about which the engine says more.

    Args:
        is_continuous: whether it ends with EMIT.

    Raises:
        Failure: the answer of its query is to be returned.
    """
    tokens = piece.tokens
    if word_at(tokens, 1) != "INTO" or len(tokens) < 4 or not is_name(tokens[2]):
        return None
    at = 2
    while word_at(tokens, at + 1) == "." and at + 2 < len(tokens):
        at += 2
    target = name_of(tokens[at], piece.whole)
    at += 1
    columns: list[str] = []
    if word_at(tokens, at) == "(" and word_at(tokens, at + 1) not in ("SELECT", "WITH", "VALUES", "("):
        end = _closing(tokens, at)
        columns = [name_of(one, piece.whole) for one in tokens[at + 1 : end] if is_name(one)]
        at = end + 1
    returning = _at_depth_0(tokens, at, "RETURNING")
    returned = tuple(_returned(piece, returning + 1)) if returning is not None else ()
    if word_at(tokens, at) == "VALUES":
        rows, depth = 0, 0
        for token in tokens[at:returning]:
            rows += word(token) == "(" and not depth
            depth += (word(token) == "(") - (word(token) == ")")
        return InsertText(target, tuple(columns), None, rows, returned)
    begins = word_at(tokens, at)
    has_properties = begins == "WITH" and word_at(tokens, at + 1) == "("
    if begins not in ("SELECT", "WITH", "TABLE", "(") or has_properties or is_continuous:
        return None
    if returned:
        raise Failure("0A000", "INSERT … SELECT returns no rows here. RETURNING follows VALUES.")
    return InsertText(target, tuple(columns), (at, len(tokens)), 0, ())


def _returned(piece: StatementText, at: int) -> list[Returned]:
    items, tokens = [], piece.tokens
    while at < len(tokens):
        end = at
        while end < len(tokens) and word(tokens[end]) != ",":
            end += 1
        item = tokens[at:end]
        if len(item) == 1 and word(item[0]) == "*":
            items.append(Returned(None, "*"))
        elif item and is_name(item[0]):
            named = 2 if word_at(item, 1) == "." and len(item) > 2 else 0
            column = name_of(item[named], piece.whole)
            label = name_of(item[-1], piece.whole) if is_name(item[-1]) else column
            items.append(Returned(column, shown_name(label)))
        at = end + 1
    return items


def _closing(tokens: Sequence[Token], at: int) -> int:
    """Where the parenthesis closes that opens at a token."""
    depth = 0
    for end in range(at, len(tokens)):
        depth += (word(tokens[end]) == "(") - (word(tokens[end]) == ")")
        if not depth:
            return end
    return len(tokens)


def _at_depth_0(tokens: Sequence[Token], at: int, sought: str) -> int | None:
    """Where a word is that is in no parentheses, from a token on."""
    depth = 0
    for place in range(at, len(tokens)):
        deadline.check()
        this = word(tokens[place])
        depth += (this == "(") - (this == ")")
        if this == sought and not depth:
            return place
    return None
