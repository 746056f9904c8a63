"""DESCRIBE and EXPLAIN (reference §2.11)."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from ksql_spark.grammar.generator import KsqlGenerator, string
from ksql_spark.grammar.nodes import Arg, NamedStatement, Statement
from ksql_spark.grammar.parser import KsqlParser
from ksql_spark.grammar.rules import StatementRule
from ksql_spark.grammar.statements.sinks import DescribeSink, about_sink
from ksql_spark.grammar.statements.versions import DescribeEvolution


class DescribeSource(NamedStatement):
    """DESCRIBE name [EXTENDED]."""

    extended = Arg[bool](default=False)


class DescribeSources(Statement):
    """DESCRIBE STREAMS|TABLES|VIEWS [EXTENDED]; ``what`` is the first of these words."""

    what = Arg[str](required=True)
    extended = Arg[bool](default=False)


class DescribeFunction(NamedStatement):
    """DESCRIBE FUNCTION name."""


class DescribeConnector(NamedStatement):
    """DESCRIBE CONNECTOR name."""


class ExplainFreshness(NamedStatement):
    """EXPLAIN FRESHNESS streamOrTable: where its delay comes from (beyond ksqlDB)."""


class ExplainRow(NamedStatement):
    """EXPLAIN [MISSING] ROW FROM streamOrTable WHERE condition: which records made it, or why none did.

    Beyond ksqlDB.
    """

    where = Arg[exp.Expr](required=True)
    missing = Arg[bool](default=False)


class ExplainRecord(Statement):
    """EXPLAIN RECORD topic PARTITION n OFFSET n: what the record has changed (beyond ksqlDB).

    The topic's case is kept.
    """

    this = Arg[exp.Literal](required=True)
    partition = Arg[int](required=True)
    offset = Arg[int](required=True)

    @property
    def topic(self) -> str:
        """The topic's name."""
        return str(self.args["this"].this)


class Explain(Statement):
    """EXPLAIN [EVOLUTION] queryId | statement: exactly one of the two is set, with EVOLUTION a statement."""

    this = Arg[exp.Identifier | None]()
    statement = Arg["Statement | None"]()
    evolution = Arg[bool]()

    @property
    def query_id(self) -> str | None:
        """The query's id, if one was given."""
        identifier = self.args.get("this")
        return None if identifier is None else str(identifier.this)


def _describe(parser: KsqlParser) -> Statement:
    start = parser.at
    parser.expect_one_of("DESCRIBE", "DESC")
    what = parser.one_of("STREAMS", "TABLES", "VIEWS")
    if what:
        return parser.build(DescribeSources, start, what=what, extended=parser.word("EXTENDED"))
    if parser.is_word("FUNCTION") and parser.is_name(1):  # else a source of that name
        parser.word("FUNCTION")
        return parser.build(DescribeFunction, start, this=parser.name())
    if parser.is_word("EVOLUTION") and parser.is_name(1):
        parser.word("EVOLUTION")
        return parser.build(DescribeEvolution, start, this=parser.name())
    if sink := about_sink(parser, start, DescribeSink):
        return sink
    if parser.word("CONNECTOR"):
        return parser.build(DescribeConnector, start, this=parser.name())
    name = parser.name()
    return parser.build(DescribeSource, start, this=name, extended=parser.word("EXTENDED"))


def _explain(parser: KsqlParser, statement: Callable[[KsqlParser], Statement]) -> Statement:
    start = parser.at
    parser.expect_word("EXPLAIN")
    if parser.is_name() and parser.at_end(1):
        return parser.build(Explain, start, this=parser.name())
    missing = parser.word("MISSING", "ROW")
    if missing or parser.word("ROW"):
        if not parser.word("FROM"):
            begin = "EXPLAIN MISSING ROW" if missing else "EXPLAIN ROW"
            parser.fail(f"The syntax is {begin} FROM name WHERE condition")
        name = parser.name()
        parser.expect_word("WHERE")
        where = parser.any_expression()
        return parser.build(ExplainRow, start, this=name, where=where, missing=missing)
    if parser.word("RECORD"):
        topic = parser.resource()
        parser.expect_word("PARTITION")
        partition = parser.whole_number(2**31 - 1)
        parser.expect_word("OFFSET")
        args = {"this": topic, "partition": partition, "offset": parser.whole_number()}
        return parser.build(ExplainRecord, start, **args)
    if parser.word("FRESHNESS"):
        return parser.build(ExplainFreshness, start, this=parser.name())
    evolution = parser.word("EVOLUTION")
    planned = parser.nested(lambda: statement(parser))
    return parser.build(Explain, start, statement=planned, evolution=evolution)


def _render_source(self: KsqlGenerator, node: DescribeSource) -> str:
    return f"DESCRIBE {self.sql(node.this)}{' EXTENDED' if node.extended else ''}"


def _render_sources(_: KsqlGenerator, node: DescribeSources) -> str:
    return f"DESCRIBE {node.what}{' EXTENDED' if node.extended else ''}"


def _render_function(self: KsqlGenerator, node: DescribeFunction) -> str:
    return f"DESCRIBE FUNCTION {self.sql(node.this)}"


def _render_connector(self: KsqlGenerator, node: DescribeConnector) -> str:
    return f"DESCRIBE CONNECTOR {self.sql(node.this)}"


def _render_freshness(self: KsqlGenerator, node: ExplainFreshness) -> str:
    return f"EXPLAIN FRESHNESS {self.sql(node.this)}"


def _render_row(self: KsqlGenerator, node: ExplainRow) -> str:
    missing = "MISSING " if node.missing else ""
    return f"EXPLAIN {missing}ROW FROM {self.sql(node.this)} WHERE {self.sql(node.where)}"


def _render_record(_: KsqlGenerator, node: ExplainRecord) -> str:
    return f"EXPLAIN RECORD {string(node.topic)} PARTITION {node.partition} OFFSET {node.offset}"


def _render_explain(self: KsqlGenerator, node: Explain) -> str:
    return f"EXPLAIN {'EVOLUTION ' if node.evolution else ''}{self.sql(node.statement or node.this)}"


def rules(statement: Callable[[KsqlParser], Statement]) -> tuple[StatementRule, ...]:
    """The rules; ``statement`` parses the statement that EXPLAIN is about."""

    def explain(parser: KsqlParser) -> Statement:
        return _explain(parser, statement)

    return (
        StatementRule(DescribeSource, ("DESCRIBE", "DESC"), _describe, _render_source),
        StatementRule(DescribeSources, (), _describe, _render_sources),
        StatementRule(DescribeFunction, (), _describe, _render_function),
        StatementRule(DescribeConnector, (), _describe, _render_connector),
        StatementRule(ExplainFreshness, (), explain, _render_freshness),
        StatementRule(ExplainRow, (), explain, _render_row),
        StatementRule(ExplainRecord, (), explain, _render_record),
        StatementRule(Explain, ("EXPLAIN",), explain, _render_explain),
    )
