"""Reads: a SELECT whose rows go to a client is a look-up, a feed or a job (reference §2.5, ADR 71).

Whatever answers, explains or checks a SELECT asks ``bind_read`` which of them it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ksql_spark.analyzer.base.failures import within_statement
from ksql_spark.analyzer.base.settings import check_lambdas
from ksql_spark.analyzer.reads.batch import bind_batch, job_of, key_names
from ksql_spark.analyzer.reads.index_lookups import find_index
from ksql_spark.analyzer.reads.lookups import check_key_values, check_scan, find_lookups
from ksql_spark.analyzer.reads.past import bind_past
from ksql_spark.analyzer.reads.push import bind_feed
from ksql_spark.grammar import nodes
from ksql_spark.metastore.store import MetaStore
from ksql_spark.plan.nodes import Filter, Limit, Node, Project, Source
from ksql_spark.plan.queries import Lookup, Read
from ksql_spark.plan.trees import sub_queries, walk


def bind_read(query: nodes.QueryNode, metastore: MetaStore, config: Mapping[str, Any]) -> Read:
    """What answers a SELECT.

    Args:
        query: the query; with EMIT it is a feed.
        metastore: the streams, tables and types.
        config: the effective properties.

    Raises:
        KsqlError: the first rule that is broken, with its position.
    """
    with within_statement(query):
        check_lambdas(query, config)
        if query.emit is not None:
            return bind_feed(query, metastore, config)
        if query.find(nodes.PastSource) is not None:
            return bind_past(query, metastore, config)
        root = bind_batch(query, metastore, config)
        return _lookup(root, query, metastore, config) or job_of(root, query, metastore, config)


def _lookup(
    root: Node, query: nodes.QueryNode, metastore: MetaStore, config: Mapping[str, Any]
) -> Lookup | None:
    """The look-up of a query whose rows each come from one row of a table; None for any other query."""
    below, limit = (root.child, root) if isinstance(root, Limit) else (root, None)
    if not isinstance(below, Project):
        return None
    items, below = below.values, below.child
    below, predicate = (below.child, below.predicate) if isinstance(below, Filter) else (below, None)
    if not isinstance(below, Source) or any(map(sub_queries, walk(root))):
        return None
    assert isinstance(query, nodes.Select)  # set operations and sub-queries have other plans
    source = below.source
    if predicate is not None:
        assert query.where is not None
        check_key_values(predicate, source, query.where, config)
    if not source.is_table:
        return None
    lookups = None if predicate is None else find_lookups(predicate, source)
    index = find_index(predicate, source, metastore) if lookups is None else None
    if index is None:
        check_scan(predicate, source, query, config)
    return Lookup(
        source,
        lookups,
        predicate,
        items,
        key_names(root),
        None if limit is None else limit.limit,
        None if limit is None else limit.offset or None,
        index,
    )


__all__ = ["bind_read"]
