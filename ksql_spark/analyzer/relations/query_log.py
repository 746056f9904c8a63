"""ERRORS OF and LATE ROWS OF a query in FROM: the processing log's entries about it (beyond ksqlDB)."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from ksql_spark import grammar
from ksql_spark.analyzer.base.failures import failure, invalid
from ksql_spark.grammar import nodes
from ksql_spark.grammar.statements.queries import Query
from ksql_spark.metastore.store import MetaStore
from ksql_spark.schema import Schema

STREAM_NAME = "ksql.logging.processing.stream.name"
#: the ends of the loggers' names of entries that are no errors: a record was replayed, a row came too late
REPLAY, LATE = "Replay", "Late"

#: texts of what streams of earlier releases lack: the record that a failed row comes from, the replay
_ADDED = {
    "topic": "input->`topic`",
    "partition": "input->`partition`",
    "offset": "input->`offset`",
    "attempt": "COALESCE(replay, 0)",
}
_NOTHING_ADDED = {
    "topic": "CAST(NULL AS STRING)",
    "partition": "CAST(NULL AS INT)",
    "offset": "CAST(NULL AS BIGINT)",
    "attempt": "0",
}

#: the stream's columns are those of spark.processing_log
_ROWS = """
SELECT
  FROM_UNIXTIME(`TIME`) AS `TIME`,
  ARRAY['DESERIALIZATION', 'PROCESSING', 'PRODUCTION', 'SERIALIZATION', 'QUERY'][message->type + 1]
    AS `STAGE`,
  NULLIF(SUBSTRING(logger, {step}), '') AS `STEP`,
  COALESCE(message->deserializationError->`topic`, {topic}, message->serializationError->`topic`)
    AS `TOPIC`,
  COALESCE(message->deserializationError->`partition`, {partition}) AS `PARTITION`,
  COALESCE(message->deserializationError->`offset`, {offset}) AS `OFFSET`,
  COALESCE(message->deserializationError->errorMessage, message->recordProcessingError->errorMessage,
    message->productionError->errorMessage, message->serializationError->errorMessage,
    message->kafkaStreamsThreadError->errorMessage) AS `MESSAGE`,
  ARRAY_JOIN(COALESCE(message->deserializationError->cause, message->recordProcessingError->cause,
    message->serializationError->cause), '; ') AS `CAUSE`,
  COALESCE(message->deserializationError->recordB64, message->recordProcessingError->record,
    message->serializationError->record) AS `RECORD`,
  {attempt} AS `ATTEMPT`{more}
FROM `{stream}`
WHERE level <> 'INFO' AND (logger = 'processing.{query}' OR INSTR(logger, 'processing.{query}.') = 1)
"""
#: late rows, and how many were not kept
_LATE_ROWS = """
SELECT
  FROM_UNIXTIME(`TIME`) AS `TIME`,
  NULLIF(SUBSTRING(logger, {step}), '') AS `STEP`,
  input->`topic` AS `TOPIC`, input->`partition` AS `PARTITION`, input->`offset` AS `OFFSET`,
  late->key AS `KEY`, late->value AS `VALUE`,
  FROM_UNIXTIME(late->eventTime) AS `EVENT_TIME`,
  FROM_UNIXTIME(late->streamTime) AS `STREAM_TIME`,
  late->streamTime - late->eventTime AS `LATE_MS`,
  FROM_UNIXTIME(late->windowStart) AS `WINDOW_START`,
  FROM_UNIXTIME(late->windowEnd) AS `WINDOW_END`,
  late->grace AS `GRACE_MS`,
  COALESCE(late->omitted, CAST(0 AS BIGINT)) AS `OMITTED`
FROM `{stream}`
WHERE level = 'INFO' AND INSTR(logger, 'processing.{query}.{late}.') = 1
"""
#: the rows, and whether the record of each was replayed after that error
_REPLAYED = """
SELECT
  E.`TIME` AS `TIME`, E.`STAGE` AS `STAGE`, E.`STEP` AS `STEP`, E.`TOPIC` AS `TOPIC`,
  E.`PARTITION` AS `PARTITION`, E.`OFFSET` AS `OFFSET`, E.`MESSAGE` AS `MESSAGE`, E.`CAUSE` AS `CAUSE`,
  E.`RECORD` AS `RECORD`, E.`ATTEMPT` AS `ATTEMPT`, COALESCE(R.`LATEST` > E.`ATTEMPT`, FALSE) AS `REPLAYED`
FROM ({rows}) E LEFT JOIN (
  SELECT {topic} AS `T`, {partition} AS `P`, {offset} AS `O`, MAX(replay) AS `LATEST`
  FROM `{stream}` WHERE level = 'INFO' AND logger = 'processing.{query}.{replay}'
  GROUP BY {topic}, {partition}, {offset}) R
ON E.`TOPIC` = R.`T` AND E.`PARTITION` = R.`P` AND E.`OFFSET` = R.`O`
"""


def log_of(
    relation: nodes.LogOf, metastore: MetaStore, config: Mapping[str, Any], *, is_batch: bool
) -> nodes.QueryNode:
    """The query that ``relation`` stands for.

    Args:
        relation: names the query whose errors or late rows are wanted.
        metastore: has the stream over the processing log.
        config: effective properties.
        is_batch: the log is read up to its end, so that it is known which records were replayed.

    Raises:
        KsqlError: ERRORS_NOT_KEPT; INVALID_STATEMENT for late rows if the stream has none.
    """
    stream = str(config.get(STREAM_NAME, "KSQL_PROCESSING_LOG"))
    source = metastore.find(stream)
    if source is None:
        raise failure("ERRORS_NOT_KEPT", relation, stream=stream, topic=topic_of(config))
    if isinstance(relation, nodes.LateRowsOf):
        if source.schema.find("LATE") is None:
            raise invalid(
                f"The stream {stream} does not show late rows.",
                relation,
                hint="DROP it, and start the server with ksql.logging.processing.stream.auto.create=true.",
            )
        return _late_rows(relation.query_id, stream)
    return _errors(relation.query_id, stream, has_replays(source.schema), is_batch)


def topic_of(config: Mapping[str, Any]) -> str:
    """The topic of the processing log."""
    name = config.get("ksql.logging.processing.topic.name")
    return str(name or f"{config.get('ksql.service.id', 'default_')}ksql_processing_log")


def has_replays(schema: Schema) -> bool:
    """Whether the stream over the log marks replayed records: that of an earlier release does not."""
    return all(schema.find(name) is not None for name in ("INPUT", "REPLAY"))


@functools.lru_cache(1000)
def _late_rows(query_id: str, stream: str) -> nodes.QueryNode:
    return _parsed(
        _LATE_ROWS.format(
            query=query_id.replace("'", "''"),
            stream=stream.replace("`", "``"),
            late=LATE,
            step=len(f"processing.{query_id}.{LATE}.") + 1,
        )
    )


@functools.lru_cache(1000)
def _errors(query_id: str, stream: str, has_added: bool, is_batch: bool) -> nodes.QueryNode:
    is_joined = has_added and is_batch
    values = {
        "query": query_id.replace("'", "''"),
        "stream": stream.replace("`", "``"),
        "step": len(f"processing.{query_id}.") + 1,
        **(_ADDED if has_added else _NOTHING_ADDED),
    }
    text = _ROWS.format(**values, more="" if is_joined else ",\n  FALSE AS `REPLAYED`")
    if is_joined:
        text = _REPLAYED.format(**values, rows=text, replay=REPLAY)
    return _parsed(text)


def _parsed(text: str) -> nodes.QueryNode:
    statement = grammar.parse_one(f"{text};")
    assert isinstance(statement, Query)
    return statement.query
