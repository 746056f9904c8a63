"""A world for each test: an engine on fakes, with a stream and a table."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ksql_spark.runtime.queries import differences
from ksql_spark.runtime.queries.runs import takeovers
from tests.statements.topic_rows import TopicRows
from tests.statements.world import World

SCENE = """
CREATE STREAM s (k STRING KEY, v INT, w STRING) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON', PARTITIONS=3);
CREATE TABLE t (k STRING PRIMARY KEY, v INT) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON', PARTITIONS=3);
"""


@pytest.fixture
def make_world(tmp_path: Path) -> Iterator[Callable[..., World]]:
    worlds: list[World] = []

    def make(**config: Any) -> World:
        worlds.append(World(tmp_path, **config))
        worlds[-1].run(SCENE)
        return worlds[-1]

    yield make
    for world in worlds:
        world.close()


@pytest.fixture
def world(make_world: Callable[..., World]) -> World:
    return make_world()


@pytest.fixture
def topics(monkeypatch: pytest.MonkeyPatch) -> TopicRows:
    """What swaps, and tables that move, compare and write."""
    found = TopicRows()
    monkeypatch.setattr(differences.TopicRows, "read", lambda self, admin: found.latest(self.topic))
    monkeypatch.setattr(differences, "writer", lambda _admin, id_: found.written_as(id_))
    monkeypatch.setattr(differences, "write", found.write)
    monkeypatch.setattr(differences, "one_of_each_partition", lambda rows: [])  # see test_differences.py
    monkeypatch.setattr(takeovers, "fence", lambda _servers, id_, _settings: found.fenced.append(id_))
    return found
