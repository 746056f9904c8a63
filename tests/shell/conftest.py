from __future__ import annotations

import io
from collections.abc import Iterator

import pytest

from ksql_spark.shell.client import Client
from ksql_spark.shell.output.console import Console
from ksql_spark.shell.session import Session
from tests.server.fake_engine import FakeEngine
from tests.server.live_server import LiveServer


@pytest.fixture
def engine() -> FakeEngine:
    return FakeEngine()


@pytest.fixture
def server(engine: FakeEngine) -> Iterator[LiveServer]:
    with LiveServer(engine) as server:
        yield server


@pytest.fixture
def out() -> io.StringIO:
    return io.StringIO()


@pytest.fixture
def err() -> io.StringIO:
    return io.StringIO()


@pytest.fixture
def console(out: io.StringIO, err: io.StringIO) -> Console:
    return Console(out, tty=False, err=err)


@pytest.fixture
def session(server: LiveServer, console: Console) -> Iterator[Session]:
    client = Client(server.url)
    session = Session(client, console)
    yield session
    session.client.close()
