"""OLD(x) and NEW(x) in FROM: the rows of both versions of a table, for VERIFY (beyond ksqlDB, ADR 54)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from sqlglot import exp

from ksql_spark import grammar
from ksql_spark.analyzer.batch import bind_batch
from ksql_spark.analyzer.failures import invalid
from ksql_spark.errors import KsqlError
from ksql_spark.grammar import nodes
from ksql_spark.grammar.errors import ParseFailed
from ksql_spark.grammar.statements.queries import Query
from ksql_spark.logical.nodes import BatchQuery
from ksql_spark.metastore.sources import DataSource
from ksql_spark.metastore.store import MetaStore

#: the names of the two versions
OLD, NEW = "OLD", "NEW"
#: what an administrator forbids to clients does not concern VERIFY, which reads both tables anyway
_ALLOWED = {"ksql.query.pull.table.scan.enabled": True, "ksql.pull.queries.enable": True}


class _Allowing(dict[str, Any]):
    """The properties, with those above."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        super().__init__(_ALLOWED)
        self._config = config

    def __missing__(self, name: str) -> Any:
        return self._config[name]


def bind_verification(
    text: str, versions: Mapping[str, DataSource], metastore: MetaStore, config: Mapping[str, Any]
) -> BatchQuery:
    """The SELECT of VERIFY; its sources are called OLD and NEW.

    Args:
        text: the SELECT.
        versions: OLD and NEW, each with the table as it is then.
        metastore: has the types.
        config: effective properties.

    Raises:
        KsqlError: it is no SELECT over OLD(x) and NEW(x), or it is invalid.
    """
    table = versions[OLD].name
    try:
        statement = grammar.parse_one(f"{text.rstrip().removesuffix(';')};", substitution=False)
        if not isinstance(statement, Query) or statement.query.emit is not None:
            raise invalid("Expected a SELECT without EMIT.", None)
        named = {common.table_name for common in statement.find_all(nodes.CommonTable)}
        for relation in [*statement.find_all(nodes.AliasedSource, nodes.ErrorsOf)]:
            is_past = isinstance(relation, nodes.PastSource)
            if is_past and relation.source_name != table:
                raise invalid(f"Expected OLD({table}) and NEW({table}) in FROM.", None)
            if not is_past and (isinstance(relation, nodes.ErrorsOf) or relation.source_name not in named):
                raise invalid(f"It may only read OLD({table}) and NEW({table}).", None)
        sources = {which: replace(source, name=which) for which, source in versions.items()}
        known = with_sources(metastore, sources.values())
        return bind_batch(_renamed(statement.query), known, _Allowing(config))
    except (KsqlError, ParseFailed) as error:
        reason = error.parameters.get("reason", error.message) if isinstance(error, KsqlError) else error
        raise KsqlError("INVALID_STATEMENT", reason=f"VERIFY: {reason}") from None


def _renamed(query: nodes.QueryNode) -> nodes.QueryNode:
    for relation in [*query.find_all(nodes.PastSource)]:
        name = exp.to_identifier(relation.which, quoted=True)
        relation.replace(nodes.AliasedSource(this=name, alias_identifier=relation.alias_identifier))
    return query


def with_sources(metastore: MetaStore, sources: Iterable[DataSource]) -> MetaStore:
    """A copy of the metastore with these sources in place of those with their names."""
    copy = metastore.copy()
    for source in sources:
        copy.add(source)
    return copy


__all__ = ["NEW", "OLD", "bind_verification"]
