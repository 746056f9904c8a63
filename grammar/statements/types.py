"""CREATE TYPE and DROP TYPE (reference §2.9)."""

from __future__ import annotations

from ksql_spark.grammar.generator import KsqlGenerator, type_text
from ksql_spark.grammar.nodes import Arg, NamedStatement, TypeNode
from ksql_spark.grammar.parser import KsqlParser
from ksql_spark.grammar.rules import StatementRule


class CreateType(NamedStatement):
    """CREATE TYPE [IF NOT EXISTS] name AS type."""

    if_not_exists = Arg[bool](default=False)
    data_type = Arg[TypeNode](required=True)


class DropType(NamedStatement):
    """DROP TYPE [IF EXISTS] name."""

    if_exists = Arg[bool](default=False)


def _create(parser: KsqlParser) -> CreateType:
    start = parser.at
    parser.expect_word("CREATE", "TYPE")
    if_not_exists = parser.if_not_exists()
    name = parser.name()
    parser.expect_word("AS")
    args = {"if_not_exists": if_not_exists, "this": name, "data_type": parser.type_()}
    return parser.build(CreateType, start, **args)


def _drop(parser: KsqlParser) -> DropType:
    start = parser.at
    parser.expect_word("DROP", "TYPE")
    if_exists = parser.if_exists()
    return parser.build(DropType, start, if_exists=if_exists, this=parser.name())


def _render_create(self: KsqlGenerator, node: CreateType) -> str:
    if_not_exists = "IF NOT EXISTS " if node.if_not_exists else ""
    return f"CREATE TYPE {if_not_exists}{self.sql(node.this)} AS {type_text(node.data_type)}"


def _render_drop(self: KsqlGenerator, node: DropType) -> str:
    return f"DROP TYPE {'IF EXISTS ' if node.if_exists else ''}{self.sql(node.this)}"


RULES = (
    StatementRule(CreateType, ("CREATE TYPE",), _create, _render_create),
    StatementRule(DropType, ("DROP TYPE",), _drop, _render_drop),
)
