"""Records of the command log are checked: whoever may write to its topic may have written them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, cast

import pytest

from ksql_spark.engine.health import Health
from ksql_spark.entities.servers import CommandRunnerHealth
from ksql_spark.kafka.admin import KafkaAdmin
from ksql_spark.runtime.command_log import Command, Unreadable, decode, encode
from ksql_spark.services.python_functions import PythonFunctions
from tests.statements.world import World

COMMAND = Command("type/A/create", "CREATE TYPE a AS INT", {"a": 1}, {"t": {"0": 3}}, "CSAS_A_1", {"root": 1})
BODY = json.loads(encode(COMMAND))


def test_a_command_is_read_as_it_was_written() -> None:
    assert decode(encode(COMMAND)) == COMMAND
    bare = Command("type/A/drop", "DROP TYPE a")
    assert decode(encode(bare)) == bare


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(b"garbage{", id="no JSON"),
        pytest.param(b"\xff\xfe", id="no text"),
        pytest.param(b"[" * 100_000, id="nested too deeply"),
        pytest.param(b"17", id="no object"),
        pytest.param(b"{}", id="no version"),
        pytest.param(None, id="a tombstone"),
        *(
            pytest.param(json.dumps(BODY | changed).encode(), id=str(changed))
            for changed in (
                {"version": "1"},
                {"statement": None},
                {"properties": [1]},
                {"starts": {"t": {"0": "x"}}},
                {"starts": {"t": {"zero": 0}}},
                {"plan": "x"},
                {"queryId": "../../home"},
                {"queryId": ".."},
            )
        ),
    ],
)
def test_what_is_no_command(value: bytes | None) -> None:
    found = decode(value)
    assert isinstance(found, Unreadable) and found.reason and not found.is_newer


def commands_of(world: World) -> CommandRunnerHealth:
    health = Health(world.services, cast(KafkaAdmin, world.admin), 20.0)
    try:
        return health.check().details.command_runner
    finally:
        health.close()


def test_the_server_starts_with_garbage_in_the_log(world: World) -> None:
    world.log.records.append("garbage{")
    world.run("CREATE STREAM a AS SELECT * FROM s EMIT CHANGES;")
    world.restart()
    assert world.ids() == ["CSAS_A_3"]
    (report,) = (line for line in world.reports if "skipped" in line)
    assert "command_topic, partition 0, offset 2: it is not JSON" in report
    (warning,) = world.one("SHOW STREAMS;")["warnings"]
    assert "command_topic, partition 0, offset 2" in warning["message"]
    runner = commands_of(world)
    assert runner.is_healthy
    (skipped,) = runner.skipped
    assert (skipped.topic, skipped.partition, skipped.offset) == ("command_topic", 0, 2)
    world.run("CREATE STREAM b AS SELECT * FROM s EMIT CHANGES;")


def test_the_log_is_read_only_where_a_newer_release_wrote_to_it(world: World) -> None:
    world.run("CREATE STREAM a AS SELECT * FROM s EMIT CHANGES;")
    world.log.records.append(json.dumps(BODY | {"version": 99}))
    world.restart()
    assert world.states() == {"CSAS_A_2": "RUNNING"}
    before = list(world.log.records)
    error = world.refused("CREATE STREAM b AS SELECT * FROM s EMIT CHANGES;")
    assert error.condition == "COMMAND_LOG_NEWER"
    assert "command_topic" in error.message and "offset 3" in error.message
    assert world.refused("DROP STREAM a;").condition == "COMMAND_LOG_NEWER"
    assert world.log.records == before and world.states() == {"CSAS_A_2": "RUNNING"}
    world.run("INSERT INTO s VALUES ('k', 1, 'w'); SHOW STREAMS; DESCRIBE a;")
    assert not commands_of(world).is_healthy


def test_what_is_said_of_a_skipped_command_has_no_secrets(world: World) -> None:
    statement = "CREATE STREAM x WITH ('a.password'='c4n4ry', 'b'='c');"
    world.log.records.append(json.dumps(BODY | {"statement": statement, "plan": None}))
    world.restart()
    (skipped,) = commands_of(world).skipped
    assert "a.password" in skipped.reason and "c4n4ry" not in str(skipped)
    assert "c4n4ry" not in str(world.reports)


def test_a_command_whose_properties_are_nonsense_is_skipped(world: World) -> None:
    text = "CREATE STREAM a AS SELECT * FROM s EMIT CHANGES"
    world.log.append(Command("stream/`A`/create", text, {"auto.offset.reset": {"x": []}}, {"s": {"0": -7}}))
    world.log.append(Command("type/`B`/create", "CREATE TYPE b AS INT"))
    world.restart()
    assert world.services.metastore.types().keys() == {"B"}


def test_no_folder_is_removed_but_those_of_queries(world: World) -> None:
    kept = world.checkpoint("x").parents[1] / "kept"
    kept.mkdir()
    forged = json.dumps(BODY | {"statement": "CREATE TYPE a AS INT", "queryId": "../kept", "plan": None})
    world.log.records.append(forged)
    world.restart()
    assert kept.exists()


def test_code_in_the_log_is_run_only_where_functions_are_allowed(
    make_world: Callable[..., World], monkeypatch: pytest.MonkeyPatch
) -> None:
    described: list[Any] = []
    monkeypatch.setattr(PythonFunctions, "write", lambda self, name, code: described.append(code))
    monkeypatch.setattr(PythonFunctions, "describe", lambda self, sources: [{"functions": []}])
    world = make_world()
    code = "CREATE FUNCTION f () RETURNS INT LANGUAGE PYTHON AS $$import os; return os.getpid()$$"
    world.log.append(Command("function/F/create", code))
    world.restart()
    assert described == []
    assert any("ksql.create.function.enabled" in line for line in world.reports)
    assert [s.offset for s in commands_of(world).skipped] == [2]
