"""What only a running engine shows: push queries that are terminated by somebody else."""

from __future__ import annotations

import time
import uuid

import pytest

from ksql_spark.engine import Engine, Request
from ksql_spark.errors import KsqlError

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
    assert (answer["@type"], answer["wasTerminated"]) == ("terminate_query", True)
    left = stream.read(0.5)
    while left is not None and time.monotonic() < deadline:
        left = stream.read(0.5)
    assert left is None and stream.final_message == "Query Completed"
    topics = engine.execute(Request("SHOW ALL TOPICS;"))[0]["topics"]
    assert not [t for t in topics if stream.query_id.removeprefix("transient_") in t["name"]]
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
    before = engine.services.admin.topics().keys()
    stream = engine.query(
        Request(
            f"SELECT id, n, d, due, l, st FROM {name} WHERE n >= 10 EMIT CHANGES LIMIT 3;",
            {"auto.offset.reset": "earliest", **settings},
        )
    )
    has_topic = engine.services.admin.topics().keys() != before
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
