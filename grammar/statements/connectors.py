"""CREATE and DROP CONNECTOR (reference §2.13)."""

from __future__ import annotations

from ksql_spark.grammar.generator import KsqlGenerator
from ksql_spark.grammar.nodes import Arg, NamedStatement, Property
from ksql_spark.grammar.parser import KsqlParser
from ksql_spark.grammar.rules import StatementRule


class CreateConnector(NamedStatement):
    """CREATE SOURCE|SINK CONNECTOR [IF NOT EXISTS] name WITH (properties); ``kind`` SOURCE or SINK."""

    kind = Arg[str](required=True)
    if_not_exists = Arg[bool](default=False)
    properties = Arg[list[Property]](required=True)


class DropConnector(NamedStatement):
    """DROP CONNECTOR [IF EXISTS] name."""

    if_exists = Arg[bool](default=False)


def _create(parser: KsqlParser) -> CreateConnector:
    start = parser.at
    parser.expect_word("CREATE")
    kind = parser.expect_one_of("SOURCE", "SINK")
    parser.expect_word("CONNECTOR")
    args = {"kind": kind, "if_not_exists": parser.if_not_exists(), "this": parser.name()}
    properties = parser.properties(keep_case=True) or parser.fail()
    return parser.build(CreateConnector, start, **args, properties=properties)


def _drop(parser: KsqlParser) -> DropConnector:
    start = parser.at
    parser.expect_word("DROP", "CONNECTOR")
    if_exists = parser.if_exists()
    return parser.build(DropConnector, start, if_exists=if_exists, this=parser.name())


def _render_create(self: KsqlGenerator, node: CreateConnector) -> str:
    if_not_exists = "IF NOT EXISTS " if node.if_not_exists else ""
    name = f"{if_not_exists}{self.sql(node.this)}"
    return f"CREATE {node.kind} CONNECTOR {name}{self.with_clause(node.properties)}"


def _render_drop(self: KsqlGenerator, node: DropConnector) -> str:
    return f"DROP CONNECTOR {'IF EXISTS ' if node.if_exists else ''}{self.sql(node.this)}"


RULES = (
    StatementRule(
        CreateConnector, ("CREATE SOURCE CONNECTOR", "CREATE SINK CONNECTOR"), _create, _render_create
    ),
    StatementRule(DropConnector, ("DROP CONNECTOR",), _drop, _render_drop),
)
