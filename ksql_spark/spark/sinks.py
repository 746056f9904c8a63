"""Turns frames into KSQL's Kafka records (key, value, headers, partition), and starts queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from ksql_spark.errors import KsqlError
from ksql_spark.formats import RecordSpec
from ksql_spark.functions.spark_text import equal_form
from ksql_spark.metastore.serdes import serdes
from ksql_spark.metastore.sources import DataSource
from ksql_spark.plan.stages import REALTIME
from ksql_spark.schema import (
    FORWARDED_HEADERS,
    NULL_KEY,
    NULL_VALUE,
    ROWPARTITION,
    STREAM_TIME,
    WINDOWEND,
    WINDOWSTART,
)
from ksql_spark.spark import jvm
from ksql_spark.spark.frames import event_time_column, quoted
from ksql_spark.spark.processing_log import LOG_SETTING, QUERY_SETTING, QueryLog
from ksql_spark.spark.query import SparkQuery, new_run_id
from ksql_spark.spark.sources import (
    NO_TIME,
    NOT_A_TIME,
    STREAM_TIME_HEADER,
    client_options,
    event_time,
    is_time,
    stopped_for_time,
)
from ksql_spark.storage import Folder

SINK = "org.ksqlspark.kafka.TopicSink"
#: how long records of a micro-batch wait for others at least: its end waits for nothing, so it costs no time
BATCH_LINGER_MS = 100
#: how many bytes of records are sent together at the most
BATCH_BYTES = 131_072
#: a broker that starts has forgotten producers of old events, and takes any batch of theirs for the next one:
#: a broker may take a later one of several requests first, and refuse the others for two minutes (ADR 68)
ONE_REQUEST = {"max.in.flight.requests.per.connection": "1"}
#: the value of a table's row that has only a key; its format is JSON
_ONLY_KEY = b"{}"


def encode(
    frame: DataFrame,
    sink: DataSource,
    partitions: int | None = None,
    log: QueryLog | None = None,
    *,
    stops_on_no_time: bool = False,
    keeps_partition: bool = False,
    records: RecordSpec | None = None,
    also: Sequence[str] = (),
) -> DataFrame:
    """The columns of TopicSink.java: key, value, time [, headers] [, partition].

    Args:
        frame: a step's frame; its columns fit ``sink.schema`` by name.
        sink: formats and window of the topic.
        partitions: of the sink's topic; needed where keys are windowed and it has more than one.
        log: where records without a usable event time are reported.
        keeps_partition: records go to the partition that ROWPARTITION names.
        stops_on_no_time: such a record stops the query instead of being left out.
        records: serdes of the records; None: as ``sink`` says.
        also: texts of more columns.
    """
    schema = sink.schema
    key_serde, value_serde = serdes(sink, records)
    partition = [f"{ROWPARTITION} AS partition"] if keeps_partition else []
    if schema.key:
        keys = [equal_form(quoted(c.name), c.type) for c in schema.key]
        key = key_serde.encode_sql(keys)
        if len(keys) == 1 and key_serde.wrapped:
            # a single column shows whether there is a key at all
            key = f"if({keys[0]} IS NULL, NULL, {key})"
        if sink.window is not None:
            if (partitions or 1) > 1:
                # as Kafka Streams: the partition of a windowed key is that of the key without its window
                partition = [f"ksql.kafka_partition({key}, {partitions}) AS partition"]
            bounds = [WINDOWEND, WINDOWSTART] if sink.window.has_end else [WINDOWSTART]
            key = f"concat({key}, {', '.join(f'cast({b} AS binary)' for b in bounds)})"
        if NULL_KEY in frame.columns:
            key = f"if({NULL_KEY}, NULL, {key})"
    else:
        key = "cast(NULL AS binary)"
    values = [quoted(c.name) for c in schema.value]
    value = value_serde.encode_sql(values)
    if not values and sink.is_table:
        # a NULL value would delete the row
        value = f"X'{_ONLY_KEY.hex()}'"
    time = event_time_column(frame.columns)
    if sink.timestamp is not None:
        # a record without a usable time in its column is not written (§5.7); a deletion has no columns
        frame = frame.selectExpr(
            "*",
            f"if({NULL_VALUE}, {time}, {event_time(sink, quoted(sink.timestamp.column))}) AS __sink_time",
        )
        is_usable = is_time("__sink_time")
        if log is not None:
            row = log.record({c.name: quoted(c.name) for c in schema.columns})
            is_usable += f" OR {log.failed('KsqlTopic.Sink', NO_TIME, NOT_A_TIME, row)}"
        if stops_on_no_time:
            is_usable += f" OR {stopped_for_time(sink.topic)}"
        frame = frame.filter(is_usable)
        time = "__sink_time"
    headers = None
    if schema.headers:
        (column,) = schema.headers
        headers = f"transform({quoted(column.name)}, h -> named_struct('key', h.KEY, 'value', h.VALUE))"
    elif FORWARDED_HEADERS in frame.columns:
        headers = FORWARDED_HEADERS
    if keeps_partition:
        own = f"array(named_struct('key', '{STREAM_TIME_HEADER}', 'value', cast({STREAM_TIME} AS binary)))"
        headers = own if headers is None else f"concat(coalesce({headers}, array()), {own})"
    return frame.selectExpr(
        f"{key} AS key",
        f"if({NULL_VALUE}, NULL, {value}) AS value",
        f"cast({time} AS bigint) AS time",
        *([] if headers is None else [f"{headers} AS headers"]),
        *partition,
        *also,
    )


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
        f"SELECT {text(key)} AS key, {text(value)} AS value, cast({time_ms} AS bigint) AS time"
    )
    save(record, producer, topic)


def save(records: DataFrame, producer: Mapping[str, str], topic: str) -> None:
    """Write records to ``topic`` and wait until the cluster has them.

    Args:
        records: the columns of the sink, from ``encode``; not a stream.
        producer: settings of Kafka's producers, with ``bootstrap.servers``.
        topic: an existing topic.

    Raises:
        KsqlError: KAFKA_REFUSED.
    """
    writer = (
        records.write.format(SINK)
        .mode("append")
        .options(**client_options(producer))
        .option("topic", topic)
        .option("ksql.run", new_run_id())
    )
    try:
        writer.save()
    except PySparkException as error:
        reason = str(error).partition("\n")[0]
        raise KsqlError("KAFKA_REFUSED", action=f"write to topic '{topic}'", reason=reason) from None


def producer_settings(producer: Mapping[str, str], mode: str, linger_ms: int) -> dict[str, str]:
    """The settings of a query's producer.

    Args:
        producer: settings of Kafka's producers, with ``bootstrap.servers``.
        mode: REALTIME or MICROBATCH.
        linger_ms: how long the producer may wait to fill a batch; adds to a quiet stream's latency in real
            time.
    """
    linger_ms = linger_ms if mode == REALTIME else max(linger_ms, BATCH_LINGER_MS)
    return {"linger.ms": str(linger_ms), "batch.size": str(BATCH_BYTES), **ONE_REQUEST, **producer}


def start(
    records: DataFrame,
    *,
    name: str,
    run: str,
    producer: Mapping[str, str],
    topic: str,
    mode: str,
    checkpoint: Folder,
    interval_ms: int,
    feeds: str | None = None,
    slots: int = 1,
    is_opened: bool = False,
    collected: int | None = None,
    topic_config: Mapping[str, str] | None = None,
    fails_on_refusal: bool = False,
    is_discarded: bool = False,
) -> SparkQuery:
    """Start the query that writes ``records`` to ``topic``.

    Args:
        records: the columns of the sink, from ``encode``.
        name: the query's id.
        run: id of the run, which the sources of ``records`` have.
        producer: from ``producer_settings``.
        topic: the sink's topic, which must exist.
        mode: REALTIME or MICROBATCH.
        checkpoint: folder of the query's checkpoints; created if missing.
        interval_ms: time between checkpoints: in real time less than 5,000 counts as 5,000; in micro-batches
            0 means that one follows the other.
        feeds: as in the Context of ``records``.
        slots: as in SparkQuery.
        is_opened: the run has been given a producer (spark/transactions.py).
        collected: where tasks are not in the JVM of the run's transactions: the most bytes of a batch that
            they hand back to it, 0 for any number; None: they write themselves.
        topic_config: the topic's, where records come that it may refuse; None: it takes all.
        fails_on_refusal: a record that the topic refuses stops the query; else it is left out.
        is_discarded: nothing is written; the query only makes its state.
    """
    session = records.sparkSession
    writer = (
        records.writeStream.format("noop" if is_discarded else SINK)
        .queryName(name)
        .option("topic", topic)
        .option("ksql.run", run)
        .option("ksql.feeds", feeds or "")
        .option("ksql.opened", str(is_opened).lower())
        .option("ksql.log", session.conf.get(LOG_SETTING, ""))
        .option("ksql.query", session.conf.get(QUERY_SETTING, ""))
        .options(**client_options(producer))
        .option("checkpointLocation", checkpoint.uri)
        .outputMode("update")
    )
    if topic_config is not None:
        writer = writer.options(**_rules(topic_config, fails_on_refusal))
    if collected is not None:
        writer = writer.option("ksql.collected", str(collected))
    if mode == REALTIME:
        # at the latest; before that the query's readers end a batch, at a good moment (BatchEnd.java)
        writer = writer.trigger(realTime=f"{max(5 * interval_ms, 5000)} milliseconds")  # type: ignore[call-overload]
    else:
        # Spark would wait for the interval by the wall clock, for an hour where that is set back by one: our
        # source waits (DrainableSource.java), and Spark only between looks for records
        writer = writer.trigger(processingTime="0 seconds")
        if interval_ms:
            session.conf.set("spark.sql.streaming.pollingDelay", f"{interval_ms}ms")
    query = writer.start()
    jvm.keep_plan(session, query)
    return SparkQuery(session, query, run, mode, checkpoint, feeds, slots)


def _rules(config: Mapping[str, str], fails_on_refusal: bool) -> dict[str, str]:
    """Return options that define which records a topic refuses (TopicRules.java)."""
    rules = {
        "ksql.needs.key": str("compact" in config.get("cleanup.policy", "")).lower(),
        "ksql.fails.on.refusal": str(fails_on_refusal).lower(),
    }
    if config.get("message.timestamp.type") != "LogAppendTime":
        limits = {"ahead": "message.timestamp.after.max.ms", "behind": "message.timestamp.before.max.ms"}
        rules |= {f"ksql.max.{side}.ms": config[name] for side, name in limits.items() if name in config}
    return rules
