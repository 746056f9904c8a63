"""Builds GROUP BY and HAVING."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame

from ksql_spark.expressions import ColumnRef, Expression, columns_in
from ksql_spark.functions import registry
from ksql_spark.functions.jars import state_text
from ksql_spark.functions.spark_text import spark_type
from ksql_spark.plan.clauses import NamedExpression
from ksql_spark.plan.nodes import SIGN, Aggregate, Filter
from ksql_spark.plan.operations import grouped, is_of_changes, waits
from ksql_spark.schema import (
    FORWARDED_HEADERS,
    NULL_VALUE,
    ROWOFFSET,
    ROWPARTITION,
    ROWTIME,
    WINDOWEND,
    WINDOWSTART,
)
from ksql_spark.spark import jvm
from ksql_spark.spark.frames import Built, Context, Transformations, event_time_column, named, quoted
from ksql_spark.spark.keyed.late_rows import LateRows
from ksql_spark.spark.keyed.operator import (
    Side,
    call_arguments,
    heartbeats,
    key_ddl,
    operator,
    overflow,
    passed_through,
    result_of,
    signs,
    unpacked,
)
from ksql_spark.types import INTEGER, SqlType

#: column: whether the row that replaces a retracted one in its group follows
_IS_REPLACED = "__is_replaced"

#: the side of such rows, REPLACED in KeyedOperator.java
_REPLACED = 3

#: part of a state's layout: how many aggregates it began with, if others have been appended
FIRST = "aggregates at the beginning"

#: end of the logger's name
GROUP_BY = "Aggregate.GroupBy"


def aggregate(operation: Filter | Aggregate, inputs: Sequence[DataFrame], context: Context) -> Built:
    """GROUP BY and HAVING (reference §6.8): a row with a value and a group updates Catalyst's aggregates."""
    node, having = grouped(operation)
    assert node is not None
    is_table, window = is_of_changes(node), node.window_spec
    types: dict[str, SqlType] = {}
    columns = []
    row = [c.name for c in node.child.schema.columns]
    for i, group in enumerate(node.group_by):
        types[f"__key_{i}"] = group.expression.type
        # a failure here gives a NULL group, which is reported anyway
        text = context.lower(group.expression, GROUP_BY, "GROUP BY", row, at_root=False)
        columns.append(named(text, f"__key_{i}"))
    keys = list(map(quoted, types))
    results: dict[Expression, str] = {
        ColumnRef(g.name, g.expression.type): f"first({k})" for g, k in zip(node.group_by, keys, strict=True)
    }
    key_types = [g.expression.type for g in node.group_by] or [INTEGER]
    state = {"key": key_ddl(key_types)}
    owners: dict[tuple[Expression, ...], int] = {}
    for i, call in enumerate(node.aggregates):
        # sessions are merged and sliding windows copied, so there the aggregate itself keeps the values
        takes_once = call.distinct and (window is None or window.kind not in ("SESSION", "SLIDING"))
        once_with = owners.setdefault(call.arguments, i) if takes_once else None
        arguments = call_arguments(
            call, i, "Aggregate.Prepare", row, context, types, columns, once_with=once_with
        )
        spec = registry.require(call.function)
        lowering = spec.spark
        if is_table:
            lowering = spec.spark_table
            arguments.append(quoted(SIGN))
        elif call.distinct and not takes_once:
            lowering = spec.spark_distinct
        elif window is not None and window.kind == "SESSION" and spec.spark_merged is not None:
            lowering = spec.spark_merged
        assert lowering is not None  # the planner has checked it
        argument_types = [a.type for a in call.arguments]
        text = lowering(arguments, argument_types)
        state[str(call)] = state_text(lowering, arguments, argument_types)
        if takes_once:
            state[f"values of {call}"] = spark_type(argument_types[0])
        results[ColumnRef(call.name, call.type)] = f"cast({text} AS {spark_type(call.type)})"
    replaced = []
    if is_table:
        types[SIGN] = INTEGER
        columns.append(named(f"if({quoted(SIGN)} < 0, -1, 1)", SIGN))
        replaced = [named(f"{quoted(SIGN)} < -1", _IS_REPLACED)]
    if not keys:  # one global group (push queries)
        types["__all"] = INTEGER
        columns.append("1 AS __all")
        keys = ["1"]
    output = [named(results[ColumnRef(a.name, a.type)], a.name) for a in node.aggregates]
    ddl = [f"{quoted(a.name)} {spark_type(a.type)}" for a in node.aggregates]
    if having is not None:
        passes = [f"coalesce({context.lower_having(having, results)}, false)"]
        for call in node.aggregates:
            report = overflow(call, "HavingFilter", context, {})
            if report is not None and call.name in columns_in(having):
                passes.append(f"{results[ColumnRef(call.name, call.type)]} IS NULL AND {report}")
        output.append(named(" OR ".join(passes), "__passes"))
        ddl.append("__passes boolean")
    may_be_late = window is not None or node.ttl_ms is not None
    late_rows = LateRows.of(context, "Aggregate", [node.child], may_be_late=may_be_late)
    shown_columns: dict[str, str] = {}
    if late_rows.shows_rows:
        for i, column in enumerate(node.child.schema.columns):
            shown_columns[column.name] = f"__row_{i}"
            types[f"__row_{i}"] = column.type
            columns.append(named(quoted(column.name), f"__row_{i}"))
    places = late_rows.columns(0)
    has_place = context.log is not None and context.log.topic is not None
    needed = {ROWPARTITION: has_place or context.tasks.by_partition, ROWOFFSET: has_place}
    places += (name for name, is_needed in needed.items() if is_needed and name not in places)
    hidden = [named(event_time_column(inputs[0].columns), ROWTIME), FORWARDED_HEADERS, NULL_VALUE]
    rows = (
        Transformations(inputs[0]).filter(f"NOT {NULL_VALUE}").select(*columns, *hidden, *places, *replaced)
    )
    side = Side(rows_of_groups(node.group_by, "GROUP BY", rows, context, has_place=has_place).frame(), types)
    is_final, idle_ms, every_ms = waits(operation), context.idle_ms_of(operation), node.every_ms or 0
    size_ms = window.size_ms if window else 0
    if node.ttl_ms is not None:
        size_ms = node.ttl_ms
        state["TTL"] = f"{size_ms} ms"
    if every_ms:
        state["held results"] = "by window and key"
    kind = window.kind if window else "NONE"
    if node.in_slices:
        kind = "SLICES"
        state["windows"] = "shared slices"
    template = jvm.empty_frame(context.session, side.ddl).selectExpr(*output)
    appended = [call for call in node.aggregates if call.is_appended]
    if appended:
        state[FIRST] = str(len(node.aggregates) - len(appended))
    aggregator, buffers, former_buffers = jvm.aggregator(template, having is not None, len(appended))
    parts = [f"buffer of {part}" for part in (*node.aggregates, "HAVING")]
    state |= {part: buffer for part, buffer in zip(parts, buffers, strict=False) if buffer}
    former = dict(zip(parts, former_buffers, strict=False))
    late = late_rows.reported(
        {group.name: group.expression.type for group in node.group_by},
        [{name: f"{unpacked('v', side.ddl)}.{quoted(packed)}" for name, packed in shown_columns.items()}],
    )
    number = f"if({_IS_REPLACED}, {_REPLACED}, 0)" if replaced else "0"
    done = operator(
        context,
        "aggregate",
        [
            side.records(number, keys, context, place=late_rows.place(0)),
            *heartbeats(idle_ms, context, every_ms, late=late),
        ],
        aggregator,
        kind,
        size_ms,
        (window.advance_ms or window.size_ms) if window else 0,
        str(window.calendar or "") if window else "",
        str(window.step or "") if window else "",
        window.grace_ms if window else 0,
        is_final,
        is_final and context.stage.plan.is_lossy,
        idle_ms,
        every_ms,
        state=state,
        late=late,
    )
    bounds = [named("ws", WINDOWSTART), named("we", WINDOWEND)] if window else []
    following = ["sign", named(unpacked("nl", ", ".join(ddl)), "__n")] if context.says is not None else []
    done.select(
        named(unpacked("k", key_ddl(key_types)), "__k"),
        named(unpacked("l", ", ".join(ddl)), "__l"),
        *passed_through(context),
        named("l IS NULL" if context.says is None else "sign < 0", NULL_VALUE),
        *bounds,
        *following,
    )
    shown = {g.name: f"__k.c{i}" for i, g in enumerate(node.group_by)}
    groups = [named(text, name) for name, text in shown.items()]
    values = [
        named(result_of(a, f"__l.{quoted(a.name)}", "Aggregate.Project", context, shown), a.name)
        for a in node.aggregates
    ]
    names_of_bounds = [WINDOWSTART, WINDOWEND] if window else []
    keys_of_rows = shown | {name: name for name in names_of_bounds}
    sign = signs(
        context,
        keys_of_rows | {a.name: f"__l.{quoted(a.name)}" for a in node.aggregates},
        keys_of_rows | {a.name: f"__n.{quoted(a.name)}" for a in node.aggregates},
    )
    is_deleted = NULL_VALUE if context.says is None else named("false", NULL_VALUE)
    hidden = [*passed_through(context), is_deleted, *names_of_bounds, *sign]
    new = [FIRST, *map(str, appended)] if appended else []
    new += [f"{part} of {call}" for call in appended for part in ("values", "buffer")]
    return done.select(*groups, *values, *hidden).built(new, former)


def rows_of_groups(
    groups: Sequence[NamedExpression],
    clause: str,
    rows: Transformations,
    context: Context,
    *,
    has_place: bool = False,
) -> Transformations:
    """Rows that belong to a group, by their columns ``__key_<n>``; the others are reported (§6.8).

    ``has_place``: they have the partitions and offsets of their records.
    """
    if context.log is None:
        return rows
    log = context.log if has_place else context.log.of_topic(None)
    shown = log.record({str(g.expression): f"__key_{i}" for i, g in enumerate(groups)})
    for i, group in enumerate(groups):
        message = f"{clause}: {group.expression} is NULL, so the row belongs to no group."
        report = log.failed(GROUP_BY, message, "It is NULL, or could not be computed.", shown)
        rows.filter(f"__key_{i} IS NOT NULL OR {report}")
    return rows
