"""Names as PostgreSQL's clients write and see them.

They write names without quotes in any case, and with quotes as the catalog shows them. Ours are in upper
case unless they were quoted. So the catalog shows RIDES as rides (and rides as RIDES), and a quoted name in
lower case is ours in upper case; a name in both cases stays as it is.
"""

from __future__ import annotations

from sqlglot.tokenizer_core import Token, TokenType

from ksql_spark.grammar.words import RESERVED

#: the one database, and its schema with all streams and tables
DATABASE, SCHEMA = "ksql", "public"
#: schemas whose relations only the catalog has
CATALOG_SCHEMAS = ("pg_catalog", "information_schema")


def shown_name(name: str) -> str:
    """A name of ours as PostgreSQL's clients see it; the same function leads back.

    >>> [shown_name(name) for name in ("RIDES", "rides", "Rides")]
    ['rides', 'RIDES', 'Rides']
    """
    if name == name.upper():
        return name.lower()
    return name.upper() if name == name.lower() else name


def is_name(token: Token) -> bool:
    """Whether a token may be a name."""
    return token.token_type in (TokenType.VAR, TokenType.IDENTIFIER)


def name_of(token: Token, text: str) -> str:
    """The name of ours that a token stands for.

    Args:
        text: where the token is from.
    """
    return shown_name(token.text) if text[token.start] == '"' else token.text


def written_name(name: str) -> str:
    """A name of ours in KSQL's text."""
    if name.isascii() and name.isidentifier() and name == name.upper() and name not in RESERVED:
        return name
    return "`" + name.replace("`", "``") + "`"
