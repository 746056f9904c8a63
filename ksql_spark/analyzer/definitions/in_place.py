"""EVOLVE = 'in-place': a new version that goes on with the state of the old one (beyond ksqlDB, ADR 54)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any, get_args

from ksql_spark.analyzer.base.failures import Placed, invalid
from ksql_spark.analyzer.definitions.replacing import EVOLUTION_TELLS, but_for_columns
from ksql_spark.analyzer.expressions.aggregates import VARIABLE
from ksql_spark.expressions import ColumnRef, Expression, transform
from ksql_spark.metastore.sources import STREAM, TABLE
from ksql_spark.plan.clauses import AggregateCall, NamedExpression, WindowSpec
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
from ksql_spark.plan.trees import children, relations, walk

_HINT = "WITH (EVOLVE = '{}') changes more"
#: the expressions of a step that its state depends on
_FIXED: dict[type, tuple[str, tuple[str, ...]]] = {
    Join: (
        "the join",
        ("type", "join", "left_key", "right_key", "key_name", "within", "grace_ms", "residual",
         "is_loaded_first"),
    ),
    Deduplicate: ("DISTINCT ON or QUALIFY", ("keys", "within_ms")),
    Over: ("OVER", ("keys", "calls", "within_ms")),
    MatchRecognize: ("MATCH_RECOGNIZE", ("keys", "pattern")),
    TopN: ("QUALIFY", ("keys", "order", "count", "rank", "limit", "ranks")),
    FlatMap: ("the table functions", ("functions",)),
    SelectKey: ("PARTITION BY", ("keys",)),
    Project: ("the sub-query", ("keys", "values")),
}  # fmt: skip


class _Differs(Exception):
    """Raised with a difference between two plans that the state does not allow."""


def fitted(old: PersistentQuery, new: PersistentQuery, node: Placed | None = None) -> PersistentQuery:
    """The new version, planned so that it reads the state of the old one, whatever it calls its columns.

    What the state depends on must stay: sources, groups, windows, conditions of joins. Free are the columns
    of SELECT, HAVING, the WHERE of streams, a shorter GRACE PERIOD and RETENTION. Aggregates that the new
    version does without stay in the state; those that the old one had not are appended, and begin empty.

    Args:
        old: the running version.
        new: the new one; its sink has been checked already.
        node: the statement, for the error's position.

    Raises:
        KsqlError: INVALID_STATEMENT with what differs, and what changes it instead.
    """
    try:
        root = _root(old.root, new.root)
        names = set(_names(root))
        missing = [name for name in _added(old.root, new.root) if name in names]
        if missing:
            raise _Differs(
                f"the rows in its state have no column {missing[0]}, which came to the source later"
            )
    except _Differs as error:
        way = "backfill" if new.sink.kind == TABLE else "from-now"
        reason = f"{new.sink.name} cannot evolve in place: {error}."
        raise invalid(reason, node, hint=_HINT.format(way) + EVOLUTION_TELLS) from None
    return replace(new, root=root)


def _root(old: Node, new: Node) -> Node:
    if isinstance(old, Expire) and isinstance(new, Expire) and old.ttl_ms == new.ttl_ms:
        below = _root(old.child, new.child)
        is_read_back = not all(isinstance(part, Project | Source) for part in walk(below))
        if is_read_back and below.schema != old.child.schema:
            raise _Differs("with TTL its rows pass an internal topic, so their columns cannot change")
        return replace(new, child=below)
    if isinstance(old, Expire) or isinstance(new, Expire):
        raise _Differs("TTL cannot change")
    if not isinstance(old, Project) or not isinstance(new, Project):
        if old != new:
            raise _Differs("UNION ALL, UNION, EXCEPT and INTERSECT cannot change")
        return new
    below, names = _fit(old.child, new.child, is_alone=True)
    return replace(new, child=below, keys=_named_anew(new.keys, names), values=_named_anew(new.values, names))


#: a node of the new version, and how names of its columns have changed
_Fitted = tuple[Node, dict[str, str]]


def _fit(
    old: Node, new: Node, *, is_alone: bool = False, is_kept: bool = False, has_free_where: bool = True
) -> _Fitted:
    """The new node over the state of the old one.

    Args:
        old, new: what both versions have here.
        is_alone: whether no state is above.
        is_kept: whether state above has whole rows of this relation.
        has_free_where: whether a stream's WHERE may change here.
    """
    if isinstance(old, Source) and isinstance(new, Source):
        return _source(old, new, is_kept), {}
    if new.kind == STREAM == old.kind and has_free_where:
        if isinstance(new, Filter):
            below, names = _fit(old, new.child, is_alone=is_alone, is_kept=is_kept)
            return replace(new, child=below, predicate=_renamed(new.predicate, names)), names
        if isinstance(old, Filter):
            return _fit(old.child, new, is_alone=is_alone, is_kept=is_kept)
    before, after = _below_filter(old), _below_filter(new)
    if isinstance(before, Aggregate) and isinstance(after, Aggregate):
        aggregate, names = _aggregate(before, after)
        if isinstance(new, Filter):
            fitting: Node = Filter(aggregate, _renamed(new.predicate, names))
        else:
            fitting = aggregate
        _check_having(before, aggregate, old, fitting)
        return fitting, names
    is_of_table = is_alone and old.kind == new.kind == TABLE
    if is_of_table and isinstance(before, Source) and isinstance(after, Source):
        source = _source(before, after, is_kept)
        return (replace(new, child=source) if isinstance(new, Filter) else source), {}
    if isinstance(old, Filter) and isinstance(new, Filter):
        below, names = _fit(old.child, new.child, is_kept=is_kept)
        if old.predicate != _renamed(new.predicate, names):
            raise _Differs("the WHERE cannot change here")
        return replace(new, child=below, predicate=old.predicate), names
    if type(old) is not type(new) or type(new) not in _FIXED:
        what = _FIXED.get(type(old)) or _FIXED.get(type(new)) or ("FROM or GROUP BY", ())
        raise _Differs(f"{what[0]} cannot change")
    return _fixed(old, new, is_kept)


def _fixed(old: Node, new: Node, is_kept: bool) -> _Fitted:
    """A step of which nothing may change."""
    what, parts = _FIXED[type(new)]
    keeps = is_kept or isinstance(new, Join | TopN | Over | MatchRecognize)
    is_strict = isinstance(new, Deduplicate | Over | MatchRecognize | TopN)
    pairs = zip(children(old), children(new), strict=True)
    below = [_fit(a, b, is_kept=keeps, has_free_where=not is_strict) for a, b in pairs]
    names = {name: there for _, renamed in below for name, there in renamed.items()}

    def own(node: Node, change: Callable[[ColumnRef], Expression | None]) -> list[Any]:
        return [_changed(getattr(node, part), change) for part in parts]

    if own(old, lambda _: None) != own(new, _renaming(names)):
        raise _Differs(f"{what} cannot change")
    if isinstance(new, Join):
        return replace(new, left=below[0][0], right=below[1][0]), names
    own_parts: dict[str, Any] = {part: getattr(old, part) for part in parts}
    of_old: Any = new  # every class of _FIXED but Join has one child
    return replace(of_old, child=below[0][0], **own_parts), {} if isinstance(new, Project) else names


def _source(old: Source, new: Source, is_kept: bool) -> Source:
    def fixed(source: Source) -> object:
        return but_for_columns(source.source), source.prefixed and source.alias, source.prefixed

    if fixed(old) != fixed(new):
        raise _Differs(f"FROM {old.source.name} cannot change")
    if not is_kept:
        return new
    missing = [name for name in new.exposed if name not in old.exposed]
    if missing:
        raise _Differs(f"the rows in its state have no {missing[0]} of {new.alias}")
    return replace(new, source=replace(new.source, schema=old.source.schema), exposed=old.exposed)


def _below_filter(node: Node) -> Node:
    return node.child if isinstance(node, Filter) else node


def _aggregate(old: Aggregate, new: Aggregate) -> tuple[Aggregate, dict[str, str]]:
    """The new aggregation with all aggregates of the old one, whether it needs them or not."""
    below, names = _fit(old.child, new.child, is_kept=_is_behind_a_topic(new))
    renaming = _renaming(names)
    if [g.expression for g in old.group_by] != [_renamed(g.expression, names) for g in new.group_by]:
        raise _Differs("GROUP BY cannot change")
    if old.group_by != new.group_by:
        names |= {b.name: a.name for a, b in zip(old.group_by, new.group_by, strict=True)}
    for what, part in (("TTL", "ttl_ms"), ("EMIT FINAL", "emit_final")):
        if getattr(old, part) != getattr(new, part):
            raise _Differs(f"{what} cannot change")
    if (old.every_ms is None) != (new.every_ms is None):
        raise _Differs("whether it has EVERY cannot change")
    _check_window(old.window_spec, new.window_spec)
    calls = list(old.aggregates)
    there = {_meaning(call): call.name for call in calls}
    for call in new.aggregates:
        moved = replace(
            call,
            arguments=_changed(call.arguments, renaming),
            condition=_changed(call.condition, renaming),
        )
        if _meaning(moved) not in there:
            _check_appendable(old, call)
            appended = replace(moved, name=f"{VARIABLE}{len(calls)}", is_appended=True)
            there[_meaning(appended)] = appended.name
            calls.append(appended)
        names[call.name] = there[_meaning(moved)]
    fitting = replace(
        new, child=below, group_by=old.group_by, aggregates=tuple(calls), in_slices=old.in_slices
    )
    return fitting, names


def _is_behind_a_topic(node: Node) -> bool:
    """Whether whole rows of its source are in an internal topic before it."""
    return isinstance(node, Aggregate) and any(isinstance(part, Deduplicate) for part in walk(node.child))


def _meaning(call: AggregateCall) -> AggregateCall:
    return replace(call, name="", is_appended=False)


def _check_appendable(old: Aggregate, call: AggregateCall) -> None:
    if old.child.kind == TABLE:
        raise _Differs(
            f"its state has no {call.call}, which cannot begin empty over a table: changes would "
            "take rows away from it that it has never had"
        )
    if old.in_slices and not call.merges:
        raise _Differs(f"its windows share parts of the state, of which {call.call} cannot be made")
    if old.every_ms is not None:
        raise _Differs(f"its state has no {call.call}, and results that wait for EVERY would be without it")


def _check_having(before: Aggregate, after: Aggregate, old: Node, new: Node) -> None:
    """Refuse a HAVING with other key columns than before: it keeps these behind the aggregates."""

    def used(node: Node) -> list[str]:
        columns = dict.fromkeys(_names(node.predicate)) if isinstance(node, Filter) else ()
        return [name for name in columns if name in {group.name for group in before.group_by}]

    keys = used(old)
    if keys != used(new):
        raise _Differs("the key columns in HAVING cannot change")
    if keys and any(call.is_appended for call in after.aggregates):
        raise _Differs(f"no aggregate can be appended while HAVING has a key column, {keys[0]}")


def appended(old: PersistentQuery | None, new: PersistentQuery) -> list[AggregateCall]:
    """The aggregates that begin empty with the new version, because the state of the old one has them not."""
    meanings = {_meaning(call) for call in _calls(old.root)} if old is not None else set()
    return [call for call in _calls(new.root) if call.is_appended and _meaning(call) not in meanings]


def _calls(root: Node) -> Iterator[AggregateCall]:
    return (call for node in walk(root) if isinstance(node, Aggregate) for call in node.aggregates)


def _check_window(old: WindowSpec | None, new: WindowSpec | None) -> None:
    if old is None or new is None:
        if old != new:
            raise _Differs("WINDOW cannot change")
        return
    if replace(old, retention_ms=0, grace_ms=0) != replace(new, retention_ms=0, grace_ms=0):
        raise _Differs("WINDOW can only change its GRACE PERIOD and RETENTION")
    if new.grace_ms > old.grace_ms:
        raise _Differs("a longer GRACE PERIOD would open windows again whose rows the state has no more")
    if new.grace_ms != old.grace_ms and old.kind == "SLIDING":
        raise _Differs("the GRACE PERIOD of sliding windows cannot change")


# ---- expressions --------------------------------------------------------------------------------------


def _renaming(names: dict[str, str]) -> Callable[[ColumnRef], Expression | None]:
    return lambda ref: replace(ref, name=names[ref.name]) if ref.name in names else None


def _renamed(expression: Expression, names: dict[str, str]) -> Expression:
    renamed: Expression = _changed(expression, _renaming(names))
    return renamed


def _named_anew(items: tuple[NamedExpression, ...], names: dict[str, str]) -> tuple[NamedExpression, ...]:
    return tuple(replace(item, expression=_renamed(item.expression, names)) for item in items)


def _changed(value: Any, change: Callable[[ColumnRef], Expression | None]) -> Any:
    """A value with all references to columns in its expressions changed."""
    if isinstance(value, get_args(Expression)):
        return transform(value, lambda part: change(part) if isinstance(part, ColumnRef) else None)
    if isinstance(value, tuple):
        return tuple(_changed(item, change) for item in value)
    if isinstance(value, NamedExpression):
        return replace(value, expression=_changed(value.expression, change))
    return value


def _names(value: Any) -> Iterator[str]:
    """The names of all columns that a plan refers to."""
    if isinstance(value, ColumnRef):
        yield value.name
    elif isinstance(value, tuple):
        for item in value:
            yield from _names(item)
    elif is_dataclass(value) and not isinstance(value, Source):
        for field in fields(value):
            yield from _names(getattr(value, field.name))


def _added(old: Node, new: Node) -> list[str]:
    """Columns that have come to sources since, where rows of them are kept."""
    parts = list(walk(new))
    if not any(isinstance(p, Join | TopN | Over | MatchRecognize) or _is_behind_a_topic(p) for p in parts):
        return []
    before = {c.name for source in relations(old) for c in source.schema.columns}
    return [c.name for source in relations(new) for c in source.schema.columns if c.name not in before]


__all__ = ["appended", "fitted"]
