"""The SELECT that a view stands for (beyond ksqlDB)."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from ksql_spark.analyzer.base.failures import invalid, within_statement
from ksql_spark.analyzer.reads.batch import bind_batch
from ksql_spark.analyzer.relations.views import query_of
from ksql_spark.analyzer.select.queries import bind_query
from ksql_spark.errors import KsqlError
from ksql_spark.grammar import nodes
from ksql_spark.grammar.statements.views import CreateView
from ksql_spark.metastore.store import MetaStore
from ksql_spark.schema import Column


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
        _columns(statement.query, metastore, config)


def view_columns(name: str, metastore: MetaStore, config: Mapping[str, Any]) -> tuple[Column, ...]:
    """The columns of the view ``name``; none if it lacks a source by now."""
    with suppress(KsqlError):
        return _columns(query_of(metastore.views()[name]), metastore, config)
    return ()


def _columns(query: nodes.QueryNode, metastore: MetaStore, config: Mapping[str, Any]) -> tuple[Column, ...]:
    try:
        return bind_batch(query, metastore, config).schema.columns
    except KsqlError:
        with suppress(KsqlError):
            return bind_query(query, metastore, config).schema.columns
        raise
