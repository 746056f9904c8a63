"""FROM ERRORS OF, FROM LATE ROWS OF and REPLAY ERRORS: which queries they take."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import SimpleNamespace

import pytest

from ksql_spark.authorization import Rights
from ksql_spark.config import Config
from ksql_spark.engine.bootstrap.lifecycle import Lifecycle
from ksql_spark.engine.bootstrap.processing_log import create_log_stream
from ksql_spark.engine.query_service import QueryService
from ksql_spark.engine.request import Request
from ksql_spark.errors import KsqlError
from ksql_spark.runtime.queries.changes.replay import Replayed
from ksql_spark.runtime.queries.differences import Differences
from ksql_spark.runtime.queries.figures import QueryFigures
from ksql_spark.spark.processing_log import create_stream
from ksql_spark.spark.tracing import Position
from ksql_spark.statements.rows import failed_records, reprocessing
from ksql_spark.statements.rows.recomputing import END_MS, NOTHING, Computed
from tests.statements.world import World

LOG = create_stream("KSQL_PROCESSING_LOG", "KAFKA_TOPIC = 'log', VALUE_FORMAT = 'JSON'")
A = "CREATE STREAM a AS SELECT k, v FROM s EMIT CHANGES;"


@pytest.fixture
def logged(world: World, monkeypatch: pytest.MonkeyPatch) -> World:
    world.admin.create_topic("log")
    monkeypatch.setattr(QueryFigures, "log_topic", "log")
    world.run(LOG + A)
    return world


def test_an_unknown_query_is_refused_with_the_nearest(logged: World) -> None:
    (known,) = logged.ids()
    wrong = known.replace("CSAS", "CTAS")
    for text in (
        f"CREATE STREAM bad AS SELECT * FROM ERRORS OF {wrong};",
        f"EXPLAIN SELECT * FROM ERRORS OF {wrong} EMIT CHANGES;",
        f"INSERT INTO a SELECT step, 1 FROM (SELECT * FROM ERRORS OF {wrong}) e;",
        f"CREATE STREAM bad AS SELECT * FROM LATE ROWS OF {wrong};",
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


def test_late_rows_need_a_stream_that_shows_them(world: World) -> None:
    world.admin.create_topic("log")
    world.run(A)
    (known,) = world.ids()
    text = f"CREATE STREAM late AS SELECT * FROM LATE ROWS OF {known} EMIT CHANGES;"
    error = world.refused(text)
    assert (error.condition, error.position is not None) == ("ERRORS_NOT_KEPT", True)
    world.run(LOG.replace("late STRUCT", "other STRUCT"))
    error = world.refused(text)
    assert "does not show late rows" in error.message and "DROP it" in str(error.hint)
    world.run("DROP STREAM KSQL_PROCESSING_LOG;" + LOG + text)
    columns = [c.name for c in world.services.metastore.require("LATE").schema.columns]
    assert columns[:7] == ["TIME", "STEP", "TOPIC", "PARTITION", "OFFSET", "KEY", "VALUE"]


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


BACKFILL = (
    "CREATE OR REPLACE TABLE O WITH (EVOLVE = 'backfill') AS the same SELECT computes all rows of the "
    "records that are there, and writes those that differ."
)
ANOTHER = (
    "CREATE STREAM … WITH (START = 'earliest') AS the same SELECT computes all rows of the records that are "
    "there, as another stream."
)
#: kind of query -> its SELECT, why its records may not go through it again, and what else computes its rows
REFUSED = {
    "groups": ("k, COUNT(*) AS n FROM s GROUP BY k", "Stream Aggregate keeps state", BACKFILL),
    "groups of groups": (
        "n, COUNT(*) AS m FROM (SELECT k, COUNT(*) AS n FROM s GROUP BY k) GROUP BY n",
        "Stream Aggregate keeps state",
        BACKFILL,
    ),
    "sliding windows": (
        "k, COUNT(*) AS n FROM s WINDOW SLIDING (SIZE 1 HOUR) GROUP BY k",
        "Stream Windowed Aggregate keeps state",
        BACKFILL,
    ),
    "cumulative windows": (
        "k, COUNT(*) AS n FROM s WINDOW CUMULATIVE (SIZE 10 SECONDS, STEP 5 SECONDS) GROUP BY k",
        "Stream Windowed Aggregate keeps state",
        BACKFILL,
    ),
    "windows of weeks": (
        "k, COUNT(*) AS n FROM s WINDOW TUMBLING (SIZE 1 WEEK) GROUP BY k",
        "Stream Windowed Aggregate keeps state",
        BACKFILL,
    ),
    "the best rows": (
        "k, ROW_NUMBER() OVER (PARTITION BY k ORDER BY v DESC) AS place, v FROM s QUALIFY place <= 2",
        "Stream Top N keeps state",
        BACKFILL,
    ),
    "a table": ("* FROM t", "it reads a table", BACKFILL),
    "a join of tables": ("a.k AS k, b.v AS v FROM t a JOIN t b ON a.k = b.k", "keeps state", BACKFILL),
    "a sum over rows": (
        "k, SUM(v) OVER (PARTITION BY k ORDER BY ROWTIME) AS n FROM s",
        "Stream Over keeps state",
        ANOTHER,
    ),
    "a pattern": (
        "* FROM s MATCH_RECOGNIZE (PARTITION BY k ORDER BY ROWTIME MEASURES LAST(v) AS most PATTERN (x up) "
        "WITHIN 1 HOUR DEFINE up AS v > PREV(v))",
        "Stream Match Recognize keeps state",
        ANOTHER,
    ),
    "first rows": (
        "DISTINCT ON (v) k, v FROM s WITHIN 5 SECONDS",
        "Stream Deduplicate keeps state",
        ANOTHER,
    ),
    "a join with a table": (
        "s.k AS k, t.v AS v FROM s JOIN t ON s.k = t.k",
        "Stream Table Join keeps state",
        ANOTHER,
    ),
    "a union": ("k, v FROM s UNION ALL SELECT k, v + 1 FROM s", "after UNION ALL", ANOTHER),
    "a stream with itself": (
        "a.k AS k, b.v AS v FROM s a JOIN s b WITHIN 1 HOUR ON a.k = b.k",
        "cannot tell the sides of a join of topic s with itself",
        ANOTHER,
    ),
    "a sum over a join": (
        "s.k AS k, COUNT(*) OVER (PARTITION BY s.k ORDER BY ROWTIME) AS n FROM s JOIN r WITHIN 1 HOUR "
        "ON s.k = r.k",
        "this query has other steps, too",
        ANOTHER,
    ),
}


@pytest.mark.parametrize(("select", "why", "way"), REFUSED.values(), ids=REFUSED)
def test_a_query_whose_records_may_not_go_through_it_again(
    logged: World, select: str, why: str, way: str
) -> None:
    logged.run(
        "CREATE STREAM r (k STRING KEY, x INT) WITH (KAFKA_TOPIC='r', VALUE_FORMAT='JSON', PARTITIONS=3);"
    )
    before = set(logged.ids())
    kind = "STREAM" if way is ANOTHER else "TABLE"
    logged.run(f"CREATE {kind} o WITH (KEY_FORMAT = 'JSON') AS SELECT {select} EMIT CHANGES;")
    (made,) = set(logged.ids()) - before
    error = logged.refused(f"REPLAY ERRORS OF {made};")
    assert error.condition == "INVALID_STATEMENT" and why in error.message
    assert error.hint == way


def test_what_else_replay_refuses(logged: World) -> None:
    (known,) = logged.ids()
    assert logged.refused(f"REPLAY ERRORS OF {known}0;").hint == f"Did you mean {known}?"
    error = logged.refused(f"REPLAY ERRORS OF {known} WHERE stag = 'PROCESSING';")
    assert error.condition == "COLUMN_UNKNOWN" and error.position is not None
    assert error.position.column == len(f"REPLAY ERRORS OF {known} WHERE ") + 1
    logged.run("DROP STREAM a;")
    assert "has ended" in logged.refused(f"REPLAY ERRORS OF {known};").message
    logged.run("DROP STREAM KSQL_PROCESSING_LOG;" + A)
    (known,) = logged.ids()
    assert logged.refused(f"REPLAY ERRORS OF {known};").condition == "ERRORS_NOT_KEPT"
    old = LOG.replace(", replay INT", "").replace("input STRUCT", "other STRUCT")
    logged.run(old)
    assert "which records were replayed" in logged.refused(f"REPLAY ERRORS OF {known};").message


def test_who_may_replay(logged: World) -> None:
    (known,) = logged.ids()
    text = f"REPLAY ERRORS OF {known};"
    for given in (["reader:*", "developer:s"], ["developer:a"], ["reader:*"]):
        with pytest.raises(KsqlError) as caught:
            logged.statements.execute(Request(text, rights=Rights.of(given)))
        assert caught.value.condition == "FORBIDDEN"


def test_the_answer_names_what_is_gone(logged: World, monkeypatch: pytest.MonkeyPatch) -> None:
    (known,) = logged.ids()
    rows = [["s", 0, 1, 0, 0, 2], ["s", 1, 3, 1, 0, 1], ["other", 1, 3, 0, 0, 4], ["s", None, None, 0, 0, 3]]
    found: dict[Position, int] = {}

    def replay(find: Callable[[], dict[Position, int]]) -> Replayed:
        found.update(find())
        return Replayed(1200, 1, [(0, 1), (0, 2), (0, 4), (1, 9)])

    left = iter([[SimpleNamespace(values=row) for row in rows]])
    result = SimpleNamespace(read=lambda timeout_s: next(left, None), close=lambda: None)
    monkeypatch.setattr(failed_records, "Replay", lambda *_: SimpleNamespace(run=replay))
    monkeypatch.setattr("ksql_spark.runtime.reading.batch.run", lambda *_: result)
    local = SimpleNamespace(sparkContext=SimpleNamespace(master="local[4]"))
    monkeypatch.setattr(logged.services.spark, "session", lambda: local)
    answer = logged.one(f"REPLAY ERRORS OF {known} WHERE stage = 'PROCESSING';")
    assert found == {(0, 1): 0, (1, 3): 1}
    assert answer["message"] == (
        "Replayed 1,200 records; 1 failed again; 4 are gone (s-0: 1-2, 4; s-1: 9). "
        "7 errors do not name their record, and were left alone."
    )
    assert (answer["@type"], answer["goneRecords"]) == ("errors_replayed", ["s-0: 1-2, 4", "s-1: 9"])


def test_rows_of_failed_records_in_windows_are_computed_again(
    logged: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    logged.run("CREATE TABLE w AS SELECT k, COUNT(*) AS n FROM s WINDOW SESSION (1 HOUR) GROUP BY k;")
    (known,) = (each for each in logged.ids() if each.startswith("CTAS"))
    rows = [["s", 0, 1, 0, 0, 1], ["s", 1, 3, 2, 0, 2], ["other", 1, 3, 0, 0, 1], ["s", None, None, 0, 0, 1]]
    asked: list[object] = []
    written: list[object] = []
    marked: list[object] = []

    class Tried:
        passed = {"s": {(1, 3): None}}  # noqa: RUF012
        again, gone = 1, 0

        def __init__(self, query: object, alone: object, environment: object, failed: object) -> None:
            asked.append(failed)

        def marks(self, replayed: list[object]) -> list[str]:
            marked.extend(replayed)
            return ["mark"]

    def compute(query: object, recomputation: object, span: object, places: object, *_: object) -> Computed:
        asked.extend((span, places))
        return NOTHING

    left = iter([[SimpleNamespace(values=row) for row in rows]])
    result = SimpleNamespace(read=lambda timeout_s: next(left, None), close=lambda: None)
    monkeypatch.setattr("ksql_spark.runtime.reading.batch.run", lambda *_: result)
    local = SimpleNamespace(sparkContext=SimpleNamespace(master="local[4]"))
    monkeypatch.setattr(logged.services.spark, "session", lambda: local)
    monkeypatch.setattr(reprocessing, "Trial", Tried)

    def write(selected: object, new: object, transactional_id: object, also: object) -> Differences:
        written.append(also)
        return Differences(0, 0)

    there = SimpleNamespace(processed=dict, rows=dict, kept_from_ms=dict, write=write)
    monkeypatch.setattr(reprocessing, "Corrections", lambda *_: there)
    monkeypatch.setattr(reprocessing, "compute", compute)
    monkeypatch.setattr(reprocessing, "whole_from_ms", lambda *_: 0)
    answer = logged.one(f"REPLAY ERRORS OF {known} WHERE stage = 'PROCESSING';")
    places = {(0, 1): 0, (1, 3): 2}
    assert asked == [{"s": places}, (0, END_MS), places]
    assert (marked, written) == ([("s", (1, 3))], [["mark"]])
    assert (answer["@type"], answer["message"]) == (
        "rows_reprocessed",
        "0 windows of W computed again: 0 rows changed, 0 removed. "
        "2 entries left alone: they do not name their record. 1 record failed again.",
    )


def test_a_stream_over_a_topic_that_is_missing(world: World, caplog: pytest.LogCaptureFixture) -> None:
    config = Config({"ksql.logging.processing.stream.auto.create": True})
    create_log_stream(config, world.services, world.statements, Lifecycle(threading.RLock()))
    assert caplog.messages == [
        "the stream KSQL_PROCESSING_LOG over the processing log was not created or altered: there is no "
        "topic default_ksql_processing_log. Start with ksql.logging.processing.topic.auto.create=true."
    ]


def test_a_stream_of_an_earlier_release_gets_the_columns_that_were_added(world: World) -> None:
    world.admin.create_topic("default_ksql_processing_log")
    config = Config({"ksql.logging.processing.stream.auto.create": True})
    added = LOG.index(",\n  input STRUCT"), LOG.index(") WITH")
    old = (LOG[: added[0]] + LOG[added[1] :]).replace("'log'", "'default_ksql_processing_log'")
    world.run(old)
    for _ in range(2):
        create_log_stream(config, world.services, world.statements, Lifecycle(threading.RLock()))
        columns = [c.name for c in world.services.metastore.require("KSQL_PROCESSING_LOG").schema.columns]
        assert columns == ["LOGGER", "LEVEL", "TIME", "MESSAGE", "INPUT", "REPLAY", "LATE"]
    assert len(world.log.records) == 4
