"""Failures of queries: their message, and whether the user or the system caused them."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from pyspark.errors import PySparkException

from ksql_spark.errors import KsqlError
from ksql_spark.functions.postgres.functions import REFUSED, refused
from ksql_spark.masking import masked
from ksql_spark.spark import jvm

log = logging.getLogger(__name__)

USER, SYSTEM, UNKNOWN = "USER", "SYSTEM", "UNKNOWN"

#: Conditions and Java exceptions that are caused by whoever writes statements or records: a missing topic,
#: missing permissions, records that cannot be read or written, records that were removed.
_OF_USERS = re.compile(
    r"UnknownTopicOrPartition|UnknownTopicId|InvalidTopic|InvalidPartitions|TOPIC_UNKNOWN|TOPIC_MISSING|SOURCE_TOPIC_DELETED|DATA_LOST"
    r"|AuthorizationException|AuthenticationException"
    r"|USER_RAISED_EXCEPTION|RecordTooLarge|SerializationException|KAFKA_DATA_LOSS|DELETED_TOPIC|DATA_LOSS"
    r"|not present in metadata|OffsetOutOfRange|ArithmeticException|NumberFormatException|DateTimeException"
    r"|PARTITION_COUNT|PARTITIONS_CHANGED|STREAMING_STATE\w*SCHEMA|USER_FUNCTION"
)
#: Conditions and Java exceptions that are caused by the server, its disk or the cluster.
_OF_SYSTEMS = re.compile(
    r"OutOfMemoryError|StackOverflowError|No space left|DISK_FULL|RocksDBException|java\.io\.IOException"
    r"|TimeoutException|DisconnectException|NetworkException|BrokerNotAvailable|NotEnoughReplicas"
    r"|Connection refused|Connection reset|BROKER_UNREACHABLE|KAFKA_REFUSED|Py4JNetworkError|Py4JError"
    r"|Answer from Java side is empty|STATE_INCOMPATIBLE|STATE_UNREADABLE|CHECKPOINT_DAMAGED|REGISTRY_AWAY"
)


#: Spark's conditions and Java's exceptions for checkpoint files that are damaged, missing or too new
_STATE_UNREADABLE = re.compile(
    r"CANNOT_LOAD_STATE_STORE|CHECKSUM_VERIFICATION_FAILED|STATE_STORE_BASE_CHECKPOINT_ID_MISMATCH"
    r"|STATE_STORE_UNEXPECTED_EMPTY_FILE|STREAMING_STATEFUL_OPERATOR_(MISSING|NOT_MATCH)|MALFORMED_LOG_FILE"
    r"|INVALID_LOG_VERSION|STDS_OFFSET_|STREAMING_CHECKPOINT_MISSING|Incomplete log file|Malformed log file"
    r"|RocksDBException: Corruption|block checksum mismatch|zip\.ZipException|ZipException: "
    r"|JsonParseException|MappingException|(EOF|FileNotFound|NegativeArraySize)Exception.*(checkpoints|state)"
    r"|EOFException(?=[\s\S]*?streaming\.state)"
    r"|(JsonEOF|MalformedInput)Exception(?=[\s\S]*?streaming\.checkpointing)"
)
#: a file that a batch was to read
_FILE_GONE = re.compile(r"FAILED_READ_FILE\.FILE_NOT_EXIST\].*? file (\S+?)\. File does not exist")
_REGISTRY_AWAY = re.compile(r"\[KSQL_REGISTRY_AWAY\] ([^\n]*)")
#: Spark's limit, and that of our tasks (CollectedRecords.java)
_TOO_MANY_RESULTS = re.compile(r"bigger than\s+spark\.driver\.maxResultSize \(([^)]*)\)")
_DATA_LOST = re.compile(r"\[KSQL_DATA_LOST\] ([^\n]*)")
#: the message of a source that has gained partitions (TaskOptions.java)
_PARTITIONS_CHANGED = re.compile(r"\[KSQL_PARTITIONS_CHANGED\] (Topic (\S+) .* than the (\d+) [^\n]*)")


@dataclass(frozen=True)
class QueryError:
    """One failure of a query: epoch ms, the first line of its cause, USER | SYSTEM | UNKNOWN (§6.11)."""

    timestamp_ms: int
    message: str
    type: str = UNKNOWN


def classify(error: BaseException | None) -> str:
    """The type of a failure, by its innermost cause that matches: USER, SYSTEM or UNKNOWN."""
    for cause in reversed(list(jvm.causes(error))):
        text = f"{getattr(cause, 'condition', '')} {type(cause).__name__} {jvm.text_of(cause)}"
        if _OF_USERS.search(text):
            return USER
        if _OF_SYSTEMS.search(text):
            return SYSTEM
    return UNKNOWN


def reason(error: BaseException) -> str:
    """The first informative line of an error's text, without Java's class names, at most 500 characters."""
    if isinstance(error, KsqlError):
        return error.message
    if away := _REGISTRY_AWAY.search(str(error)):
        return masked(away.group(1))[:500]
    if changed := _PARTITIONS_CHANGED.search(str(error)):
        return changed.group(1)
    if many := _TOO_MANY_RESULTS.search(str(error)):
        return (
            f"The results of one batch are larger than spark.driver.maxResultSize ({many.group(1)}). With "
            f"exactly_once_v2, executors' results pass through the server's memory: lower "
            f"ksql.transaction.max.records, or raise that limit and ksql.spark.memory."
        )
    for line in str(error).splitlines():
        line = line.strip()
        if line and not line.startswith(("at ", "===", "JVM stack")):
            message = line.rsplit("Exception: ", 1)[-1].removeprefix("[USER_RAISED_EXCEPTION] ")
            return masked(message.partition(" SQLSTATE: ")[0])[:500]
    return type(error).__name__


#: what Spark says of sub-queries that are values -> what is wrong, and what to do
_OF_SUB_QUERIES = (
    (
        "SCALAR_SUBQUERY_TOO_MANY_ROWS",
        "A sub-query that is a value has more than one row.",
        "Aggregate it, as in (SELECT MAX(x) FROM …), or add LIMIT 1.",
    ),
    (
        "UNSUPPORTED_SUBQUERY_EXPRESSION_CATEGORY",
        "A sub-query, or a LATERAL one, cannot read the rows around it in this place.",
        "Join its source instead, or number the rows with ROW_NUMBER() OVER (…) and QUALIFY.",
    ),
)


def job_failure(error: BaseException) -> KsqlError:
    """INTERNAL with the cause of a failed job in the JVM: its innermost exception that is not Java's own.

    LAKE_FAILED where a file is gone; VALUE_REFUSED where a value has no result for PostgreSQL.
    """
    if gone := _FILE_GONE.search(str(error)):
        why = "it is not there. A compaction may just have replaced it: ask again"
        return KsqlError("LAKE_FAILED", path=gone.group(1), reason=why)
    if (message := jvm.innermost_message(error)) is not None:
        error = RuntimeError(message)
    text = str(error)
    if refusal := REFUSED.search(text):
        return refused(refusal.group(1), reason(RuntimeError(refusal.group(2))))
    for mark, what, hint in _OF_SUB_QUERIES:
        if mark in text:
            return KsqlError("INVALID_STATEMENT", reason=what, hint=hint)
    return KsqlError("INTERNAL", reason=reason(error).removesuffix("."))


@contextmanager
def jobs_reported() -> Iterator[None]:
    """Say why a statement's jobs failed.

    Raises:
        KsqlError: SPARK_RESTARTING if the JVM is gone; as job_failure.
    """
    try:
        yield
    except (PySparkException, jvm.JvmError) as error:
        if jvm.is_gone(error):
            raise KsqlError("SPARK_RESTARTING") from None
        log.exception("a statement's job failed")
        raise job_failure(error) from None


def data_loss(error: BaseException | None) -> str | None:
    """The loss that a reader must not ignore (Losses.java); None if the failure has another cause."""
    for cause in jvm.causes(error):
        if match := _DATA_LOST.search(jvm.text_of(cause)):
            return match.group(1)
    return None


def partitions_changed(error: BaseException | None, query_id: str) -> KsqlError | None:
    """PARTITIONS_CHANGED if a query failed because a topic has gained partitions (TaskOptions.java)."""
    for cause in jvm.causes(error):
        if match := _PARTITIONS_CHANGED.search(jvm.text_of(cause)):
            _, topic, before = match.groups()
            return KsqlError("PARTITIONS_CHANGED", topic=topic, before=before, now="more", id=query_id)
    return None


def is_state_unreadable(error: BaseException) -> bool:
    """Whether a query failed because Spark cannot read its checkpoint."""
    return any(_STATE_UNREADABLE.search(jvm.text_of(cause)) for cause in jvm.causes(error))
