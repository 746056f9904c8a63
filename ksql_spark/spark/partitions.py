"""Which partition of a topic a key belongs to."""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession

from ksql_spark.spark.java_classes import java_class


def partition_of(session: SparkSession, key: bytes, partitions: int) -> int:
    """The partition that Kafka's Java producers choose for a key, of so many."""
    jvm: Any = session._jvm
    partitioner = java_class(jvm, "org.apache.kafka.clients.producer.internals.BuiltInPartitioner")
    return int(partitioner.partitionForKey(bytearray(key), partitions))
