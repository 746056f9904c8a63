"""The KSQL grammar: text to statement trees and back. `grammar/README.md` describes the tree."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar

from sqlglot import exp

from ksql_spark.grammar.dialect import Ksql
from ksql_spark.grammar.errors import ParseFailed
from ksql_spark.grammar.generator import type_text
from ksql_spark.grammar.keywords import keywords
from ksql_spark.grammar.lexer import Rules, opened, scan, tokens
from ksql_spark.grammar.nodes import Position, Statement, TypeNode, position
from ksql_spark.grammar.parser import KsqlParser
from ksql_spark.grammar.rules import StatementSet
from ksql_spark.grammar.splitting import StatementText, pieces, split
from ksql_spark.grammar.statements import STATEMENT_STARTERS, class_of, statement
from ksql_spark.grammar.statements.session import DefineVariable, UndefineVariable
from ksql_spark.grammar.variables import substitute
from ksql_spark.grammar.words import KEYWORDS, RESERVED

T = TypeVar("T")

_DIALECT = Ksql()


def parse(
    text: str,
    variables: Mapping[str, str] | None = None,
    *,
    allowed: StatementSet = StatementSet.SERVER,
    substitution: bool = True,
) -> list[Statement]:
    """All statements of ``text``, each of which ends in ``;``.

    Args:
        variables: values for ``${name}``; DEFINE and UNDEFINE in the text apply to what follows them.
        allowed: which statements are allowed (reference §1.4).
        substitution: False leaves variables alone (ksql.variable.substitution.enable).

    Raises:
        ParseFailed: a statement is not KSQL, or the last one has no ``;``.
    """
    return list(parse_lazily(text, variables, allowed=allowed, substitution=substitution))


def parse_lazily(
    text: str,
    variables: Mapping[str, str] | None = None,
    *,
    allowed: StatementSet = StatementSet.SERVER,
    substitution: bool = True,
) -> Iterator[Statement]:
    """Yield what `parse` returns, one statement at a time, so that those before an error come out."""
    defined = {name.upper(): value for name, value in (variables or {}).items()}
    for piece in pieces(text, tokens(text)):
        node = parse_statement(piece, defined if substitution else None, allowed=allowed)
        if not piece.complete:
            last = piece.tokens[-1]
            lines = text.split("\n")
            line = last.line + text.count("\n", last.start, last.end + 1)
            column = last.end - text.rfind("\n", 0, last.end + 1) + 1
            raise ParseFailed(
                "The statement does not end in ';'",
                line,
                column,
                piece.text,
                source_line=lines[line - 1].rstrip("\r"),
            )
        yield node
        if isinstance(node, DefineVariable):
            defined[node.name.upper()] = node.value
        elif isinstance(node, UndefineVariable):
            defined.pop(node.name.upper(), None)


def parse_one(
    text: str,
    variables: Mapping[str, str] | None = None,
    *,
    allowed: StatementSet = StatementSet.SERVER,
    substitution: bool = True,
) -> Statement:
    """The one statement of ``text``; its ``;`` may be left out.

    Raises:
        ParseFailed: ``text`` is not one KSQL statement.
    """
    pieces = split(text)
    if len(pieces) != 1:
        line, column = (pieces[1].line, pieces[1].column) if pieces else (1, 1)
        raise ParseFailed(f"One statement was expected, not {len(pieces)}", line, column, text)
    return parse_statement(pieces[0], (variables or {}) if substitution else None, allowed=allowed)


def parse_statement(
    piece: StatementText,
    variables: Mapping[str, str] | None = None,
    *,
    allowed: StatementSet = StatementSet.SERVER,
) -> Statement:
    """One piece of `split`; None for ``variables`` leaves ``${name}`` alone.

    Raises:
        ParseFailed: it is not a KSQL statement; line and column are those in the whole text.
    """
    text, tokens, origin = piece.whole, list(piece.tokens), Position(1, 1, 0)
    if not tokens or (variables is not None and "${" in piece.text):
        origin = Position(piece.line, piece.column, 0)
        try:
            text = substitute(piece.text, variables or {})
        except ParseFailed as error:
            _move(error, origin)
            raise
        tokens = scan(text)
    return KsqlParser(dialect=_DIALECT).run(tokens, text, lambda p: statement(p, allowed), origin)


def parse_expression(text: str) -> exp.Expr:
    """The one expression of ``text``.

    Raises:
        ParseFailed: ``text`` is not one expression.
    """
    return _parse_whole(text, KsqlParser.any_expression)


def parse_type(text: str) -> TypeNode:
    """The one type of ``text``, such as ``ARRAY<STRUCT<a INT>>``.

    Raises:
        ParseFailed: ``text`` is not one type.
    """
    return _parse_whole(text, KsqlParser.type_)


def _parse_whole(text: str, rule: Callable[[KsqlParser], T]) -> T:
    return KsqlParser(dialect=_DIALECT).run(scan(text), text, rule)


def _move(error: ParseFailed, origin: Position) -> None:
    """Convert an error's position in a statement to its position in the whole text."""
    if error.line == 1:
        error.column += origin.column - 1
        error.source_line = " " * (origin.column - 1) + (error.source_line or "")
    error.line += origin.line - 1


def render(node: exp.Expr | TypeNode) -> str:
    """``node`` as text that parses back to an equal tree; a statement without its ``;``."""
    if isinstance(node, TypeNode):
        return type_text(node)
    return _DIALECT.generator(comments=False).generate(node, copy=False)


__all__ = [
    "KEYWORDS",
    "RESERVED",
    "STATEMENT_STARTERS",
    "Ksql",
    "ParseFailed",
    "Position",
    "Rules",
    "Statement",
    "StatementSet",
    "StatementText",
    "TypeNode",
    "class_of",
    "keywords",
    "opened",
    "parse",
    "parse_expression",
    "parse_lazily",
    "parse_one",
    "parse_statement",
    "parse_type",
    "pieces",
    "position",
    "render",
    "scan",
    "split",
    "substitute",
    "tokens",
]
