"""EXPLAIN ROW through several queries, and EXPLAIN RECORD, on real topics."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from ksql_spark.engine import Engine, Request
from ksql_spark.entities.wire import to_json
from ksql_spark.kafka.admin import KafkaAdmin
from tests.waiting import awaited, until

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
CREATE TABLE hops AS SELECT item, COUNT(*) AS n FROM orders
  WINDOW HOPPING (SIZE 30 SECONDS, ADVANCE BY 10 SECONDS, GRACE PERIOD 0 SECONDS)
  GROUP BY item EMIT CHANGES;
CREATE STREAM many AS SELECT * FROM orders WHERE n > 1 EMIT CHANGES;
INSERT INTO orders (ROWTIME, id, item, n) VALUES (20000, 'o1', 'tea', 1);
INSERT INTO orders (ROWTIME, id, item, n) VALUES (60000, 'o2', 'tea', 2);
INSERT INTO orders (ROWTIME, id, item, n) VALUES (61000, 'o3', 'jam', 3);
INSERT INTO payments (ROWTIME, id, amount) VALUES (25000, 'o1', 9);
INSERT INTO payments (ROWTIME, id, amount) VALUES (65000, 'o2', 4);
INSERT INTO payments (ROWTIME, id, amount) VALUES (66000, 'o3', 5);
"""
NOT_IN_ALL = "Not in all rows: it came too late for them, or the query has not read it yet."


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


@pytest.fixture
def written(kafka_admin: KafkaAdmin) -> Callable[..., None]:
    """Wait until topics have so many records: to look costs nothing, other than to explain."""

    def wait(**counts: int) -> None:
        ends = {f"{PREFIX}{name}": count for name, count in counts.items()}

        def found() -> dict[str, int]:
            return {topic: end for (topic, _), end in kafka_admin.end_offsets(*ends).items()}

        awaited(found, lambda now: all(now[name] >= count for name, count in ends.items()))

    return wait


def flat(effects: list[dict[str, Any]], depth: int = 0) -> Iterator[tuple[int, str, str, list[Any]]]:
    for each in effects:
        yield depth, each["name"], each["outcome"], [(r["before"], r["after"]) for r in each["rows"]]
        yield from flat(each["below"], depth + 1)


def test_both_ways(told: Callable[[str], dict[str, Any]], written: Callable[..., None]) -> None:
    told(STATEMENTS)
    written(TAKINGS=3, BIG=1, PER_MINUTE=3, HOPS=6, MANY=2)
    answer = awaited(
        lambda: told("EXPLAIN ROW FROM big WHERE item = 'tea';"),
        lambda found: any(each["used"] == 2 for each in found["upstream"]),
    )
    (takings,) = answer["upstream"]
    (paid,) = takings["upstream"]
    assert [(r["topic"], r["offset"]) for r in takings["records"]] == [
        (f"{PREFIX}PAID", 0),
        (f"{PREFIX}PAID", 1),
    ]
    assert (paid["rows"], paid["used"], paid["upstream"]) == (2, 4, [])
    assert {(r["topic"].removeprefix(PREFIX), r["offset"]) for r in paid["records"]} == {
        ("orders", 0), ("payments", 0), ("orders", 1), ("payments", 1),
    }  # fmt: skip

    # as far as a table of a table
    answer = told(f"EXPLAIN RECORD '{PREFIX}payments' PARTITION 0 OFFSET 1;")
    assert (answer["names"], answer["record"]["columns"]) == (["PAYMENTS"], {"ID": "o2", "AMOUNT": 4})
    o2 = {"ID": "o2", "ITEM": "tea", "N": 2, "AMOUNT": 4, "ROWTIME": 65000}
    tea = {"ITEM": "tea", "TOTAL": 13, "C": 2}
    assert list(flat(answer["queries"])) == [
        (0, "PAID", "changed", [(None, o2)]),
        (1, "TAKINGS", "changed", [({"ITEM": "tea", "TOTAL": 9, "C": 1}, tea)]),
        (2, "BIG", "changed", [(None, {"ITEM": "tea", "TOTAL": 13})]),
    ]
    assert answer["queries"][0]["rows"][0]["offset"] == 1

    # too late for its window, and dropped by a condition
    told("INSERT INTO orders (ROWTIME, id, item, n) VALUES (50000, 'o4', 'tea', 1);")

    def effects() -> dict[str, Any]:
        found = told(f"EXPLAIN RECORD '{PREFIX}orders' PARTITION 0 OFFSET 3;")["queries"]
        return {each["name"]: each for each in found}

    written(log=1)
    found = awaited(effects, lambda told: told["PER_MINUTE"]["outcome"] == "late")
    assert found["PER_MINUTE"]["rows"] == []
    assert found["PER_MINUTE"]["reasons"] == [
        "It came 11 SECONDS behind stream time, too late for Aggregate.",
        "GRACE PERIOD 2 SECONDS would have kept it.",
    ]
    # in two of its windows: the first one was over
    windows = [row["after"]["WINDOWSTART"] for row in found["HOPS"]["rows"]]
    assert (windows, found["HOPS"]["notes"]) == ([40000, 50000], [NOT_IN_ALL])
    assert (found["MANY"]["outcome"], found["MANY"]["reasons"]) == ("dropped", ["WHERE (N > 1) is not true"])
    assert (found["PAID"]["outcome"], found["PAID"]["rows"]) == ("dropped", [])

    # each answer would be about all queries again
    told("DROP TABLE big; DROP TABLE takings; DROP STREAM paid; DROP TABLE hops; DROP STREAM many;")

    # put back: it is in the row, beside another late one, but not beside one that came after
    told("INSERT INTO orders (ROWTIME, id, item, n) VALUES (51000, 'o5', 'tea', 2);")
    query = found["PER_MINUTE"]["queryId"]
    until(lambda: told(f"REPLAY LATE ROWS OF {query};")["changed"] == 1)
    put_back = effects()["PER_MINUTE"]
    window = {"ITEM": "tea", "WINDOWSTART": 0, "WINDOWEND": 60000}
    ((_, _, _, rows),) = flat([put_back])
    assert (put_back["outcome"], rows) == ("changed", [(window | {"N": 3}, window | {"N": 4})])
    assert put_back["reasons"][-1] == "It was put back since: revision 2 of the row has it."
    told("INSERT INTO orders (ROWTIME, id, item, n) VALUES (52000, 'o6', 'tea', 4);")
    after = effects()["PER_MINUTE"]
    assert (after["outcome"], after["notes"]) == ("late", [
        "Late records came since revision 2 of the row, so it is not told whether that has this one."
    ])  # fmt: skip


def test_what_people_meet(told: Callable[[str], dict[str, Any]], written: Callable[..., None]) -> None:
    """A captured change, a record that cannot be read, months, windows with late records."""
    topic, line = f"{PREFIX}captured", f"{PREFIX}lines"
    source = {
        "connector": "sqlserver", "db": "shop", "schema": "dbo", "table": "sales", "change_lsn": "27:ac0:2",
        "commit_lsn": "27:ac0:3",
    }  # fmt: skip
    change = {"before": None, "after": {"id": 1, "item": "tea", "n": 2}, "source": source, "op": "c"}
    told(f"""
CREATE STREAM raw (k STRING KEY, line STRING)
  WITH (KAFKA_TOPIC = '{topic}', KEY_FORMAT = 'KAFKA', VALUE_FORMAT = 'KAFKA', PARTITIONS = 1);
CREATE TABLE sales (id INT PRIMARY KEY, item STRING, n INT)
  WITH (KAFKA_TOPIC = '{topic}', KEY_FORMAT = 'JSON', VALUE_FORMAT = 'JSON', ENVELOPE = 'debezium');
CREATE TABLE sold AS SELECT item, SUM(n) AS n FROM sales GROUP BY item;
CREATE STREAM lines (item STRING, n INT) WITH (KAFKA_TOPIC = '{line}', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE STREAM bytes (data STRING) WITH (KAFKA_TOPIC = '{line}', VALUE_FORMAT = 'KAFKA');
CREATE TABLE by_month AS SELECT item, COUNT(*) AS c FROM lines
  WINDOW TUMBLING (SIZE 1 MONTH) GROUP BY item;
CREATE TABLE by_minute AS SELECT item, COUNT(*) AS c FROM lines
  WINDOW TUMBLING (SIZE 1 MINUTE, GRACE PERIOD 0 SECONDS) GROUP BY item;
INSERT INTO raw VALUES ('{{"id":1}}', '{json.dumps(change)}');
INSERT INTO lines (ROWTIME, item, n) VALUES (1000, 'tea', 1);
INSERT INTO lines (ROWTIME, item, n) VALUES (61000, 'tea', 2);
INSERT INTO lines (ROWTIME, item, n) VALUES (2000, 'tea', 3);
INSERT INTO bytes (ROWTIME, data) VALUES (62000, 'no JSON');
""")

    def answer(place: str) -> dict[str, Any]:
        return told(f"EXPLAIN RECORD {place};")

    written(SOLD=1, BY_MONTH=3, BY_MINUTE=2, log=3)
    found = awaited(
        lambda: answer(f"'{topic}' PARTITION 0 OFFSET 0"),
        lambda told: told["queries"][0]["outcome"] == "changed",
    )["record"]
    assert found["columns"] == {"ID": 1, "ITEM": "tea", "N": 2}
    assert found["origin"] == {"table": "shop.dbo.sales", "position": "27:ac0:2"}

    def bad() -> dict[str, Any]:
        return answer(f"'{line}' PARTITION 0 OFFSET 3")

    found = awaited(bad, lambda told: [each["outcome"] for each in told["queries"]] == ["failed", "failed"])[
        "record"
    ]
    assert (found["columns"], found["timestamp"]) == ({"DATA": "no JSON"}, 62000)

    def first() -> dict[str, Any]:
        return {each["name"]: each["rows"] for each in answer(f"'{line}' PARTITION 0 OFFSET 0")["queries"]}

    def month(count: int) -> dict[str, Any]:
        return {"ITEM": "tea", "C": count, "WINDOWSTART": 0, "WINDOWEND": 31 * 86_400_000}

    rows = first()
    (row,) = rows["BY_MONTH"]
    assert (row["before"], row["after"]) == (month(2), month(3))
    # the late record is in the row neither with it nor without it
    (row,) = rows["BY_MINUTE"]
    assert (row["before"], row["after"]["C"]) == (None, 1)


def test_sessions_and_over(told: Callable[[str], dict[str, Any]], written: Callable[..., None]) -> None:
    """A record joins two sessions, and is the row before another one."""
    told(f"""
CREATE STREAM clicks (k STRING KEY, v INT)
  WITH (KAFKA_TOPIC = '{PREFIX}clicks', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE TABLE visits AS SELECT k, COUNT(*) AS n FROM clicks
  WINDOW SESSION (10 SECONDS, GRACE PERIOD 0 SECONDS) GROUP BY k EMIT CHANGES;
CREATE STREAM steps AS SELECT k, v, LAG(v) OVER (PARTITION BY k ORDER BY ROWTIME) AS p
  FROM clicks EMIT CHANGES;
INSERT INTO clicks (ROWTIME, k, v) VALUES (1000, 'a', 1);
INSERT INTO clicks (ROWTIME, k, v) VALUES (8000, 'a', 2);
INSERT INTO clicks (ROWTIME, k, v) VALUES (15000, 'a', 3);
""")

    def effects(offset: int) -> dict[str, Any]:
        found = told(f"EXPLAIN RECORD '{PREFIX}clicks' PARTITION 0 OFFSET {offset};")["queries"]
        return {each["name"]: each for each in found}

    def visit(n: int, start: int, end: int) -> dict[str, Any]:
        return {"K": "a", "N": n, "WINDOWSTART": start, "WINDOWEND": end}

    def told_rows(of: dict[str, Any]) -> list[Any]:
        return sorted(((row["before"], row["after"]) for row in of["rows"]), key=str)

    written(VISITS=5, STEPS=3)
    awaited(lambda: effects(2), lambda found: [row["offset"] for row in found["STEPS"]["rows"]] == [2])
    joined = [(None, visit(3, 1000, 15000)), (visit(1, 1000, 1000), None), (visit(1, 15000, 15000), None)]
    found = awaited(lambda: effects(1), lambda now: told_rows(now["VISITS"]) == joined)
    assert (found["VISITS"]["outcome"], found["STEPS"]["outcome"]) == ("changed", "changed")
    assert told_rows(found["STEPS"]) == [
        (None, {"K": "a", "V": 2, "P": 1, "ROWTIME": 8000}),
        (None, {"K": "a", "V": 3, "P": 2, "ROWTIME": 15000}),
        ({"K": "a", "V": 3, "P": 1, "ROWTIME": 15000}, None),
    ]
    # in a session that was over; the other query has been checked
    told("DROP STREAM steps;")
    told("INSERT INTO clicks (ROWTIME, k, v) VALUES (60000, 'a', 4);")
    told("INSERT INTO clicks (ROWTIME, k, v) VALUES (9000, 'a', 5);")
    written(log=1)
    found = awaited(lambda: effects(4), lambda now: now["VISITS"]["outcome"] == "late")
    assert found["VISITS"]["rows"] == []
    assert told_rows(effects(1)["VISITS"]) == joined
