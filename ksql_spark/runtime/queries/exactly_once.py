"""Starts a sub-topology so that its results, state and offsets are committed together, whatever crashes.

Each batch is a Kafka transaction. Its last record, in a topic of commits, is what the checkpoint will say
about the batch. So after a crash the checkpoint can be made to agree with what is visible in the sink.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from pyspark.sql import SparkSession

from ksql_spark.errors import KsqlError
from ksql_spark.kafka.admin import KafkaAdmin
from ksql_spark.kafka.consumer import TopicReader
from ksql_spark.kafka.transactions import fence
from ksql_spark.plan.stages import Stage
from ksql_spark.runtime.queries.checkpoints import BatchCommit, Checkpoint
from ksql_spark.spark.transactions import open_transactions

#: only the last record of the topic matters: the broker removes the others, in small segments
_COMMITS = {
    "cleanup.policy": "compact",
    "retention.ms": "-1",
    "segment.bytes": "1048576",
    "min.cleanable.dirty.ratio": "0.01",
}
#: how many offsets before a topic's end to look for its last record first
_LOOK_BACK = 64


def commits_topic(transactional_id: str) -> str:
    """The topic with the commits of a producer's batches."""
    return f"{transactional_id}-commits"


def create_commits_topic(admin: KafkaAdmin, transactional_id: str, replicas: int) -> None:
    """Create the topic of commits if it is missing.

    Raises:
        KsqlError: BROKER_UNREACHABLE, KAFKA_REFUSED.
    """
    topic = commits_topic(transactional_id)
    if admin.topic(topic) is None:
        admin.create_topic(topic, 1, replicas, _COMMITS)


def begin(
    admin: KafkaAdmin,
    session: SparkSession,
    run: str,
    stage: Stage,
    checkpoint: Checkpoint,
    producer: Mapping[str, str],
) -> None:
    """Open the transactions of a run, and make its checkpoint agree with earlier commits.

    Call it before anything else reads the checkpoint. If the sub-topology is at least once, it ends leftover
    transactions of an earlier plan.

    Args:
        admin: of the cluster.
        session: the run's session.
        run: its id.
        stage: the sub-topology.
        checkpoint: its checkpoint.
        producer: settings of Kafka's producers, with ``bootstrap.servers``.

    Raises:
        KsqlError: TRANSACTIONS_REFUSED, CHECKPOINT_DAMAGED, BROKER_UNREACHABLE, KAFKA_REFUSED.
    """
    before, now = checkpoint.transactional_id, stage.transactional_id
    if now is None and before is None:
        return
    if before is not None and before != now:
        leave(admin, checkpoint)
    if now is not None:
        largest = most_bytes(admin, stage.sink.topic)
        refused = open_transactions(session, run, now, commits_topic(now), producer, largest)
        if refused:
            raise KsqlError("TRANSACTIONS_REFUSED", id=now, reason=refused.rstrip("."))
        if checkpoint.folder.exists():
            checkpoint.settle(last_commit(admin, now))
        checkpoint.set_transactional_id(now)


def leave(admin: KafkaAdmin, checkpoint: Checkpoint) -> None:
    """Make the checkpoint of a stopped sub-topology agree with its last transaction, and forget its producer.

    Raises:
        KsqlError: CHECKPOINT_DAMAGED, BROKER_UNREACHABLE, KAFKA_REFUSED.
    """
    before = checkpoint.transactional_id
    if before is None:
        return
    fence(admin.servers, before, admin.settings)
    if admin.topic(commits_topic(before)) is not None:
        checkpoint.settle(last_commit(admin, before))
        admin.delete_topics([commits_topic(before)])
    checkpoint.set_transactional_id(None)


def settle(admin: KafkaAdmin, stage: Stage, checkpoint: Checkpoint) -> None:
    """Make the checkpoint of a stopped sub-topology agree with its last transaction.

    Raises:
        KsqlError: CHECKPOINT_DAMAGED, BROKER_UNREACHABLE, KAFKA_REFUSED.
    """
    before = checkpoint.transactional_id
    if before is not None and before == stage.transactional_id:
        fence(admin.servers, before, admin.settings)
        checkpoint.settle(last_commit(admin, before))


def last_commit(admin: KafkaAdmin, transactional_id: str) -> BatchCommit | None:
    """The last batch that was committed with this id; None if there is none.

    No transaction with this id may still be open.

    Raises:
        KsqlError: BROKER_UNREACHABLE, KAFKA_REFUSED, TOPIC_UNKNOWN.
    """
    topic = commits_topic(transactional_id)
    first, end = (of[topic, 0] for of in (admin.beginning_offsets(topic), admin.end_offsets(topic)))
    back, start, last = _LOOK_BACK, end, None
    while last is None and start > first:
        start = max(first, end - back)
        with TopicReader(admin.servers, topic, {0: start}, settings=admin.settings) as reader:
            for records in reader.read_to_end():
                last = records[-1].value
        back *= 16
    return None if last is None else BatchCommit(**json.loads(last))


def most_bytes(admin: KafkaAdmin, topic: str) -> int | None:
    """The maximum size of a topic's records; None if we may not ask."""
    try:
        return int(admin.config(topic)["max.message.bytes"])
    except (KsqlError, KeyError, ValueError):
        return None
