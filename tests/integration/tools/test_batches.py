"""``ksql-spark run --batch``: what it leaves is what the records give, whatever its queries are made of."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ksql_spark.engine import Engine, Request
from ksql_spark.kafka.admin import KafkaAdmin
from ksql_spark.kafka.producer import RecordProducer
from ksql_spark.shell.main import main
from tests.integration.lake.archives import STREAM, remove
from tests.waiting import until

pytestmark = pytest.mark.kafka

COUNT = 500


@pytest.mark.long
def test_all_of_a_pipeline_is_over_when_it_ends(
    execute: Callable[[str], Any],
    engine: Engine,
    url: str,
    topic_names: Callable[[str], str],
    kafka_admin: KafkaAdmin,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Sub-topologies, patterns of topics, a stream that a later query feeds, intervals."""
    numbers, parts, sinks = (
        topic_names("numbers"),
        topic_names("parts"),
        [topic_names("out") for _ in range(6)],
    )
    for topic in (numbers, f"{parts}_1"):
        kafka_admin.create_topic(topic, 2)
    producer = RecordProducer(kafka_admin.servers)
    for n in range(COUNT):
        for topic in (numbers, f"{parts}_1"):
            producer.send_async(topic, b"k%d" % (n % 50), b'{"N": %d}' % n)
    producer.flush()
    declared = "(k STRING {key}, n INT) WITH ({topic}, VALUE_FORMAT = 'JSON')"
    (tmp_path / "pipeline.sql").write_text(f"""
      CREATE TABLE batch_n {declared.format(key="PRIMARY KEY", topic=f"KAFKA_TOPIC = '{numbers}'")};
      CREATE STREAM batch_s {declared.format(key="KEY", topic=f"KAFKA_TOPIC = '{numbers}'")};
      CREATE STREAM batch_p {declared.format(key="KEY", topic=f"TOPIC_PATTERN = '{parts}_.*'")};
      CREATE TABLE batch_parts WITH (KAFKA_TOPIC = '{sinks[0]}', PARTITIONS = 2) AS
        SELECT k, COUNT(*) AS c FROM batch_p GROUP BY k;
      CREATE TABLE batch_hourly WITH (KAFKA_TOPIC = '{sinks[1]}') AS
        SELECT k, COUNT(*) AS c FROM batch_s GROUP BY k EMIT CHANGES EVERY 1 HOUR;
      CREATE STREAM batch_x WITH (KAFKA_TOPIC = '{sinks[2]}') AS SELECT k, n FROM batch_s;
      CREATE TABLE batch_twice WITH (KAFKA_TOPIC = '{sinks[3]}') AS
        SELECT k, COUNT(*) AS c FROM batch_x GROUP BY k;
      CREATE STREAM batch_y WITH (KAFKA_TOPIC = '{sinks[4]}') AS SELECT * FROM batch_s PARTITION BY k;
      INSERT INTO batch_x SELECT k, n FROM batch_y;
      CREATE TABLE batch_tens WITH (KAFKA_TOPIC = '{sinks[5]}') AS
        SELECT n / 10 AS ten, COUNT(*) AS c FROM batch_n GROUP BY n / 10;
    """)
    before = {source.name for source in engine.services.metastore.sources()}
    code = main(["run", str(tmp_path / "pipeline.sql"), "--server", url, "--batch"])
    assert code == 0, capsys.readouterr().err

    def rows(sql: str) -> list[list[Any]]:
        stream = engine.query(Request(sql, {}))
        found: list[list[Any]] = []
        while (batch := stream.read(30.0)) is not None:
            found += [row.values for row in batch]
        stream.close()
        return sorted(found)

    each = sorted([f"k{n}", COUNT // 50] for n in range(50))
    assert rows("SELECT * FROM batch_parts;") == each
    assert rows("SELECT * FROM batch_hourly;") == each
    assert rows("SELECT * FROM batch_twice;") == [[k, 2 * c] for k, c in each]
    assert [row for row in rows("SELECT * FROM batch_tens;") if row[1]] == [[45 + n, 10] for n in range(5)]
    assert before < {source.name for source in engine.services.metastore.sources()}


@pytest.mark.long
def test_an_archive_whose_topic_is_empty(
    execute: Callable[[str], Any],
    engine: Engine,
    url: str,
    topic_names: Callable[[str], str],
    kafka_admin: KafkaAdmin,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    topic, path = topic_names("trips"), tmp_path / "archive"
    execute(
        f"CREATE STREAM batch_raw {STREAM.format(topic=topic, more=', PARTITIONS=2')};"
        f"CREATE SINK batch_kept FROM batch_raw WITH (TYPE='parquet', PATH='{path}', ARCHIVE=true,"
        " COMMIT_INTERVAL='50 milliseconds');"
    )
    producer = RecordProducer(kafka_admin.servers)
    for n in range(COUNT):
        producer.send_async(topic, b"k%d" % (n % 5), b'{"N": %d}' % n)
    producer.flush()
    archive = f", ARCHIVE='{path}'"
    (tmp_path / "pipeline.sql").write_text(
        f"CREATE STREAM batch_trips {STREAM.format(topic=topic, more=archive)};"
        f"CREATE TABLE batch_trip_sums WITH (KAFKA_TOPIC='{topic_names('sums')}') AS"
        " SELECT k, COUNT(*) AS c FROM batch_trips GROUP BY k;"
    )

    def archived() -> int:
        told: Any
        (told,) = engine.execute(Request("DESCRIBE SINK batch_kept;"))
        return sum(place.offset for place in told.positions)

    until(lambda: archived() == COUNT)
    execute("DROP SINK batch_kept;")
    ends = {p: end for (_, p), end in kafka_admin.end_offsets(topic).items()}
    remove(kafka_admin.servers, topic, ends)
    code = main(["run", str(tmp_path / "pipeline.sql"), "--server", url, "--batch"])
    assert code == 0, capsys.readouterr().err
    stream = engine.query(Request("SELECT k, c FROM batch_trip_sums;", {}))
    found: list[Any] = []
    while (batch := stream.read(30.0)) is not None:
        found += [row.values for row in batch]
    stream.close()
    assert sorted(found) == [[f"k{n}", COUNT // 5] for n in range(5)]
