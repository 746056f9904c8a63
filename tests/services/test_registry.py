"""The embedded schema registry: start, stop, restart, and that it starts only when something needs it."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from ksql_spark.config import Config
from ksql_spark.engine.bootstrap.lifecycle import Lifecycle
from ksql_spark.engine.bootstrap.registry import RegistryOfSpark
from ksql_spark.errors import KsqlError
from ksql_spark.formats import FramedSerde, SerdeSpec, bind
from ksql_spark.formats.capabilities import KINDS
from ksql_spark.kafka.schema_registry import ConfluentRegistry
from ksql_spark.schema_registry import AVRO, RegisteredSchema
from ksql_spark.services import java
from ksql_spark.services.child import is_alive
from ksql_spark.services.registry import EmbeddedRegistry, RegistryOnDemand
from ksql_spark.spark.session import SparkProcess
from tests.formats import samples

WAIT_S = 30.0
TAKEN, REFUSED = (
    RegisteredSchema(
        0, AVRO, f'{{"type": "record", "name": "R", "fields": [{{"name": "a", "type": "{type_}"}}]}}'
    )
    for type_ in ("int", "string")
)


@pytest.mark.long
@pytest.mark.kafka
def test_schemas_and_address_outlive_a_restart(tmp_path: Path) -> None:
    lines: list[str] = []
    with EmbeddedRegistry(tmp_path / "registry", port=0, report=lines.append) as registry:
        client, url = ConfluentRegistry(registry.url), registry.url
        schema_id = client.register("topic-value", TAKEN)
        assert client.incompatibility("topic-value", REFUSED) is not None
        with pytest.raises(KsqlError) as refused:
            client.register("topic-value", REFUSED)
        assert refused.value.condition == "SCHEMA_INCOMPATIBLE"
        for format_, kind in KINDS.items():
            for type_, wrapped in product(samples.carried(format_), (True, False)):
                serde = bind(SerdeSpec(format_, (samples.column(type_),), wrapped))
                assert isinstance(serde, FramedSerde)
                client.register(f"{format_} {type_} {wrapped}", RegisteredSchema(0, kind, serde.new_schema))
        with pytest.raises(KsqlError) as taken:
            EmbeddedRegistry(tmp_path / "registry").start()
        assert taken.value.condition == "DATA_DIR_IN_USE"
        pid = registry.pid
        assert pid is not None
    assert not is_alive(pid)
    assert lines[-2:] == [
        "starting the schema registry",
        f"the schema registry runs at {url}, data in {tmp_path / 'registry'}",
    ]
    with EmbeddedRegistry(tmp_path / "registry", port=0) as registry:
        assert registry.url == url
        found = ConfluentRegistry(url).latest("topic-value")
        assert found is not None and found.id == schema_id


class Other(BaseHTTPRequestHandler):
    """Answers as a registry does, but is another server's."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"[]")

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.mark.long
@pytest.mark.kafka
def test_a_registry_of_another_server_is_not_taken_for_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), Other) as other:
        threading.Thread(target=other.serve_forever, daemon=True).start()
        # the port was free when it was looked for
        monkeypatch.setattr("ksql_spark.services.embedded.reserved_port", lambda *_: other.server_port)
        with EmbeddedRegistry(tmp_path / "registry") as registry:
            assert registry.port != other.server_port
            assert ConfluentRegistry(registry.url).register("topic-value", TAKEN) > 0
            assert (tmp_path / "registry" / "registry.port").read_text() == str(registry.port)
        other.shutdown()


def test_it_says_which_java_it_needs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(java, "_candidates", list)
    with pytest.raises(KsqlError, match="No Java 21 or newer was found"):
        EmbeddedRegistry(tmp_path).start()
    assert list(tmp_path.iterdir()) == []


class Fake:
    """An embedded registry that only counts its starts, and refuses as many of them as it is told."""

    url = "http://127.0.0.1:1"

    def __init__(self) -> None:
        self.starts = 0
        self.refused = 0
        self.running = False
        self.is_used = False

    def has_data(self) -> bool:
        return self.is_used

    def is_running(self) -> bool:
        return self.running

    def start(self) -> None:
        self.starts += 1
        if self.refused:
            self.refused -= 1
            raise KsqlError("REGISTRY_FAILED", reason="it was told to fail", log="registry.log")
        self.running = True

    def stop(self) -> None:
        self.running = False


def test_it_starts_when_it_is_needed_and_again_when_it_has_ended() -> None:
    fake: Any = Fake()
    urls: list[str] = []
    registry = RegistryOnDemand(fake, urls.append)
    assert fake.starts == 0
    registry.require()
    registry.require()
    assert fake.starts == 1
    fake.running = False
    registry.require()
    assert (fake.starts, urls) == (2, [fake.url, fake.url])
    registry.close()
    with pytest.raises(KsqlError) as stopped:
        registry.require()
    assert stopped.value.condition == "STOPPED"
    assert fake.starts == 2


def test_one_that_ends_by_itself_is_started_again() -> None:
    """Running queries meet new schemas, and no statement asks for the registry."""
    fake: Any = Fake()
    started = threading.Semaphore(0)
    lines: list[str] = []
    registry = RegistryOnDemand(fake, lambda url: started.release(), lines.append, pause_s=0.01)
    registry.require()
    assert started.acquire(timeout=WAIT_S)
    fake.running = False
    assert started.acquire(timeout=WAIT_S)
    fake.refused = 2  # its port is taken, for example
    fake.running = False
    assert started.acquire(timeout=WAIT_S)
    registry.close()
    assert (fake.starts, fake.running) == (5, False)
    assert lines[0].startswith("the schema registry does not run")


def test_one_that_does_not_start_is_tried_again_if_it_has_schemas() -> None:
    """Queries of an earlier run may need them."""
    fake: Any = Fake()
    fake.is_used, fake.refused = True, 3
    started = threading.Semaphore(0)
    registry = RegistryOnDemand(fake, lambda url: started.release(), pause_s=0.01)
    with pytest.raises(KsqlError, match="told to fail"):
        registry.require()
    assert started.acquire(timeout=WAIT_S)
    registry.close()
    assert fake.starts == 4


def test_its_port_is_a_property(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(EmbeddedRegistry, "start", lambda self: None)
    config = Config({"ksql.spark.schema.registry.port": "8181"})
    registry = RegistryOfSpark(config, tmp_path, SparkProcess(tmp_path)).create(Lifecycle(threading.RLock()))
    assert registry is not None and registry.url == "http://127.0.0.1:8181/apis/ccompat/v7"
