"""The taxi example as in the README: a script, generated events, results."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ksql_spark.kafka.admin import KafkaAdmin
from ksql_spark.kafka.consumer import TopicReader
from ksql_spark.services.broker import EmbeddedBroker
from shell.main import main

pytestmark = pytest.mark.kafka

SCRIPT = Path(__file__).parents[2] / "examples" / "taxi.sql"
RIDES = 300
TIMEOUT_S = 120.0


def values(broker: EmbeddedBroker, topic: str, count: int) -> list[tuple[bytes | None, dict[str, Any]]]:
    """Keys and values of the first ``count`` records of a topic, and all that came with them."""
    found: list[tuple[bytes | None, dict[str, Any]]] = []
    deadline = time.monotonic() + TIMEOUT_S
    with TopicReader(broker.bootstrap_servers, topic) as reader:
        while len(found) < count:
            assert time.monotonic() < deadline, f"{len(found)} of {count} records in {topic}"
            found += [(r.key, json.loads(r.value)) for r in reader.poll_batch(0.5) if r.value is not None]
    return found


def test_the_taxi_story(
    url: str,
    broker: EmbeddedBroker,
    kafka_admin: KafkaAdmin,
    execute: Callable[[str], Any],
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert not {"rides", "zones"} & set(kafka_admin.topics())
    assert main(["run", str(SCRIPT), "--server", url]) == 0, capsys.readouterr().err
    assert "RIDES_WITH_ZONES" in capsys.readouterr().out
    servers = broker.bootstrap_servers
    assert main(["datagen", "zones", "--bootstrap-servers", servers]) == 0
    pace = ["--rate", "0", "--count", str(RIDES), "--seed", "7", "--start", "2024-01-31T08:00:00"]
    assert main(["datagen", "rides", "--bootstrap-servers", servers, *pace]) == 0

    rides = [value for _, value in values(broker, "rides", RIDES)]
    amounts = [ride["total_amount"] for ride in rides]
    expensive = [amount for amount in amounts if amount >= 40]
    assert 0 < len(expensive) < RIDES
    found = values(broker, "EXPENSIVE_RIDES", len(expensive))
    assert [v["TOTAL_AMOUNT"] for _, v in found] == expensive
    found = values(broker, "CHEAP_RIDES", RIDES - len(expensive))
    assert [v["TOTAL_AMOUNT"] for _, v in found] == [a for a in amounts if a < 40]

    updates = values(broker, "RIDES_BY_VENDOR", RIDES)
    last = dict(updates)
    assert sum(v["TRIPS"] for v in last.values()) == RIDES == len(updates)
    assert sum(v["REVENUE"] for v in last.values()) == pytest.approx(sum(amounts))
    windows = dict(values(broker, "RIDES_PER_MINUTE", RIDES))
    assert sum(v["TRIPS"] for v in windows.values()) == RIDES
    joined = values(broker, "RIDES_WITH_ZONES", RIDES)
    assert len(joined) == RIDES
    assert any(v["ZONE"] for _, v in joined)
