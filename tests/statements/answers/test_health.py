"""GET /healthcheck: each part is asked by itself."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest

from ksql_spark.engine.health import Health
from ksql_spark.entities.wire import to_json
from ksql_spark.errors import KsqlError
from ksql_spark.kafka.admin import KafkaAdmin
from ksql_spark.lake.sinks import SinkStatus
from ksql_spark.runtime.command_log import Command
from tests.registry_server import RegistryServer
from tests.statements.world import World
from tests.waiting import until

TIMEOUT_S = 20.0


def health_of(world: World, deadline_s: float = TIMEOUT_S) -> dict[str, Any]:
    """What GET /healthcheck answers."""
    health = Health(world.services, cast(KafkaAdmin, world.admin), deadline_s)
    try:
        return to_json(health.check())
    finally:
        health.close()


def unwell(world: World) -> tuple[bool, set[str]]:
    """Whether the server is well, and the parts that are not."""
    body = health_of(world)
    assert set(body["details"]) == {"metastore", "kafka", "commandRunner", "spark", "queries"}
    return body["isHealthy"], {name for name, part in body["details"].items() if not part["isHealthy"]}


def await_healthy(health: Health, parts: set[str], never: set[str]) -> None:
    """Check until all ``parts`` answer in time, which a busy machine may delay; those of ``never`` do not."""
    deadline = time.monotonic() + TIMEOUT_S
    well = set[str]()
    while well != parts:
        assert time.monotonic() < deadline, f"well at the end: {well}"
        details = to_json(health.check())["details"]
        well = {name for name, part in details.items() if part["isHealthy"]}
        assert not well & never


def test_all_is_well_also_after_a_restart(world: World) -> None:
    world.run("CREATE STREAM a AS SELECT * FROM s EMIT CHANGES;")
    assert unwell(world) == (True, set())
    world.restart()
    assert unwell(world) == (True, set())


def test_kafka_does_not_answer(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def silent() -> str:
        raise KsqlError("BROKER_UNREACHABLE", servers="nowhere", reason="it is gone")

    monkeypatch.setattr(world.admin, "cluster_id", silent)
    assert unwell(world) == (False, {"kafka", "commandRunner"})


def test_a_schema_registry_is_shown_and_not_needed(make_world: Callable[..., World]) -> None:
    with RegistryServer() as server:
        world = make_world(**{"ksql.schema.registry.url": server.url})
        body = health_of(world)
        assert body["isHealthy"] and body["details"]["registry"] == {"isHealthy": True, "problem": None}
    body = health_of(world)
    assert body["isHealthy"] and not body["details"]["registry"]["isHealthy"]
    assert server.url.removeprefix("http://") in body["details"]["registry"]["problem"]


def test_a_sink_whose_commits_fail_is_shown_with_the_reason(world: World, tmp_path: Path) -> None:
    world.run(f"CREATE SINK lake FROM s WITH (TYPE='delta', PATH='{tmp_path}');")
    assert health_of(world)["details"]["lakes"] == {"isHealthy": True, "reasons": {}}
    world.services.sink_status = lambda name: SinkStatus(state="ERROR", reason=f"no space for {name}")
    body = health_of(world)
    assert not body["isHealthy"]
    assert body["details"]["lakes"] == {"isHealthy": False, "reasons": {"LAKE": "no space for LAKE"}}
    world.run("PAUSE SINK lake;")
    assert health_of(world)["isHealthy"]


def test_the_command_log_cannot_be_read(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def gone() -> int:
        raise KsqlError("TOPIC_UNKNOWN", topic="commands")

    monkeypatch.setattr(world.log, "end", gone)
    assert unwell(world) == (False, {"commandRunner"})


def test_the_command_log_has_more_than_was_carried_out(world: World) -> None:
    world.runner.close()
    world.log.append(Command("stream/`X`/create", "CREATE STREAM x (a INT);"))
    assert unwell(world) == (False, {"commandRunner"})


def test_sparks_process_is_gone(world: World) -> None:
    world.spark.is_alive = False
    assert unwell(world) == (False, {"spark"})


def test_spark_is_frozen(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    thawed = threading.Event()
    monkeypatch.setattr(world.spark, "answers", thawed.wait)
    health = Health(world.services, cast(KafkaAdmin, world.admin), 0.2)
    await_healthy(health, {"metastore", "kafka", "commandRunner", "queries"}, never={"spark"})
    thawed.set()
    health.close()
    assert unwell(world) == (True, set())


def test_parts_that_do_not_answer_are_asked_at_the_same_time_and_once(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    thawed, asked = threading.Event(), list[str]()

    def stuck(name: str) -> Any:
        asked.append(name)
        thawed.wait()
        raise KsqlError("TOPIC_UNKNOWN", topic=name)

    monkeypatch.setattr(world.spark, "answers", lambda: stuck("spark"))
    monkeypatch.setattr(world.admin, "cluster_id", lambda: stuck("kafka"))
    monkeypatch.setattr(world.log, "end", lambda: stuck("log"))
    health = Health(world.services, cast(KafkaAdmin, world.admin), 0.1)
    for _ in range(3):
        await_healthy(health, {"metastore", "queries"}, never={"spark", "kafka", "commandRunner"})
    assert sorted(asked) == ["kafka", "log", "spark"]
    thawed.set()
    health.close()


def test_the_metastore_has_lost_what_a_query_reads(world: World) -> None:
    world.run("CREATE STREAM a AS SELECT * FROM s EMIT CHANGES;")
    world.services.metastore.drop("S")
    assert unwell(world) == (False, {"metastore"})


def test_queries_that_failed_are_listed(world: World) -> None:
    world.run("CREATE STREAM a AS SELECT * FROM s EMIT CHANGES;")
    (query,) = world.queries.all()
    query.spark[0].is_active = False  # type: ignore[misc]
    until(lambda: query.state == "ERROR")
    body = health_of(world)
    assert not body["isHealthy"]
    assert body["details"]["queries"] == {
        "isHealthy": False,
        "inError": ["CSAS_A_2"],
        "reasons": {"CSAS_A_2": "the query ended unexpectedly"},
        "starting": [],
        "problem": None,
    }


def test_queries_that_nobody_watches_are_unwell(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(world.queries.watcher), "problem", "nobody thought of this")
    body = health_of(world)
    assert not body["isHealthy"] and not body["details"]["queries"]["isHealthy"]
    assert body["details"]["queries"]["problem"] == "nobody thought of this"
