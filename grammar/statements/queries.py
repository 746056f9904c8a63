"""A SELECT that stands alone: push and pull queries (reference §2.5)."""

from __future__ import annotations

from grammar.nodes import Arg, QueryNode, Statement


class Query(Statement):
    """SELECT …;"""

    query = Arg[QueryNode](required=True)
