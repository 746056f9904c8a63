"""Builds operations on rows by PARTITION BY: DISTINCT ON, calls with OVER, the best rows of each group."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame

from ksql_spark.functions import registry
from ksql_spark.functions.jars import state_text
from ksql_spark.functions.spark_text import has_own_order, spark_type
from ksql_spark.plan.clauses import AggregateCall
from ksql_spark.plan.nodes import RANKS, SIGN, Deduplicate, Over, TopN
from ksql_spark.plan.operations import changes_below, is_of_changes
from ksql_spark.schema import (
    FORWARDED_HEADERS,
    NULL_KEY,
    NULL_VALUE,
    ROWPARTITION,
    WINDOW_BOUNDS,
)
from ksql_spark.spark import jvm
from ksql_spark.spark.frames import Built, Context, Transformations, named, quoted
from ksql_spark.spark.keyed.aggregates import rows_of_groups
from ksql_spark.spark.keyed.operator import (
    Carried,
    Side,
    call_arguments,
    column_names,
    columns_ddl,
    key_ddl,
    operator,
    result_of,
    signs,
    unpacked,
)
from ksql_spark.types import BIGINT, BYTES, INTEGER, SqlType

#: how many rows of a key OVER keeps together, RecentRows.java
PAGE = 64


def deduplicate(node: Deduplicate, inputs: Sequence[DataFrame], context: Context) -> Built:
    """DISTINCT ON (reference §6.13); rows keep hidden columns. The operator takes -1 ms for no WITHIN."""
    carried = Carried.of(inputs[0], node.child.schema, context)
    side = Side(Transformations(inputs[0]).filter(f"NOT {NULL_VALUE}").frame(), carried.types)
    row = column_names(node.child.schema)
    keys = [context.lower(key, "Deduplicate", f"DISTINCT ON: {key}", row) for key in node.keys]
    within_ms = -1 if node.within_ms is None else node.within_ms
    state = {"key": key_ddl([key.type for key in node.keys]), "within": f"{within_ms} ms"}
    records = side.records(0, keys, context, packs_nulls=True)
    done = operator(context, "deduplicate", [records], within_ms, state=state)
    done.select(named(unpacked("l", side.ddl), "__l"), *carried.hidden)
    return done.select(*carried.columns, *carried.hidden_names).built()


def over(node: Over, inputs: Sequence[DataFrame], context: Context) -> Built:
    """Calls with OVER (reference §6.14); rows keep hidden columns.

    The operator takes -1 for UNBOUNDED, and for no WITHIN.
    """
    carried = Carried.of(inputs[0], node.child.schema, context)
    row = column_names(node.child.schema)
    state = {"key": key_ddl([key.type for key in node.keys])}
    keys = [f"__key_{i}" for i in range(len(node.keys))]
    arguments_of_rows = [
        named(context.lower(key, "Over", f"PARTITION BY: {key}", row), name)
        for name, key in zip(keys, node.keys, strict=True)
    ]
    types: dict[str, SqlType] = {"__one": INTEGER}
    arguments_of_rows.append(named("1", "__one"))
    frames: dict[tuple[int | None, int, int | None], list[tuple[AggregateCall, str]]] = {}
    for i, framed in enumerate(node.calls):
        arguments = call_arguments(framed.call, i, "Over", row, context, types, arguments_of_rows)
        lowering = registry.require(framed.call.function).spark
        assert lowering is not None  # the analyzer allows only such functions
        argument_types = [a.type for a in framed.call.arguments]
        text = lowering(arguments, argument_types)
        state[str(framed)] = state_text(lowering, arguments, argument_types)
        output = named(f"cast({text} AS {spark_type(framed.call.type)})", framed.call.name)
        frame = (framed.first, framed.last or 0, framed.range_ms)
        frames.setdefault(frame, []).append((framed.call, output))
    aggregators, ddls, former, groups = [], [], {}, []
    for (first, last, range_ms), calls in frames.items():
        template = jvm.empty_frame(context.session, columns_ddl(types)).selectExpr(
            *(output for _, output in calls)
        )
        aggregator, buffers, former_buffers = jvm.aggregator(template, has_condition=False)
        aggregators.append(aggregator)
        ddls.append(columns_ddl({call.name: call.type for call, _ in calls}))
        if range_ms is None:
            state[f"buffers of ROWS {first} {last}"] = ", ".join(buffers)
            former[f"buffers of ROWS {first} {last}"] = ", ".join(former_buffers)
        else:
            state["rows"] = "time, arguments"
        groups += buffers
    if any(range_ms is not None or (first or 0) > PAGE for first, _, range_ms in frames):
        state["pages"], former["pages"] = f"{PAGE} rows: {', '.join(groups)}", "nothing"
    packed = [
        named(f"ksql.pack(struct({', '.join(map(quoted, carried.types))}))", "__row"),
        named(f"ksql.pack(struct({', '.join(map(quoted, types))}))", "__arguments"),
    ]
    hidden = [carried.time, FORWARDED_HEADERS, NULL_VALUE, *([ROWPARTITION] * context.tasks.by_partition)]
    rows = Transformations(inputs[0]).filter(f"NOT {NULL_VALUE}")
    rows.select(*map(quoted, inputs[0].columns), *arguments_of_rows).select(
        *packed, *keys, *map(quoted, hidden)
    )
    side = Side(rows.frame(), {"__row": BYTES, "__arguments": BYTES})
    firsts = [-1 if first is None else first for first, *_ in frames]
    records = side.records(0, keys, context, packs_nulls=True)
    lasts = [last for _, last, _ in frames]
    ranges = [-1 if range_ms is None else range_ms for *_, range_ms in frames]
    if min(lasts) < 0:
        state["waiting rows"] = f"time, headers, {columns_ddl(carried.types)}, results, arguments"
    within_ms = -1 if node.within_ms is None else node.within_ms
    if within_ms >= 0:
        state["within"] = f"{within_ms} ms"
    merges = [all(call.merges for call, _ in calls) for calls in frames.values()]
    frames_of_rows = (aggregators, firsts, lasts, ranges, merges)
    done = operator(context, "over", [records], *frames_of_rows, within_ms, state=state)
    results = ", ".join(f"f{i} binary" for i in range(len(frames)))
    done.select(
        named(unpacked("l", columns_ddl(carried.types)), "__l"),
        named(unpacked("r", results), "__f"),
        *carried.hidden,
    )
    parts_of_results = [named(unpacked(f"__f.f{i}", ddl), f"__f{i}") for i, ddl in enumerate(ddls)]
    done.select("__l", *parts_of_results, *carried.hidden_names)
    shown = {name: f"__l.{quoted(name)}" for name in row}
    columns = [
        named(result_of(call, f"__f{i}.{quoted(call.name)}", "Over", context, shown), call.name)
        for i, calls in enumerate(frames.values())
        for call, _ in calls
    ]
    return done.select(*carried.columns, *columns, *carried.hidden_names).built(former=former)


def top_n(node: TopN, inputs: Sequence[DataFrame], context: Context) -> Built:
    """QUALIFY ROW_NUMBER() … <= n (reference §6.15): a table; each row keeps its time."""
    is_table = is_of_changes(node)
    changes = changes_below(node)
    bounds = changes.bounds if changes is not None else ()
    identity = [column.name for column in (*node.child.schema.key, *bounds)]
    carried = Carried.of(inputs[0].drop(*WINDOW_BOUNDS), node.child.schema, context)
    row = column_names(node.child.schema)
    added = [
        named(context.lower(key.expression, "TopN", f"PARTITION BY: {key}", row, at_root=False), f"__key_{i}")
        for i, key in enumerate(node.keys)
    ]
    orders = [f"__order_{i}" for i in range(len(node.order))]
    for name, order in zip(orders, node.order, strict=True):
        text = context.lower(order.expression, "TopN", f"ORDER BY: {order.expression}", row)
        added.append(named(f"ksql.rank({text})" if has_own_order(order.expression.type) else text, name))
    hidden = [carried.time, FORWARDED_HEADERS, NULL_VALUE, *([ROWPARTITION] * context.tasks.by_partition)]
    rows = Transformations(inputs[0]).filter(f"NOT {NULL_VALUE}")
    rows.select(*map(quoted, inputs[0].columns), *added)
    rows = rows_of_groups(node.keys, "PARTITION BY", rows, context)
    fields = rows.frame().select(*orders).schema.fields
    types = ", ".join(f"{field.name} {field.dataType.simpleString()}" for field in fields)
    packed = [
        named(f"ksql.pack(struct({', '.join(map(quoted, carried.types))}))", "__row"),
        named(f"ksql.pack(struct({', '.join(orders)}))", "__orders"),
        named(f"ksql.pack_key(struct({', '.join(map(quoted, identity))}))" if is_table else "X''", "__id"),
        named(f"cast({SIGN if is_table else 1} AS int)", "__sign"),
    ]
    keys = [f"__key_{i}" for i in range(len(node.keys))]
    rows.select(*packed, *keys, *map(quoted, hidden))
    side = Side(rows.frame(), {"__row": BYTES, "__orders": BYTES, "__id": BYTES, "__sign": INTEGER})
    keys_ddl = key_ddl([key.expression.type for key in node.keys])
    texts = [str(order) for order in node.order]
    state = {
        "key": keys_ddl,
        "row": columns_ddl(carried.types),
        "order": f"{', '.join(texts)}: {types}",
        "rows": f"{node.limit} of {'a table' if is_table else 'a stream'}: time, identity, row, order",
    }
    descending = [order.descending for order in node.order]
    nulls_first = [order.nulls_first for order in node.order]
    arguments = (types, descending, nulls_first, node.limit, node.count, is_table)
    done = operator(context, "topN", [side.records(0, keys, context)], *arguments, state=state)
    row_ddl, ranks_ddl = columns_ddl(carried.types), columns_ddl(dict.fromkeys(RANKS, BIGINT))
    following = [
        named(unpacked("nl", row_ddl), "__next"),
        named(unpacked("nr", ranks_ddl), "__next_n"),
        "sign",
    ]
    done.select(
        named(unpacked("k", keys_ddl), "__k"),
        named(unpacked("l", row_ddl), "__l"),
        named(unpacked("r", ranks_ddl), "__n"),
        named("ws", "__rank"),
        *carried.hidden[:-1],
        named("l IS NULL", NULL_VALUE),
        *(following if context.says is not None else []),
    )
    new = [key.name for key in node.keys]
    own_columns = [name for name in carried.types if name not in (*new, NULL_KEY)]

    def shown_of(row: str, ranks: str) -> dict[str, str]:
        found = {name: f"__k.c{i}" for i, name in enumerate(new)}
        found |= {node.rank: "__rank"} if node.rank else {}
        found |= {name: f"{row}.{quoted(name)}" for name in own_columns}
        return found | {name: f"{ranks}.{name}" for name in RANKS if node.ranks}

    shown = shown_of("__l", "__n")
    columns = [named(text, name) for name, text in shown.items()]
    return done.select(
        *columns, *carried.hidden_names, *signs(context, shown, shown_of("__next", "__next_n"))
    ).built()
