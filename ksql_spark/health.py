"""Whether the parts of a running engine are well, each asked by itself (GET /healthcheck)."""

from __future__ import annotations

from typing import Any

from ksql_spark.errors import KsqlError
from ksql_spark.kafka.admin import KafkaAdmin
from ksql_spark.runtime.queries import ERROR
from ksql_spark.statements import Services

#: how long Kafka may take to answer, seconds
KAFKA_DEADLINE_S = 1.0


class Health:
    """Asks the parts of an engine how they are.

    Args:
        services: the parts.
        admin: of the same cluster, with a short deadline.
    """

    def __init__(self, services: Services, admin: KafkaAdmin) -> None:
        self._services = services
        self._admin = admin

    def body(self) -> dict[str, Any]:
        """The body of GET /healthcheck of a server that runs: it is well where all its parts are."""
        kafka = self._kafka()
        parts = {
            "metastore": self._metastore(),
            "kafka": kafka,
            "commandRunner": kafka and self._command_runner(),
            "spark": self._services.spark.is_alive,
        }
        failed = [q.id for q in self._services.queries.all() if q.state == ERROR and not q.is_transient]
        details: dict[str, Any] = {name: {"isHealthy": is_well} for name, is_well in parts.items()}
        details["queries"] = {"isHealthy": not failed, "inError": failed}
        return {"isHealthy": all(parts.values()) and not failed, "details": details, "serverState": "READY"}

    def _kafka(self) -> bool:
        """Whether the cluster answers in time."""
        try:
            return bool(self._admin.cluster_id())
        except KsqlError:
            return False

    def _metastore(self) -> bool:
        """Whether it knows what the queries read."""
        find = self._services.metastore.find
        return all(find(source.name) for q in self._services.queries.all() for source in q.plan.sources)

    def _command_runner(self) -> bool:
        """Whether the command log can be read, and holds nothing that this server has not carried out."""
        try:
            end = self._services.log.end()
        except KsqlError:
            return False
        return end - 1 <= self._services.commands.last
