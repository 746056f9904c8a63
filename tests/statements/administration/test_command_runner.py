"""Commands are written first and carried out then, in the order of the log, on every server alike."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ksql_spark.errors import KsqlError
from ksql_spark.metastore.store import MetaStore
from ksql_spark.runtime.command_log import Command, Order, Unreadable, decode
from tests.statements.world import FakeLog, World

SOON_S = 20.0


@pytest.fixture
def worlds(make_world: Callable[..., World], tmp_path: Path) -> Iterator[tuple[World, World]]:
    """Two servers on one log."""
    first = make_world()
    second = World(tmp_path / "second", beside=first)
    yield first, second
    second.close()


def caught_up(world: World) -> MetaStore:
    """The metastore of a server that has carried out all that is in the log."""
    world.services.commands.wait_for(len(world.log.records) - 1, SOON_S, lambda: False)
    return world.services.published


def command(token: str | None, follows: str | None = None) -> Command:
    return Command("type/T/create", "CREATE TYPE t AS INT", token=token, follows=follows)


def test_a_command_that_follows_another_than_the_last_is_void() -> None:
    order = Order()
    assert order.accepts(command("a"))
    assert order.accepts(command("b", "a"))
    assert not order.accepts(command("c", "a"))  # it lost the race against b
    assert not order.accepts(command("e"))  # it knew nothing
    assert order.accepts(command("f", "b"))
    assert order.last == "f" and order.has("b") and not order.has("c")


def test_commands_of_other_releases_have_their_place() -> None:
    order = Order()
    assert order.accepts(command(None)) and order.last is None  # version 1
    assert order.accepts(command("a"))
    newer = Unreadable("its version is 99", is_newer=True, token="b", follows="a")
    assert order.accepts(newer) and order.accepts(Unreadable("garbage"))
    assert not order.accepts(command("c", "a"))
    # a log that somebody has mended: what it follows is not there any more
    assert order.accepts(command("z", "y")) and order.last == "z"


def test_what_one_server_writes_all_carry_out(worlds: tuple[World, World]) -> None:
    first, second = worlds
    first.run("CREATE TYPE p AS INT; CREATE STREAM a (x p) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');")
    (here, there) = (caught_up(world).require("A") for world in worlds)
    assert here.schema == there.schema and here.statement == there.statement
    second.run("DROP STREAM a;")
    assert caught_up(first).find("A") is None
    assert second.runner.statuses["stream/A/drop"] == first.runner.statuses["stream/A/drop"]
    again = World(Path(str(first.checkpoint("x").parents[1])) / "third", beside=first)
    try:
        assert {s.name for s in again.services.published.sources()} == {"S", "T"}
    finally:
        again.close()


class LogOfAnother(FakeLog):
    """The log of a service id that another server has taken."""

    def __init__(self, log: FakeLog) -> None:
        self.__dict__ = log.__dict__

    def confirm(self) -> None:
        raise KsqlError("SERVICE_ID_TAKEN", id="default_")


def test_a_server_whose_service_id_was_taken_carries_out_nothing(worlds: tuple[World, World]) -> None:
    first, second = worlds
    first.run("CREATE TABLE before AS SELECT w, COUNT(*) AS c FROM s GROUP BY w;")
    (query,) = first.ids()
    caught_up(second)
    first.services.log = LogOfAnother(first.log)  # type: ignore[assignment]
    first.queries.fence("taken")
    second.run(f"PAUSE {query}; RESUME {query};")
    second.run("CREATE TABLE after AS SELECT w, COUNT(*) AS c FROM s GROUP BY w;")
    assert first.runner._thread is not None
    first.runner._thread.join(SOON_S)
    assert set(second.states().values()) == {"RUNNING"} and len(second.ids()) == 2
    assert first.states() == {query: "ERROR"}
    assert first.services.published.find("AFTER") is None


def test_servers_that_write_at_the_same_time_agree(worlds: tuple[World, World]) -> None:
    numbers, threads = 8, []
    outcomes: list[Any] = []

    def create(world: World, name: str) -> None:
        text = f"CREATE STREAM {name} (v INT) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');"
        try:
            outcomes.append(world.one(text)["commandSequenceNumber"])
        except KsqlError as error:
            outcomes.append(error.message)

    for n in range(numbers):
        for world in worlds:
            threads.append(threading.Thread(target=create, args=(world, f"n{n}")))
            threads[-1].start()
    for thread in threads:
        thread.join(SOON_S)
    made = [outcome for outcome in outcomes if isinstance(outcome, int)]
    refused = [outcome for outcome in outcomes if not isinstance(outcome, int)]
    # each was made once, and the other server's statement was refused, not carried out in silence
    assert len(set(made)) == len(made) == numbers == len(refused)
    assert all("already exists" in message for message in refused)
    names = [{source.name for source in caught_up(world).sources()} for world in worlds]
    assert names[0] == names[1] == {"S", "T", *(f"N{n}" for n in range(numbers))}


def test_what_is_written_on_old_knowledge_is_void_and_checked_again(
    worlds: tuple[World, World], monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = worlds
    append = second.log.append
    between = iter(["CREATE STREAM a (v INT) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');"])

    def overtaken(given: Command) -> int:
        for text in between:  # once: just before it is written
            there = len(second.log.records)
            threading.Thread(target=first.run, args=(text,)).start()
            second.log.wait_for(there, SOON_S)
        return append(given)

    monkeypatch.setattr(second.services, "log", _With(second.log, overtaken))
    second.run("CREATE STREAM b AS SELECT * FROM s EMIT CHANGES;")
    records = [decode(record.encode()) for record in second.log.records]
    *_, other, void, again = records
    assert isinstance(other, Command) and isinstance(void, Command) and isinstance(again, Command)
    assert void.follows == other.follows and again.follows == other.token
    assert void.query_id != again.query_id  # ids are numbers of the log
    for world in worlds:
        assert {"A", "B"} <= {source.name for source in caught_up(world).sources()}


class _With:
    """A log with another append()."""

    def __init__(self, log: Any, append: Callable[[Command], int]) -> None:
        self._log, self.append = log, append

    def __getattr__(self, name: str) -> Any:
        return getattr(self._log, name)


def test_a_newer_release_makes_a_running_server_read_only(worlds: tuple[World, World]) -> None:
    first, _ = worlds
    newer = json.loads(first.log.records[-1]) | {"version": 99}
    with first.log._changed:
        first.log.records.append(json.dumps(newer | {"follows": newer["token"], "token": "new"}))
        first.log._changed.notify_all()
    caught_up(first)
    assert first.refused("CREATE TYPE a AS INT;").condition == "COMMAND_LOG_NEWER"
    assert {"S", "T"} <= {source.name for source in first.services.published.sources()}


def test_a_reader_that_fails_goes_on_where_it_was(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    reader = type(world.log.reader())
    read = reader.read
    failures = iter([True, True])

    def failing(self: Any, timeout_s: float) -> Any:
        if next(failures, False):
            raise KsqlError("BROKER_UNREACHABLE", servers="nowhere", reason="it is gone")
        return read(self, timeout_s)

    monkeypatch.setattr(reader, "read", failing)
    monkeypatch.setattr("ksql_spark.engine.command_runner.PAUSE_S", 0.01)
    world.run("CREATE TYPE a AS INT; CREATE TYPE b AS INT;")
    assert {"A", "B"} <= world.services.published.types().keys()
