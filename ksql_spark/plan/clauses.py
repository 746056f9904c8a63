"""Parts of nodes: named expressions, calls, windows, patterns, sort keys."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from ksql_spark import expressions
from ksql_spark.errors import KsqlError
from ksql_spark.expressions import Call, Cast, ColumnRef, Expression, transform
from ksql_spark.functions import registry
from ksql_spark.metastore.calendars import Calendar
from ksql_spark.metastore.sources import Windowing
from ksql_spark.plan.patterns import Automaton, PatternValue, PreviousValue
from ksql_spark.schema import Column
from ksql_spark.types import SqlType

#: prefixes of columns that only exist within a batch query's plan: groups, and sort keys
GROUP, SORT = "KSQL_GROUP_", "KSQL_SORT_"


@dataclass(frozen=True)
class NamedExpression:
    """An expression and the name of its column."""

    name: str
    expression: Expression

    def __str__(self) -> str:
        return f"{self.expression} AS {self.name}"


@dataclass(frozen=True)
class AggregateCall:
    """One aggregate of an Aggregate node, under the name of its result column.

    ``arguments``: expressions over the child; constants (k, flags) are Literals; empty: COUNT(*).
    ``condition``: FILTER, the rows that it takes, or None for all. ``is_appended``: it came while the query
    ran, so state from before has nothing of it; such calls are the last ones. ``by_arrival``: its result
    depends on the order in which the rows of a group come (functions.spec). ``order``: that order, if not
    that of arrival; over complete inputs only.
    """

    name: str
    function: str
    arguments: tuple[Expression, ...]
    type: SqlType
    distinct: bool = False
    condition: Expression | None = None
    is_appended: bool = False
    by_arrival: bool = False
    order: tuple[SortKey, ...] = ()

    @property
    def call(self) -> str:
        """The call as KSQL text."""
        inner = ", ".join(map(str, self.arguments)) or "*"
        inner += f" ORDER BY {', '.join(map(str, self.order))}" if self.order else ""
        only = "" if self.condition is None else f" FILTER (WHERE {written_out(self.condition, {})})"
        return f"{self.function}({'DISTINCT ' if self.distinct else ''}{inner}){only}"

    @property
    def merges(self) -> bool:
        """Whether states over parts of a group's rows make its result, whatever order the rows came in.

        Of a user's function, nobody says whether it depends on that order.
        """
        spec = registry.require(self.function)
        return spec.merge and spec.origin is None and not (self.by_arrival or self.distinct)

    @property
    def inputs(self) -> tuple[Expression, ...]:
        """The expressions over the child that it needs."""
        ordered = tuple(key.expression for key in self.order)
        return (*self.arguments, *ordered, *(() if self.condition is None else (self.condition,)))

    def __str__(self) -> str:
        return f"{self.call} AS {self.name}"


@dataclass(frozen=True)
class FramedCall:
    """An aggregate over the last rows of a row's group, the row itself included, or over one after it.

    Args:
        call: the aggregate.
        first: how many rows before the current one the frame begins; None: with the group's first row;
            negative: so many after it.
        last: how many rows before the current one it ends; negative: so many after it; None: with the group.
        range_ms: RANGE: how much older the rows may be; the other two do not matter then.
    """

    call: AggregateCall
    first: int | None
    last: int | None
    range_ms: int | None = None

    def __str__(self) -> str:
        if self.range_ms is not None:
            return f"{self.call.call} RANGE {self.range_ms} MILLISECONDS PRECEDING AS {self.call.name}"
        begin = "UNBOUNDED PRECEDING" if self.first is None else _bound(self.first, "0 PRECEDING")
        end = "UNBOUNDED FOLLOWING" if self.last is None else _bound(self.last, "CURRENT ROW")
        return f"{self.call.call} ROWS BETWEEN {begin} AND {end} AS {self.call.name}"


def _bound(rows: int, current: str) -> str:
    return current if rows == 0 else f"{rows} PRECEDING" if rows > 0 else f"{-rows} FOLLOWING"


@dataclass(frozen=True)
class _WrittenOut(ColumnRef):
    """The reference to an internal column, shown as the expression whose values it has."""

    text: str

    def __str__(self) -> str:
        return self.text


def written_out(expression: Expression, texts: Mapping[str, str]) -> Expression:
    """``expression`` to be shown to users: a reference to a column in ``texts`` as the text (see call_texts),
    and no conversion that happens without a CAST."""

    def shown(part: Expression) -> Expression | None:
        match part:
            case ColumnRef() if part.name in texts:
                return _WrittenOut(part.name, part.type, texts[part.name])
            case Call():
                plain = _without_casts(part)
                return replace(plain, arguments=tuple(transform(a, shown) for a in plain.arguments))
        return None

    return transform(expression, shown)


def _without_casts(call: Call) -> Call:
    """``call`` without the conversions of its arguments that are implicit: it would get them again."""
    if not any(isinstance(a, Cast) for a in call.arguments):
        return call
    for dropped in (object, expressions.Literal):
        arguments = tuple(
            a.operand if isinstance(a, Cast) and isinstance(a.operand, dropped) else a for a in call.arguments
        )
        literals = [a.value if isinstance(a, expressions.Literal) else None for a in arguments]
        try:
            overload = registry.resolve(call.function, [a.type for a in arguments], literals)
        except KsqlError:
            continue
        types = [a.type for a in call.arguments]
        if overload.result_type == call.type and list(overload.parameter_types) == types:
            return replace(call, arguments=arguments)
    return call


def call_texts(calls: Iterable[AggregateCall]) -> dict[str, str]:
    """The columns of aggregates, each with its call."""
    return {call.name: call.call for call in calls}


@dataclass(frozen=True)
class WindowSpec:
    """WINDOW clause (reference §2.6), all in ms: ``size_ms`` is the inactivity gap for SESSION.

    ``retention_ms`` and ``grace_ms`` are the effective values, defaults included. ``calendar`` is set for
    TUMBLING windows that do not begin at multiples of their size, which then is that of the longest, and for
    CUMULATIVE ones, which grow by ``advance_ms``, or up to the bounds of ``step``.
    """

    kind: str
    size_ms: int
    advance_ms: int | None
    retention_ms: int
    grace_ms: int
    calendar: Calendar | None = None
    step: Calendar | None = None

    @property
    def windowing(self) -> Windowing:
        """The window in the result's keys."""
        if self.kind in ("CUMULATIVE", "SESSION"):
            return Windowing(self.kind)
        if self.calendar is not None:
            return Windowing(self.kind, calendar=self.calendar)
        return Windowing(self.kind, self.size_ms)


#: ending of the columns of a match's values that are those of all its rows, not of the rows so far
FINAL = "_FINAL"


@dataclass(frozen=True)
class PatternAggregate:
    """An aggregate over the rows of a match that were mapped to ``symbol`` so far; None: over all of them."""

    symbol: str | None
    call: AggregateCall
    text: str


@dataclass(frozen=True)
class RowPattern:
    """The row pattern of MATCH_RECOGNIZE, and the columns that it needs (reference §6.17).

    Args:
        text: PATTERN as KSQL.
        automaton: of the pattern.
        row: what conditions and values need of each row, over the child of the node.
        previous: further such columns, of rows before it.
        values, aggregates: what conditions and measures need of the rows so far.
        definitions: the condition of each symbol that has one, over all of these columns.
        within_ms: how far apart in time the rows of a match may be.
        skip: where the next match may begin: PAST LAST ROW, TO NEXT ROW, TO FIRST or TO LAST.
        skip_to: the symbol of the last two.
        all_rows: whether each row of a match is a row of the result, with its columns.
        has_finals: whether there are columns for FINAL, see FINAL.
    """

    text: str
    automaton: Automaton
    row: tuple[NamedExpression, ...]
    previous: tuple[PreviousValue, ...]
    values: tuple[PatternValue, ...]
    aggregates: tuple[PatternAggregate, ...]
    definitions: tuple[NamedExpression, ...]
    within_ms: int
    skip: str
    skip_to: str | None
    all_rows: bool
    has_finals: bool

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns from which measures are computed."""
        own = [Column(v.name, v.type) for v in self.values]
        own += (Column(a.call.name, a.call.type) for a in self.aggregates)
        return (*own, *(Column(c.name + FINAL, c.type) for c in own if self.has_finals))

    @property
    def texts(self) -> dict[str, str]:
        """The internal columns, as users write them."""
        values = [(v.name, v.text) for v in self.values]
        values += [(a.call.name, a.text) for a in self.aggregates]
        finals = {name + FINAL: f"FINAL {text}" for name, text in values}
        rows = {r.name: str(r.expression) for r in self.row} | {p.name: p.text for p in self.previous}
        return rows | dict(values) | finals

    @property
    def shown_definitions(self) -> str:
        """DEFINE."""
        return ", ".join(f"{d.name} AS {written_out(d.expression, self.texts)}" for d in self.definitions)

    @property
    def shown_skip(self) -> str:
        """The text after AFTER MATCH SKIP."""
        return self.skip if self.skip_to is None else f"{self.skip} {self.skip_to}"


@dataclass(frozen=True)
class WithinSpec:
    """WITHIN (before, after) GRACE PERIOD grace, in ms, relative to the left record in every kind of join.

    ``grace_ms`` None: not given (reference §6.5).
    """

    before_ms: int
    after_ms: int
    grace_ms: int | None


@dataclass(frozen=True)
class SortKey:
    """One expression of ORDER BY."""

    expression: Expression
    descending: bool = False
    nulls_first: bool = False

    def __str__(self) -> str:
        return f"{self.expression}{' DESC' if self.descending else ''}{' NULLS FIRST' * self.nulls_first}"
