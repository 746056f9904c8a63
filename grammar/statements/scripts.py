"""RUN SCRIPT (reference §1.4): a command of the shell and the tools, not of the server."""

from __future__ import annotations

from sqlglot import exp

from ksql_spark.grammar.generator import KsqlGenerator
from ksql_spark.grammar.nodes import Arg, Statement
from ksql_spark.grammar.parser import KsqlParser
from ksql_spark.grammar.rules import StatementRule, StatementSet


class RunScript(Statement):
    """RUN SCRIPT 'file'."""

    this = Arg[exp.Literal](required=True)

    @property
    def path(self) -> str:
        """The file's path as written."""
        return str(self.args["this"].this)


def _run(parser: KsqlParser) -> RunScript:
    start = parser.at
    parser.expect_word("RUN", "SCRIPT")
    return parser.build(RunScript, start, this=parser.string())


def _render(self: KsqlGenerator, node: RunScript) -> str:
    return f"RUN SCRIPT {self.sql(node.this)}"


RULES = (StatementRule(RunScript, ("RUN SCRIPT",), _run, _render, StatementSet.SCRIPT),)
