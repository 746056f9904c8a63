"""From text to tokens (reference §1.1), and to statements.

sqlglot's own scanner reads character by character and cannot express some of KSQL's rules (digit-led
names, three kinds of numbers, comments without nesting); one regular expression can, and is
several times faster. Tokens are sqlglot's; `col` is the column of a token's first character, from 1.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from sqlglot.tokenizer_core import Token, TokenType

_TOKEN = re.compile(
    r"""
      (?P<space>[\s\ufeff]+)  # U+FEFF: editors put it before a file's text
    | (?P<word>[A-Za-z_][A-Za-z0-9_@]*)
    | (?P<symbol>->|=>|:=|::|<>|!=|<=|>=|\|\||[+*%=<>()\[\],;:]|-(?!-)|/(?!\*)|\.(?![0-9]))
    | (?P<string>'[^']*(?:''[^']*)*')
    | (?P<code>\$\$[\s\S]*?\$\$)
    | (?P<number>
          [0-9]+\.[0-9]*(?:[eE][+-]?[0-9]+)?
        | \.[0-9]+(?:[eE][+-]?[0-9]+)?
        | [0-9]+[eE][+-][0-9]+
        | [0-9]+(?:[eE][0-9]+)?(?![A-Za-z0-9_@])
      )
    | (?P<digits>[0-9][A-Za-z0-9_@]+)
    | (?P<quoted>"[^"]*(?:""[^"]*)*"|`[^`]*(?:``[^`]*)*`)
    # `--` takes the next character, whatever it is: a bare one swallows the next line (§1.1, a quirk)
    | (?P<comment>--(?:@[^\r\n]*|[^@][^\r\n]*)?\r?\n?|/\*[\s\S]*?\*/)
    | (?P<variable>\$\{[A-Za-z_][A-Za-z0-9_@]*\})
    | (?P<open>(?:'|"|`|/\*|\$\$)[\s\S]*)
    | (?P<other>.)
    """,
    re.VERBOSE,
)

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
_OPENED = {"'": "string", '"': "quoted name", "`": "quoted name", "/*": "comment", "$$": "code"}


@dataclass(frozen=True)
class StatementText:
    """One statement of a text, as written: without the ``;``, without comments around it.

    Attributes:
        text: from its first to its last token.
        line: line in the whole text where it starts, from 1.
        column: column where it starts, from 1.
        complete: False for a last piece that lacks its ``;`` or is inside a quote or comment.
        open: what is not closed ("string", "quoted name", "comment", "code"), or None.
    """

    text: str
    line: int
    column: int
    complete: bool = True
    open: str | None = None
    tokens: tuple[Token, ...] = field(default=(), repr=False, compare=False)
    whole: str = field(default="", repr=False, compare=False)


def scan(text: str) -> list[Token]:
    """The tokens of ``text``. Never fails.

    Words are VAR tokens with folded text, quoted names IDENTIFIER, ``${x}`` PARAMETER; a character
    that belongs to no token is UNKNOWN, an unclosed quote or comment is one UNKNOWN token to the end.
    """
    tokens: list[Token] = []
    append = tokens.append
    line, line_start = 1, 0
    for match in _TOKEN.finditer(text):
        kind, start, end = match.lastgroup, match.start(), match.end()
        value = match.group()
        column = start - line_start + 1
        if kind == "word" or kind == "digits":
            append(Token(TokenType.VAR, value.upper(), line, column, start, end - 1))
            continue
        if kind == "symbol":
            append(Token(_SYMBOLS[value], value, line, column, start, end - 1))
            continue
        if kind == "number":
            append(Token(TokenType.NUMBER, value, line, column, start, end - 1))
            continue
        if kind == "string":
            append(Token(TokenType.STRING, value[1:-1].replace("''", "'"), line, column, start, end - 1))
        elif kind == "code":
            append(Token(TokenType.HEREDOC_STRING, value[2:-2], line, column, start, end - 1))
        elif kind == "quoted":
            quote = value[0]
            name = value[1:-1].replace(quote * 2, quote)
            append(Token(TokenType.IDENTIFIER, name, line, column, start, end - 1))
        elif kind == "variable":
            append(Token(TokenType.PARAMETER, value[2:-1], line, column, start, end - 1))
        elif kind == "open" or kind == "other":
            append(Token(TokenType.UNKNOWN, value, line, column, start, end - 1))
        newlines = value.count("\n")
        if newlines:
            line += newlines
            line_start = start + value.rindex("\n") + 1
    return tokens


def opened(token: Token) -> str | None:
    """What ``token`` leaves open ("string", "quoted name", "comment", "code"), or None."""
    if token.token_type != TokenType.UNKNOWN:
        return None
    return _OPENED.get(token.text[:1]) or _OPENED.get(token.text[:2])


def split(text: str) -> list[StatementText]:
    """The statements of ``text``, without empty ones. Never fails.

    >>> [s.text for s in split("SHOW STREAMS; -- all; of them\\nSHOW TABLES")]
    ['SHOW STREAMS', 'SHOW TABLES']
    """
    pieces = []
    current: list[Token] = []
    for token in scan(text):
        if token.token_type == TokenType.SEMICOLON:
            if current:
                pieces.append(_piece(text, current, complete=True))
            current = []
        else:
            current.append(token)
    if current:
        pieces.append(_piece(text, current, complete=False))
    return pieces


def _piece(text: str, tokens: list[Token], *, complete: bool) -> StatementText:
    first, last = tokens[0], tokens[-1]
    return StatementText(
        text=text[first.start : last.end + 1],
        line=first.line,
        column=first.col,
        complete=complete,
        open=None if complete else opened(last),
        tokens=tuple(tokens),
        whole=text,
    )
