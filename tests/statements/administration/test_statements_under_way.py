"""Queries and INSERT VALUES do not wait for statements that are being carried out."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from ksql_spark.engine.query_service import QueryService
from ksql_spark.engine.request import Request
from ksql_spark.errors import KsqlError
from tests.statements.world import World

SOON_S = 20.0
CREATE = "CREATE STREAM slow AS SELECT * FROM s;"


@pytest.fixture
def world(make_world: Callable[..., World], monkeypatch: pytest.MonkeyPatch) -> World:
    """CREATE … AS goes on until ``world.may_start`` is set."""
    world: Any = make_world()
    launch = world.queries._runs._launcher.launch
    world.is_starting, world.may_start = threading.Event(), threading.Event()

    def slowly(*arguments: Any, **more: Any) -> Any:
        world.is_starting.set()
        assert world.may_start.wait(SOON_S)
        return launch(*arguments, **more)

    monkeypatch.setattr(world.queries._runs._launcher, "launch", slowly)
    return world  # type: ignore[no-any-return]


def test_others_go_on_while_a_query_starts(world: Any) -> None:
    creating = threading.Thread(target=world.run, args=(CREATE,))
    creating.start()
    try:
        assert world.is_starting.wait(SOON_S)
        done = threading.Event()

        def use() -> None:
            world.run("INSERT INTO s (k) VALUES ('a');")
            # the stream that is being created is not there yet
            with pytest.raises(KsqlError, match="does not exist: SLOW"):
                QueryService(world.services).query(Request("SELECT * FROM slow;"))
            QueryService(world.services).inserter("s", {}, lambda: None)
            done.set()

        threading.Thread(target=use, daemon=True).start()
        assert done.wait(SOON_S)
        assert creating.is_alive()
    finally:
        world.may_start.set()
        creating.join(SOON_S)
    assert world.services.published.find("SLOW") is not None


def test_what_fails_was_never_seen(world: Any) -> None:
    world.may_start.set()
    world.log.is_broken = True
    world.refused(CREATE)
    assert world.services.published.find("SLOW") is None
