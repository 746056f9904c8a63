"""A stop ends within its limit and leaves no process, whatever hangs."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from ksql_spark.engine.bootstrap import lifecycle
from ksql_spark.engine.bootstrap.lifecycle import Lifecycle


@pytest.fixture
def hangs() -> Iterator[threading.Event]:
    """Set once what hangs may go on."""
    event = threading.Event()
    yield event
    event.set()


def test_parts_stop_in_reverse_order_and_processes_are_killed_last() -> None:
    done: list[str] = []
    parts = Lifecycle(threading.RLock())
    parts.kills(lambda: done.append("kill"))
    parts.on_stop(done.append, "first")
    parts.on_stop(done.append, "last")
    assert parts.stop() and parts.stop()
    assert done == ["last", "first", "kill", "kill"]


def test_what_waits_for_a_process_ends_once_that_is_killed(hangs: threading.Event) -> None:
    done: list[str] = []
    parts = Lifecycle(threading.RLock(), limit_s=0.01)
    parts.kills(hangs.set)
    parts.on_stop(done.append, "after")
    parts.on_stop(hangs.wait)
    assert parts.stop() and done == ["after"]


def test_what_hangs_for_ever_does_not_hold_up_the_stop(
    hangs: threading.Event, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(lifecycle, "KILLED_S", 0.01)
    killed: list[str] = []

    def refuses() -> None:
        raise OSError("no")

    parts = Lifecycle(threading.RLock(), limit_s=0.01)
    for kill in (lambda: killed.append("broker"), refuses, lambda: killed.append("spark")):
        parts.kills(kill)
    parts.on_stop(hangs.wait)
    assert not parts.stop()
    assert killed == ["spark", "broker"]
    assert "Event.wait" in caplog.text


def test_a_process_that_finishes_something_is_waited_for(hangs: threading.Event) -> None:
    done: list[str] = []
    looks = iter(range(3))

    def is_busy() -> bool:
        if next(looks, None) is None:
            hangs.set()
        return True

    parts = Lifecycle(threading.RLock(), limit_s=0.01)
    parts.kills(lambda: done.append("kill"), is_busy)
    parts.on_stop(done.append, "after")
    parts.on_stop(hangs.wait)
    assert parts.stop()
    assert done == ["after", "kill"]


def test_a_start_that_fails_meanwhile_kills_nothing_that_stops(hangs: threading.Event) -> None:
    """The thread that starts the engine stops it, too, once it notices that it was stopped."""
    done: list[str] = []
    begun = threading.Event()
    parts = Lifecycle(threading.RLock())
    parts.kills(lambda: done.append("kill"))

    def archive() -> None:
        begun.set()
        hangs.wait()
        done.append("archived")

    parts.on_stop(archive)
    stops = [threading.Thread(target=parts.stop) for _ in range(2)]
    stops[0].start()
    begun.wait()
    stops[1].start()
    stops[1].join(0.05)  # what it must not do it would do at once
    hangs.set()
    for stop in stops:
        stop.join()
    assert done == ["archived", "kill", "kill"]


def test_nor_does_a_statement_under_way(hangs: threading.Event, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lifecycle, "KILLED_S", 0.01)
    lock, held = threading.RLock(), threading.Event()

    def execute() -> None:
        with lock:
            held.set()
            hangs.wait()

    threading.Thread(target=execute, daemon=True).start()
    held.wait()
    assert not Lifecycle(lock, limit_s=0.01).stop()


def test_the_failure_of_a_part_is_told() -> None:
    done: list[str] = []

    def fails() -> None:
        raise ValueError("x")

    parts = Lifecycle(threading.RLock())
    parts.on_stop(done.append, "after")
    parts.on_stop(fails)
    with pytest.raises(ValueError, match="x"):
        parts.stop()
    assert done == ["after"]
