"""TERMINATE, PAUSE and RESUME of queries (reference §2.9), and beyond ksqlDB REPLAY, REPROCESS and FORGET."""

from __future__ import annotations

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from ksql_spark.grammar.generator import KsqlGenerator
from ksql_spark.grammar.nodes import Arg, ErrorsOf, LateRowsOf, LogOf, NamedStatement, Statement
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


class Replay(Statement):
    """Common to REPLAY ERRORS and REPLAY LATE ROWS: what the processing log has about a query."""

    this = Arg[LogOf](required=True)
    where = Arg[exp.Expr | None]()

    @property
    def query_id(self) -> str:
        """The query's id (folded unless quoted)."""
        return self.this.query_id


class ReplayErrors(Replay):
    """REPLAY ERRORS OF id [WHERE condition]."""


class ReplayLateRows(Replay):
    """REPLAY LATE ROWS OF id [WHERE condition] [WITH (PREVIEW = true)]."""

    preview = Arg[bool](default=False)


class Reprocess(NamedStatement):
    """REPROCESS table [WHERE condition] [FROM moment] [TO moment] [WITH (PREVIEW = true)].

    A moment is a text or epoch milliseconds.
    """

    where = Arg[exp.Expr | None]()
    first = Arg[exp.Expr | None]()
    last = Arg[exp.Expr | None]()
    preview = Arg[bool](default=False)


class Forget(NamedStatement):
    """FORGET FROM table WHERE key = value [WITH (PREVIEW = true)]."""

    where = Arg[exp.Expr](required=True)
    preview = Arg[bool](default=False)


def _replay_errors(parser: KsqlParser) -> ReplayErrors:
    start, relation = parser.at, _log_of(parser, ErrorsOf)
    return parser.build(ReplayErrors, start, this=relation, where=_where(parser))


def _replay_late_rows(parser: KsqlParser) -> ReplayLateRows:
    start, relation = parser.at, _log_of(parser, LateRowsOf)
    where = _where(parser)
    return parser.build(ReplayLateRows, start, this=relation, where=where, preview=_preview(parser))


def _log_of(parser: KsqlParser, kind: type[LogOf]) -> LogOf:
    parser.expect_word("REPLAY")
    at = parser.at
    parser.expect_word(*kind.words.split())
    return parser.build(kind, at, this=parser.name())


def _where(parser: KsqlParser) -> exp.Expr | None:
    return parser.any_expression() if parser.word("WHERE") else None


def _preview(parser: KsqlParser) -> bool:
    if not parser.word("WITH"):
        return False
    parser.expect_symbol(TokenType.L_PAREN, "(")
    parser.expect_word("PREVIEW")
    parser.equals()
    value = parser.expect_one_of("TRUE", "FALSE")
    parser.expect_symbol(TokenType.R_PAREN, ")")
    return value == "TRUE"


def _reprocess(parser: KsqlParser) -> Reprocess:
    start = parser.at
    parser.expect_word("REPROCESS")
    name, where = parser.name(), _where(parser)
    first = parser.moment() if parser.word("FROM") else None
    last = parser.moment() if parser.word("TO") else None
    preview = _preview(parser)
    return parser.build(Reprocess, start, this=name, where=where, first=first, last=last, preview=preview)


def _forget(parser: KsqlParser) -> Forget:
    start = parser.at
    parser.expect_word("FORGET", "FROM")
    name = parser.name()
    parser.expect_word("WHERE")
    where = parser.any_expression()
    return parser.build(Forget, start, this=name, where=where, preview=_preview(parser))


def _render_replay(self: KsqlGenerator, node: Replay) -> str:
    return f"REPLAY {self.sql(node.this)}{_render_where(self, node)}"


def _render_where(self: KsqlGenerator, node: Replay | Reprocess | Forget) -> str:
    return f" WHERE {self.sql(node.where)}" if node.where is not None else ""


def _render_preview(node: ReplayLateRows | Reprocess | Forget) -> str:
    return " WITH (PREVIEW = true)" if node.preview else ""


def _render_late_rows(self: KsqlGenerator, node: ReplayLateRows) -> str:
    return _render_replay(self, node) + _render_preview(node)


def _render_reprocess(self: KsqlGenerator, node: Reprocess) -> str:
    bounds = ((" FROM ", node.first), (" TO ", node.last))
    span = "".join(word + self.sql(moment) for word, moment in bounds if moment is not None)
    return f"REPROCESS {self.sql(node.this)}{_render_where(self, node)}{span}{_render_preview(node)}"


def _render_forget(self: KsqlGenerator, node: Forget) -> str:
    return f"FORGET FROM {self.sql(node.this)}{_render_where(self, node)}{_render_preview(node)}"


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
    StatementRule(ReplayErrors, ("REPLAY ERRORS",), _replay_errors, _render_replay),
    StatementRule(ReplayLateRows, ("REPLAY LATE ROWS",), _replay_late_rows, _render_late_rows),
    StatementRule(Reprocess, ("REPROCESS",), _reprocess, _render_reprocess),
    StatementRule(Forget, ("FORGET",), _forget, _render_forget),
)
