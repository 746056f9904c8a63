"""The processing log (reference §5.8): errors of single records, written to a topic and counted by query.

ProcessingLog.java writes and counts. Queries call it from Spark SQL text, which QueryLog makes. Only records
that failed reach the calls, so they cost the others nothing.
"""

from __future__ import annotations

import contextlib
import json
import math
import uuid
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any, NamedTuple

from pyspark.sql import SparkSession

from ksql_spark.errors import KsqlError
from ksql_spark.expressions import Expression
from ksql_spark.functions.lowering import lower_reporting
from ksql_spark.functions.spark_text import string
from ksql_spark.schema import NULL_VALUE, ROWOFFSET, ROWPARTITION
from ksql_spark.spark import jvm
from ksql_spark.spark.traffic import Traffic, traffic
from ksql_spark.types import quote_identifier

#: settings of a query's session that operators read (KeyedOperator.java)
LOG_SETTING, QUERY_SETTING = "spark.ksql.log", "spark.ksql.query"

#: errors of calls whose JVM has ended, or has not started yet
JVM_ERRORS = (jvm.JvmError, OSError, KsqlError)
#: columns of the stream over the log: JSON of ProcessingLog.java
STREAM_COLUMNS = """
  logger VARCHAR, level VARCHAR, time BIGINT,
  message STRUCT<
    type INT,
    deserializationError STRUCT<
      target VARCHAR, errorMessage VARCHAR, recordB64 VARCHAR, cause ARRAY<VARCHAR>, `topic` VARCHAR,
      `partition` INT, `offset` BIGINT>,
    recordProcessingError STRUCT<errorMessage VARCHAR, record VARCHAR, cause ARRAY<VARCHAR>>,
    productionError STRUCT<errorMessage VARCHAR>,
    serializationError STRUCT<
      target VARCHAR, errorMessage VARCHAR, record VARCHAR, cause ARRAY<VARCHAR>, `topic` VARCHAR>,
    kafkaStreamsThreadError STRUCT<errorMessage VARCHAR, threadName VARCHAR, cause ARRAY<VARCHAR>>>,
  input STRUCT<`topic` VARCHAR, `partition` INT, `offset` BIGINT>, replay INT,
  late STRUCT<
    key VARCHAR, value VARCHAR, eventTime BIGINT, streamTime BIGINT, windowStart BIGINT, windowEnd BIGINT,
    grace BIGINT, omitted BIGINT>"""

#: columns that streams of earlier releases lack
ADDED_COLUMNS = frozenset({"INPUT", "REPLAY", "LATE"})


class Counts(NamedTuple):
    """Errors of one query since the server started; ``last_ms``: epoch ms of the last one, None: no error."""

    unreadable: int
    failed: int
    late: int
    lost: int
    last_ms: int | None


class Graces(NamedTuple):
    """The grace periods with which a query's late records would not have been late.

    Args:
        periods_ms: the shortest first; each is at most an eighth too long.
        counts: for how many records each of them would have been just enough.
    """

    periods_ms: tuple[int, ...]
    counts: tuple[int, ...]

    def within_ms(self, share: float) -> int:
        """Return the period that would have been enough for ``share`` of the records."""
        sums = list(accumulate(self.counts))
        return self.periods_ms[bisect_left(sums, math.ceil(sums[-1] * share))]


@dataclass(frozen=True)
class QueryLog:
    """Makes Spark SQL text that reports errors of single records of one query.

    Args:
        log: the log's name in the JVM.
        query: the query's id.
        shows_rows: whether entries contain the records they are about.
        keeps_late_rows: whether late rows have entries; else they are only counted.
        topic: of the records that rows come from, each from the one that the columns ROWPARTITION and
            ROWOFFSET name, or None if that is not known.
    """

    log: str
    query: str
    shows_rows: bool
    keeps_late_rows: bool = False
    topic: str | None = None

    def of_topic(self, topic: str | None) -> QueryLog:
        """Return this log for rows that come from records of ``topic``."""
        return self if topic == self.topic else replace(self, topic=topic)

    def lower(
        self,
        node: Expression,
        step: str,
        what: str,
        row: Sequence[str] | None,
        computed: Mapping[Expression, str] | None = None,
        *,
        at_root: bool = True,
    ) -> str:
        """Spark SQL text of an expression, lowered with error reports.

        Args:
            node: a bound expression.
            step: the end of the logger's name.
            what: what the expression is for, as users read it.
            row: names of the frame's columns that the entry shows, or None if there is no record, as in
                HAVING, which is about a group.
            computed: see lowering.lower.
            at_root: see lowering.lower_reporting.
        """

        def report(part: Expression, why: str, has_null: str) -> str:
            reported = self.failed(step, f"{what}: {part} failed.", why, self._json(row or ()), has_null)
            # in a record without a value all columns are NULL, which is not a failure
            return reported if row is None else f"not {NULL_VALUE} and {reported}"

        return lower_reporting(node, report, computed, at_root=at_root)

    def failed(self, step: str, message: str, why: str, record: str = "", is_harmless: str = "false") -> str:
        """Spark SQL text of a FALSE that reports a row.

        Args:
            step: the end of the logger's name.
            message: what failed.
            why: the reason.
            record: text of its JSON, empty to show none.
            is_harmless: text of whether the row has an entry, but does not count as an error.
        """
        arguments = [is_harmless, record] if record else [is_harmless]
        return self._call("log_failed", step, message, why, arguments=arguments)

    def caused(self, step: str, message: str, cause: str, row: str = "") -> str:
        """Spark SQL text of a FALSE that reports a row.

        Args:
            step: the end of the logger's name.
            message: what failed.
            cause: text of a STRING with the reason.
            row: before the name of a column of the row, as in "alias."; empty: nothing.
        """
        return self._call("log_caused", step, message, arguments=[cause], row=row)

    def _call(self, name: str, *constants: str, arguments: Sequence[str], row: str = "") -> str:
        """Text of a call of a function of Report.java that also takes which record the row comes from."""
        if self.topic is not None:
            constants = (*constants, self.topic)
            arguments = [*arguments, row + ROWPARTITION, row + ROWOFFSET]
        return f"{self._function(name, *constants)}({', '.join(arguments)})"

    def unreadable(self, step: str, topic: str, target: str, reason: str, data: str) -> str:
        """Spark SQL text of a FALSE that reports a record; ``reason``, ``data``: texts of cause and bytes.

        The columns ``partition`` and ``offset`` say which record it is.
        """
        shown = data if self.shows_rows else "NULL"
        arguments = f"{reason}, {shown}, partition, offset"
        return f"{self._function('log_unreadable', step, target, topic)}({arguments})"

    def record(self, members: Mapping[str, str]) -> str:
        """Spark SQL text of a row's JSON; ``members``: name -> text. Empty if rows are not to be shown."""
        if not self.shows_rows or not members:
            return ""
        listed = ", ".join(f"{string(name)}, {text}" for name, text in members.items())
        return f"cast(ksql.encode_json(named_struct({listed})) as string)"

    def _json(self, row: Sequence[str]) -> str:
        return self.record({name: quote_identifier(name) for name in row})

    def _function(self, name: str, *constants: str) -> str:
        """The name of a function of Report.java, which includes its constant arguments as JSON."""
        return f"ksql.{quote_identifier(f'{name}:{json.dumps([self.log, self.query, *constants])}')}"


class Gathering(NamedTuple):
    """Reports whose entries are kept in memory."""

    reports: QueryLog
    logs: jvm.JavaLog

    def unwritable(self, target: str, topic: str, reason: str) -> None:
        """Report that the key or the value (``target``) of a row cannot be written."""
        step = "KsqlTopic.Sink"
        self.logs.of(self.reports.log).unwritable(self.reports.query, step, target, topic, reason)

    def take(self) -> list[dict[str, Any]]:
        """The entries since the last call."""
        return [json.loads(entry) for entry in self.logs.gathered(self.reports.log)]


class ProcessingLog:
    """A server's processing log; open() gives it a JVM.

    Args:
        name: the log's name, different for each server on a JVM.
        topic: the topic for entries.
        keeps: whether the topic exists; else entries are only counted until ``keep`` is called.
        client: settings of a Kafka client on the JVM.
        shows_rows: whether entries contain the records they are about.
        most_late_rows: of each query and step in a second; 0: they are only counted.
    """

    def __init__(
        self,
        name: str,
        topic: str,
        client: Mapping[str, str],
        *,
        shows_rows: bool,
        keeps: bool = False,
        most_late_rows: int = 0,
    ) -> None:
        self._name = name
        #: the topic for entries, if they are kept now or later
        self.own_topic = topic
        self._keeps = keeps
        self._client = client
        self._shows_rows = shows_rows
        self._most_late_rows = most_late_rows
        self._opened: SparkSession | None = None

    def open(self, session: SparkSession) -> None:
        """Use the JVM of ``session`` from now on, as when it was restarted; counts start anew."""
        self._opened = session
        if self._keeps:
            jvm.open_log(session, self._name, self.own_topic, self._client, self._most_late_rows)

    def keep(self) -> None:
        """Write entries from now on: the topic exists. Late rows of a query follow when it starts again."""
        if self._keeps:
            return
        self._keeps = True
        if self._opened is not None:
            with contextlib.suppress(*JVM_ERRORS):  # a JVM that is started again will be opened
                self.open(self._opened)

    @property
    def _session(self) -> SparkSession:
        if self._opened is None:
            raise KsqlError("NOT_READY")
        return self._opened

    @property
    def _log(self) -> jvm.JavaLog:
        return jvm.processing_logs(self._session)

    def attach(self, session: SparkSession, query: str, topics: Sequence[str]) -> QueryLog:
        """The reports of a query; ``session``: its own session, ``topics``: the topics that it reads."""
        session.conf.set(LOG_SETTING, self._name)
        session.conf.set(QUERY_SETTING, query)
        is_muted = self.own_topic in topics
        if is_muted:
            self._log.mute(self._name, query)  # its failures would be its next input
        keeps_late_rows = self._keeps and self._most_late_rows > 0 and not is_muted
        return QueryLog(self._name, query, self._shows_rows, keeps_late_rows)

    @contextlib.contextmanager
    def gathering(self, query: str) -> Iterator[Gathering]:
        """Reports of a query whose entries the caller writes; they count for nothing."""
        name = f"{self._name}#{uuid.uuid4().hex}"
        self._log.gather(name)
        try:
            yield Gathering(QueryLog(name, query, self._shows_rows), self._log)
        finally:
            with contextlib.suppress(*JVM_ERRORS):
                self._log.close(name)

    @property
    def topic(self) -> str | None:
        """The topic for entries, or None if they are only counted."""
        return self.own_topic if self._keeps else None

    def query_failed(self, query: str, reason: str) -> None:
        """Write an entry: the query stopped with an error."""
        with contextlib.suppress(Exception):  # the JVM may be what failed
            self._log.queryFailed(self._name, query, reason)

    def failed(self, query: str, step: str, message: str, cause: str, row: Mapping[str, Any]) -> None:
        """Write an entry: a row was left out; it waits for a JVM that is started again."""
        record = json.dumps(dict(row), default=str, ensure_ascii=False) if self._shows_rows else None
        self._log.of(self._name).failed(query, step, message, cause, record)

    def lost(self, query: str, topic: str, what: str) -> None:
        """Write an entry: records of a topic are lost for a query, how many is not known."""
        with contextlib.suppress(Exception):  # as above
            self._log.of(self._name).lost(query, topic, what, 0)

    def counts(self, query: str) -> Counts:
        """Return how many of a query's records had errors; zeros while the JVM restarts."""
        try:
            unreadable, failed, late, lost, last_ms = self._log.counts(self._name, query)
        except JVM_ERRORS:
            return Counts(0, 0, 0, 0, None)
        return Counts(unreadable, failed, late, lost, last_ms or None)

    def graces(self, query: str) -> Graces | None:
        """Which grace periods would have been enough for a query's late records; None: none would, or late
        records have not come, or the JVM restarts.
        """
        try:
            found = tuple(self._log.graces(self._name, query))
        except JVM_ERRORS:
            return None
        return Graces(found[::2], found[1::2]) if found else None

    def traffic(self) -> dict[str, Traffic]:
        """Return what each query reads and writes, by query id; nothing while the JVM restarts."""
        try:
            return traffic(self._session, self._name)
        except JVM_ERRORS:
            return {}

    def state_entries(self, query: str, run: str) -> int:
        """Return the number of entries in the state of a Spark query; 0 while the JVM restarts."""
        try:
            return jvm.state_entries(self._session, self._name, query, run)
        except JVM_ERRORS:
            return 0

    def jvm_figures(self) -> dict[str, float]:
        """Figures about the JVM; none while it is started again."""
        try:
            return jvm.figures(self._session)
        except JVM_ERRORS:
            return {}

    def forget(self, query: str) -> None:
        """A query is no more."""
        with contextlib.suppress(*JVM_ERRORS):
            jvm.forget_figures(self._session, self._name, query)

    def close(self) -> None:
        """Write the entries that are still queued, then close the log."""
        with contextlib.suppress(Exception):  # as above
            self._log.close(self._name)


def create_stream(name: str, properties: str) -> str:
    """The statement that creates the stream ``name`` over the log's topic; ``properties``: those of WITH."""
    return f"CREATE STREAM {name} ({STREAM_COLUMNS}) WITH ({properties});"


__all__ = ["ADDED_COLUMNS", "Counts", "Graces", "ProcessingLog", "QueryLog", "create_stream"]
