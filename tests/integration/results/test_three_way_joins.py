"""Joins of three tables have, for each key, the rows that are there, whichever side's column ON names."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Callable
from typing import Any

import pytest

from ksql_spark.kafka.consumer import TopicReader
from ksql_spark.kafka.producer import RecordProducer
from ksql_spark.services.broker import EmbeddedBroker
from tests.waiting import until

pytestmark = [pytest.mark.long, pytest.mark.kafka]

KINDS = ("INNER", "LEFT", "RIGHT", "FULL")
TABLES = ("tj1", "tj2", "tj3")
KEYS = [f"k{i}" for i in range(8)]
SOURCES = "".join(
    f"CREATE TABLE {name} (id STRING PRIMARY KEY, a STRING) "
    f"WITH (KAFKA_TOPIC = '{name}', VALUE_FORMAT = 'JSON', PARTITIONS = 1);"
    for name in TABLES
)
#: name -> kinds of both joins, and the table whose column the second ON names
QUERIES = {
    f"TJ_{first}_{second}_{on}": (first, second, on)
    for first, second, on in itertools.product(KINDS, KINDS, TABLES[:2])
    if on == TABLES[0] or "FULL" in (first, second)
}
Row = tuple[str | None, ...]


def statement(name: str, first: str, second: str, on: str) -> str:
    key = "ROWKEY" if second == "FULL" else f"{on}.id"
    return (
        f"CREATE TABLE {name} WITH (KAFKA_TOPIC = '{name}') AS "
        f"SELECT {key} AS k, tj1.a AS a1, tj2.a AS a2, tj3.a AS a3 "
        f"FROM tj1 {first} JOIN tj2 ON tj1.id = tj2.id {second} JOIN tj3 ON {on}.id = tj3.id EMIT CHANGES;"
    )


def expected(tables: list[dict[str, str]], first: str, second: str) -> dict[str, Row]:
    def is_there(kind: str, left: bool, right: bool) -> bool:
        return {"INNER": left and right, "LEFT": left, "RIGHT": right, "FULL": left or right}[kind]

    found = {}
    for key in KEYS:
        row = tuple(table.get(key) for table in tables)
        has = [value is not None for value in row]
        both = is_there(first, has[0], has[1])
        if is_there(second, both, has[2]):
            found[key] = row if both else (None, None, row[2])
    return found


def contents(servers: str, topic: str) -> dict[str, Row]:
    """The table that a topic makes."""
    found: dict[str, Row] = {}
    with TopicReader(servers, topic) as reader:
        for record in (record for batch in reader.read_to_end() for record in batch):
            key = (record.key or b"").decode()
            if record.value is None:
                found.pop(key, None)
            else:
                value = json.loads(record.value)
                found[key] = (value["A1"], value["A2"], value["A3"])
    return found


def test_three_way_joins(execute: Callable[[str], Any], broker: EmbeddedBroker) -> None:
    servers = broker.bootstrap_servers
    execute(SOURCES)
    for name, query in QUERIES.items():
        execute(statement(name, *query))
    random_ = random.Random(5)
    tables: list[dict[str, str]] = [{} for _ in TABLES]
    producer = RecordProducer(servers)
    try:
        for number in range(400):
            which, key = random_.randrange(3), random_.choice(KEYS)
            if random_.random() < 0.4:
                tables[which].pop(key, None)
                producer.send(TABLES[which], key.encode(), None)
            else:
                tables[which][key] = f"v{number}"
                producer.send(TABLES[which], key.encode(), b'{"A": "v%d"}' % number)
            if number % 100 == 99:
                _compare(servers, tables)
    finally:
        producer.close()


def _compare(servers: str, tables: list[dict[str, str]]) -> None:
    for name, (first, second, _) in QUERIES.items():
        right = expected(tables, first, second)
        until(lambda n=name, r=right: contents(servers, n) == r, lambda n=name: (n, contents(servers, n)))
