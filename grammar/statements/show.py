"""SHOW and its synonym LIST (reference §2.10)."""

from __future__ import annotations

from sqlglot import exp

from ksql_spark.grammar.generator import KsqlGenerator
from ksql_spark.grammar.nodes import Arg, Statement
from ksql_spark.grammar.parser import KsqlParser
from ksql_spark.grammar.rules import StatementRule
from ksql_spark.grammar.statements.versions import ShowVersions

#: what EXTENDED says more about; TOPICS too
EXTENDED = ("STREAMS", "TABLES", "QUERIES")
#: what is listed in one way only
PLAIN = ("FUNCTIONS", "PROPERTIES", "TYPES", "VARIABLES", "SERVICES", "SINKS", "VIEWS")
#: all that SHOW lists; the shell completes it, help and the reference name it
LISTED = (*EXTENDED, "TOPICS", *PLAIN, "INDEXES", "CONNECTORS", "CONNECTOR PLUGINS")


class Show(Statement):
    """SHOW what.

    ``what`` is one of LISTED. ``all`` for SHOW ALL TOPICS; ``scope`` is SOURCE or SINK for connectors, else
    None; ``table`` is that of SHOW INDEXES ON table, else None.
    """

    what = Arg[str](required=True)
    extended = Arg[bool](default=False)
    all = Arg[bool](default=False)
    scope = Arg[str | None]()
    table = Arg[exp.Identifier | None]()


def _show(parser: KsqlParser) -> Show | ShowVersions:
    start = parser.at
    parser.expect_one_of("SHOW", "LIST")
    if parser.word("ALL"):
        parser.expect_word("TOPICS")
        return parser.build(Show, start, what="TOPICS", all=True, extended=parser.word("EXTENDED"))
    scope = parser.one_of("SOURCE", "SINK")
    if scope:
        parser.expect_word("CONNECTORS")
        return parser.build(Show, start, what="CONNECTORS", scope=scope)
    if parser.word("CONNECTOR"):
        parser.expect_word("PLUGINS")
        return parser.build(Show, start, what="CONNECTOR PLUGINS")
    if parser.word("VERSIONS"):
        parser.expect_word("OF")
        return parser.build(ShowVersions, start, this=parser.name())
    if parser.word("INDEXES"):
        table = parser.source_name() if parser.word("ON") else None
        return parser.build(Show, start, what="INDEXES", table=table)
    what = parser.expect_one_of(*EXTENDED, "TOPICS", *PLAIN, "CONNECTORS")
    extended = what in (*EXTENDED, "TOPICS") and parser.word("EXTENDED")
    return parser.build(Show, start, what=what, extended=extended)


def _render(self: KsqlGenerator, node: Show) -> str:
    scope = f"{node.scope} " if node.scope else ""
    table = f" ON {self.sql(node.table)}" if node.table is not None else ""
    return f"SHOW {'ALL ' if node.all else ''}{scope}{node.what}{' EXTENDED' if node.extended else ''}{table}"


RULES = (StatementRule(Show, ("SHOW", "LIST"), _show, _render),)
