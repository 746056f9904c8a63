"""State that cannot be read, and what computes it anew."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ksql_spark.errors import KsqlError
from ksql_spark.runtime.errors import is_state_unreadable
from ksql_spark.runtime.queries.watching import watcher as query_watcher
from tests.statements.world import World
from tests.waiting import until


class FromJava(Exception):
    """As PySpark gives what the JVM threw."""

    def __init__(self, text: str, trace: str = "") -> None:
        super().__init__(text)
        self._desc, self._stackTrace = text, trace


OFFSETS = (
    "\tat org.apache.spark.sql.execution.streaming.checkpointing.OffsetSeqLog.deserialize(OffsetSeqLog.scala)"
)


@pytest.mark.parametrize(
    "text, trace, is_unreadable",
    [
        ("[CANNOT_LOAD_STATE_STORE.CANNOT_READ_STREAMING_STATE_FILE] x", "", True),
        ("Job aborted", "java.util.zip.ZipException: invalid entry CRC", True),
        ("Job aborted", "Caused by: org.rocksdb.RocksDBException: Corruption: block checksum mismatch", True),
        ("[CHECKPOINT_FILE_CHECKSUM_VERIFICATION_FAILED] x", "", True),
        ("Incomplete log file in the offset log", "", True),
        ("[KSQL_DATA_LOST] 5 records were deleted.", "", False),
        ("org.apache.kafka.common.errors.TimeoutException: no", "at org.apache.spark.sql.execution", False),
        ("java.lang.OutOfMemoryError: Java heap space", "", False),
        ("java.io.EOFException", "at org.ksqlspark.formats.AvroDecoder.decode", False),
        ("Input length = 1", "java.nio.charset.MalformedInputException: Input length = 1\n" + OFFSETS, True),
        (
            "Unexpected end-of-input",
            "com.fasterxml.jackson.core.io.JsonEOFException: Unexp\n" + OFFSETS,
            True,
        ),
        ("Input length = 1", "java.nio.charset.MalformedInputException\n\tat org.ksqlspark.formats", False),
    ],
)
def test_what_is_unreadable_state(text: str, trace: str, is_unreadable: bool) -> None:
    assert is_state_unreadable(FromJava(text, trace)) == is_unreadable


def one_query(world: World) -> Any:
    world.run("CREATE TABLE u AS SELECT k, COUNT(*) AS n FROM s GROUP BY k EMIT CHANGES;")
    (query,) = world.queries.all()
    world.commit(query.id, 3, s={"0": 7, "1": 8, "2": 9})
    return query


def test_a_query_says_that_its_state_is_damaged(
    make_world: Callable[..., World], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(query_watcher, "WATCH_EVERY_S", 0.01)
    world = make_world()
    query = one_query(world)
    query.spark[0].exception = lambda: FromJava("java.util.zip.ZipException: invalid entry CRC")
    query.spark[0].is_active = False
    until(lambda: query.state == "ERROR")
    (row,) = world.one("SHOW QUERIES;")["queries"]
    assert f"ksql-spark state rebuild {query.id}" in row["error"] and "CRC" in row["error"]
    assert query.errors[-1].type == "SYSTEM"


def test_a_rebuild_reads_from_where_the_query_began(world: World) -> None:
    world.admin.ends |= {("s", 0): 5}
    query = one_query(world)
    first = query.spark[0]
    offsets = world.checkpoint(query.id) / "0" / "offsets" / "3"
    offsets.write_text("v1\n{", encoding="utf-8")
    answer = world.statements.rebuild_state(query.id.lower())
    assert answer.query_id == query.id and "rereads" in answer.message
    assert not first.is_active and query.spark[0].is_active and query.state == "RUNNING"
    assert not offsets.exists()
    assert world.queries.checkpoints.committed_offsets(query) == {"s": {0: 5, 1: 0, 2: 0}}
    world.restart()
    assert world.states() == {query.id: "RUNNING"}


def test_a_paused_query_is_rebuilt_at_resume(world: World) -> None:
    query = one_query(world)
    world.run(f"PAUSE {query.id};")
    assert "RESUME" in world.statements.rebuild_state(query.id).message
    assert query.state == "PAUSED" and not query.spark
    world.run(f"RESUME {query.id};")
    assert query.state == "RUNNING"


def test_a_topic_that_was_made_again_is_read_from_its_beginning(world: World) -> None:
    world.admin.ends |= {("s", 0): 5}
    query = one_query(world)
    world.close()
    world.admin.delete_topics(["s"])
    world.admin.create_topic("s", 3)
    world.admin.ends.clear()
    world.restart()
    (query,) = world.queries.all()
    world.statements.rebuild_state(query.id)
    assert world.queries.checkpoints.position(query, 0) == {"s": {"0": 0, "1": 0, "2": 0}}


def test_there_must_be_such_a_query(world: World) -> None:
    query = one_query(world)
    with pytest.raises(KsqlError) as refused:
        world.statements.rebuild_state(query.id + "0")
    assert refused.value.condition == "QUERY_UNKNOWN" and query.id in str(refused.value)
