"""When a query that has failed is started again."""

from __future__ import annotations

import math

import pytest

from ksql_spark.runtime.queries.backoff import Offsets, Retries

FIRST_S, LONGEST_S = 15.0, 900.0


def fail(retries: Retries, now: float, committed: Offsets | None, was_running: bool = True) -> float:
    """The pause after a failure."""
    retries.failed(now, committed=committed, was_running=was_running, first_s=FIRST_S, longest_s=LONGEST_S)
    return retries.due_at - now


def at(offset: int) -> Offsets:
    return {"s": {0: offset}}


def test_pauses_are_doubled_up_to_the_longest() -> None:
    retries = Retries()
    pauses = [fail(retries, 1.0, at(5)) for _ in range(8)]
    assert pauses == [15, 30, 60, 120, 240, 480, 900, 900]
    for _ in range(2000):  # and no number overflows
        assert fail(retries, 1.0, at(5)) == LONGEST_S
    assert retries.in_a_row == retries.total == 2008


def test_what_is_committed_resets_the_pauses() -> None:
    retries = Retries()
    assert [fail(retries, 1.0, at(5)) for _ in range(3)] == [15, 30, 60]
    assert [fail(retries, 1.0, at(6)) for _ in range(2)] == [15, 30]
    assert retries.total == 5


@pytest.mark.parametrize(
    ("ran_s", "was_running", "pause"), [(899.0, True, 60), (900.0, True, 15), (901.0, False, 60)]
)
def test_a_query_that_ran_for_the_longest_pause_begins_with_the_first(
    ran_s: float, was_running: bool, pause: float
) -> None:
    retries = Retries()
    for _ in range(2):
        fail(retries, 1.0, at(5))
    retries.started_at = 1000.0
    assert fail(retries, 1000.0 + ran_s, at(5), was_running) == pause


def test_what_is_halted_is_not_due_until_it_fails_again() -> None:
    retries = Retries()
    fail(retries, 1.0, at(5))
    assert not retries.is_halted
    retries.halt()
    assert retries.is_halted and retries.due_at == math.inf
    assert fail(retries, 50.0, at(5)) == 30 and not retries.is_halted


def test_a_query_that_begins_anew_begins_with_the_first_pause() -> None:
    retries = Retries()
    for _ in range(3):
        fail(retries, 1.0, at(5))
    retries.forget()
    assert retries.in_a_row == 0 and fail(retries, 1.0, at(5)) == 15 and retries.total == 4


def test_what_cannot_be_read_is_no_progress() -> None:
    retries = Retries()
    assert [fail(retries, 1.0, committed) for committed in (at(5), None, at(5), None)] == [15, 30, 60, 120]
    assert fail(retries, 1.0, at(6)) == 15
