"""State is read as it was written, or not at all."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from ksql_spark.engine import Engine, Request
from ksql_spark.functions import registry
from ksql_spark.kafka.consumer import TopicReader
from ksql_spark.kafka.producer import RecordProducer
from tests.waiting import TIMEOUT_S

pytestmark = pytest.mark.kafka

PREFIX = "layout_"
STATEMENTS = f"""
CREATE STREAM events (who STRING KEY, n INT)
  WITH (KAFKA_TOPIC = '{PREFIX}events', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE TABLE totals AS SELECT who, COUNT(*) AS c, SUM(n) AS total FROM events GROUP BY who EMIT CHANGES;
"""


def _write(servers: str, *numbers: int) -> None:
    producer = RecordProducer(servers, linger_ms=0)
    for n in numbers:
        producer.send(f"{PREFIX}events", b"a", json.dumps({"n": n}).encode())
    producer.close()


def _wait_for(reader: TopicReader, row: Mapping[str, int]) -> None:
    """Read until ``row`` comes."""
    while True:
        records = reader.poll_batch(TIMEOUT_S)
        assert records, f"{row} did not come"
        values = [json.loads(r.value) for r in records if r.value is not None]
        if row in values:
            return


def _files(folder: Path) -> dict[str, str]:
    """What is in a folder: file -> hash."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


@pytest.mark.parametrize(
    "lowered",
    [
        pytest.param(lambda args: f"cast(coalesce(sum(cast({args[0]} AS double)), 0) AS int)", id="buffer"),
        pytest.param(lambda args: f"cast(coalesce(sum(-{args[0]}), 0) AS int)", id="meaning"),
    ],
)
def test_a_changed_lowering_does_not_read_the_state(
    make_engine: Callable[[], Engine],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    lowered: Callable[..., str],
) -> None:
    engine = make_engine()
    servers = engine.services.admin.servers
    engine.execute(Request(STATEMENTS, {"auto.offset.reset": "earliest"}))
    _write(servers, 1, 2, 3)
    with TopicReader(servers, f"{PREFIX}TOTALS") as reader:
        _wait_for(reader, {"C": 3, "TOTAL": 6})
        (query,) = engine.services.queries.all()
        engine.stop()
        state = _files(tmp_path / "checkpoints" / query.id)
        note = json.loads((tmp_path / "checkpoints" / query.id / "0.json").read_text(encoding="utf-8"))
        assert note["layout"]["buffer of SUM(N) AS KSQL_AGG_VARIABLE_1"] == "sum(sum BIGINT)"

        with monkeypatch.context() as patched:
            spec = registry.require("SUM")
            patched.setitem(registry._SPECS, "SUM", replace(spec, spark=lambda args, _: lowered(args)))
            engine = make_engine()
            (query,) = engine.services.queries.all()
            assert query.state == "ERROR"
            message = query.errors[-1].message
            assert message.startswith("The query's state cannot be read: SUM(N) AS KSQL_AGG_VARIABLE_1 was `")
            assert "sum(`__arg_1_0`)" in message and lowered(["`__arg_1_0`"]) in message
            assert "The state was not changed." in message and "ksql-spark state rebuild" in message
            engine.stop()
        assert _files(tmp_path / "checkpoints" / query.id) == state

        engine = make_engine()
        (query,) = engine.services.queries.all()
        assert query.state == "RUNNING"
        _write(servers, 4)
        _wait_for(reader, {"C": 4, "TOTAL": 10})
