"""``${name}`` in statements (reference §1.3), protected against injection."""

from __future__ import annotations

import re
from collections.abc import Mapping

from sqlglot.tokenizer_core import Token, TokenType

from ksql_spark.grammar.errors import ParseFailed
from ksql_spark.grammar.lexer import scan
from ksql_spark.grammar.words import NON_RESERVED, RESERVED

#: the maximum length of all values of variables in a statement: a short text could refer to them any number
#: of times
MAX_CHARACTERS = 1_000_000
_IN_STRING = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_@]*)\}")


def substitute(text: str, variables: Mapping[str, str]) -> str:
    """``text`` with each known ``${name}`` replaced; unknown ones stay as they are.

    A variable may stand for one identifier or one literal, and inside a string literal (where its
    quotes are doubled). Names are looked up as typed, then without regard to case.

    Raises:
        ParseFailed: the value is neither a name nor a literal, so it could change the statement; or all
        values together are too long.

    >>> substitute("SELECT * FROM ${s} WHERE x = '${v}';", {"s": "clicks", "v": "it's"})
    "SELECT * FROM clicks WHERE x = 'it''s';"
    """
    if "${" not in text:
        return text
    folded = {name.upper(): value for name, value in variables.items()}

    length = 0

    def look_up(name: str) -> str | None:
        nonlocal length
        value = variables.get(name)
        if value is None:
            value = folded.get(name.upper())
        length += len(value or "")
        if length > MAX_CHARACTERS:
            raise ParseFailed(
                f"The values of variables have more than {MAX_CHARACTERS} characters", text=text
            )
        return value

    def in_string(match: re.Match[str]) -> str:
        value = look_up(match.group(1))
        return match.group() if value is None else value.replace("'", "''")

    parts: list[str] = []
    done = 0
    for token in scan(text):
        if token.token_type == TokenType.PARAMETER:
            value = look_up(token.text)
            if value is None:
                continue
            new = _checked(value, token, text)
        elif token.token_type == TokenType.STRING and "${" in token.text:
            new = _IN_STRING.sub(in_string, text[token.start : token.end + 1])
        else:
            continue
        parts += (text[done : token.start], new)
        done = token.end + 1
    return "".join((*parts, text[done:]))


def _checked(value: str, token: Token, text: str) -> str:
    """``value`` if it is exactly one name or one literal: variables may contain nothing else."""
    value = value.strip()
    tokens = scan(value)
    if tokens and tokens[0].start == 0 and tokens[-1].end == len(value) - 1:  # no comment around it
        first, last = tokens[0], tokens[-1]
        if len(tokens) == 2 and last.start == 1:
            if first.token_type == TokenType.DASH and last.token_type == TokenType.NUMBER:
                return value
        elif len(tokens) == 1:
            if first.token_type in (TokenType.STRING, TokenType.NUMBER, TokenType.IDENTIFIER):
                return value
            if first.token_type == TokenType.VAR and first.text in ("TRUE", "FALSE"):
                return value
            if first.token_type == TokenType.VAR and first.text not in RESERVED and not value[0].isdigit():
                # quote a keyword that may be a name, so that it cannot act as a keyword
                return f"`{first.text}`" if first.text in NON_RESERVED else value
    raise ParseFailed(
        f"Variable ${{{token.text}}} has the value {value!r}, which is neither a name nor a literal",
        token.line,
        token.col,
        text,
        source_line=text.split("\n")[token.line - 1],
        length=token.end - token.start + 1,
    )
