"""Push queries that need no Spark: which these are, and their rows."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from ksql_spark import analyzer, grammar
from ksql_spark.formats import BadRecord
from ksql_spark.kafka.consumer import Record
from ksql_spark.runtime.reading import push
from tests.statements.world import World

Direct = Callable[[str], Any]
#: what the last test could not read
unreadable: list[bytes | None] = []


def on_unreadable(record: Record, error: BadRecord) -> None:
    unreadable.append(record.value)


@pytest.fixture
def direct(make_world: Callable[..., World]) -> Direct:
    world = make_world()
    world.run(
        """
        CREATE STREAM e (id INT KEY, n BIGINT, v STRING, d DECIMAL(5, 2), st STRUCT<a INT>)
            WITH (kafka_topic='e', partitions=1, key_format='KAFKA', value_format='JSON');
        CREATE STREAM timed (id INT KEY, due BIGINT)
            WITH (kafka_topic='timed', partitions=1, format='JSON', timestamp='due');
        CREATE STREAM headed (id INT KEY, h BYTES HEADER('h'))
            WITH (kafka_topic='headed', partitions=1, format='JSON');
        CREATE STREAM sessions (id INT KEY, n INT)
            WITH (kafka_topic='sessions', partitions=1, format='JSON', window_type='SESSION');
        CREATE TABLE tab (id INT PRIMARY KEY, n INT, s STRING)
            WITH (kafka_topic='tab', partitions=1, key_format='KAFKA', value_format='JSON');
        CREATE SOURCE TABLE windowed (id INT PRIMARY KEY, n INT) WITH (kafka_topic='tab', key_format='KAFKA',
            value_format='JSON', window_type='TUMBLING', window_size='10 SECONDS');
        CREATE SOURCE TABLE of_changes (id INT PRIMARY KEY, n INT, s STRING)
            WITH (kafka_topic='tab', format='JSON', envelope='debezium');
        """
    )

    def found(text: str) -> Any:
        statement = grammar.parse_one(text)
        query = statement.query  # type: ignore[attr-defined]
        bound = analyzer.bind_read(query, world.services.published, world.services.config)
        return push.direct(bound, on_unreadable)

    return found


def record(key: int | None, value: Any, at: int = 1000) -> Record:
    data = value if isinstance(value, bytes) or value is None else json.dumps(value).encode()
    return Record("e", 0, 0, at, None if key is None else key.to_bytes(4, "big"), data)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM e EMIT CHANGES;",
        "SELECT v AS x, id FROM e alias WHERE alias.n > 5 AND v = 'a' OR id <> 3 EMIT CHANGES LIMIT 2;",
        "SELECT ROWTIME, st FROM e WHERE ROWTIME >= 10 EMIT CHANGES;",
        "SELECT id, ROWOFFSET, ROWPARTITION FROM e EMIT CHANGES;",
        "SELECT id FROM e WHERE v < 'a' OR n BETWEEN 1 AND 2 OR id IN (1, 2) EMIT CHANGES;",
    ],
)
def test_plain_queries_of_a_stream_need_no_spark(direct: Direct, text: str) -> None:
    source, _ = direct(text)
    assert source.name == "E"


@pytest.mark.parametrize(
    "text",
    [
        "SELECT UCASE(v) FROM e EMIT CHANGES;",
        "SELECT n + 1 FROM e EMIT CHANGES;",
        "SELECT id FROM e WHERE v LIKE 'a%' EMIT CHANGES;",
        "SELECT id, COUNT(*) FROM e GROUP BY id EMIT CHANGES;",
        "SELECT v, EXPLODE(ARRAY[1, 2]) FROM e EMIT CHANGES;",
        "SELECT v, id FROM e PARTITION BY v EMIT CHANGES;",
        "SELECT e.id FROM e JOIN tab ON e.id = tab.id EMIT CHANGES;",
        "SELECT * FROM tab WHERE n > 5 EMIT CHANGES;",
        "SELECT id, ROWOFFSET FROM tab EMIT CHANGES;",
        "SELECT UCASE(s) FROM tab EMIT CHANGES;",
        "SELECT * FROM of_changes EMIT CHANGES;",
        "SELECT * FROM timed EMIT CHANGES;",
        "SELECT * FROM headed EMIT CHANGES;",
        "SELECT * FROM sessions EMIT CHANGES;",
        "SELECT id FROM e EMIT CHANGES UNION ALL SELECT id FROM e EMIT CHANGES;",
    ],
)
def test_others_are_left_to_spark(direct: Direct, text: str) -> None:
    try:
        assert direct(text) is None
    except Exception as error:  # some are not push queries at all
        assert "UNION" in text or "PARTITION BY" in text, error


def test_rows_are_those_of_a_stream(direct: Direct) -> None:
    _, rows = direct("SELECT * FROM e EMIT CHANGES;")
    unreadable.clear()
    found = rows(
        [
            record(1, {"N": 2, "v": "a", "D": 1.5, "ST": {"A": 7}}),
            record(None, {"N": 3}),
            record(4, None),  # a stream's NULL value is not shown
            record(4, b"null"),
            record(5, b"no JSON"),
            Record("e", 0, 0, 1, b"short", b"{}"),
            record(6, {}),
        ]
    )
    assert [[str(v) if v is not None else None for v in row.values] for row in found] == [
        ["1", "2", "a", "1.50", "{'A': 7}"],
        [None, "3", None, None, None],
        ["6", None, None, None, None],
    ]
    assert not any(row.tombstone for row in found)
    assert unreadable == [b"no JSON", b"{}"]


def test_places_of_records_are_columns(direct: Direct) -> None:
    _, rows = direct("SELECT ROWOFFSET, ROWPARTITION, id FROM e WHERE ROWOFFSET > 6 EMIT CHANGES;")
    records = [Record("e", 3, offset, 1, (1).to_bytes(4, "big"), b"{}") for offset in (6, 7)]
    assert [row.values for row in rows(records)] == [[7, 3, 1]]


def test_conditions_know_two_values(direct: Direct) -> None:
    _, rows = direct("SELECT id, ROWTIME FROM e WHERE n > 5 OR v = 'a' EMIT CHANGES;")
    records = [
        record(1, {"N": 6}),
        record(2, {"N": None}),
        record(3, {"N": 1, "V": "a"}),
        record(4, {"N": 5}),
    ]
    assert [row.values for row in rows(records)] == [[1, 1000], [3, 1000]]


def test_rows_of_a_table_are_its_changes(direct: Direct) -> None:
    source, rows = direct("SELECT s, id AS i, ROWTIME FROM tab WHERE id < 5 EMIT CHANGES;")
    assert source.name == "TAB"
    unreadable.clear()
    records = [
        record(1, {"N": 2, "S": "a"}),
        record(1, None),
        record(9, None),
        record(None, {"S": "without a key"}),
        record(2, b"null"),
        record(3, b"no JSON"),
        record(4, {}),
    ]
    found = [(row.values, row.tombstone) for row in rows(records)]
    assert found == [
        (["a", 1, 1000], False),
        ([None, 1, None], True),
        ([None, 2, None], True),
        ([None, 4, 1000], False),
    ]
    assert unreadable == [b"no JSON"]


def test_rows_of_a_windowed_table_have_their_windows(direct: Direct) -> None:
    _, rows = direct("SELECT * FROM windowed WHERE WINDOWSTART >= 10000 EMIT CHANGES;")
    unreadable.clear()
    keys = [(1).to_bytes(4, "big") + start.to_bytes(8, "big") for start in (0, 10_000)]
    records = [Record("tab", 0, 0, 1, key, value) for key in keys for value in (b'{"N": 5}', None)]
    found = rows([*records, Record("tab", 0, 0, 1, b"short", b"{}")])
    assert [(row.values, row.tombstone) for row in found] == [
        ([1, 10_000, 20_000, 5], False),
        ([1, 10_000, 20_000, None], True),
    ]
    assert unreadable == [b"{}"]
