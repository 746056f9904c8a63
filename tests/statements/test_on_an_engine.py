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
