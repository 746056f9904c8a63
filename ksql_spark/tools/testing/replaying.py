"""Which tests give the same when their queries begin after all rows, and read them at once.

That is so where the results depend on the records alone. So a test is left out where

* something else decides what comes out: the clock, chance, where a query starts to read, or that a query was
  stopped, replaced or dropped halfway;
* a join meets records that did not come in the order of their times: live they met in the order in which they
  came, in the replay they meet in that of their times;
* several partitions are regrouped, and the order in which they are read shows.

It is pure: statements in, an answer out.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ksql_spark import grammar
from ksql_spark.grammar.nodes import AliasedSource, Join, Select, Statement, property_values
from ksql_spark.grammar.statements.inserts import InsertSelect, InsertValues
from ksql_spark.grammar.statements.lifecycle import QueryControl
from ksql_spark.grammar.statements.session import SetProperty, UnsetProperty
from ksql_spark.grammar.statements.sources import AlterSource, CreateAsSelect, CreateSource, DropSource
from ksql_spark.tools.testing.files import SqlTest

#: not of the records alone
_DEPENDS = re.compile(
    r"idle\.window\.timeout|latest|\bSTART\s*=|\bORDER\s*=|PROCESSING_LOG|\b(NOW|UNIX_\w+|CURRENT_\w+|UUID|RANDOM)\b",
    re.IGNORECASE,
)
#: aggregates that the order of rows shows in
_ORDERED = re.compile(r"\b(LATEST_\w+|EARLIEST_\w+|COLLECT_\w+|TOPK\w*|HISTOGRAM)\b", re.IGNORECASE)


def may_be_replayed(test: SqlTest, statements: Sequence[Statement], is_in_order: bool) -> bool:
    """Whether a test gives the same when its queries begin after all rows.

    Args:
        test: the test.
        statements: those of it that are carried out.
        is_in_order: whether no row is written with an earlier time than one before it.
    """
    declared = {node.name: node for node in statements if isinstance(node, CreateSource)}
    queries = [node for node in statements if isinstance(node, CreateAsSelect)]
    return (
        _is_plain(statements)
        and not any(_DEPENDS.search(part.text) for part in test.statements)
        and all(_is_determined(query, declared, is_in_order) for query in queries)
    )


def _is_plain(statements: Sequence[Statement]) -> bool:
    """Every query runs from its statement to the end, and it alone writes its sink."""
    sinks = {s.name for s in statements if isinstance(s, CreateAsSelect)}
    has_query = False
    for statement in statements:
        match statement:
            case QueryControl() | InsertSelect() | AlterSource() | DropSource():
                return False
            case CreateSource(or_replace=True) | CreateAsSelect(or_replace=True):
                return False
            case CreateSource() if has_query:
                return False  # its topic may be the query's
            case SetProperty() | UnsetProperty() if has_query:
                return False  # the queries would run with the properties of the end
            case InsertValues() if statement.name in sinks:
                return False
            case CreateAsSelect():
                has_query = True
    return True


def _is_determined(query: CreateAsSelect, declared: dict[str, CreateSource], is_in_order: bool) -> bool:
    """Whether the order in which the query's topics are read does not show in what it writes."""
    names = {source.source_name for source in query.query.find_all(AliasedSource)}
    is_join = query.query.find(Join) is not None
    if is_join and not (names <= set(declared) and is_in_order):
        return False
    is_single = all(
        name in declared and property_values(declared[name].properties).get("PARTITIONS") == 1
        for name in names
    )
    regroups = any(select.group_by for select in query.query.find_all(Select))
    if not regroups or is_single:
        return True
    is_windowed = any(select.window is not None for select in query.query.find_all(Select))
    return not is_windowed and not _ORDERED.search(grammar.render(query))
