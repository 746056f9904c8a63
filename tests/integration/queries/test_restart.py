"""A server that is stopped, or killed with all it has started, goes on where it was."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.integration.counted_events import (
    STATEMENTS,
    check_copies,
    produce,
    wait_for_counts,
)
from tests.integration.server_process import ServerProcess

pytestmark = pytest.mark.kafka


def names(server: ServerProcess) -> dict[str, list[str]]:
    """What there is, by kind."""
    entities = server.execute("SHOW STREAMS; SHOW TABLES; SHOW QUERIES; SHOW TYPES;")
    streams, tables, queries, types = entities
    return {
        "streams": sorted(s["name"] for s in streams["streams"]),
        "tables": sorted(t["name"] for t in tables["tables"]),
        "queries": sorted(q["id"] for q in queries["queries"]),
        "types": sorted(types["types"]),
    }


@pytest.mark.long
@pytest.mark.parametrize(
    "cached", [pytest.param(33_554_432, id="large cache"), pytest.param(1000, id="tiny cache")]
)
def test_nothing_is_lost(tmp_path: Path, cached: int) -> None:
    properties = tmp_path / "server.properties"
    properties.write_text(f"ksql.state.cache.max.bytes={cached}\n", encoding="utf-8")
    data, options = tmp_path / "data", ("--properties", str(properties))
    with ServerProcess(data, *options) as server:
        server.ready()
        server.execute(STATEMENTS)
        server.execute("DROP STREAM gone;")
        there = names(server)
        assert [*there["streams"], *there["tables"]] == ["COPIES", "EVENTS", "COUNTS", "PER_MINUTE"]
        assert len(there["queries"]) == 3
        produce(server, range(400))
        wait_for_counts(server, 400)
        # these are killed on their way
        produce(server, range(400, 700))
        server.crash()
    with ServerProcess(data, *options) as server:
        server.ready()
        assert names(server) == there
        produce(server, range(700, 1000))
        wait_for_counts(server, 1000)
        assert server.stop() == (0, "stopping\nstopped\n", "")
        assert server.pids() == []
    with ServerProcess(data, *options) as server:
        server.ready()
        assert names(server) == there
        produce(server, range(1000, 1300))
        wait_for_counts(server, 1300)
        check_copies(server, 1300)
        # the command log is read to its end: new statements follow the old ones
        server.execute("DROP STREAM copies;")
        assert server.stop()[0] == 0
        server.wait_until_alone()
