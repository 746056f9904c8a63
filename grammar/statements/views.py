"""CREATE VIEW and DROP VIEW (beyond ksqlDB)."""

from __future__ import annotations

from ksql_spark.grammar.generator import KsqlGenerator
from ksql_spark.grammar.nodes import Arg, NamedStatement, QueryNode
from ksql_spark.grammar.parser import KsqlParser
from ksql_spark.grammar.rules import StatementRule


class CreateView(NamedStatement):
    """CREATE [OR REPLACE] VIEW [IF NOT EXISTS] name AS SELECT …."""

    or_replace = Arg[bool](default=False)
    if_not_exists = Arg[bool](default=False)
    query = Arg[QueryNode](required=True)


class DropView(NamedStatement):
    """DROP VIEW [IF EXISTS] name."""

    if_exists = Arg[bool](default=False)


def _create(parser: KsqlParser) -> CreateView:
    start = parser.at
    parser.expect_word("CREATE")
    or_replace = parser.word("OR", "REPLACE")
    parser.expect_word("VIEW")
    if_not_exists, name = parser.if_not_exists(), parser.source_name()
    parser.expect_word("AS")
    args = {"or_replace": or_replace, "if_not_exists": if_not_exists, "this": name}
    return parser.build(CreateView, start, **args, query=parser.query())


def _drop(parser: KsqlParser) -> DropView:
    start = parser.at
    parser.expect_word("DROP", "VIEW")
    return parser.build(DropView, start, if_exists=parser.if_exists(), this=parser.name())


def _render_create(self: KsqlGenerator, node: CreateView) -> str:
    or_replace = "OR REPLACE " if node.or_replace else ""
    if_not_exists = "IF NOT EXISTS " if node.if_not_exists else ""
    return f"CREATE {or_replace}VIEW {if_not_exists}{self.sql(node.this)} AS {self.sql(node.query)}"


def _render_drop(self: KsqlGenerator, node: DropView) -> str:
    return f"DROP VIEW {'IF EXISTS ' if node.if_exists else ''}{self.sql(node.this)}"


RULES = (
    StatementRule(CreateView, ("CREATE VIEW", "CREATE OR REPLACE VIEW"), _create, _render_create),
    StatementRule(DropView, ("DROP VIEW",), _drop, _render_drop),
)
