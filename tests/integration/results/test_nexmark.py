"""Nexmark: every query is accepted, and its results are those of DuckDB."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.nexmark.generator import COLUMNS, EVENTS, Options, count_of, events
from bench.nexmark.oracle import SELECTS
from bench.nexmark.ours import FOLDER, NAMES, QUERIES
from ksql_spark.engine.request import Request
from tests.statements.world import World

ROOT = Path(__file__).parents[3]


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    """An engine on fakes with the topics of the events."""
    monkeypatch.chdir(tmp_path)  # where it keeps the function of q14
    world = World(tmp_path, **{"ksql.create.function.enabled": True})
    for topic in COLUMNS:
        world.admin.create_topic(topic, 2)
    yield world
    world.close()


@pytest.mark.parametrize("name", NAMES)
def test_every_query_is_accepted(world: World, tmp_path: Path, name: str) -> None:
    side_input = tmp_path / "side_input.parquet"
    variables = {"format": "JSON", "files": str(tmp_path / "files"), "side_input": str(side_input)}
    for path in (FOLDER / "sources.sql", QUERIES / f"{name}.sql"):
        world.answers(Request(path.read_text(), variables=variables))
    assert any(source.name == name.upper() for source in world.services.metastore.sources())


def test_every_query_has_a_result_to_compare_with() -> None:
    assert (
        {path.stem for path in QUERIES.glob("*.sql")}
        == {path.stem for path in SELECTS.glob("*.sql")}
        == set(NAMES)
    )


def test_events_are_reproducible_and_have_nexmarks_proportions() -> None:
    options = Options(20 * EVENTS + 3, disorder_ms=200)
    made = list(events(options))
    assert made == list(events(options)) != list(events(Options(options.records, disorder_ms=200, seed=2)))
    for topic in COLUMNS:
        assert sum(name == topic for name, _ in made) == count_of(topic, options.records)
    highest = 0
    for topic, row in made:
        assert list(row) == list(COLUMNS[topic])
        assert row["dateTime"] >= highest - options.disorder_ms
        highest = max(highest, row["dateTime"])


@pytest.mark.kafka
@pytest.mark.long
@pytest.mark.parametrize(
    "options", ["--partitions 1,4", "--partitions 4 --kill", "--partitions 2 --format AVRO"]
)
def test_results_are_those_of_duckdb(options: str) -> None:
    command = [sys.executable, "-m", "bench.nexmark.run", "--check", "--records", "10000", "--rate", "100"]
    run = subprocess.run([*command, *options.split()], cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr[-2000:]
