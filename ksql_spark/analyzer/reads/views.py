"""CREATE VIEW: checks the SELECT that the view will stand for (beyond ksqlDB)."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from ksql_spark.analyzer.base.failures import invalid, within_statement
from ksql_spark.analyzer.reads.batch import bind_batch
from ksql_spark.analyzer.select.queries import bind_query
from ksql_spark.errors import KsqlError
from ksql_spark.grammar.statements.views import CreateView
from ksql_spark.metastore.store import MetaStore


def check_view(statement: CreateView, metastore: MetaStore, config: Mapping[str, Any]) -> None:
    """Refuse a view that neither a pull query nor a streaming query could read.

    Raises:
        KsqlError: the first rule of pull queries that its SELECT breaks, with its position.
    """
    with within_statement(statement):
        if statement.query.emit is not None:
            raise invalid(
                "A view has no EMIT: each query that reads it says whether it is a push query.",
                statement.query, hint="Leave out EMIT.",
            )  # fmt: skip
        try:
            bind_batch(statement.query, metastore, config)
        except KsqlError:
            with suppress(KsqlError):
                bind_query(statement.query, metastore, config)
                return
            raise
