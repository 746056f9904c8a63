"""What this server knows of others with its id (reference §7.1).

Servers that share queries know each other by Kafka's group protocol (runtime/placement.py). Otherwise there
are only the heartbeats and lags that others report, and nothing acts on them.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ksql_spark.errors import KsqlError
from ksql_spark.runtime.placement import Placement
from ksql_spark.runtime.queries import ManagedQuery
from ksql_spark.statements import Services

#: how long the group of the servers may take to settle, seconds
REBALANCE_S = 30.0


@dataclass
class _Other:
    """Another server: when it was heard of last (epoch milliseconds), and the lags that it reported."""

    heard_ms: int
    lags: Mapping[str, Any]


class Cluster:
    """The servers that are known, this one among them. Thread-safe.

    Args:
        services: the parts of this server.
    """

    def __init__(self, services: Services) -> None:
        self._services = services
        self._others: dict[str, _Other] = {}
        self._lock = threading.Lock()

    @property
    def has_heartbeats(self) -> bool:
        """Whether servers watch each other (ksql.heartbeat.enable), or share queries."""
        return bool(self._services.config["ksql.heartbeat.enable"]) or self._services.placement is not None

    @property
    def has_lags(self) -> bool:
        """Whether servers report lags (ksql.lag.reporting.enable)."""
        return bool(self._services.config["ksql.lag.reporting.enable"])

    def heartbeat(self, server: str, timestamp_ms: int) -> None:
        """Note that ``server`` (host:port) was alive at ``timestamp_ms``, epoch milliseconds."""
        with self._lock:
            other = self._others.setdefault(server, _Other(0, {}))
            other.heard_ms = max(other.heard_ms, timestamp_ms)

    def report(self, server: str, lags: Mapping[str, Any]) -> None:
        """Note the lags of ``server``: a ``hostStoreLags`` object."""
        with self._lock:
            other = self._others.setdefault(server, _Other(0, {}))
            other.lags = dict(lags)

    def status(self) -> dict[str, Any]:
        """Each server by host:port, as GET /clusterStatus shows it.

        Raises:
            KsqlError: as KafkaAdmin, where servers share queries.
        """
        now = int(time.time() * 1000)
        window = int(self._services.config["ksql.heartbeat.window.ms"])
        tables = [q for q in self._services.queries.all() if not q.is_transient and q.plan.sink.is_table]
        queries = [query for query in tables if self._services.queries.is_here(query)]
        shown: dict[str, Any] = {
            self._services.host: {
                "hostAlive": True,
                "lastStatusUpdateMs": now,
                "activeStandbyPerQuery": {query.id: _stores(query) for query in queries},
                "hostStoreLags": self._own_lags(now),
            }
        }
        shown = self._sharing(tables, now, shown)
        with self._lock:
            for server, other in self._others.items():
                shown.setdefault(
                    server,
                    {
                        "hostAlive": now - other.heard_ms <= window,
                        "lastStatusUpdateMs": other.heard_ms,
                        "activeStandbyPerQuery": {},
                        "hostStoreLags": other.lags,
                    },
                )
        return shown

    def _sharing(self, tables: Iterable[ManagedQuery], now_ms: int, own: dict[str, Any]) -> dict[str, Any]:
        """The servers that share queries, and which of ``tables`` each of them writes; ``own``: this one."""
        placement = self._services.placement
        if placement is None:
            return own
        notes = placement.notes()
        members = {member.host: member for member in placement.servers().values()}
        of_hosts: dict[str, dict[str, Any]] = {host: {} for host in members}
        for query in tables:
            _, host = placement.state_of(query.id, notes)
            if host in of_hosts:
                of_hosts[host][query.id] = _stores(query)
        others = {
            host: {
                "hostAlive": True,
                "lastStatusUpdateMs": now_ms,
                "activeStandbyPerQuery": stores,
                "hostStoreLags": {},
            }
            for host, stores in of_hosts.items()
        }
        shown = others | own
        for host, status in shown.items():
            has_slots = host in members and members[host].slots > 0
            status["drained"] = placement.is_drained if host in own else not has_slots
        return shown

    def drain(self) -> dict[str, Any]:
        """Hand this server's queries over to others, and take none until serve(); it answers as before.

        Returns:
            ``drained``, ``host``, and a ``message``.

        Raises:
            KsqlError: BAD_REQUEST where servers do not share queries; KAFKA_REFUSED if it takes too long.
        """
        placement = self._placement_or_refuse()
        timeout_s = float(self._services.config["ksql.query.stop.timeout.ms"]) / 1000 + REBALANCE_S
        if not placement.drain(timeout_s):
            reason = "it takes too long, and goes on"
            raise KsqlError("KAFKA_REFUSED", action="hand the queries over", reason=reason)
        serving = [member.host for member in placement.servers().values() if member.slots]
        others = ", ".join(sorted(host for host in serving if host != placement.host))
        message = f"The queries of this server go on at {others}."
        if not others:
            message = "This server has stopped its queries. They wait: no other server is there to run them."
        return {"host": placement.host, "drained": True, "message": message}

    def serve(self) -> dict[str, Any]:
        """Take a share of the queries again; see drain()."""
        placement = self._placement_or_refuse()
        placement.serve()
        message = "This server takes its share of the queries."
        return {"host": placement.host, "drained": False, "message": message}

    def _placement_or_refuse(self) -> Placement:
        if self._services.placement is None:
            raise KsqlError("BAD_REQUEST", reason="This server shares its queries with no other one.")
        return self._services.placement

    def _own_lags(self, now_ms: int) -> dict[str, Any]:
        """How far each view is behind its topic."""
        if not self.has_lags:
            return {}
        lags = {}
        for name, (positions, topic) in self._services.views.positions().items():
            try:
                ends = self._services.views.ends([topic])[topic]
            except KsqlError:  # the topic or the broker has gone; the next answer may know better
                continue
            lags[name] = {
                "lagByPartition": {
                    str(partition): {
                        "currentOffsetPosition": positions.get(partition, 0),
                        "endOffsetPosition": end,
                        "offsetLag": max(0, end - positions.get(partition, 0)),
                    }
                    for partition, end in ends.items()
                }
            }
        return {"stateStoreLags": lags, "updateTimeMs": now_ms}


def _stores(query: ManagedQuery) -> dict[str, Any]:
    """The stores of a query, all of them active: there are no standbys."""
    sink = query.plan.sink
    partitions = [{"topic": sink.topic, "partition": n} for n in range(query.sink_partitions)]
    return {
        "activeStores": [sink.name],
        "activePartitions": partitions,
        "standByStores": [],
        "standByPartitions": [],
    }
