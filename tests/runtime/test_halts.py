"""Lag in seconds where nothing that was fetched waits."""

from __future__ import annotations

from ksql_spark.runtime.queries.figures import Halts


def seconds(halts: Halts, read: float, lag: float, now: float) -> float:
    halts.note("q", read, lag, now)
    return halts.seconds("q")


def test_a_query_that_reads_nothing_although_records_come_has_halted() -> None:
    halts = Halts()
    assert seconds(halts, read=5, lag=0, now=10) == 0
    assert seconds(halts, read=5, lag=0, now=20) == 0
    assert seconds(halts, read=5, lag=60, now=25) == 5
    assert seconds(halts, read=5, lag=120, now=30) == 10
    assert seconds(halts, read=65, lag=90, now=35) == 0  # it has read on
    assert seconds(halts, read=65, lag=150, now=40) == 5


def test_offsets_without_records_are_no_halt() -> None:
    halts = Halts()
    for now in range(10, 100, 10):
        assert seconds(halts, read=5, lag=1, now=now) == 0


def test_a_query_that_has_ended_is_forgotten() -> None:
    halts = Halts()
    seconds(halts, read=5, lag=0, now=10)
    seconds(halts, read=5, lag=9, now=20)
    halts.keep([])
    assert halts.seconds("q") == 0
    assert seconds(halts, read=5, lag=60, now=90) == 0
