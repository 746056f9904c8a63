"""CREATE, ALTER and DROP of streams and tables (reference §2.1 to §2.3, §2.9)."""

from __future__ import annotations

from ksql_spark.grammar.generator import KsqlGenerator, type_text
from ksql_spark.grammar.nodes import (
    Arg,
    CheckConstraint,
    ColumnDefinition,
    NamedStatement,
    Property,
    QueryNode,
)
from ksql_spark.grammar.parser import KsqlParser
from ksql_spark.grammar.rules import StatementRule


class CreateSource(NamedStatement):
    """CREATE [OR REPLACE] [SOURCE] STREAM|TABLE name [(columns and checks)] [WITH (properties)].

    ``kind`` is STREAM or TABLE; ``source``: the SOURCE keyword was there.
    """

    kind = Arg[str](required=True)
    or_replace = Arg[bool](default=False)
    source = Arg[bool](default=False)
    if_not_exists = Arg[bool](default=False)
    columns = Arg[list[ColumnDefinition]](default=list)
    checks = Arg[list[CheckConstraint]](default=list)
    properties = Arg[list[Property]](default=list)


class CreateAsSelect(NamedStatement):
    """CREATE [OR REPLACE] STREAM|TABLE [IF NOT EXISTS] name [WITH (properties)] AS query."""

    kind = Arg[str](required=True)
    or_replace = Arg[bool](default=False)
    if_not_exists = Arg[bool](default=False)
    properties = Arg[list[Property]](default=list)
    query = Arg[QueryNode](required=True)


class AlterSource(NamedStatement):
    """ALTER STREAM|TABLE name ADD [COLUMN] column type, …."""

    kind = Arg[str](required=True)
    columns = Arg[list[ColumnDefinition]](required=True)


class RefreshSchema(NamedStatement):
    """ALTER STREAM|TABLE name REFRESH SCHEMA."""

    kind = Arg[str](required=True)


class DropSource(NamedStatement):
    """DROP STREAM|TABLE [IF EXISTS] name [DELETE TOPIC] [CASCADE]; CASCADE is beyond ksqlDB."""

    kind = Arg[str](required=True)
    if_exists = Arg[bool](default=False)
    delete_topic = Arg[bool](default=False)
    cascade = Arg[bool](default=False)


def _create(parser: KsqlParser) -> CreateSource | CreateAsSelect:
    start = parser.at
    parser.expect_word("CREATE")
    or_replace = parser.word("OR", "REPLACE")
    source = parser.word("SOURCE")
    args = {
        "or_replace": or_replace,
        "kind": parser.expect_one_of("STREAM", "TABLE"),
        "if_not_exists": parser.if_not_exists(),
        "this": parser.source_name(),
    }
    columns, checks = parser.source_elements()
    properties = parser.properties()
    if parser.word("AS"):
        if columns or checks:
            parser.fail("AS SELECT takes the columns from the query: remove the column list", parser.at - 1)
        if source:
            parser.fail("A SOURCE stream or table cannot be created AS SELECT", parser.at - 1)
        return parser.build(CreateAsSelect, start, **args, properties=properties, query=parser.query())
    lists = {"columns": columns, "checks": checks, "properties": properties}
    return parser.build(CreateSource, start, **args, source=source, **lists)


def _alter(parser: KsqlParser) -> AlterSource | RefreshSchema:
    start = parser.at
    parser.expect_word("ALTER")
    kind = parser.expect_one_of("STREAM", "TABLE")
    name = parser.source_name()
    if parser.word("REFRESH"):
        parser.expect_word("SCHEMA")
        return parser.build(RefreshSchema, start, this=name, kind=kind)
    parser.expect_word("ADD")
    columns = [_added_column(parser)]
    while parser.comma():
        parser.word("ADD")
        columns.append(_added_column(parser))
    return parser.build(AlterSource, start, this=name, kind=kind, columns=columns)


def _added_column(parser: KsqlParser) -> ColumnDefinition:
    # COLUMN may itself be a column's name: `ADD COLUMN INT`
    if parser.is_word("COLUMN") and parser.is_name(1) and not parser.at_item_end(2):
        parser.word("COLUMN")
    start = parser.at
    return parser.build(ColumnDefinition, start, this=parser.name(), data_type=parser.type_())


def _drop(parser: KsqlParser) -> DropSource:
    start = parser.at
    parser.expect_word("DROP")
    args = {
        "kind": parser.expect_one_of("STREAM", "TABLE"),
        "if_exists": parser.if_exists(),
        "this": parser.source_name(),
    }
    cascade = parser.word("CASCADE")  # in either order
    args["delete_topic"] = parser.word("DELETE", "TOPIC")
    args["cascade"] = cascade or parser.word("CASCADE")
    return parser.build(DropSource, start, **args)


def _head(self: KsqlGenerator, node: CreateSource | CreateAsSelect, source: bool) -> str:
    or_replace = "OR REPLACE " if node.or_replace else ""
    if_not_exists = "IF NOT EXISTS " if node.if_not_exists else ""
    return f"CREATE {or_replace}{'SOURCE ' if source else ''}{node.kind} {if_not_exists}{self.sql(node.this)}"


def _render_create(self: KsqlGenerator, node: CreateSource) -> str:
    elements = self.columns([*node.columns, *node.checks])
    return f"{_head(self, node, node.source)}{elements}{self.with_clause(node.properties)}"


def _render_create_as(self: KsqlGenerator, node: CreateAsSelect) -> str:
    return f"{_head(self, node, False)}{self.with_clause(node.properties)} AS {self.sql(node.query)}"


def _render_refresh(self: KsqlGenerator, node: RefreshSchema) -> str:
    return f"ALTER {node.kind} {self.sql(node.this)} REFRESH SCHEMA"


def _render_alter(self: KsqlGenerator, node: AlterSource) -> str:
    added = ", ".join(f"ADD COLUMN {self.sql(c.this)} {type_text(c.data_type)}" for c in node.columns)
    return f"ALTER {node.kind} {self.sql(node.this)} {added}"


def _render_drop(self: KsqlGenerator, node: DropSource) -> str:
    if_exists = "IF EXISTS " if node.if_exists else ""
    topic = " DELETE TOPIC" if node.delete_topic else ""
    cascade = " CASCADE" if node.cascade else ""
    return f"DROP {node.kind} {if_exists}{self.sql(node.this)}{topic}{cascade}"


RULES = (
    StatementRule(
        CreateSource,
        (
            "CREATE STREAM",
            "CREATE TABLE",
            "CREATE SOURCE STREAM",
            "CREATE SOURCE TABLE",
            "CREATE OR REPLACE",
        ),
        _create,
        _render_create,
    ),
    StatementRule(CreateAsSelect, (), _create, _render_create_as),
    StatementRule(AlterSource, ("ALTER STREAM", "ALTER TABLE"), _alter, _render_alter),
    StatementRule(RefreshSchema, (), _alter, _render_refresh),
    StatementRule(DropSource, ("DROP STREAM", "DROP TABLE"), _drop, _render_drop),
)
