"""Calls with OVER: aggregates of the last rows of a row's group become columns of an Over node (§6.14).

LAG, LEAD, FIRST_VALUE, LAST_VALUE and NTH_VALUE are written as aggregates too: LAG(x, n) is the first value
of the frame that has only the n-th row before the current one, LEAD(x, n) of that with the n-th after it.
Beyond ksqlDB.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from sqlglot import exp

from ksql_spark.analyzer.base.clauses import BEST_ROWS, RANKING
from ksql_spark.analyzer.base.failures import invalid
from ksql_spark.analyzer.base.scope import Scope
from ksql_spark.analyzer.expressions.aggregates import WINDOW_VARIABLE, Aggregates
from ksql_spark.analyzer.expressions.binding import bind_expression
from ksql_spark.analyzer.expressions.calls import call
from ksql_spark.analyzer.expressions.coercion import unify
from ksql_spark.analyzer.relations.binding import From
from ksql_spark.analyzer.select.deduplication import bind_keys, is_rowtime
from ksql_spark.expressions import Case, ColumnRef, Expression, Literal
from ksql_spark.grammar import nodes
from ksql_spark.metastore.sources import TABLE
from ksql_spark.plan.clauses import FramedCall
from ksql_spark.types import BIGINT, INTEGER

AGGREGATES = ("AVG", "COUNT", "MAX", "MIN", "SUM")
#: the aggregates that give a frame's first and last value
_VALUES = {"FIRST_VALUE": "EARLIEST_BY_OFFSET", "LAST_VALUE": "LATEST_BY_OFFSET"}
FUNCTIONS = ", ".join(sorted(("LAG", "LEAD", "NTH_VALUE", *_VALUES, *AGGREGATES)))
#: the longest frame, in rows: the state of a key has all of them, and each row reads them
MAX_ROWS = 1000
_HINT = "Write OVER (PARTITION BY expression, … ORDER BY ROWTIME)."


@dataclass
class WindowFunctions:
    """The calls with OVER of one SELECT, without duplicates.

    ``within_ms``: for how long after its latest row a group is kept; None: forever. ``keys``: the expressions
    of PARTITION BY, which all of them share.
    """

    source: From
    within_ms: int | None = None
    calls: list[FramedCall] = field(default_factory=list)
    keys: tuple[Expression, ...] = ()
    place: nodes.WindowFunction | None = None

    def bind(self, node: nodes.WindowFunction, scope: Scope) -> Expression:
        """Bind a call with OVER: return the expression that replaces it (``window_function`` of scopes).

        Raises:
            KsqlError: INVALID_STATEMENT, or as Aggregates.bind.
        """
        is_ranking = node.this.name in RANKING
        if self.source.tree.kind == TABLE:
            hint = BEST_ROWS if is_ranking else "Use GROUP BY."
            raise invalid("OVER is for streams: the rows of a table have no order.", node, hint=hint)
        inside = replace(scope.at("OVER"), window_function=None)
        self._bind_keys(node, inside)
        order = node.order_by
        if len(order) != 1 or not is_rowtime(order[0], self.source):
            raise invalid(
                "The order of OVER is that of arrival: ORDER BY ROWTIME.", order[0] if order else node,
                hint=BEST_ROWS if is_ranking else _HINT,
            )  # fmt: skip
        name = node.this.name
        if name in ("LAG", "LEAD"):
            self._refuse_filter(node.this)
            return self._of_another_row(node, inside)
        frame = node.frame or nodes.Frame(None)
        if name == "NTH_VALUE":
            self._refuse_filter(node.this)
            return self._nth_value(node, frame, inside)
        if name in _VALUES:
            self._refuse_filter(node.this)
            if len(node.this.arguments) != 1 or node.this.distinct:
                raise invalid(f"{name} with OVER takes one value.", node.this)
            return self._framed(_value(_VALUES[name], *node.this.arguments), frame, inside, node)
        if name not in AGGREGATES or node.this.distinct:
            shown = f"{name}(DISTINCT …)" if node.this.distinct else name
            raise invalid(f"{shown} cannot have OVER: {FUNCTIONS} can.", node.this)
        return self._framed(node.this, frame, inside, node)

    def _bind_keys(self, node: nodes.WindowFunction, scope: Scope) -> None:
        if not node.partition_by:
            raise invalid("OVER needs PARTITION BY.", node, hint=_HINT)
        keys = bind_keys(node.partition_by, scope)
        if self.place is not None and keys != self.keys:
            raise invalid(
                "All OVER of a SELECT need the same PARTITION BY.", node.partition_by[0],
                hint="Put one of them into a sub-query.",
            )  # fmt: skip
        self.keys, self.place = keys, self.place or node

    def _refuse_filter(self, function: nodes.FunctionCall) -> None:
        if function.condition is not None:
            raise invalid(f"{function.name} has no FILTER.", function.condition, hint="Aggregates have.")

    def _of_another_row(self, node: nodes.WindowFunction, scope: Scope) -> Expression:
        """Bind LAG or LEAD, which take a value of another row."""
        name, written = node.this.name, node.this.arguments
        where = "back" if name == "LAG" else "ahead"
        if not 1 <= len(written) <= 3 or node.this.distinct or isinstance(written[0], exp.Star):
            raise invalid(
                f"{name} takes a value, how many rows {where}, and a default: {name}(x, 1, 0).", node.this
            )
        if node.frame is not None:
            raise invalid(f"{name} has no ROWS and no RANGE.", node.frame)
        back = 1
        if len(written) > 1:
            if not isinstance(written[1], nodes.IntegerLiteral):
                raise invalid(f"{name} needs a number of rows as its second argument.", written[1])
            back = written[1].value
        back = -back if name == "LEAD" else back
        frame = nodes.Frame(back, back)
        value = self._framed(_value("EARLIEST_BY_OFFSET", written[0]), frame, scope, node)
        if len(written) < 3:
            return value
        default = bind_expression(written[2], scope)
        star = nodes.FunctionCall(this=exp.to_identifier("COUNT"), arguments=[exp.Star()])
        count = self._framed(star, frame, scope, node)
        is_missing = call("=", (count, Literal(0, BIGINT)), node)
        type_, (present, missing) = unify([value, default], [written[0], written[2]], scope.problem)
        return Case(((is_missing, missing),), present, type_)

    def _nth_value(self, node: nodes.WindowFunction, frame: nodes.Frame, scope: Scope) -> Expression:
        written = node.this.arguments
        if len(written) != 2 or node.this.distinct or isinstance(written[0], exp.Star):
            raise invalid("NTH_VALUE takes a value and the number of a row: NTH_VALUE(x, 2).", node.this)
        number = written[1]
        if not isinstance(number, nodes.IntegerLiteral) or not 1 <= number.value <= MAX_ROWS:
            raise invalid(f"NTH_VALUE needs a number from 1 to {MAX_ROWS} as its second argument.", number)
        values = self._framed(_value("EARLIEST_BY_OFFSET", *written), frame, scope, node)
        return call("[]", (values, Literal(number.value, INTEGER)), node)

    def _framed(
        self, function: nodes.FunctionCall, frame: nodes.Frame, scope: Scope, node: nodes.WindowFunction
    ) -> Expression:
        """A reference to the column with an aggregate of a frame."""
        if frame.last is None or frame.last < 0 < (frame.first is None or frame.first >= 0):
            raise invalid(
                "Rows that follow are not there yet: a frame ends with the current row at the latest.", frame,
                hint="LEAD waits for rows that follow.",
            )  # fmt: skip
        if frame.is_range:
            raise invalid("RANGE takes a time: RANGE INTERVAL 1 HOUR PRECEDING.", frame)
        if frame.first is None and frame.last:
            raise invalid("A frame from UNBOUNDED PRECEDING ends with CURRENT ROW.", frame)
        if frame.first is not None and frame.first < frame.last:
            raise invalid("The frame ends before it begins.", frame)
        if frame.first is not None and abs(frame.first) > MAX_ROWS:
            where = "before" if frame.first > 0 else "after"
            raise invalid(f"At most {MAX_ROWS} rows {where} the current one can be kept.", node)
        own = Aggregates()
        own.bind(function, scope)
        framed_call = FramedCall(
            replace(own.calls[0], name=f"{WINDOW_VARIABLE}{len(self.calls)}"),
            frame.first,
            frame.last,
            None if frame.time is None else frame.time.milliseconds,
        )
        for existing in self.calls:
            if replace(framed_call, call=replace(framed_call.call, name=existing.call.name)) == existing:
                return ColumnRef(existing.call.name, existing.call.type)
        self.calls.append(framed_call)
        return ColumnRef(framed_call.call.name, framed_call.call.type)


def _value(aggregate: str, *arguments: exp.Expr) -> nodes.FunctionCall:
    """The first or last value of a frame, also if it is NULL; with a number so many of them."""
    return nodes.FunctionCall(
        this=exp.to_identifier(aggregate),
        arguments=[*(argument.copy() for argument in arguments), exp.Boolean(this=False)],
    )
