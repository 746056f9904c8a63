"""Projections: which output columns are the key, and the rules for that (reference §2.2)."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from ksql_spark.analyzer.base.failures import failure, invalid
from ksql_spark.analyzer.base.naming import check_unique
from ksql_spark.analyzer.relations.joins import Joined
from ksql_spark.analyzer.select.select_items import Item
from ksql_spark.analyzer.select.selects import BoundSelect, KeySlot
from ksql_spark.expressions import ColumnRef
from ksql_spark.metastore.sources import TABLE
from ksql_spark.plan.clauses import NamedExpression
from ksql_spark.plan.nodes import Project
from ksql_spark.schema import RESERVED_COLUMNS, WINDOW_BOUNDS


@dataclass(frozen=True)
class Projected:
    """A SELECT's plan and its output columns in SELECT order."""

    root: Project
    items: tuple[Item, ...]


def project(
    bound: BoundSelect, select: exp.Expr, sink: str | None, *, needs_key: bool, needs_value: bool = True
) -> Projected:
    """The plan of ``bound`` with its projection on top.

    Args:
        bound: the SELECT.
        select: its node, for errors.
        sink: the name of the query's sink; None for queries without one.
        needs_key: whether every key column must be selected exactly once (persistent and nested queries).
        needs_value: whether a query with a sink must have a value column.

    Raises:
        KsqlError: KEY_MISSING, KEY_REPEATED, COLUMN_RESERVED and others.
    """
    items = list(bound.items)
    if needs_key and bound.grouping is not None and bound.grouping.window is not None:
        items = [i for i in items if not _is_plain_bound(i)]
    check_unique([i.name for i in items], [i.node for i in items])
    keys: list[tuple[Item, str]] = []
    missing: list[KeySlot] = []
    for slot in bound.slots:
        key_item = _find(slot, items, needs_key)
        if key_item is None:
            missing.append(slot)
        else:
            keys.append(key_item)
    if missing and needs_key and not (sink is None and bound.kind != TABLE):
        raise _missing(missing, bound, sink, select)
    if needs_key:
        # PARTITION BY ROWTIME makes a key of that name
        rekeyed = [k for k, _ in keys] if bound.partition_by is not None else []
        _check_reserved([i for i in items if not any(i is k for k in rekeyed)])
    key_items = [item for item, _ in keys]
    values = [i for i in items if not any(i is k for k in key_items)]
    if sink is not None and needs_value and not values:
        raise invalid("The projection contains no value columns.", select, hint="AS_VALUE(key) copies a key.")
    join_key = (
        keys[0][1] if keys and isinstance(bound.source.tree, Joined) and bound.grouping is None else None
    )
    if isinstance(bound.source.tree, Joined) and bound.source.tree.keys:
        join_key = None
    if bound.partition_by is not None:
        join_key = None
    child = bound.build(join_key)
    hidden = [] if needs_key else [i for i in values if _is_plain_hidden(i)]
    root = Project(
        child,
        tuple(NamedExpression(i.name, i.expression) for i in key_items),
        tuple(NamedExpression(i.name, i.expression) for i in values if i not in hidden),
    )
    return Projected(root, tuple(items))


def _is_plain_bound(item: Item) -> bool:
    return (
        isinstance(item.expression, ColumnRef)
        and item.name == item.expression.name
        and item.name in WINDOW_BOUNDS
    )


def _is_plain_hidden(item: Item) -> bool:
    """Whether ``item`` is a pseudo column without an alias, which every relation has anyway."""
    expression = item.expression
    return (
        isinstance(expression, ColumnRef) and item.name == expression.name and item.name in RESERVED_COLUMNS
    )


def _find(slot: KeySlot, items: list[Item], once: bool) -> tuple[Item, str] | None:
    for candidate in slot.candidates:
        columns = [i for i in items if isinstance(i.expression, ColumnRef) and i.expression.name == candidate]
        if len(columns) > 1 and once:
            names = [i.name for i in columns]
            if slot.what == "grouping expression":
                problem = "more than once: " + " and ".join(f"`{n}`" for n in names)
            else:
                names.sort()
                problem = (
                    f"(`{candidate}`) more than once, aliased as: {', '.join(names[:-1])} and {names[-1]}"
                )
            raise failure(
                "KEY_REPEATED", columns[1].node, said=problem,
                hint=f"Use AS_VALUE({slot.shown[0]}) for the copy."
            )  # fmt: skip
        if columns:
            return columns[0], candidate
    return None


def _missing(missing: list[KeySlot], bound: BoundSelect, sink: str | None, select: exp.Expr) -> Exception:
    first = missing[0]
    if first.what.startswith("foreign key"):
        names = ", ".join(f"`{s.shown[0]}`" for s in missing)
        plural = "s" if len(missing) > 1 else ""
        table = first.what.removeprefix("foreign key of ")
        return failure(
            "KEY_MISSING", select,
            reason="Primary key column missing in projection. For foreign-key table-table joins, the "
            f"projection must include all primary key columns from the left input table ({table}). "
            f"Missing column{plural}: {names}.",
        )  # fmt: skip
    every = [s.shown for s in bound.slots]
    texts = list(first.shown) if len(bound.slots) == 1 else [s[0] for s in every]
    conjunction = "or" if first.what == "join expression" else "and"
    if first.what == "grouping expression":
        texts = [s.shown[0] for s in missing]
    listed = texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} {conjunction} {texts[-1]}"
    example = texts[0] if first.what in ("join expression", "grouping expression") else ", ".join(texts)
    plural = "s" if len(texts) > 1 else ""
    built = f"The query used to build `{sink}`" if sink else "The query"
    reason = (
        f"{built} must include the {first.what}{plural} {listed} in its projection (eg, SELECT {example}...)."
    )
    tree = bound.source.tree
    if isinstance(tree, Joined) and first.candidates == (tree.synthetic,):
        reason += (
            f"\n{tree.synthetic} was added as a synthetic key column because the join criteria did not match "
            "any source column. This expression must be included in the projection and may be aliased."
        )
    return failure("KEY_MISSING", select, reason=f"Key missing from projection (ie, SELECT).\n{reason}")


def _check_reserved(items: list[Item]) -> None:
    for item in items:
        if item.name in RESERVED_COLUMNS:
            raise invalid(
                f"Reserved column name in select: `{item.name}`. Please remove or alias the column.",
                item.node,
            )
