"""Statements that are validated without an effect (POST /ksql/validate)."""

from __future__ import annotations

import pytest

from ksql_spark.engine.request import Request
from ksql_spark.errors import KsqlError
from tests.statements.world import World

STREAM = "CREATE STREAM f (k INT KEY, v INT) WITH (KAFKA_TOPIC = 'f', VALUE_FORMAT = 'JSON', PARTITIONS = 1);"
SCRIPT = f"""
SET 'auto.offset.reset' = 'earliest';
DEFINE name = 'c';
{STREAM}
INSERT INTO f (k, v) VALUES (1, 2);
CREATE STREAM ${{name}} AS SELECT k, v + 1 AS w FROM f EMIT CHANGES;
EXPLAIN SELECT w FROM c EMIT CHANGES;
DROP STREAM c;
"""


def state(world: World) -> tuple[object, ...]:
    sources = [source.name for source in world.services.metastore.sources()]
    return world.log.end(), world.ids(), list(world.sent), world.admin.topics(), sources


def test_valid_statements_have_no_effect(world: World) -> None:
    before = state(world)
    assert world.statements.validate(Request(SCRIPT)) == 7
    assert state(world) == before
    # they run as they are, afterwards
    world.run(SCRIPT.replace("EXPLAIN SELECT w FROM c EMIT CHANGES;", ""))


def test_the_first_invalid_statement_is_the_error(world: World) -> None:
    with pytest.raises(KsqlError, match="column 'X' cannot be resolved") as caught:
        world.statements.validate(Request(f"{STREAM} EXPLAIN\nSELECT x FROM f EMIT CHANGES; DROP STREAM y;"))
    assert "line 1:8" in caught.value.message  # as in the SELECT alone
    with pytest.raises(KsqlError, match="Syntax Error"):
        world.statements.validate(Request(f"{STREAM} SELEC 1;"))
    assert "f" not in world.admin.topics()


def test_statements_fit_to_what_is_there(world: World) -> None:
    world.run(STREAM)
    with pytest.raises(KsqlError, match="already exists"):
        world.statements.validate(Request(STREAM))
    assert world.statements.validate(Request("DROP STREAM f;")) == 1
    assert world.services.metastore.find("F") is not None
