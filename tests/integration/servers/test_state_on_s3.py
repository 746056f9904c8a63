"""The state of queries in an object store: a server is killed, and another one goes on from there."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from ksql_spark.kafka.consumer import TopicReader
from tests.integration.counted_events import STATEMENTS, check_copies, produce, wait_for_counts
from tests.integration.s3_server import S3Server
from tests.integration.server_process import ServerProcess

pytestmark = pytest.mark.kafka

ONCE = "CREATE STREAM once AS SELECT who, n FROM events EMIT CHANGES;"


@pytest.fixture
def s3() -> Iterator[S3Server]:
    with S3Server() as running:
        yield running


def server(folder: Path, s3: S3Server, uri: str) -> ServerProcess:
    properties = {
        **s3.properties,
        "ksql.state.dir": uri,
        "ksql.spark.warm.up.enabled": "false",
        "ksql.checkpoint.interval.ms": "5000",
        "ksql.streams.auto.offset.reset": "earliest",
    }
    file = folder / "server.properties"
    file.write_text("".join(f"{name}={value}\n" for name, value in properties.items()), encoding="utf-8")
    return ServerProcess(folder / "data", "--properties", str(file))


def visible(server: ServerProcess, count: int) -> list[int]:
    """The numbers in ONCE, as readers of committed records see them, once there are so many."""
    found: list[int] = []
    with TopicReader(server.bootstrap_servers(), "ONCE") as reader:
        while len(found) < count:
            found += [json.loads(record.value or b"")["N"] for record in reader.poll_batch(0.5)]
    return sorted(found)


@pytest.mark.long
def test_nothing_is_lost_and_nothing_is_counted_twice(s3: S3Server, tmp_path: Path) -> None:
    uri = s3.folder("orders")
    with server(tmp_path, s3, uri) as first:
        first.ready()
        first.execute(STATEMENTS)
        first.execute(ONCE, **{"processing.guarantee": "exactly_once_v2"})
        first.execute("DROP STREAM gone;")
        produce(first, range(400))
        wait_for_counts(first, 400)
        produce(first, range(400, 700))  # it is killed on their way
        first.crash()
    assert not list((tmp_path / "data" / "checkpoints").glob("*"))
    assert s3.keys("orders/CSAS_COPIES") and s3.keys("orders/CSAS_ONCE") and s3.keys("orders/CTAS_COUNTS")
    with server(tmp_path, s3, uri) as second:
        second.ready()
        produce(second, range(700, 1000))
        wait_for_counts(second, 1000)
        assert visible(second, 1000) == list(range(1000))
        assert second.stop()[0] == 0
    with server(tmp_path, s3, uri) as third:
        third.ready()
        produce(third, range(1000, 1300))
        wait_for_counts(third, 1300)
        check_copies(third, 1300)
        assert visible(third, 1300) == list(range(1300))
        third.execute("DROP TABLE counts; DROP TABLE per_minute; DROP STREAM copies; DROP STREAM once;")
        third.stop(signal.SIGTERM)
    assert [key for key in s3.keys("orders/") if not key.endswith("/")] == ["orders/.owner.json"]


def test_a_bucket_that_is_not_there(s3: S3Server, tmp_path: Path) -> None:
    with server(tmp_path, s3, "s3a://no-such-bucket/orders") as process:
        code, _, errors = process.end()
        assert code == 1 and "s3a://no-such-bucket/orders (ksql.state.dir) cannot be used" in errors, errors
