"""FROM ERRORS OF: the queries whose errors may be read (beyond ksqlDB)."""

from __future__ import annotations

from ksql_spark.analyzer.failures import failure
from ksql_spark.errors import nearest
from ksql_spark.grammar.nodes import ErrorsOf, Statement
from ksql_spark.statements.context import StatementContext, uses_of


def check_known_queries(statement: Statement, context: StatementContext) -> None:
    """Refuse ERRORS OF an id that no query has, and none had: its log would just be empty.

    A persistent query that has ended keeps its id in the command log, and its errors can be read for as long
    as the processing log keeps them.

    Raises:
        KsqlError: QUERY_UNKNOWN.
    """
    for relation in statement.find_all(ErrorsOf):
        query_id = relation.query_id
        queries = context.services.queries.all()
        known = {*(q.id for q in queries), *(q.id for q in context.queries)}
        if query_id in known or query_id in context.services.commands.query_ids:
            continue
        shown = [q.id for q in queries if uses_of(q).may_be_seen(context.rights)]
        near = nearest(query_id, shown)
        hint = f"Did you mean {near}?" if near else "SHOW QUERIES lists all queries."
        raise failure("QUERY_UNKNOWN", relation, id=query_id, hint=hint)
