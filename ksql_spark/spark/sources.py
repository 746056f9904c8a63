"""Reads Kafka topics as frames, and decodes records to a source's columns and event time."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import expr

from ksql_spark import topic_patterns
from ksql_spark.expressions import Call, ColumnRef, Expression
from ksql_spark.formats import RecordSpec, Serde
from ksql_spark.functions.lowering import lower
from ksql_spark.functions.spark_text import string
from ksql_spark.metastore.serdes import serdes
from ksql_spark.metastore.sources import DataSource
from ksql_spark.schema import (
    EVENT_TIME,
    FORWARDED_HEADERS,
    LATEST_TIME_MS,
    NULL_KEY,
    NULL_VALUE,
    ROWOFFSET,
    ROWPARTITION,
    ROWTIME,
    UNCHANGED,
    WINDOWEND,
    WINDOWSTART,
    Role,
)
from ksql_spark.spark import archives
from ksql_spark.spark.frames import Transformations, event_time_column, quoted
from ksql_spark.spark.processing_log import QueryLog
from ksql_spark.types import BIGINT, STRING, TIMESTAMP

#: ends of loggers' names
DESERIALIZER, TIMESTAMPS = "KsqlTopic.Source.deserializer", "KsqlTopic.Source"
CONSTRAINTS = "KsqlTopic.Source.constraints"
VIOLATION = "A record was dropped because it violates a constraint."
NO_TIME = "A record was dropped because it has no event time."
TOO_EARLY = "A record was left out because its time has not come."
NOT_A_TIME = "The column that TIMESTAMP names is NULL, negative, too large, or does not fit its format."
NO_TIMESTAMP = "The record has no timestamp of Kafka, or one that is negative or too large."
#: the header in internal topics that PartitionBuffer.java reads
STREAM_TIME_HEADER = "__ksql_stream_time"
#: columns that frames of topics and archives have in common
_RECORD = ("key", "value", "topic", "partition", "offset", "timestamp", "headers")
STOPS_ON_NO_TIME = "ksql.timestamp.throw.on.invalid"


@dataclass(frozen=True)
class ArchiveRange:
    """The part of an archive that a batch reads.

    Args:
        folder: where it is.
        ends: partition -> offset at which the topic begins.
        first_ms: the lowest timestamp that is wanted, ms of the epoch; None: any.
        last_ms: the highest one.
    """

    folder: str
    ends: Mapping[int, int]
    first_ms: int | None = None
    last_ms: int | None = None

    def read(self, session: SparkSession) -> DataFrame | None:
        """The records; days outside the times are not read. None: there are none.

        Raises:
            KsqlError: ARTIFACTS_UNAVAILABLE.
            JvmError: it cannot be read.
        """
        begins = json.dumps({str(p): offset for p, offset in self.ends.items()})
        frame = archives.records_before(session, self.folder, begins)
        if frame is None:
            return None
        ends = ", ".join(f"{p}, {offset}L" for p, offset in self.ends.items())
        frame = frame.filter(f"offset < map({ends})[partition]")
        for sign, ms in ((">=", self.first_ms), ("<=", self.last_ms)):
            if ms is not None:
                time = f"timestamp_millis({ms})"
                frame = frame.filter(f"timestamp_DAY {sign} to_date({time}) AND timestamp {sign} {time}")
        return frame


@dataclass(frozen=True)
class BatchRanges:
    """The parts of topics and archives that batches read.

    Args:
        starts: topic -> {partition: offset} as JSON; those that are left out are read from their beginning.
        archives: topic -> what is read of its archive; those that are left out: nothing.
    """

    starts: Mapping[str, str] = field(default_factory=dict)
    archives: Mapping[str, ArchiveRange] = field(default_factory=dict)


#: a batch tries once to find its offsets, and fails after a minute without a broker; by default, after four
_BATCH = {"fetchOffset.numRetries": "1"}
#: all that topics have
WHOLE_TOPICS = BatchRanges()


def read(
    session: SparkSession,
    consumer: Mapping[str, str],
    topic: str,
    starts: Mapping[str, str],
    *,
    ends: Mapping[int, int] | None = None,
    options: Mapping[str, str] | None = None,
    archive: ArchiveRange | None = None,
) -> DataFrame:
    """The records of ``topic``: key, value, timestamp, partition, offset, headers.

    Args:
        session: the query's session.
        consumer: settings of Kafka's consumers, ``bootstrap.servers`` among them.
        topic: one topic, or a pattern of topics.
        starts: topic -> {partition: offset} as JSON, or "earliest"; used only where no checkpoint is.
        ends: partition -> offset at which a batch ends; None: where the topic does.
        archive: of a batch, what it reads besides.
        options: of a stream that is read by tasks and can be drained (Context.options); None: a batch of what
            is there now.
    """
    offsets = {name: json.loads(starts[name]) for name in topic_patterns.names(topic, starts)}
    start = json.dumps(offsets) if offsets else "earliest"
    reader: Any = session.read.format("kafka").options(**_BATCH)
    if options is not None:
        reader = session.readStream.format("org.ksqlspark.kafka.DrainableSource").options(**options)
    if ends is not None:
        reader = reader.option("endingOffsets", json.dumps({topic: {str(p): end for p, end in ends.items()}}))
    frame: DataFrame = (
        reader.options(**client_options(consumer))
        .options(**_subscribed(topic))
        .option("startingOffsets", start)
        .option("failOnDataLoss", "false")
        .option("includeHeaders", "true")
        .load()
    )
    if archive is None:
        return frame
    past = archive.read(session)
    return frame if past is None else past.select(*_RECORD).unionAll(frame.select(*_RECORD))


def _subscribed(topic: str) -> dict[str, str]:
    """Return options that select the topics of Spark's source (MatchedTopics.java for a pattern)."""
    pattern = topic_patterns.pattern_of(topic)
    if pattern is None:
        return {"subscribe": topic}
    pattern_texts = topic_patterns.expressions(pattern)
    return {"subscribePattern": pattern_texts.whole, "ksql.never": pattern_texts.never}


def client_options(settings: Mapping[str, str]) -> dict[str, str]:
    """Settings of a Kafka client as options of Spark's sources and sinks."""
    return {f"kafka.{name}": value for name, value in settings.items()}


def decode(
    raw: DataFrame,
    source: DataSource,
    prefix: str,
    exposed: tuple[str, ...],
    log: QueryLog | None = None,
    setting: Callable[[str], Any] = lambda name: None,
    records: RecordSpec | None = None,
    keeps_null_keys: bool = False,
    has_unchanged: bool = False,
) -> DataFrame:
    """Records to columns: keys, values, ``exposed`` pseudo columns (all with ``prefix``), hidden columns.

    A record that its format cannot read is dropped and reported to ``log`` (reference §5.8). So is a record
    without a usable event time (§5.7). Two properties make either stop the query instead. In a table, a
    record with a NULL key is dropped, unless it is to be kept. A row that violates a constraint is dropped
    and reported; deletions have none.

    Args:
        raw: a frame from ``read``.
        source: the stream or table.
        prefix: put before each name of a column that is not hidden; "" or "ALIAS_".
        exposed: names of the pseudo columns to add.
        log: takes the reports; None: nothing is reported.
        setting: effective value of a property, by name.
        records: serdes of the records; None: as ``source`` says.
        keeps_null_keys: a table's records without a key become rows, too.
        has_unchanged: rows tell which columns they leave out (UNCHANGED); constraints are met later.
    """
    schema = source.schema
    key_serde, value_serde = serdes(source, records)
    framed = {
        "key": key_serde.framed_sql("key", "headers") if schema.key else "key",
        "value": value_serde.framed_sql("value", "headers") if schema.value else "value",
    }
    if any(name != text for name, text in framed.items()):
        raw = raw.withColumns({name: expr(text) for name, text in framed.items()})
    key_bytes, bounds = _window(source)
    # a windowed key is NULL only where the record has none (aggregates drop NULL groups): its bounds are
    # NULL too, and so is the key that sinks put together
    key = key_serde.or_null_sql("key") if schema.key and source.window is None else "key"
    value = value_serde.or_null_sql("value") if schema.value else "value"
    needs_topic = source.topic_pattern is not None or any(c.role is Role.TOPIC for c in schema.columns)
    parts = [
        f"{key} AS key", f"{value} AS value", "partition", "offset", "headers",
        "unix_millis(timestamp) AS __time",
        *(f"{text} AS {name}" for name, text in bounds.items()),
        *(["topic"] if needs_topic else []),
    ]  # fmt: skip
    if schema.key:
        parts.append(f"{key_serde.decode_sql(key_bytes)} AS __key")
    if schema.value:
        parts.append(f"{value_serde.decode_sql('value')} AS __value")
    rows = Transformations(raw).select(*parts)

    def reported(serde: Serde, target: str, data: str) -> str:
        """Conditions that only a bad record reaches: they report it, or stop the query."""
        reason = serde.explain_sql(data)
        if source.topic_pattern is not None:
            reason = f"concat('Topic ', topic, ': ', {reason})"
        text = ""
        if log is not None:
            text = f" OR {log.unreadable(DESERIALIZER, source.topic, target, reason, target)}"
        if setting("ksql.fail.on.deserialization.error"):
            what = string(f"The {target} of a record of topic {source.topic} cannot be read: ")
            text += f" OR {_stopped(f'concat({what}, {reason})')}"
        return text

    good = []
    if schema.value:
        good.append(f"(value IS NULL OR __value IS NOT NULL{reported(value_serde, 'value', 'value')})")
    if schema.key:
        good.append(f"(key IS NULL OR __key IS NOT NULL{reported(key_serde, 'key', key_bytes)})")
    if source.is_table and not keeps_null_keys:
        good.append("key IS NOT NULL")
    if good:
        rows.filter(" AND ".join(good))
    deleted = value_serde.deleted_sql("__value") if schema.value else None
    is_null = "(value IS NULL)" if deleted is None else f"(value IS NULL OR {deleted})"
    columns = []
    for column in schema.columns:
        row = {Role.KEY: "__key", Role.VALUE: "__value"}.get(column.role)
        if row:
            text = f"{row}.{quoted(column.name)}"
        elif column.role is Role.TOPIC:
            text = "topic"
        elif column.header_key is None:
            text = "coalesce(transform(headers, h -> struct(h.key AS KEY, h.value AS VALUE)), array())"
        else:
            name = string(column.header_key)
            text = f"element_at(filter(headers, h -> h.key = {name}), -1).value"
        columns.append(f"{text} AS {quoted(prefix + column.name)}")
    # a key that PARTITION BY made from a pseudo column has its name, and replaces it
    names_of_columns = {prefix + column.name for column in schema.columns}
    time = _event_time(source, is_null)
    hidden = {
        ROWTIME: time,
        **({EVENT_TIME: time} if ROWTIME in names_of_columns else {}),
        NULL_VALUE: is_null,
        **({NULL_KEY: "(key IS NULL)"} if len(schema.key) > 1 and not source.is_table else {}),
        ROWPARTITION: "partition",
        ROWOFFSET: "offset",
        FORWARDED_HEADERS: "headers",
        **({UNCHANGED: _unchanged(source, value_serde)} if has_unchanged else {}),
        **{name: name for name in bounds},
    }
    copies = [f"{hidden[name]} AS {quoted(prefix + name)}" for name in exposed]
    named = (f"{text} AS {quoted(name)}" for name, text in hidden.items() if name not in names_of_columns)
    rows.select(*columns, *copies, *named)
    rows.filter(_usable(event_time_column(hidden), source, prefix, log, bool(setting(STOPS_ON_NO_TIME))))
    if source.max_ahead_ms is not None:
        rows.filter(_has_come(event_time_column(hidden), source, prefix, log))
    if source.constraints and not has_unchanged:
        rows.filter(allowed(source, prefix, log))
    return rows.frame()


def _unchanged(source: DataSource, serde: Serde) -> str:
    """Text: the numbers of the source's columns that a row leaves out; NULL: none."""
    numbers = [str(i) for i, column in enumerate(source.schema.columns) if column.role is Role.VALUE]
    return f"transform({serde.unchanged_sql('__value')}, i -> array({', '.join(numbers)})[i])"


def _stopped(message: str) -> str:
    """Spark SQL text of a BOOLEAN that stops the query when evaluated; ``message``: text of a STRING."""
    return f"cast(raise_error({message}) AS boolean)"


def stopped_for_time(topic: str, why: str = NOT_A_TIME) -> str:
    """Spark SQL text of a BOOLEAN that stops the query: a record of ``topic`` has no usable event time."""
    return _stopped(string(f"A record of topic {topic} has no event time. {why}"))


def is_time(text: str) -> str:
    """Spark SQL text of a BOOLEAN: whether ``text`` (BIGINT) is a usable event time (epoch ms)."""
    return f"coalesce({text} BETWEEN 0 AND {LATEST_TIME_MS}, false)"


def _usable(time: str, source: DataSource, prefix: str, log: QueryLog | None, stops: bool) -> str:
    """Text: whether a row, whose event time is the column ``time``, has one that is usable (§5.7)."""
    why = NOT_A_TIME if source.timestamp else NO_TIMESTAMP
    is_usable = is_time(time) + _reported(source, prefix, log, NO_TIME, why)
    if stops:
        is_usable += f" OR {stopped_for_time(source.topic, why)}"
    return is_usable


def _has_come(time: str, source: DataSource, prefix: str, log: QueryLog | None) -> str:
    """Text: whether the event time ``time`` of a row is no further ahead of the clock than MAX_AHEAD."""
    now = lower(Call("UNIX_TIMESTAMP", (), BIGINT), {})
    why = f"Its time is more than {source.max_ahead_ms} ms, which is MAX_AHEAD, ahead of the clock."
    return f"{time} - {now} <= {source.max_ahead_ms}{_reported(source, prefix, log, TOO_EARLY, why)}"


def _reported(source: DataSource, prefix: str, log: QueryLog | None, message: str, why: str) -> str:
    """Text: a condition, after OR, that only a row reaches that is left out because of its time."""
    if log is None:
        return ""
    row = {c.name: quoted(prefix + c.name) for c in source.schema.columns}
    log = log.of_topic(None if _has_no_place(source, prefix) else source.topic)
    return f" OR {log.failed(TIMESTAMPS, message, why, log.record(row))}"


def allowed(source: DataSource, prefix: str, log: QueryLog | None, *, has_place: bool = True) -> str:
    """Text: whether a row meets the constraints, or has no value; the first that fails is reported.

    ``has_place``: rows have the partitions and offsets of their records.
    """
    names = {c.name: quoted(prefix + c.name) for c in source.schema.columns}
    columns: dict[Expression, str] = {ColumnRef(c.name, c.type): names[c.name] for c in source.schema.columns}
    met = []
    for constraint in source.constraints:
        text = f"coalesce({lower(constraint.predicate, columns)}, false)"
        if log is not None:
            has_place = has_place and not _has_no_place(source, prefix)
            of_topic = log.of_topic(source.topic if has_place else None)
            text += f" OR {of_topic.failed(CONSTRAINTS, VIOLATION, constraint.text, log.record(names))}"
        met.append(f"({text})")
    return f"{NULL_VALUE} OR {' AND '.join(met)}"


def _has_no_place(source: DataSource, prefix: str) -> bool:
    """Whether ROWPARTITION and ROWOFFSET do not identify a record, for one of two reasons.

    The record is in one of several topics; or PARTITION BY made a key with the name of a hidden column.
    """
    return source.topic_pattern is not None or bool(
        {ROWPARTITION, ROWOFFSET} & {prefix + column.name for column in source.schema.columns}
    )


def _window(source: DataSource) -> tuple[str, dict[str, str]]:
    """Spark SQL text of the key without its window, and name -> text of the window's bounds (§6.9)."""
    window = source.window
    if window is None:
        return "key", {}
    if window.has_end:
        end = "ksql.kafka_bigint_decode(substring(key, length(key) - 15, 8))"
        start = "ksql.kafka_bigint_decode(substring(key, length(key) - 7, 8))"
        return "substring(key, 1, length(key) - 16)", {WINDOWSTART: start, WINDOWEND: end}
    start = "ksql.kafka_bigint_decode(substring(key, length(key) - 7, 8))"
    if window.calendar is not None:
        end = f"ksql.{quoted(f'window_end:{window.calendar}')}({start})"
    else:
        end = f"({start} + {window.size_ms})"
    return "substring(key, 1, length(key) - 8)", {WINDOWSTART: start, WINDOWEND: end}


def event_time(source: DataSource, text: str) -> str:
    """Spark SQL text of the event time (epoch ms) in the TIMESTAMP column ``text``; NULL if unusable."""
    assert source.timestamp is not None
    column = source.schema.find(source.timestamp.column)
    assert column is not None  # the analyzer checked it
    if column.type == TIMESTAMP:
        return f"unix_millis({text})"
    if column.type == STRING:
        pattern = string(source.timestamp.pattern or "")
        return f"unix_millis(ksql.parse_timestamp({text}, {pattern}, 'UTC'))"
    return text


def _event_time(source: DataSource, is_null: str) -> str:
    """Spark SQL text of a record's event time (epoch ms): its TIMESTAMP column, else Kafka's timestamp.

    ``is_null``: text of whether there is no row.
    """
    if source.timestamp is None:
        return "__time"
    column = source.schema.find(source.timestamp.column)
    assert column is not None  # the analyzer checked it
    event = event_time(source, f"{'__key' if column.role is Role.KEY else '__value'}.{quoted(column.name)}")
    return f"if({is_null}, __time, {event})" if column.role is Role.VALUE else event
