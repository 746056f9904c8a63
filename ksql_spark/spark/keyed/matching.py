"""Builds MATCH_RECOGNIZE on its keyed operator (MatchRecognize.java; reference §6.17).

The operator sees rows, slots with values of the rows that were mapped so far, and conditions over both; all
are made here as Spark SQL text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pyspark.sql import DataFrame

from ksql_spark.expressions import columns_in
from ksql_spark.functions import registry
from ksql_spark.functions.lowering import lower, lower_condition
from ksql_spark.functions.spark_text import spark_type, string
from ksql_spark.plan.clauses import FINAL, PatternAggregate, RowPattern
from ksql_spark.plan.nodes import MatchRecognize
from ksql_spark.plan.patterns import PatternValue
from ksql_spark.schema import FORWARDED_HEADERS, NULL_KEY, NULL_VALUE, ROWPARTITION
from ksql_spark.spark import jvm
from ksql_spark.spark.frames import Built, Context, Transformations, named, quoted
from ksql_spark.spark.keyed.late_rows import LateRows, nested_values
from ksql_spark.spark.keyed.operator import (
    Carried,
    Operated,
    Side,
    call_arguments,
    columns_ddl,
    heartbeats,
    key_ddl,
    operator,
    passed_through,
    result_of,
    unpacked,
)
from ksql_spark.types import BYTES, INTEGER, SqlType

_ALL = -1


@dataclass
class _Slots:
    """The slots: each with its type, and what it becomes with a row of each symbol."""

    symbols: Sequence[str]
    types: dict[str, str] = field(default_factory=dict)
    takes: list[dict[str, str]] = field(default_factory=list)
    #: slots that conditions need
    needed: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.takes = [{} for _ in self.symbols]

    def add(self, value: PatternValue, is_needed: bool) -> None:
        """The slots of a value, which is in the last one of them."""
        type_ = spark_type(value.type)
        names = [f"{value.name}_{i}" for i in range(value.offset)] if not value.is_first else []
        for before, name in zip([None, *names], [*names, value.name], strict=True):
            self._add(name, type_, is_needed)
            for symbol, take in self._of(value.symbol):
                if before is not None:
                    take[name] = quoted(before)
                elif value.argument is None:
                    take[name] = string(symbol)
                else:
                    take[name] = lower(value.argument)
        if value.is_first:
            count = self._count(value.symbol, is_needed)
            for _, take in self._of(value.symbol):
                take[value.name] = f"if({count} = {value.offset}, {take[value.name]}, {quoted(value.name)})"

    def _count(self, symbol: str | None, is_needed: bool) -> str:
        """Text: how many rows of a symbol there are before the current one."""
        name = f"__count_{_ALL if symbol is None else self.symbols.index(symbol)}"
        text = f"coalesce({quoted(name)}, 0)"
        if name not in self.types:
            self._add(name, "int", is_needed)
            for _, take in self._of(symbol):
                take[name] = f"{text} + 1"
        elif is_needed and name not in self.needed:
            self.needed.append(name)
        return text

    def _add(self, name: str, type_: str, is_needed: bool) -> None:
        self.types[name] = type_
        for take in self.takes:
            take[name] = quoted(name)
        if is_needed:
            self.needed.append(name)

    def _of(self, symbol: str | None) -> list[tuple[str, dict[str, str]]]:
        """The symbols whose rows a value is of."""
        pairs = zip(self.symbols, self.takes, strict=True)
        return [(name, take) for name, take in pairs if symbol in (None, name)]

    @property
    def ddl(self) -> str:
        return ", ".join(f"{quoted(name)} {type_}" for name, type_ in self.types.items())


def match_recognize(node: MatchRecognize, inputs: Sequence[DataFrame], context: Context) -> Built:
    """The matches; rows of ALL ROWS PER MATCH keep hidden columns."""
    pattern = node.pattern
    carried = Carried.of(inputs[0], node.child.schema, context)
    row = [c.name for c in node.child.schema.columns]
    types: dict[str, SqlType] = {"__one": INTEGER}
    columns = [named("1", "__one")]
    for item in pattern.row:
        types[item.name] = item.expression.type
        columns.append(named(context.lower(item.expression, "Match", str(item.expression), row), item.name))
    totals = []
    for i, total in enumerate(pattern.aggregates):
        arguments = call_arguments(total.call, i, "Match", row, context, types, columns)
        lowering = registry.require(total.call.function).spark
        assert lowering is not None  # the analyzer allows only such functions
        text = lowering(arguments, [a.type for a in total.call.arguments])
        totals.append(f"cast({text} AS {spark_type(total.call.type)})")
    keys = [f"__key_{i}" for i in range(len(node.keys))]
    columns += [named(quoted(key.name), name) for key, name in zip(node.keys, keys, strict=True)]
    late_rows = LateRows.of(context, "Match", [node.child])
    packs_row = pattern.all_rows or late_rows.shows_rows
    packed_row = f"ksql.pack(struct({', '.join(map(quoted, carried.types))}))" if packs_row else "X''"
    pair = [
        named(packed_row, "__row"),
        named(f"ksql.pack(struct({', '.join(map(quoted, types))}))", "__arguments"),
    ]
    places = late_rows.columns(0)
    if context.tasks.by_partition and ROWPARTITION not in places:
        places.append(ROWPARTITION)
    hidden = [carried.time, FORWARDED_HEADERS, NULL_VALUE, *places]
    rows = Transformations(inputs[0]).filter(f"NOT {NULL_VALUE}")
    rows.select(*map(quoted, inputs[0].columns), *columns).select(*pair, *keys, *map(quoted, hidden))
    side = Side(rows.frame(), {"__row": BYTES, "__arguments": BYTES})
    expressions, results, buffers, former = _expressions(pattern, types, totals, context)
    symbols = _symbols(pattern)
    automaton = pattern.automaton
    keys_ddl = key_ddl([key.type for key in node.keys])
    state = {
        "key": keys_ddl,
        "pattern": f"{pattern.text}: {automaton.symbols} {automaton.first} {automaton.follow}",
        "arguments": columns_ddl(types),
        "values": ", ".join(results),
        "within": f"{pattern.within_ms} ms, SKIP {pattern.shown_skip}",
        "definitions": pattern.shown_definitions,
        **buffers,
    }
    if pattern.all_rows:
        state["rows"] = columns_ddl(carried.types)
    idle_ms = context.idle_ms_of(node)
    row_bytes = f"{unpacked('v', side.ddl)}.__row"
    late = late_rows.reported(
        {key.name: key.type for key in node.keys},
        [nested_values(carried.types, row_bytes, node.child.schema)],
    )
    done = operator(
        context,
        "matchRecognize",
        [
            side.records(0, keys, context, packs_nulls=True, place=late_rows.place(0)),
            *heartbeats(idle_ms, context, late=late),
        ],
        [symbols.index(symbol) for symbol in automaton.symbols],
        list(automaton.first),
        [list(following) for following in automaton.follow],
        expressions,
        pattern.within_ms,
        pattern.skip.replace(" ", "_"),
        _ALL if pattern.skip_to is None else symbols.index(pattern.skip_to),
        pattern.all_rows,
        idle_ms,
        state=state,
        late=late,
    )
    built = _result(node, done, carried if pattern.all_rows else None, results, keys_ddl, context)
    return replace(built, former=former)


def _symbols(pattern: RowPattern) -> list[str]:
    """The symbols, by their numbers."""
    return list(dict.fromkeys(pattern.automaton.symbols))


def _expressions(
    pattern: RowPattern, types: Mapping[str, SqlType], totals: Sequence[str], context: Context
) -> tuple[Any, list[str], dict[str, str], dict[str, str]]:
    """The operator's expressions, the columns of each part of its results, and the buffers of aggregates, now
    and in release 0.1.0.

    Args:
        pattern: the pattern.
        types: the arguments.
        totals: the aggregates' texts over them.
        context: of the query.
    """
    symbols = _symbols(pattern)
    definitions = {d.name: d.expression for d in pattern.definitions}
    used = {name for definition in definitions.values() for name in columns_in(definition)}
    slots = _Slots(symbols)
    for value in pattern.values:
        slots.add(value, value.name in used)
    row = [columns_ddl(types), *(f"{quoted(p.name)} {spark_type(p.type)}" for p in pattern.previous)]
    groups: dict[str | None, list[tuple[PatternAggregate, str]]] = {}
    for total, text in zip(pattern.aggregates, totals, strict=True):
        groups.setdefault(total.symbol, []).append((total, text))
    results = [slots.ddl, *(_result_ddl([t for t, _ in group]) for group in groups.values())]
    template = jvm.empty_frame(context.session, ", ".join(part for part in [*row, *results] if part))
    arguments = list(types)
    java_expressions = jvm.pattern_expressions(
        template,
        len(arguments),
        len(slots.types),
        [arguments.index(p.of) for p in pattern.previous],
        [p.offset for p in pattern.previous],
        [list(slots.types).index(name) for name in slots.needed],
    )
    of_one_row = {*types, *(p.name for p in pattern.previous)}
    for symbol, take in zip(symbols, slots.takes, strict=True):
        condition = definitions.get(symbol)
        jvm.pattern_symbol(
            java_expressions,
            None if condition is None else template.filter(lower_condition(condition)),
            condition is None or columns_in(condition) <= of_one_row,
            template.selectExpr(*(named(take[name], name) for name in slots.types)),
        )
    row_frame = jvm.empty_frame(context.session, ", ".join(row))
    buffers_of, former = {}, {}
    for of, group in groups.items():
        outputs = [named(text, total.call.name) for total, text in group]
        aggregator, *buffers = jvm.aggregator(row_frame.selectExpr(*outputs), has_condition=False)
        number = _ALL if of is None else symbols.index(of)
        needed = any(total.call.name in used for total, _ in group)
        java_expressions.aggregator(aggregator, len(group), number, needed)
        part = f"buffers of {'all rows' if of is None else of}"
        buffers_of[part], former[part] = map(", ".join, buffers)
    return java_expressions, results, buffers_of, former


def _result_ddl(group: Sequence[PatternAggregate]) -> str:
    return columns_ddl({total.call.name: total.call.type for total in group})


def _result(
    node: MatchRecognize,
    done: Operated,
    carried: Carried | None,
    results: Sequence[str],
    keys_ddl: str,
    context: Context,
) -> Built:
    """The operator's output as the node's columns."""
    count = len(results) * (2 if node.pattern.all_rows else 1)
    parts = ", ".join(f"p{i} binary" for i in range(count))
    hidden = carried.hidden if carried is not None else [*passed_through(context), named("false", NULL_VALUE)]
    names = carried.hidden_names if carried is not None else [*passed_through(context), NULL_VALUE]
    own = [named(unpacked("l", columns_ddl(carried.types)), "__l")] if carried is not None else []
    done.select(
        named(unpacked("k", keys_ddl), "__k"),
        named(unpacked("r", parts), "__r"),
        *own,
        *hidden,
    )
    parts_of_results = [
        named(unpacked(f"__r.p{i}", results[i % len(results)]), f"__p{i}")
        for i in range(count)
        if results[i % len(results)]
    ]
    done.select("__k", *(["__l"] if own else []), *parts_of_results, *names)
    places = _places(node.pattern, results)
    shown = {key.name: f"__k.c{i}" for i, key in enumerate(node.keys)}
    for total in node.pattern.aggregates:
        for name in (total.call.name, total.call.name + FINAL):
            if name in places:
                places[name] = result_of(total.call, places[name], "Match", context, shown)
    keys = {key.name: f"__k.c{i}" for i, key in enumerate(node.keys)}
    columns = [
        named(keys.get(c.name) or places.get(c.name) or f"__l.{quoted(c.name)}", c.name)
        for c in node.schema.columns
    ]
    if carried is not None:  # hidden columns of the rows, which are packed with them; the key is another one
        visible = {NULL_KEY, *(c.name for c in node.schema.columns)}
        columns += [named(f"__l.{quoted(name)}", name) for name in carried.types if name not in visible]
    return done.select(*columns, *names).built()


def _places(pattern: RowPattern, results: Sequence[str]) -> dict[str, str]:
    """Return for each name the text of its place in the unpacked parts."""
    groups = list(dict.fromkeys(total.symbol for total in pattern.aggregates))
    places = {value.name: 0 for value in pattern.values}
    places |= {total.call.name: 1 + groups.index(total.symbol) for total in pattern.aggregates}
    texts = {name: f"__p{part}.{quoted(name)}" for name, part in places.items()}
    if pattern.has_finals:
        later = len(results)
        texts |= {name + FINAL: f"__p{part + later}.{quoted(name)}" for name, part in places.items()}
    return texts
