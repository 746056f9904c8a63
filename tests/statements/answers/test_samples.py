"""What lies behind a stream or table: raw records, and schemas in a registry."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pytest

from ksql_spark.authorization import ALL_RIGHTS, Rights
from ksql_spark.engine import raw_records as module
from ksql_spark.engine.raw_records import MOST_BYTES, raw, raw_records
from ksql_spark.engine.source_schemas import source_schemas
from ksql_spark.errors import KsqlError
from ksql_spark.kafka.consumer import Record
from ksql_spark.kafka.schema_registry import ConfluentRegistry
from tests.registry_server import RegistryServer
from tests.statements.world import World


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, list[int]]]:
    """Partition and offsets that were read."""
    found: list[tuple[int, list[int]]] = []

    def read_at(_: str, topic: str, offsets: Mapping[int, Iterable[int]], settings: Any) -> list[Record]:
        found.extend((partition, list(wanted)) for partition, wanted in offsets.items())
        return [Record(topic, 1, 5, 1000, None, b"\xff\x00", (("h", b"x"),))]

    monkeypatch.setattr(module, "read_at", read_at)
    return found


def test_the_newest_records_or_those_from_an_offset_on(world: World, asked: list[Any]) -> None:
    world.admin.ends[("s", 1)] = 9
    found = raw_records(world.services, "s", 1, None, 4, ALL_RIGHTS)
    assert (found.partitions, found.first_offset, found.end_offset) == (3, 0, 9)
    (record,) = found.records
    assert record.key is None and record.value is not None and record.value.base64 == "/wA="
    raw_records(world.services, "s", 1, 7, 4, ALL_RIGHTS)
    raw_records(world.services, "s", 1, 9, 4, ALL_RIGHTS)
    raw_records(world.services, "s", 0, None, 4, ALL_RIGHTS)  # it is empty
    assert asked == [(1, [5, 6, 7, 8]), (1, [7, 8])]


def test_who_may_see_them(world: World, asked: list[Any]) -> None:
    commands = "_confluent-ksql-a_command_topic"
    for topic, rights in (("s", ["reader"]), ("s", ["developer:x"]), (commands, ["developer"])):
        with pytest.raises(KsqlError) as error:
            raw_records(world.services, topic, 0, None, 4, Rights.of(rights))
        assert error.value.condition == "FORBIDDEN"
    raw_records(world.services, "s", 0, None, 4, Rights.of(["developer:'s'"]))
    for topic, partition in (("s", 3), ("nowhere", 0)):
        with pytest.raises(KsqlError):
            raw_records(world.services, topic, partition, None, 4, ALL_RIGHTS)


def test_large_values_are_cut() -> None:
    value = raw(Record("t", 0, 0, 0, None, b"x" * (MOST_BYTES + 3))).value
    assert value is not None and value.size == MOST_BYTES + 3 and len(value.base64) * 3 // 4 <= MOST_BYTES + 2


def test_versions_of_schemas(world: World) -> None:
    with RegistryServer() as server:
        registry = ConfluentRegistry(server.url)
        assert registry.versions("s-value", 5) == []
        first, second = (server.add("s-value", f'{{"type": "{name}"}}') for name in ("int", "long"))
        assert [(number, found.id) for number, found in registry.versions("s-value", 5)] == [
            (2, second),
            (1, first),
        ]
        assert [number for number, _ in registry.versions("s-value", 1)] == [2]
        found = source_schemas(world.services.metastore.require("S"), registry)
        assert found.key is None and found.value is None  # JSON has no schema in the registry
