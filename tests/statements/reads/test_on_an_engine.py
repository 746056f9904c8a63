"""What only a running engine shows: push queries that are terminated by somebody else, or shared."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from ksql_spark.engine import Engine, QueryStream, Request
from ksql_spark.entities.commands import RowsChanged, TerminateQueryEntity
from ksql_spark.entities.sources import KafkaTopicsList
from ksql_spark.errors import KsqlError
from tests.shared_services import WORKER
from tests.waiting import until

pytestmark = pytest.mark.kafka

TIMEOUT_S = 60.0


def test_terminate_ends_a_push_query(engine: Engine) -> None:
    name = f"pushed_{uuid.uuid4().hex[:8]}"
    options = f"KAFKA_TOPIC='{name}', VALUE_FORMAT='JSON', PARTITIONS=1"
    engine.execute(Request(f"CREATE STREAM {name} (k STRING KEY, v INT) WITH ({options});"))
    engine.execute(Request(f"INSERT INTO {name} VALUES ('a', 1);"))
    stream = engine.query(Request(f"SELECT * FROM {name} EMIT CHANGES;", {"auto.offset.reset": "earliest"}))
    deadline = time.monotonic() + TIMEOUT_S
    rows = []
    while not rows and time.monotonic() < deadline:
        rows = [row.values for row in stream.read(0.5) or []]
    assert rows == [["a", 1]]
    for verb in ("PAUSE", "RESUME"):
        with pytest.raises(KsqlError, match="is a push query"):
            engine.execute(Request(f"{verb} `{stream.query_id}`;"))
    (answer,) = engine.execute(Request(f"TERMINATE `{stream.query_id}`;"))
    assert isinstance(answer, TerminateQueryEntity) and answer.was_terminated
    left = stream.read(0.5)
    while left is not None and time.monotonic() < deadline:
        left = stream.read(0.5)
    assert left is None and stream.final_message == "Query Completed"
    (shown,) = engine.execute(Request("SHOW ALL TOPICS;"))
    assert isinstance(shown, KafkaTopicsList)
    assert not [t for t in shown.topics if stream.query_id.removeprefix("transient_") in t.name]
    engine.execute(Request(f"DROP STREAM {name} DELETE TOPIC;"))


@pytest.mark.parametrize("settings", [{}, {"ksql.fail.on.deserialization.error": True}])
def test_plain_push_queries_give_the_same_rows_with_and_without_spark(
    engine: Engine, settings: dict[str, bool]
) -> None:
    name = f"plain_{uuid.uuid4().hex[:8]}"
    engine.execute(
        Request(
            f"CREATE STREAM {name} (id INT KEY, n BIGINT, d DECIMAL(6, 2), due TIMESTAMP, l ARRAY<INT>,"
            f" st STRUCT<a DOUBLE>) WITH (KAFKA_TOPIC='{name}', VALUE_FORMAT='JSON', PARTITIONS=2);"
            f"INSERT INTO {name} VALUES (1, 10, 1.50, '2020-01-01T00:00:00', ARRAY[1, 2], STRUCT(a := 0.5));"
            f"INSERT INTO {name} (id, n) VALUES (2, 20);"
            f"INSERT INTO {name} (n) VALUES (30);"
            f"INSERT INTO {name} (id, n) VALUES (4, 5);"
        )
    )
    before = results(engine)
    stream = engine.query(
        Request(
            f"SELECT id, n, d, due, l, st FROM {name} WHERE n >= 10 EMIT CHANGES LIMIT 3;",
            {"auto.offset.reset": "earliest", **settings},
        )
    )
    has_topic = results(engine) != before
    assert has_topic == bool(settings)
    deadline = time.monotonic() + TIMEOUT_S
    rows: list[list[object]] = []
    while time.monotonic() < deadline:
        found = stream.read(0.5)
        if found is None:
            break
        rows += [[str(v) for v in row.values] for row in found]
    assert stream.final_message == "Limit Reached"
    assert sorted(rows) == [
        ["1", "10", "1.50", "2020-01-01T00:00:00.000", "[1, 2]", "{'A': 0.5}"],
        ["2", "20", "None", "None", "None", "None"],
        ["None", "30", "None", "None", "None", "None"],
    ]
    assert engine.services.queries.find(stream.query_id) is None
    engine.execute(Request(f"DROP STREAM {name} DELETE TOPIC;"))


def rows_of(stream: QueryStream, count: int) -> list[list[Any]]:
    """The next ``count`` rows."""
    found: list[list[Any]] = []
    deadline = time.monotonic() + TIMEOUT_S
    while len(found) < count:
        assert time.monotonic() < deadline, found
        rows = stream.read(0.5)
        assert rows is not None, (found, stream.final_message)
        found += [row.values for row in rows]
    return found


def results(engine: Engine) -> list[str]:
    """The topics with results of push queries."""
    return [name for name in engine.services.admin.topics() if f"tests_{WORKER}_transient_" in name]


def running(engine: Engine) -> list[str]:
    """The ids of push queries that run, listed or not."""
    return [query.id for query in engine.services.queries.managed() if query.is_transient]


@pytest.fixture
def words(engine: Engine) -> Iterator[str]:
    name = f"words_{uuid.uuid4().hex[:8]}"
    options = f"KAFKA_TOPIC='{name}', VALUE_FORMAT='JSON', PARTITIONS=2"
    engine.execute(Request(f"CREATE STREAM {name} (k STRING KEY, v STRING) WITH ({options});"))
    yield name
    engine.execute(Request(f"DROP STREAM {name} DELETE TOPIC;"))


def test_clients_that_ask_the_same_share_a_query_of_spark(engine: Engine, words: str) -> None:
    text = f"SELECT k, EXPLODE(SPLIT(UCASE(v), ',')) AS w FROM {words} WHERE LEN(v) > 1 EMIT CHANGES;"
    first = engine.query(Request(text))
    (topic,) = results(engine)

    def insert(key: str, value: str) -> None:
        engine.execute(Request(f"INSERT INTO {words} VALUES ('{key}', '{value}');"))

    insert("a", "x,y")
    assert rows_of(first, 2) == [["a", "X"], ["a", "Y"]]
    insert("b", "q")  # too short
    insert("a", "z,z")
    # the query of Spark may be behind: this client must not see z
    second = engine.query(Request(text.lower()))
    insert("c", "u,v")
    assert rows_of(second, 2) == [["c", "U"], ["c", "V"]]
    assert sorted(rows_of(first, 4)) == [["a", "Z"], ["a", "Z"], ["c", "U"], ["c", "V"]]
    assert results(engine) == [topic]
    engine.execute(Request(f"TERMINATE `{first.query_id}`;"))
    assert first.read(0.5) is None
    insert("a", "s,t")
    assert rows_of(second, 2) == [["a", "S"], ["a", "T"]]
    assert engine.close_query(second.query_id)
    assert not results(engine) and not running(engine)


def test_counts_are_shared_from_the_beginning_on(engine: Engine, words: str) -> None:
    engine.execute(Request("".join(f"INSERT INTO {words} VALUES ('a', '{n}');" for n in range(3))))
    text = f"SELECT k, COUNT(*) AS n FROM {words} GROUP BY k EMIT CHANGES;"
    earliest = {"auto.offset.reset": "earliest"}
    first = engine.query(Request(text, earliest))
    assert rows_of(first, 3)[-1] == ["a", 3]
    same, later = engine.query(Request(text, earliest)), engine.query(Request(text))
    assert len(results(engine)) == 2
    assert rows_of(same, 3)[-1] == ["a", 3]
    engine.execute(Request(f"INSERT INTO {words} VALUES ('a', '4');"))
    assert rows_of(first, 1) == rows_of(same, 1) == [["a", 4]]
    assert rows_of(later, 1) == [["a", 1]]
    for stream in (first, same, later):
        stream.close()
    assert not results(engine) and not running(engine)


def test_a_query_of_spark_goes_on_from_a_token(engine: Engine, words: str) -> None:
    text = f"SELECT v, LCASE(k) AS k FROM {words} PARTITION BY v EMIT CHANGES;"
    tokens = {"ksql.query.push.v2.continuation.tokens.enabled": True, "auto.offset.reset": "earliest"}
    engine.execute(Request("".join(f"INSERT INTO {words} VALUES ('K{n}', '{n}');" for n in range(4))))
    stream: Any = engine.query(Request(text, tokens))
    assert sorted(rows_of(stream, 4)) == [[str(n), f"k{n}"] for n in range(4)]
    token = stream.continuation
    stream.close()
    engine.execute(Request(f"INSERT INTO {words} VALUES ('K4', '4');"))
    again = engine.query(Request(text, continuation_token=token))
    assert rows_of(again, 1) == [["4", "k4"]]
    again.close()


@pytest.mark.parametrize(
    ("selected", "condition", "unknown"),
    [("n, k", "", []), ("n + 0, k", "k >= 'a'", []), ("n, k", "n < 10", [[None, "d"]])],
)
def test_a_query_of_a_table_goes_on_from_a_token(
    engine: Engine, selected: str, condition: str, unknown: list[Any]
) -> None:
    """Changes, deletions, and rows that no longer match, once each; the last also of a row it never had."""
    name = f"kept_{uuid.uuid4().hex[:8]}"

    def insert(*rows: str) -> None:
        engine.execute(Request("".join(f"INSERT INTO {name} (k, n) VALUES {row};" for row in rows)))

    options = f"KAFKA_TOPIC='{name}', FORMAT='JSON', PARTITIONS=4"
    engine.execute(Request(f"CREATE TABLE {name} (k STRING PRIMARY KEY, n INT) WITH ({options});"))
    insert("('a', 1)", "('b', 2)", "('c', 3)")
    where = f"WHERE {condition}" if condition else ""
    text = f"SELECT {selected} FROM {name} {where} EMIT CHANGES;"
    stream: Any = engine.query(Request(text, {"ksql.query.push.v2.continuation.tokens.enabled": True}))
    assert sorted(rows_of(stream, 3)) == [[1, "a"], [2, "b"], [3, "c"]]
    token = stream.continuation
    stream.close()
    insert("('a', 5)", "('b', NULL)", "('c', 20)", "('d', 30)", "('e', 6)")
    expected = [[5, "a"], [None, "b"], [20, "c"], [30, "d"], [6, "e"]]
    if unknown:
        expected = [[5, "a"], [None, "b"], [None, "c"], [6, "e"], *unknown]
    again = engine.query(Request(text, continuation_token=token))
    assert sorted(rows_of(again, 5), key=str) == sorted(expected, key=str)
    again.close()


@pytest.mark.parametrize("partitions", [1, 4])
def test_changed_rows_are_those_that_a_query_reads(engine: Engine, partitions: int) -> None:
    name = f"changed_{uuid.uuid4().hex[:8]}"
    options = f"KAFKA_TOPIC='{name}', FORMAT='JSON', PARTITIONS={partitions}"

    def run(text: str) -> int:
        (answer,) = engine.execute(Request(text))
        assert isinstance(answer, RowsChanged)
        return answer.count

    engine.execute(
        Request(
            f"CREATE TABLE {name} (k INT PRIMARY KEY, s STRING, n BIGINT NOT NULL, d DECIMAL(6, 2), b BYTES,"
            f" t TIMESTAMP, l ARRAY<INT>, st STRUCT<a DOUBLE>) WITH ({options});"
            f"CREATE TABLE {name}_copy AS SELECT * FROM {name};"
        )
    )
    for k in range(6):
        values = f"{k}, 'r{k}', {k}, 1.50, TO_BYTES('aa', 'hex'), NULL, NULL"
        st = "STRUCT(a := 0.5)" if k % 2 else "NULL"
        engine.execute(Request(f"INSERT INTO {name} VALUES ({values}, {st});"))
    assert run(f"UPDATE {name} SET n = n + 10, s = UCASE(s) WHERE k IN (1, 2, 9);") == 2
    assert run(f"UPDATE {name} SET d = CAST(n AS DECIMAL(6, 2)), l = ARRAY[k, 7] WHERE st->a = 0.5;") == 3
    assert run(f"UPDATE {name} SET n = n + 1 WHERE k = 1;") == 1
    assert run(f"UPDATE {name} SET s = NULL, b = NULL WHERE k = 4 AND s LIKE 'r%';") == 1
    assert run(f"DELETE FROM {name} WHERE k = 3 OR n = 0;") == 2
    assert run(f"DELETE FROM {name} WHERE k = 3;") == 0
    with pytest.raises(KsqlError, match="is not a valid INTEGER"):
        engine.execute(Request(f"UPDATE {name} SET l = ARRAY[CAST(s AS INT)] WHERE k > 0;"))
    with pytest.raises(KsqlError, match="violates N NOT NULL"):
        engine.execute(Request(f"UPDATE {name} SET n = NULLIF(n, 12) WHERE k > 0;"))
    expected = [
        [1, "R1", 12, "11.00", "qg==", [1, 7], {"A": 0.5}],
        [2, "R2", 12, "1.50", "qg==", None, None],
        [4, None, 4, "1.50", None, None, None],
        [5, "r5", 5, "5.00", "qg==", [5, 7], {"A": 0.5}],
    ]

    def copied() -> list[list[Any]]:
        stream = engine.query(Request(f"SELECT k, s, n, d, b, l, st FROM {name}_copy;"))
        found: list[list[Any]] = []
        while (rows := stream.read(0.5)) is not None:
            found += [[str(v) if i == 3 else v for i, v in enumerate(row.values)] for row in rows]
        return sorted(found)

    until(lambda: copied() == expected, copied)
    # the query that reads the table sees each row go
    assert [run(f"TRUNCATE TABLE {name};"), run(f"TRUNCATE {name};")] == [4, 0]
    until(lambda: copied() == [], copied)
    engine.execute(Request(f"INSERT INTO {name} (k, n) VALUES (1, 1);"))
    until(lambda: copied() == [[1, None, 1, "None", None, None, None]], copied)
    engine.execute(Request(f"DROP TABLE {name}_copy DELETE TOPIC; DROP TABLE {name} DELETE TOPIC;"))
