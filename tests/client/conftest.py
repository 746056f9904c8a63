"""A served engine on a cluster without Java."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ksql_spark.engine.query_service import QueryService
from ksql_spark.kafka.producer import RecordProducer
from ksql_spark.runtime.reading.views import Views
from tests.kafka.mock_cluster import PARTITIONS, MockAdmin, MockCluster
from tests.server.live_server import LiveServer
from tests.statements.world import World
from tests.tools.world_engine import WorldEngine

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
    engine = WorldEngine(world)
    for name in ("query", "look_up", "inserter", "close_query"):
        setattr(engine, name, getattr(queries, name))
    with LiveServer(engine) as server:
        yield server.url
    queries.close_all()
    services.views.close()
    services.producer.close()
    admin.close()
    world.close()
