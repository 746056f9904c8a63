"""Turns frames into KSQL's Kafka records (key, value, headers, partition), and starts queries."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from ksql_spark.errors import KsqlError
from ksql_spark.metastore.serdes import key_serde, value_serde
from ksql_spark.metastore.sources import DataSource
from ksql_spark.physical.steps import FORWARDED_HEADERS, NULL_KEY, NULL_VALUE, REALTIME, STREAM_TIME
from ksql_spark.schema import ROWPARTITION, ROWTIME, WINDOWEND, WINDOWSTART
from ksql_spark.spark.frames import quoted
from ksql_spark.spark.processing_log import QueryLog
from ksql_spark.spark.query import SparkQuery
from ksql_spark.spark.sources import (
    NO_TIME,
    NOT_A_TIME,
    STREAM_TIME_HEADER,
    client_options,
    event_time,
    stopped_for_time,
)

#: the header that EventTimeInterceptor.java turns into the record's timestamp
EVENT_TIME_HEADER = "__ksql_event_time"
INTERCEPTOR = "org.ksqlspark.kafka.EventTimeInterceptor"


def encode(
    frame: DataFrame,
    sink: DataSource,
    partitions: int | None = None,
    log: QueryLog | None = None,
    *,
    stops_on_no_time: bool = False,
    keeps_partition: bool = False,
) -> DataFrame:
    """The columns of the Kafka sink: key, value, headers [, partition].

    Args:
        frame: a step's frame; its columns fit ``sink.schema`` by name.
        sink: formats and window of the topic.
        partitions: of the sink's topic; needed where keys are windowed and it has more than one.
        log: where records without a usable event time are reported.
        keeps_partition: records go to the partition that ROWPARTITION names.
        stops_on_no_time: such a record stops the query instead of being left out.
    """
    schema = sink.schema
    partition = [f"{ROWPARTITION} AS partition"] if keeps_partition else []
    if schema.key:
        keys = [quoted(c.name) for c in schema.key]
        key = key_serde(sink).encode_sql(keys)
        if sink.window is not None:
            if (partitions or 1) > 1:
                # as Kafka Streams: the partition of a windowed key is that of the key without its window
                partition = [f"ksql.kafka_partition({key}, {partitions}) AS partition"]
            bounds = [WINDOWEND, WINDOWSTART] if sink.window.kind == "SESSION" else [WINDOWSTART]
            key = f"concat({key}, {', '.join(f'cast({b} AS binary)' for b in bounds)})"
        if NULL_KEY in frame.columns:
            key = f"if({NULL_KEY}, NULL, {key})"
    else:
        key = "cast(NULL AS binary)"
    values = [quoted(c.name) for c in schema.value]
    value = value_serde(sink).encode_sql(values)
    time = ROWTIME
    if sink.timestamp is not None:
        # a record without a usable time in its column is not written (§5.7); a deletion has no columns
        frame = frame.selectExpr(
            "*",
            f"if({NULL_VALUE}, {ROWTIME}, {event_time(sink, quoted(sink.timestamp.column))}) AS __sink_time",
        )
        is_usable = "coalesce(__sink_time >= 0, false)"
        if log is not None:
            row = log.record({c.name: quoted(c.name) for c in schema.columns})
            is_usable += f" OR {log.failed('KsqlTopic.Sink', NO_TIME, NOT_A_TIME, row)}"
        if stops_on_no_time:
            is_usable += f" OR {stopped_for_time(sink.topic)}"
        frame = frame.filter(is_usable)
        time = "__sink_time"
    stamps = [_stamp(time)]
    if keeps_partition:
        stamps.append(_stamp(STREAM_TIME, STREAM_TIME_HEADER))
    headers = f"array({', '.join(stamps)})"
    if schema.headers:
        (column,) = schema.headers
        own = f"transform({quoted(column.name)}, h -> named_struct('key', h.KEY, 'value', h.VALUE))"
        headers = f"concat(coalesce({own}, array()), {headers})"
    elif FORWARDED_HEADERS in frame.columns:
        headers = f"if({FORWARDED_HEADERS} IS NULL, {headers}, concat({FORWARDED_HEADERS}, {headers}))"
    return frame.selectExpr(
        f"{key} AS key",
        f"if({NULL_VALUE}, NULL, {value}) AS value",
        f"{headers} AS headers",
        *partition,
    )


def _stamp(time: str, header: str = EVENT_TIME_HEADER) -> str:
    """Spark SQL text of the header for an event time; ``time``: text of epoch ms."""
    return f"named_struct('key', '{header}', 'value', cast(cast({time} AS bigint) AS binary))"


def write(
    session: SparkSession,
    producer: Mapping[str, str],
    topic: str,
    key: bytes | None,
    value: bytes | None,
    time_ms: int,
) -> None:
    """Write one record to ``topic`` and wait until the cluster has it.

    Args:
        session: any session.
        producer: settings of Kafka's producers, with ``bootstrap.servers``.
        topic: an existing topic.
        key: the key's bytes, or None.
        value: the value's bytes, or None.
        time_ms: the record's timestamp, epoch ms.

    Raises:
        KsqlError: KAFKA_REFUSED.
    """

    def text(data: bytes | None) -> str:
        return "cast(NULL AS binary)" if data is None else f"X'{data.hex()}'"

    record = session.sql(
        f"SELECT {text(key)} AS key, {text(value)} AS value, array({_stamp(str(time_ms))}) AS headers"
    )
    writer = (
        record.write.format("kafka")
        .options(**client_options(producer))
        .option("topic", topic)
        .option("includeHeaders", "true")
        .option("kafka.interceptor.classes", INTERCEPTOR)
    )
    try:
        writer.save()
    except PySparkException as error:
        reason = str(error).partition("\n")[0]
        raise KsqlError("KAFKA_REFUSED", action=f"write to topic '{topic}'", reason=reason) from None


def start(
    records: DataFrame,
    *,
    name: str,
    run: str,
    producer: Mapping[str, str],
    topic: str,
    mode: str,
    checkpoint: Path,
    interval_ms: int,
    linger_ms: int,
    feeds: str | None = None,
) -> SparkQuery:
    """Start the query that writes ``records`` to ``topic``.

    Args:
        records: the columns of the Kafka sink, from ``encode``.
        name: the query's id.
        run: id of the run, which the sources of ``records`` have.
        producer: settings of Kafka's producers, with ``bootstrap.servers``.
        topic: the sink's topic, which must exist.
        mode: REALTIME or MICROBATCH.
        checkpoint: folder of the query's checkpoints; created if missing.
        interval_ms: time between checkpoints in real time; less than 5,000 counts as 5,000.
        linger_ms: how long the producer may wait to fill a batch; adds to a quiet stream's latency.
        feeds: as in the Context of ``records``.
    """
    writer = (
        records.writeStream.format("kafka")
        .queryName(name)
        .option("topic", topic)
        .option("kafka.interceptor.classes", INTERCEPTOR)
        .option("kafka.linger.ms", str(linger_ms))
        .option("kafka.batch.size", "131072")
        .options(**client_options(producer))
        .option("checkpointLocation", checkpoint.as_uri())
        .outputMode("update")
    )
    if mode == REALTIME:
        # at the latest; before that the query's readers end a batch, at a good moment (BatchEnd.java)
        writer = writer.trigger(realTime=f"{max(2 * interval_ms, 5000)} milliseconds")  # type: ignore[call-overload]
    else:
        writer = writer.trigger(processingTime="0 seconds")
    return SparkQuery(records.sparkSession, writer.start(), run, mode, checkpoint, feeds)
