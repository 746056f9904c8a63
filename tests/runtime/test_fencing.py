"""Which runs get a producer that later runs fence, and what is logged where the cluster gives no epoch."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from ksql_spark.config import Config
from ksql_spark.runtime.queries.fencing import Fencing


class Cluster:
    """Gives epochs, or the reason why not; counts how often it was asked."""

    def __init__(self) -> None:
        self.reason = ""
        self.asked = 0
        self.time_s = 0.0
        self.fencing = Fencing(self, lambda: Config({}), self.open, lambda: self.time_s)  # type: ignore[arg-type]

    def config(self, topic: str) -> dict[str, str]:
        return {"max.message.bytes": "1000"}

    def open(self, *_: Any) -> str:
        self.asked += 1
        return self.reason

    def start(self, master: str = "local[2]", **producer: str) -> bool:
        """Start a run: whether it is fenced."""
        plan = SimpleNamespace(stages=[SimpleNamespace(sink=SimpleNamespace(topic="t"))])
        query: Any = SimpleNamespace(id="Q", plan=plan)
        session: Any = SimpleNamespace(sparkContext=SimpleNamespace(master=master))
        settings = {name.replace("_", "."): value for name, value in producer.items()}
        return self.fencing.open(query, 0, session, "run", settings, None)


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


def test_each_run_takes_an_epoch(cluster: Cluster) -> None:
    assert [cluster.start(), cluster.start()] == [True, True]
    assert cluster.asked == 2


def test_a_cluster_that_gives_none_is_not_asked_for_each_query(
    cluster: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    cluster.reason = "nobody answers"
    assert [cluster.start(), cluster.start()] == [False, False]
    assert cluster.asked == 1
    (warning,) = caplog.messages
    assert "nobody answers" in warning
    cluster.time_s = 3600
    assert not cluster.start()
    assert (cluster.asked, len(caplog.messages)) == (2, 1)


def test_a_cluster_that_gives_some_later_is_asked_again(cluster: Cluster) -> None:
    cluster.reason = "nobody answers"
    assert not cluster.start()
    cluster.reason = ""
    cluster.time_s = 3600
    assert cluster.start()
    assert cluster.start()


@pytest.mark.parametrize("settings", [{"acks": "1"}, {"enable_idempotence": "false"}])
def test_a_producer_that_is_not_idempotent_is_not_fenced(cluster: Cluster, settings: dict[str, str]) -> None:
    assert not cluster.start(**settings)
    assert cluster.asked == 0


def test_tasks_in_executors_are_not_fenced(cluster: Cluster) -> None:
    assert not cluster.start("spark://host:7077")
