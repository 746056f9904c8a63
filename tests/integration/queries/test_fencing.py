"""A run of a query that is at least once fences the producers of earlier runs, at the broker."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)
from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from ksql_spark.config import Config
from ksql_spark.engine import Engine, Request
from ksql_spark.kafka.admin import KafkaAdmin
from ksql_spark.kafka.consumer import TopicReader
from ksql_spark.runtime.queries import differences
from ksql_spark.runtime.queries.runs.session_rows import delete_session_rows
from ksql_spark.services.broker import EmbeddedBroker
from ksql_spark.spark import sinks
from ksql_spark.spark.session import SparkProcess
from ksql_spark.spark.sources import client_options
from ksql_spark.spark.transactions import open_fenced, release
from tests.waiting import TIMEOUT_S

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
        assert open_fenced(session, run, f"{topic}-0", settings(kafka_admin), None, None) == ""
    write("later", 0, b"new")
    with pytest.raises(Py4JError, match="old epoch"):
        write("earlier", 0, b"old")
    assert rows(kafka_admin, topic) == {0: b"new"}


def test_a_partition_is_fenced_by_its_first_record(
    session: SparkSession, kafka_admin: KafkaAdmin, topic: str, write: Write
) -> None:
    for run in RUNS:
        assert open_fenced(session, run, f"{topic}-0", settings(kafka_admin), None, None) == ""
    write("earlier", 1, b"in time")
    write("later", 1, b"new")
    assert rows(kafka_admin, topic) == {1: b"new"}


def test_a_swap_fences_the_old_version(
    session: SparkSession, kafka_admin: KafkaAdmin, topic: str, write: Write
) -> None:
    write("before", 0, b"a")
    assert open_fenced(session, "earlier", f"{topic}-0", settings(kafka_admin), None, None) == ""
    with contextlib.closing(differences.writer(kafka_admin, f"{topic}-0")) as swap:
        old = differences.rows(kafka_admin, topic)
        differences.write(swap, topic, differences.one_of_each_partition(old))
    with pytest.raises(Py4JError, match="old epoch"):
        write("earlier", 0, b"old")
    assert rows(kafka_admin, topic) == {0: b"a"}


class OtherBroker(EmbeddedBroker):
    """A broker with settings of its own."""

    def __init__(self, data_dir: Path, **more: str) -> None:
        super().__init__(data_dir, port=0)
        self._more = more

    def _write_properties(self, controller_port: int) -> None:
        super()._write_properties(controller_port)
        with self._properties_file.open("a") as file:  # the last line of a name counts
            file.writelines(f"{name.replace('_', '.')}={value}\n" for name, value in self._more.items())


@pytest.mark.long
def test_queries_run_where_there_is_no_coordinator(
    spark_process: SparkProcess, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Kafka's defaults need three brokers for it."""
    with OtherBroker(tmp_path / "kafka", transaction_state_log_replication_factor="3") as broker:
        servers = {"bootstrap.servers": broker.bootstrap_servers}
        engine = Engine(Config({**servers, "ksql.spark.data.dir": str(tmp_path / "data")}), spark_process)
        try:
            engine.start()
            engine.execute(
                Request("""
                    CREATE STREAM s (k STRING KEY, v INT)
                      WITH (KAFKA_TOPIC = 's', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
                    CREATE STREAM first WITH (KAFKA_TOPIC = 'first') AS SELECT * FROM s EMIT CHANGES;
                    CREATE STREAM second WITH (KAFKA_TOPIC = 'second') AS SELECT * FROM s EMIT CHANGES;
                    CREATE TABLE t (k STRING PRIMARY KEY, c STRING)
                      WITH (KAFKA_TOPIC = 't', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
                    CREATE TABLE counted WITH (KAFKA_TOPIC = 'counted') AS
                      SELECT c, COUNT(*) AS n FROM s JOIN t ON s.k = t.k
                      WINDOW TUMBLING (SIZE 1 MINUTE) GROUP BY c EMIT CHANGES;
                    INSERT INTO t VALUES ('a', 'x');
                    INSERT INTO s VALUES ('a', 1);
                """)
            )
            admin = KafkaAdmin(broker.bootstrap_servers)
            for topic in ("first", "second", "counted"):
                with TopicReader(broker.bootstrap_servers, topic) as reader:
                    assert reader.poll_batch(TIMEOUT_S)
            engine.execute(Request("DROP TABLE counted DELETE TOPIC;"))
            assert not any("COUNTED" in topic.upper() for topic in admin.topics())
            delete_session_rows(admin, "first", "an id")
            assert not rows(admin, "first")
        finally:
            engine.stop()
    (warning,) = [record for record in caplog.messages if "without fencing" in record]
    assert "transaction.state.log.replication.factor" in warning
    (warning,) = [record for record in caplog.messages if "counted twice" in record]
    assert "transaction.state.log.min.isr" in warning


def test_a_server_without_the_right_gets_no_producer(session: SparkSession, tmp_path: Path) -> None:
    authorizer = {
        "authorizer_class_name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "allow_everyone_if_no_acl_found": "true",
    }
    with OtherBroker(tmp_path, **authorizer) as broker:
        servers = {"bootstrap.servers": broker.bootstrap_servers}
        rule = AclBinding(
            ResourceType.TRANSACTIONAL_ID,
            "*",
            ResourcePatternType.LITERAL,
            "User:*",
            "*",
            AclOperation.ALL,
            AclPermissionType.DENY,
        )
        admin = AdminClient(servers)
        for done in admin.create_acls([rule]).values():
            done.result(TIMEOUT_S)
        for _ in range(100):  # brokers learn of the rule a moment later
            if reason := open_fenced(session, "earlier", "a-0", servers, None, None):
                break
            release(session, "earlier")
        assert "uthoriz" in reason
