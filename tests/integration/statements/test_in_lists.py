"""A query whose WHERE has a list of 10,000 constants, on a server that has other things to do."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from ksql_spark.kafka.consumer import TopicReader
from ksql_spark.services.broker import EmbeddedBroker
from tests.waiting import TIMEOUT_S

pytestmark = pytest.mark.kafka

MANY = 10_000


def test_a_long_list_runs_and_blocks_nobody(
    execute: Callable[[str], Any],
    post: Callable[..., httpx.Response],
    broker: EmbeddedBroker,
    topic_names: Callable[[str], str],
) -> None:
    source, sink = topic_names("numbers"), topic_names("chosen")
    execute(
        f"CREATE STREAM numbers (v INT) WITH (KAFKA_TOPIC='{source}', VALUE_FORMAT='JSON', PARTITIONS=1);"
    )
    values = (0, 1, 2 * MANY - 2, 2 * MANY - 1, 2 * MANY)
    for value in values:
        execute(f"INSERT INTO numbers (v) VALUES ({value});")
    members = ", ".join(map(str, range(0, 2 * MANY, 2)))
    made: list[Any] = []
    statement = (
        f"CREATE STREAM chosen WITH (KAFKA_TOPIC='{sink}') AS"
        f" SELECT v, v IN ({members}) AS is_even FROM numbers WHERE v IN ({members});"
    )
    creating = threading.Thread(target=lambda: made.append(execute(statement)))
    creating.start()
    answered = 0
    while creating.is_alive():
        assert post("SHOW STREAMS;").status_code == 200
        answered += creating.is_alive()
    creating.join()
    assert made and answered > 0
    with TopicReader(broker.bootstrap_servers, sink) as reader:
        found: list[Any] = []
        while len(found) < 2:
            batch = reader.poll_batch(TIMEOUT_S)
            assert batch, f"nothing comes after {len(found)} rows"
            found += [json.loads(record.value or b"") for record in batch]
    assert found == [{"V": v, "IS_EVEN": True} for v in (0, 2 * MANY - 2)]
