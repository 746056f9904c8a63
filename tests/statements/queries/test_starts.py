"""START = offsets: a query without state begins exactly where another one has ended."""

from __future__ import annotations

import pytest

from tests.statements.world import World

CREATE = "CREATE STREAM x WITH (START = '{}') AS SELECT * FROM s WHERE v > 1 EMIT CHANGES;"
OFFSETS = "s 0:5,1:7,2:0"


@pytest.fixture(autouse=True)
def records(world: World) -> None:
    world.admin.ends |= {("s", 0): 10, ("s", 1): 7, ("s", 2): 3}


def test_a_query_begins_at_offsets(world: World) -> None:
    world.run(CREATE.format(OFFSETS))
    world.run(f"INSERT INTO x WITH (START = '{OFFSETS}') SELECT * FROM s WHERE v < 0 EMIT CHANGES;")
    wanted = {"s": {"0": 5, "1": 7, "2": 0}}
    assert [query.starts for query in world.queries.all()] == [wanted, wanted]
    world.restart()
    assert [query.starts for query in world.queries.all()] == [wanted, wanted]


@pytest.mark.parametrize(
    ("start", "reason"),
    [
        ("s 0:5,1:7", "partition 2 of topic s is missing"),
        ("s 0:11,1:7,2:0", "partition 0 of topic s has offsets from 0 to 10, not 11"),
        ("s 0:5,1:7,2:0,3:0", "the query reads no partition 3 of a topic s"),
        ("s 0:5,1:7,2:0; t 0:1", "the query reads no partition 0 of a topic t"),
        ("s 0:5,0:6", "got 's 0:5,0:6'"),
        ("0:5", "got '0:5'"),
    ],
)
def test_offsets_that_are_refused(world: World, start: str, reason: str) -> None:
    error = world.refused(CREATE.format(start))
    assert error.condition == "PROPERTY_IN_WITH"
    assert reason in error.message


def test_a_query_that_keeps_state_needs_its_past(world: World) -> None:
    error = world.refused(
        f"CREATE TABLE x WITH (START = '{OFFSETS}') AS SELECT k, COUNT(*) AS n FROM s GROUP BY k;"
    )
    assert "START at offsets is for queries that keep no state" in error.message
    assert error.position is not None
    assert error.position.column == 22
