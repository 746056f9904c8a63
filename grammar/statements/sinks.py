"""CREATE, DROP, DESCRIBE, PAUSE, RESUME and COMPACT SINK: tables outside Kafka (beyond ksqlDB)."""

from __future__ import annotations

from sqlglot import exp

from ksql_spark.grammar.generator import KsqlGenerator
from ksql_spark.grammar.nodes import Arg, NamedStatement, Property, QueryNode
from ksql_spark.grammar.parser import KsqlParser
from ksql_spark.grammar.rules import StatementRule
from ksql_spark.grammar.statements.sources import CreateAsSelect


class CreateSink(NamedStatement):
    """CREATE SINK [IF NOT EXISTS] name FROM source WITH (properties)."""

    if_not_exists = Arg[bool](default=False)
    source = Arg[exp.Identifier](required=True)
    properties = Arg[list[Property]](required=True)

    @property
    def source_name(self) -> str:
        """The stream or table that it reads."""
        return str(self.source.this)


class CreateSinkAs(NamedStatement):
    """CREATE SINK [IF NOT EXISTS] name WITH (properties) AS query: a stream or table, and a sink of it."""

    if_not_exists = Arg[bool](default=False)
    properties = Arg[list[Property]](required=True)
    query = Arg[QueryNode](required=True)

    @property
    def source_name(self) -> str:
        """The stream or table that it makes, and reads."""
        return self.name

    def source(self, kind: str) -> CreateAsSelect:
        """The statement that makes it; ``kind``: STREAM or TABLE."""
        statement = CreateAsSelect(kind=kind, this=self.this.copy(), query=self.query.copy())
        statement.meta["text"] = statement.sql("ksql")
        return statement


class DropSink(NamedStatement):
    """DROP SINK [IF EXISTS] name."""

    if_exists = Arg[bool](default=False)


class DescribeSink(NamedStatement):
    """DESCRIBE SINK name."""


class PauseSink(NamedStatement):
    """PAUSE SINK name."""


class ResumeSink(NamedStatement):
    """RESUME SINK name."""


class CompactSink(NamedStatement):
    """COMPACT SINK name."""


def _create(parser: KsqlParser) -> CreateSink | CreateSinkAs:
    start = parser.at
    parser.expect_word("CREATE", "SINK")
    args = {"if_not_exists": parser.if_not_exists(), "this": parser.name()}
    if parser.is_word("WITH"):
        properties = parser.properties()
        parser.expect_word("AS")
        return parser.build(CreateSinkAs, start, **args, properties=properties, query=parser.query())
    parser.expect_word("FROM")
    source = parser.name()
    properties = parser.properties() or parser.fail()
    return parser.build(CreateSink, start, **args, source=source, properties=properties)


def _render_create(self: KsqlGenerator, node: CreateSink) -> str:
    if_not_exists = "IF NOT EXISTS " if node.if_not_exists else ""
    name = f"{if_not_exists}{self.sql(node.this)}"
    return f"CREATE SINK {name} FROM {self.sql(node.source)}{self.with_clause(node.properties)}"


def _render_create_as(self: KsqlGenerator, node: CreateSinkAs) -> str:
    if_not_exists = "IF NOT EXISTS " if node.if_not_exists else ""
    name = f"{if_not_exists}{self.sql(node.this)}"
    return f"CREATE SINK {name}{self.with_clause(node.properties)} AS {self.sql(node.query)}"


def _drop(parser: KsqlParser) -> DropSink:
    start = parser.at
    parser.expect_word("DROP", "SINK")
    if_exists = parser.if_exists()
    return parser.build(DropSink, start, if_exists=if_exists, this=parser.name())


def _render_drop(self: KsqlGenerator, node: DropSink) -> str:
    return f"DROP SINK {'IF EXISTS ' if node.if_exists else ''}{self.sql(node.this)}"


def about_sink(parser: KsqlParser, start: int, node: type[NamedStatement]) -> NamedStatement | None:
    """``SINK name`` after the first word of a statement; None: that word begins another statement."""
    if not (parser.is_word("SINK") and parser.is_name(1)):
        return None
    parser.word("SINK")
    return parser.build(node, start, this=parser.name())


def _rule(word: str, node: type[NamedStatement], *words: str) -> StatementRule:
    def parse(parser: KsqlParser) -> NamedStatement:
        start = parser.at
        parser.expect_word(word)
        return about_sink(parser, start, node) or parser.fail()

    def render(self: KsqlGenerator, node: NamedStatement) -> str:
        return f"{word} SINK {self.sql(node.this)}"

    # the rule of the word decides, because a query or source may be called SINK
    return StatementRule(node, words, parse, render)


RULES = (
    StatementRule(CreateSink, ("CREATE SINK",), _create, _render_create),
    StatementRule(CreateSinkAs, (), _create, _render_create_as),
    StatementRule(DropSink, ("DROP SINK",), _drop, _render_drop),
    _rule("DESCRIBE", DescribeSink),
    _rule("PAUSE", PauseSink),
    _rule("RESUME", ResumeSink),
    _rule("COMPACT", CompactSink, "COMPACT SINK"),
)
