"""The plan of a SELECT as a batch that carries the places of records along, for EXPLAIN ROW (tracing.py) and
REPROCESS (recomputing.py).

No step drops a row: it adds a column that tells whether the row passes, and joins are outer joins. What
depends on other rows (the first of a key, the best of a group) looks at those that pass all steps below, in
the order in which a task takes them: partitions in the order of their times, each in that of its offsets.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce

from ksql_spark.analyzer.expressions.calls import call
from ksql_spark.analyzer.reads.arrival import PLACES, with_latest_time
from ksql_spark.errors import KsqlError
from ksql_spark.expressions import Case, ColumnRef, Expression, Literal, columns_in, transform
from ksql_spark.plan.clauses import AggregateCall, FramedCall, NamedExpression, SortKey, written_out
from ksql_spark.plan.nodes import (
    EXCEPT,
    FOREIGN_KEY,
    RANKS,
    REPLICATED,
    ROW_NUMBER,
    SEMI,
    STREAM_TABLE,
    UNION,
    Aggregate,
    BatchJoin,
    BatchOver,
    Deduplicate,
    Filter,
    FirstWithin,
    FlatMap,
    Join,
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
from ksql_spark.schema import ROWTIME, WINDOW_BOUNDS, Column
from ksql_spark.types import BIGINT, BOOLEAN

BEFORE_START = "it was there before the query began to read"
DELETED = "it has deleted the row"
REPLACED = "a later record of its key has replaced it"
#: nodes that cannot be traced -> the reason, and a hint
_UNSUPPORTED: Mapping[type, tuple[str, str | None]] = {
    Aggregate: (
        "GROUPING SETS and aggregations of aggregations",
        "CREATE TABLE … AS the inner aggregation, or GROUP BY one of the sets, and ask for the rows of that.",
    ),
    MatchRecognize: (
        "MATCH_RECOGNIZE",
        "ALL ROWS PER MATCH shows the rows of each match. SELECT its input for all that it reads.",
    ),
    Over: (
        "conditions on results of OVER",
        "CREATE STREAM … AS the SELECT with OVER, without the condition, and SELECT from that.",
    ),
}


def place(number: int) -> tuple[str, str, str]:
    """The columns with the event time, partition and offset of a record of the input with this number."""
    return f"__ROWTIME_{number}", f"__ROWPARTITION_{number}", f"__ROWOFFSET_{number}"


def step(number: int) -> str:
    """Return the column that is true for rows that pass the step with this number, from 0."""
    return f"__PASSES_{number}"


@dataclass(frozen=True)
class Added:
    """The columns that the frame of an input has besides those of its schema.

    Args:
        is_read: of a stream: whether the query has read the record, which was not there before its start.
        is_asked: of a stream: whether the record is one of those whose rows are asked for.
        deletes: of a table: whether the record has deleted its row.
        until: of a table: the time of the next record of its key; NULL: there is none.
    """

    is_read: str
    is_asked: str
    deletes: str
    until: str


def added(number: int) -> Added:
    """Return the names of the columns that tracing adds to the input with this number."""
    return Added(f"__IS_READ_{number}", f"__IS_ASKED_{number}", f"__DELETES_{number}", f"__UNTIL_{number}")


class Tracer:
    """Rewrites the plan of one SELECT, from its inputs upwards.

    A node that it makes has the columns of the node that it stands for, ROWTIME, and those of ``Trace``.

    Args:
        is_ordered: whether the order is needed in which a task takes the rows.
        statement: its words, for errors.
        asks: whether rows tell which records of streams are asked for (Added.is_asked).
        computes: whether results of OVER over numbers of rows are computed.
    """

    def __init__(
        self, *, is_ordered: bool, statement: str = "EXPLAIN ROW", asks: bool = False, computes: bool = False
    ) -> None:
        self._statement, self._asks, self._computes = statement, asks, computes
        self.inputs: list[Source] = []
        self.steps: list[str] = []
        self.joins_versions = False
        self.is_ordered = is_ordered
        self.frames: list[_Frames] = []
        self._column_count = 0
        #: the columns that depend on results of OVER, which are not computed
        self._unknown: set[str] = set()

    @property
    def passes(self) -> Expression:
        """Whether a row passes all steps."""
        return self._all_below.passes

    @property
    def arrivals(self) -> tuple[SortKey, ...]:
        """The order in which a task takes the rows, if it is known."""
        return self._all_below.arrivals

    @property
    def _all_below(self) -> _Below:
        return _Below(range(len(self.inputs)), range(len(self.steps)))

    def carried(self, node: Node) -> Node:
        """The node over all records, also those that it drops."""
        match node:
            case Source():
                return self._input(node, is_versioned=False)
            case Filter(child, predicate):
                return self._filtered(self.carried(child), predicate)
            case FlatMap(child, functions):
                below = self.carried(child)
                for function in functions:
                    self.check(function.expression)
                return replace(node, child=below)
            case SelectKey(child, keys):
                below = self.carried(child)
                self._name(keys)
                return with_columns(below, keys)
            case Project(child, keys, values):
                below = self.carried(child)
                self._name((*keys, *values))
                return with_columns(below, (*keys, *values), _hidden(below))
            case Deduplicate():
                return self._first(node)
            case TopN():
                return self._best(node)
            case Over():
                return self._over(node)
            case UnionAll(sides):
                return self._union(sides, node)[0]
            case SetOperation():
                return self._set_operation(node)
            case Join(is_loaded_first=True):
                raise KsqlError(
                    "INVALID_STATEMENT",
                    reason=f"{self._statement} does not support FOR SYSTEM_TIME AS OF CURRENT_TIMESTAMP: "
                    "which row of the table a record met depends on when it was read.",
                    hint="FOR SYSTEM_TIME AS OF the stream's ROWTIME makes rows that can be explained.",
                )
            case Join(type=kind) if kind in (STREAM_TABLE, REPLICATED):
                return self._join_of_versions(node)
            case Join():
                return self._join(node)
        raise self._unsupported(node)

    def _filtered(self, below: Node, predicate: Expression) -> Node:
        where = f"WHERE {written_out(predicate, {})} is not true"
        if _FOUND.search(where):
            where = "NOT EXISTS: a record meets it"
        return with_columns(below, [self._step(where, predicate)])

    def _step(self, reason: str, condition: Expression) -> NamedExpression:
        """The column of a new step; the condition may be NULL, which is not TRUE."""
        self.check(condition)
        self.steps.append(_INNER.sub("", reason))
        return NamedExpression(step(len(self.steps) - 1), _if(condition, _TRUE, _FALSE))

    def _input(self, node: Source, *, is_versioned: bool) -> Node:
        """All records of an input; ``is_versioned``: a stream asks for the table's row of some time."""
        number, source = len(self.inputs), node.source
        bounds = WINDOW_BOUNDS if source.window is not None else ()
        relation = replace(node, exposed=tuple(dict.fromkeys((*node.exposed, *PLACES, *bounds))))
        self.inputs.append(relation)
        extra = added(number)
        own = [ColumnRef(relation.column_name(name), BIGINT) for name in PLACES]
        columns = [NamedExpression(name, column) for name, column in zip(place(number), own, strict=True)]
        columns.append(NamedExpression(ROWTIME, own[0]))
        flags = {extra.deletes: BOOLEAN, extra.until: BIGINT}
        if not source.is_table:
            columns.append(self._step(BEFORE_START, ColumnRef(extra.is_read, BOOLEAN)))
            if self._asks:
                columns.append(NamedExpression(extra.is_asked, ColumnRef(extra.is_asked, BOOLEAN)))
        elif is_versioned:
            columns += (NamedExpression(name, ColumnRef(name, type_)) for name, type_ in flags.items())
        else:
            columns.append(self._step(REPLACED, _is_null(ColumnRef(extra.until, BIGINT))))
            columns.append(self._step(DELETED, call("NOT", [ColumnRef(extra.deletes, BOOLEAN)], None)))
        rows = with_columns(relation, columns)
        if not self.is_ordered:
            return rows
        return with_latest_time(rows, _arrival(number), *(ColumnRef(name, BIGINT) for name in place(number)))

    def _first(self, node: Deduplicate) -> Node:
        """Add a step that only the first row of each key passes."""
        below, since = self._since(node.child)
        rows, (number,) = self._ranked(below, since, node.keys, since.arrivals, [ROW_NUMBER])
        shown = ", ".join(str(written_out(key, {})) for key in node.keys)
        is_first: Expression = call("=", [number, _ONE], None)
        if node.within_ms is not None:
            self._column_count += 1
            is_first = ColumnRef(f"__{self._column_count}_FIRST", BOOLEAN)
            keys, order = (*node.keys, since.passes), kept_column(rows.schema.columns[-1]).expression
            time, stream_time = ColumnRef(ROWTIME, BIGINT), since.arrivals[0].expression
            rows = FirstWithin(rows, keys, order, time, stream_time, node.within_ms, is_first.name)
        return with_columns(rows, [self._step(f"an earlier record had the same {shown}", is_first)])

    def _best(self, node: TopN) -> Node:
        """Number the rows of each group, and add a step that only those with a small enough number pass."""
        below, since = self._since(node.child)
        keys = [key.expression for key in node.keys]
        shown = ", ".join(str(written_out(key, {})) for key in keys)
        has_group = all_of(call("IS NOT NULL", [key], None) for key in keys)
        no_group = f"it belongs to no group: PARTITION BY {shown} is NULL"
        below = with_columns(below, [self._step(no_group, has_group)])
        rows, (number,) = self._ranked(below, since, keys, (*node.order, *since.arrivals), [ROW_NUMBER])
        functions = [rank.removeprefix("KSQL_") for rank in RANKS]
        rows, ranks = self._ranked(rows, since, keys, node.order, functions)
        limited = dict(zip((ROW_NUMBER, *functions), (number, *ranks), strict=True))[node.limit]
        order = ", ".join(map(str, node.order))
        reason = f"{node.limit}() OVER (PARTITION BY {shown} ORDER BY {order}) is greater than {node.count}"
        columns = [self._step(reason, call("<=", [limited, Literal(node.count, BIGINT)], None)), *node.keys]
        if node.rank:
            columns.append(NamedExpression(node.rank, number))
        if node.ranks:
            columns += map(NamedExpression, RANKS, ranks)
        return with_columns(rows, columns)

    def check(self, *used: Expression) -> None:
        """Refuse what depends on results of OVER."""
        if any(columns_in(each) & self._unknown for each in used):
            raise self._not_yet(*_UNSUPPORTED[Over])

    def _unsupported(self, node: Node) -> KsqlError:
        return self._not_yet(*_UNSUPPORTED.get(type(node), (type(node).__name__, None)))

    def _not_yet(self, what: str, hint: str | None) -> KsqlError:
        reason = f"{self._statement} does not support {what} yet."
        return KsqlError("INVALID_STATEMENT", reason=reason, hint=hint)

    def _name(self, items: Iterable[NamedExpression]) -> None:
        """Note which of the new columns depend on results of OVER."""
        unknown = {item.name: bool(columns_in(item.expression) & self._unknown) for item in items}
        self._unknown -= unknown.keys()
        self._unknown |= {name for name, depends in unknown.items() if depends}

    def _over(self, node: Over) -> Node:
        """Add columns that identify a row's frames; LEAD adds a step for rows that still wait."""
        rows, below = self._since(node.child)
        self.check(*node.keys)
        self._column_count += 1
        name = f"__{self._column_count}_"
        parts = [NamedExpression(f"{name}KEY_{i}", e) for i, e in enumerate((*node.keys, below.passes))]
        time = NamedExpression(f"{name}TIME", ColumnRef(ROWTIME, BIGINT))
        rows = with_columns(rows, [*parts, time])
        keys: list[Expression] = [ColumnRef(part.name, part.expression.type) for part in parts]
        when = ColumnRef(time.name, BIGINT)

        def numbered(function: str, argument: Expression | None, first: int | None, last: int) -> ColumnRef:
            nonlocal rows
            self._column_count += 1
            arguments = () if argument is None else (argument,)
            call_ = AggregateCall(f"__{self._column_count}_{function}", function, arguments, BIGINT)
            rows = BatchOver(rows, tuple(keys), below.arrivals, (FramedCall(call_, first, last),))
            return ColumnRef(call_.name, BIGINT)

        if node.within_ms is not None:  # each time after which the group was forgotten begins another one
            gap = call("-", [below.arrivals[0].expression, numbered("MAX", when, None, 1)], None)
            is_new = call(">", [gap, Literal(node.within_ms, BIGINT)], None)
            keys.append(numbered("COUNT", _if(is_new, _ONE, Literal(None, BIGINT)), None, 0))
        at = numbered(ROW_NUMBER, None, None, 0)
        by_time = [FramedCall(f.call, f.range_ms, 0) for f in node.calls if f.range_ms is not None]
        by_row = [f for f in node.calls if f.range_ms is None]
        self.frames.append(_Frames(tuple(keys), at, tuple(by_row), when, tuple(by_time)))
        ahead = -min([0, *(f.last or 0 for f in by_row)])
        columns: list[NamedExpression] = []
        if self._computes and not by_time:
            rows = BatchOver(rows, tuple(keys), below.arrivals, node.calls)
        else:
            columns += (NamedExpression(f.call.name, Literal(None, f.call.type)) for f in node.calls)
            self._unknown |= {f.call.name for f in node.calls}
        if ahead and node.within_ms is None:
            has_come = call("=", [numbered("COUNT", _ONE, -ahead, -ahead), _ONE], None)
            more = "another row" if ahead == 1 else f"{ahead} more rows"
            columns.append(self._step(f"LEAD waits for {more} of its group", has_come))
        return with_columns(rows, columns)

    def with_frames(self, carried: Node, condition: Expression) -> Node:
        """The wanted rows, and those in frames of wanted rows that pass all steps, which then pass, too.

        A row is in the frame of another one if that one is in its frame when both are seen in reverse order.
        """
        rows: Node = with_columns(carried, [NamedExpression(_WANTED, _if(condition, _TRUE, _FALSE))])
        passes = [ColumnRef(step(i), BOOLEAN) for i, _ in enumerate(self.steps)]
        is_target, used = ColumnRef(_WANTED, BOOLEAN), ColumnRef(_USED, BOOLEAN)
        rows = with_columns(rows, [NamedExpression(_USED, all_of([is_target, *passes]))])
        for frames in reversed(self.frames):
            conditions: list[Expression] = []
            for order, calls in ((frames.at, frames.by_row), (frames.time, frames.by_time)):
                aggregates = [
                    replace(
                        f, call=AggregateCall(f"{_ASKED}{len(conditions) + i}", "BOOL_OR", (used,), BOOLEAN)
                    )
                    for i, f in enumerate(calls)
                ]
                if aggregates:
                    by = (SortKey(order, descending=True),)
                    rows = BatchOver(rows, frames.keys, by, tuple(aggregates), is_range=True)
                    conditions += (ColumnRef(f.call.name, BOOLEAN) for f in aggregates)
            is_there = call("IS NOT NULL", [frames.at], None)
            is_used = any_of([used, all_of([is_there, _if(any_of(conditions), _TRUE, _FALSE)])])
            columns = [c for c in rows.schema.columns if not c.name.startswith(_ASKED)]
            rows = with_columns(rows, [NamedExpression(_USED, _if(is_used, _TRUE, _FALSE))], columns)
        rows = with_columns(rows, [NamedExpression(c.name, any_of([c, used])) for c in passes])
        return Filter(rows, any_of([is_target, used]))

    def _since(self, node: Node) -> tuple[Node, _Below]:
        inputs, steps = len(self.inputs), len(self.steps)
        return self.carried(node), _Below(range(inputs, len(self.inputs)), range(steps, len(self.steps)))

    def _ranked(
        self,
        rows: Node,
        below: _Below,
        keys: Iterable[Expression],
        order: Iterable[SortKey],
        functions: Sequence[str],
    ) -> tuple[Node, list[Expression]]:
        """``rows``, and their numbers in their group, counting those that pass all steps; of others NULL."""
        keys, order, alive = tuple(keys), tuple(order), below.passes
        self.check(*keys, *(key.expression for key in order))
        self._column_count += 1
        calls = [AggregateCall(f"__{self._column_count}_{f}", f, (), BIGINT) for f in functions]
        framed = tuple(FramedCall(each, None, 0) for each in calls)
        numbers = [_if(alive, ColumnRef(each.name, BIGINT), Literal(None, BIGINT)) for each in calls]
        return BatchOver(rows, (*keys, alive), order, framed), numbers

    def _join(self, node: Join) -> Node:
        """Trace a join of two streams or two tables."""
        left, right = self._side(node.left), self._side(node.right)
        conditions: list[Expression] = [call("=", [node.left_key, node.right_key], None)]
        if node.within is not None:
            low = call("-", [left.time, Literal(node.within.before_ms, BIGINT)], None)
            high = call("+", [left.time, Literal(node.within.after_ms, BIGINT)], None)
            conditions.append(call("BETWEEN", [right.time, low, high], None))
        return self._joined(node, left, right, conditions, "FULL")

    def _join_of_versions(self, node: Join) -> Node:
        """Trace a join of a stream with the row that a table had at the time of the stream's record."""
        self.joins_versions = True
        left = self._side(node.left)
        inputs, steps = len(self.inputs), len(self.steps)
        right = self._renamed(self._versions(node.right), inputs, steps)
        extra = added(len(self.inputs) - 1)
        until = ColumnRef(extra.until, BIGINT)
        conditions: list[Expression] = [
            call("=", [node.left_key, node.right_key], None),
            call("<=", [right.time, left.time], None),
            call("OR", [_is_null(until), call(">", [until, left.time], None)], None),
            call("NOT", [ColumnRef(extra.deletes, BOOLEAN)], None),
        ]
        return self._joined(node, left, right, conditions, "LEFT")

    def _versions(self, node: Node) -> Node:
        """All rows that a table has had, each with the time of the next one."""
        match node:
            case Source():
                return self._input(node, is_versioned=True)
            case Filter(child, predicate):
                return self._filtered(self._versions(child), predicate)
            case Project(child, keys, values):
                below = self._versions(child)
                return with_columns(below, (*keys, *values), _hidden(below))
        raise self._unsupported(node)

    def _side(self, node: Node) -> _Side:
        inputs, steps = len(self.inputs), len(self.steps)
        return self._renamed(self.carried(node), inputs, steps)

    def _renamed(self, below: Node, inputs: int, steps: int) -> _Side:
        """A side of a join, whose ROWTIME has a name of its own; the numbers of its first input and step."""
        time = NamedExpression(f"__TIME_{inputs}", ColumnRef(ROWTIME, BIGINT))
        others = [column for column in below.schema.columns if column.name not in PLACES]
        return _Side(
            with_columns(below, [time], others),
            ColumnRef(time.name, BIGINT),
            range(inputs, len(self.inputs)),
            range(steps, len(self.steps)),
        )

    def _joined(
        self, node: Join, left: _Side, right: _Side, conditions: list[Expression], outer: str
    ) -> Node:
        """The rows of both sides, in pairs where they pass all steps before and meet."""
        conditions += (ColumnRef(step(i), BOOLEAN) for i in (*left.steps, *right.steps))
        self.check(node.left_key, node.right_key)
        if node.residual is not None:
            self.check(node.residual)
            conditions.append(node.residual)
        both: Node = BatchJoin(left.node, right.node, outer, all_of(conditions))
        columns = [
            NamedExpression(step(i), _if(_is_null(column), _TRUE, column))
            for i in (*left.steps, *right.steps)
            for column in (ColumnRef(step(i), BOOLEAN),)
        ]
        is_later = call(">", [right.time, left.time], None)
        latest = _if(_is_null(left.time), right.time, _if(is_later, right.time, left.time))
        columns.append(NamedExpression(ROWTIME, left.time if outer == "LEFT" else latest))
        if node.type not in (FOREIGN_KEY, REPLICATED):  # which have the left side's key
            key = _if(_is_null(node.left_key), node.right_key, node.left_key)
            columns.append(NamedExpression(node.key_name, key))
        needed = _NEEDED[node.join]
        if needed:
            sides = [(left, right)[i].is_there for i in needed]
            text = f"nothing meets it in the join ON {node.left_key} = {node.right_key}"
            columns.append(self._step(text, all_of(sides)))
        rows = with_columns(both, columns)
        return self._once(rows, left, right) if node.join == SEMI else rows

    def _once(self, rows: Node, left: _Side, right: _Side) -> Node:
        """The first of the pairs of each record of the left side."""
        below = _Below(range(left.inputs.start, right.inputs.stop), range(left.steps.start, len(self.steps)))
        own = [ColumnRef(name, BIGINT) for n in left.inputs for name in place(n)[1:]]
        rows, (number,) = self._ranked(rows, below, own, below.arrivals, [ROW_NUMBER])
        is_first = call("=", [number, _ONE], None)
        return with_columns(rows, [self._step("the row was there already, for an earlier record", is_first)])

    def _union(self, sides: Sequence[Node], node: Node) -> tuple[Node, list[_Below]]:
        """The rows of all sides under the names of ``node``, and what each side is made of.

        A row lacks the places of other sides, and passes their steps.
        """
        branches = [(side, *self._since(side)) for side in sides]
        there = [{c.name for c in rows.schema.columns} for _, rows, _ in branches]
        names = [column.name for column in node.schema.columns]
        hidden = {c.name: c for _, rows, _ in branches for c in _hidden(rows) if c.name not in names}
        hidden = {n: c for n, c in hidden.items() if n not in PLACES or all(n in own for own in there)}
        steps = {step(i) for i, _ in enumerate(self.steps)}
        parts = []
        for (side, rows, _), own in zip(branches, there, strict=True):
            values = [
                NamedExpression(name, ColumnRef(c.name, c.type))
                for name, c in zip(names, side.schema.columns, strict=True)
            ]
            for name, column in hidden.items():
                missing = _TRUE if name in steps else Literal(None, column.type)
                values.append(
                    NamedExpression(name, kept_column(column).expression if name in own else missing)
                )
            parts.append(Project(rows, (), tuple(values)))
        return UnionAll(tuple(parts)), [below for *_, below in branches]

    def _set_operation(self, node: SetOperation) -> Node:
        """The rows of both sides; of EXCEPT and INTERSECT with steps that look at the equal rows."""
        since = len(self.steps)
        rows, (left, right) = self._union((node.left, node.right), node)
        if node.operator == UNION:
            return rows
        alive = _Below(range(0), range(since, len(self.steps))).passes
        is_left, is_right = (
            any_of(call("IS NOT NULL", [ColumnRef(place(n)[2], BIGINT)], None) for n in side.inputs)
            for side in (left, right)
        )
        self._column_count += 1
        calls = [
            AggregateCall(f"__{self._column_count}_{name}", "BOOL_OR", (all_of([is_there, alive]),), BOOLEAN)
            for name, is_there in (("LEFT", is_left), ("RIGHT", is_right))
        ]
        keys = tuple(ColumnRef(c.name, c.type) for c in node.schema.columns)
        rows = BatchOver(rows, keys, (), tuple(FramedCall(each, None, 0) for each in calls))
        in_left, in_right = (ColumnRef(each.name, BOOLEAN) for each in calls)
        if node.operator == EXCEPT:
            removes = self._step("EXCEPT: its row is on the right side, and removes equal ones", is_left)
            absent = call("NOT", [in_right], None)
            return with_columns(
                rows, [removes, self._step("EXCEPT: the right side has an equal row", absent)]
            )
        both = all_of([in_left, in_right])
        return with_columns(rows, [self._step("INTERSECT: the other side has no equal row", both)])


@dataclass(frozen=True)
class _Side:
    """A side of a join: its rows, their time, and the numbers of its inputs and steps."""

    node: Node
    time: ColumnRef
    inputs: range
    steps: range

    @property
    def is_there(self) -> Expression:
        """Whether a row of the join has a record of this side."""
        return call("IS NOT NULL", [self.time], None)


@dataclass(frozen=True)
class _Frames:
    """The columns that identify the frames of OVER that a row is in.

    Args:
        keys: its group.
        at: its number in the group, from 1.
        by_row: frames of rows.
        time: its time.
        by_time: frames of time, in ms.
    """

    keys: tuple[Expression, ...]
    at: ColumnRef
    by_row: tuple[FramedCall, ...]
    time: ColumnRef
    by_time: tuple[FramedCall, ...]


@dataclass(frozen=True)
class _Below:
    """The numbers of the inputs and steps below a node."""

    inputs: range
    steps: range

    @property
    def passes(self) -> Expression:
        """Whether a row passes all of the steps."""
        return all_of([_TRUE, *(ColumnRef(step(i), BOOLEAN) for i in self.steps)])

    @property
    def arrivals(self) -> tuple[SortKey, ...]:
        """The order in which a task takes the rows; the first key is stream time."""
        times: list[Expression] = [ColumnRef(_arrival(n), BIGINT) for n in self.inputs]
        latest = times[0] if len(times) == 1 else call("GREATEST", times, None)
        places = (ColumnRef(name, BIGINT) for n in self.inputs for name in place(n)[1:])
        return (SortKey(latest), *map(SortKey, places))


_TRUE, _FALSE = Literal(True, BOOLEAN), Literal(False, BOOLEAN)
_ONE = Literal(1, BIGINT)
_WANTED, _USED, _ASKED = "__WANTED", "__USED", "__ASKED_"
#: the sides of a join that a row needs
_NEEDED = {"INNER": (0, 1), SEMI: (0, 1), "LEFT": (0,), "RIGHT": (1,), "FULL": ()}
#: the beginning of columns of sub-queries of EXISTS and IN (semi_joins.py), and which one tells of a partner
_INNER = re.compile(r"\bKSQL_\d+_")
_FOUND = re.compile(r"\bKSQL_\d+__FOUND\b")


def _arrival(number: int) -> str:
    """The column with the latest time so far in its partition, at a record of the input with this number."""
    return f"__ARRIVAL_{number}"


def is_ordered_by(node: Node) -> bool:
    """Whether rows of the node depend on the order of records."""
    return isinstance(node, (Deduplicate, Over, TopN)) or (isinstance(node, Join) and node.join == SEMI)


def _hidden(node: Node) -> list[Column]:
    return [c for c in node.schema.columns if c.name.startswith("__") or c.name in PLACES]


def _if(condition: Expression, then: Expression, otherwise: Expression) -> Expression:
    return Case(((condition, then),), otherwise, then.type)


def _is_null(operand: Expression) -> Expression:
    return call("IS NULL", [operand], None)


def all_of(conditions: Iterable[Expression]) -> Expression:
    """AND; there is at least one."""
    return reduce(lambda a, b: call("AND", [a, b], None), conditions)


def any_of(conditions: Iterable[Expression]) -> Expression:
    """OR; there is at least one."""
    return reduce(lambda a, b: call("OR", [a, b], None), conditions)


def with_columns(
    below: Node, added: Iterable[NamedExpression], from_below: Iterable[Column] | None = None
) -> Project:
    """``added``, and the columns ``from_below`` (None: all) that have other names."""
    added = tuple(added)
    names = {item.name for item in added}
    columns = below.schema.columns if from_below is None else from_below
    return Project(below, (), (*(kept_column(c) for c in columns if c.name not in names), *added))


def kept_column(column: Column) -> NamedExpression:
    """A column under its name."""
    return NamedExpression(column.name, ColumnRef(column.name, column.type))


def replaced(expression: Expression, columns: Mapping[str, Expression]) -> Expression:
    """``expression`` over the columns of which ``columns`` are made."""
    return transform(expression, lambda e: columns.get(e.name) if isinstance(e, ColumnRef) else None)


__all__ = [
    "BEFORE_START", "PLACES", "Tracer", "added", "all_of", "any_of", "is_ordered_by", "kept_column", "place",
    "replaced", "step", "with_columns",
]  # fmt: skip
