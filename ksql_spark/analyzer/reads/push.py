"""Push queries: SELECT … EMIT (reference §2.5)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ksql_spark.analyzer.base.clauses import Refusal, check_clauses
from ksql_spark.analyzer.base.failures import invalid
from ksql_spark.analyzer.base.serialization import check_results
from ksql_spark.analyzer.expressions.intervals import at_intervals
from ksql_spark.analyzer.select.projections import project
from ksql_spark.analyzer.select.queries import KEYED, bind_any, make_context
from ksql_spark.analyzer.select.selects import bind_select
from ksql_spark.grammar import nodes
from ksql_spark.metastore.store import MetaStore
from ksql_spark.plan.queries import Feed
from ksql_spark.schema import Column

_RULES = replace(KEYED, needs_keys=False)
_REFUSED = {
    "ORDER BY": Refusal(
        "ORDER BY is not supported in push queries, because a stream never ends.",
        "Remove EMIT to get a pull query, which can sort; or use TOPK(...) in a window.",
        is_at_clause=True,
    ),
    "OFFSET": Refusal(
        "OFFSET is only supported in pull queries: rows of a stream have no numbers.",
        "Remove OFFSET, or remove EMIT to get a pull query.",
    ),
}


def bind_feed(query: nodes.QueryNode, metastore: MetaStore, config: Mapping[str, Any]) -> Feed:
    """The feed of a SELECT with EMIT.

    Raises:
        KsqlError: the first rule that is broken, with its position.
    """
    check_clauses(query, _REFUSED)
    if query.limit is not None and query.limit < 0:
        raise invalid(f"LIMIT must not be negative, got {query.limit}.", query)
    if isinstance(query, nodes.SetOperation):
        planned = bind_any(query, make_context(metastore, config), None)
        types = {c.name: c.type for c in planned.root.schema.columns}
        output = tuple(Column(i.name, types[i.name]) for i in planned.select.items if i.name in types)
        check_results(output, query)
        return Feed(planned.root, output, query.limit)
    assert isinstance(query, nodes.Select)
    bound = bind_select(query, make_context(metastore, config, _RULES), query.emit)
    projected = project(bound, query, None, needs_key=False)
    output = tuple(Column(i.name, i.expression.type) for i in projected.items)
    check_results(output, query)
    return Feed(at_intervals(projected.root, query), output, query.limit)
