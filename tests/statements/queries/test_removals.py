"""What queries leave is removed, also where that is not possible at once."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from ksql_spark.errors import KsqlError
from ksql_spark.runtime.queries.watching import removals
from ksql_spark.runtime.queries.watching.removals import PendingRemovals
from tests.statements.world import World
from tests.waiting import until


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(removals, "REMOVE_AFTER_S", 0.0)


def test_what_cannot_be_removed_is_removed_later(at_once: None) -> None:
    left, removed = PendingRemovals(), []
    problems: list[Exception] = [KsqlError("BROKER_UNREACHABLE", servers="x", reason="y"), OSError("disk")]

    def remove() -> None:
        if problems:
            raise problems.pop()
        removed.append("a")

    left.add("a", remove)
    for _ in range(4):
        left.remove_due(lambda name: False, lambda: False)
    assert removed == ["a"]


def test_what_has_come_again_stays(at_once: None) -> None:
    left, removed = PendingRemovals(), []
    left.add("a", lambda: removed.append("a"))
    left.remove_due(lambda name: name == "a", lambda: False)
    left.remove_due(lambda name: False, lambda: False)
    assert removed == []


def test_nothing_is_removed_before_its_time() -> None:
    left, removed = PendingRemovals(), []
    left.add("a", lambda: removed.append("a"))
    left.remove_due(lambda name: False, lambda: False)
    assert removed == []


def test_what_a_dead_server_cannot_remove_another_one_does(world: World, at_once: None) -> None:
    world.run(
        "CREATE TABLE j AS SELECT s.w AS w, COUNT(*) AS c FROM s JOIN t ON s.k = t.k"
        "  WINDOW TUMBLING (SIZE 1 HOUR) GROUP BY s.w EMIT FINAL;"
    )
    (query,) = world.queries.all()
    internal = [name for name in world.admin.topics() if query.id in name]
    assert internal and world.checkpoint(query.id).exists()
    placement = SimpleNamespace(owns=lambda query_id: False, remove=lambda query_id: None)
    world.queries._placement = placement  # type: ignore[assignment]
    world.run("DROP TABLE j;")
    until(lambda: not any(name in world.admin.topics() for name in internal))
    until(lambda: not world.checkpoint(query.id).exists())


def test_what_is_refused_is_not_tried_again(at_once: None) -> None:
    left, tries = PendingRemovals(), []

    def refused() -> None:
        tries.append("a")
        raise KsqlError("KAFKA_REFUSED", action="delete topic a", reason="not allowed")

    left.add("a", refused)
    for _ in range(3):
        left.remove_due(lambda name: False, lambda: False)
    assert tries == ["a"]


def test_nothing_is_removed_while_the_server_stops(at_once: None) -> None:
    left, removed = PendingRemovals(), []
    left.add("a", lambda: removed.append("a"))
    left.remove_due(lambda name: False, lambda: True)
    assert removed == []


def test_a_server_that_was_frozen_first_reads_what_has_come_again(
    at_once: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    left, removed = PendingRemovals(), []
    left.add("a", lambda: removed.append("a"))
    with monkeypatch.context() as patched:
        patched.setattr(removals, "_FROZEN_S", -1.0)
        left.remove_due(lambda name: False, lambda: False)
        assert removed == []
    left.remove_due(lambda name: False, lambda: False)
    assert removed == ["a"]
