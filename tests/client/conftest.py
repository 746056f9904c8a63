"""A served engine on a cluster without Java."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from ksql_spark import SERVER_VERSION
from ksql_spark.engine.query_service import QueryService
from ksql_spark.entities.servers import ServerInfo
from ksql_spark.kafka.producer import RecordProducer
from ksql_spark.runtime.reading.views import Views
from tests.kafka.mock_cluster import PARTITIONS, MockAdmin, MockCluster
from tests.server.live_server import LiveServer
from tests.statements.world import World

TABLES = """
CREATE TABLE base (id INT PRIMARY KEY, v STRING, d DECIMAL(20, 2), x DOUBLE)
    WITH (kafka_topic='items', key_format='KAFKA', value_format='JSON');
CREATE SOURCE TABLE items (id INT PRIMARY KEY, v STRING, d DECIMAL(20, 2), x DOUBLE)
    WITH (kafka_topic='items', key_format='KAFKA', value_format='JSON');
CREATE STREAM events (id INT KEY, v STRING)
    WITH (kafka_topic='events', key_format='KAFKA', value_format='JSON');
"""


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    cluster = MockCluster()
    cluster.create("items", "events")
    admin, world = MockAdmin(cluster), World(tmp_path)
    world.admin.servers, world.admin.settings = cluster.servers, admin.settings  # type: ignore[misc]
    world.admin.offsets, world.admin.end_offsets = admin.offsets, admin.end_offsets  # type: ignore[method-assign]
    world.admin.recreation_check = admin.recreation_check  # type: ignore[attr-defined]
    for topic in ("items", "events"):
        world.admin.create_topic(topic, PARTITIONS)
    world.run(TABLES)
    services = world.services
    producer = services.producer = RecordProducer(cluster.servers)
    # as on a real server: a look-up sees what the server has written before
    services.views = Views(admin, tmp_path / "views", written=lambda topic: producer.written.get(topic, {}))
    world.spark.running_session = None  # type: ignore[attr-defined]
    queries = QueryService(services)
    engine = SimpleNamespace(
        state="RUNNING",
        execute=world.statements.execute,
        query=queries.query,
        look_up=queries.look_up,
        inserter=queries.inserter,
        close_query=queries.close_query,
        figures=list,
        info=lambda: ServerInfo(
            version=SERVER_VERSION, kafka_cluster_id="mock", ksql_service_id="x_", server_status="RUNNING"
        ),
    )
    with LiveServer(engine) as server:
        yield server.url
    queries.close_all()
    services.views.close()
    services.producer.close()
    admin.close()
    world.close()
