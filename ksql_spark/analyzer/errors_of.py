"""ERRORS OF a query in FROM: the processing log's entries about it, as rows (beyond ksqlDB)."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from ksql_spark import grammar
from ksql_spark.analyzer.failures import failure
from ksql_spark.grammar import nodes
from ksql_spark.grammar.statements.queries import Query
from ksql_spark.metastore.store import MetaStore

#: of the record that a failed row comes from: the stream's column, which streams of earlier releases lack
_INPUT = {"topic": "input->`topic`", "partition": "input->`partition`", "offset": "input->`offset`"}
_NO_INPUT = {
    "topic": "CAST(NULL AS STRING)",
    "partition": "CAST(NULL AS INT)",
    "offset": "CAST(NULL AS BIGINT)",
}

STREAM_NAME = "ksql.logging.processing.stream.name"

#: the stream's columns are those of spark.processing_log
_QUERY = """
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
    message->serializationError->record) AS `RECORD`
FROM `{stream}`
WHERE logger = 'processing.{query}' OR INSTR(logger, 'processing.{query}.') = 1;
"""


def errors_of(relation: nodes.ErrorsOf, metastore: MetaStore, config: Mapping[str, Any]) -> nodes.QueryNode:
    """The query that ``relation`` stands for.

    Raises:
        KsqlError: ERRORS_NOT_KEPT.
    """
    stream = str(config.get(STREAM_NAME, "KSQL_PROCESSING_LOG"))
    source = metastore.find(stream)
    if source is None:
        raise failure("ERRORS_NOT_KEPT", relation, stream=stream)
    return _query(relation.query_id, stream, source.schema.find("INPUT") is not None)


@functools.lru_cache(1000)
def _query(query_id: str, stream: str, has_input: bool) -> nodes.QueryNode:
    text = _QUERY.format(
        query=query_id.replace("'", "''"),
        stream=stream.replace("`", "``"),
        step=len(f"processing.{query_id}.") + 1,
        **(_INPUT if has_input else _NO_INPUT),
    )
    statement = grammar.parse_one(text)
    assert isinstance(statement, Query)
    return statement.query
