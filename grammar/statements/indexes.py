"""CREATE INDEX and DROP INDEX (beyond ksqlDB)."""

from __future__ import annotations

import re

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from ksql_spark.grammar import nodes
from ksql_spark.grammar.generator import KsqlGenerator
from ksql_spark.grammar.nodes import Arg, NamedStatement
from ksql_spark.grammar.parser import KsqlParser
from ksql_spark.grammar.rules import StatementRule

_BARE = re.compile("[A-Z_][A-Z0-9_]*")


class CreateIndex(NamedStatement):
    """CREATE INDEX [IF NOT EXISTS] [name] ON table (column, …)."""

    if_not_exists = Arg[bool](default=False)
    table = Arg[exp.Identifier](required=True)
    columns = Arg[list[exp.Expr]](required=True)

    @property
    def table_name(self) -> str:
        """The table."""
        return str(self.table.this)

    @property
    def paths(self) -> tuple[tuple[str, ...], ...]:
        """The columns, each with the names of its fields."""
        return tuple(map(_path, self.columns))


class DropIndex(NamedStatement):
    """DROP INDEX [IF EXISTS] name."""

    if_exists = Arg[bool](default=False)


def _path(column: exp.Expr) -> tuple[str, ...]:
    if isinstance(column, nodes.Dereference):
        return (*_path(column.this), column.field_name)
    return (str(column.this.this),)


def _create(parser: KsqlParser) -> CreateIndex:
    start = parser.at
    parser.expect_word("CREATE", "INDEX")
    if_not_exists = parser.if_not_exists()
    name = parser.name() if parser.is_name() else None
    parser.expect_word("ON")
    table = parser.source_name()
    columns = parser.bracketed(lambda: parser.listed(lambda: _column(parser)))
    args = {"this": name or _default_name(table, columns), "table": table, "columns": columns}
    return parser.build(CreateIndex, start, **args, if_not_exists=if_not_exists)


def _default_name(table: exp.Identifier, columns: list[exp.Expr]) -> exp.Identifier:
    """Table, columns and IDX, as in PostgreSQL."""
    name = "_".join([str(table.this), *(part for column in columns for part in _path(column)), "IDX"])
    return exp.Identifier(this=name, quoted=not _BARE.fullmatch(name))


def _column(parser: KsqlParser) -> exp.Expr:
    start = parser.at
    column: exp.Expr = parser.build(exp.Column, start, this=parser.name())
    while parser.symbol(TokenType.ARROW, "->"):
        column = parser.build(nodes.Dereference, start, this=column, field=parser.name())
    return column


def _drop(parser: KsqlParser) -> DropIndex:
    start = parser.at
    parser.expect_word("DROP", "INDEX")
    return parser.build(DropIndex, start, if_exists=parser.if_exists(), this=parser.name())


def _render_create(self: KsqlGenerator, node: CreateIndex) -> str:
    if_not_exists = "IF NOT EXISTS " if node.if_not_exists else ""
    columns = ", ".join(map(self.sql, node.columns))
    return f"CREATE INDEX {if_not_exists}{self.sql(node.this)} ON {self.sql(node.table)} ({columns})"


def _render_drop(self: KsqlGenerator, node: DropIndex) -> str:
    return f"DROP INDEX {'IF EXISTS ' if node.if_exists else ''}{self.sql(node.this)}"


RULES = (
    StatementRule(CreateIndex, ("CREATE INDEX",), _create, _render_create),
    StatementRule(DropIndex, ("DROP INDEX",), _drop, _render_drop),
)
