"""EXPLAIN ROW through several queries, and EXPLAIN RECORD, on real topics."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from ksql_spark.engine import Engine, Request
from ksql_spark.entities.wire import to_json
from tests.waiting import until

pytestmark = pytest.mark.kafka

PREFIX = "effects_"
STATEMENTS = f"""
CREATE STREAM orders (id STRING KEY, item STRING, n INT)
  WITH (KAFKA_TOPIC = '{PREFIX}orders', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE STREAM payments (id STRING KEY, amount INT)
  WITH (KAFKA_TOPIC = '{PREFIX}payments', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE STREAM paid AS SELECT o.id AS id, item, n, amount FROM orders o
  JOIN payments p WITHIN (0 SECONDS, 10 SECONDS) ON o.id = p.id EMIT CHANGES;
CREATE TABLE takings AS SELECT item, SUM(amount) AS total, COUNT(*) AS c FROM paid GROUP BY item EMIT CHANGES;
CREATE TABLE big AS SELECT item, total FROM takings WHERE total > 10 EMIT CHANGES;
CREATE TABLE per_minute AS SELECT item, SUM(n) AS n FROM orders
  WINDOW TUMBLING (SIZE 1 MINUTE, GRACE PERIOD 0 SECONDS) GROUP BY item EMIT CHANGES;
CREATE STREAM many AS SELECT * FROM orders WHERE n > 1 EMIT CHANGES;
INSERT INTO orders (ROWTIME, id, item, n) VALUES (20000, 'o1', 'tea', 1);
INSERT INTO orders (ROWTIME, id, item, n) VALUES (60000, 'o2', 'tea', 2);
INSERT INTO orders (ROWTIME, id, item, n) VALUES (61000, 'o3', 'jam', 3);
INSERT INTO payments (ROWTIME, id, amount) VALUES (25000, 'o1', 9);
INSERT INTO payments (ROWTIME, id, amount) VALUES (65000, 'o2', 4);
INSERT INTO payments (ROWTIME, id, amount) VALUES (66000, 'o3', 5);
"""


@pytest.fixture
def told(make_engine: Callable[..., Engine]) -> Callable[[str], dict[str, Any]]:
    """The last answer to statements, if they have one."""
    engine = make_engine(
        **{
            "ksql.logging.processing.topic.auto.create": "true",
            "ksql.logging.processing.stream.auto.create": "true",
            "ksql.logging.processing.topic.name": f"{PREFIX}log",
        }
    )

    def tell(text: str) -> dict[str, Any]:
        entities = engine.execute(Request(text, {"auto.offset.reset": "earliest"}))
        return to_json(entities[-1]) if entities else {}

    return tell


def flat(effects: list[dict[str, Any]], depth: int = 0) -> Iterator[tuple[int, str, str, list[Any]]]:
    for each in effects:
        yield depth, each["name"], each["outcome"], [(r["before"], r["after"]) for r in each["rows"]]
        yield from flat(each["below"], depth + 1)


def test_both_ways(told: Callable[[str], dict[str, Any]]) -> None:
    told(STATEMENTS)
    until(lambda: told("EXPLAIN ROW FROM big WHERE item = 'tea';")["used"])
    for text in ("EXPLAIN ROW FROM big WHERE item = 'tea';",
                 f"EXPLAIN RECORD '{PREFIX}payments' PARTITION 0 OFFSET 1;",
                 f"EXPLAIN RECORD '{PREFIX}orders' PARTITION 0 OFFSET 0;"):
        print(json.dumps(told(text), indent=1))
