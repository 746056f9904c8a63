"""Which Connect a configuration means: a cluster, a worker of its own, at once or on demand, or none."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from ksql_spark.config import Config
from ksql_spark.engine.bootstrap.connect import create_connect
from ksql_spark.engine.bootstrap.lifecycle import Lifecycle
from ksql_spark.errors import KsqlError
from ksql_spark.kafka_connect import ConfiguredConnect, ConnectCluster, NoConnect
from ksql_spark.services.connect_on_demand import ConnectOnDemand
from ksql_spark.services.connect_worker import EmbeddedConnect
from tests.statements.world import World


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[ConnectOnDemand]:
    """The clusters whose worker was started at once."""
    found: list[ConnectOnDemand] = []
    monkeypatch.setattr(ConnectOnDemand, "start_in_background", lambda self: found.append(self))
    return found


def cluster(folder: Path, **properties: Any) -> ConnectCluster:
    named = {f"ksql.{name.replace('_', '.')}": value for name, value in properties.items()}
    return create_connect(Config(named), folder, "b:1", None, Lifecycle(threading.RLock()))


def worker(connect: ConnectCluster) -> EmbeddedConnect:
    assert isinstance(connect, ConnectOnDemand) and isinstance(connect.worker, EmbeddedConnect)
    connect.worker.data_dir.mkdir(exist_ok=True)
    return connect.worker


def test_by_default_a_worker_on_demand(tmp_path: Path, started: list[ConnectOnDemand]) -> None:
    connect = cluster(tmp_path, spark_connect_plugins="/a, /b", spark_connect_memory="99m")
    settings = worker(connect)._settings
    assert not started and not connect.is_in_use()
    assert (settings.bootstrap_servers, settings.memory, settings.replicas) == ("b:1", "99m", 1)
    assert settings.plugins == [Path("/a"), Path("/b")]
    (tmp_path / "connect" / "connectors.json").write_text('{"C": {}}')
    assert started == [cluster(tmp_path)]


def test_a_cluster_that_is_named(tmp_path: Path, started: list[ConnectOnDemand]) -> None:
    connect = cluster(tmp_path, connect_url="http://there:8083")
    assert isinstance(connect, ConfiguredConnect) and connect.client().url == "http://there:8083"
    assert isinstance(cluster(tmp_path, spark_connect_enabled=False), NoConnect)
    assert not started


def test_a_worker_that_is_configured_starts_at_once(tmp_path: Path, started: list[ConnectOnDemand]) -> None:
    file = tmp_path / "worker.properties"
    file.write_text("group.id=mine\nproducer.sasl.jaas.config=secret\n")
    connect = cluster(tmp_path, connect_worker_config=str(file), spark_connect_enabled=False)
    assert started == [connect] and worker(connect)._properties()[0]["group.id"] == "mine"
    named = cluster(tmp_path, connect_worker_config=str(file), connect_url="http://there:8083")
    assert len(started) == 2 and isinstance(named, ConfiguredConnect)
    world = World(tmp_path)
    world.services.connect = connect
    rows = {row["name"]: row for row in world.one("SHOW PROPERTIES;")["properties"]}
    world.close()
    assert rows["group.id"]["scope"] == "EMBEDDED CONNECT WORKER" and rows["group.id"]["value"] == "mine"
    assert rows["producer.sasl.jaas.config"]["value"] == "[hidden]"
    with pytest.raises(KsqlError, match="Cannot read the properties file"):
        cluster(tmp_path, connect_worker_config=str(tmp_path / "none"))


def test_security_of_kafka_s_clients_reaches_the_worker(tmp_path: Path) -> None:
    config = {"bootstrap.servers": "k:9092"}
    secure = {
        "security.protocol": "SASL_SSL",
        "ssl.truststore.location": "/ca.pem",
        "sasl.mechanism": "PLAIN",
    }
    lifecycle = Lifecycle(threading.RLock())
    connect = create_connect(Config(config | secure), tmp_path, "k:9092", None, lifecycle)
    properties, _ = worker(connect)._properties()
    for client in ("", "consumer.", "producer.", "admin."):
        assert properties[f"{client}security.protocol"] == "SASL_SSL"
        assert properties[f"{client}ssl.truststore.type"] == "PEM"
    assert properties["config.storage.replication.factor"] == "-1"
