"""Splits text into tokens (reference §1.1).

sqlglot's own scanner reads character by character and cannot express some of KSQL's rules (digit-led
names, three kinds of numbers, comments without nesting); one regular expression can, and is
several times faster. Tokens are sqlglot's; `col` is the column of a token's first character, from 1.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum

from sqlglot.tokenizer_core import Token, TokenType

#: what both languages have in common. Each alternative is decided by its first characters and takes linear
#: time; what is not closed is one token to the end, so that no character is read again and again
_PATTERN = r"""
      (?P<space>[\s\ufeff]+)  # U+FEFF: editors put it before a file's text
    | (?P<word>[A-Za-z_][A-Za-z0-9_@]*)
    | (?P<symbol>->|=>|:=|::|<>|!=|<=|>=|\|\||[+*%=<>()\[\],;:]|-(?!-)|/(?!\*)|\.(?![0-9]))
    | (?P<string>'[^']*(?:''[^']*)*')
    | (?P<code>{code})
    | (?P<number>
          [0-9]+\.[0-9]*(?:[eE][+-]?[0-9]+)?
        | \.[0-9]+(?:[eE][+-]?[0-9]+)?
        | [0-9]+[eE][+-][0-9]+
        | [0-9]+(?:[eE][0-9]+)?(?![A-Za-z0-9_@])
      )
    | (?P<digits>[0-9][A-Za-z0-9_@]+)
    | (?P<quoted>"[^"]*(?:""[^"]*)*"|`[^`]*(?:``[^`]*)*`)
    | {comment}
    | (?P<variable>\$\{{[A-Za-z_][A-Za-z0-9_@]*\}})
    | (?P<open>(?:'|"|`|/\*|{opened})[\s\S]*)
    | (?P<other>.)
    """


#: a comment of KSQL. Comments do not nest, and `--` takes the next character, whatever it is: a bare one
#: swallows the next line (§1.1, a quirk)
COMMENT = re.compile(r"--(?:@[^\r\n]*|[^@][^\r\n]*)?\r?\n?|/\*[\s\S]*?\*/")


class Rules(Enum):
    """The rules for the ends of comments and dollar quotes, which are not the same for all clients."""

    KSQL = re.compile(
        _PATTERN.format(
            code=r"\$\$[\s\S]*?\$\$",
            comment=f"(?P<comment>{COMMENT.pattern})",
            opened=r"\$\$",
        ),
        re.VERBOSE,
    )
    #: comments nest, dollar quotes may have a tag, and `$1` is a parameter (PLACEHOLDER)
    POSTGRES = re.compile(
        _PATTERN.format(
            code=r"\$(?P<tag>(?:[A-Za-z_][A-Za-z0-9_]*)?)\$[\s\S]*?\$(?P=tag)\$",
            comment=r"(?P<comment>--[^\r\n]*)|(?P<block>/\*)|(?P<placeholder>\$[0-9]+)",
            opened=r"\$(?:[A-Za-z_][A-Za-z0-9_]*)?\$",
        ),
        re.VERBOSE,
    )


_BLOCK = re.compile(r"/\*|\*/")

_SYMBOLS = {
    "->": TokenType.ARROW,
    "=>": TokenType.FARROW,
    ":=": TokenType.COLON_EQ,
    "::": TokenType.DCOLON,
    ":": TokenType.COLON,
    "<>": TokenType.NEQ,
    "!=": TokenType.NEQ,
    "<=": TokenType.LTE,
    ">=": TokenType.GTE,
    "||": TokenType.DPIPE,
    "+": TokenType.PLUS,
    "-": TokenType.DASH,
    "*": TokenType.STAR,
    "/": TokenType.SLASH,
    "%": TokenType.MOD,
    "=": TokenType.EQ,
    "<": TokenType.LT,
    ">": TokenType.GT,
    "(": TokenType.L_PAREN,
    ")": TokenType.R_PAREN,
    "[": TokenType.L_BRACKET,
    "]": TokenType.R_BRACKET,
    ",": TokenType.COMMA,
    ";": TokenType.SEMICOLON,
    ".": TokenType.DOT,
}

#: names of unfinished tokens in messages, by their first characters
_OPENED = {"'": "string", '"': "quoted name", "`": "quoted name", "/*": "comment"}


def scan(text: str) -> list[Token]:
    """The tokens of ``text``. Never fails.

    Words are VAR tokens with folded text, quoted names IDENTIFIER, ``${x}`` PARAMETER; a character
    that belongs to no token is UNKNOWN, an unclosed quote or comment is one UNKNOWN token to the end.
    """
    return list(tokens(text))


def tokens(text: str, rules: Rules = Rules.KSQL) -> Iterator[Token]:
    """The tokens of ``text`` as `scan` has them, one after another, in time linear in its length."""
    line, line_start = 1, 0
    matches = rules.value.finditer(text)
    while (match := next(matches, None)) is not None:
        kind, start, end = match.lastgroup, match.start(), match.end()
        value = match.group()
        column = start - line_start + 1
        if kind == "word" or kind == "digits":
            yield Token(TokenType.VAR, value.upper(), line, column, start, end - 1)
            continue
        if kind == "symbol":
            yield Token(_SYMBOLS[value], value, line, column, start, end - 1)
            continue
        if kind == "number":
            yield Token(TokenType.NUMBER, value, line, column, start, end - 1)
            continue
        if kind == "block":
            closed = _end_of_block(text, start)
            kind, end = ("open", len(text)) if closed is None else ("comment", closed)
            value = text[start:end]
            matches = rules.value.finditer(text, end)
        if kind == "string":
            yield Token(TokenType.STRING, value[1:-1].replace("''", "'"), line, column, start, end - 1)
        elif kind == "code":
            quote = value.index("$", 1) + 1
            yield Token(TokenType.HEREDOC_STRING, value[quote:-quote], line, column, start, end - 1)
        elif kind == "quoted":
            quote_mark = value[0]
            name = value[1:-1].replace(quote_mark * 2, quote_mark)
            yield Token(TokenType.IDENTIFIER, name, line, column, start, end - 1)
        elif kind == "variable":
            yield Token(TokenType.PARAMETER, value[2:-1], line, column, start, end - 1)
        elif kind == "placeholder":
            yield Token(TokenType.PLACEHOLDER, value[1:], line, column, start, end - 1)
        elif kind == "open" or kind == "other":
            yield Token(TokenType.UNKNOWN, value, line, column, start, end - 1)
        newlines = value.count("\n")
        if newlines:
            line += newlines
            line_start = start + value.rindex("\n") + 1


def _end_of_block(text: str, start: int) -> int | None:
    """Return the end of a comment that may contain others; None if it is not closed."""
    depth = 0
    for mark in _BLOCK.finditer(text, start):
        depth += 1 if mark[0] == "/*" else -1
        if depth == 0:
            return mark.end()
    return None


def opened(token: Token) -> str | None:
    """Return what ``token`` leaves open ("string", "quoted name", "comment", "code"), or None."""
    if token.token_type != TokenType.UNKNOWN:
        return None
    if token.text[0] == "$":
        return "code" if len(token.text) > 1 else None
    return _OPENED.get(token.text[:1]) or _OPENED.get(token.text[:2])
