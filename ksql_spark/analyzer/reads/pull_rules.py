"""Rules for all pull queries: what they may read, and which clauses they may have (reference §2.5)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlglot import exp

from ksql_spark import __version__
from ksql_spark.analyzer.base import settings
from ksql_spark.analyzer.base.clauses import Refusal
from ksql_spark.analyzer.base.failures import failure, invalid
from ksql_spark.grammar import nodes
from ksql_spark.metastore.sources import DataSource
from ksql_spark.schema import PSEUDO_COLUMNS, ROWTIME

PUSH_HINT = "Add EMIT CHANGES if you intended to issue a push query."
_WINDOW_HINT = "CREATE TABLE ... AS SELECT with a WINDOW creates a table that you can query."
#: the clauses that they cannot have
REFUSED = {
    "WINDOW": Refusal("Pull queries don't support WINDOW clauses.", f"{PUSH_HINT} {_WINDOW_HINT}"),
    "PARTITION BY": Refusal("Pull queries don't support PARTITION BY clauses.", PUSH_HINT),
}
#: the columns that they cannot use, because only records in topics have them, as of Scope.forbidden
DISK_COLUMNS = {
    name: f"Pull queries don't support the following columns in {{clause}} clauses: `{name}`."
    for name in PSEUDO_COLUMNS
    if name != ROWTIME
}


def check_queryable(source: DataSource, node: exp.Expr, config: Mapping[str, Any]) -> None:
    """Refuse streams if that is disabled, and tables that cannot have a view.

    Raises:
        KsqlError: INVALID_STATEMENT.
    """
    if not source.is_table:
        if not settings.flag(config, "ksql.query.pull.stream.enabled"):
            raise invalid("Pull queries on streams are disabled.", node, hint=PUSH_HINT)
        return
    if source.schema.headers:
        raise failure(
            "NOT_DONE_YET", node, what="A pull query on a table with header columns", version=__version__,
            hint="CREATE TABLE ... AS SELECT stores them as values.",
        )  # fmt: skip
    if not settings.is_materialised(source, config):
        raise invalid(
            f"The `{source.name}` table isn't queryable. To derive a queryable table, you can do "
            f"'CREATE TABLE QUERYABLE_{source.name} AS SELECT * FROM {source.name}'.",
            node,
            hint=PUSH_HINT,
        )


def check_query(query: nodes.QueryNode, config: Mapping[str, Any]) -> None:
    """Refuse pull queries and LIMIT where they are disabled, and negative numbers in LIMIT.

    Raises:
        KsqlError: INVALID_STATEMENT.
    """
    if not settings.flag(config, "ksql.pull.queries.enable"):
        raise invalid("Pull queries are disabled.", query, hint=PUSH_HINT)
    if query.limit is None:
        return
    if not settings.flag(config, "ksql.query.pull.limit.clause.enabled"):
        raise invalid(
            "LIMIT clause in pull queries is currently disabled. You can enable them by setting "
            "ksql.query.pull.limit.clause.enabled=true.",
            query,
            hint=PUSH_HINT,
        )
    if query.limit < 0:
        raise invalid(
            f"Pull queries don't support negative integers in the LIMIT clause: {query.limit}.", query
        )
