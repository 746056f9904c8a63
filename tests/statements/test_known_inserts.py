"""INSERT VALUES that are known but for their values write what the statements themselves write.;"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from grammar.literals import put_in, take_out
from ksql_spark import consistency
from ksql_spark.authorization import ALL_RIGHTS, Rights
from ksql_spark.errors import KsqlError
from tests.statements.world import World

SOURCES = """
CREATE STREAM mixed (k BIGINT KEY, n INT, d DOUBLE, b BOOLEAN, t STRING, day DATE, price DECIMAL(6, 2))
  WITH (KAFKA_TOPIC = 'mixed', KEY_FORMAT = 'KAFKA', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
"""


@pytest.fixture
def world(make_world: Callable[..., World]) -> World:
    world = make_world()
    world.run(SOURCES)
    return world


def insert(world: World, text: str, rights: Rights = ALL_RIGHTS, **properties: Any) -> bool:
    """Write by what is known of ``text``; False if nothing is."""
    known = world.statements.insert(text, properties, rights)
    if known is None:
        return False
    errors: list[KsqlError | None] = []
    known.write(errors.append)
    assert errors == [None]
    return True


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("INSERT INTO s VALUES ('a', 1, 'x');", "INSERT INTO s VALUES ('it''s', 2147483647, '');"),
        ("INSERT INTO s (v, k) VALUES (1, 'a');", "INSERT INTO s (v, k) VALUES (1, 'é');"),
        ("INSERT INTO s VALUES ('a', -1, NULL);", "INSERT INTO s VALUES ('a', -0, NULL);"),
        ("INSERT INTO s VALUES ('a', 7, 'a');", "INSERT INTO s VALUES ('b', 7, 'c');"),
        ("INSERT INTO t VALUES ('a', 1);", "INSERT INTO t VALUES ('b', 2);"),
        ("INSERT INTO s (v) VALUES (1);", "INSERT INTO s (v) VALUES (2);"),
        ("insert into mixed (k, n) values (5, 6);", "insert into mixed (k, n) values (6, 5);"),
        ("INSERT INTO mixed (k, d) VALUES (1, 37.7877);", "INSERT INTO mixed (k, d) VALUES (2, 0.0000001);"),
        ("INSERT INTO mixed (k, d) VALUES (1, -1.5);", "INSERT INTO mixed (k, d) VALUES (2, -122.42054321);"),
        ("INSERT INTO mixed (k, d) VALUES (1, 3);", "INSERT INTO mixed (k, d) VALUES (1, 4);"),
        ("INSERT INTO mixed (k, b) VALUES (1, true);", "INSERT INTO mixed (k, b) VALUES (2, true);"),
        ("INSERT INTO mixed (k) VALUES (3000000000);", "INSERT INTO mixed (k) VALUES (9000000000);"),
        ("INSERT INTO mixed (k) VALUES (-3000000000);", "INSERT INTO mixed (k) VALUES (-2147483648);"),
    ],
)
def test_other_values_are_written_as_by_the_statement(world: World, first: str, second: str) -> None:
    assert not insert(world, first)
    world.run(first)
    assert insert(world, second)
    world.run(second)
    assert insert(world, first)
    sent = world.sent
    assert (sent[1], sent[0]) == (sent[2], sent[3])
    assert first == second or sent[0] != sent[1]


def test_a_time_that_is_given_is_that_of_the_record(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    times: list[int] = []

    def send(self: World, topic: str, key: Any, value: Any, time_ms: int) -> tuple[int, int]:
        times.append(time_ms)
        return 0, 0

    monkeypatch.setattr(World, "send", send)
    world.run("INSERT INTO mixed (k, rowtime) VALUES (1, 5);")
    assert insert(world, "INSERT INTO mixed (k, rowtime) VALUES (1, 7);")
    assert times == [5, 7]


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("INSERT INTO mixed (k, n) VALUES (1, 2 - 1);", "INSERT INTO mixed (k, n) VALUES (1, 2 - 2);"),
        (
            "INSERT INTO mixed (k, t) VALUES (1, UCASE('a'));",
            "INSERT INTO mixed (k, t) VALUES (1, UCASE('b'));",
        ),
        (
            "INSERT INTO s (k) VALUES ('a'); INSERT INTO s (k) VALUES ('b');",
            "INSERT INTO s (k) VALUES ('a');",
        ),
        ("INSERT INTO s (k) VALUES ('a');", "INSERT INTO s (k) VALUES (\0s);"),
        ("INSERT INTO s (k) VALUES ('a');", "INSERT INTO s (k) VALUES (1);"),
        ("INSERT INTO s (k, v) VALUES ('a', 1);", "INSERT INTO s (k, v) VALUES ('a', 3000000000);"),
        ("INSERT INTO s (k, rowtime) VALUES ('a', 1);", "INSERT INTO s (k, rowtime) VALUES ('a', 0);"),
    ],
)
def test_others_are_not_known(world: World, text: str, other: str) -> None:
    world.run(text)
    assert not insert(world, other)


def test_strings_that_have_to_be_of_some_form_are_not_known(world: World) -> None:
    for _ in range(2):
        world.run("INSERT INTO mixed (k, day) VALUES (1, '2024-01-01');")
        assert not insert(world, "INSERT INTO mixed (k, day) VALUES (1, '2024-01-01');")


def test_nothing_is_known_after_the_catalog_has_changed(world: World) -> None:
    text = "INSERT INTO s (k) VALUES ('a');"
    world.run(text)
    assert insert(world, text)
    world.run("DROP STREAM s;")
    assert not insert(world, text)


def test_nothing_is_known_after_the_configuration_has_changed(make_world: Callable[..., World]) -> None:
    world = make_world(**{"ksql.runtime.feature.shared.enabled": "true"})
    text = "INSERT INTO s (k) VALUES ('a');"
    world.run(text)
    world.run("ALTER SYSTEM 'ksql.insert.into.values.enabled' = 'false';")
    assert not insert(world, text)


def test_properties_are_part_of_what_is_known(world: World) -> None:
    text = "INSERT INTO s (k) VALUES ('a');"
    world.run(text)
    assert not insert(world, text, **{"ksql.insert.into.values.enabled": False})


def test_who_may_not_write_is_refused_by_the_statement(world: World) -> None:
    text = "INSERT INTO s (k) VALUES ('a');"
    world.run(text)
    assert insert(world, text, Rights.of(["developer"]))
    assert insert(world, text, Rights.of(["developer:s*"]))
    assert not insert(world, text, Rights.of(["reader"]))
    assert not insert(world, text, Rights.of(["developer:t*"]))


def test_a_full_queue_is_waited_for_by_the_statement(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "INSERT INTO s (k) VALUES ('a');"
    world.run(text)
    monkeypatch.setattr(World, "has_room", False)
    assert not insert(world, text)


def test_what_was_written_is_in_the_token(world: World) -> None:
    text = "INSERT INTO s (k) VALUES ('a');"
    world.run(text)
    known = world.statements.insert(text, {}, ALL_RIGHTS)
    assert known is not None
    known.write(lambda error: None)
    assert consistency.decode(known.token) == {"s": {0: 2}}


def test_an_error_has_its_statement(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "INSERT INTO s (k) VALUES ('a');"
    world.run(text)

    def offer(self: World, topic: str, key: Any, value: Any, time_ms: int, on_written: Any) -> None:
        on_written(KsqlError("TOPIC_UNKNOWN", topic=topic), -1, -1)

    def send(*_: Any) -> None:
        raise KsqlError("TOPIC_UNKNOWN", topic="s")

    monkeypatch.setattr(World, "offer", offer)
    monkeypatch.setattr(World, "send", send)
    known = world.statements.insert(text, {}, ALL_RIGHTS)
    assert known is not None
    errors: list[KsqlError | None] = []
    known.write(errors.append)
    assert errors[0] is not None
    of_statement = world.refused(text)
    assert (errors[0].statement, errors[0].message) == (of_statement.statement, of_statement.message)


@pytest.mark.parametrize(
    "text", ["SELECT 0.0000001, 1.50, 'a', -2.5;", "SELECT 12345678901234567890.5, a.1, 1e5;"]
)
def test_decimals_are_taken_out_and_put_in(text: str) -> None:
    assert put_in(take_out(text, with_decimals=True)) == text
    assert take_out(text).values == ((("a",)) if "'a'" in text else ())
