"""ASSERT in all forms (reference §2.14). VALUES, NULL VALUES, STREAM and TABLE are for the test tool."""

from __future__ import annotations

from sqlglot import exp

from ksql_spark.grammar.generator import KsqlGenerator, string, time_text
from ksql_spark.grammar.nodes import Arg, ColumnDefinition, NamedStatement, Property, Statement, TimeSpan
from ksql_spark.grammar.parser import KsqlParser
from ksql_spark.grammar.rules import StatementRule, StatementSet


class AssertTopic(Statement):
    """ASSERT [NOT EXISTS] TOPIC topic [WITH (properties)] [TIMEOUT n u]; ``absent``: NOT EXISTS."""

    this = Arg[exp.Literal](required=True)
    absent = Arg[bool](default=False)
    properties = Arg[list[Property]](default=list)
    timeout = Arg[TimeSpan | None]()

    @property
    def topic(self) -> str:
        """The topic's name, its case kept."""
        return str(self.args["this"].this)


class AssertSchema(Statement):
    """ASSERT [NOT EXISTS] SCHEMA [SUBJECT s] [ID n] [TIMEOUT n u]."""

    absent = Arg[bool](default=False)
    subject_literal = Arg[exp.Literal | None]()
    schema_id = Arg[int | None]()
    timeout = Arg[TimeSpan | None]()

    @property
    def subject(self) -> str | None:
        """The subject's name, its case kept."""
        return None if self.subject_literal is None else str(self.subject_literal.this)


class AssertValues(NamedStatement):
    """ASSERT VALUES name [(columns)] VALUES (values)."""

    columns = Arg[list[exp.Identifier]](default=list)
    values = Arg[list[exp.Expr]](default=list)


class AssertTombstone(NamedStatement):
    """ASSERT NULL VALUES name [(columns)] KEY (values)."""

    columns = Arg[list[exp.Identifier]](default=list)
    values = Arg[list[exp.Expr]](default=list)


class AssertSource(NamedStatement):
    """ASSERT STREAM|TABLE name [(columns)] [WITH (properties)]."""

    kind = Arg[str](required=True)
    columns = Arg[list[ColumnDefinition]](default=list)
    properties = Arg[list[Property]](default=list)


def _assert(parser: KsqlParser) -> AssertTopic | AssertSchema:
    start = parser.at
    parser.expect_word("ASSERT")
    absent = parser.word("NOT", "EXISTS")
    if parser.expect_one_of("TOPIC", "SCHEMA") == "TOPIC":
        args = {"this": parser.resource(), "properties": parser.properties(), "timeout": _timeout(parser)}
        return parser.build(AssertTopic, start, absent=absent, **args)
    args = {
        "subject_literal": parser.resource() if parser.word("SUBJECT") else None,
        "schema_id": parser.whole_number() if parser.word("ID") else None,
        "timeout": _timeout(parser),
    }
    return parser.build(AssertSchema, start, absent=absent, **args)


def _timeout(parser: KsqlParser) -> TimeSpan | None:
    return parser.time_span() if parser.word("TIMEOUT") else None


def _values(parser: KsqlParser) -> AssertValues:
    start = parser.at
    parser.expect_word("ASSERT", "VALUES")
    name, columns = parser.name(), parser.column_names()
    parser.expect_word("VALUES")
    return parser.build(AssertValues, start, this=name, columns=columns, values=parser.values())


def _tombstone(parser: KsqlParser) -> AssertTombstone:
    start = parser.at
    parser.expect_word("ASSERT", "NULL", "VALUES")
    name, columns = parser.name(), parser.column_names()
    parser.expect_word("KEY")
    return parser.build(AssertTombstone, start, this=name, columns=columns, values=parser.values())


def _source(parser: KsqlParser) -> AssertSource:
    start = parser.at
    parser.expect_word("ASSERT")
    args = {
        "kind": parser.expect_one_of("STREAM", "TABLE"),
        "this": parser.name(),
        "columns": parser.column_definitions(),
        "properties": parser.properties(),
    }
    return parser.build(AssertSource, start, **args)


def _render_timeout(timeout: TimeSpan | None) -> str:
    return f" TIMEOUT {time_text(timeout)}" if timeout is not None else ""


def _render_topic(self: KsqlGenerator, node: AssertTopic) -> str:
    absent = "NOT EXISTS " if node.absent else ""
    topic = f"{absent}TOPIC {string(node.topic)}{self.with_clause(node.properties)}"
    return f"ASSERT {topic}{_render_timeout(node.timeout)}"


def _render_schema(self: KsqlGenerator, node: AssertSchema) -> str:
    absent = "NOT EXISTS " if node.absent else ""
    subject = f" SUBJECT {string(node.subject)}" if node.subject is not None else ""
    schema_id = f" ID {node.schema_id}" if node.schema_id is not None else ""
    return f"ASSERT {absent}SCHEMA{subject}{schema_id}{_render_timeout(node.timeout)}"


def _render_values(self: KsqlGenerator, node: AssertValues) -> str:
    columns = self.columns(node.columns)
    return f"ASSERT VALUES {self.sql(node.this)}{columns} VALUES ({self.joined(node.values)})"


def _render_tombstone(self: KsqlGenerator, node: AssertTombstone) -> str:
    columns = self.columns(node.columns)
    return f"ASSERT NULL VALUES {self.sql(node.this)}{columns} KEY ({self.joined(node.values)})"


def _render_source(self: KsqlGenerator, node: AssertSource) -> str:
    parts = f"{self.columns(node.columns)}{self.with_clause(node.properties)}"
    return f"ASSERT {node.kind} {self.sql(node.this)}{parts}"


RULES = (
    StatementRule(AssertTopic, ("ASSERT",), _assert, _render_topic),
    StatementRule(AssertSchema, (), _assert, _render_schema),
    StatementRule(AssertValues, ("ASSERT VALUES",), _values, _render_values, StatementSet.TEST),
    StatementRule(AssertTombstone, ("ASSERT NULL VALUES",), _tombstone, _render_tombstone, StatementSet.TEST),
    StatementRule(
        AssertSource, ("ASSERT STREAM", "ASSERT TABLE"), _source, _render_source, StatementSet.TEST
    ),
)
