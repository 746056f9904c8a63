"""Waiting for what another thread, process or server does."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

#: how long anything may take on a very busy machine, seconds; it only matters where a test fails
TIMEOUT_S = 300.0
#: waits as long as this are listed at the end of a run
LONG_S = 30.0
#: waits of the running test that took LONG_S or more, seconds
long_waits: list[float] = []


def until(condition: Callable[[], object], report: Callable[[], object] = lambda: None) -> None:
    """Wait until a condition holds.

    Raises:
        AssertionError: it never does; the text is what ``report`` returns.
    """
    start = began = time.monotonic()
    deadline = start + TIMEOUT_S
    while not condition():
        now = time.monotonic()
        assert now < deadline, report()
        # looking leaves at least half of the time to what it waits for
        time.sleep(min(max(0.02, now - began), 0.5))
        began = time.monotonic()
    if (waited_s := time.monotonic() - start) >= LONG_S:
        long_waits.append(waited_s)


def awaited(ask: Callable[[], T], is_right: Callable[[T], object]) -> T:
    """Ask until the answer is right; return that answer, so that a costly question is not asked again.

    Raises:
        AssertionError: it never is; the text is the last answer.
    """
    answers: list[T] = []

    def is_answered() -> object:
        answers[:] = [ask()]
        return is_right(answers[0])

    until(is_answered, lambda: answers)
    return answers[0]
