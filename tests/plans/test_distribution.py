"""How many tasks a sub-topology gets, and how rows reach them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import astuple
from typing import Any

import pytest

from ksql_spark.config import Config
from ksql_spark.metastore.store import MetaStore
from ksql_spark.plan.distribution import Tasks, assign, tasks_text, waits_for
from ksql_spark.plan.planner import lower
from ksql_spark.plan.stages import Plan
from tests.analyzer.binding import bind, run
from tests.plans.plan_files import FOLDER, planned

FILES = sorted(FOLDER.glob("*.sql"))


def plan(name: str, **properties: Any) -> Plan:
    """The plan of the query with this sink."""
    queries = (query for path in FILES for query in planned(path, **properties))
    return next(query.plan for query in queries if query.plan.sink.name == name)


def tasks(
    found: Plan,
    number: int = -1,
    partitions: int = 12,
    most: int = 4,
    scattered: Collection[str] = (),
    **other: int,
) -> Tasks:
    """The tasks of a sub-topology whose topics have so many partitions; ``other``: those of single topics."""
    counts = {topic: other.get(topic, partitions) for stage in found.stages for topic in stage.topics}
    return assign(found.stages[number], counts, most, scattered)


def test_no_more_tasks_than_partitions_and_threads() -> None:
    found = plan("SS_INNER")
    assert [tasks(found, partitions=p, most=m).count for p, m in ((12, 4), (2, 4), (1, 4), (12, 1))] == [
        4,
        2,
        1,
        1,
    ]


def test_co_partitioned_rows_stay_where_they_are_read() -> None:
    found = tasks(plan("SS_INNER"))
    assert found == Tasks(12, 4, True, 4, False, is_merged=True, takes_left_first=True)


def test_topics_of_different_partitions_are_read_by_one_task() -> None:
    found = plan("SS_INNER")
    topic = found.last.topics[0]
    uneven = tasks(found, **{topic: 3})
    assert (uneven.by_partition, uneven.readers, uneven.count, uneven.is_exchanged) == (False, 1, 4, True)
    assert uneven.is_one_order


def test_one_partition_needs_no_exchange() -> None:
    for path in FILES:
        for query in planned(path):
            for number, stage in enumerate(query.plan.stages):
                if not stage.by_event_time:
                    assert not tasks(query.plan, number, partitions=1).is_exchanged


def test_rows_of_a_union_all_are_exchanged() -> None:
    store = MetaStore()
    for name in "ab":
        properties = f"KAFKA_TOPIC = '{name}', VALUE_FORMAT = 'JSON', PARTITIONS = 1"
        run(f"CREATE STREAM {name} (k INT KEY, v INT) WITH ({properties});", store)
    union = "FROM (SELECT * FROM a UNION ALL SELECT * FROM b)"
    for what in ("COUNT(*)", "LATEST_BY_OFFSET(k)"):
        bound = bind(f"CREATE TABLE n AS SELECT v, {what} AS n {union} GROUP BY v;", store)
        assert tasks(lower(bound.root, bound.sink, Config({}), "CTAS_N_1"), partitions=1).is_exchanged


def test_of_rows_of_equal_times_a_tables_comes_first_then_that_of_a_stream_in_its_place() -> None:
    sinks = ("SS_INNER", "REKEYED_LEFT", "REKEYED_RIGHT", "ST_LEFT")
    assert [tasks(plan(sink)).takes_left_first for sink in sinks] == [True, False, True, False]


def test_rows_stay_where_they_are_only_if_none_is_without_a_key() -> None:
    for sink in ("ONCE_BY_KEY", "MOVING"):
        assert tasks(plan(sink)) == Tasks(12, 4, True, 4, False)
    for sink, number in (("ONCE", 0), ("COUNTED_ONCE", 0), ("RUNNING", 0)):
        found = tasks(plan(sink), number)
        assert (found.by_partition, found.readers, found.is_one_order) == (False, 1, True)
    assert "records without a key" in (tasks_text(plan("COUNTED_ONCE").stages[0]) or "")
    # in an internal topic they are all in one partition
    assert tasks(plan("JOINED_ONCE")).by_partition


def test_micro_batches_in_order_are_one_task() -> None:
    found = plan("SS_INNER", **{"ksql.execution.mode": "microbatch"})
    uneven = tasks(found, **{found.last.topics[0]: 3})
    assert (uneven.readers, uneven.count, uneven.is_exchanged) == (1, 1, False)


def test_heartbeats_come_from_readers_in_real_time_and_from_a_topic_in_micro_batches() -> None:
    timed = {"ksql.idle.window.timeout": 1500}
    assert tasks(plan("FINALS", **timed)).has_heartbeat
    batches = tasks(plan("FINALS", **timed, **{"ksql.execution.mode": "microbatch"}))
    assert (batches.has_heartbeat, batches.count, batches.is_merged) == (False, 1, True)


def test_intervals_need_heartbeats_without_any_order() -> None:
    assert tasks(plan("BY_KEY_AT_INTERVALS")) == Tasks(12, 4, True, 4, False, True, has_heartbeat=True)
    assert tasks(plan("BY_VALUE_AT_INTERVALS")) == Tasks(12, 4, False, 4, True, True, has_heartbeat=True)
    batches = tasks(plan("BY_VALUE_AT_INTERVALS", **{"ksql.execution.mode": "microbatch"}))
    assert batches == Tasks(12, 4, False, 4, True)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_what_is_merged_is_read_by_one_task_or_by_partition(path: Any) -> None:
    for query in planned(path):
        for number, stage in enumerate(query.plan.stages):
            found = tasks(query.plan, number)
            is_alone = len(stage.topics) == 1  # nothing meets; the merge only gives heartbeats
            assert found.readers == 1 or found.by_partition or not found.is_merged or is_alone, astuple(found)
            fed = waits_for(stage)
            assert fed is None or fed in stage.topics


def test_keys_that_others_have_written_may_be_in_any_partition() -> None:
    found = tasks(plan("ST_ENVELOPE"))
    assert (found.by_partition, found.readers, found.is_one_order) == (False, 1, True)
    # but each key is in one partition only
    assert tasks(plan("NAMED")).by_partition


def test_rows_for_an_aggregate_that_depends_on_their_order_are_read_by_one_task() -> None:
    assert tasks(plan("LATEST_OF_ID")) == Tasks(12, 4, True, 4, False)
    assert tasks(plan("LATEST_FARE")) == Tasks(12, 4, False, 1, True, is_one_order=True)
    assert tasks(plan("PER_ZONE")) == Tasks(12, 4, False, 4, True)
    assert "one task reads them" in (tasks_text(plan("LATEST_FARE").stages[0]) or "")


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_one_task_reads_records_of_a_key_from_several_partitions(path: Any) -> None:
    """Partitions were added: only the times of a key's records tell which is the newer one."""
    for query in planned(path):
        for number, stage in enumerate(query.plan.stages):
            if not stage.by_event_time:
                found = tasks(query.plan, number, scattered=stage.topics)
                assert (found.readers, found.is_one_order, found.by_partition) == (1, True, False), found
                keeps_state = bool(stage.stateful)
                assert found.is_exchanged == (keeps_state and found.count > 1), found


def test_keys_with_a_double_do_not_tell_the_partition() -> None:
    """0.0 and -0.0 are equal, and their bytes are not."""
    found = plan("OF_A_DOUBLE")
    assert tasks(found) == Tasks(12, 4, False, 4, True)
    assert "0.0 and -0.0" in (tasks_text(found.stages[0]) or "")
