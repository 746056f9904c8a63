"""CREATE tells of state that grows although a clause could bound it."""

from __future__ import annotations

import pytest

from tests.statements.world import World


@pytest.mark.parametrize(
    ("select", "told"),
    [
        ("DISTINCT ON (v) k, v FROM s", "new value of V"),
        ("DISTINCT ON (v) k, v FROM s WITHIN 1 HOUR", None),
        ("k, v FROM s QUALIFY ROW_NUMBER() OVER (PARTITION BY v, k ORDER BY ROWTIME) = 1", "value of V, K"),
        ("k, v FROM s", None),
    ],
)
def test_de_duplication_without_within(world: World, select: str, told: str | None) -> None:
    answer = world.one(f"CREATE STREAM once AS SELECT {select};")
    assert answer["commandStatus"]["status"] == "SUCCESS"
    messages = [warning["message"] for warning in answer["warnings"]]
    assert len(messages) == (told is not None)
    assert all(told in message and "WITHIN after FROM bounds it" in message for message in messages)
