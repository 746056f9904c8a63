"""The names that PostgreSQL gives to the columns of a SELECT, by its tokens."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot.tokenizer_core import Token, TokenType

from ksql_spark import deadline
from ksql_spark.server.postgres.text.respelling import word, word_at
from ksql_spark.server.postgres.values.names import is_name

#: of an expression that has no name
UNNAMED = "?column?"
#: parentheses and casts around a name in which it is looked for: each of them is read once more
_LEVELS = 20
_OPENS, _CLOSES = frozenset(("(", "[", "CASE")), frozenset((")", "]", "END"))
#: words behind a call that belong to it, and may have parentheses
_AFTER_CALL = frozenset(("FILTER", "OVER"))
_END = frozenset(("FROM", "WHERE", "GROUP", "HAVING", "ORDER", "LIMIT", "EMIT", "UNION", "WINDOW"))
#: names of types in SQL -> those that PostgreSQL has for them
_TYPES = {
    "int": "int4", "integer": "int4", "bigint": "int8", "smallint": "int2", "boolean": "bool",
    "double": "float8", "float": "float8", "real": "float4", "decimal": "numeric", "string": "varchar",
}  # fmt: skip


def labels(tokens: Sequence[Token], level: int = 0) -> list[str]:
    """The names of the items of the first SELECT, which ``level`` parentheses are around.

    An item ``*`` has the name ``*``; one with an alias has none here.
    """
    depth, at = 0, 0
    while at < len(tokens) and not (word(tokens[at]) == "SELECT" and not depth):
        deadline.check()
        this = word(tokens[at])
        is_before = this == "(" and not at  # (SELECT …) UNION …
        depth += (this in _OPENS and not is_before) - (this in _CLOSES)
        at += 1
    at += 1 + (word_at(tokens, at + 1) in ("DISTINCT", "ALL"))
    found, first = [], at
    while first <= len(tokens):
        deadline.check()
        this = word_at(tokens, at)
        if at >= len(tokens) or (not depth and (this == "," or this in _END or this in _CLOSES)):
            found.append(_label(tokens[first:at], level))
            if this != ",":
                break
            first = at + 1
        depth += (this in _OPENS) - (this in _CLOSES)
        at += 1
    return found


def _label(item: Sequence[Token], level: int) -> str:
    """The name of an expression; the innermost one that is not unnamed, as in PostgreSQL's FigureColname."""
    if not item or level > _LEVELS:
        return UNNAMED
    if word(item[-1]) == "*" and (len(item) == 1 or word(item[-2]) == "."):
        return "*"
    if len(item) > 2 and word(item[-2]) == "AS":
        return ""
    name, end = _operand(item, level)
    while end < len(item) and word(item[end]) in ("[", "::"):
        if word(item[end]) == "[":
            end = _closed(item, end) + 1
            continue
        type_ = end + (3 if word_at(item, end + 2) == "." else 1)
        name = _name_of_type(item, type_) if name == UNNAMED else name
        end = type_ + 1
        while end < len(item) and word(item[end]) in ("PRECISION", "VARYING"):
            end += 1
        if word_at(item, end) == "(":
            end = _closed(item, end) + 1
    return name if end >= len(item) else UNNAMED


def _operand(item: Sequence[Token], level: int) -> tuple[str, int]:
    """The name of the operand that an expression begins with, and the token behind it."""
    first = word(item[0])
    if first == "(":
        end = _closed(item, 0)
        inner = item[1:end]
        is_query = word_at(inner, 0) in ("SELECT", "WITH")
        return (labels(inner, level + 1)[0] if is_query else _label(inner, level + 1)), end + 1
    if first == "CASE":
        return "case", _closed(item, 0) + 1
    if first == "ARRAY" and word_at(item, 1) == "[":
        return "array", _closed(item, 1) + 1
    if not is_name(item[0]) or first in ("NULL", "TRUE", "FALSE", "NOT"):
        return ("bool" if first in ("TRUE", "FALSE") else UNNAMED), 1
    if len(item) > 1 and item[1].token_type == TokenType.STRING:  # DATE '…'
        return _name_of_type(item, 0), 2
    end = 1
    while word_at(item, end) in (".", "->") and end + 1 < len(item):
        end += 2
    name = _folded(item[end - 1])
    if word_at(item, end) != "(":
        return name, end
    closed = _closed(item, end)
    if word(item[end - 1]) in ("CAST", "TRY_CAST"):
        name = _of_cast(item[end + 1 : closed], level)
    end = closed + 1
    while word_at(item, end) in _AFTER_CALL and word_at(item, end + 1) == "(":
        end = _closed(item, end + 1) + 1
    return name, end


def _of_cast(inside: Sequence[Token], level: int) -> str:
    """The name of ``CAST(inside)``: that of its operand, else of its type."""
    places = [at for at, token in enumerate(inside) if word(token) == "AS"]
    if not places:
        return UNNAMED
    name = _label(inside[: places[-1]], level + 1)
    return _name_of_type(inside, places[-1] + 1) if name == UNNAMED else name


def _closed(item: Sequence[Token], at: int) -> int:
    """Where what opens at a token closes."""
    depth = 0
    for end in range(at, len(item)):
        depth += (word(item[end]) in _OPENS) - (word(item[end]) in _CLOSES)
        if not depth:
            return end
    return len(item) - 1


def _name_of_type(item: Sequence[Token], at: int) -> str:
    name = _folded(item[at]) if at < len(item) else UNNAMED
    return _TYPES.get(name, name)


def _folded(token: Token) -> str:
    return token.text if token.token_type == TokenType.IDENTIFIER else token.text.lower()
