"""``commandSequenceNumber``: a request waits for the command that it builds on (reference §7.2)."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from ksql_spark.engine.query_service import QueryService
from ksql_spark.engine.request import Request
from ksql_spark.errors import KsqlError
from tests.statements.world import World

NO_TIME: dict[str, Any] = {"ksql.server.command.response.timeout.ms": 0}


def ask(world: World, sequence: int | None) -> list[dict[str, Any]]:
    return world.answers(Request("SHOW STREAMS;", {}, {}, sequence))


def test_what_has_been_carried_out_is_not_waited_for(make_world: Callable[..., World]) -> None:
    world = make_world(**NO_TIME)
    last = world.one("CREATE TYPE p AS INT;")["commandSequenceNumber"]
    assert ask(world, last) and ask(world, None) and ask(world, -1)
    world.restart()
    assert ask(world, last)


def test_what_does_not_come_is_an_error(make_world: Callable[..., World]) -> None:
    world = make_world(**NO_TIME)
    sequence = len(world.log.records)
    with pytest.raises(KsqlError, match=f"command sequence number: {sequence}. The last") as caught:
        ask(world, sequence)
    assert (caught.value.condition, caught.value.code) == ("COMMAND_NOT_REACHED", 50301)
    with pytest.raises(KsqlError) as caught:
        QueryService(world.services).query(Request("SELECT * FROM s EMIT CHANGES;", {}, {}, sequence))
    assert caught.value.code == 50301


def test_a_request_waits_for_a_command(world: World) -> None:
    answers: list[Any] = []
    before = len(world.log.records)
    asking = threading.Thread(target=lambda: answers.append(ask(world, before)))
    asking.start()
    world.run("CREATE STREAM z AS SELECT * FROM s EMIT CHANGES;")
    asking.join()
    assert "Z" in {s["name"] for s in answers[0][0]["streams"]}


def test_a_server_that_stops_lets_no_request_wait(world: World) -> None:
    world.services.server.is_stopping = lambda: True
    with pytest.raises(KsqlError) as caught:
        ask(world, len(world.log.records))
    assert caught.value.condition == "STOPPED"
