"""What a client's role lets it run (reference §7.8)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ksql_spark.authorization import Rights, Role
from ksql_spark.engine.query_service import QueryService
from ksql_spark.engine.request import Request
from ksql_spark.errors import KsqlError
from tests.statements.world import World


@pytest.mark.parametrize(
    "text",
    [
        "CREATE STREAM c AS SELECT * FROM s;",
        "INSERT INTO s (k) VALUES ('a');",
        "SHOW STREAMS; DROP STREAM s;",
        "DROP STREAM s DELETE TOPIC;",
        "TERMINATE ALL;",
        "CREATE TYPE p AS INT;",
        "CREATE FUNCTION f (x INT) RETURNS INT LANGUAGE PYTHON AS $$return x$$;",
    ],
)
def test_readers_change_nothing(make_world: Callable[..., World], text: str) -> None:
    world = make_world()
    before = list(world.log.records)
    with pytest.raises(KsqlError) as caught:
        world.statements.execute(Request(text, rights=Rights(Role.READER)))
    assert caught.value.code == 40300
    assert world.log.records == before and world.sent == []
    assert world.services.published.find("S") is not None


def test_readers_see_what_there_is(make_world: Callable[..., World]) -> None:
    world = make_world()
    text = (
        "SET 'auto.offset.reset' = 'latest'; SHOW STREAMS; DESCRIBE s; EXPLAIN SELECT * FROM s EMIT CHANGES;"
    )
    assert len(world.statements.execute(Request(text, rights=Rights(Role.READER)))) == 3


def test_only_admins_change_the_server(make_world: Callable[..., World]) -> None:
    world = make_world()
    text = "ALTER SYSTEM 'ksql.query.error.max.queue.size' = '5';"
    with pytest.raises(KsqlError) as caught:
        world.statements.execute(Request(text, rights=Rights(Role.DEVELOPER)))
    assert caught.value.code == 40300 and "needs the role admin" in caught.value.message


def test_developers_print_topics_and_readers_do_not(make_world: Callable[..., World]) -> None:
    queries = QueryService(make_world().services)
    with pytest.raises(KsqlError) as caught:
        queries.query(Request("PRINT nowhere;", rights=Rights(Role.READER)))
    assert caught.value.condition == "FORBIDDEN"
    with pytest.raises(KsqlError) as caught:
        queries.query(Request("PRINT nowhere;", rights=Rights(Role.DEVELOPER)))
    assert caught.value.condition == "TOPIC_UNKNOWN"
