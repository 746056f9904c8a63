"""Topics that are deleted, made again or shortened under a query."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ksql_spark.errors import KsqlError
from ksql_spark.runtime.errors import data_loss, partitions_changed
from ksql_spark.runtime.queries.managed import ManagedQuery
from ksql_spark.runtime.queries.topics import QueryTopics
from ksql_spark.runtime.queries.watching import watcher as query_watcher
from tests.statements.world import FakeSparkQuery, World
from tests.waiting import until

TASK_OPTIONS = Path("ksql_spark/jvm/org/ksqlspark/kafka/TaskOptions.java")
FAIL = {"ksql.on.data.loss": "fail"}


class FromJava(Exception):
    """As PySpark gives what the JVM threw."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._desc, self._stackTrace = text, "at org.apache.spark"


@pytest.fixture
def scene(make_world: Callable[..., World], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Makes a world with a query that has read its source up to some offset."""
    monkeypatch.setattr(query_watcher, "WATCH_EVERY_S", 0.01)
    monkeypatch.setattr(query_watcher, "LOOK_AT_TOPICS_EVERY_S", 0.02)

    def make(text: str = "CREATE STREAM a AS SELECT * FROM s EMIT CHANGES;", **properties: Any) -> Any:
        world = make_world(**{"ksql.query.retry.backoff.initial.ms": 1})
        world.run(text, **properties)
        (query,) = world.queries.all()
        world.commit(query.id, 0, s={"0": 7, "1": 8, "2": 9})
        return world, query

    return make


def why(world: World, query: ManagedQuery) -> str:
    """What SHOW QUERIES says of a query in ERROR."""
    (row,) = world.one("SHOW QUERIES;")["queries"]
    assert (row["id"], row["state"]) == (query.id, "ERROR")
    return str(row["error"])


def make_again(world: World, topic: str, partitions: int = 3) -> None:
    world.admin.delete_topics([topic])
    world.admin.create_topic(topic, partitions)


def test_a_source_that_is_deleted_and_comes_back(scene: Callable[..., Any]) -> None:
    world, query = scene()
    first = query.spark[0]
    world.admin.delete_topics(["s"])
    until(lambda: query.state == "ERROR")
    assert not first.is_active
    assert why(world, query).startswith("Topic s, which the query reads, no longer exists.")
    assert query.errors[-1].type == "USER"
    world.admin.create_topic("s", 3)
    until(lambda: query.state == "RUNNING")
    assert world.queries.checkpoints.committed_offsets(query) == {"s": {0: 0, 1: 0, 2: 0}}
    assert query.errors[-1].message.startswith(
        "Records are lost; the query continues. Topic s was deleted and recreated"
    )


def test_a_source_that_is_made_again_at_once(scene: Callable[..., Any]) -> None:
    world, query = scene()
    first = query.spark[0]
    make_again(world, "s")
    until(lambda: query.spark and query.spark[0] is not first)
    assert not first.is_active
    assert world.queries.checkpoints.committed_offsets(query) == {"s": {0: 0, 1: 0, 2: 0}}


def test_a_source_that_is_made_again_while_no_server_runs(scene: Callable[..., Any]) -> None:
    world, query = scene()
    world.close()
    make_again(world, "s")
    world.restart()
    (query,) = world.queries.all()
    assert query.state == "RUNNING"
    assert world.queries.checkpoints.committed_offsets(query) == {"s": {0: 0, 1: 0, 2: 0}}


def test_a_query_that_must_not_lose_records_waits_for_resume(scene: Callable[..., Any]) -> None:
    world, query = scene(**FAIL)
    make_again(world, "s")
    until(lambda: query.state == "ERROR")
    assert "Topic s was deleted and recreated." in why(world, query)
    assert "RESUME" in why(world, query)
    assert world.queries.checkpoints.committed_offsets(query) == {"s": {0: 7, 1: 8, 2: 9}}
    world.run(f"RESUME {query.id};")
    assert query.state == "RUNNING"
    assert world.queries.checkpoints.committed_offsets(query) == {"s": {0: 0, 1: 0, 2: 0}}
    make_again(world, "s")
    until(lambda: query.state == "ERROR")  # what was accepted once is not accepted for ever


@pytest.mark.parametrize("properties, goes_on", [({}, True), (FAIL, False)])
def test_a_sink_that_is_deleted(properties: dict[str, str], goes_on: bool, scene: Callable[..., Any]) -> None:
    text = "CREATE TABLE u WITH (PARTITIONS = 2) AS SELECT k, COUNT(*) AS n FROM s GROUP BY k EMIT CHANGES;"
    world, query = scene(text, **properties)
    config = {k: v for k, v in world.admin.configs["U"].items() if k == "cleanup.policy"}
    world.admin.delete_topics(["U"])
    if goes_on:
        until(lambda: "U" in world.admin.topics() and query.state == "RUNNING")
        assert world.admin.topics()["U"].partitions == 2
        assert world.admin.configs["U"] == config and config
        assert world.queries.checkpoints.committed_offsets(query) == {"s": {0: 7, 1: 8, 2: 9}}
    else:
        until(lambda: query.state == "ERROR")
        assert "topic U was deleted" in why(world, query)
        assert "U" not in world.admin.topics()
        world.run(f"RESUME {query.id};")
        assert "U" in world.admin.topics()


def test_an_internal_topic_that_is_deleted(scene: Callable[..., Any]) -> None:
    world, query = scene(
        "CREATE TABLE u AS SELECT a.v AS v, COUNT(*) AS n FROM s a JOIN t b ON a.k = b.k "
        "WINDOW TUMBLING (SIZE 1 HOUR) GROUP BY a.v EMIT FINAL;"
    )
    (internal,) = (stage.sink.topic for stage in query.plan.inner)
    known = world.admin.ids[internal]
    first = query.spark[0]
    world.admin.delete_topics([internal])
    until(lambda: internal in world.admin.topics() and query.spark and query.spark[0] is not first)
    assert world.admin.ids[internal] != known
    assert internal in query.errors[-1].message


def test_a_topic_that_is_missing_once_is_looked_at_again(scene: Callable[..., Any]) -> None:
    world, query = scene()
    first, asked = query.spark[0], []
    identities = world.admin.identities

    def once(names: Any) -> Any:
        asked.append(1)
        return {} if len(asked) == 1 else identities(names)

    world.admin.identities = once
    until(lambda: len(asked) > 3)
    assert query.spark[0] is first and query.state == "RUNNING"


def test_a_topic_that_has_lost_its_end(scene: Callable[..., Any]) -> None:
    world, query = scene()
    world.admin.ends |= {("s", 0): 3, ("s", 1): 8, ("s", 2): 12}
    spark = query.spark[0]
    assert isinstance(spark, FakeSparkQuery)
    spark.is_active = False
    until(lambda: query.spark and query.spark[0] is not spark)
    assert world.queries.checkpoints.committed_offsets(query) == {"s": {0: 3, 1: 8, 2: 9}}


def test_a_topic_that_has_lost_its_end_before_the_first_commit(scene: Callable[..., Any]) -> None:
    """What comes next would be skipped up to where the query was to begin."""
    world, query = scene()
    world.run("DROP STREAM a;")
    world.admin.ends |= {("s", 0): 7}
    world.run("CREATE STREAM a AS SELECT * FROM s EMIT CHANGES;")
    (query,) = world.queries.all()
    world.admin.ends |= {("s", 0): 3}
    spark = query.spark[0]
    spark.is_active = False
    until(lambda: query.spark and query.spark[0] is not spark)
    assert world.queries.checkpoints.committed_offsets(query) == {"s": {0: 3, 1: 0, 2: 0}}
    assert "Topic s has lost its last records" in query.errors[-1].message


def test_what_a_reader_says_of_a_loss() -> None:
    said = "5 records of topic s, partition 0, from offset 3 on, were deleted before they were read."
    trace = f"Job aborted: java.lang.IllegalStateException: [KSQL_DATA_LOST] {said}\n at org.ksqlspark.X"
    assert data_loss(FromJava(trace)) == said
    assert data_loss(FromJava("java.io.IOException: no")) is None
    assert data_loss(None) is None


def test_a_query_that_must_not_lose_records_stops_for_a_reader(scene: Callable[..., Any]) -> None:
    world, query = scene(**FAIL)
    spark = query.spark[0]
    spark.exception = lambda: FromJava("[KSQL_DATA_LOST] 5 records were deleted.")
    spark.is_active = False
    until(lambda: query.state == "ERROR")
    assert "5 records were deleted." in why(world, query)
    assert query.retries.is_halted


def test_moved_offsets_are_read_by_spark_as_before(scene: Callable[..., Any]) -> None:
    world, query = scene()
    folder = world.checkpoint(query.id) / "0" / "offsets"
    (folder / ".0.crc").write_text("x", encoding="utf-8")
    (folder / "1").write_text("v1\n{}\n" + json.dumps({"s": {"0": 9}}), encoding="utf-8")
    world.close()
    make_again(world, "s")
    world.restart()
    assert sorted(path.name for path in folder.iterdir()) == ["0"]
    assert (folder / "0").read_text(encoding="utf-8").splitlines() == [
        "v1", "{}", json.dumps({"s": {"0": 0, "1": 0, "2": 0}}),
    ]  # fmt: skip


def test_topics_are_watched_on_after_their_notes_could_not_be_read(
    scene: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    world, query = scene()
    attempts = []

    def read(_: QueryTopics) -> Any:
        attempts.append(1)
        raise KsqlError("SPARK_RESTARTING")  # which reads them where the state is in an object store

    with monkeypatch.context() as patched:
        patched.setattr(QueryTopics, "_read", read)
        query.topics = None  # as after a start that has failed
        until(lambda: len(attempts) > 2)
    world.admin.delete_topics(["s"])
    until(lambda: query.state == "ERROR")
    assert world.queries.watcher.problem is None


def test_a_reader_that_finds_a_new_partition_first_says_what_to_do_too() -> None:
    said = "has got more partitions than the "
    assert said in TASK_OPTIONS.read_text(encoding="utf-8")
    thrown = FromJava(f"[KSQL_PARTITIONS_CHANGED] Topic s {said}3 by which this query was planned.")
    found = partitions_changed(thrown, "CTAS_U_1")
    assert found is not None and found.message.startswith("Topic s has more partitions; it had 3")
    assert "ksql-spark state rebuild CTAS_U_1" in found.message
    assert "'ksql.on.partitions.change' = 'rebuild'" in found.message


COUNTS = "CREATE TABLE u WITH (PARTITIONS = 2) AS SELECT k, COUNT(*) AS n FROM s GROUP BY k EMIT CHANGES;"
BY_VALUE = "CREATE TABLE u WITH (PARTITIONS = 2) AS SELECT v, COUNT(*) AS n FROM s GROUP BY v EMIT CHANGES;"


def test_a_source_with_more_partitions_stops_queries_that_rely_on_them(scene: Callable[..., Any]) -> None:
    world, query = scene(COUNTS)
    first = query.spark[0]
    world.admin.set_partitions("s", 4)
    until(lambda: query.state == "ERROR")
    assert not first.is_active
    assert why(world, query).startswith("Topic s has 4 partitions; it had 3")
    assert f"ksql-spark state rebuild {query.id}" in why(world, query)
    assert "ALTER SYSTEM 'ksql.on.partitions.change' = 'rebuild'" in why(world, query)
    assert query.errors[-1].type == "USER"
    world.statements.rebuild_state(query.id)
    until(lambda: query.state == "RUNNING")
    assert query.topics is not None and query.topics.scattered == ("s",)
    world.close()
    world.restart()
    (query,) = world.queries.all()
    assert query.state == "RUNNING" and query.topics.scattered == ("s",)


@pytest.mark.parametrize("text", ["CREATE STREAM a AS SELECT * FROM s EMIT CHANGES;", BY_VALUE])
def test_a_source_with_more_partitions_is_read_by_others(text: str, scene: Callable[..., Any]) -> None:
    world, query = scene(text)
    first, looked = query.spark[0], []
    identities = world.admin.identities

    def counted(names: Any) -> Any:
        looked.append(1)
        return identities(names)

    world.admin.identities = counted
    world.admin.set_partitions("s", 4)
    until(lambda: len(looked) > 3)
    assert query.state == "RUNNING" and query.spark[0] is first
    assert query.topics is not None and query.topics.scattered == ()
    world.close()
    world.restart()
    (query,) = world.queries.all()
    # from now on it takes a backlog in the order of times
    assert query.topics is not None and query.topics.scattered == ("s",)


def test_more_partitions_rebuild_the_state_where_that_is_allowed(scene: Callable[..., Any]) -> None:
    world, query = scene(COUNTS, **{"ksql.on.partitions.change": "rebuild"})
    first = query.spark[0]
    world.admin.set_partitions("s", 4)
    until(lambda: query.spark and query.spark[0] is not first)
    assert query.state == "RUNNING"
    assert query.errors[-1].message.startswith("The query recomputes its results. Topic s has 4 partitions")
    assert world.queries.checkpoints.committed_offsets(query) == {"s": {0: 0, 1: 0, 2: 0}}


def test_a_sink_with_more_partitions(scene: Callable[..., Any]) -> None:
    world, query = scene(COUNTS)
    world.admin.set_partitions("U", 5)
    until(lambda: query.state == "ERROR")
    assert why(world, query).startswith("The sink topic U has 5 partitions; it had 2.")
    world.admin.delete_topics(["U"])
    world.statements.rebuild_state(query.id)
    until(lambda: query.state == "RUNNING")
    assert world.admin.topics()["U"].partitions == 2
