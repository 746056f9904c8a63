"""The tables are closed: every node class has a render rule, and a case in identity.sql."""

from __future__ import annotations

from grammar_cases import identity
from sqlglot import exp

from ksql_spark import grammar
from ksql_spark.grammar import StatementSet, nodes
from ksql_spark.grammar.dialect import Ksql
from ksql_spark.grammar.generator import EXPRESSIONS, QUERIES
from ksql_spark.grammar.statements import BY_START, RULES, STATEMENT_STARTERS
from ksql_spark.grammar.statements.show import LISTED, Show
from ksql_spark.grammar.words import CONTEXTUAL, KEYWORDS, NON_RESERVED, RESERVED

ABSTRACT = {
    "Node",
    "QueryNode",
    "Relation",
    "Statement",
    "NamedStatement",
    "QueryControl",
    "RowChange",
    "LogOf",
} | {
    "Pattern",
    "PropertyStatement",
    "Replay",
    "PropertyAssignment",
}


def subclasses(cls: type) -> set[type]:
    return {cls}.union(*(subclasses(sub) for sub in cls.__subclasses__()))


def test_every_node_class_has_a_render_rule() -> None:
    for cls in subclasses(nodes.Node):
        if cls.__name__ not in ABSTRACT:
            where = "RULES of its module" if issubclass(cls, nodes.Statement) else "grammar/generator.py"
            assert cls in Ksql.generator_class.TRANSFORMS, f"add a render rule of {cls.__name__} to {where}"


def test_every_statement_class_has_one_rule() -> None:
    classes = [rule.node for rule in RULES]
    assert len(classes) == len(set(classes))
    concrete = {c for c in subclasses(nodes.Statement) if c.__name__ not in ABSTRACT}
    assert set(classes) <= concrete
    without = {cls.__name__ for cls in concrete - set(classes)}
    assert not without, f"add to RULES of grammar/statements/<family>.py: {without}"


def test_every_rule_is_in_the_fixture() -> None:
    seen: set[type] = set()
    listed: set[str] = set()
    for text in identity():
        for node in grammar.parse_one(text, allowed=StatementSet.TEST).walk():
            seen.add(type(node))
            if isinstance(node, Show):
                listed.add(node.what)
    missing = {cls.__name__ for cls in {*(rule.node for rule in RULES), *EXPRESSIONS, *QUERIES} - seen}
    missing |= {f"SHOW {what}" for what in set(LISTED) - listed}
    assert not missing, f"write a line of tests/grammar/identity.sql with {missing}"
    assert exp.If in seen  # rendered by its CASE


def test_starts_are_keywords() -> None:
    unknown = {word for start in BY_START for word in start.split()} - KEYWORDS
    assert not unknown, f"add to grammar/words.py: {unknown}"
    assert {"SELECT", "CREATE", "SHOW", "LIST", "PRINT"} <= STATEMENT_STARTERS


def test_word_lists_do_not_overlap() -> None:
    assert not RESERVED & NON_RESERVED
    assert not CONTEXTUAL & (RESERVED | NON_RESERVED)
    assert KEYWORDS == RESERVED | NON_RESERVED | CONTEXTUAL


def test_words_that_are_not_reserved_are_names() -> None:
    for word in sorted(NON_RESERVED | CONTEXTUAL):
        text = f"CREATE STREAM {word} AS SELECT {word}, {word} AS {word} FROM {word} AS {word}"
        assert grammar.render(grammar.parse_one(text.lower())) == text
    for word in sorted(NON_RESERVED - {"EMIT", "PARTITION"} | CONTEXTUAL - {"UNION", "ORDER", "OFFSET"}):
        node = grammar.parse_one(f"SELECT a {word} FROM s {word} WHERE b")
        assert grammar.render(node) == f"SELECT A AS {word} FROM S AS {word} WHERE B"


def test_reserved_words_need_quotes() -> None:
    for word in sorted(RESERVED):
        text = f"CREATE STREAM `{word}` AS SELECT `{word}` FROM S"
        assert grammar.render(grammar.parse_one(text)) == text
        try:
            grammar.parse_one(f"CREATE STREAM {word} (a INT)")
        except grammar.ParseFailed as error:
            assert f"{word} is a reserved word" in error.message, word
        else:
            raise AssertionError(word)
