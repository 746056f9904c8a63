"""Colors for statements: a pygments lexer with the grammar's words."""

from __future__ import annotations

from typing import ClassVar

from pygments.lexer import RegexLexer, words  # type: ignore[import-untyped]
from pygments.token import (  # type: ignore[import-untyped]
    Comment,
    Keyword,
    Name,
    Number,
    Operator,
    Punctuation,
    String,
    Whitespace,
)

from ksql_spark.grammar import KEYWORDS
from ksql_spark.shell.prompt.completion import DATA_TYPES

_TYPES = [name for name in DATA_TYPES if name.isalpha()]


class KsqlLexer(RegexLexer):  # type: ignore[misc]
    """A lexer for highlighting only; the grammar decides what is valid."""

    name = "KSQL"
    aliases: ClassVar = ["ksql"]
    flags = 2  # re.IGNORECASE
    tokens: ClassVar = {
        "root": [
            (r"\s+", Whitespace),
            (r"--[^\n]*", Comment.Single),
            (r"/\*(?:.|\n)*?(?:\*/|\Z)", Comment.Multiline),
            (r"\$\{[^}]*\}", Name.Variable),
            (r"'(?:[^'$]|''|\$(?!\{))*(?:'|\Z|(?=\$\{))", String.Single),
            (r"`(?:[^`]|``)*(?:`|\Z)", Name),
            (r'"(?:[^"]|"")*(?:"|\Z)', Name),
            (r"\d+(?:\.\d*)?(?:e[+-]?\d+)?\b", Number),
            (words(_TYPES, suffix=r"\b"), Keyword.Type),
            (words(sorted(KEYWORDS | {"OR"}), suffix=r"\b"), Keyword),
            (r"[a-z_][a-z0-9_@]*(?=\s*\()", Name.Function),
            (r"[a-z_0-9@]+", Name),
            (r"->|=>|:=|<>|!=|<=|>=|\|\||[-+*/%=<>]", Operator),
            (r"[()\[\],;.]", Punctuation),
            (r".", Name),
        ]
    }
