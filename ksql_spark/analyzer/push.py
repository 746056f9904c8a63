"""Push queries: SELECT … EMIT (reference §2.5)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ksql_spark.analyzer.failures import invalid
from ksql_spark.analyzer.intervals import at_intervals
from ksql_spark.analyzer.projections import project
from ksql_spark.analyzer.queries import bind_any, make_context
from ksql_spark.analyzer.selects import Target, bind_select
from ksql_spark.analyzer.serialization import check_results
from ksql_spark.grammar import nodes
from ksql_spark.metastore.store import MetaStore
from ksql_spark.plan.nodes import Feed
from ksql_spark.schema import Column


def bind_feed(query: nodes.QueryNode, metastore: MetaStore, config: Mapping[str, Any]) -> Feed:
    """The feed of a SELECT with EMIT.

    Raises:
        KsqlError: the first rule that is broken, with its position.
    """
    if query.order_by:
        raise invalid(
            "ORDER BY is not supported in push queries, because a stream never ends.", query.order_by[0],
            hint="Remove EMIT to get a pull query, which can sort; or use TOPK(...) in a window.",
        )  # fmt: skip
    if query.offset is not None:
        raise invalid(
            "OFFSET is only supported in pull queries.", query, hint="Remove EMIT to get a pull query."
        )
    if query.limit is not None and query.limit < 0:
        raise invalid(f"LIMIT must not be negative, got {query.limit}.", query)
    context = make_context(metastore, config)
    if isinstance(query, nodes.SetOperation):
        planned = bind_any(query, context, None)
        types = {c.name: c.type for c in planned.root.schema.columns}
        output = tuple(Column(i.name, types[i.name]) for i in planned.select.items if i.name in types)
        check_results(output, query)
        return Feed(planned.root, output, query.limit)
    assert isinstance(query, nodes.Select)
    bound = bind_select(query, context, Target.PUSH, query.emit)
    projected = project(bound, query, None, needs_key=False)
    output = tuple(Column(i.name, i.expression.type) for i in projected.items)
    check_results(output, query)
    return Feed(at_intervals(projected.root, query), output, query.limit)
