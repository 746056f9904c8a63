"""Queries as trees of PostgreSQL's dialect, which only the catalog's queries and types of parameters need."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp
from sqlglot.dialects import Postgres
from sqlglot.errors import SqlglotError
from sqlglot.parsers.postgres import PostgresParser
from sqlglot.tokenizer_core import Token, TokenType

from ksql_spark import deadline
from ksql_spark.grammar import StatementText
from ksql_spark.grammar.cursor import MAX_DEPTH
from ksql_spark.server.postgres.text.labels import labels
from ksql_spark.server.postgres.text.respelling import word, word_at
from ksql_spark.server.postgres.values.failures import Failure

#: types whose literals, DATE '…', are written as casts: sqlglot drops a part of an INTERVAL's text
_TIMES = ("DATE", "TIMESTAMP", "TIMESTAMPTZ", "INTERVAL")
_UNITS = ("YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND")


class _Dialect(Postgres):  # type: ignore[misc]
    class Parser(PostgresParser):
        """Ends where the statement's time ends."""

        def _advance(self, times: int = 1) -> None:
            deadline.check()
            super()._advance(times)


def tree_of(piece: StatementText, tokens: Sequence[Token]) -> exp.Expr | None:
    """A query as PostgreSQL reads it; None if it cannot be read. Its columns have the meta "label".

    Raises:
        Failure: it is nested too deeply.
    """
    depth = 0
    for token in tokens:
        depth += (word(token) in ("(", "[", "CASE")) - (word(token) in (")", "]", "END"))
        if depth > MAX_DEPTH:
            raise Failure("54001", "The statement is nested too deeply.")
    for is_plain in (True, False):
        try:
            tree = _Dialect().parse(_readable(piece, tokens, is_plain))
        except SqlglotError:
            continue
        except RecursionError:
            raise Failure("54001", "The statement is nested too deeply.") from None
        if len(tree) != 1:
            return None
        query: exp.Expr | None = tree[0]
        if isinstance(query, exp.Query) and (select := query.find(exp.Select)) is not None:
            names = labels(tokens)
            if len(names) == len(select.expressions):
                for expression, name in zip(select.expressions, names, strict=True):
                    expression.meta["label"] = name
        return query
    return None


def _is_time(tokens: Sequence[Token], at: int) -> bool:
    """Whether a token is the type of a literal of time whose text has its units."""
    return (
        word(tokens[at]) in _TIMES
        and at + 1 < len(tokens)
        and tokens[at + 1].token_type == TokenType.STRING
        and not (word(tokens[at]) == "INTERVAL" and word_at(tokens, at + 2) in _UNITS)
    )


def _readable(piece: StatementText, tokens: Sequence[Token], is_plain: bool) -> str:
    """A text for sqlglot: parameters by name, since it takes ``$1`` for the beginning of a quoted text.

    Args:
        is_plain: whether what it cannot read stays: aliases such as SELECT, arrays of types of the catalog.
    """
    parts, end = [], tokens[0].start
    skipped = -1
    for at, token in enumerate(tokens):
        if at <= skipped:
            end = token.end + 1
            continue
        text = piece.whole[token.start : token.end + 1]
        if token.token_type == TokenType.PLACEHOLDER:
            text = f":p{int(token.text)}"
        elif _is_time(tokens, at):
            text = ""
        elif at and _is_time(tokens, at - 1):
            text = f"CAST({text} AS {word(tokens[at - 1])})"
        elif not is_plain and word(token) in ("SELECT", "INSERT", "UPDATE", "DELETE", "TABLE"):
            following = word(tokens[at + 1]) if at + 1 < len(tokens) else ")"
            if at and word(tokens[at - 1]) == "AS" and following in (",", ")", "FROM"):
                text = f'"{text}"'
        elif not is_plain and at and word(tokens[at - 1]) == "::":
            name = at + 2 if word_at(tokens, at + 1) == "." else at
            is_array = word_at(tokens, name + 1) == "[" and word_at(tokens, name + 2) == "]"
            type_ = tokens[name].text.lower() if name < len(tokens) else ""
            if is_array and (type_.startswith("reg") or type_ in ("oid", "name")):
                text, skipped = "text[]", name + 2
        parts += [piece.whole[end : token.start], text]
        end = token.end + 1
    return "".join(parts)
