"""Which cases can be replayed, and how: their queries again, from the beginning, into other sinks.

A replay must give what the live run gave where that depends on the records alone. So a case is left out where

* something else decides what comes out: the clock, chance, where a query starts to read, or that a query was
  stopped, replaced or dropped halfway;
* a join meets records that did not come in the order of their times: live they met in the order in which they
  came, in the replay they meet in that of their times;
* several partitions are regrouped, and the order in which they are read shows.

Pure: no Kafka, no Spark.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from sqlglot import exp

from ksql_spark import grammar
from ksql_spark.grammar.nodes import AliasedSource, Join, Select, Statement, literal_value, property_values
from ksql_spark.grammar.statements.inserts import InsertSelect, InsertValues
from ksql_spark.grammar.statements.lifecycle import QueryControl
from ksql_spark.grammar.statements.session import SetProperty, UnsetProperty
from ksql_spark.grammar.statements.sources import AlterSource, CreateAsSelect, CreateSource, DropSource
from tests.cases.case_file import Case, Check, Sql

AGAIN = "_AGAIN"
#: not of the records alone
_DEPENDS = re.compile(
    r"idle\.window\.timeout|latest|\bSTART\s*=|\bORDER\s*=|PROCESSING_LOG|\b(NOW|UNIX_\w+|CURRENT_\w+|UUID|RANDOM)\b",
    re.IGNORECASE,
)
#: aggregates that the order of rows shows in
_ORDERED = re.compile(r"\b(LATEST_\w+|EARLIEST_\w+|COLLECT_\w+|TOPK\w*|HISTOGRAM)\b", re.IGNORECASE)


@dataclass(frozen=True)
class Replayed:
    """A sink and the one of the replay, which must hold the same in the end.

    ``is_folded``: the last value of each key, not each record.
    """

    sink: str
    again: str
    is_folded: bool
    line: int


def with_replay(case: Case) -> Case | None:
    """The case, then all its queries again; None where a replay may give something else."""
    statements = list(_statements(case))
    declared = {s.name: s for _, s in statements if isinstance(s, CreateSource)}
    queries = [(line, s) for line, s in statements if isinstance(s, CreateAsSelect)]
    if case.notyet is not None or not queries or not _is_plain([s for _, s in statements]):
        return None
    if any(isinstance(s, Sql) and _DEPENDS.search(s.text) for s in case.steps):
        return None
    repeated = {s.subject.upper() for s in case.steps if isinstance(s, Check) and s.repeats}
    if not all(_is_determined(s, declared, [t for _, t in statements]) for _, s in queries):
        return None
    again: list[Sql | Replayed] = []
    for line, query in queries:
        again.append(Sql(_renamed(query), line))
        is_folded = query.kind == "TABLE" or query.name in repeated
        again.append(Replayed(query.name, query.name + AGAIN, is_folded, line))
    again.sort(key=lambda step: isinstance(step, Replayed))
    return replace(case, title=f"{case.title} (replayed)", steps=[*case.steps, *again])


def _statements(case: Case) -> Iterator[tuple[int, Statement]]:
    """Those of the case that parse and are not to be refused, with their lines."""
    for step, after in zip(case.steps, [*case.steps[1:], None], strict=True):
        if isinstance(step, Sql) and not (isinstance(after, Check) and after.kind == "error"):
            try:
                yield step.line, grammar.parse_one(step.text, {"case": "${case}"})
            except grammar.ParseFailed:
                continue


def _is_plain(statements: list[Statement]) -> bool:
    """Every query runs from its statement to the end, and it alone writes its sink."""
    sinks = {s.name for s in statements if isinstance(s, CreateAsSelect)}
    has_query = False
    for statement in statements:
        match statement:
            case QueryControl() | InsertSelect() | AlterSource() | DropSource():
                return False
            case CreateSource(or_replace=True) | CreateAsSelect(or_replace=True):
                return False
            case SetProperty() | UnsetProperty() if has_query:
                return False  # the replay runs with the properties of the end
            case InsertValues() if statement.name in sinks:
                return False
            case CreateAsSelect():
                has_query = True
    return True


def _is_determined(
    query: CreateAsSelect, declared: dict[str, CreateSource], statements: list[Statement]
) -> bool:
    """Whether the order in which the query's topics are read does not show in what it writes."""
    names = {source.source_name for source in query.query.find_all(AliasedSource)}
    is_join = query.query.find(Join) is not None
    if is_join and not (names <= set(declared) and _in_order_of_times(declared, statements)):
        return False
    is_single = all(
        name in declared and property_values(declared[name].properties).get("PARTITIONS") == 1
        for name in names
    )
    regroups = any(select.group_by for select in query.query.find_all(Select))
    if not regroups or is_single:
        return True
    is_windowed = any(select.window is not None for select in query.query.find_all(Select))
    return not is_windowed and not _ORDERED.search(grammar.render(query))


def _in_order_of_times(declared: dict[str, CreateSource], statements: list[Statement]) -> bool:
    """Whether no row is inserted with an earlier time than one before it."""
    inserts = [s for s in statements if isinstance(s, InsertValues)]
    times = [time for s in inserts for time in _times(s, declared.get(s.name))]
    return None not in times and times == sorted(t for t in times if t is not None)


def _times(insert: InsertValues, source: CreateSource | None) -> list[float | None]:
    """The event times of the inserted rows: infinite where it is the clock's, None where it is not known."""
    if source is None:
        return [None]
    column = str(property_values(source.properties).get("TIMESTAMP", "ROWTIME")).upper()
    names = [c.name.upper() for c in insert.columns] or [c.name.upper() for c in source.columns]
    if column not in names:
        return [math.inf if column == "ROWTIME" else None]
    return [_time(row, names.index(column)) for row in insert.rows]


def _time(row: exp.Tuple, place: int) -> float | None:
    try:
        value = literal_value(row.expressions[place])
    except (ValueError, IndexError):
        return None
    return float(value) if isinstance(value, int) else None


def _renamed(query: CreateAsSelect) -> str:
    """The statement with another sink and topic."""
    copy = query.copy()
    copy.set("this", exp.to_identifier(query.name + AGAIN, quoted=bool(query.this.args.get("quoted"))))
    for one in copy.properties:
        if one.name.upper() == "KAFKA_TOPIC":
            one.set("literal", exp.Literal.string(f"{one.value}{AGAIN}"))
    return grammar.render(copy) + ";"
