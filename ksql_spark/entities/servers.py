"""Information about servers (reference §7.1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any

import pydantic

from ksql_spark.entities.base import Body, Entity, Omitted


@dataclass(frozen=True, kw_only=True)
class ServerInfo(Body):
    """Version, ids and state of a server."""

    version: str
    kafka_cluster_id: str
    ksql_service_id: str
    server_status: str


@dataclass(frozen=True)
class ServerInfoResponse(Body):
    """The response to GET /info."""

    server_info: Annotated[ServerInfo, pydantic.Field(alias="KsqlServerInfo")]


@dataclass(frozen=True)
class RoleGrant(Body):
    """A role for the streams, tables and topics whose names match a pattern."""

    role: str
    pattern: str


@dataclass(frozen=True, kw_only=True)
class CallerRights(Body):
    """The response to GET /rights: who sends requests with these credentials, and what they may do.

    Args:
        user: their name; anonymous without authentication.
        role: for everything: reader, developer or admin; null: only for patterns of names.
        grants: the roles for patterns.
    """

    user: str
    role: str | None
    grants: tuple[RoleGrant, ...]


@dataclass(frozen=True, kw_only=True)
class Clusters(Body):
    """The ids of Kafka's cluster and of the servers'."""

    kafka_cluster: Annotated[str, pydantic.Field(alias="kafka-cluster")]
    ksql_cluster: Annotated[str, pydantic.Field(alias="ksql-cluster")]


@dataclass(frozen=True, kw_only=True)
class Scope(Body):
    """The scope of an id."""

    path: tuple[str, ...] = ()
    clusters: Clusters


@dataclass(frozen=True, kw_only=True)
class ServerClusterId(Body):
    """The response to GET /v1/metadata/id."""

    id: str = ""
    scope: Scope


@dataclass(frozen=True, kw_only=True)
class ServerMetadata(Body):
    """The response to GET /v1/metadata."""

    version: str
    cluster_id: ServerClusterId


# ---- health --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PartHealth(Body):
    """Whether a part is healthy."""

    is_healthy: bool


@dataclass(frozen=True)
class SkippedCommand(Body):
    """A skipped record of the command log: where it is, why, its statement, what to do about it."""

    topic: str
    partition: int
    offset: int
    reason: str
    statement: str = ""
    remedy: str = ""


@dataclass(frozen=True)
class CommandRunnerHealth(PartHealth):
    """Whether commands run, and which were skipped."""

    skipped: tuple[SkippedCommand, ...]


@dataclass(frozen=True, kw_only=True)
class QueriesHealth(PartHealth):
    """The queries that are not running: ids of failed ones, with the reasons, and of those still starting.

    ``problem``: of the threads that restart queries; None while these work.
    """

    in_error: tuple[str, ...]
    reasons: Mapping[str, str]
    starting: tuple[str, ...]
    problem: str | None


@dataclass(frozen=True, kw_only=True)
class LakesHealth(PartHealth):
    """Sinks, and sources that follow a lake or a database: the names of those that fail, with the reasons."""

    reasons: Mapping[str, str]


@dataclass(frozen=True)
class ServiceHealth(PartHealth):
    """Spark, or another service: why it is not running although it should be."""

    problem: str | None


@dataclass(frozen=True, kw_only=True)
class HealthDetails(Body):
    """The health of each part; the last three only if they are used."""

    metastore: PartHealth
    kafka: PartHealth
    command_runner: CommandRunnerHealth
    spark: PartHealth
    queries: QueriesHealth
    lakes: Omitted[LakesHealth] = None
    registry: Omitted[ServiceHealth] = None
    connect: Omitted[ServiceHealth] = None


@dataclass(frozen=True, kw_only=True)
class HealthCheckResponse(Body):
    """The response to GET /healthcheck."""

    is_healthy: bool
    details: HealthDetails
    server_state: str

    def in_short(self) -> HealthCheckResponse:
        """Return which parts are healthy, without reasons: these may contain names, statements and values."""
        details, queries = self.details, self.details.queries
        short = replace(
            details,
            command_runner=replace(details.command_runner, skipped=()),
            spark=PartHealth(details.spark.is_healthy),
            queries=replace(queries, in_error=(), reasons={}, starting=(), problem=None),
            lakes=details.lakes and replace(details.lakes, reasons={}),
            registry=details.registry and ServiceHealth(details.registry.is_healthy, None),
            connect=details.connect and ServiceHealth(details.connect.is_healthy, None),
        )
        return replace(self, details=short)


# ---- several servers -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class HostInfo(Body):
    """The address of a server."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


@dataclass(frozen=True)
class TopicPartition(Body):
    """A partition of a topic."""

    topic: str
    partition: int


@dataclass(frozen=True, kw_only=True)
class LagInfo(Body):
    """The position of a view in a partition, and the partition's end."""

    current_offset_position: int
    end_offset_position: int
    offset_lag: int


@dataclass(frozen=True)
class StateStoreLags(Body):
    """The lag of a view behind its topic."""

    lag_by_partition: Mapping[str, LagInfo]


@dataclass(frozen=True, kw_only=True)
class HostStoreLags(Body):
    """The lags of a server's views, by table, and when they were measured, epoch milliseconds."""

    state_store_lags: Mapping[str, StateStoreLags]
    update_time_ms: int


@dataclass(frozen=True, kw_only=True)
class ActiveStandby(Body):
    """The stores of a query."""

    active_stores: tuple[str, ...]
    active_partitions: tuple[TopicPartition, ...]
    stand_by_stores: tuple[str, ...] = ()
    stand_by_partitions: tuple[TopicPartition, ...] = ()


@dataclass(frozen=True, kw_only=True)
class HostStatus(Body):
    """The last known status of a server.

    Args:
        last_status_update_ms: when it was last heard of, epoch milliseconds.
        active_standby_per_query: its queries that write tables, by id.
        host_store_lags: as that server has reported them; empty if it has not.
        drained: whether it takes no queries, if servers share them.
    """

    host_alive: bool
    last_status_update_ms: int
    active_standby_per_query: Mapping[str, ActiveStandby]
    host_store_lags: HostStoreLags | Mapping[str, Any]
    drained: Omitted[bool] = None


@dataclass(frozen=True)
class ClusterStatusResponse(Body):
    """The response to GET /clusterStatus: each server's status, by host:port."""

    cluster_status: Mapping[str, HostStatus]


@dataclass(frozen=True, kw_only=True)
class KeyQueryMetadata(Body):
    """The response to POST /metadata/key.

    Args:
        table, topic, partition: the location of the key.
        active_host: the server that runs the query that writes the table; the asked server if there is no
            such query; None while no server runs it.
        standby_hosts: the other servers, which can also serve the key.
    """

    table: str
    topic: str
    partition: int
    active_host: HostInfo | None
    standby_hosts: tuple[HostInfo, ...]


@dataclass(frozen=True, kw_only=True)
class StreamsMetadata(Body):
    """The tables that a server writes, and the partitions that it reads."""

    host_info: HostInfo
    state_store_names: tuple[str, ...]
    topic_partitions: tuple[TopicPartition, ...]
    standby_state_store_names: tuple[str, ...] = ()
    standby_topic_partitions: tuple[TopicPartition, ...] = ()


@dataclass(frozen=True)
class StreamsMetadataList(Body):
    """The response to GET /metadata."""

    metadata: tuple[StreamsMetadata, ...]


@dataclass(frozen=True, kw_only=True)
class DrainStatus(Body):
    """The response to POST /cluster/drain."""

    host: str
    drained: bool
    message: str


@dataclass(frozen=True)
class Validated(Body):
    """The response to POST /ksql/validate if all statements are valid: how many there are."""

    statements: int


@dataclass(frozen=True, kw_only=True)
class SplitStatement(Body):
    """One of the statements of a text, in the response to POST /ksql/split; it need not be valid.

    Args:
        start: where its first word begins; offsets count UTF-16 units, as browsers do.
        end: behind its ``;``, or behind its last token if it has none.
        is_complete: whether it has its ``;``.
        verb: its first word, in upper case.
        object: the kind of object that it names, such as STREAM.
        name: the name of that object.
        is_query: whether it is a SELECT.
        is_push: whether it has EMIT CHANGES or EMIT FINAL.
        has_query: whether it contains a SELECT.
        is_replacement: whether it has OR REPLACE.
        deletes_topic: whether it is a DROP with DELETE TOPIC.
        property: what SET and UNSET change.
        value: the value that SET gives it.
        role: the least role that it needs, whatever its names are.
    """

    start: int
    end: int
    is_complete: bool
    verb: str
    object: str
    name: str
    is_query: bool
    is_push: bool
    has_query: bool
    is_replacement: bool
    deletes_topic: bool
    property: str | None
    value: str | None
    role: str


@dataclass(frozen=True)
class SplitText(Body):
    """The response to POST /ksql/split: the statements of a text, in their order."""

    statements: tuple[SplitStatement, ...]


@dataclass(frozen=True)
class Noted(Body):
    """The response to POST /heartbeat and /lag."""

    ok: bool = True


@dataclass(frozen=True, kw_only=True)
class PropertyDescription(Body):
    """The definition of a property; SHOW PROPERTIES has its value.

    Args:
        choices: the allowed values; empty: any of its type.
        minimum: the smallest number.
        in_force: whether anything reads it; others are accepted for ksqlDB's sake.
    """

    name: str
    type: str
    description: str
    editable: bool
    choices: tuple[str, ...]
    minimum: float | None
    in_force: bool


@dataclass(frozen=True)
class PropertyDescriptions(Body):
    """The response to GET /properties."""

    properties: tuple[PropertyDescription, ...]


@dataclass(frozen=True)
class Service(Body):
    """A row of SHOW SERVICES.

    Args:
        name: what it is, such as "Kafka".
        address: where it is; null: it has not been needed yet.
        started_here: whether this server starts it; others are configured.
    """

    name: str
    address: str | None
    started_here: bool


@dataclass(frozen=True, kw_only=True)
class ServicesList(Entity, type="services"):
    """The answer to SHOW SERVICES."""

    services: tuple[Service, ...]
