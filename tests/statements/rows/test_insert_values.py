"""INSERT INTO … VALUES of several rows, and RETURNING (reference §2.4)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ksql_spark.errors import KsqlError
from tests.registry_server import RegistryServer
from tests.statements.world import World

CREATE = """CREATE STREAM r (k STRING KEY, a INT NOT NULL, d DECIMAL(5, 2), moment TIMESTAMP, b BYTES)
WITH (KAFKA_TOPIC='r', VALUE_FORMAT='JSON', PARTITIONS=1);"""


@pytest.fixture
def world(make_world: Callable[..., World]) -> World:
    made = make_world()
    made.run(CREATE)
    return made


def test_rows_are_written_in_their_order(world: World) -> None:
    assert world.run("INSERT INTO r (k, a) VALUES ('x', 1), (NULL, 2), ('z', 3);") == []
    assert [key for _, key, _ in world.sent] == [b"x", None, b"z"]


def test_the_registry_is_asked_once_for_all_rows(make_world: Callable[..., World]) -> None:
    with RegistryServer() as registry:
        world = make_world(**{"ksql.schema.registry.url": registry.url})
        world.run("CREATE STREAM p (a INT) WITH (KAFKA_TOPIC='p', VALUE_FORMAT='AVRO', PARTITIONS=1);")
        world.run("INSERT INTO p VALUES (1);")
        registry.requests.clear()
        world.run("INSERT INTO p VALUES (2), (3), (4);")
        assert (len(registry.requests), len(world.sent)) == (1, 4)


def test_returning_tells_what_the_columns_became(world: World) -> None:
    entity = world.one(
        "INSERT INTO r (ROWTIME, k, a) VALUES (7, 'x', 1), (8, 'y', 2) RETURNING a, k AS id, d, ROWTIME;"
    )
    assert (entity["@type"], entity["count"]) == ("rows_inserted", 2)
    assert [column["name"] for column in entity["columns"]] == ["A", "ID", "D", "ROWTIME"]
    assert entity["rows"] == [[1, "x", None, 7], [2, "y", None, 8]]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("('x', 1), ('y', NULL)", "Failed to insert values into 'R'. Row 2: The row violates"),
        ("('x', NULL)", "Failed to insert values into 'R'. The row violates"),
        ("('x', 1), ('y', 'z')", "line 1:45"),
        ("('x', 1), ('y')", "line 1:39"),
    ],
)
def test_nothing_is_written_if_a_row_is_wrong(world: World, rows: str, message: str) -> None:
    assert message in world.refused(f"INSERT INTO r (k, a) VALUES {rows};").message
    assert world.sent == []


def test_a_time_that_is_wrong_names_its_row(world: World) -> None:
    error = world.refused("INSERT INTO r (ROWTIME, a) VALUES (1, 1), (-1, 2);")
    assert "'R'. Row 2: ROWTIME must be between" in error.message and world.sent == []


@pytest.mark.parametrize(
    ("config", "rows", "reason"),
    [
        ({"cleanup.policy": "compact"}, "(1, 'x', 1), (2, NULL, 2)", "Topic r is compacted"),
        ({"max.message.bytes": "120"}, f"(1, 'x', 1), (2, '{'x' * 50}', 2)", "The record has 89 bytes"),
        ({"message.timestamp.before.max.ms": "1000"}, "(NULL, 'x', 1), (2, 'y', 2)", "Its time, 2, is"),
    ],
)  # fmt: skip
def test_nothing_is_written_if_the_brokers_would_refuse_a_row(
    world: World, config: dict[str, str], rows: str, reason: str
) -> None:
    """They would write the others, unless these went to the same partition."""
    world.admin.configs["r"] = config
    refused = world.refused(f"INSERT INTO r (ROWTIME, k, a) VALUES {rows};").message
    assert refused.startswith(f"Failed to insert values into 'R'. Row 2: {reason}") and world.sent == []


def test_rows_that_fit_a_topic_only_in_several_batches_are_written(world: World) -> None:
    world.admin.configs["r"] = {"max.message.bytes": "1000"}
    many = ", ".join(f"('{n}', {n})" for n in range(100))
    world.run(f"INSERT INTO r (k, a) VALUES {many};")
    assert [key for _, key, _ in world.sent] == [str(n).encode() for n in range(100)]
    assert len(world.batches) > 5


def test_a_transaction_has_no_record_of_the_first_millisecond(world: World) -> None:
    properties = {"processing.guarantee": "exactly_once_v2"}
    error = world.refused("INSERT INTO r (ROWTIME, a) VALUES (0, 1), (1, 2);", **properties)
    assert "INSERT each of them alone" in error.message
    assert world.run("INSERT INTO r (ROWTIME, a) VALUES (0, 1);", **properties) == []


@pytest.mark.parametrize("refusal", ["KAFKA_REFUSED", "TOPIC_UNKNOWN"])
def test_rows_are_written_to_a_topic_whose_configuration_is_not_known(world: World, refusal: str) -> None:
    """The server may lack the right to see it, or the broker that was asked does not know a new topic yet."""

    def config(topic: str) -> dict[str, str]:
        raise KsqlError(refusal, action="describe it", reason="no", topic=topic)

    world.admin.config = config  # type: ignore[method-assign]
    world.run("INSERT INTO r (k, a) VALUES ('x', 1), ('y', 2);")
    assert len(world.sent) == 2
