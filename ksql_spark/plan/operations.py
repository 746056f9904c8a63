"""Properties of every node of a staged plan: its title, what it reads, and the state that it keeps.

An operation may be several nodes: HAVING is a Filter of an Aggregate, and set operations on top of each other
are one.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

from ksql_spark.expressions import Expression
from ksql_spark.metastore.sources import TABLE
from ksql_spark.plan.clauses import RowPattern
from ksql_spark.plan.nodes import (
    FOREIGN_KEY,
    REPLICATED,
    ROW_NUMBER,
    SEMI,
    STREAM_STREAM,
    STREAM_TABLE,
    TABLE_TABLE,
    Aggregate,
    Changes,
    Deduplicate,
    Exchange,
    Expire,
    Filter,
    FlatMap,
    ForeignKeyAnswer,
    ForeignKeyJoin,
    ForeignKeySubscribe,
    Join,
    KeepUnchanged,
    MatchRecognize,
    Node,
    Over,
    Project,
    SelectKey,
    SetOperation,
    Source,
    TopN,
    UnionAll,
)
from ksql_spark.plan.text import span_text
from ksql_spark.plan.trees import children, operands
from ksql_spark.schema import ROWOFFSET, ROWPARTITION


def name(node: Node) -> str:
    """The name of the operation, which EXPLAIN shows, and checkpoints note where it keeps state.

    A query whose checkpoint notes another name begins without state, so names never change.
    """
    aggregate, _ = grouped(node)
    if aggregate is not None:
        if is_of_changes(aggregate):
            return "TableAggregate"
        return "StreamAggregate" if aggregate.window_spec is None else "StreamWindowedAggregate"
    of_kind = "Table" if node.kind == TABLE else "Stream"
    match node:
        case Source() | Filter():
            return f"{of_kind}{type(node).__name__}"
        case Project():
            return f"{of_kind}Select"
        case TopN():
            return "TableTopN" if is_of_changes(node) else "StreamTopN"
        case Join(type=kind) if kind in (STREAM_TABLE, REPLICATED):
            return "StreamTableJoin" if node.grace_ms is None else "StreamVersionedTableJoin"
        case Join():
            return _JOINS[node.type]
        case UnionAll():
            return "StreamUnion"
        case Deduplicate() | Over() | MatchRecognize() | SelectKey() | FlatMap():
            return f"Stream{type(node).__name__}"
        case Expire() | SetOperation() | Changes() | KeepUnchanged():
            return f"Table{type(node).__name__}"
        case ForeignKeyJoin():
            return "ForeignKeyLatest"
    return type(node).__name__


_JOINS = {STREAM_STREAM: "StreamStreamJoin", TABLE_TABLE: "TableTableJoin", FOREIGN_KEY: "ForeignKeyJoin"}


def grouped(node: Node) -> tuple[Aggregate | None, Expression | None]:
    """The Aggregate of ``node`` and its HAVING, if it is one."""
    match node:
        case Aggregate():
            return node, None
        case Filter(Aggregate() as aggregate, having):
            return aggregate, having
    return None, None


def is_of_changes(node: Aggregate | TopN) -> bool:
    """Whether its groups are of rows of a table, which change."""
    return changes_below(node) is not None


def changes_below(node: Aggregate | TopN) -> Changes | None:
    """The changes whose rows it groups, in its stage or the one before; None: its rows do not change."""
    below = node.child.child if isinstance(node.child, Exchange) else node.child
    return below if isinstance(below, Changes) else None


def is_table_filter(node: Node) -> bool:
    """Whether it is WHERE on a table: rows that do not match become deletions (§6.2)."""
    return isinstance(node, Filter) and node.kind == TABLE and not isinstance(node.child, Aggregate)


def inputs(node: Node) -> tuple[Node, ...]:
    """Return the nodes that the operation reads within its stage, left to right."""
    match node:
        case Exchange():
            return ()
        case Filter(Aggregate(child)):
            return (child,)
        case SetOperation():
            return operands(node)
    return children(node)


def postfix(node: Node, numbers: Iterator[int] | None = None) -> tuple[str, ...]:
    """Set operations in postfix notation: numbers of ``operands``, UNION, EXCEPT and INTERSECT."""
    numbers = count() if numbers is None else numbers
    if isinstance(node, SetOperation):
        return (*postfix(node.left, numbers), *postfix(node.right, numbers), node.operator)
    return (str(next(numbers)),)


def walk(node: Node) -> Iterator[Node]:
    """``node`` and the operations below it in its stage, parents first, with exchanges that these read."""
    yield node
    for child in inputs(node):
        yield from walk(child)


def stateful(node: Node) -> Iterator[Node]:
    """The operations of ``walk`` that keep state, without those whose work the one above does."""
    if keeps_state(node):
        yield node
    for child in inputs(node):
        yield from stateful(unfiltered(node, child))


def operators_below(node: Node) -> int:
    """How many operations with state are below ``node`` in its stage."""
    below = (unfiltered(node, child) for child in inputs(node))
    return sum(1 for child in below for _ in stateful(child))


def unfiltered(node: Node, child: Node) -> Node:
    """An input without the operation whose work the one above does itself.

    It deletes rows that do not match a filter; a join, or one that finds changes, completes rows.
    """
    is_filtered = (keeps_tables(node) or isinstance(node, Changes)) and is_table_filter(child)
    is_completed = isinstance(node, Join | Changes) and isinstance(child, KeepUnchanged)
    return inputs(child)[0] if is_filtered or is_completed else child


def keeps_tables(node: Node) -> bool:
    """Whether it stores the rows of its tables itself, so it knows which deletions have an effect."""
    match node:
        case Join():
            return node.type != STREAM_STREAM
        case Changes(is_direct=True):
            return False
        case SetOperation() | Changes() | ForeignKeySubscribe() | ForeignKeyAnswer():
            return True
    return False


def keeps_state(node: Node) -> bool:
    """Whether it keeps state, but for filters directly below one that keeps tables (``stateful``)."""
    return state_text(node) is not None


def state_text(node: Node) -> str | None:
    """A description of its state, for EXPLAIN; None if it keeps none."""
    aggregate, _ = grouped(node)
    if aggregate is not None:
        return _groups_state(aggregate)
    match node:
        case Filter() if node.kind == TABLE:
            return "the keys whose rows were passed on"
        case Expire():
            return "the time of each key's last change"
        case Deduplicate():
            how_long = "forever" if node.within_ms is None else f"for {span_text(node.within_ms)}"
            return f"the time of each key's first row, {how_long}"
        case Over():
            return _over_state(node)
        case MatchRecognize():
            return _matching_state(node.pattern)
        case TopN() if is_of_changes(node):
            return "all rows of each key, in order"
        case TopN():
            ties = "" if node.limit == ROW_NUMBER else ", and all rows that equal one of them"
            return f"{node.count} row{'s' if node.count > 1 else ''} of each key{ties}"
        case Join():
            return _join_state(node)
        case SetOperation():
            return "the latest row of each key of every table"
        case Changes(is_direct=True):
            return None
        case Changes() | KeepUnchanged():
            return "the latest row of each key"
        case ForeignKeySubscribe():
            return "the foreign key of each key on the left"
        case ForeignKeyAnswer():
            return "the latest row of each key on the right, and the left keys that ask for it"
        case ForeignKeyJoin():
            return "the latest row of each key on the left"
    return None


def _groups_state(node: Aggregate) -> str:
    held = f", and what changed within {span_text(node.every_ms)}" if node.every_ms else ""
    spec = node.window_spec
    if spec is None:
        how_long = "" if node.ttl_ms is None else f", for {span_text(node.ttl_ms)} after its last record"
        return f"the aggregates of each key{held}{how_long}"
    if spec.kind == "SLIDING":
        how_long = span_text(3 * spec.size_ms + spec.grace_ms)
        return f"the aggregates of up to two windows for each time of a key's records, for {how_long}{held}"
    if node.in_slices:
        length = span_text(spec.size_ms + spec.grace_ms)
        return f"the aggregates of each key and slice, which overlapping windows share, for {length}"
    return f"the aggregates of each key and window, for {span_text(spec.retention_ms)}{held}"


def _over_state(node: Over) -> str:
    most = max((c.first or 0 for c in node.calls), default=0)
    parts = [f"the arguments of each key's last {most} rows"] if most else []
    longest = max((c.range_ms for c in node.calls if c.range_ms is not None), default=None)
    if longest is not None:
        parts.append(f"the arguments of each key's rows of {span_text(longest)}, as many as there are")
    if any(c.first is None and c.range_ms is None for c in node.calls):
        parts.append("the aggregates of each key")
    ahead = -min((c.last or 0 for c in node.calls), default=0)
    if ahead > 0:
        rows = "row, which waits for the next one" if ahead == 1 else f"{ahead} rows, which wait for more"
        parts.append(f"each key's last {rows}")
    how_long = "" if node.within_ms is None else f", for {span_text(node.within_ms)} after the latest row"
    return ", ".join(parts) + how_long if parts else "none"


def _matching_state(pattern: RowPattern) -> str:
    texts = [*(v.text for v in pattern.values), *(a.text for a in pattern.aggregates)]
    each = f"for each its state and {', '.join(texts)}" if texts else "for each its state"
    parts = [f"each key's partial matches that began at most {span_text(pattern.within_ms)} ago, {each}"]
    if pattern.all_rows:
        parts.append("the rows of these")
    back = max((p.offset for p in pattern.previous), default=0)
    if back:
        parts.append(f"what PREV needs of each key's last {back} row{'s' * (back > 1)}")
    return ", ".join(parts)


def _join_state(node: Join) -> str:
    if node.type == TABLE_TABLE:
        return "both tables' latest row of each key"
    if node.within is not None:
        span = span_text(node.within.before_ms + node.within.after_ms)
        if node.join == SEMI:
            return (
                "the rows of the right side, and those of the left one that came before their partner, "
                f"for {span} and the grace period"
            )
        return f"the rows of both sides, for {span} and the grace period"
    if node.is_endless:
        return "all rows of both sides"
    where = ", in every task" if node.type == REPLICATED else ""
    if node.grace_ms is None:
        return f"the table's latest row of each key{where}"
    span = span_text(node.grace_ms)
    return f"the table's latest row of each key, its rows of {span}{where}, and the stream's of {span}"


def unbounded_state(node: Node) -> str | None:
    """A warning about state that grows with time; None: it grows with keys only, or a clause bounds it."""
    match node:
        case Deduplicate(within_ms=None):
            return (
                f"The state grows with each new value of {', '.join(map(str, node.keys))}: the query keeps "
                "the value and 8 bytes forever. WITHIN after FROM bounds it, as in FROM s WITHIN 1 HOUR."
            )
        case Join(is_endless=True):
            return (
                "The state grows with each row: the join keeps all rows of both streams forever. WITHIN "
                "bounds it, as in a JOIN b WITHIN 30 DAYS ON …: rows further apart in time are no pair."
            )
        case Changes(child, is_direct=False) if child.window is not None:
            return _WINDOWS_STAY
        case TopN() if (changes := changes_below(node)) is not None:
            return _WINDOWS_STAY if changes.is_direct and changes.child.window is not None else None
    return None


_WINDOWS_STAY = (
    "The state grows with each window: the query keeps the row of each key and window forever, also when the "
    "window has ended. Nothing bounds it."
)


def depends_on_order(node: Node) -> bool:
    """Whether results of a key depend on the times of other keys' rows, or on the order of its own."""
    aggregate, _ = grouped(node)
    if aggregate is not None:
        if is_of_changes(aggregate) or aggregate.window_spec is not None:
            return aggregate.window_spec is not None
        by_arrival = any(call.by_arrival for call in aggregate.aggregates)
        return by_arrival or aggregate.ttl_ms is not None
    match node:
        case TopN():
            return not is_of_changes(node)
        case Deduplicate() | Over() | MatchRecognize() | Expire():
            return True
    return False


def counts_repeated(node: Node) -> bool:
    """Whether a row that comes twice changes its results; else it only makes the same results again."""
    match node:
        case Aggregate() | TopN() | Over() | MatchRecognize():
            return True
        case Join():
            return node.type == STREAM_STREAM
    return False


def waits(node: Node) -> bool:
    """Whether results wait for stream time, but at most the idle timeout without new rows."""
    aggregate, _ = grouped(node)
    if aggregate is not None:
        return aggregate.window_spec is not None and aggregate.emit_final
    match node:
        case MatchRecognize():
            return node.pattern.automaton.waits
        case Join(within=None):
            return bool(node.grace_ms)
        case Join(within=within):
            return node.join not in ("INNER", SEMI) and within is not None and within.grace_ms is not None
    return False


def emits_at_intervals(node: Node) -> bool:
    """Whether changed rows are emitted at the ends of intervals (EVERY)."""
    aggregate, _ = grouped(node)
    return aggregate is not None and bool(aggregate.every_ms)


def row_expressions(node: Node) -> tuple[Expression, ...]:
    """The expressions that it evaluates for each row of its first input.

    Calls of user functions in these are made for many rows at once; calls in other expressions, row by row.
    """
    aggregate, _ = grouped(node)
    if aggregate is not None:
        arguments = (a for call in aggregate.aggregates for a in call.inputs)
        return (*(g.expression for g in aggregate.group_by), *arguments)
    match node:
        case Filter(_, predicate) if not is_table_filter(node):
            return (predicate,)
        case Deduplicate():
            return node.keys
        case Over():
            return (*node.keys, *(a for c in node.calls for a in c.call.inputs))
        case MatchRecognize(_, by, pattern):
            rows = (r.expression for r in pattern.row)
            return (*by, *rows, *(i for a in pattern.aggregates for i in a.call.inputs))
        case TopN():
            return (*(k.expression for k in node.keys), *(o.expression for o in node.order))
        case SelectKey():
            return tuple(k.expression for k in node.keys)
        case FlatMap():
            return tuple(f.expression for f in node.functions)
        case Project():
            return tuple(c.expression for c in (*node.keys, *node.values))
    return ()


def record_topic(node: Node) -> str | None:
    """The topic of the records that rows come from, where ROWPARTITION and ROWOFFSET name them.

    None where a row comes from several records or from state, or where the key that PARTITION BY made has
    the name of one of these columns.
    """
    while True:
        if any(node.schema.find(column) is not None for column in (ROWPARTITION, ROWOFFSET)):
            return None
        match node:
            case Source(source):
                return source.topic if source.topic_pattern is None else None
            case Filter(child) if not keeps_state(node):
                node = child
            case FlatMap(child) | Project(child) | SelectKey(child):
                node = child
            case _:
                return None
