"""Collects what this server knows about the other servers with its service id (reference §7.1).

Servers that share queries know each other through Kafka's group protocol (runtime/cluster/placement.py).
Otherwise there are only the heartbeats and lags that other servers report, and nothing acts on them.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ksql_spark.entities.servers import (
    ActiveStandby,
    DrainStatus,
    HostInfo,
    HostStatus,
    HostStoreLags,
    KeyQueryMetadata,
    LagInfo,
    StateStoreLags,
    StreamsMetadata,
    TopicPartition,
)
from ksql_spark.errors import KsqlError
from ksql_spark.runtime.cluster.placement import Placement
from ksql_spark.runtime.inserts import column_name, encode_key
from ksql_spark.runtime.queries.managed import ManagedQuery
from ksql_spark.spark import jvm
from ksql_spark.statements import Services

log = logging.getLogger(__name__)

Lags = Mapping[str, Mapping[str, tuple[int, int]]]
#: how long the group of the servers may take to settle, seconds
REBALANCE_S = 30.0


@dataclass
class _Other:
    """Another server: when it was last heard of (epoch milliseconds), and the lags that it reported."""

    heard_ms: int
    lags: Mapping[str, Any]


class Cluster:
    """The known servers, including this one. Thread-safe.

    Args:
        services: the parts of this server.
    """

    def __init__(self, services: Services) -> None:
        self._services = services
        self._others: dict[str, _Other] = {}
        self._lock = threading.Lock()
        #: this server's report to others
        self._own_report: Mapping[str, Any] = {}
        self._closing = threading.Event()
        if services.placement is not None and self.has_lags:
            every_s = int(services.config["ksql.lag.reporting.send.interval.ms"]) / 1000
            threading.Thread(target=self._watch_lags, args=(every_s,), name="lags", daemon=True).start()

    def lags(self) -> Mapping[str, object]:
        """Return what this server reports to others, at once."""
        return self._own_report

    @property
    def has_heartbeats(self) -> bool:
        """Whether servers exchange heartbeats (ksql.heartbeat.enable) or share queries."""
        return bool(self._services.config["ksql.heartbeat.enable"]) or self._services.placement is not None

    @property
    def has_lags(self) -> bool:
        """Whether servers report lags (ksql.lag.reporting.enable)."""
        return bool(self._services.config["ksql.lag.reporting.enable"])

    def heartbeat(self, server: str, timestamp_ms: int) -> None:
        """Record that ``server`` (host:port) was alive at ``timestamp_ms``, epoch milliseconds."""
        with self._lock:
            other = self._others.setdefault(server, _Other(0, {}))
            other.heard_ms = max(other.heard_ms, timestamp_ms)

    def report(self, server: str, lags: Mapping[str, Any]) -> None:
        """Record the lags of ``server``: a ``hostStoreLags`` object."""
        with self._lock:
            other = self._others.setdefault(server, _Other(0, {}))
            other.lags = dict(lags)

    def status(self) -> dict[str, HostStatus]:
        """Each server by host:port.

        Raises:
            KsqlError: as KafkaAdmin, where servers share queries.
        """
        now = int(time.time() * 1000)
        window = int(self._services.config["ksql.heartbeat.window.ms"])
        tables = [q for q in self._services.queries.all() if not q.is_transient and q.plan.sink.is_table]
        queries = [query for query in tables if self._services.queries.is_here(query)]
        own = HostStatus(
            host_alive=True,
            last_status_update_ms=now,
            active_standby_per_query={query.id: _stores(query) for query in queries},
            host_store_lags=self._own_lags(),
        )
        shown = self._sharing(tables, now, {self._services.server.host: own})
        with self._lock:
            for server, other in self._others.items():
                shown.setdefault(
                    server,
                    HostStatus(
                        host_alive=now - other.heard_ms <= window,
                        last_status_update_ms=other.heard_ms,
                        active_standby_per_query={},
                        host_store_lags=other.lags,
                    ),
                )
        return shown

    def _sharing(
        self, tables: Iterable[ManagedQuery], now_ms: int, own: dict[str, HostStatus]
    ) -> dict[str, HostStatus]:
        """The servers that share queries, and which of ``tables`` each of them writes; ``own`` is this
        server.
        """
        placement = self._services.placement
        if placement is None:
            return own
        notes = placement.notes()
        members = {member.host: member for member in placement.servers().values()}
        of_hosts: dict[str, dict[str, ActiveStandby]] = {host: {} for host in members}
        for query in tables:
            _, host = placement.state_of(query.id, notes)
            if host in of_hosts:
                of_hosts[host][query.id] = _stores(query)
        reports = {note.host: note.content["server"] for note in notes.values() if "server" in note.content}
        lags = {host: _shown_lags(server["lags"]) for host, server in reports.items() if "lags" in server}
        others = {
            host: HostStatus(
                host_alive=True,
                last_status_update_ms=now_ms,
                active_standby_per_query=stores,
                host_store_lags=lags.get(host, {}),
            )
            for host, stores in of_hosts.items()
        }

        def is_drained(host: str) -> bool:
            has_slots = host in members and members[host].slots > 0
            return placement.is_drained if host in own else not has_slots

        return {host: replace(status, drained=is_drained(host)) for host, status in (others | own).items()}

    def drain(self) -> DrainStatus:
        """Hand this server's queries over to others, and take none until serve(); the server keeps serving
        requests.

        Raises:
            KsqlError: BAD_REQUEST where servers do not share queries; KAFKA_REFUSED if it takes too long.
        """
        placement = self._placement_or_refuse()
        timeout_s = float(self._services.config["ksql.query.stop.timeout.ms"]) / 1000 + REBALANCE_S
        if not placement.drain(timeout_s):
            reason = "it takes too long, but continues"
            raise KsqlError("KAFKA_REFUSED", action="hand the queries over", reason=reason)
        serving = [member.host for member in placement.servers().values() if member.slots]
        others = ", ".join(sorted(host for host in serving if host != placement.host))
        message = f"The queries of this server continue on {others}."
        if not others:
            message = "This server has stopped its queries. They wait until another server can run them."
        return DrainStatus(host=placement.host, drained=True, message=message)

    def serve(self) -> DrainStatus:
        """Take a share of the queries again; see drain()."""
        placement = self._placement_or_refuse()
        placement.serve()
        message = "This server takes its share of the queries."
        return DrainStatus(host=placement.host, drained=False, message=message)

    def _placement_or_refuse(self) -> Placement:
        if self._services.placement is None:
            raise KsqlError(
                "BAD_REQUEST", reason="This server does not share its queries with other servers."
            )
        return self._services.placement

    # ---- interactive queries, as Kafka Streams has them --------------------------------------------------

    def metadata_for_key(self, table: str, key: Mapping[str, Any]) -> KeyQueryMetadata:
        """The partition of a table's key, and the server that writes it (KafkaStreams.queryMetadataForKey).

        Args:
            table: its name, upper case unless it is quoted with back-quotes.
            key: the values of the key columns, as JSON.

        Raises:
            KsqlError: SOURCE_UNKNOWN, INVALID_STATEMENT; as KafkaAdmin.
        """
        services = self._services
        source = services.published.find(column_name(table))
        if source is None or not source.is_table:
            raise KsqlError("SOURCE_UNKNOWN", kind="Table", name=table)
        encoded = encode_key(source, services.registry, key)
        partitions = services.admin.require_topic(source.topic).partitions
        of_key = jvm.partition_of(services.spark.session(), encoded or b"", partitions)
        writers = [
            q for q in services.queries.all() if not q.is_transient and q.plan.sink.name == source.name
        ]
        owners = self._owners(writers)
        active = next((owners[query.id] for query in writers), services.server.host)
        hosts = {services.server.host}
        if services.placement is not None:
            hosts |= {member.host for member in services.placement.servers().values()}
        return KeyQueryMetadata(
            table=source.name,
            topic=source.topic,
            partition=of_key,
            active_host=None if active is None else _host_info(active),
            standby_hosts=tuple(_host_info(host) for host in sorted(hosts - {active})),
        )

    def all_metadata(self) -> list[StreamsMetadata]:
        """Return for each server the tables that it writes and the partitions that it reads, as
        KafkaStreams.metadataForAllStreamsClients does.

        Raises:
            KsqlError: as KafkaAdmin.
        """
        services = self._services
        queries = [query for query in services.queries.all() if not query.is_transient]
        owners = self._owners(queries)
        hosts = {services.server.host}
        if services.placement is not None:
            hosts |= {member.host for member in services.placement.servers().values()}
        metadata = []
        for host in sorted(hosts):
            mine = [query for query in queries if owners[query.id] == host]
            read = {(t, int(p)) for query in mine for t, offsets in query.starts.items() for p in offsets}
            metadata.append(
                StreamsMetadata(
                    host_info=_host_info(host),
                    state_store_names=tuple(sorted({q.plan.sink.name for q in mine if q.plan.sink.is_table})),
                    topic_partitions=tuple(TopicPartition(t, p) for t, p in sorted(read)),
                )
            )
        return metadata

    def _owners(self, queries: Iterable[ManagedQuery]) -> dict[str, str | None]:
        """Query -> the server that runs it; None if no server does."""
        placement = self._services.placement
        if placement is None:
            return dict.fromkeys((query.id for query in queries), self._services.server.host)
        notes = placement.notes()
        return {query.id: placement.state_of(query.id, notes)[1] for query in queries}

    # ---- lags --------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Stop watching lags."""
        self._closing.set()

    def _watch_lags(self, every_s: float) -> None:
        while not self._closing.wait(every_s):
            try:
                self._own_report = {"lags": [int(time.time() * 1000), self._lags_now()]}
            except Exception:  # the next attempt may succeed, whatever is wrong
                log.exception("could not read the lag of views")

    def _lags_now(self) -> Lags:
        """Return the lags of views: table -> partition -> next offset, end of the topic."""
        lags = {}
        for name, (positions, topic) in self._services.views.positions().items():
            try:
                ends = self._services.views.ends([topic])[topic]
            except KsqlError:  # the topic or broker is gone; the next response may know better
                continue
            lags[name] = {str(p): (positions.get(p, 0), end) for p, end in ends.items()}
        return lags

    def _own_lags(self) -> HostStoreLags | Mapping[str, Any]:
        return _shown_lags([int(time.time() * 1000), self._lags_now()]) if self.has_lags else {}


def _shown_lags(report: Sequence[Any]) -> HostStoreLags:
    """Lags, with the time at which they were known (epoch milliseconds), as Lags."""
    time_ms, lags = report
    stores = {
        table: StateStoreLags(
            {
                partition: LagInfo(
                    current_offset_position=position,
                    end_offset_position=end,
                    offset_lag=max(0, end - position),
                )
                for partition, (position, end) in partitions.items()
            }
        )
        for table, partitions in lags.items()
    }
    return HostStoreLags(state_store_lags=stores, update_time_ms=time_ms)


def _host_info(address: str) -> HostInfo:
    """The parts of host:port."""
    host, _, port = address.rpartition(":")
    return HostInfo(host or address, int(port) if host and port.isdigit() else -1)


def _stores(query: ManagedQuery) -> ActiveStandby:
    """The stores of a query, all of them active: there are no standbys."""
    sink = query.plan.sink
    partitions = tuple(TopicPartition(sink.topic, n) for n in range(query.sink_partitions))
    return ActiveStandby(active_stores=(sink.name,), active_partitions=partitions)
