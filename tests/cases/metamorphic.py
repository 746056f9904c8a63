"""Metamorphic relations: a case gives the same when its queries stop at some point, and when they run again.

* ``restarted``: the engine is stopped as planned and started again; everything comes out as without.
* ``split``: in micro-batches, and what has been read ends a batch at several points; the same.
* ``killed``: what runs is lost, as by a crash, and the engine starts again: tables hold the same in the end,
  streams hold the same at least once. (A table that counts what a query before it repeats counts more: at
  least once says no more, so in cases of several queries in a row repeating must not change an aggregate.)
* ``replayed``: when the case is over, each of its queries is created once more, into another sink. It reads
  at once, from the beginning, what came bit by bit before; tables hold the same in the end, streams the same
  records. replaying.py says which cases promise that.

``related`` puts the stops into a case, at points that a seed chooses, or the replay at its end;
MetamorphicRun runs the result.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ksql_spark import grammar
from ksql_spark.grammar.statements.inserts import InsertSelect, InsertValues
from ksql_spark.grammar.statements.lifecycle import QueryControl
from ksql_spark.grammar.statements.queries import Query
from ksql_spark.grammar.statements.sources import CreateAsSelect
from ksql_spark.runtime.queries.manager import QueryManager
from ksql_spark.schema import ROWTIME
from tests.cases.case_file import Case, Cells, Check, Sql
from tests.cases.replaying import Replayed, with_replay
from tests.cases.running import TIMEOUT_S, Run, Sink, difference

RESTARTED, SPLIT, KILLED, REPLAYED = RELATIONS = ("restarted", "split", "killed", "replayed")


@dataclass(frozen=True)
class Stop:
    """How the queries stop at one point of a case."""

    relation: str
    line: int


def related(case: Case, relation: str, seed: int) -> Case | None:
    """The case as the relation has it, None where it says nothing of this case."""
    return with_replay(case) if relation == REPLAYED else with_stops(case, relation, seed)


def with_stops(case: Case, relation: str, seed: int) -> Case | None:
    """The case with stops in it, None where there is no place for one.

    A stop follows an INSERT that a persistent query reads on, and no client may be waiting for rows then.
    """
    places: list[int] = []
    has_query = is_watched = False
    for i, step in enumerate(case.steps):
        if not isinstance(step, Sql):
            is_watched &= not (isinstance(step, Check) and step.kind == "rows")
            continue
        try:
            statement = grammar.parse_one(step.text, {"case": "case"})
        except grammar.ParseFailed:
            continue
        match statement:
            case QueryControl():
                return None  # what it pauses is to stay so
            case CreateAsSelect() | InsertSelect():
                has_query = True
            case Query():
                is_watched = True
            case InsertValues() if has_query and not is_watched:
                places.append(i)
    is_checked = any(isinstance(step, Check) and step.kind == "output" for step in case.steps)
    if case.notyet is not None or not places or not is_checked:
        return None
    if any(isinstance(s, Sql) and "ksql.idle.window.timeout" in s.text for s in case.steps):
        return None  # what comes out depends on the clock too
    choice = random.Random(f"{seed} {relation} {case.path.name} {case.title}")
    chosen = set(choice.sample(places, choice.randint(1, min(3, len(places))) if relation == SPLIT else 1))
    steps: list[object] = (
        [Sql("SET 'ksql.execution.mode' = 'microbatch';", case.line)] if relation == SPLIT else []
    )
    for i, step in enumerate(case.steps):
        steps.append(step)
        if i in chosen:
            steps.append(Stop(relation, step.line))
    return replace(case, title=f"{case.title} ({relation}, seed {seed})", steps=steps)


class MetamorphicRun(Run):
    """A run of a case that related() made."""

    _was_killed = False

    def _do(self, step: object) -> None:
        match step:
            case Stop(relation="restarted"):
                self._restart()
            case Stop(relation="split"):
                self._statement(Sql("PAUSE ALL;", step.line))
                self._statement(Sql("RESUME ALL;", step.line))
            case Stop(relation="killed"):
                self._was_killed = True
                crash(self.engine.services.queries)
                self._restart()
            case Replayed():
                self._compare(step)
            case _:
                super()._do(step)

    def _rows(self, check: Check) -> None:
        if not self._was_killed:
            super()._rows(check)
        elif self._stream is not None:  # it may show what is about to be written again
            self._stream.close()
            self._stream = None

    def _wait(self, check: Check, sink: Sink, header: Cells, expected: list[Cells]) -> None:
        if not self._was_killed:
            super()._wait(check, sink, header, expected)
            return
        deadline = time.monotonic() + TIMEOUT_S
        before = sink.records[: sink.checked]
        while True:
            sink.read_to_end()
            after = sink.records[sink.checked :]
            if check.mode == "folded":
                is_so, actual = (actual := sink.rows(header, "folded")) == expected, actual
            else:
                allowed = [*sink.shown(before, header), *expected]
                actual = sink.shown(after, header)
                is_so = not Counter(map(tuple, expected)) - Counter(map(tuple, actual))
                is_so &= _last(sink, header, allowed) == _last(sink, header, sink.shown(sink.records, header))
                if any(row not in allowed for row in actual):
                    raise self._failed(check.line, difference(header, allowed, actual))
            if is_so:
                return
            if time.monotonic() > deadline or any(q.errors for q in self.engine.services.queries.all()):
                raise self._failed(check.line, difference(header, expected, actual))
            if not sink.poll(0.5) and check.repeats and self._last is not None:
                self._statement(self._last)

    def _still_so(self) -> None:
        if not self._was_killed:
            super()._still_so()
        for step in self.case.steps:
            if isinstance(step, Replayed) and (wrong := self._replay_differs(step)):
                raise self._failed(step.line, f"more came after it was the same:\n{wrong}")

    def _compare(self, step: Replayed) -> None:
        """Wait until the replay has written what the live run has."""
        deadline = time.monotonic() + TIMEOUT_S
        while wrong := self._replay_differs(step):
            if time.monotonic() > deadline or any(q.errors for q in self.engine.services.queries.all()):
                raise self._failed(step.line, wrong)
            self._sink(step.again).poll(0.5)

    def _replay_differs(self, step: Replayed) -> str:
        """How a sink and the one of its replay differ; "" where they hold the same."""
        live, again = self._sink(step.sink), self._sink(step.again)
        for sink in (live, again):
            sink.read_to_end()
        if step.is_folded:
            header = live.columns
            rows = [sink.rows(header, "folded") for sink in (live, again)]
        else:
            header = [*live.columns, ROWTIME]
            rows = [sorted(sink.shown(sink.records, header)) for sink in (live, again)]
        return difference(header, *rows) if rows[0] != rows[1] else ""


def crash(queries: QueryManager) -> None:
    """Lose what the queries have read since their last checkpoint."""
    for query in queries.all():
        queries.kill(query.id)


def _last(sink: Sink, header: Sequence[str], rows: Sequence[Cells]) -> dict[tuple[str, ...], Cells]:
    """A table's rows by key; nothing for a stream, or where the header does not tell keys."""
    names = [c.upper() for c in header]
    keys = [c.name.upper() for c in sink.source.schema.key]
    if sink.source.kind != "TABLE" or sink.source.window or not set(keys) <= set(names):
        return {}
    places = [names.index(key) for key in keys]
    return {tuple(row[p] for p in places): row for row in rows}
