"""Statement families: node, parse rule, render rule. `RULES` below is the table of them all."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile

from sqlglot.tokenizer_core import TokenType

from ksql_spark.grammar.advice import NO_DATABASES, NO_GRANTS
from ksql_spark.grammar.nodes import Statement
from ksql_spark.grammar.parser import KsqlParser
from ksql_spark.grammar.rules import StatementRule, StatementSet
from ksql_spark.grammar.splitting import StatementText
from ksql_spark.grammar.statements import (
    asserts,
    comments,
    connectors,
    describe,
    functions,
    indexes,
    inserts,
    lifecycle,
    print_topic,
    queries,
    rows,
    scripts,
    session,
    show,
    sinks,
    sources,
    types,
    versions,
    views,
)
from ksql_spark.grammar.words import nearest

RULES: tuple[StatementRule, ...] = (
    *sources.RULES,
    *inserts.RULES,
    *rows.RULES,
    *queries.RULES,
    *types.RULES,
    *views.RULES,
    *indexes.RULES,
    *comments.RULES,
    *functions.RULES,
    *lifecycle.RULES,
    *show.RULES,
    *describe.rules(lambda parser: statement(parser)),
    *versions.RULES,
    *print_topic.RULES,
    *session.RULES,
    *connectors.RULES,
    *sinks.RULES,
    *asserts.RULES,
    *scripts.RULES,
)

#: first phrase of a statement -> its rule
BY_START: dict[str, StatementRule] = {start: rule for rule in RULES for start in rule.starts}

#: the first words of statements, for completion
STATEMENT_STARTERS = frozenset(start.split()[0] for start in BY_START)

_LONGEST = max(len(start.split()) for start in BY_START)


def statement(parser: KsqlParser, allowed: StatementSet = StatementSet.SERVER) -> Statement:
    """The statement that begins at the parser's current token.

    Its positions, and those of everything in it, are relative to its own text.
    """
    start = parser.at
    rule = _rule(parser, allowed)
    node = parser.in_own_text(start, lambda: rule.parse(parser))
    following = parser.word_ahead(0)
    if following in STATEMENT_STARTERS:
        parser.fail(f"A ';' is missing before {following}")
    return node


#: SQL statements that KSQL lacks -> the alternative
_INSTEAD = {
    "GRANT": NO_GRANTS,
    "REVOKE": NO_GRANTS,
    "MERGE": "INSERT INTO a table replaces the row that has the same key",
    "SUBSCRIBE": "SELECT … EMIT CHANGES sends each change of a result",
    "TAIL": "SELECT … EMIT CHANGES sends each change of a result",
    "USE": NO_DATABASES,
}


def class_of(piece: StatementText) -> type[Statement]:
    """The class of the statements that begin as this one does, which need not be valid; else Statement."""
    if piece.is_query:
        return queries.Query
    words = takewhile(lambda token: token.token_type == TokenType.VAR, piece.tokens[:_LONGEST])
    rule = _longest([token.text for token in words], StatementSet.TEST)
    return Statement if rule is None else rule.node


def _longest(words: Sequence[str], allowed: StatementSet) -> StatementRule | None:
    """The rule with the longest phrase that ``words`` begin with."""
    for length in range(len(words), 0, -1):
        rule = BY_START.get(" ".join(words[:length]))
        if rule is not None and rule.statement_set.value <= allowed.value:
            return rule
    return None


def _rule(parser: KsqlParser, allowed: StatementSet) -> StatementRule:
    """The rule with the longest phrase that matches here; fails if none does."""
    if parser.is_symbol(TokenType.L_PAREN):
        return BY_START["SELECT"]
    words: list[str] = []
    while len(words) < _LONGEST and (word := parser.word_ahead(len(words))) is not None:
        words.append(word)
    if (rule := _longest(words, allowed)) is not None:
        return rule
    phrases = [s.split() for s, rule in BY_START.items() if rule.statement_set.value <= allowed.value]
    first = words[0] if words else ""
    if not any(k[0] == first for k in phrases):
        if first in _INSTEAD:
            parser.unknown_statement(None, _INSTEAD[first])
        suggestion = nearest(first, (k[0] for k in phrases)) if first else None
        parser.unknown_statement(suggestion)
    # the first words are right: report which could follow
    right = 0
    while right < len(words) and any(k[: right + 1] == words[: right + 1] for k in phrases):
        right += 1
    parser.skip(right)
    for following in sorted({k[right] for k in phrases if k[:right] == words[:right] and len(k) > right}):
        parser.word(following)
    parser.fail()


__all__ = ["BY_START", "RULES", "STATEMENT_STARTERS", "class_of", "statement"]
