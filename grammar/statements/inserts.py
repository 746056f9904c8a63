"""INSERT INTO … VALUES and INSERT INTO … SELECT (reference §2.2, §2.4)."""

from __future__ import annotations

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from ksql_spark.grammar.generator import KsqlGenerator
from ksql_spark.grammar.nodes import Arg, NamedStatement, Property, QueryNode
from ksql_spark.grammar.parser import KsqlParser
from ksql_spark.grammar.rules import StatementRule


class InsertValues(NamedStatement):
    """INSERT INTO name [(columns)] VALUES (values); no column list reads as an empty list."""

    columns = Arg[list[exp.Identifier]](default=list)
    values = Arg[list[exp.Expr]](default=list)


class InsertSelect(NamedStatement):
    """INSERT INTO name [WITH (properties)] query."""

    properties = Arg[list[Property]](default=list)
    query = Arg[QueryNode](required=True)


def _insert(parser: KsqlParser) -> InsertValues | InsertSelect:
    start = parser.at
    parser.expect_word("INSERT", "INTO")
    name = parser.source_name()
    # WITH begins the properties, or the query's common tables: `WITH x AS (…) SELECT`
    properties = [] if parser.is_word("WITH") and parser.is_name(1) else parser.properties()
    if not properties:
        columns_at = parser.at
        columns = parser.column_names()
        if parser.word("VALUES"):
            values = parser.values()
            if parser.is_symbol(TokenType.COMMA):
                parser.fail("VALUES takes one row: write an INSERT for each row")
            return parser.build(InsertValues, start, this=name, columns=columns, values=values)
        if columns and parser.is_word("SELECT", "WITH"):
            parser.fail(
                "INSERT INTO … SELECT has no column list: SELECT all columns in their order",
                columns_at,
            )
        if columns:
            parser.fail()
    return parser.build(InsertSelect, start, this=name, properties=properties, query=parser.query())


def _render_values(self: KsqlGenerator, node: InsertValues) -> str:
    columns = self.columns(node.columns)
    return f"INSERT INTO {self.sql(node.this)}{columns} VALUES ({self.joined(node.values)})"


def _render_select(self: KsqlGenerator, node: InsertSelect) -> str:
    return f"INSERT INTO {self.sql(node.this)}{self.with_clause(node.properties)} {self.sql(node.query)}"


RULES = (
    StatementRule(InsertValues, ("INSERT INTO",), _insert, _render_values),
    StatementRule(InsertSelect, (), _insert, _render_select),
)
