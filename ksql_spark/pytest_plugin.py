"""The fixture ``ksql`` of pytest: an engine for the whole run, and for each test a database that is empty.

    def test_counts(ksql):
        ksql.sql("CREATE STREAM s (k INT KEY) WITH (kafka_topic='s', partitions=1, value_format='JSON');")

The engine and its broker keep everything in a temporary folder. What a test creates is dropped after it,
with its topics. Override ``ksql_engine_properties`` for other properties of the engine.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from ksql_spark.client.database import Database

#: kinds of sources, and where SHOW lists them
_SOURCES = {"STREAM": "streams", "TABLE": "tables"}


@pytest.fixture(scope="session")
def ksql_engine_properties() -> dict[str, Any]:
    """Properties of the engine."""
    return {}


@pytest.fixture(scope="session")
def ksql_url(
    tmp_path_factory: pytest.TempPathFactory, ksql_engine_properties: dict[str, Any]
) -> Iterator[str]:
    """The address of an engine that runs for the whole session."""
    from ksql_spark.client.embedded import EmbeddedServer

    folder = tmp_path_factory.mktemp("ksql")
    with EmbeddedServer(folder, 0, settings=ksql_engine_properties) as server:
        yield server.wait_ready(lambda text: None)


@pytest.fixture
def ksql(ksql_url: str) -> Iterator[Database]:
    """A database for one test, whose queries read topics from the beginning."""
    import ksql_spark

    with ksql_spark.connect(ksql_url, properties={"auto.offset.reset": "earliest"}) as database:
        before = _sources(database)
        yield database
        for kind, name in _sources(database) - before:
            # one may have fallen with another
            database.sql(f"DROP {kind} IF EXISTS `{name}` DELETE TOPIC CASCADE;")


def _sources(database: Database) -> set[tuple[str, str]]:
    return {
        (kind, source["name"])
        for kind, members in _SOURCES.items()
        for entity in database.sql(f"SHOW {kind}S;").entities
        for source in entity[members]
    }
