"""EXPLAIN ROW and EXPLAIN MISSING ROW of joins, tables and UNION ALL, on real topics."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ksql_spark.engine import Engine, Request
from ksql_spark.entities.wire import to_json

pytestmark = pytest.mark.kafka

PREFIX = "whys_"
STATEMENTS = f"""
CREATE STREAM orders (id STRING KEY, who STRING, n INT)
  WITH (KAFKA_TOPIC = '{PREFIX}orders', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE STREAM payments (id STRING KEY, amount INT)
  WITH (KAFKA_TOPIC = '{PREFIX}payments', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE TABLE customers (who STRING PRIMARY KEY, city STRING)
  WITH (KAFKA_TOPIC = '{PREFIX}customers', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE TABLE cities (city STRING PRIMARY KEY, country STRING)
  WITH (KAFKA_TOPIC = '{PREFIX}cities', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE STREAM paid AS SELECT o.id AS id, n, amount FROM orders o
  JOIN payments p WITHIN (0 SECONDS, 10 SECONDS) ON o.id = p.id WHERE amount > 1 EMIT CHANGES;
CREATE STREAM placed AS SELECT o.who AS who, o.id AS id, city FROM orders o
  JOIN customers c ON o.who = c.who EMIT CHANGES;
CREATE TABLE by_city AS SELECT city, COUNT(*) AS c FROM orders o
  LEFT JOIN customers c ON o.who = c.who GROUP BY city EMIT CHANGES;
CREATE TABLE residents AS SELECT who, UCASE(city) AS city FROM customers WHERE city <> 'Rome' EMIT CHANGES;
CREATE TABLE addresses AS SELECT who, c.city AS city, country FROM customers c
  JOIN cities t ON c.city = t.city EMIT CHANGES;
CREATE STREAM ids AS SELECT id, n AS m FROM orders WHERE n > 1
  UNION ALL SELECT id, amount AS m FROM payments EMIT CHANGES;
INSERT INTO cities (ROWTIME, city, country) VALUES (1000, 'Oslo', 'Norway');
INSERT INTO cities (ROWTIME, city, country) VALUES (1000, 'Rome', 'Italy');
INSERT INTO customers (ROWTIME, who, city) VALUES (1000, 'ada', 'Oslo');
INSERT INTO customers (ROWTIME, who, city) VALUES (1000, 'bob', 'Rome');
INSERT INTO customers (ROWTIME, who, city) VALUES (50000, 'ada', 'Bern');
INSERT INTO orders (ROWTIME, id, who, n) VALUES (20000, 'o1', 'ada', 1);
INSERT INTO orders (ROWTIME, id, who, n) VALUES (60000, 'o2', 'ada', 2);
INSERT INTO orders (ROWTIME, id, who, n) VALUES (60000, 'o3', 'eve', 3);
INSERT INTO orders (ROWTIME, id, who, n) VALUES (60000, 'o4', 'bob', 4);
INSERT INTO payments (ROWTIME, id, amount) VALUES (25000, 'o1', 9);
INSERT INTO payments (ROWTIME, id, amount) VALUES (90000, 'o2', 9);
INSERT INTO payments (ROWTIME, id, amount) VALUES (61000, 'o3', 1);
INSERT INTO payments (ROWTIME, id, amount) VALUES (61000, 'o9', 5);
"""
Records = list[tuple[str, int, str | None]]
NO_ORDER = "nothing meets it in the join ON O_ID = P_ID"
AT_ITS_TIME = (
    "Of a table that a stream is joined with, the row of the record's time is told; "
    "the query has met the row that was there when the record came."
)


def test_joins_tables_and_unions(make_engine: Callable[..., Engine]) -> None:
    engine = make_engine()

    def told(text: str) -> dict[str, Any]:
        return to_json(engine.execute(Request(text, {"auto.offset.reset": "earliest"}))[-1])

    def records(text: str) -> Records:
        found = [(r["topic"].removeprefix(PREFIX), r["offset"], r["reason"]) for r in told(text)["records"]]
        return sorted(found)

    told(STATEMENTS)

    # two streams: both sides; what has no partner in time; what the WHERE above has dropped
    assert records("EXPLAIN ROW FROM paid WHERE id = 'o1';") == [("orders", 0, None), ("payments", 0, None)]
    assert records("EXPLAIN ROW FROM paid WHERE amount = 9;") == [("orders", 0, None), ("payments", 0, None)]
    assert records("EXPLAIN MISSING ROW FROM paid WHERE id = 'o2';") == [
        ("orders", 1, NO_ORDER), ("payments", 1, NO_ORDER),
    ]  # fmt: skip
    where = "WHERE (P_AMOUNT > 1) is not true"
    assert records("EXPLAIN MISSING ROW FROM paid WHERE id = 'o3';") == [
        ("orders", 2, where), ("payments", 2, where),
    ]  # fmt: skip
    found = told("EXPLAIN MISSING ROW FROM paid WHERE id = 'o8';")
    assert found["notes"] == [f"No record of the topics {PREFIX}orders, {PREFIX}payments belongs to the row."]

    # a stream with a table: the row of the record's time
    found = told("EXPLAIN ROW FROM placed WHERE id = 'o1';")
    assert [(r["topic"], r["offset"], r["columns"]) for r in found["records"]] == [
        (f"{PREFIX}customers", 0, {"WHO": "ada", "CITY": "Oslo"}),
        (f"{PREFIX}orders", 0, {"ID": "o1", "WHO": "ada", "N": 1}),
    ]
    assert (found["used"], found["notes"]) == (2, [AT_ITS_TIME])
    assert records("EXPLAIN ROW FROM placed WHERE id = 'o2';") == [
        ("customers", 2, None), ("orders", 1, None),
    ]  # fmt: skip
    assert records("EXPLAIN MISSING ROW FROM placed WHERE who = 'eve';") == [
        ("orders", 2, "nothing meets it in the join ON O_WHO = C_WHO"),
    ]

    # an aggregate over a join
    assert records("EXPLAIN ROW FROM by_city WHERE city = 'Bern';") == [
        ("customers", 2, None), ("orders", 1, None),
    ]  # fmt: skip

    # a table of a table: its key's last record
    assert records("EXPLAIN ROW FROM residents WHERE who = 'ada';") == [("customers", 2, None)]
    assert records("EXPLAIN MISSING ROW FROM residents WHERE who = 'bob';") == [
        ("customers", 1, "WHERE (CITY <> 'Rome') is not true"),
    ]
    assert told("EXPLAIN ROW FROM residents WHERE who = 'ada';")["dropped"] == [
        {"reason": "a later record of its key has replaced it", "count": 1}
    ]
    told("DELETE FROM customers WHERE who = 'bob';")
    assert ("customers", 3, "it has deleted the row") in records(
        "EXPLAIN MISSING ROW FROM residents WHERE who = 'bob';"
    )

    # two tables, by a foreign key
    assert records("EXPLAIN MISSING ROW FROM addresses WHERE who = 'ada';") == [
        ("customers", 0, "a later record of its key has replaced it"),
        ("customers", 2, "nothing meets it in the join ON C_CITY = T_CITY"),
    ]
    engine.execute(Request("INSERT INTO cities (city, country) VALUES ('Bern', 'Switzerland');"))
    assert records("EXPLAIN ROW FROM addresses WHERE who = 'ada';") == [
        ("cities", 2, None), ("customers", 2, None),
    ]  # fmt: skip

    # both sides of UNION ALL
    assert records("EXPLAIN ROW FROM ids WHERE id = 'o2';") == [("orders", 1, None), ("payments", 1, None)]
    assert records("EXPLAIN MISSING ROW FROM ids WHERE id = 'o1';") == [
        ("orders", 0, "WHERE (N > 1) is not true"),
    ]
