"""What queries keep is told, and goes as stream time passes."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from ksql_spark import connect
from tests.waiting import until

pytestmark = pytest.mark.kafka

Execute = Callable[[str], list[dict[str, Any]]]
SOURCE = """
CREATE STREAM {name} (id STRING KEY, ts BIGINT, v INT)
  WITH (KAFKA_TOPIC = '{name}', VALUE_FORMAT = 'JSON', PARTITIONS = 1, TIMESTAMP = 'ts');
"""
#: what keeps state for a while only -> the query
QUERIES = {
    "tumbling": "CREATE TABLE {n}_out AS SELECT id, COUNT(*) AS c FROM {n} "
    "WINDOW TUMBLING (SIZE 1 SECOND, GRACE PERIOD 0 SECONDS) GROUP BY id EMIT CHANGES;",
    "sessions": "CREATE TABLE {n}_out AS SELECT id, COUNT(*) AS c FROM {n} "
    "WINDOW SESSION (1 SECOND, GRACE PERIOD 0 SECONDS) GROUP BY id EMIT FINAL;",
    "join": "CREATE STREAM {n}_out AS SELECT a.id AS id, a.v AS v, b.v AS w FROM {n} a "
    "LEFT JOIN {n}_other b WITHIN 1 SECOND GRACE PERIOD 0 SECONDS ON a.id = b.id EMIT CHANGES;",
}


def _entries(execute: Execute, query: str) -> list[int]:
    """How many the query keeps, if it says so."""
    (answer,) = execute(f"EXPLAIN {query};")
    topology = answer["queryDescription"]["topology"]
    return [*map(int, re.findall(r"State now: (\d+) entries, \d+ bytes", topology))]


def _wait(execute: Execute, query: str, wanted: Callable[[int], bool]) -> int:
    entries: list[int] = []

    def are_wanted() -> bool:
        entries[:] = _entries(execute, query)
        return bool(entries) and wanted(entries[0])

    until(are_wanted, lambda: f"{query} keeps {entries} entries")
    return entries[0]


@pytest.mark.parametrize("kind", QUERIES)
def test_state_shrinks_as_stream_time_passes(kind: str, execute: Execute) -> None:
    name = f"state_{kind}"
    made = "".join(SOURCE.format(name=n) for n in (name, f"{name}_other"))
    execute(made + "SET 'ksql.execution.mode' = 'microbatch';" + QUERIES[kind].format(n=name))
    (shown,) = execute("SHOW QUERIES;")
    query = next(q["id"] for q in shown["queries"] if f"{name}_out".upper() in q["sinks"])
    rows = [f"INSERT INTO {name} (id, ts, v) VALUES ('k{i}', {100 + i}, {i});" for i in range(50)]
    execute("".join(rows))
    many = _wait(execute, query, lambda entries: entries >= 100)
    execute(f"INSERT INTO {name} (id, ts, v) VALUES ('later', 1000000, 0);")
    left = _wait(execute, query, lambda entries: entries < many / 5)
    assert left > 0  # the newest row is kept

    (described,) = execute(f"DESCRIBE {name}_out EXTENDED;")
    statistics = described["sourceDescription"]["statistics"]
    assert f"State of {query}: {left} entries" in statistics
    cache = re.search(r"^State cache, shared by all queries: (\d+) of (\d+) bytes$", statistics, re.MULTILINE)
    assert cache is not None and int(cache[1]) <= int(cache[2])


def test_a_query_whose_state_is_full_stops_and_goes_on(execute: Execute, url: str) -> None:
    bound = "ksql.query.state.max.entries"
    execute(
        SOURCE.format(name="state_full")
        + f"SET 'ksql.execution.mode' = 'microbatch'; SET '{bound}' = '5';"
        + "CREATE TABLE state_full_out AS SELECT id, COUNT(*) AS c FROM state_full GROUP BY id EMIT CHANGES;"
    )

    def row() -> dict[str, Any]:
        (shown,) = execute("SHOW QUERIES;")
        return next(q for q in shown["queries"] if "STATE_FULL_OUT" in q["sinks"])

    rows = [f"INSERT INTO state_full (id, ts, v) VALUES ('k{i % 20}', {100 + i}, {i});" for i in range(60)]
    execute("".join(rows[:30]))
    until(lambda: row()["state"] == "ERROR")
    assert f"of 5 entries ({bound})" in row()["error"]
    execute("".join(rows[30:]))
    execute(f"SET '{bound}' = '1000'; RESUME {row()['id']};")

    def counts() -> list[int]:
        with connect(url) as database:
            return [found[0] for found in database.sql("SELECT c FROM state_full_out;")]

    until(lambda: counts() == [3] * 20)
    assert row()["state"] == "RUNNING"
