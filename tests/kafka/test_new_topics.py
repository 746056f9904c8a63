"""Topics that another client made a moment ago, without a broker."""

from __future__ import annotations

import pytest

from ksql_spark.errors import KsqlError
from ksql_spark.kafka import admin
from ksql_spark.kafka.admin import KafkaAdmin, Topic


class LateAdmin(KafkaAdmin):
    """A cluster whose only topic is there when it is asked for the ``times``-th time."""

    def __init__(self, times: int) -> None:
        super().__init__("127.0.0.1:1")
        self.left = times

    def topic(self, name: str) -> Topic | None:
        self.left -= 1
        return Topic(name, (1, 1)) if self.left <= 0 else None


def test_it_asks_again() -> None:
    late = LateAdmin(3)
    assert late.require_topic("fresh") == Topic("fresh", (1, 1))
    assert late.left == 0


def test_it_gives_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admin, "NEW_TOPIC_WAIT_S", 0.0)
    with pytest.raises(KsqlError) as raised:
        LateAdmin(3).require_topic("fresh")
    assert raised.value.condition == "TOPIC_UNKNOWN"
