"""Views in FROM: names for SELECTs, which take their place (beyond ksqlDB)."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import contextmanager

from ksql_spark import grammar
from ksql_spark.analyzer.base.failures import invalid
from ksql_spark.errors import KsqlError
from ksql_spark.grammar import nodes
from ksql_spark.grammar.statements.queries import Query


@functools.lru_cache(1000)
def query_of(text: str) -> nodes.QueryNode:
    """The query of a view."""
    statement = grammar.parse_one(text, substitution=False)
    assert isinstance(statement, Query)
    return statement.query


@contextmanager
def in_view(at: nodes.Relation) -> Iterator[None]:
    """Place errors of a view's query at its name in FROM: their own places are in the view's text."""
    try:
        yield
    except KsqlError as error:
        assert isinstance(at, nodes.AliasedSource)
        raise invalid(f"View {at.source_name}: {error.without_context().message}", at) from None
