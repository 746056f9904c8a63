"""INSERT INTO … VALUES and INSERT INTO … SELECT (reference §2.2, §2.4)."""

from __future__ import annotations

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from ksql_spark.grammar.generator import KsqlGenerator
from ksql_spark.grammar.nodes import AllColumns, Arg, NamedStatement, Property, QueryNode, SelectItem
from ksql_spark.grammar.parser import KsqlParser
from ksql_spark.grammar.rules import StatementRule


class InsertValues(NamedStatement):
    """INSERT INTO name [(columns)] VALUES (values), … [RETURNING * | column [AS name], …]

    No column list reads as an empty list. Each row is a tuple of values.
    """

    columns = Arg[list[exp.Identifier]](default=list)
    rows = Arg[list[exp.Tuple]](required=True)
    returning = Arg[list[SelectItem | AllColumns]](default=list)


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
            rows = parser.listed(lambda: _row(parser))
            returning = parser.listed(lambda: _returned(parser)) if parser.word("RETURNING") else []
            return parser.build(
                InsertValues, start, this=name, columns=columns, rows=rows, returning=returning
            )
        if columns and parser.is_word("SELECT", "WITH"):
            parser.fail(
                "INSERT INTO … SELECT has no column list: SELECT all columns in their order",
                columns_at,
            )
        if columns:
            parser.fail()
    return parser.build(InsertSelect, start, this=name, properties=properties, query=parser.query())


def _row(parser: KsqlParser) -> exp.Tuple:
    start = parser.at
    return parser.build(exp.Tuple, start, expressions=parser.values())


def _returned(parser: KsqlParser) -> SelectItem | AllColumns:
    """``*`` or ``[source.]column [[AS] name]``."""
    start = parser.at
    if parser.symbol(TokenType.STAR, "*"):
        return parser.build(AllColumns, start)
    name, table = parser.name(), None
    if parser.symbol(TokenType.DOT, "."):
        name, table = parser.name(), name
    column = parser.build(exp.Column, start, this=name, table=table)
    alias = parser.name() if parser.word("AS") or parser.is_name() else None
    if not parser.at_item_end():
        parser.fail("RETURNING takes * or names of columns")
    return parser.build(SelectItem, start, this=column, alias_identifier=alias)


def _render_values(self: KsqlGenerator, node: InsertValues) -> str:
    columns = self.columns(node.columns)
    returning = f" RETURNING {self.joined(node.returning)}" if node.returning else ""
    return f"INSERT INTO {self.sql(node.this)}{columns} VALUES {self.joined(node.rows)}{returning}"


def _render_select(self: KsqlGenerator, node: InsertSelect) -> str:
    return f"INSERT INTO {self.sql(node.this)}{self.with_clause(node.properties)} {self.sql(node.query)}"


RULES = (
    StatementRule(InsertValues, ("INSERT INTO",), _insert, _render_values),
    StatementRule(InsertSelect, (), _insert, _render_select),
)
