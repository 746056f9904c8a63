"""Rows on their way into keyed operators and out of them, packed into bytes (PackedRow.java).

KeyedOperator.java lists the columns.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame

from ksql_spark.expressions import Expression
from ksql_spark.functions import registry
from ksql_spark.functions.spark_text import MAX_PRECISION, spark_type
from ksql_spark.plan.clauses import AggregateCall
from ksql_spark.plan.nodes import SIGN
from ksql_spark.schema import (
    FORWARDED_HEADERS,
    NULL_KEY,
    NULL_VALUE,
    PSEUDO_COLUMNS,
    ROWPARTITION,
    ROWTIME,
    STREAM_TIME,
    UNCHANGED,
    WINDOW_BOUNDS,
    Schema,
)
from ksql_spark.spark import aggregate_calls, jvm, sources
from ksql_spark.spark.frames import (
    Built,
    Context,
    Topics,
    Transformations,
    event_time_column,
    named,
    packed_key,
    quoted,
    union,
)
from ksql_spark.types import BOOLEAN, INTEGER, Array, Decimal, SqlType

#: a record's headers as bytes; most have none
PACKED_HEADERS = f"if(size({FORWARDED_HEADERS}) > 0, ksql.pack(struct({FORWARDED_HEADERS})), NULL)"
_HEADERS_DDL = "h array<struct<key string, value binary>>"
#: hidden columns that operators pass through
PASSED_THROUGH = (ROWTIME, FORWARDED_HEADERS)


@dataclass(frozen=True)
class Late:
    """How an operator reports late records (keyed/late_rows.py).

    Args:
        setting: LateRows.SETTING.
        no_place: texts of the columns p and o of an input that has no records.
    """

    setting: str
    no_place: tuple[str, ...]


@dataclass(frozen=True)
class Side:
    """One input of a keyed operator: a frame and the types of its columns (without hidden ones)."""

    frame: DataFrame
    types: Mapping[str, SqlType]

    @classmethod
    def of(cls, frame: DataFrame, schema: Schema) -> Side:
        """The side of a frame with the columns of ``schema``, and with UNCHANGED as the last one if it is
        there.
        """
        left_out = {UNCHANGED: Array(INTEGER)} if UNCHANGED in frame.columns else {}
        return cls(frame, column_types(schema) | left_out)

    @property
    def ddl(self) -> str:
        """The columns of the side, as Spark's DDL."""
        return columns_ddl(self.types)

    def records(
        self,
        side: int | str,
        key: Sequence[str],
        context: Context,
        *,
        nulls: bool = False,
        packs_nulls: bool = False,
        task: str | None = None,
        place: Sequence[str] = (),
    ) -> DataFrame:
        """The frame as an operator's input: task, k, side, ts, v, h, and the columns of ``place``.

        Args:
            side: the input's number, 0 or 1, or the text of a number over the frame's columns.
            key: texts of the key's members, over the frame's columns.
            context: of the query.
            nulls: keep records whose key has a NULL member, with an empty key; else they are dropped.
            packs_nulls: keep them, with a key in which NULL is a value like others.
            task: text of the task, over the frame's columns; None: the task of the key.
            place: texts of p and o, over the frame's columns; none if late records are only counted.
        """
        # computed in a frame of its own: an expression that reports its failures must be evaluated only once
        parts_of_key = [f"__part_{i}" for i in range(len(key))]
        rows = Transformations(self.frame).select(
            *map(quoted, self.frame.columns), *map(named, key, parts_of_key)
        )
        has_key = " AND ".join(f"{part} IS NOT NULL" for part in parts_of_key)
        packed = packed_key(parts_of_key)
        if not packs_nulls:
            packed = f"if({has_key}, {packed}, X'')"
        row = f"if({NULL_VALUE}, NULL, ksql.pack(struct({', '.join(map(quoted, self.types))})))"
        own = [named(task, "task")] if task is not None else []
        if context.tasks.by_partition:
            own = [named(ROWPARTITION, "task")]
        # a filter on the packed key would be pushed down and pack it a second time
        if not nulls and not packs_nulls:
            rows.filter(has_key)
        time = event_time_column(self.frame.columns)
        parts = [named(packed, "k"), named(str(side), "side"), named(time, "ts"), named(row, "v")]
        rows.select(*parts, named(PACKED_HEADERS, "h"), *place, *own)
        task_column = "task" if own else named(context.task("k"), "task")
        return rows.select(task_column, "k", "side", "ts", "v", "h", *("p", "o")[: len(place)]).frame()


def column_types(schema: Schema) -> dict[str, SqlType]:
    """The types of columns by name."""
    return {c.name: c.type for c in schema.columns}


def column_names(schema: Schema) -> list[str]:
    """The names of columns."""
    return [c.name for c in schema.columns]


def columns_ddl(types: Mapping[str, SqlType]) -> str:
    """Columns as Spark's DDL."""
    return ", ".join(f"{quoted(name)} {spark_type(type_)}" for name, type_ in types.items())


def unpacked(column: str, ddl: str) -> str:
    """Text: the struct whose bytes are in ``column``."""
    return f"ksql.{quoted(f'unpack:{ddl}')}({column})"


def key_ddl(types: Sequence[SqlType]) -> str:
    """The columns c0, c1 … of a packed key."""
    return ", ".join(f"c{i} {spark_type(t)}" for i, t in enumerate(types))


class Operated(Transformations):
    """Transformations of what a keyed operator returns; ``layout``: that of its state (Built)."""

    def __init__(self, frame: DataFrame, layout: Mapping[str, str]) -> None:
        super().__init__(frame)
        self.layout = layout

    def built(self, appended: Collection[str] = (), former: Mapping[str, str] | None = None) -> Built:
        """The frame with all of them, and the layout; ``appended``, ``former``: see there."""
        return Built(self.frame(), self.layout, appended, former or {})


def operator(
    context: Context,
    name: str,
    inputs: Sequence[DataFrame],
    *arguments: Any,
    state: Mapping[str, str],
    tables: Sequence[Side] = (),
    late: Late | None = None,
) -> Operated:
    """Apply a keyed operator of the JVM to the union of ``inputs``: k, l, r, ws, we, ROWTIME and headers.

    If it says how its rows change, sign, nl and nr follow.

    Args:
        context: of the query.
        name: the operator's.
        inputs: from Side.records, and heartbeats.
        arguments: the operator's.
        state: the layout of the bytes that it keeps.
        tables: the sides, by their numbers, whose rows may leave out columns (FormerRows.java).
        late: how late records are reported; None: they are counted.
    """
    former = {str(i): side.ddl for i, side in enumerate(tables) if UNCHANGED in side.types}
    layout = {"operator": name, **state, **{f"former rows {side}": ddl for side, ddl in former.items()}}
    if context.number and context.tasks.by_partition:
        layout["task"] = "that of the operation below"
    context.session.conf.set("spark.ksql.formerRows", json.dumps(former))
    context.session.conf.set("spark.ksql.lateRows", late.setting if late is not None else "")
    context.session.conf.set("spark.ksql.operator", str(context.number))
    context.session.conf.set("spark.ksql.changes", str(context.says is not None).lower())
    done = jvm.keyed_operator(name, union(inputs), *arguments)
    headers = f"{unpacked('h', _HEADERS_DDL)}.h"
    columns = ["k", "l", "r", "ws", "we", named("ts", ROWTIME), named(headers, FORWARDED_HEADERS)]
    changes = ["sign", "nl", "nr"] if context.says is not None else []
    return Operated(done, layout).select(
        *columns, named("task", ROWPARTITION), named("st", STREAM_TIME), *changes
    )


def signs(context: Context, row: Mapping[str, str], following: Mapping[str, str]) -> list[str]:
    """The column with the signs of rows, where an operation says how its rows change; see Signs.text."""
    return [] if context.says is None else [named(context.says.text(row, following), SIGN)]


def passed_through(context: Context) -> tuple[str, ...]:
    """Hidden columns that a join or a filter passes through."""
    return (*PASSED_THROUGH, ROWPARTITION, STREAM_TIME) if context.tasks.keeps_partition else PASSED_THROUGH


def heartbeats(
    idle_ms: int, context: Context, every_ms: int = 0, *, late: Late | None = None
) -> list[DataFrame]:
    """A frame of heartbeats for every task, if an operator with this timeout or interval (ms) needs them."""
    topics = context.reads
    if not (idle_ms or every_ms) or not isinstance(topics, Topics) or topics.heartbeats is None:
        return []
    latest = {topics.heartbeats: '{"0": -1}'}
    options = context.options(topics)
    raw = sources.read(context.session, topics.consumer, topics.heartbeats, latest, options=options)
    task = named(f"explode(array({', '.join(map(str, context.numbers))}))", "task")
    nothing = ("cast(NULL AS binary) AS v", "cast(NULL AS binary) AS h")
    no_place = late.no_place if late is not None else ()
    return [raw.selectExpr(task, "X'' AS k", "2 AS side", "0L AS ts", *nothing, *no_place)]


@dataclass(frozen=True)
class Carried:
    """The columns of a stream's rows that pass through an operator.

    Args:
        time: the column with the event time.
        types: those that are packed, hidden ones too; the operator's output has them in ``__l``.
        added: hidden columns of the operator's output that the rows do not have.
    """

    time: str
    types: Mapping[str, SqlType]
    added: tuple[str, ...]

    @classmethod
    def of(cls, frame: DataFrame, schema: Schema, context: Context) -> Carried:
        """The columns of ``frame``, whose visible ones are those of ``schema``."""
        time = event_time_column(frame.columns)
        all_types = {**PSEUDO_COLUMNS, **WINDOW_BOUNDS, NULL_KEY: BOOLEAN, **column_types(schema)}
        others = {time, FORWARDED_HEADERS}
        if context.tasks.feeds_task:  # then it is the task, and not where the row was read
            others.add(ROWPARTITION)
        names = [n for n in frame.columns if n in all_types and n not in others]
        added = (n for n in passed_through(context) if n not in (*PASSED_THROUGH, *names))
        return cls(time, {name: all_types[name] for name in names}, tuple(added))

    @property
    def hidden(self) -> list[str]:
        """Texts of the hidden columns that are not packed, over the operator's output."""
        return [named(ROWTIME, self.time), FORWARDED_HEADERS, *self.added, named("false", NULL_VALUE)]

    @property
    def hidden_names(self) -> list[str]:
        """The names of the hidden columns."""
        return [quoted(self.time), FORWARDED_HEADERS, *self.added, NULL_VALUE]

    @property
    def columns(self) -> list[str]:
        """Texts of the packed columns, over ``__l``."""
        return [named(f"__l.{quoted(name)}", name) for name in self.types]


def call_arguments(
    call: AggregateCall,
    number: int,
    step: str,
    row: Sequence[str],
    context: Context,
    types: dict[str, SqlType],
    columns: list[str],
    *,
    once_with: int | None = None,
) -> list[str]:
    """Return aggregate_calls.arguments, with failures reported for ``step`` and the columns ``row``."""

    def lowered(expression: Expression, what: str) -> str:
        return context.lower(expression, step, what, row)

    return aggregate_calls.arguments(
        call, number, lowered, context.setting, types, columns, once_with=once_with
    )


def overflow(call: AggregateCall, step: str, context: Context, shown: Mapping[str, str]) -> str | None:
    """Text of a FALSE that reports that an aggregate's result does not fit its type; None: it always does.

    Args:
        call: the aggregate.
        step: the end of the logger's name.
        context: of the query.
        shown: the row of the entry, name -> text.
    """
    if context.log is None or not isinstance(call.type, Decimal):
        return None
    if not registry.require(call.function).can_fail:
        return None
    log = context.log.of_topic(None)
    remedy = " CAST its argument to a larger type." if call.type.precision < MAX_PRECISION else ""
    why = f"The result does not fit into {call.type}.{remedy}"
    return log.failed(step, f"{call.call} failed.", why, log.record(shown))


def result_of(call: AggregateCall, text: str, step: str, context: Context, shown: Mapping[str, str]) -> str:
    """Text: the result of an aggregate in ``text``, over a frame with NULL_VALUE; an overflow is reported.

    The other arguments are those of ``overflow``.
    """
    report = overflow(call, step, context, shown)
    return text if report is None else f"coalesce({text}, if(NOT {NULL_VALUE} AND {report}, NULL, NULL))"
