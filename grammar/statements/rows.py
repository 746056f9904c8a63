"""UPDATE, DELETE and TRUNCATE of a table's rows (beyond ksqlDB, reference §2.4)."""

from __future__ import annotations

from sqlglot import exp

from ksql_spark.grammar.generator import KsqlGenerator
from ksql_spark.grammar.nodes import AliasedSource, Arg, Assignment, Statement
from ksql_spark.grammar.parser import KsqlParser
from ksql_spark.grammar.rules import StatementRule


class RowChange(Statement):
    """Common to UPDATE, DELETE and TRUNCATE: a table, and which of its rows, or None for all."""

    this = Arg[AliasedSource](required=True)
    where = Arg[exp.Expr | None]()

    @property
    def name(self) -> str:
        """The table's name."""
        return self.this.source_name


class UpdateRows(RowChange):
    """UPDATE name SET column = value, … WHERE condition."""

    assignments = Arg[list[Assignment]](required=True)


class DeleteRows(RowChange):
    """DELETE FROM name WHERE condition."""


class TruncateTable(RowChange):
    """TRUNCATE [TABLE] name."""


def _update(parser: KsqlParser) -> UpdateRows:
    start = parser.at
    parser.expect_word("UPDATE")
    table = _table(parser)
    parser.expect_word("SET")

    def one() -> Assignment:
        at = parser.at
        column = parser.name()
        parser.equals()
        return parser.build(Assignment, at, this=column, value=parser.any_expression())

    assignments = parser.listed(one)
    return parser.build(
        UpdateRows, start, this=table, assignments=assignments, where=_where(parser, "UPDATE")
    )


def _delete(parser: KsqlParser) -> DeleteRows:
    start = parser.at
    parser.expect_word("DELETE", "FROM")
    return parser.build(DeleteRows, start, this=_table(parser), where=_where(parser, "DELETE"))


def _truncate(parser: KsqlParser) -> TruncateTable:
    start = parser.at
    parser.expect_word("TRUNCATE")
    parser.word("TABLE")
    table = _table(parser)
    if parser.is_word("WHERE"):
        parser.fail("TRUNCATE removes all rows: DELETE FROM … WHERE removes some")
    return parser.build(TruncateTable, start, this=table)


def _table(parser: KsqlParser) -> AliasedSource:
    at = parser.at
    return parser.build(AliasedSource, at, this=parser.source_name())


def _where(parser: KsqlParser, word: str) -> exp.Expr:
    if parser.at_end():
        parser.fail(f"{word} needs a WHERE that says which rows: WHERE key = …")
    parser.expect_word("WHERE")
    return parser.any_expression()


def _render_update(self: KsqlGenerator, node: UpdateRows) -> str:
    assignments = self.joined(node.assignments)
    return f"UPDATE {self.sql(node.this)} SET {assignments} WHERE {self.sql(node.where)}"


def _render_delete(self: KsqlGenerator, node: DeleteRows) -> str:
    return f"DELETE FROM {self.sql(node.this)} WHERE {self.sql(node.where)}"


def _render_truncate(self: KsqlGenerator, node: TruncateTable) -> str:
    return f"TRUNCATE TABLE {self.sql(node.this)}"


RULES = (
    StatementRule(UpdateRows, ("UPDATE",), _update, _render_update),
    StatementRule(DeleteRows, ("DELETE FROM",), _delete, _render_delete),
    StatementRule(TruncateTable, ("TRUNCATE",), _truncate, _render_truncate),
)
