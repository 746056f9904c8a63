"""The relations that a statement names, by its tokens."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from ksql_spark import deadline
from ksql_spark.grammar import StatementText
from ksql_spark.server.postgres.text.respelling import word, word_at
from ksql_spark.server.postgres.values.failures import no_schema
from ksql_spark.server.postgres.values.names import (
    CATALOG_SCHEMAS,
    DATABASE,
    SCHEMA,
    is_name,
    name_of,
    shown_name,
)


class Relation(NamedTuple):
    """A relation that a statement names.

    Args:
        name: the name of ours that stands for it.
        is_catalogs: whether it is one of the catalog.
        is_own: whether the statement itself defines it, by WITH.
    """

    name: str
    is_catalogs: bool
    is_own: bool = False


@dataclass
class _Scope:
    """The tokens in parentheses: where they open, whether there is a SELECT, whether commas are FROM's."""

    opened: int = -1
    is_query: bool = False
    is_from: bool = False


def relations(piece: StatementText) -> list[Relation]:
    """The relations behind FROM, JOIN, INTO and UPDATE. Raises Failure for a schema that is not there."""
    names: list[Relation] = []
    tokens = piece.tokens
    own: set[str] = set()
    scopes = [_Scope(is_query=word(tokens[0]) == "DELETE")]
    is_expected = word(tokens[0]) in ("TABLE", "UPDATE")
    at, last = int(is_expected), len(tokens) - 1
    while at <= last:
        deadline.check()
        token, scope = tokens[at], scopes[-1]
        this, before = word(token), word(tokens[at - 1]) if at else ""
        if this == "(":
            scopes.append(_Scope(at))
        elif this == ")":
            opened = scopes.pop().opened if len(scopes) > 1 else 0
            if word_at(tokens, at + 1) == "AS" and word_at(tokens, at + 2) == "(" and opened:
                own.add(_folded(piece, opened - 1))  # of WITH name (columns) AS (
            is_expected = False
        elif is_expected and this not in ("SELECT", "WITH", "VALUES") and is_name(token):
            if this in ("LATERAL", "ONLY"):
                at += 1
                continue
            is_into, first = before == "INTO", at
            while word_at(tokens, at + 1) == "." and at + 2 <= last:
                at += 2
            if is_into or word_at(tokens, at + 1) != "(":  # else a function
                schema = _folded(piece, at - 2) if at > first else ""
                if schema not in ("", SCHEMA, DATABASE, *CATALOG_SCHEMAS):
                    raise no_schema(schema)
                name = name_of(tokens[at], piece.whole)
                is_catalogs = schema in CATALOG_SCHEMAS or (
                    not schema and _folded(piece, at).startswith("pg_")
                )
                names.append(Relation(name, is_catalogs))
            is_expected = False
        else:
            is_expected = (
                (this == "FROM" and before != "DISTINCT" and scope.is_query)
                or this in ("JOIN", "INTO")
                or (this == "," and scope.is_from)
            )
            if this == "FROM" and is_expected:
                scope.is_from = True
            elif this in ("SELECT", "WHERE", "GROUP", "ORDER", "HAVING", "LIMIT", "WINDOW"):
                scope.is_from = False
            scope.is_query |= this == "SELECT"
            if is_name(token) and word_at(tokens, at + 1) == "AS" and word_at(tokens, at + 2) == "(":
                own.add(_folded(piece, at))  # of WITH name AS (
        at += 1
    return [one._replace(is_own=not one.is_catalogs and shown_name(one.name).lower() in own) for one in names]


def _folded(piece: StatementText, at: int) -> str:
    return piece.tokens[at].text.lower() if at >= 0 else ""
