"""CREATE OR REPLACE … AS SELECT: which parts of a running query may change (reference §2.3)."""

from __future__ import annotations

from dataclasses import replace

from ksql_spark.analyzer.base.failures import Placed, invalid
from ksql_spark.metastore.sources import TABLE, DataSource
from ksql_spark.plan.nodes import (
    Aggregate,
    Deduplicate,
    Expire,
    Filter,
    FlatMap,
    Join,
    MatchRecognize,
    Node,
    Over,
    Project,
    SelectKey,
    Source,
    TopN,
)
from ksql_spark.plan.queries import PersistentQuery
from ksql_spark.plan.trees import walk
from ksql_spark.schema import Schema

#: hints: if some changes are allowed; if none is
RULE = (
    "CREATE OR REPLACE may change the WHERE on the source and append columns to SELECT that use existing "
    "aggregate functions. To change more, DROP it and CREATE it again."
)
ANEW = "DROP it and CREATE it again."


def check_query_replacement(old: PersistentQuery, new: PersistentQuery, node: Placed | None = None) -> None:
    """Refuse a replacement that changes more than the WHERE over the source and appended columns.

    Args:
        old: the running query; its sink's schema, formats and topic have been checked already.
        new: the replacement, which will use its state and offsets.
        node: the statement, for the error's position.

    Raises:
        KsqlError: INVALID_STATEMENT with the part that differs.
    """

    def refuse(reason: str, hint: str = RULE) -> Exception:
        text = f"Cannot upgrade the query that writes `{new.sink.name}`: {reason}"
        return invalid(text, node, hint=f"{hint} {evolve_hint(new.sink)}")

    before, after = old.root, new.root
    if isinstance(before, Expire) and isinstance(after, Expire) and before.ttl_ms == after.ttl_ms:
        before, after = before.child, after.child
    if isinstance(before, Expire) or isinstance(after, Expire):
        raise refuse("TTL cannot change.")
    if not isinstance(before, Project) or not isinstance(after, Project):
        raise refuse("queries with UNION ALL, UNION, EXCEPT or INTERSECT cannot be replaced.", ANEW)
    for part in walk(before.child):
        if isinstance(part, Join):
            raise refuse("queries with joins cannot be replaced.", ANEW)
        if isinstance(part, Aggregate) and part.window_spec is not None:
            raise refuse("windowed aggregations cannot be replaced.", ANEW)
        if isinstance(part, Aggregate) and part.child.kind == "TABLE":
            raise refuse("aggregations of tables cannot be replaced.", ANEW)
    first, second = _fixed_clauses(before.child), _fixed_clauses(after.child)
    if first != second:
        changed = dict.fromkeys(c[0] for c in (*first, *second) if c not in first or c not in second)
        raise refuse(f"{' and '.join(changed)} cannot change.")
    if before.keys != after.keys or after.values[: len(before.values)] != before.values:
        raise refuse("columns of SELECT cannot be changed, removed or reordered.")


def but_for_columns(source: DataSource) -> DataSource:
    """Return the source without what CREATE OR REPLACE may change in it, so that the rest can be compared."""
    return replace(source, schema=Schema(()), statement="", partitions=None, replicas=None)


def _fixed_clauses(node: Node) -> list[tuple[str, object]]:
    """The clauses below SELECT that must not change, by name: all except the WHERE over the source."""
    match node:
        case Source():
            return [("FROM", but_for_columns(node.source))]
        case Filter(Source() as child, _):
            return _fixed_clauses(child)
        case Filter(child, predicate):
            what = "HAVING" if isinstance(child, Aggregate) else "the WHERE over a sub-query"
            own: list[tuple[str, object]] = [(what, predicate)]
        case Aggregate(child):
            own = [
                ("the aggregate functions", node.aggregates),
                ("GROUP BY", node.group_by),
                ("TTL", node.ttl_ms),
                ("whether it has EVERY", node.every_ms is not None),  # its length may change
            ]
        case Deduplicate(child, keys, within_ms):
            own = [("DISTINCT ON or QUALIFY", (keys, within_ms)), _where_part(child)]
        case Over(child, keys, calls, within_ms):
            own = [("OVER", (keys, calls, within_ms)), _where_part(child)]
            if any((call.last or 0) < 0 for call in calls):
                own.append(_columns_part("LEAD", child))
        case MatchRecognize(child, keys, pattern):
            own = [("MATCH_RECOGNIZE", (keys, pattern)), _where_part(child)]
            if pattern.all_rows:
                own.append(_columns_part("ALL ROWS PER MATCH", child))
        case TopN(child, by, order, count, _, limit, ranks):
            own = [("QUALIFY", (by, order, count, limit, ranks)), _where_part(child)]
            own.append(_columns_part("QUALIFY", child))
        case FlatMap(child, functions):
            own = [("the table functions", functions)]
        case SelectKey(child, keys):
            own = [("PARTITION BY", keys)]
        case Project(child):
            own = [("the sub-query", (node.keys, node.values))]
        case _:
            return [("FROM", node)]
    return [*own, *_fixed_clauses(child)]


def _where_part(node: Node) -> tuple[str, object]:
    """The WHERE below DISTINCT ON and OVER, which decides in which task a row is (is NULL excluded?)."""
    return ("the WHERE", node.predicate if isinstance(node, Filter) else None)


def _columns_part(clause: str, node: Node) -> tuple[str, object]:
    """The columns of whole rows in the state, which may have been added to the source."""
    return (f"the columns of the rows that {clause} keeps", node.schema)


#: the end of errors about replacements; EXPLAIN EVOLUTION leaves it out of its own answer
EVOLUTION_TELLS = ": EXPLAIN EVOLUTION tells how."


def evolve_hint(sink: DataSource) -> str:
    """Return the hint how to change more of the query that writes a stream or table."""
    history = "" if sink.kind == TABLE else ", HISTORY = 'keep'"
    return f"WITH (EVOLVE = 'backfill'{history}) changes more{EVOLUTION_TELLS}"


__all__ = ["EVOLUTION_TELLS", "but_for_columns", "check_query_replacement", "evolve_hint"]
