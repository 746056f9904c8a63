"""A SELECT as a statement: push and pull queries (reference §2.5)."""

from __future__ import annotations

from ksql_spark.grammar.generator import KsqlGenerator
from ksql_spark.grammar.nodes import Arg, QueryNode, Statement
from ksql_spark.grammar.parser import KsqlParser
from ksql_spark.grammar.rules import StatementRule


class Query(Statement):
    """SELECT …;"""

    query = Arg[QueryNode](required=True)


def _query(parser: KsqlParser) -> Query:
    start = parser.at
    return parser.build(Query, start, query=parser.query())


def _render(self: KsqlGenerator, node: Query) -> str:
    return self.sql(node.query)


RULES = (StatementRule(Query, ("SELECT", "WITH", "VALUES"), _query, _render),)
