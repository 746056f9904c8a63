"""A server's broker, and the servers that use its service id."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ksql_spark.config import Config
from ksql_spark.engine.bootstrap.lifecycle import Lifecycle
from ksql_spark.errors import KsqlError
from ksql_spark.kafka.admin import KafkaAdmin
from ksql_spark.kafka.lease import ServiceLease, lease_group
from ksql_spark.kafka.membership import members
from ksql_spark.runtime.cluster.placement import (
    Placement,
    create_placement_topic,
    placement_group,
    placement_topic,
)
from ksql_spark.runtime.command_log import command_topic, create_command_topic
from ksql_spark.services.broker import EmbeddedBroker
from ksql_spark.services.data_dir import folder_id
from ksql_spark.services.early_broker import EarlyBroker, folder
from ksql_spark.services.supervisor import ServiceSupervisor
from ksql_spark.spark.session import Session


def check_shared(config: Config) -> None:
    """Check that a server that shares queries has the settings that it needs.

    Raises:
        KsqlError: CLUSTER_SETTINGS.
    """
    if not config["ksql.cluster.enabled"]:
        return
    if not (config.is_set("bootstrap.servers") and config["bootstrap.servers"]):
        why = "each server would start its own broker"
        raise KsqlError("CLUSTER_SETTINGS", name="bootstrap.servers", why=why)
    if not config["ksql.state.dir"]:
        why = "a query continues from its state on another server, so all servers must reach it"
        raise KsqlError("CLUSTER_SETTINGS", name="ksql.state.dir", why=why)


def find_broker(config: Config, data_dir: Path, early: EarlyBroker | None, lifecycle: Lifecycle) -> str:
    """Connect to the configured broker, or start one below the data folder; returns its bootstrap servers.

    Raises:
        KsqlError: it cannot be reached or started; STOPPED.
    """
    servers = config["bootstrap.servers"]
    if config.is_set("bootstrap.servers") and servers:
        lifecycle.report(f"connecting to Kafka at {servers}")
        KafkaAdmin(str(servers), config.kafka_client_settings()).cluster_id()  # does it exist?
        return str(servers)
    broker = early.broker if early else EmbeddedBroker.of(config, folder(data_dir), lifecycle.report)
    lifecycle.on_stop(broker.stop)
    lifecycle.kills(broker.kill, lambda: broker.is_archiving)
    lifecycle.check()  # after on_stop: from now on, a stop ends the start
    if early is None:
        broker.start()
    else:
        early.wait(lifecycle.report)
    supervisor = ServiceSupervisor(broker)
    lifecycle.on_stop(supervisor.close)
    supervisor.start()
    lifecycle.report(f"Kafka runs at {broker.bootstrap_servers}, data in {broker.data_dir}")
    return broker.bootstrap_servers


def take_lease(config: Config, data_dir: Path, servers: str, lifecycle: Lifecycle) -> ServiceLease | None:
    """Make sure that this is the only server of its service id on the cluster, or that all of them share it.

    Returns:
        the lease; None: several servers share the service id.

    Raises:
        KsqlError: SERVICE_ID_IN_USE, STOPPED; as KafkaAdmin.
    """
    admin = KafkaAdmin(servers, config.kafka_client_settings())
    lifecycle.on_stop(admin.close)
    service_id = str(config["ksql.service.id"])
    replicas = int(config["ksql.internal.topic.replicas"])
    is_shared = bool(config["ksql.cluster.enabled"])
    create_command_topic(admin, service_id, replicas)
    if is_shared:
        others = admin.members(lease_group(service_id))
    else:
        group, topic = placement_group(service_id), placement_topic(service_id)
        servers_of_group = members(admin.assignments(group), topic).values()
        others = [member.host for member in servers_of_group if member.slots]
    if others:
        who = f"{others[0]}; only one of the two has ksql.cluster.enabled"
        raise KsqlError("SERVICE_ID_IN_USE", id=service_id, servers=servers, who=who)
    if is_shared:
        create_placement_topic(admin, service_id, replicas)
        return None
    lease = ServiceLease(admin, service_id, command_topic(service_id), folder_id(data_dir))
    lifecycle.on_stop(lease.close)
    lease.acquire(lifecycle.report, lifecycle.is_stopping)
    return lease


def advertised_host(config: Config) -> str:
    """The address at which clients reach this server, without a scheme."""
    address = config["ksql.advertised.listener"] or str(config["listeners"]).split(",")[0]
    return str(address).split("//")[-1]


def create_placement(
    config: Config,
    data_dir: Path,
    admin: KafkaAdmin,
    session: Callable[[], Session],
    executed: Callable[[], int],
    lifecycle: Lifecycle,
) -> Placement | None:
    """Create the placement of queries on servers that share them; None if they do not.

    ``executed``: see Placement.
    """
    if not config["ksql.cluster.enabled"]:
        return None
    settings = {**config.client_settings("consumer"), "bootstrap.servers": admin.servers}
    placement = Placement(
        admin,
        str(config["ksql.service.id"]),
        advertised_host(config),
        folder_id(data_dir),
        session,
        lambda: settings,
        int(config["ksql.cluster.balance.interval.ms"]) / 1000,
        executed,
    )
    if placement.was_here():
        lifecycle.report("this server was gone only briefly, so it keeps its share of the queries")
        placement.hold()
    return placement
