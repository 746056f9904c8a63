"""SWAP, ABORT EVOLUTION and DESCRIBE EVOLUTION of a table whose new version runs beside the old one, SHOW
VERSIONS, ROLLBACK and UNDROP (beyond ksqlDB)."""

from __future__ import annotations

from ksql_spark.grammar.generator import KsqlGenerator
from ksql_spark.grammar.nodes import Arg, NamedStatement
from ksql_spark.grammar.parser import KsqlParser
from ksql_spark.grammar.rules import StatementRule


class Swap(NamedStatement):
    """SWAP name."""


class AbortEvolution(NamedStatement):
    """ABORT EVOLUTION name."""


class DescribeEvolution(NamedStatement):
    """DESCRIBE EVOLUTION name."""


class ShowVersions(NamedStatement):
    """SHOW VERSIONS OF name."""


class Rollback(NamedStatement):
    """ROLLBACK name [TO VERSION number]."""

    version = Arg[int | None]()


class Undrop(NamedStatement):
    """UNDROP STREAM|TABLE name."""

    kind = Arg[str](required=True)


def _undrop(parser: KsqlParser) -> Undrop:
    start = parser.at
    parser.expect_word("UNDROP")
    kind = parser.expect_one_of("STREAM", "TABLE")
    return parser.build(Undrop, start, kind=kind, this=parser.name())


def _render_undrop(self: KsqlGenerator, node: Undrop) -> str:
    return f"UNDROP {node.kind} {self.sql(node.this)}"


def _rollback(parser: KsqlParser) -> Rollback:
    start = parser.at
    parser.expect_word("ROLLBACK")
    name = parser.name()
    version = None
    if parser.word("TO"):
        parser.expect_word("VERSION")
        version = parser.whole_number()
    return parser.build(Rollback, start, this=name, version=version)


def _render_rollback(self: KsqlGenerator, node: Rollback) -> str:
    to = f" TO VERSION {node.version}" if node.version is not None else ""
    return f"ROLLBACK {self.sql(node.this)}{to}"


def _rule(words: str, node: type[NamedStatement]) -> StatementRule:
    def parse(parser: KsqlParser) -> NamedStatement:
        start = parser.at
        parser.expect_word(*words.split())
        return parser.build(node, start, this=parser.name())

    def render(self: KsqlGenerator, node: NamedStatement) -> str:
        return f"{words} {self.sql(node.this)}"

    # DESCRIBE decides itself, because a source may be called EVOLUTION; so does SHOW
    return StatementRule(node, () if words.startswith(("DESCRIBE", "SHOW")) else (words,), parse, render)


RULES = (
    _rule("SWAP", Swap),
    _rule("ABORT EVOLUTION", AbortEvolution),
    _rule("DESCRIBE EVOLUTION", DescribeEvolution),
    _rule("SHOW VERSIONS OF", ShowVersions),
    StatementRule(Rollback, ("ROLLBACK",), _rollback, _render_rollback),
    StatementRule(Undrop, ("UNDROP STREAM", "UNDROP TABLE"), _undrop, _render_undrop),
)
