"""Builds joins of streams and tables by a common key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pyspark.sql import DataFrame

from ksql_spark.expressions import ColumnRef
from ksql_spark.functions.lowering import lower, lower_condition
from ksql_spark.plan.clauses import WithinSpec
from ksql_spark.plan.nodes import REPLICATED, SEMI, Join
from ksql_spark.schema import (
    NULL_KEY,
    NULL_VALUE,
    ROWPARTITION,
    WINDOWEND,
    WINDOWSTART,
)
from ksql_spark.spark import jvm
from ksql_spark.spark.frames import Built, Context, named, quoted
from ksql_spark.spark.keyed.late_rows import LateRows, values_of
from ksql_spark.spark.keyed.operator import (
    Late,
    Side,
    column_names,
    heartbeats,
    key_ddl,
    operator,
    passed_through,
    signs,
    unpacked,
)
from ksql_spark.types import BIGINT, BOOLEAN


@dataclass(frozen=True)
class _JoinInputs:
    """A join's two sides and their records."""

    node: Join
    left: Side
    right: Side

    @classmethod
    def of(cls, node: Join, inputs: Sequence[DataFrame]) -> _JoinInputs:
        left, right = Side.of(inputs[0], node.left.schema), Side.of(inputs[1], node.right.schema)
        if node.type == REPLICATED and NULL_KEY in left.frame.columns:
            left = replace(left, types={**left.types, NULL_KEY: BOOLEAN})
        return cls(node, left, right)

    def records(
        self,
        context: Context,
        *,
        left_nulls: bool,
        right_nulls: bool,
        left_task: str | None = None,
        late_rows: LateRows | None = None,
    ) -> list[DataFrame]:
        """Return the records of both sides, as the operator's inputs.

        Args:
            context: of the query.
            left_nulls, right_nulls: whether records without a key give results.
            left_task: see Side.records.
            late_rows: what is reported of late records; None: none can be late.
        """
        has_turn = context.tasks.ignored_have_turns
        left, right = (
            context.of_rows(side).lower(key, f"Join.{name}", "Join key", column_names(side.schema))
            for side, key, name in (
                (self.node.left, self.node.left_key, "Left"),
                (self.node.right, self.node.right_key, "Right"),
            )
        )
        left_nulls, right_nulls = left_nulls or has_turn, right_nulls or has_turn
        places = [late_rows.place(side) if late_rows is not None else () for side in (0, 1)]
        left_key, right_key = [left, *self.bounds], [right, *self.bounds]
        return [
            self.left.records(0, left_key, context, nulls=left_nulls, task=left_task, place=places[0]),
            self.right.records(1, right_key, context, nulls=right_nulls, place=places[1]),
        ]

    def late(self, late_rows: LateRows) -> Late | None:
        """Return how the operator reports late records."""
        sides = [(self.left, self.node.left), (self.right, self.node.right)]
        key = {str(self.node.left_key): self.node.left_key.type, **dict.fromkeys(self.bounds, BIGINT)}
        return late_rows.reported(key, [values_of(side, node.schema) for side, node in sides])

    @property
    def bounds(self) -> list[str]:
        """The bounds of a windowed key: only rows of the same window join."""
        return [] if self.node.window is None else [WINDOWSTART, WINDOWEND]

    @property
    def state(self) -> dict[str, str]:
        """The state's layout in a join that keeps both sides' rows."""
        return {"key": self.key_ddl, "left": self.left.ddl, "right": self.right.ddl}

    @property
    def key_ddl(self) -> str:
        return key_ddl([self.node.left_key.type, *(BIGINT for _ in self.bounds)])

    def condition(self, context: Context) -> Any:
        """Return the operator's argument for the join condition besides equal keys; None if there is none."""
        if self.node.residual is None:
            return None
        both = jvm.empty_frame(context.session, f"{self.left.ddl}, {self.right.ddl}")
        return jvm.pair_condition(both.filter(lower_condition(self.node.residual)), len(self.left.types))

    def done(
        self,
        context: Context,
        name: str,
        inputs: Sequence[DataFrame],
        *arguments: Any,
        state: Mapping[str, str],
        late: Late | None = None,
    ) -> Built:
        """The node's columns from an operator's output; the key column has the value that was joined on."""
        tables = [self.left, self.right]
        done = operator(context, name, inputs, *arguments, state=state, tables=tables, late=late)
        done.select(
            named(unpacked("k", self.key_ddl), "__k"),
            named(unpacked("l", self.left.ddl), "__l"),
            named(unpacked("r", self.right.ddl), "__r"),
            *passed_through(context),
            named("l IS NULL AND r IS NULL", NULL_VALUE),
            *self._following(context),
        )
        texts = self._row("__l", "__r")
        columns = [named(text, name) for name, text in texts.items()]
        columns += [named(f"__l.{NULL_KEY}", NULL_KEY)] * (NULL_KEY in self.left.types)
        sign = signs(context, texts, self._row("__nl", "__nr"))
        return done.select(*columns, *passed_through(context), NULL_VALUE, *sign).built()

    def _following(self, context: Context) -> list[str]:
        """The columns that ``signs`` needs."""
        if context.says is None:
            return []
        sides = (("nl", self.left), ("nr", self.right))
        return ["sign", *(named(unpacked(name, side.ddl), f"__{name}") for name, side in sides)]

    def _row(self, left: str, right: str) -> dict[str, str]:
        """Texts of the columns of a result; ``left``, ``right``: the columns with the rows of both sides."""
        texts = {}
        for column in self.node.schema.columns:
            side = left if column.name in self.left.types else right
            text = "__k.c0" if column.name == self.node.key_name else f"{side}.{quoted(column.name)}"
            texts[column.name] = text
        return texts | {bound: f"__k.c{i}" for i, bound in enumerate(self.bounds, 1)}


def stream_table_join(node: Join, inputs: Sequence[DataFrame], context: Context) -> Built:
    """A stream with a table (reference §6.6), or with its versions."""
    is_outer = node.join == "LEFT"
    join = _JoinInputs.of(node, inputs)
    task = None
    if node.type == REPLICATED:
        # a stream's row goes to the task of its partition (or of its key), a table's row to all tasks
        own = [lower(ColumnRef(c.name, c.type)) for c in node.left.schema.key]
        by_key = context.task(f"ksql.pack_key(struct({', '.join(own)}))") if own else str(context.numbers[0])
        task = context.task_of(ROWPARTITION) if ROWPARTITION in inputs[0].columns else by_key
    late_rows = LateRows.of(context, "Join", (node.left, node.right), may_be_late=node.grace_ms is not None)
    left, right = join.records(
        context, left_nulls=is_outer, right_nulls=False, left_task=task, late_rows=late_rows
    )
    if node.type == REPLICATED:
        everywhere = f"explode(array({', '.join(map(str, context.numbers))}))"
        right = right.selectExpr(named(everywhere, "task"), *right.columns[1:])
    state = {"key": join.key_ddl, "right": join.right.ddl}
    condition = join.condition(context)
    if node.grace_ms is None:
        return join.done(context, "streamTableJoin", [left, right], is_outer, condition, state=state)
    state |= {"left": join.left.ddl, "rows": "versions by key, waiting rows by time"}
    # a record without a value joins with nothing, but advances stream time
    idle_ms, late = context.idle_ms_of(node), join.late(late_rows)
    inputs = [left, right, *heartbeats(idle_ms, context, late=late)]
    arguments = (is_outer, condition, node.grace_ms, idle_ms)
    return join.done(context, "versionedTableJoin", inputs, *arguments, state=state, late=late)


def table_table_join(node: Join, inputs: Sequence[DataFrame], context: Context) -> Built:
    """Two tables by their primary keys (reference §6.7)."""
    join = _JoinInputs.of(node, inputs)
    outer = (node.join in ("LEFT", "FULL"), node.join in ("RIGHT", "FULL"))
    records = join.records(context, left_nulls=False, right_nulls=False)
    return join.done(context, "tableTableJoin", records, *outer, state=join.state)


def stream_stream_join(node: Join, inputs: Sequence[DataFrame], context: Context) -> Built:
    """Two streams (reference §6.5). The operator takes -1 ms for no WITHIN and for no grace period."""
    join, idle_ms = _JoinInputs.of(node, inputs), context.idle_ms_of(node)
    outer = (node.join in ("LEFT", "FULL"), node.join in ("RIGHT", "FULL"))
    late_rows = LateRows.of(context, "Join", (node.left, node.right), may_be_late=node.within is not None)
    late = join.late(late_rows)
    records = join.records(context, left_nulls=outer[0], right_nulls=outer[1], late_rows=late_rows)
    within = node.within or WithinSpec(-1, -1, None)
    grace = -1 if within.grace_ms is None else within.grace_ms
    # a record with a NULL value joins with nothing, but advances stream time
    inputs = [*records, *heartbeats(idle_ms, context, late=late)]
    is_semi = node.join == SEMI
    arguments = (
        *outer, is_semi, join.condition(context), within.before_ms, within.after_ms, grace, idle_ms
    )  # fmt: skip
    state = {**join.state, "rows": "groups by side, bucket and key"}
    if is_semi:
        state["left rows"] = "without a partner"
    return join.done(context, "streamStreamJoin", inputs, *arguments, state=state, late=late)
