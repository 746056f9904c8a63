"""COMMENT ON (beyond ksqlDB)."""

from __future__ import annotations

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from ksql_spark.grammar.generator import KsqlGenerator
from ksql_spark.grammar.nodes import Arg, NamedStatement
from ksql_spark.grammar.parser import KsqlParser
from ksql_spark.grammar.rules import StatementRule


class Comment(NamedStatement):
    """COMMENT ON STREAM|TABLE|VIEW name IS 'text' | NULL, COMMENT ON COLUMN name.column IS 'text' | NULL.

    ``column`` is None for a comment on the source itself, ``literal`` for NULL, which removes the comment.
    """

    kind = Arg[str](required=True)
    column = Arg[exp.Identifier | None]()
    literal = Arg[exp.Literal | None]()


def _comment(parser: KsqlParser) -> Comment:
    start = parser.at
    parser.expect_word("COMMENT", "ON")
    kind = parser.expect_one_of("STREAM", "TABLE", "VIEW", "COLUMN")
    name, column = parser.source_name(), None
    if kind == "COLUMN":
        parser.expect_symbol(TokenType.DOT, ".")
        column = parser.name()
    parser.expect_word("IS")
    text = None if parser.word("NULL") else parser.string()
    return parser.build(Comment, start, kind=kind, this=name, column=column, literal=text)


def _render(self: KsqlGenerator, node: Comment) -> str:
    column = "" if node.column is None else f".{self.sql(node.column)}"
    text = "NULL" if node.literal is None else self.sql(node.literal)
    return f"COMMENT ON {node.kind} {self.sql(node.this)}{column} IS {text}"


RULES = (StatementRule(Comment, ("COMMENT",), _comment, _render),)
