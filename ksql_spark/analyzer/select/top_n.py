"""QUALIFY ROW_NUMBER() OVER (…) <= n: a table of the best rows of each group (reference §6.15).

Beyond ksqlDB; RANK and DENSE_RANK too. The first row of each group by arrival is a stream instead
(deduplication.py).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from ksql_spark.analyzer.base.clauses import RANKING
from ksql_spark.analyzer.base.failures import invalid
from ksql_spark.analyzer.base.scope import Scope
from ksql_spark.analyzer.expressions.binding import bind_expression
from ksql_spark.analyzer.relations.binding import From
from ksql_spark.analyzer.select.deduplication import bind_keys, check_plain, is_rowtime, row_number
from ksql_spark.expressions import ColumnRef, Expression, Literal
from ksql_spark.grammar import nodes
from ksql_spark.metastore.sources import TABLE
from ksql_spark.plan.clauses import SortKey
from ksql_spark.plan.nodes import ROW_NUMBER
from ksql_spark.types import BIGINT, Decimal, Primitive

#: the column with a row's place
PLACE = f"KSQL_{ROW_NUMBER}"
#: the most rows of a group: its state has all of them, and each new row is compared with them
MAX_ROWS = 1000


@dataclass(frozen=True)
class Ranking:
    """The best rows of each group.

    Args:
        keys: PARTITION BY, over the columns of FROM.
        order: ORDER BY, over the columns of FROM.
        count: how many rows.
        limit: the function in QUALIFY.
        place: the call in QUALIFY.
        functions: those that SELECT uses.
    """

    keys: tuple[Expression, ...]
    order: tuple[SortKey, ...]
    count: int
    limit: str
    place: nodes.WindowFunction
    functions: set[str] = field(default_factory=set)

    @property
    def rank(self) -> str:
        """The column with a row's place; empty if there is one row only."""
        return PLACE if self.count > 1 or self.limit != ROW_NUMBER else ""

    @property
    def ranks(self) -> bool:
        """Whether there are columns with RANK and DENSE_RANK."""
        return bool(self.rank and self.functions - {ROW_NUMBER})

    def bind(self, node: nodes.WindowFunction, scope: Scope) -> Expression:
        """A ROW_NUMBER, RANK or DENSE_RANK of SELECT; the ``window_function`` rule of scopes.

        Raises:
            KsqlError: INVALID_STATEMENT for any other call with OVER.
        """
        inside = replace(scope.at("OVER"), window_function=None)
        name = node.this.name
        is_same = name in RANKING and (
            node is self.place
            or (bind_keys(node.partition_by, inside), _order(node, inside)) == (self.keys, self.order)
        )
        if not is_same:
            raise invalid(
                f"With QUALIFY, SELECT can only have {', '.join(RANKING)} with the same OVER (…).", node,
                hint="Put the other one into a sub-query in FROM.",
            )  # fmt: skip
        check_plain(node)
        self.functions.add(name)
        return ColumnRef(f"KSQL_{name}", BIGINT) if self.rank else Literal(1, BIGINT)


def bind_ranking(select: nodes.Select, source: From) -> Ranking | None:
    """Bind QUALIFY of ``select`` as a Top-N; return None if it is de-duplication, or missing.

    Raises:
        KsqlError: INVALID_STATEMENT, or as bind_expression.
    """
    if select.qualify is None or select.distinct_on:
        return None
    function, count = row_number(select)
    limit, is_table = function.this.name, source.tree.kind == TABLE
    is_first = limit == ROW_NUMBER and count == 1 and len(function.order_by) == 1
    if is_first and not is_table and is_rowtime(function.order_by[0], source):
        return None
    if not is_table and any(relation.window for relation in source.relations):
        raise invalid("QUALIFY of a windowed stream cannot be a table.", select.qualify)
    if select.within is not None:
        raise invalid("WITHIN is for the first row of each key: n best rows are kept forever.", select.within)
    if count > MAX_ROWS:
        raise invalid(f"At most {MAX_ROWS} rows of each group can be kept.", select.qualify)
    scope = source.scope.at("QUALIFY")
    return Ranking(bind_keys(function.partition_by, scope), _order(function, scope), count, limit, function)


def _order(function: nodes.WindowFunction, scope: Scope) -> tuple[SortKey, ...]:
    keys = []
    for item in function.order_by:
        bound = bind_expression(item.this, scope)
        if not isinstance(bound.type, Primitive | Decimal):
            raise invalid(f"{scope.clause} cannot order values of type {bound.type}.", item)
        keys.append(SortKey(bound, item.descending, item.nulls == "FIRST"))
    return tuple(keys)
