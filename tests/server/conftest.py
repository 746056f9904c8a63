from __future__ import annotations

from collections.abc import Iterator

import pytest
from app_client import AppClient
from fake_engine import FakeEngine
from live_server import LiveServer

from server.host import Host


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
