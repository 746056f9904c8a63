"""A run of a query that is at least once fences the producers of earlier runs, at the broker."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

import pytest
from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from ksql_spark.kafka.admin import KafkaAdmin
from ksql_spark.runtime.queries import differences
from ksql_spark.spark import sinks
from ksql_spark.spark.session import SparkProcess
from ksql_spark.spark.sources import client_options
from ksql_spark.spark.transactions import open_fenced, release

pytestmark = pytest.mark.kafka

RUNS = ("earlier", "later")


@pytest.fixture
def session(spark_process: SparkProcess) -> Iterator[SparkSession]:
    session = spark_process.session
    assert session is not None
    yield session
    for run in RUNS:
        release(session, run)


Write = Callable[[str, int, bytes], None]


@pytest.fixture
def write(session: SparkSession, kafka_admin: KafkaAdmin, topic: str) -> Write:
    """Writes a value of the key "k" to a partition, in a run."""

    def written(run: str, partition: int, value: bytes) -> None:
        record = session.sql(
            f"SELECT X'{b'k'.hex()}' AS key, X'{value.hex()}' AS value, cast(NULL AS bigint) AS time,"
            f" {partition} AS partition"
        )
        writer = record.write.format(sinks.SINK).mode("append").option("topic", topic)
        writer.options(**client_options(settings(kafka_admin))).option("ksql.run", run).save()

    return written


@pytest.fixture
def topic(kafka_admin: KafkaAdmin, topic_names: Callable[..., str]) -> str:
    name = topic_names()
    kafka_admin.create_topic(name, 2)
    return name


def settings(admin: KafkaAdmin, **more: str) -> dict[str, str]:
    return {"bootstrap.servers": admin.servers, **more}


def rows(admin: KafkaAdmin, topic: str) -> dict[int, bytes | None]:
    """Partition -> its last value."""
    return {partition: record.value for (partition, _), record in differences.rows(admin, topic).items()}


def test_what_an_earlier_run_still_sends_is_refused(
    session: SparkSession, kafka_admin: KafkaAdmin, topic: str, write: Write
) -> None:
    for run in RUNS:
        assert open_fenced(session, run, f"{topic}-0", settings(kafka_admin), None, None)
    write("later", 0, b"new")
    with pytest.raises(Py4JError, match="old epoch"):
        write("earlier", 0, b"old")
    assert rows(kafka_admin, topic) == {0: b"new"}


def test_a_partition_is_fenced_by_its_first_record(
    session: SparkSession, kafka_admin: KafkaAdmin, topic: str, write: Write
) -> None:
    for run in RUNS:
        assert open_fenced(session, run, f"{topic}-0", settings(kafka_admin), None, None)
    write("earlier", 1, b"in time")
    write("later", 1, b"new")
    assert rows(kafka_admin, topic) == {1: b"new"}


def test_a_swap_fences_the_old_version(
    session: SparkSession, kafka_admin: KafkaAdmin, topic: str, write: Write
) -> None:
    write("before", 0, b"a")
    assert open_fenced(session, "earlier", f"{topic}-0", settings(kafka_admin), None, None)
    with contextlib.closing(differences.writer(kafka_admin, f"{topic}-0")) as swap:
        old = differences.rows(kafka_admin, topic)
        differences.write(swap, topic, differences.one_of_each_partition(old))
    with pytest.raises(Py4JError, match="old epoch"):
        write("earlier", 0, b"old")
    assert rows(kafka_admin, topic) == {0: b"a"}


@pytest.mark.parametrize("setting", [{"acks": "1"}, {"enable.idempotence": "false"}])
def test_a_producer_that_is_not_idempotent_is_not_fenced(
    session: SparkSession, kafka_admin: KafkaAdmin, topic: str, setting: dict[str, str]
) -> None:
    given = settings(kafka_admin, **setting)
    assert not open_fenced(session, "earlier", f"{topic}-0", given, None, None)
