"""DROP … CASCADE, and EXPLAIN DROP, which tells what falls."""

from __future__ import annotations

import pytest

from ksql_spark.authorization import Rights
from ksql_spark.engine.request import Request
from ksql_spark.errors import KsqlError
from tests.statements.world import World

CHAIN = """
CREATE STREAM a AS SELECT k, v FROM s EMIT CHANGES;
CREATE STREAM b AS SELECT k, v FROM a EMIT CHANGES;
CREATE TABLE c AS SELECT k, COUNT(*) AS n FROM b GROUP BY k EMIT CHANGES;
CREATE STREAM other AS SELECT k, v FROM s EMIT CHANGES;
INSERT INTO other WITH (QUERY_ID='more') SELECT k, v FROM a EMIT CHANGES;
"""


def plan(world: World, text: str) -> list[str]:
    described = world.one(f"EXPLAIN {text}")["queryDescription"]
    return str(described["executionPlan"]).splitlines()


def test_all_that_reads_it_falls_in_one_statement(world: World) -> None:
    world.run(CHAIN)
    world.run("DROP STREAM a DELETE TOPIC CASCADE;")
    assert world.ids() == ["CSAS_OTHER_5"]
    assert {"A", "B", "C"}.isdisjoint(source.name for source in world.services.metastore.sources())
    assert {"A", "B", "C"}.isdisjoint(world.admin.topics()) and "OTHER" in world.admin.topics()
    world.restart()
    assert world.ids() == ["CSAS_OTHER_5"]
    world.run("CREATE STREAM a AS SELECT k, v FROM s EMIT CHANGES; DROP STREAM a CASCADE;")
    assert "A" in world.admin.topics()


def test_the_message_names_what_fell(world: World) -> None:
    world.run(CHAIN)
    assert world.message("DROP STREAM b CASCADE;") == "Source `B` (topic: B) was dropped, and before it: `C`."


def test_the_wrong_kind_is_told_the_right_statement(world: World) -> None:
    world.run(CHAIN)
    with pytest.raises(KsqlError, match=r"but statement was DROP TABLE\. Write DROP STREAM A\."):
        world.run("DROP TABLE a;")


def test_what_would_fall_is_told_before(world: World) -> None:
    world.run(CHAIN)
    before = world.ids()
    assert plan(world, "DROP STREAM b DELETE TOPIC;") == [
        "Refused, because others use it. With CASCADE it would remove, in this order:",
        "  query CTAS_C_4, with its state",
        "  query CSAS_B_3, with its state",
        "  table C; its topic C is deleted with all records",
        "  stream B; its topic B is deleted with all records",
    ]
    assert plan(world, "DROP STREAM a CASCADE;")[:4] == [
        "Removes, in this order:",
        "  query MORE, with its state",
        "  query CTAS_C_4, with its state",
        "  query CSAS_B_3, with its state",
    ]
    assert plan(world, "DROP TABLE c;")[0] == "Removes, in this order:"
    assert world.ids() == before
    assert world.refused("EXPLAIN DROP STREAM nothing;").condition == "SOURCE_UNKNOWN"


def test_without_cascade_it_is_refused_as_ever(world: World) -> None:
    world.run(CHAIN)
    assert "read from this source: [B]" in world.refused("DROP STREAM a;").message


@pytest.mark.parametrize("given", ["developer:a", "developer:other", "reader:*"])
def test_who_may_drop_what_falls(world: World, given: str) -> None:
    world.run(CHAIN)
    with pytest.raises(KsqlError) as caught:
        world.statements.execute(Request("DROP STREAM a CASCADE;", rights=Rights.of([given])))
    assert caught.value.condition == "FORBIDDEN"
    shown = world.answers(Request("EXPLAIN DROP STREAM a CASCADE;", rights=Rights.of(["reader:a"])))
    (entity,) = shown
    assert "more, which you may not see" in entity["queryDescription"]["executionPlan"]
