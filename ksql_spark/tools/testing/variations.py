"""Changes of a test's input that must not change its results (``--disorder``, ``--crash`` …).

A test is a list of steps. A variation makes another list of them, the same one for the same seed. What
shows a difference is then made as small as possible. It is pure: steps in, steps out.
"""

from __future__ import annotations

import math
import random
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, groupby
from typing import TypeVar

from ksql_spark import grammar
from ksql_spark.grammar import nodes
from ksql_spark.grammar.nodes import Statement
from ksql_spark.grammar.statements.asserts import AssertSource, AssertTombstone, AssertValues
from ksql_spark.grammar.statements.inserts import InsertSelect, InsertValues
from ksql_spark.grammar.statements.print_topic import PrintTopic
from ksql_spark.grammar.statements.queries import Query
from ksql_spark.grammar.statements.sources import CreateAsSelect, CreateSource
from ksql_spark.tools.testing.files import Restart, SqlTest
from ksql_spark.tools.testing.replaying import may_be_replayed

T = TypeVar("T")
ROWTIME = "ROWTIME"
#: statements that write nothing
_COMPARING = (AssertValues, AssertTombstone, AssertSource, Query, PrintTopic)
_QUERIES = (CreateAsSelect, InsertSelect)
_DAY_MS = 24 * 3_600_000
#: the share of rows that come twice
_TWICE = 0.5
#: how often two neighbours may be exchanged, for each row
_ROUNDS = 4


@dataclass(frozen=True)
class Step:
    """A statement of a test.

    Attributes:
        part: the statement; of INSERT INTO … VALUES with several rows, there is a step for each row. Or a
            restart of the engine.
        source: what the row is written to, or None if it is another statement, or must stay where it is.
        key: the text of the row's key, or None if it has none.
        time_ms: the row's event time; None: that at which it is written.
        at: its number in the test as written.
        is_of_table: whether it is a row of a table, where a later row of a key replaces an earlier one.
    """

    part: grammar.StatementText | Restart
    source: str | None = None
    key: str | None = None
    time_ms: int | None = None
    at: int = 0
    is_of_table: bool = False


#: in a list of steps: the engine is killed or stopped here, and starts again
CRASH, RESTART = Step(Restart(is_kill=True), at=-1), Step(Restart(), at=-1)


@dataclass(frozen=True)
class Input:
    """A test in the form that is varied.

    Attributes:
        steps: its statements, and restarts, without SELECT, PRINT and whatever compares something.
        first_query: the number of the first step after the first query, or None.
        grace_ms: how late rows may be for all queries; None: no query has windows or the like.
        final: results whose rows appear when a window closes, which each partition decides for itself.
        replayed: the steps with all queries after all rows; the same steps where that may change results.
    """

    steps: tuple[Step, ...]
    first_query: int | None
    grace_ms: int | None
    final: frozenset[str]
    replayed: tuple[Step, ...]


def read(test: SqlTest) -> Input:
    """The input of a test."""
    parsed = {id(part): _parsed(part) for part in test.statements}
    nodes_ = [node for node in parsed.values() if node is not None]
    sources = {node.name: node for node in nodes_ if isinstance(node, CreateSource)}
    found: list[Step] = []
    is_query: list[bool] = []
    for part in test.steps:
        if isinstance(part, Restart):
            found.append(Step(part))
        elif isinstance(part, grammar.StatementText) and id(part) in parsed:
            node = parsed[id(part)]
            found += () if isinstance(node, _COMPARING) else _steps(part, node, sources)
        is_query += [isinstance(parsed.get(id(part)), _QUERIES)] * (len(found) - len(is_query))
    steps = tuple(replace(step, at=at) for at, step in enumerate(found))
    replayed = steps
    if may_be_replayed(test, nodes_, _is_in_order(steps)):
        replayed = tuple(sorted(steps, key=lambda step: is_query[step.at]))
    queries = [node for node in nodes_ if isinstance(node, _QUERIES)]
    return Input(
        steps,
        is_query.index(True) + 1 if any(is_query) else None,
        _grace_ms(queries, list(sources.values())),
        _final(queries),
        replayed,
    )


def with_partitions(step: Step, partitions: int) -> Step:
    """The step, whose PARTITIONS, if it has any, are so many."""
    if isinstance(step.part, Restart):
        return step
    node = _parsed(step.part)
    if not isinstance(node, (CreateSource, CreateAsSelect)):
        return step
    given = [one for one in node.properties if one.name.upper() == "PARTITIONS"]
    for one in given:
        one.set("literal", nodes.IntegerLiteral(this=str(partitions), is_string=False))
    return replace(step, part=_statement(grammar.render(node), step.part)) if given else step


def _parsed(part: grammar.StatementText) -> Statement | None:
    try:
        return grammar.parse_statement(part, {}, allowed=grammar.StatementSet.TEST)
    except grammar.ParseFailed:  # of the server's next release, or with variables
        return None


def _statement(text: str, at: grammar.StatementText) -> grammar.StatementText:
    (part,) = grammar.split(f"{text};")
    return replace(part, line=at.line, column=at.column)


def _steps(
    part: grammar.StatementText, node: Statement | None, sources: dict[str, CreateSource]
) -> Iterator[Step]:
    """The steps of a statement. Where a row's key and time are not known, it stays where it is."""
    source = sources.get(node.name) if isinstance(node, InsertValues) else None
    if not isinstance(node, InsertValues) or source is None or node.returning:
        yield Step(part)
        return
    declared = [column.name for column in source.columns]
    time = next((str(one.value) for one in source.properties if one.name.upper() == "TIMESTAMP"), ROWTIME)
    texts = {name: texts_of(node, name, declared) for name in (*declared, time.upper())}
    keys = [column.name for column in source.columns if (column.constraint or "").endswith("KEY")]
    for number, row in enumerate(node.rows):
        one = InsertValues(this=node.this.copy(), columns=node.columns, rows=[row.copy()])
        at, key = texts[time.upper()][number], ", ".join(texts[name][number] or "NULL" for name in keys)
        is_known = bool(source.columns) and (at.isdigit() if at is not None else time == ROWTIME)
        yield Step(
            _statement(grammar.render(one), part) if len(node.rows) > 1 else part,
            node.name if is_known else None,
            key or None,
            int(at) if at is not None and at.isdigit() else None,
            is_of_table=source.kind == "TABLE",
        )


def _is_in_order(steps: Sequence[Step]) -> bool:
    """Whether no row is written with an earlier time than one before it; False if a time is not known."""
    rows = [
        step for step in steps if isinstance(step.part, grammar.StatementText) and step.part.verb == "INSERT"
    ]
    times = [math.inf if step.time_ms is None else step.time_ms for step in rows]
    return all(step.source is not None for step in rows) and times == sorted(times)


def texts_of(statement: InsertValues, column: str, declared: Sequence[str] = ()) -> list[str | None]:
    """The value of a column in each row, as text; None if the statement gives none.

    Args:
        declared: the columns where the statement names none.
    """
    names = [str(each.this) for each in statement.columns] or list(declared)
    if column not in names:
        return [None] * len(statement.rows)
    at = names.index(column)
    return ["".join(map(grammar.render, row.expressions[at : at + 1])) for row in statement.rows]


def _grace_ms(queries: Sequence[Statement], sources: Sequence[CreateSource]) -> int | None:
    lateness = [
        nodes.TimeSpan(int(match[1]), f"{match[2].upper()}S").milliseconds
        for source in sources
        for one in source.properties
        if one.name.upper() == "LATENESS" and (match := re.fullmatch(r"(\d+) (\w+?)S?", str(one.value), re.I))
    ]
    found: list[int] = []
    for query in queries:
        for node in query.walk():
            match node:
                case nodes.Select() if node.window is not None:
                    size_ms = node.window.size.milliseconds
                    default = min(lateness, default=0 if node.emit == "FINAL" else max(_DAY_MS - size_ms, 0))
                    found.append(node.window.grace.milliseconds if node.window.grace else default)
                case nodes.Join() if node.within is not None:
                    found.append(node.within.grace.milliseconds if node.within.grace else _DAY_MS)
                case nodes.SystemTime() | nodes.MatchRecognize() | nodes.WindowFunction():
                    found.append(0)  # the order of times decides
    return min(found, default=None)


def _final(queries: Sequence[Statement]) -> frozenset[str]:
    """What EMIT FINAL writes, and what is made of that."""
    found: set[str] = set()
    for query in queries:
        read = {node.source_name for node in query.find_all(nodes.AliasedSource)}
        if read & found or any(node.args.get("emit") == "FINAL" for node in query.walk()):
            assert isinstance(query, (CreateAsSelect, InsertSelect))
            found.add(query.name)
    return frozenset(found)


# ---- variations ------------------------------------------------------------------------------------------


def disorder(test: Input, seed: int) -> list[Step]:
    """Rows of a source that follow each other are exchanged if their keys differ, within GRACE PERIOD."""
    return _exchanged(test, seed, lambda a, b: a.key is None or a.key != b.key)


def late(test: Input, seed: int) -> list[Step]:
    """Rows of streams come after others that are later than they, by no more than GRACE PERIOD."""
    if test.grace_ms is None:
        return list(test.steps)
    return _exchanged(test, seed, lambda a, b: not a.is_of_table and None not in (a.time_ms, b.time_ms))


def duplicates(test: Input, seed: int) -> list[Step]:
    """Rows come twice, as from a producer that has sent them again."""
    chance = random.Random(seed)
    rows = [step for step in test.steps if step.source is not None]
    twice = [step for step in rows if chance.random() < _TWICE] or rows[:1]
    return [each for step in test.steps for each in [step] * (2 if step in twice else 1)]


def crash(test: Input, seed: int) -> list[Step]:
    """The engine is killed after a row, and starts again before the next one."""
    return _stopped(test, seed, CRASH)


def restart(test: Input, seed: int) -> list[Step]:
    """The engine stops after a row, and starts again before the next one."""
    return _stopped(test, seed, RESTART)


def split(test: Input, seed: int) -> list[Step]:
    """Queries run in micro-batches, which end after up to three of the rows."""
    paused = _stopped(test, seed, *(_step("PAUSE ALL"), _step("RESUME ALL")), most=3)
    if paused == list(test.steps):
        return paused
    return [_step("SET 'ksql.execution.mode' = 'microbatch'"), *paused]


def replay(test: Input, seed: int) -> list[Step]:
    """Queries begin when all rows are there."""
    return list(test.replayed)


def _stopped(test: Input, seed: int, *stop: Step, most: int = 1) -> list[Step]:
    """``stop`` after up to ``most`` rows that a query reads."""
    places = [step.at for step in test.steps[test.first_query :] if step.source is not None]
    if test.first_query is None or not places:
        return list(test.steps)
    chance = random.Random(seed)
    at = chance.sample(places[:-1] or places, min(chance.randint(1, most), len(places[:-1]) or 1))
    return [each for step in test.steps for each in (step, *(stop if step.at in at else ()))]


def _step(text: str) -> Step:
    (part,) = grammar.split(f"{text};")
    return Step(part, at=-1)


def _exchanged(test: Input, seed: int, may_pass: Callable[[Step, Step], bool]) -> list[Step]:
    chance = random.Random(seed)
    steps: list[Step] = []
    for source, group in groupby(test.steps, key=lambda step: step.source):
        rows = list(group)
        if source is not None:
            first = max((step.time_ms or 0 for step in steps), default=0)
            for _ in range(_ROUNDS * len(rows)):
                at = chance.randrange(len(rows))
                pair = rows[at : at + 2]
                if len(pair) < 2 or not may_pass(*pair):
                    continue
                front = max([first, *(step.time_ms or 0 for step in rows[:at])])
                if all(_is_in_time(test, front, order) for order in (pair, pair[::-1])):
                    rows[at : at + 2] = pair[::-1]
        steps += rows
    return steps


def _is_in_time(test: Input, front_ms: int, rows: Sequence[Step]) -> bool:
    """Whether no row is later than GRACE PERIOD allows, behind those up to ``front_ms``."""
    if test.grace_ms is None:
        return True
    times = [step.time_ms for step in rows if step.time_ms is not None]
    fronts = accumulate(times, max, initial=front_ms)
    return all(front - time <= test.grace_ms for front, time in zip(fronts, times, strict=False))


#: option -> the variation, and its help
VARIATIONS: dict[str, tuple[Callable[[Input, int], list[Step]], str]] = {
    "disorder": (disorder, "with rows of different keys in another order"),
    "duplicates": (duplicates, "with rows that come twice"),
    "late": (late, "with rows that come late, by no more than the GRACE PERIOD"),
    "crash": (crash, "with a kill of the engine between two rows"),
    "restart": (restart, "with a restart of the engine between two rows"),
    "split": (split, "in micro-batches that end between rows"),
    "replay": (replay, "with queries that begin when all rows are there, where that can make no difference"),
}


# ---- the smallest input ----------------------------------------------------------------------------------


def smallest(items: Sequence[T], differs: Callable[[Sequence[T]], bool]) -> Iterator[list[T]]:
    """Yield ever smaller parts of ``items``, in order, for which ``differs`` holds, as it does for all.

    No item can be removed from the last one, unless ``differs`` has begun to say no to everything.
    """
    rest, size = list(items), max(len(items) // 2, 1)
    while rest:
        at, before = 0, len(rest)
        while at < len(rest):
            fewer = rest[:at] + rest[at + size :]
            if differs(fewer):
                rest = fewer
                yield rest
            else:
                at += size
        if size == 1 and len(rest) == before:
            return
        size = max(size // 2, 1)


__all__ = [
    "CRASH", "RESTART", "VARIATIONS", "Input", "Step", "crash", "disorder", "duplicates", "late", "read",
    "replay", "restart", "smallest", "split", "texts_of", "with_partitions",
]  # fmt: skip
