"""Static members of Kafka's groups: only the client on the JVM can let Kafka forget one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark.sql import SparkSession

from ksql_spark.spark.java_classes import java_class

TIMEOUT_MS = 5000


def remove_member(session: SparkSession, settings: Mapping[str, str], group: str, instance: str) -> None:
    """Remove a static member, by its ``group.instance.id``.

    Raises:
        Exception: of the JVM; Kafka forgets the member after its session.
    """
    jvm: Any = session._jvm
    properties = java_class(jvm, "java.util.HashMap")()
    wanted = {**settings, "request.timeout.ms": str(TIMEOUT_MS), "default.api.timeout.ms": str(TIMEOUT_MS)}
    for name, value in wanted.items():
        properties.put(name, value)
    admin = java_class(jvm, "org.apache.kafka.clients.admin.Admin").create(properties)
    try:
        members = java_class(jvm, "java.util.HashSet")()
        members.add(java_class(jvm, "org.apache.kafka.clients.admin.MemberToRemove")(instance))
        options = java_class(jvm, "org.apache.kafka.clients.admin.RemoveMembersFromConsumerGroupOptions")
        admin.removeMembersFromConsumerGroup(group, options(members)).all().get()
    finally:
        admin.close()
