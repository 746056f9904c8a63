"""Tables in FROM as they are not now (beyond ksqlDB): AS OF and CHANGES (ADR 58), and OLD(x) and NEW(x), both
versions of a table, for VERIFY (ADR 54)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from sqlglot import exp

from ksql_spark import grammar
from ksql_spark.analyzer.base import offset_text, timestamp_text
from ksql_spark.analyzer.base.failures import invalid, place
from ksql_spark.analyzer.reads.batch import bind_batch, job_of
from ksql_spark.analyzer.reads.pull_rules import check_queryable
from ksql_spark.config import Config
from ksql_spark.errors import KsqlError
from ksql_spark.grammar import nodes
from ksql_spark.grammar.errors import ParseFailed
from ksql_spark.grammar.statements.queries import Query
from ksql_spark.metastore.sources import DataSource
from ksql_spark.metastore.store import MetaStore
from ksql_spark.plan.queries import Job, Past

_Rows = TypeVar("_Rows")
#: the names of the two versions
OLD, NEW = "OLD", "NEW"
#: settings for VERIFY, which reads both tables even if an administrator forbids that to clients
_ALLOWED = {"ksql.query.pull.table.scan.enabled": True, "ksql.pull.queries.enable": True}


def bind_verification(
    text: str, versions: Mapping[str, DataSource], metastore: MetaStore, config: Config
) -> Job:
    """Bind the SELECT of VERIFY; for the names of its sources see rows_by_source.

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
        for relation in statement.find_all(nodes.AliasedSource):
            is_past = isinstance(relation, nodes.PastSource) and relation.which in (OLD, NEW)
            if is_past and relation.source_name != table:
                raise invalid(f"Expected OLD({table}) and NEW({table}) in FROM.", None)
            if not is_past and relation.source_name not in named:
                raise invalid(f"It may only read OLD({table}) and NEW({table}).", None)
        if statement.find(nodes.LogOf) is not None:
            raise invalid(f"It may only read OLD({table}) and NEW({table}).", None)
        sources = (replace(source, name=_unique(which)) for which, source in versions.items())
        extended = with_sources(metastore, sources)
        allowed, query = config.with_values(_ALLOWED), _renamed(statement.query)
        return job_of(bind_batch(query, extended, allowed), query, extended, allowed)
    except (KsqlError, ParseFailed) as error:
        reason = error.parameters.get("reason", error.message) if isinstance(error, KsqlError) else error
        raise KsqlError("INVALID_STATEMENT", reason=f"VERIFY: {reason}") from None


def _renamed(query: nodes.QueryNode) -> nodes.QueryNode:
    for relation in [*query.find_all(nodes.PastSource)]:
        _replace(relation, _unique(relation.which))
    return query


def _unique(which: str) -> str:
    """The name of a version as a source; a WITH cannot define it."""
    return f"{which}()"


def rows_by_source(rows: Mapping[str, _Rows]) -> dict[str, _Rows]:
    """The rows of OLD and NEW by the names that bind_verification gives to its sources."""
    return {_unique(which): some for which, some in rows.items()}


def _replace(relation: nodes.PastSource, name: str) -> None:
    alias = relation.alias_identifier or exp.to_identifier(relation.alias_name, quoted=True)
    this = exp.to_identifier(name, quoted=True)
    relation.replace(nodes.AliasedSource(this=this, alias_identifier=alias))


def bind_past(query: nodes.QueryNode, metastore: MetaStore, config: Mapping[str, Any]) -> Job:
    """A SELECT that reads tables' past.

    Raises:
        KsqlError: a stream; a moment that is none; those of other jobs.
    """
    copy = query.copy()
    past_by_name = {}
    common = {table.table_name for table in copy.find_all(nodes.CommonTable)}
    for relation in [*copy.find_all(nodes.PastSource)]:
        if relation.source_name in common:
            reason = f"{relation.source_name} is a table of WITH here, which has no past."
            raise invalid(reason, relation, hint="Give the one of WITH another name.")
        past = _past(relation, metastore, config)
        name = f"{past.table.name} {past.first_ms} {past.last_ms} {past.position}"
        past_by_name[name] = past
        _replace(relation, name)
    sources = (replace(past.table, name=name) for name, past in past_by_name.items())
    extended = with_sources(metastore, sources)
    return job_of(bind_batch(copy, extended, config), copy, extended, config, past_by_name)


def _past(relation: nodes.PastSource, metastore: MetaStore, config: Mapping[str, Any]) -> Past:
    table = metastore.require(relation.source_name, place(relation))
    if relation.which in (OLD, NEW):
        raise invalid(f"{relation.which}({table.name}) is for VERIFY only.", relation)
    if not table.is_table:
        hint = "Its records are its past: SELECT ... WHERE ROWTIME BETWEEN ... AND ..."
        raise invalid(f"{relation.which} is for tables, and {table.name} is a stream.", relation, hint=hint)
    check_queryable(table, relation, config)  # here it still has the name that users know
    if table.envelope is not None:
        hint = f"CREATE TABLE ... AS SELECT * FROM {table.name} has its rows in a topic of its own."
        reason = f"{relation.which} reads rows, and the topic of {table.name} holds envelopes."
        raise invalid(reason, relation, hint=hint)
    if relation.position is not None:
        return Past(table, None, None, _position(relation.position), place(relation.position))
    moment_nodes = relation.moments or []
    moments = [moment_ms(moment) for moment in moment_nodes]
    return Past(table, moments[0] if len(moments) > 1 else None, moments[-1], place=place(moment_nodes[0]))


def _position(node: exp.Expr) -> dict[int, int]:
    text = str(node.this)
    offsets = offset_text.offsets(text)
    if offsets is None:
        hint = "'0:120,1:77' counts the records before offset 120 of partition 0 and 77 of partition 1."
        raise invalid(f"Expected partition:offset, for each partition once, got '{text}'.", node, hint=hint)
    return offsets


def moment_ms(node: exp.Expr) -> int:
    """A moment as a statement has it, in epoch milliseconds.

    Raises:
        KsqlError: INVALID_STATEMENT if it is none.
    """
    if isinstance(node, nodes.IntegerLiteral):
        return node.value
    ms = timestamp_text.epoch_ms(str(node.this))
    if ms is None:
        reason = f"Expected an ISO 8601 time or milliseconds since 1970, got '{node.this}'."
        raise invalid(reason, node, hint=timestamp_text.advice(str(node.this), "TIMESTAMP"))
    return ms


def with_sources(metastore: MetaStore, sources: Iterable[DataSource]) -> MetaStore:
    """A copy of the metastore with these sources in place of those with their names."""
    copy = metastore.copy()
    for source in sources:
        copy.add(source)
    return copy


__all__ = ["NEW", "OLD", "bind_past", "bind_verification", "moment_ms", "rows_by_source"]
