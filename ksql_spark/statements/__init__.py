"""Statements: one handler per statement class, in one table, which the modules imported here fill.

A handler validates a statement in a sandbox and returns an action; see statements.base.context.
"""

from __future__ import annotations

from ksql_spark.errors import KsqlError
from ksql_spark.grammar.nodes import Statement
from ksql_spark.grammar.statements.describe import Explain
from ksql_spark.grammar.statements.inserts import InsertSelect
from ksql_spark.grammar.statements.sources import CreateAsSelect
from ksql_spark.statements.administration import session, unexecuted  # noqa: F401
from ksql_spark.statements.answers import asserts, explain, show  # noqa: F401
from ksql_spark.statements.base import describe  # noqa: F401
from ksql_spark.statements.base.context import (
    Action,
    Immediate,
    Logged,
    Outcome,
    Prepared,
    Services,
    Starts,
    StatementContext,
    StoredQuery,
    ThisServer,
)
from ksql_spark.statements.base.handlers import HANDLERS
from ksql_spark.statements.definitions import (  # noqa: F401
    comments,
    connectors,
    describe_evolution,
    functions,
    indexes,
    sinks,
    sources,
    swaps,
    types,
    versions,
    views,
)
from ksql_spark.statements.queries import lifecycle  # noqa: F401
from ksql_spark.statements.rows import (  # noqa: F401
    effects,
    failed_records,
    forgetting,
    inserts,
    reprocessing,
    row_changes,
    tracing,
)


def handle(statement: Statement, context: StatementContext) -> Action:
    """The action of ``statement``; changes the sandbox as the action will change the engine.

    Raises:
        KsqlError: the statement is invalid.
    """
    if isinstance(statement, (CreateAsSelect, Explain, InsertSelect)) and not context.is_replay:
        failed_records.check_known_queries(statement, context)
    missing = context.services.commands.missing
    if not missing:
        return HANDLERS[type(statement)](statement, context)
    if not context.is_replay:
        unexecuted.check_free(statement, context)
        unexecuted.check_unused(statement, context)
    try:
        return unexecuted.give_up(statement, context) or HANDLERS[type(statement)](statement, context)
    except KsqlError as error:
        unexecuted.explain(error, missing)
        raise


__all__ = [
    "HANDLERS",
    "Action",
    "Immediate",
    "Logged",
    "Outcome",
    "Prepared",
    "Services",
    "Starts",
    "StatementContext",
    "StoredQuery",
    "ThisServer",
    "failed_records",
    "functions",
    "handle",
    "unexecuted",
]
