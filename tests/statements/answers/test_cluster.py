"""The end of a cluster, and what servers know of each other (reference §7.1)."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from ksql_spark.engine.cluster import Cluster
from ksql_spark.entities.servers import ActiveStandby, HostInfo, HostStoreLags, TopicPartition
from ksql_spark.errors import KsqlError
from tests.statements.world import World

STATEMENTS = """
    CREATE STREAM events (id INT KEY, v INT) WITH (kafka_topic='in', partitions=1, format='JSON');
    CREATE TABLE counts AS SELECT id, COUNT(*) AS n FROM events GROUP BY id;
    CREATE STREAM copies WITH (kafka_topic='out') AS SELECT * FROM events;
"""


def test_terminating_leaves_no_queries_and_deletes_sinks_that_match(make_world: Callable[..., World]) -> None:
    world = make_world()
    world.run(STATEMENTS)
    world.admin.create_topic(world.log.topic)
    (entity,) = world.statements.terminate_cluster(["o.t", "in"])
    assert entity.command_id == "cluster/TerminateCluster/terminate"
    assert world.ids() == []
    # a source's topic is nobody's sink, and COUNTS does not match
    assert {"in", "COUNTS", "out"} & world.admin.topics().keys() == {"in", "COUNTS"}


def test_a_pattern_that_is_none_changes_nothing(make_world: Callable[..., World]) -> None:
    world = make_world()
    world.run(STATEMENTS)
    with pytest.raises(KsqlError) as caught:
        world.statements.terminate_cluster(["("])
    assert caught.value.code == 40000 and len(world.ids()) == 2


def test_servers_are_alive_while_they_say_so(make_world: Callable[..., World]) -> None:
    world = make_world(**{"ksql.heartbeat.window.ms": 60_000, "ksql.lag.reporting.enable": True})
    world.run(STATEMENTS)
    cluster = Cluster(world.services)
    assert not cluster.has_heartbeats and cluster.has_lags
    now = int(time.time() * 1000)
    cluster.heartbeat("a:1", now)
    cluster.heartbeat("b:1", now - 120_000)
    cluster.report("b:1", {"stateStoreLags": {}, "updateTimeMs": 1})
    status = cluster.status()
    assert {server: entry.host_alive for server, entry in status.items()} == {
        world.services.server.host: True,
        "a:1": True,
        "b:1": False,
    }
    assert status["b:1"].host_store_lags == {"stateStoreLags": {}, "updateTimeMs": 1}
    own, query = status[world.services.server.host], next(i for i in world.ids() if i.startswith("CTAS"))
    stores = ActiveStandby(active_stores=("COUNTS",), active_partitions=(TopicPartition("COUNTS", 0),))
    assert own.active_standby_per_query == {query: stores}
    assert isinstance(own.host_store_lags, HostStoreLags) and own.host_store_lags.state_store_lags == {}


def test_which_partition_has_a_key_and_who_writes_it(
    make_world: Callable[..., World], monkeypatch: pytest.MonkeyPatch
) -> None:
    encoded: list[bytes] = []

    def partition_of(session: object, key: bytes, partitions: int) -> int:
        encoded.append(key)
        return partitions - 1

    monkeypatch.setattr("ksql_spark.spark.jvm.partition_of", partition_of)
    world = make_world()
    world.run(STATEMENTS)
    cluster = Cluster(world.services)
    host, port = world.services.server.host.split(":")
    here = HostInfo(host, int(port))
    found = cluster.metadata_for_key("counts", {"id": 7})
    assert (found.table, found.topic, found.partition) == ("COUNTS", "COUNTS", 0)
    assert (found.active_host, found.standby_hosts) == (here, ())
    assert encoded == [b"7"]
    (one,) = cluster.all_metadata()
    assert one.host_info == here and one.state_store_names == ("COUNTS",)
    assert one.topic_partitions == (TopicPartition("in", 0),)


@pytest.mark.parametrize(
    ("table", "key", "condition"),
    [
        ("events", {"id": 1}, "SOURCE_UNKNOWN"),
        ("`counts`", {"id": 1}, "SOURCE_UNKNOWN"),
        ("counts", {}, "INVALID_STATEMENT"),
        ("counts", {"id": 1, "v": 2}, "INVALID_STATEMENT"),
        ("counts", {"id": "x"}, "INVALID_STATEMENT"),
    ],
)
def test_keys_that_are_none(
    make_world: Callable[..., World], table: str, key: dict[str, object], condition: str
) -> None:
    world = make_world()
    world.run(STATEMENTS)
    with pytest.raises(KsqlError) as caught:
        Cluster(world.services).metadata_for_key(table, key)
    assert caught.value.condition == condition
