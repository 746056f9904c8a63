"""Lets queries commit results, state and offsets in transactions of Kafka (TransactionalProducer.java)."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import SparkSession

from ksql_spark.spark import jvm
from ksql_spark.spark.processing_log import LOG_SETTING, QUERY_SETTING
from ksql_spark.spark.sinks import BATCH_BYTES, BATCH_LINGER_MS, ONE_REQUEST

#: the largest transaction timeout that brokers allow by default: a batch must be done in this time
_TIMEOUT_MS = 900_000
#: Kafka's default of max.request.size
_MAX_BYTES = 1_048_576
#: a limit that brokers tell us only when they refuse something
_UNKNOWN = 2**31 - 1
#: settings that transactions need, whatever the user sets
_FIXED = {"acks": "all", "enable.idempotence": "true"}


def open_transactions(
    session: SparkSession,
    run: str,
    transactional_id: str,
    commits: str,
    producer: Mapping[str, str],
    most_bytes: int | None,
) -> str:
    """Give a run a producer with transactions, before anything reads its checkpoint.

    An earlier run of the query can write nothing any more, and its open transaction is aborted. ``release``
    ends what this begins.

    Args:
        session: the query's own session.
        run: id of the run.
        transactional_id: the query's.
        commits: the topic of its commits, which must exist.
        producer: settings of Kafka's producers, with ``bootstrap.servers``.
        most_bytes: the size of the largest record that the sink's topic takes, or None if unknown.

    Returns:
        why the cluster does not do it, so that the run has no producer; empty: it does.

    Raises:
        PySparkException, JvmError: the JVM is gone.
    """
    limits = _limits(producer, most_bytes)
    settings = {
        "linger.ms": str(BATCH_LINGER_MS),
        "batch.size": str(min(BATCH_BYTES, *limits)),
        "transaction.timeout.ms": str(_TIMEOUT_MS),
        **ONE_REQUEST,
        **producer,
        **_FIXED,
        # the last record of a transaction is not the sink's
        "max.request.size": str(max(limits[0], _MAX_BYTES)),
        "transactional.id": transactional_id,
    }
    log, query = (session.conf.get(name, "") or "" for name in (LOG_SETTING, QUERY_SETTING))
    refused = jvm.open_transactions(session, run, commits, settings, limits, log, query)
    if not refused:
        files = "org.ksqlspark.transaction.TransactionalFiles"
        session.conf.set("spark.sql.streaming.checkpointFileManagerClass", files)
    return refused


def open_fenced(
    session: SparkSession,
    run: str,
    transactional_id: str,
    producer: Mapping[str, str],
    most_bytes: int | None,
    feeds: str | None,
) -> str:
    """Give a run that is at least once a producer that fences those of earlier runs. ``release`` ends it.

    Args:
        session: the query's own session.
        run: id of the run.
        transactional_id: the sub-topology's.
        producer: from ``producer_settings``.
        most_bytes: the size of the largest record that the sink's topic takes, or None if unknown.
        feeds: the internal topic that the run writes; None: another one.

    Returns:
        why the cluster does not do it, so that the run has no producer; empty: it does.

    Raises:
        PySparkException, JvmError: the JVM is gone.
    """
    limits = _limits(producer, most_bytes)
    log, query = (session.conf.get(name, "") or "" for name in (LOG_SETTING, QUERY_SETTING))
    return jvm.open_fenced(session, run, transactional_id, dict(producer), limits, log, query, feeds or "")


def _limits(producer: Mapping[str, str], most_bytes: int | None) -> tuple[int, int]:
    """The largest request, and the largest batch that the sink's topic takes, bytes."""
    return int(producer.get("max.request.size", _MAX_BYTES)), _UNKNOWN if most_bytes is None else most_bytes


def release(session: SparkSession, run: str) -> None:
    """Abort the transaction of a run that did not start, and close its producer."""
    jvm.runs(session).release(run, "")
