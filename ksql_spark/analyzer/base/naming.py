"""Names of columns that a query does not name (reference §2.2)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from sqlglot import exp

from ksql_spark.analyzer.base.failures import failure, invalid
from ksql_spark.errors import KsqlError
from ksql_spark.expressions import ColumnRef, Expression
from ksql_spark.grammar import nodes
from ksql_spark.schema import RESERVED_COLUMNS


class Names:
    """Generates column names that no source column has.

    ``names``: the names of all columns of the query's sources.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._names = set(names)
        self._next = 0

    def generated(self) -> str:
        """The next of KSQL_COL_0, KSQL_COL_1 … that is not in use."""
        while (name := f"KSQL_COL_{self._next}") in self._names:
            self._next += 1
        self._next += 1
        return name

    def field(self, name: str) -> str:
        """``name`` of a STRUCT field, with _1, _2 … if it is in use."""
        free = first_free(name, self._names)
        self._names.add(free)
        return free


def first_free(name: str, names: Iterable[str]) -> str:
    """``name``, or the first of name_1, name_2 … that is not in ``names``."""
    used = set(names)
    if name not in used:
        return name
    n = 1
    while f"{name}_{n}" in used:
        n += 1
    return f"{name}_{n}"


def check_unique(names: Sequence[str], nodes: Sequence[exp.Expr | None]) -> None:
    """Refuse a projection with two columns of the same name; ``nodes``: their syntax nodes."""
    seen: set[str] = set()
    for name, node in zip(names, nodes, strict=True):
        if name in seen:
            raise invalid(
                f"The projection contains more than one column called `{name}`.", node,
                hint="Give one of them another name with AS.",
            )  # fmt: skip
        seen.add(name)


def reserved_alias(name: str, node: exp.Expr) -> KsqlError:
    """COLUMN_RESERVED for an alias that is the name of a pseudo column."""
    what = "You cannot use it as an alias for a column."
    return failure("COLUMN_RESERVED", node, name=f"`{name}`", what=what)


def item_name(
    node: nodes.SelectItem,
    bound: Expression,
    names: Names,
    is_ambiguous: Callable[[str], bool] = lambda name: False,
    *,
    is_free: bool = False,
) -> str:
    """The name of a result column: its alias, the column's or field's own name, or a generated one.

    Args:
        node: the SELECT item.
        bound: its expression.
        names: generates names.
        is_ambiguous: whether several sources have a column of that name; the result then has the unique one.
        is_free: whether an alias may be the name of a pseudo column, as for PostgreSQL's clients.

    Raises:
        KsqlError: COLUMN_RESERVED.
    """
    written: exp.Expr = node.this
    while isinstance(written, exp.Paren):
        written = written.this
    own = written.name if isinstance(written, exp.Column) and isinstance(bound, ColumnRef) else None
    alias = node.alias_name
    if alias is not None:
        if alias in RESERVED_COLUMNS and alias != own and not is_free:
            raise reserved_alias(alias, node)
        return alias
    if own is not None and isinstance(bound, ColumnRef):
        return bound.name if is_ambiguous(own) else own
    if isinstance(written, nodes.Dereference):
        return names.field(written.field_name)
    return names.generated()
