"""Calls that fail are logged once, and the next one is made all the same."""

from __future__ import annotations

import queue
import threading

import pytest

from ksql_spark.runtime.queries.watching.periodic import PeriodicTask
from tests.log_records import logged_error

TIMEOUT_S = 20.0


def test_a_call_that_fails_is_logged_once_and_the_next_one_is_made(caplog: pytest.LogCaptureFixture) -> None:
    outcomes: queue.Queue[Exception | None] = queue.Queue()
    problems: queue.Queue[str | None] = queue.Queue()

    def look() -> None:
        problems.put(watch.problem)
        outcome = outcomes.get(timeout=TIMEOUT_S)
        if outcome is not None:
            raise outcome

    watch = PeriodicTask("a-watcher", 0.0, look)
    watch.start()
    given = [None, RuntimeError("odd"), RuntimeError("odd"), ValueError("odder"), None, None]
    for outcome in given:
        outcomes.put(outcome)
    seen = [problems.get(timeout=TIMEOUT_S) for _ in range(len(given) + 1)]
    assert seen == [None, None, "odd", "odd", "odder", None, None]
    watch.close()
    outcomes.put(None)
    assert watch.join(TIMEOUT_S)
    told = [
        (record.message, logged_error(record)) for record in caplog.records if record.levelname == "ERROR"
    ]
    message = "a-watcher failed; it will be retried"
    assert told == [(message, "RuntimeError: odd"), (message, "ValueError: odder")]


def test_what_fails_because_all_is_closed_is_not_told(caplog: pytest.LogCaptureFixture) -> None:
    is_looking, is_closed = threading.Event(), threading.Event()

    def look() -> None:
        is_looking.set()
        assert is_closed.wait(TIMEOUT_S)
        raise RuntimeError("it is closed")

    watch = PeriodicTask("a-watcher", 0.0, look)
    watch.start()
    assert is_looking.wait(TIMEOUT_S)
    watch.close()
    assert not watch.join(0.0)
    is_closed.set()
    assert watch.join(TIMEOUT_S) and watch.problem is None and not caplog.records
