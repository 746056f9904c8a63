"""TERMINATE, PAUSE and RESUME of queries (reference §2.9), and REPLAY ERRORS (beyond ksqlDB)."""

from __future__ import annotations

from sqlglot import exp

from ksql_spark.grammar.generator import KsqlGenerator
from ksql_spark.grammar.nodes import Arg, ErrorsOf, NamedStatement, Statement
from ksql_spark.grammar.parser import KsqlParser
from ksql_spark.grammar.rules import StatementRule
from ksql_spark.grammar.statements.sinks import PauseSink, ResumeSink, about_sink


class QueryControl(Statement):
    """Common to TERMINATE, PAUSE and RESUME: one query id, or ALL."""

    this = Arg[exp.Identifier | None]()

    @property
    def query_id(self) -> str | None:
        """The query's id (folded unless quoted), or None for ALL."""
        identifier = self.args.get("this")
        return None if identifier is None else str(identifier.this)


class Terminate(QueryControl):
    """TERMINATE id | ALL."""


class Pause(QueryControl):
    """PAUSE id | ALL."""


class Resume(QueryControl):
    """RESUME id | ALL."""


class ReplayErrors(Statement):
    """REPLAY ERRORS OF id [WHERE condition]."""

    this = Arg[ErrorsOf](required=True)
    where = Arg[exp.Expr | None]()

    @property
    def query_id(self) -> str:
        """The query's id (folded unless quoted)."""
        return self.this.query_id


def _replay(parser: KsqlParser) -> ReplayErrors:
    start = parser.at
    parser.expect_word("REPLAY")
    errors = parser.at
    parser.expect_word("ERRORS")
    parser.expect_word("OF")
    relation = parser.build(ErrorsOf, errors, this=parser.name())
    where = parser.any_expression() if parser.word("WHERE") else None
    return parser.build(ReplayErrors, start, this=relation, where=where)


def _render_replay(self: KsqlGenerator, node: ReplayErrors) -> str:
    where = f" WHERE {self.sql(node.where)}" if node.where is not None else ""
    return f"REPLAY {self.sql(node.this)}{where}"


def _rule(word: str, node: type[QueryControl], of_sink: type[NamedStatement] | None = None) -> StatementRule:
    def parse(parser: KsqlParser) -> Statement:
        start = parser.at
        parser.expect_word(word)
        if of_sink is not None and (sink := about_sink(parser, start, of_sink)):
            return sink
        return parser.build(node, start, this=None if parser.word("ALL") else parser.name())

    def render(self: KsqlGenerator, node: QueryControl) -> str:
        return f"{word} {self.sql(node.this) if node.this is not None else 'ALL'}"

    return StatementRule(node, (word,), parse, render)


RULES = (
    _rule("TERMINATE", Terminate),
    _rule("PAUSE", Pause, PauseSink),
    _rule("RESUME", Resume, ResumeSink),
    StatementRule(ReplayErrors, ("REPLAY ERRORS",), _replay, _render_replay),
)
