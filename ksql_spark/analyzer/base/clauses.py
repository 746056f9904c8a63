"""Clauses that some queries cannot have, and what is said of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ksql_spark.analyzer.base.failures import invalid
from ksql_spark.grammar import nodes
from ksql_spark.plan.nodes import DENSE_RANK, RANK, ROW_NUMBER

#: functions of a row's number in its group
RANKING = (ROW_NUMBER, RANK, DENSE_RANK)
#: advice to who writes one of them where it is not allowed
BEST_ROWS = (
    "For a table of the best rows of each group: "
    "SELECT … QUALIFY ROW_NUMBER() OVER (PARTITION BY … ORDER BY …) <= n."
)

#: clause -> the field of a query's node
_FIELDS = {
    "WITH": "ctes",
    "DISTINCT": "distinct",
    "DISTINCT ON": "distinct_on",
    "WINDOW": "window",
    "GROUP BY": "group_by",
    "PARTITION BY": "partition_by",
    "HAVING": "having",
    "QUALIFY": "qualify",
    "ORDER BY": "order_by",
    "EMIT": "emit",
    "LIMIT": "limit",
    "OFFSET": "offset",
}


@dataclass(frozen=True)
class Refusal:
    """What is said of a clause.

    Args:
        reason: why a query cannot have it.
        hint: what to do instead.
        is_at_clause: whether the error is at the clause; else it is at the query.
    """

    reason: str
    hint: str | None = None
    is_at_clause: bool = False


#: of sub-queries in FROM
IN_SUB_QUERIES = {
    clause: Refusal(f"{clause} is not allowed in a sub-query.", f"Move {clause} to the end.")
    for clause in ("EMIT", "LIMIT", "OFFSET", "ORDER BY")
}


def check_clauses(query: nodes.QueryNode, refused: Mapping[str, Refusal]) -> None:
    """Refuse the first of the clauses ``refused`` that ``query`` has.

    Raises:
        KsqlError: INVALID_STATEMENT.
    """
    for clause, refusal in refused.items():
        clause_node = getattr(query, _FIELDS[clause], None)
        if clause_node is None or clause_node is False or clause_node == []:
            continue
        at = clause_node[0] if isinstance(clause_node, list) else clause_node
        raise invalid(refusal.reason, at if refusal.is_at_clause else query, hint=refusal.hint)
