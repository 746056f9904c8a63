from __future__ import annotations

from collections.abc import Iterator

import pytest

from ksql_spark.server.host import Host
from ksql_spark.server.protocol import http
from ksql_spark.server.protocol.http import has_http2
from tests.server.app_client import AppClient
from tests.server.fake_engine import FakeEngine
from tests.server.live_server import LiveServer


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
