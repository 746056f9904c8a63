"""The states of a query: the table of transitions, and who may use it."""

from __future__ import annotations

import ast
import itertools
import logging
import re
import threading
from pathlib import Path
from typing import Any, cast

import pytest

import ksql_spark
from ksql_spark.runtime.queries.definition import QueryDefinition
from ksql_spark.runtime.queries.managed import ManagedQuery
from ksql_spark.runtime.queries.states import TRANSITIONS, Event, Lifecycle, State, TransitionRefused

SOURCES = Path(ksql_spark.__file__).parent

#: the states and all that may happen to a query, for people
PAGE = Path(__file__).parents[2] / "docs" / "internals" / "queries.md"


def expected() -> dict[tuple[State, Event], State | None]:
    """The table of that page: a row for each state, a column for each event."""
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    head, *rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in lines
        if line.startswith(("| state | start |", *(f"| {state}" for state in State)))
    ]
    words = [[cell.partition(":")[0].split() for cell in row] for row in rows]
    return {
        (State(state[0]), Event(event)): State(target[0]) if target else None
        for state, *targets in words
        for event, target in zip(head[1:], targets, strict=True)
    }


def ways() -> dict[State, list[Event]]:
    """State -> the events that lead to it from the first one."""
    found: dict[State, list[Event]] = {State.REGISTERED: []}
    waiting = [State.REGISTERED]
    while waiting:
        state = waiting.pop()
        for event in Event:
            target = TRANSITIONS.get((state, event))
            if target is not None and target not in found:
                found[target] = [*found[state], event]
                waiting.append(target)
    return found


def in_state(state: State) -> Lifecycle:
    lifecycle = Lifecycle("Q")
    for event in ways()[state]:
        lifecycle.apply(event)
    return lifecycle


def test_the_table_decides_about_each_pair() -> None:
    pairs = expected()
    assert pairs.keys() == set(itertools.product(State, Event))
    assert dict(TRANSITIONS) == {pair: target for pair, target in pairs.items() if target is not None}


def test_each_state_can_be_reached() -> None:
    assert ways().keys() == set(State)


@pytest.mark.parametrize(("state", "event"), list(itertools.product(State, Event)))
def test_an_event_leads_where_the_table_says_or_is_refused(state: State, event: Event) -> None:
    lifecycle = in_state(state)
    target = expected()[state, event]
    assert lifecycle.allows(event) == (target is not None)
    if target is None:
        for refused in (lifecycle.check, lifecycle.apply):
            with pytest.raises(TransitionRefused, match=f"query Q is {state}: {event} is refused"):
                refused(event)
        assert lifecycle.state is state
    else:
        lifecycle.check(event)
        assert lifecycle.state is state and lifecycle.apply(event) is state
        assert lifecycle.state is target


def test_each_change_of_state_is_logged_with_the_query(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    lifecycle = Lifecycle("CSAS_A_1")
    lifecycle.apply(Event.START)
    lifecycle.apply(Event.START)  # nothing changes
    Lifecycle("transient_1", logging.DEBUG).apply(Event.START)
    assert [(record.levelname, record.message, cast(Any, record).query) for record in caplog.records] == [
        ("INFO", "query CSAS_A_1: REGISTERED -> RUNNING (start)", "CSAS_A_1"),
        ("DEBUG", "query transient_1: REGISTERED -> RUNNING (start)", "transient_1"),
    ]


def test_of_events_at_once_that_exclude_each_other_one_is_refused() -> None:
    for _ in range(50):
        lifecycle, barrier = in_state(State.RUNNING), threading.Barrier(4)
        outcomes: list[bool] = []

        def end(lifecycle: Lifecycle = lifecycle, barrier: threading.Barrier = barrier) -> None:
            barrier.wait()
            try:
                lifecycle.apply(Event.END)
                outcomes.append(True)  # noqa: B023
            except TransitionRefused:
                outcomes.append(False)  # noqa: B023

        threads = [threading.Thread(target=end) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(outcomes) == [False, False, False, True]


def test_a_query_shows_its_definition_and_its_state_and_changes_neither() -> None:
    plan = cast(Any, object())
    definition = QueryDefinition("CSAS_A_1", "CREATE …;", plan, {"s": {"0": 1, "1": 2}}, {"a": 1}, 3)
    query: Any = ManagedQuery(definition)
    for name, value in vars(definition).items():
        assert getattr(query, name) is value
        for target in (query, cast(Any, definition)):
            with pytest.raises(AttributeError):
                setattr(target, name, value)
    assert query.state is State.REGISTERED
    with pytest.raises(AttributeError):
        query.state = State.RUNNING


def test_only_the_manager_and_its_registry_let_events_happen() -> None:
    applied, assigned = set(), set()
    for path in SOURCES.rglob("*.py"):
        module = path.relative_to(SOURCES).as_posix()
        text = path.read_text(encoding="utf-8")
        if not re.search(r"lifecycle\.apply|\._?state\b[^=\n]*=", text):
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Attribute):
                of = node.value
                if node.attr == "apply" and isinstance(of, ast.Attribute) and of.attr == "lifecycle":
                    applied.add(module)
                if node.attr in ("state", "_state") and isinstance(node.ctx, ast.Store):
                    assigned.add(module)
    assert applied == {"runtime/queries/manager.py", "runtime/queries/registry.py"}
    assert assigned == {"runtime/queries/states.py", "engine/engine.py"}  # the latter: of the engine itself
