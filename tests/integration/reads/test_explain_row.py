"""EXPLAIN ROW and EXPLAIN MISSING ROW of queries whose rows depend on several records, on real topics."""

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
Told = Callable[[str], dict[str, Any]]
NO_ORDER = "nothing meets it in the join ON O_ID = P_ID"
AT_ITS_TIME = (
    "Of a table that a stream is joined with, the row of the record's time is told; "
    "the query has met the row that was there when the record came."
)


@pytest.fixture
def told(make_engine: Callable[..., Engine]) -> Told:
    """The last answer to statements, if they have one."""
    engine = make_engine()

    def tell(text: str) -> dict[str, Any]:
        entities = engine.execute(Request(text, {"auto.offset.reset": "earliest"}))
        return to_json(entities[-1]) if entities else {}

    return tell


def found(told: dict[str, Any]) -> Records:
    """The records of an answer."""
    return sorted((r["topic"].removeprefix(PREFIX), r["offset"], r["reason"]) for r in told["records"])


@pytest.mark.long
def test_joins_tables_and_unions(told: Told) -> None:
    def records(text: str) -> Records:
        return found(told(text))

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
    answer = told("EXPLAIN MISSING ROW FROM paid WHERE id = 'o8';")
    assert answer["notes"] == [
        f"No record of the topics {PREFIX}orders, {PREFIX}payments belongs to the row."
    ]

    # a stream with a table: the row of the record's time
    answer = told("EXPLAIN ROW FROM placed WHERE id = 'o1';")
    assert [(r["topic"], r["offset"], r["columns"]) for r in answer["records"]] == [
        (f"{PREFIX}customers", 0, {"WHO": "ada", "CITY": "Oslo"}),
        (f"{PREFIX}orders", 0, {"ID": "o1", "WHO": "ada", "N": 1}),
    ]
    assert (answer["used"], answer["notes"]) == (2, [AT_ITS_TIME])
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

    # two tables, by a foreign key
    assert records("EXPLAIN MISSING ROW FROM addresses WHERE who = 'ada';") == [
        ("customers", 0, "a later record of its key has replaced it"),
        ("customers", 2, "nothing meets it in the join ON C_CITY = T_CITY"),
    ]
    told("INSERT INTO cities (city, country) VALUES ('Bern', 'Switzerland');")
    assert records("EXPLAIN ROW FROM addresses WHERE who = 'ada';") == [
        ("cities", 2, None), ("customers", 2, None),
    ]  # fmt: skip

    # both sides of UNION ALL
    assert records("EXPLAIN ROW FROM ids WHERE id = 'o2';") == [("orders", 1, None), ("payments", 1, None)]
    assert records("EXPLAIN MISSING ROW FROM ids WHERE id = 'o1';") == [
        ("orders", 0, "WHERE (N > 1) is not true"),
    ]

    # last, since a record of today begins a new segment, and Kafka may compact what comes before it
    told("DELETE FROM customers WHERE who = 'bob';")
    assert ("customers", 3, "it has deleted the row") in records(
        "EXPLAIN MISSING ROW FROM residents WHERE who = 'bob';"
    )


@pytest.mark.long
def test_first_and_best_rows(told: Told) -> None:
    told(f"""
        CREATE STREAM bids (item STRING KEY, who STRING, n INT, tags MAP<STRING, INT>)
          WITH (KAFKA_TOPIC = '{PREFIX}bids', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
        CREATE TABLE stock (id STRING PRIMARY KEY, item STRING, n INT)
          WITH (KAFKA_TOPIC = '{PREFIX}stock', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
        CREATE STREAM firsts AS
          SELECT DISTINCT ON (who) item, who, n, tags FROM bids WHERE n > 1 EMIT CHANGES;
        CREATE TABLE counts AS SELECT item, COUNT(*) AS c FROM
          (SELECT DISTINCT ON (who, item) * FROM bids) b GROUP BY item EMIT CHANGES;
        CREATE TABLE best WITH (KEY_FORMAT = 'JSON') AS
          SELECT item, ROW_NUMBER() OVER (PARTITION BY item ORDER BY n DESC) AS place, who
          FROM bids QUALIFY place <= 2 EMIT CHANGES;
        CREATE TABLE ranked WITH (KEY_FORMAT = 'JSON') AS
          SELECT item, ROW_NUMBER() OVER (PARTITION BY item ORDER BY who) AS place,
            DENSE_RANK() OVER (PARTITION BY item ORDER BY who) AS dense, n
          FROM bids QUALIFY dense <= 2 EMIT CHANGES;
        CREATE TABLE fullest AS
          SELECT item, id, n FROM stock QUALIFY ROW_NUMBER() OVER (PARTITION BY item ORDER BY n DESC) = 1
          EMIT CHANGES;
        INSERT INTO bids (ROWTIME, item, who, n) VALUES (1000, 'tea', 'ada', 1);
        INSERT INTO bids (ROWTIME, item, who, n) VALUES (3000, 'tea', 'ada', 5);
        INSERT INTO bids (ROWTIME, item, who, n) VALUES (2000, 'tea', 'ada', 7);
        INSERT INTO bids (ROWTIME, item, who, n) VALUES (4000, 'tea', 'bob', 7);
        INSERT INTO bids (ROWTIME, item, who, n) VALUES (5000, 'tea', 'eve', 9);
        INSERT INTO bids (ROWTIME, item, who, n) VALUES (6000, NULL, 'kim', 9);
        INSERT INTO stock (ROWTIME, id, item, n) VALUES (1000, 'a', 'tea', 9);
        INSERT INTO stock (ROWTIME, id, item, n) VALUES (1000, 'b', 'tea', 5);
        INSERT INTO stock (ROWTIME, id, item, n) VALUES (2000, 'a', 'tea', 1);
    """)

    def records(text: str) -> list[tuple[int, str | None]]:
        return [(offset, reason) for _, offset, reason in found(told(text))]

    # first in the order of arrival, of the records that pass WHERE
    assert records("EXPLAIN ROW FROM firsts WHERE who = 'ada';") == [(1, None)]
    assert records("EXPLAIN MISSING ROW FROM firsts WHERE who = 'ada';") == [
        (0, "WHERE (N > 1) is not true"), (2, "an earlier record had the same WHO"),
    ]  # fmt: skip
    assert told("EXPLAIN ROW FROM firsts WHERE who = 'ada';")["notes"] == []
    assert records("EXPLAIN ROW FROM counts WHERE item = 'tea';") == [(0, None), (3, None), (4, None)]

    # of equal ones the first stays ahead; a place has one record
    worse = "ROW_NUMBER() OVER (PARTITION BY ITEM ORDER BY N DESC) is greater than 2"
    assert records("EXPLAIN ROW FROM best WHERE item = 'tea';") == [(2, None), (4, None)]
    assert records("EXPLAIN ROW FROM best WHERE item = 'tea' AND place = 2;") == [(2, None)]
    assert records("EXPLAIN MISSING ROW FROM best WHERE item = 'tea';") == [
        (0, worse), (1, worse), (3, worse),
    ]  # fmt: skip
    assert records("EXPLAIN MISSING ROW FROM best WHERE who = 'kim';") == [
        (5, "it belongs to no group: PARTITION BY ITEM is NULL"),
    ]
    assert records("EXPLAIN ROW FROM ranked WHERE item = 'tea';") == [
        (0, None),
        (1, None),
        (2, None),
        (3, None),
    ]
    assert records("EXPLAIN ROW FROM ranked WHERE dense = 2;") == [(3, None)]

    # of a table: its current rows
    assert records("EXPLAIN ROW FROM fullest WHERE item = 'tea';") == [(1, None)]
    assert records("EXPLAIN MISSING ROW FROM fullest WHERE id = 'a';") == [
        (0, "a later record of its key has replaced it"),
        (2, "ROW_NUMBER() OVER (PARTITION BY ITEM ORDER BY N DESC) is greater than 1"),
    ]


@pytest.mark.long
def test_semi_joins_and_set_operations(told: Told) -> None:
    told(f"""
        CREATE STREAM asked (id STRING KEY, n INT)
          WITH (KAFKA_TOPIC = '{PREFIX}asked', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
        CREATE STREAM given (id STRING KEY, m INT)
          WITH (KAFKA_TOPIC = '{PREFIX}given', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
        CREATE TABLE here (id STRING PRIMARY KEY, n INT)
          WITH (KAFKA_TOPIC = '{PREFIX}here', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
        CREATE TABLE there (id STRING PRIMARY KEY, n INT)
          WITH (KAFKA_TOPIC = '{PREFIX}there', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
        CREATE STREAM answered AS SELECT id, n FROM asked
          WHERE id IN (SELECT g.id FROM given g WITHIN 10 SECONDS) EMIT CHANGES;
        CREATE STREAM unanswered AS SELECT id, n FROM asked WHERE NOT EXISTS
          (SELECT * FROM given g WITHIN 10 SECONDS GRACE PERIOD 1 SECOND WHERE g.id = asked.id) EMIT CHANGES;
        CREATE STREAM known AS SELECT id, n FROM asked
          WHERE EXISTS (SELECT * FROM here h WHERE h.id = asked.id AND h.n > 1) EMIT CHANGES;
        CREATE TABLE either WITH (KEY_FORMAT = 'JSON') AS
          SELECT id, n FROM here UNION SELECT id, n FROM there EMIT CHANGES;
        CREATE TABLE only_here WITH (KEY_FORMAT = 'JSON') AS
          SELECT id, n FROM here WHERE n < 9 EXCEPT SELECT id, n FROM there EMIT CHANGES;
        CREATE TABLE same WITH (KEY_FORMAT = 'JSON') AS
          SELECT id, n FROM here INTERSECT SELECT id, n FROM there EMIT CHANGES;
        INSERT INTO here (ROWTIME, id, n) VALUES (1000, 'a', 1);
        INSERT INTO here (ROWTIME, id, n) VALUES (1000, 'b', 2);
        INSERT INTO here (ROWTIME, id, n) VALUES (1000, 'c', 9);
        INSERT INTO there (ROWTIME, id, n) VALUES (1000, 'a', 1);
        INSERT INTO there (ROWTIME, id, n) VALUES (1000, 'b', 3);
        INSERT INTO asked (ROWTIME, id, n) VALUES (5000, 'a', 1);
        INSERT INTO asked (ROWTIME, id, n) VALUES (5000, 'b', 2);
        INSERT INTO given (ROWTIME, id, m) VALUES (6000, 'a', 7);
        INSERT INTO given (ROWTIME, id, m) VALUES (7000, 'a', 8);
        INSERT INTO given (ROWTIME, id, m) VALUES (90000, 'b', 9);
    """)

    def records(text: str) -> Records:
        return found(told(text))

    # the first partner alone has let the row pass
    assert records("EXPLAIN ROW FROM answered WHERE id = 'a';") == [("asked", 0, None), ("given", 0, None)]
    assert records("EXPLAIN MISSING ROW FROM answered WHERE id = 'a';") == [
        ("given", 1, "the row was there already, for an earlier record"),
    ]
    (alone,) = records("EXPLAIN MISSING ROW FROM answered WHERE n = 2;")
    assert alone[:2] == ("asked", 1) and "nothing meets it" in str(alone[2])
    assert records("EXPLAIN ROW FROM unanswered WHERE n = 2;") == [("asked", 1, None)]
    assert ("asked", 0, "NOT EXISTS: a record meets it") in records(
        "EXPLAIN MISSING ROW FROM unanswered WHERE n = 1;"
    )
    assert records("EXPLAIN ROW FROM known WHERE id = 'b';") == [("asked", 1, None), ("here", 1, None)]
    (_, (_, _, reason)) = records("EXPLAIN MISSING ROW FROM known WHERE id = 'a';")
    assert "N > 1) is not true" in str(reason)

    # equal rows are one; EXCEPT and INTERSECT look at those of the other side
    assert records("EXPLAIN ROW FROM either WHERE id = 'a';") == [("here", 0, None), ("there", 0, None)]
    assert records("EXPLAIN ROW FROM only_here WHERE id = 'b';") == [("here", 1, None)]
    assert records("EXPLAIN MISSING ROW FROM only_here WHERE id = 'a';") == [
        ("here", 0, "EXCEPT: the right side has an equal row"),
        ("there", 0, "EXCEPT: its row is on the right side, and removes equal ones"),
    ]
    assert records("EXPLAIN MISSING ROW FROM only_here WHERE id = 'c';") == [
        ("here", 2, "WHERE (N < 9) is not true"),
    ]
    assert records("EXPLAIN ROW FROM same WHERE id = 'a';") == [("here", 0, None), ("there", 0, None)]
    assert records("EXPLAIN MISSING ROW FROM same WHERE id = 'b';") == [
        ("here", 1, "INTERSECT: the other side has no equal row"),
        ("there", 1, "INTERSECT: the other side has no equal row"),
    ]


def test_distinct_on_within(told: Told) -> None:
    told(f"""
        CREATE STREAM clicks (id STRING KEY, n INT, tags MAP<STRING, INT>)
          WITH (KAFKA_TOPIC = '{PREFIX}clicks', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
        CREATE STREAM once AS SELECT DISTINCT ON (id) id, n, tags FROM clicks WITHIN 10 SECONDS EMIT CHANGES;
        INSERT INTO clicks (ROWTIME, id, n) VALUES (1000, 'a', 0);
        INSERT INTO clicks (ROWTIME, id, n) VALUES (9000, 'a', 1);
        INSERT INTO clicks (ROWTIME, id, n) VALUES (11000, 'a', 2);
        INSERT INTO clicks (ROWTIME, id, n) VALUES (11001, 'a', 3);
        INSERT INTO clicks (ROWTIME, id, n) VALUES (50000, 'b', 4);
        INSERT INTO clicks (ROWTIME, id, n) VALUES (5000, 'a', 5);
        INSERT INTO clicks (ROWTIME, id, n) VALUES (6000, 'a', 6);
        INSERT INTO clicks (ROWTIME, id, n) VALUES (49000, 'a', 7);
        INSERT INTO clicks (ROWTIME, id, n) VALUES (49500, 'a', 8);
    """)

    # as Deduplicate.java: a key is forgotten by stream time, and a row that is too late is not remembered
    assert [r[1] for r in found(told("EXPLAIN ROW FROM once WHERE id = 'a';"))] == [0, 3, 5, 6, 7]
    earlier = "an earlier record had the same ID"
    assert found(told("EXPLAIN MISSING ROW FROM once WHERE id = 'a';")) == [
        ("clicks", 1, earlier), ("clicks", 2, earlier), ("clicks", 8, earlier),
    ]  # fmt: skip


def test_lag_and_lead(told: Told) -> None:
    told(f"""
        CREATE STREAM prices (item STRING KEY, n INT)
          WITH (KAFKA_TOPIC = '{PREFIX}prices', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
        CREATE STREAM lags AS
          SELECT item, n, LAG(n, 2) OVER (PARTITION BY item ORDER BY ROWTIME) AS p FROM prices
          WHERE n < 90 EMIT CHANGES;
        CREATE STREAM leads AS
          SELECT item, n, LEAD(n) OVER (PARTITION BY item ORDER BY ROWTIME) AS p FROM prices EMIT CHANGES;
        CREATE STREAM sums AS SELECT item, n,
            SUM(n) OVER (PARTITION BY item ORDER BY ROWTIME RANGE INTERVAL 2 SECONDS PRECEDING) AS p
          FROM prices EMIT CHANGES;
        CREATE STREAM totals AS SELECT item, n, COUNT(*) OVER (PARTITION BY item ORDER BY ROWTIME) AS p
          FROM prices WITHIN 10 SECONDS EMIT CHANGES;
        INSERT INTO prices (ROWTIME, item, n) VALUES (1000, 'a', 0);
        INSERT INTO prices (ROWTIME, item, n) VALUES (2000, 'a', 1);
        INSERT INTO prices (ROWTIME, item, n) VALUES (2500, 'b', 2);
        INSERT INTO prices (ROWTIME, item, n) VALUES (3000, 'a', 93);
        INSERT INTO prices (ROWTIME, item, n) VALUES (4000, 'a', 4);
        INSERT INTO prices (ROWTIME, item, n) VALUES (50000, 'a', 5);
        INSERT INTO prices (ROWTIME, item, n) VALUES (51000, 'a', 6);
    """)

    def records(text: str) -> list[tuple[int, str | None]]:
        return [(offset, reason) for _, offset, reason in found(told(text))]

    # the row itself and the rows of its frame, which WHERE has let pass
    assert records("EXPLAIN ROW FROM lags WHERE n = 5;") == [(1, None), (5, None)]
    assert records("EXPLAIN ROW FROM lags WHERE n = 0;") == [(0, None)]
    assert records("EXPLAIN MISSING ROW FROM lags WHERE n = 93;") == [(3, "WHERE (N < 90) is not true")]
    assert records("EXPLAIN ROW FROM leads WHERE n = 4;") == [(4, None), (5, None)]
    assert records("EXPLAIN MISSING ROW FROM leads WHERE n = 6;") == [
        (6, "LEAD waits for another row of its group"),
    ]
    assert records("EXPLAIN ROW FROM sums WHERE n = 4;") == [(1, None), (3, None), (4, None)]
    # WITHIN has ended the group
    assert records("EXPLAIN ROW FROM totals WHERE n = 6;") == [(5, None), (6, None)]
    assert records("EXPLAIN ROW FROM totals WHERE n = 93;") == [(0, None), (1, None), (3, None)]
