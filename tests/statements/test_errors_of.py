"""FROM ERRORS OF: which queries it takes."""

from __future__ import annotations

import pytest

from ksql_spark.engine.query_service import QueryService
from ksql_spark.engine.request import Request
from ksql_spark.errors import KsqlError
from ksql_spark.security.authorization import Rights
from ksql_spark.spark.processing_log import create_stream
from tests.statements.world import World

LOG = create_stream("KSQL_PROCESSING_LOG", "log")
A = "CREATE STREAM a AS SELECT k, v FROM s EMIT CHANGES;"


@pytest.fixture
def logged(world: World) -> World:
    world.admin.create_topic("log")
    world.run(LOG + A)
    return world


def test_an_unknown_query_is_refused_with_the_nearest(logged: World) -> None:
    (known,) = logged.ids()
    wrong = known.replace("CSAS", "CTAS")
    for text in (
        f"CREATE STREAM bad AS SELECT * FROM ERRORS OF {wrong};",
        f"EXPLAIN SELECT * FROM ERRORS OF {wrong} EMIT CHANGES;",
        f"INSERT INTO a SELECT step, 1 FROM (SELECT * FROM ERRORS OF {wrong}) e;",
    ):
        error = logged.refused(text)
        assert error.condition == "QUERY_UNKNOWN" and error.hint == f"Did you mean {known}?"
    with pytest.raises(KsqlError) as caught:
        QueryService(logged.services).query(Request(f"SELECT * FROM ERRORS OF {wrong};"))
    assert caught.value.hint == f"Did you mean {known}?" and caught.value.position is not None


def test_queries_that_may_not_be_seen_are_not_suggested(logged: World) -> None:
    (known,) = logged.ids()
    rights = Rights.of(["reader:csas*"])
    with pytest.raises(KsqlError) as caught:
        QueryService(logged.services).query(Request(f"SELECT * FROM ERRORS OF {known}0;", rights=rights))
    assert caught.value.condition == "QUERY_UNKNOWN"
    assert caught.value.hint == "SHOW QUERIES lists all queries."


def test_a_query_of_the_same_request(logged: World) -> None:
    logged.run(
        "CREATE STREAM b AS SELECT k, v FROM s EMIT CHANGES;"
        "CREATE STREAM bad AS SELECT * FROM ERRORS OF CSAS_B_4 EMIT CHANGES;"
    )


def test_a_query_that_has_ended(logged: World) -> None:
    (ended,) = logged.ids()
    logged.run("DROP STREAM a;")
    text = f"CREATE STREAM bad AS SELECT * FROM ERRORS OF {ended} EMIT CHANGES;"
    logged.run(text + "DROP STREAM bad;")
    logged.restart()
    logged.run(text)
