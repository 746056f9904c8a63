"""A REST client on the shared engine; sources with names of their own."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from ksql_spark.config import Config
from ksql_spark.engine import Engine
from ksql_spark.engine.bootstrap import registry_settings, schema_registry
from ksql_spark.kafka.admin import KafkaAdmin
from ksql_spark.services.broker import EmbeddedBroker
from ksql_spark.spark.session import SparkProcess, set_registry
from tests.integration.cluster_servers import PREFIX
from tests.integration.own_server import Server
from tests.registry_server import RegistryServer, own_host
from tests.server.live_server import LiveServer
from tests.waiting import TIMEOUT_S

Post = Callable[..., httpx.Response]


@pytest.fixture(scope="session")
def url(engine: Engine) -> Iterator[str]:
    """The REST API of the shared engine."""
    with LiveServer(engine) as server:
        yield server.url


@pytest.fixture
def post(url: str) -> Post:
    """POST /ksql: ``post(text, **properties)``."""

    def send(text: str, **properties: Any) -> httpx.Response:
        body = {"ksql": text, "streamsProperties": {"auto.offset.reset": "earliest"} | properties}
        return httpx.post(f"{url}/ksql", json=body, timeout=TIMEOUT_S)

    return send


@pytest.fixture
def execute(post: Post, engine: Engine) -> Iterator[Callable[[str], list[dict[str, Any]]]]:
    """Run statements that must go well; what they create is dropped after the test."""
    metastore = engine.services.metastore
    before = {source.name for source in metastore.sources()}

    def run(text: str) -> list[dict[str, Any]]:
        answer = post(text)
        assert answer.status_code == 200, answer.text
        entities: list[dict[str, Any]] = answer.json()
        return entities

    yield run
    metastore = engine.services.metastore
    while created := [s for s in metastore.sources() if s.name not in before]:
        source = next(s for s in created if not metastore.dependents(s.name))
        also = " DELETE TOPIC" if source.topic_pattern is None else ""
        run(f"DROP {source.kind} `{source.name}`{also};")
        metastore = engine.services.metastore


@pytest.fixture
def make_engine(
    request: pytest.FixtureRequest,
    broker: EmbeddedBroker,
    spark_process: SparkProcess,
    kafka_admin: KafkaAdmin,
    tmp_path: Path,
) -> Iterator[Callable[..., Engine]]:
    """A maker of started engines that follow one another, on one data folder and command log.

    Those of another name have others. What they make in Kafka has the module's ``PREFIX`` and is removed
    after the test.
    """
    prefix: str = request.module.PREFIX
    engines: list[Engine] = []

    def make(name: str = "", **more: Any) -> Engine:
        config = {
            "bootstrap.servers": broker.bootstrap_servers,
            "ksql.spark.data.dir": str(tmp_path / name),
            "ksql.service.id": prefix + name,
            "ksql.output.topic.name.prefix": prefix + name,
            **more,
        }
        engines.append(Engine(Config(config), spark_process))
        engines[-1].start()
        return engines[-1]

    yield make
    for engine in engines:
        engine.stop()
    mine = (prefix, f"_confluent-ksql-{prefix}")
    kafka_admin.delete_topics(name for name in kafka_admin.topics() if name.startswith(mine))


@pytest.fixture
def server(
    broker: EmbeddedBroker, spark_process: SparkProcess, kafka_admin: KafkaAdmin, tmp_path: Path
) -> Iterator[Server]:
    """A server of the test's own, on the shared broker and Spark; what it makes in Kafka is removed."""
    name = f"own_{uuid.uuid4().hex[:8]}"
    own = Server(
        {
            "bootstrap.servers": broker.bootstrap_servers,
            "ksql.spark.data.dir": str(tmp_path / "data"),
            "ksql.service.id": name,
            "ksql.output.topic.name.prefix": name,
        },
        spark_process,
    )
    yield own
    own.engine.stop()
    kafka_admin.delete_topics(t for t in kafka_admin.topics() if name in t)


@pytest.fixture
def clean_kafka(kafka_admin: KafkaAdmin) -> Iterator[str]:
    """Addresses of Kafka for servers of one cluster (cluster_servers.py); what they make there is removed."""
    yield kafka_admin.servers
    mine = (PREFIX, f"_confluent-ksql-{PREFIX}")
    kafka_admin.delete_topics(name for name in kafka_admin.topics() if name.startswith(mine))


@pytest.fixture
def registry(engine: Engine) -> Iterator[RegistryServer]:
    """A registry that the shared engine uses during the test, instead of the one that it uses otherwise."""
    services = engine.services
    session, former = services.spark.process.running_session, services.registry
    with RegistryServer(host=own_host()) as server:
        config = Config({"ksql.schema.registry.url": server.url})
        services.registry = services.views._registry = schema_registry(config)
        former_settings = set_registry(session, registry_settings(config))
        yield server
        services.registry = services.views._registry = former
        set_registry(session, former_settings)
