"""START: where a new query begins to read (beyond ksqlDB)."""

from __future__ import annotations

import pytest

from tests.statements.world import World

SELECT = "AS SELECT k, v FROM s EMIT CHANGES;"


@pytest.mark.parametrize(
    "start, offset",
    [("'earliest'", 0), ("'latest'", 7), ("5", 5), ("'1970-01-01T00:00:00.003'", 3), ("9", 7)],
)
@pytest.mark.parametrize("reset", ["earliest", "latest"])
def test_start_is_stronger_than_auto_offset_reset(world: World, start: str, offset: int, reset: str) -> None:
    world.admin.ends[("s", 1)] = 7
    world.run(
        f"CREATE STREAM a WITH (START = {start}) {SELECT}"
        f"INSERT INTO a WITH (START = {start}) SELECT k, v FROM s EMIT CHANGES;",
        **{"auto.offset.reset": reset},
    )
    assert [query.starts["s"]["1"] for query in world.queries.all()] == [offset, offset]


def test_start_is_fixed_by_its_statement(world: World) -> None:
    world.admin.ends[("s", 1)] = 7
    world.run(f"CREATE STREAM a WITH (START = 'latest') {SELECT}")
    world.admin.ends[("s", 1)] = 9
    world.restart()
    (query,) = world.queries.all()
    assert query.starts["s"]["1"] == 7


def test_a_query_that_goes_on_has_no_start(world: World) -> None:
    world.run(f"CREATE STREAM a {SELECT}")
    error = world.refused(f"CREATE OR REPLACE STREAM a WITH (START = 'earliest') {SELECT}")
    assert "continues from its current position" in error.message
    world.run(f"CREATE OR REPLACE STREAM b WITH (START = 'earliest') {SELECT}")
