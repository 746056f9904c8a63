"""The processing log's topic and stream (reference §5.8)."""

from __future__ import annotations

import contextlib
import logging

from ksql_spark import grammar
from ksql_spark.analyzer import topic_of
from ksql_spark.config import Config
from ksql_spark.engine.bootstrap.lifecycle import Lifecycle
from ksql_spark.engine.execution import StatementExecutor
from ksql_spark.engine.request import Request
from ksql_spark.errors import KsqlError
from ksql_spark.grammar.statements.sources import CreateSource
from ksql_spark.kafka.admin import KafkaAdmin
from ksql_spark.spark.processing_log import ADDED_COLUMNS, ProcessingLog, create_stream
from ksql_spark.statements import Services

log = logging.getLogger(__name__)


def create_processing_log(config: Config, admin: KafkaAdmin, lifecycle: Lifecycle) -> ProcessingLog:
    """The processing log, and its topic if configured; without the topic it only counts errors."""
    topic = topic_of(config)
    if config["ksql.logging.processing.topic.auto.create"] and admin.topic(topic) is None:
        replicas = config["ksql.logging.processing.topic.replication.factor"]
        with contextlib.suppress(KsqlError):  # another server may have created it
            admin.create_topic(topic, config["ksql.logging.processing.topic.partitions"], replicas)
    processing_log = ProcessingLog(
        f"{topic}@{admin.servers}",
        topic,
        {**config.client_settings("producer"), "bootstrap.servers": admin.servers},
        keeps=admin.topic(topic) is not None,
        shows_rows=config["ksql.logging.processing.rows.include"],
        most_late_rows=config["ksql.late.rows.max.per.second"],
    )
    lifecycle.on_stop(processing_log.close)
    return processing_log


def create_log_stream(
    config: Config, services: Services, statements: StatementExecutor, lifecycle: Lifecycle
) -> None:
    """Create the stream over the processing log, if it is configured and does not exist.

    One that an earlier release created gets the columns that were added since.
    """
    if not config["ksql.logging.processing.stream.auto.create"]:
        return
    name, topic = str(config["ksql.logging.processing.stream.name"]), topic_of(config)
    text = create_stream(name, f"KAFKA_TOPIC = '{topic}', VALUE_FORMAT = 'JSON'")
    (statement,) = grammar.parse(text)
    assert isinstance(statement, CreateSource)
    existing = services.metastore.find(statement.name)
    if existing is not None:
        missing = [c for c in statement.columns if existing.schema.find(c.name) is None]
        if not missing or not {c.name for c in missing} <= ADDED_COLUMNS:
            return
        added = ", ".join(f"ADD COLUMN {grammar.render(c)}" for c in missing)
        text = f"ALTER STREAM {name} {added};"
    try:
        statements.execute(Request(text))
    except KsqlError as error:
        reason = str(error)
        if services.admin.topic(topic) is None:
            reason = f"there is no topic {topic}. Start with ksql.logging.processing.topic.auto.create=true."
        log.error("the stream %s over the processing log was not created or altered: %s", name, reason)
        lifecycle.report(f"no stream {name} over the processing log: {reason}")
