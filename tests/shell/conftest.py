from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

# The fake engine and the server around it are the server's tests' own.
sys.path.insert(0, str(Path(__file__).parent.parent / "server"))

from fake_engine import FakeEngine
from live_server import LiveServer

from ksql_spark.shell.client import Client
from ksql_spark.shell.output.console import Console
from ksql_spark.shell.session import Session


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
