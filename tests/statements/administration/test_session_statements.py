"""SET, UNSET, DEFINE, UNDEFINE within one request; ALTER SYSTEM (reference §1.3, §2.13)."""

from __future__ import annotations

from collections.abc import Callable

from ksql_spark.engine.request import Request
from tests.statements.world import World


def test_set_holds_for_what_follows(world: World) -> None:
    world.admin.ends[("s", 1)] = 5
    first = "CREATE STREAM a AS SELECT * FROM s EMIT CHANGES;"
    second = "CREATE STREAM b AS SELECT * FROM s EMIT CHANGES;"
    third = "CREATE STREAM c AS SELECT * FROM s EMIT CHANGES;"
    reset = "SET 'auto.offset.reset' = 'earliest';"
    entities = world.run(f"{first}{reset}{second}UNSET 'ksql.streams.auto.offset.reset';{third}")
    assert len(entities) == 3  # SET and UNSET answer nothing
    starts = {q.id: q.starts["s"]["1"] for q in world.queries.all()}
    assert starts == {"CSAS_A_2": 5, "CSAS_B_3": 0, "CSAS_C_4": 5}
    properties = world.queries.all()[1].properties
    assert properties == {"ksql.streams.auto.offset.reset": "earliest"}
    world.restart()
    assert world.queries.all()[1].properties == properties


def test_unset_takes_back_what_the_request_says(world: World) -> None:
    world.admin.ends[("s", 1)] = 5
    text = "UNSET 'auto.offset.reset'; CREATE STREAM a AS SELECT * FROM s EMIT CHANGES;"
    world.run(text, **{"auto.offset.reset": "earliest"})
    assert world.queries.all()[0].starts["s"]["1"] == 5


def test_set_is_gone_with_its_request(world: World) -> None:
    world.run("SET 'auto.offset.reset' = 'earliest';")
    shown = world.one("SHOW PROPERTIES;")
    assert shown["overwrittenProperties"] == []


def test_properties_shown_are_those_of_the_place(world: World) -> None:
    before, after = world.run("SHOW PROPERTIES; SET 'auto.offset.reset' = 'earliest'; SHOW PROPERTIES;")
    name = "ksql.streams.auto.offset.reset"
    values = [{p["name"]: p["value"] for p in e["properties"]}[name] for e in (before, after)]
    assert values == ["latest", "earliest"]
    assert (before["overwrittenProperties"], after["overwrittenProperties"]) == ([], [name])


def test_set_of_what_changes_nothing_is_a_warning(world: World) -> None:
    shown = world.one("SET 'num.standby.replicas' = '8';")
    assert (shown["@type"], shown["message"]) == (
        "warning_entity",
        "Property 'num.standby.replicas' has no effect: ksql-spark accepts it for compatibility with ksqlDB.",
    )
    for guarantee in ("at_least_once", "exactly_once_v2"):
        assert world.run(f"SET 'processing.guarantee' = '{guarantee}';") == []


def test_what_cannot_be_set(make_world: Callable[..., World]) -> None:
    world = make_world(**{"ksql.properties.overrides.denylist": "auto.offset.reset"})
    for name, value, condition in (
        ("auto.offset.reset", "earliest", "PROPERTY_FIXED"),
        ("ksql.service.id", "x", "PROPERTY_FIXED"),
        ("ksql.no.such.thing", "x", "PROPERTY_UNKNOWN"),
        ("ksql.lambdas.enabled", "perhaps", "PROPERTY_INVALID"),
        ("processing.guarantee", "exactly_once", "PROPERTY_INVALID"),
    ):
        assert world.refused(f"SET '{name}' = '{value}';").condition == condition
    assert world.refused("UNSET 'ksql.no.such.thing';").condition == "PROPERTY_UNKNOWN"
    assert make_world().refused("SET 'auto.offset.reset' = 'none';").condition == "PROPERTY_INVALID"


def test_variables(world: World) -> None:
    entities = world.run(
        "DEFINE Name = 'a'; SHOW VARIABLES; DEFINE of_it = 'of_${name}';"
        "DEFINE n = '1'; UNDEFINE N; UNDEFINE n;"
        "CREATE STREAM ${name} (k STRING KEY, v INT)"
        "  WITH (KAFKA_TOPIC='${of_it}', VALUE_FORMAT='JSON', PARTITIONS=1); SHOW VARIABLES;"
    )
    shown, warning, created, at_the_end = entities
    assert shown["variables"] == [{"name": "NAME", "value": "a"}]
    assert warning["@type"] == "warning_entity"
    assert warning["message"] == "Cannot undefine variable 'N' which was never defined"
    assert created["commandStatus"]["message"] == "Stream created"
    assert at_the_end["variables"] == [{"name": "NAME", "value": "a"}, {"name": "OF_IT", "value": "of_a"}]
    assert world.services.metastore.require("A").topic == "of_a"
    assert world.one("SHOW VARIABLES;")["variables"] == []
    assert "${" not in world.log.records[-1]


def test_variables_of_the_request(world: World) -> None:
    request = Request("SHOW VARIABLES; DESCRIBE ${src}; UNDEFINE src; DESCRIBE ${SRC};", {}, {"Src": "s"})
    try:
        world.statements.execute(request)
    except Exception as error:
        assert "${SRC}" in str(error)
    else:
        raise AssertionError("an undefined variable was used")
    shown, described = world.answers(Request("SHOW VARIABLES; DESCRIBE ${src};", {}, {"Src": "s"}))
    assert shown["variables"] == [{"name": "SRC", "value": "s"}]
    assert described["sourceDescription"]["name"] == "S"


def test_substitution_can_be_turned_off(world: World) -> None:
    error = world.refused("DEFINE x = 's'; DESCRIBE ${x};", **{"ksql.variable.substitution.enable": "false"})
    assert error.condition == "SYNTAX"


def test_alter_system(make_world: Callable[..., World]) -> None:
    world = make_world(**{"ksql.runtime.feature.shared.enabled": "true"})
    world.run(
        "CREATE STREAM a AS SELECT * FROM s EMIT CHANGES; CREATE STREAM b AS SELECT * FROM s EMIT CHANGES;"
    )
    world.run("PAUSE CSAS_B_3;")
    (a, b) = world.queries.all()
    before = a.spark
    answer = world.one("ALTER SYSTEM 'ksql.sink.linger.ms' = '7';")
    assert answer["commandId"] == "cluster/ksql.sink.linger.ms/alter"
    assert world.services.config["ksql.sink.linger.ms"] == 7
    assert world.queries.find("CSAS_A_2") is a and a.spark is not before
    assert b.state == "PAUSED" and not b.spark
    world.restart()
    assert world.services.config["ksql.sink.linger.ms"] == 7
    assert world.refused("ALTER SYSTEM 'ksql.service.id' = 'x';").condition == "PROPERTY_FIXED"
    assert world.refused("ALTER SYSTEM 'ksql.sink.linger.ms' = 'x';").condition == "PROPERTY_INVALID"


def test_alter_system_needs_the_feature(world: World) -> None:
    error = world.refused("ALTER SYSTEM 'ksql.sink.linger.ms' = '7';")
    assert "ksql.runtime.feature.shared.enabled" in error.message and "SET" in error.message
