"""``python -m ksql_spark.prepare``: prepares fast starts.

It runs typical statements once, on its own engine, and stores an archive of the classes that Spark's JVM has
loaded for them. The broker stores one, too, whose profiles are those of single records that are written and
read. ``make setup`` calls it.
"""

from __future__ import annotations

import logging
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

from ksql_spark.config import Config
from ksql_spark.engine import Engine, Request
from ksql_spark.errors import KsqlError
from ksql_spark.kafka.consumer import TopicReader
from ksql_spark.kafka.producer import RecordProducer
from ksql_spark.services.broker import EmbeddedBroker
from ksql_spark.spark.session import SparkProcess

STATEMENTS = """
CREATE STREAM s (k STRING KEY, n BIGINT, ts BIGINT)
  WITH (KAFKA_TOPIC = 's', PARTITIONS = 2, VALUE_FORMAT = 'JSON', TIMESTAMP = 'ts');
CREATE TABLE names (k STRING PRIMARY KEY, name STRING)
  WITH (KAFKA_TOPIC = 'names', PARTITIONS = 2, VALUE_FORMAT = 'JSON');
INSERT INTO names (k, name) VALUES ('a', 'first');
INSERT INTO s (k, n, ts) VALUES ('a', 1, 1000);
INSERT INTO s (k, n, ts) VALUES ('a', 2, 2000);
CREATE STREAM copies AS SELECT k, n * 2 AS n, UCASE(k) AS upper FROM s WHERE n > 0 EMIT CHANGES;
CREATE TABLE counts AS SELECT k, COUNT(*) AS c, SUM(n) AS total FROM s GROUP BY k EMIT CHANGES;
CREATE TABLE by_value AS SELECT n, COUNT(*) AS c FROM s GROUP BY n EMIT CHANGES;
CREATE TABLE per_minute AS
  SELECT k, COUNT(*) AS c FROM s WINDOW TUMBLING (SIZE 1 MINUTE) GROUP BY k EMIT CHANGES;
CREATE STREAM named AS SELECT s.k, s.n, t.name FROM s JOIN names t ON s.k = t.k EMIT CHANGES;
CREATE STREAM pairs AS
  SELECT a.k, a.n, b.n AS m FROM s a JOIN copies b WITHIN 1 MINUTE ON a.k = b.k EMIT CHANGES;
"""
#: tables that have a row once their queries have run
TABLES = ("counts", "by_value", "per_minute")
#: so many records pass through the broker, and not through Spark: longer training makes its starts slower
RECORDS = 5000
TIMEOUT_S = 120.0
POLL_S = 0.1


def main() -> int:
    """Write the archives that do not exist yet.

    Returns:
        the exit code: 0, 1 if one is missing, 130 after Ctrl-C.
    """
    # what its engine warns of, such as a query that is stopped early, means nothing to users
    logging.getLogger("ksql_spark").setLevel(logging.ERROR)
    try:
        with tempfile.TemporaryDirectory(prefix="ksql-spark-prepare-", ignore_cleanup_errors=True) as folder:
            if record(Path(folder), lambda text: print(text, flush=True)):
                return 0
            reason = "a JVM did not write it"
    except KsqlError as error:
        reason = error.message
    except KeyboardInterrupt:
        return 130
    print(f"No archive of classes, so starts are slower: {reason}", file=sys.stderr)
    return 1


def record(folder: Path, report: Callable[[str], None]) -> bool:
    """Write the archives that do not exist yet; returns whether both exist now.

    Args:
        folder: for everything that the engine writes.
        report: called with progress lines.

    Raises:
        KsqlError: a part did not start.
    """
    process = SparkProcess(folder / "spark", memory="1g")
    process.records_classes = not process.class_archive(report).exists
    if not process.records_classes and EmbeddedBroker.class_archive().exists:
        return True
    report("preparing fast starts, only this once; that takes a minute or so")
    config = Config({"ksql.spark.data.dir": str(folder), "ksql.service.id": "prepare_"})
    engine, is_over = Engine(config, process), threading.Event()
    try:
        report("  1 of 4: starting Spark and Kafka")
        process.start()
        engine.start(lambda line: report(line) if is_over.is_set() else None)
        report("  2 of 4: running typical statements")
        engine.execute(Request(STATEMENTS, {"auto.offset.reset": "earliest"}))
        deadline = time.monotonic() + TIMEOUT_S
        for table in TABLES:
            while not _rows(engine, f"SELECT * FROM {table};") and time.monotonic() < deadline:
                time.sleep(POLL_S)
        report("  3 of 4: writing and reading records")
        _train_broker(engine)
        report("  4 of 4: storing what Spark and Kafka have loaded")
    except BaseException:
        process.records_classes = False
        raise
    finally:
        is_over.set()
        engine.stop()
        process.stop(report)
    return process.class_archive().exists and EmbeddedBroker.class_archive().exists


def _train_broker(engine: Engine) -> None:
    """Write and read single records, as queries do in real time."""
    admin, topic = engine.services.admin, "training"
    admin.create_topic(topic, 1)
    producer = RecordProducer(admin.servers)
    with TopicReader(admin.servers, topic) as reader:
        for _ in range(RECORDS):
            producer.send(topic, b"a", b'{"N": 1}')
            reader.poll_batch(0)
    producer.close()


def _rows(engine: Engine, text: str) -> bool:
    """Whether a pull query has rows."""
    stream = engine.query(Request(text))
    try:
        return bool(stream.read(POLL_S))
    finally:
        stream.close()


if __name__ == "__main__":
    sys.exit(main())
