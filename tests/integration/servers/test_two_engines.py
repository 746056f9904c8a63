"""Two engines in one process, on one Spark: neither notices the other, nor that it stops."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from typing import Any

import pytest

from ksql_spark.engine import Engine
from ksql_spark.engine.request import Request
from ksql_spark.entities.queries import Queries
from ksql_spark.entities.sources import StreamsList
from tests.waiting import TIMEOUT_S

pytestmark = pytest.mark.kafka

PREFIX = f"two_{uuid.uuid4().hex[:8]}_"
#: the same names and query ids on both, with another column and another function
STATEMENTS = """
CREATE STREAM events (k STRING KEY, {column} INT) WITH (KAFKA_TOPIC='{topic}', FORMAT='JSON', PARTITIONS=1);
CREATE FUNCTION changed (n INT) RETURNS INT LANGUAGE PYTHON AS 'return {factor} * n';
CREATE TABLE totals AS SELECT k, SUM(CHANGED({column})) AS total FROM events GROUP BY k;
"""

#: starts an engine with a service id and a data folder of its own, by its name
Start = Callable[[str], Engine]


@pytest.fixture
def start(make_engine: Callable[..., Engine]) -> Start:
    return lambda name: make_engine(name, **{"ksql.create.function.enabled": True})


def begin(engine: Engine, name: str, column: str, factor: int) -> None:
    """Let it have a stream, a function and a query."""
    text = STATEMENTS.format(column=column, topic=f"{PREFIX}{name}_events", factor=factor)
    engine.execute(Request(text, {"auto.offset.reset": "earliest"}))


def wait_for_total(engine: Engine, expected: int) -> None:
    """Wait until the query has summed up all records."""
    deadline = time.monotonic() + TIMEOUT_S
    found: list[Any] = []
    while found != [[expected]]:
        assert time.monotonic() < deadline, found
        stream, found = engine.query(Request("SELECT total FROM totals WHERE k = 'a';")), []
        while (rows := stream.read(1.0)) is not None:
            found += [row.values for row in rows]


def test_two_engines_in_one_process(start: Start) -> None:
    first, second = start("first"), start("second")
    begin(first, "first", "n", 10)
    begin(second, "second", "m", 100)
    ids = []
    for engine, column in ((first, "n"), (second, "m")):
        engine.execute(Request(f"INSERT INTO events (k, {column}) VALUES ('a', 1);"))
        streams, queries = engine.execute(Request("SHOW STREAMS; SHOW QUERIES;"))
        assert isinstance(streams, StreamsList) and isinstance(queries, Queries)
        assert "EVENTS" in {stream.name for stream in streams.streams}
        ids.append({query.id for query in queries.queries})
    assert ids[0] == ids[1] and len(ids[0]) == 1
    wait_for_total(first, 10)
    wait_for_total(second, 100)
    (query,) = ids[0]
    first.execute(Request(f"TERMINATE {query};"))
    second.execute(Request("INSERT INTO events (k, m) VALUES ('a', 2);"))
    wait_for_total(second, 300)
    first.stop()
    second.execute(Request("INSERT INTO events (k, m) VALUES ('a', 3);"))
    wait_for_total(second, 600)
    second.stop()
    # again, after both
    again = start("second")
    again.execute(Request("INSERT INTO events (k, m) VALUES ('a', 4);"))
    wait_for_total(again, 1000)
