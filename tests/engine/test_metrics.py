"""Lag in seconds where nothing that was fetched waits."""

from __future__ import annotations

from ksql_spark.engine.metrics import Halts


def test_a_query_that_reads_nothing_although_records_come_has_halted() -> None:
    halts = Halts()
    assert halts.seconds("q", read=5, lag=0, now=10) == 0
    assert halts.seconds("q", read=5, lag=0, now=20) == 0
    assert halts.seconds("q", read=5, lag=60, now=25) == 5
    assert halts.seconds("q", read=5, lag=120, now=30) == 10
    assert halts.seconds("q", read=65, lag=90, now=35) == 0  # it has read on
    assert halts.seconds("q", read=65, lag=150, now=40) == 5


def test_offsets_without_records_are_no_halt() -> None:
    halts = Halts()
    for now in range(10, 100, 10):
        assert halts.seconds("q", read=5, lag=1, now=now) == 0


def test_a_query_that_has_ended_is_forgotten() -> None:
    halts = Halts()
    halts.seconds("q", read=5, lag=0, now=10)
    halts.keep([])
    assert halts.seconds("q", read=5, lag=60, now=90) == 0
