from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.server.postgres.port import PgEngine, Port


@pytest.fixture
def pg_engine() -> PgEngine:
    return PgEngine()


@pytest.fixture
def port(pg_engine: PgEngine) -> Iterator[Port]:
    """A port for PostgreSQL's clients."""
    with Port(pg_engine) as running:
        yield running
