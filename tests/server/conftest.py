from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ksql_spark.config import Config
from ksql_spark.server.host import Host
from ksql_spark.server.protocol import http
from ksql_spark.server.protocol.http import TlsSettings, has_http2, tls_settings
from tests.certificates import make
from tests.server.app_client import AppClient
from tests.server.fake_engine import FakeEngine
from tests.server.live_server import LiveServer
from tests.server.postgres_port import PgEngine, Port


@pytest.fixture
def engine() -> FakeEngine:
    return FakeEngine()


@pytest.fixture
def host(engine: FakeEngine) -> Iterator[Host]:
    host = Host()
    host.engine = engine
    yield host
    host.release_threads()


@pytest.fixture
def client(host: Host) -> AppClient:
    return AppClient(host)


@pytest.fixture
def live(engine: FakeEngine) -> Iterator[LiveServer]:
    with LiveServer(engine) as server:
        yield server


@pytest.fixture(params=[True, False], ids=["zttp", "h11"])
def both(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of the libraries that may serve HTTP/1.1."""
    if not request.param:
        monkeypatch.setattr(http, "has_http2", lambda: False)
    elif not has_http2():
        pytest.skip("zttp is not installed")


@pytest.fixture
def tls(tmp_path: Path) -> TlsSettings:
    make(tmp_path, "server")
    return tls_settings(
        Config(
            {
                "listeners": "https://127.0.0.1:0",
                "ksql.server.tls.certificate": str(tmp_path / "server.pem"),
                "ksql.server.tls.key": str(tmp_path / "server.key"),
            }
        )
    )


@pytest.fixture
def pg_engine() -> PgEngine:
    return PgEngine()


@pytest.fixture
def port(pg_engine: PgEngine) -> Iterator[Port]:
    """A port for PostgreSQL's clients."""
    with Port(pg_engine) as running:
        yield running
