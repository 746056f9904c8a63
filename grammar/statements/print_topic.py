"""PRINT topic (reference §2.12)."""

from __future__ import annotations

from sqlglot import exp

from ksql_spark.grammar.generator import KsqlGenerator, string
from ksql_spark.grammar.nodes import Arg, Statement
from ksql_spark.grammar.parser import KsqlParser
from ksql_spark.grammar.rules import StatementRule


class PrintTopic(Statement):
    """PRINT topic [FROM BEGINNING] [INTERVAL|SAMPLE n] [LIMIT n]; the topic's case is kept."""

    this = Arg[exp.Literal](required=True)
    from_beginning = Arg[bool](default=False)
    interval = Arg[int | None]()
    limit = Arg[int | None]()

    @property
    def topic(self) -> str:
        """The topic's name."""
        return str(self.args["this"].this)


def _print(parser: KsqlParser) -> PrintTopic:
    start = parser.at
    parser.expect_word("PRINT")
    args = {
        "this": parser.resource(),
        "from_beginning": parser.word("FROM", "BEGINNING"),
        "interval": parser.whole_number() if parser.one_of("INTERVAL", "SAMPLE") else None,
        "limit": parser.whole_number() if parser.word("LIMIT") else None,
    }
    return parser.build(PrintTopic, start, **args)


def _render(_: KsqlGenerator, node: PrintTopic) -> str:
    beginning = " FROM BEGINNING" if node.from_beginning else ""
    interval = f" INTERVAL {node.interval}" if node.interval is not None else ""
    limit = f" LIMIT {node.limit}" if node.limit is not None else ""
    return f"PRINT {string(node.topic)}{beginning}{interval}{limit}"


RULES = (StatementRule(PrintTopic, ("PRINT",), _print, _render),)
