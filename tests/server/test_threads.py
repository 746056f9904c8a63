"""Threads for which nothing waits."""

from __future__ import annotations

import subprocess
import sys
import threading
from concurrent.futures import Future

import pytest

from server.threads import DaemonThreads

SOON_S = 20.0


def test_calls_give_what_they_return_or_raise() -> None:
    threads = DaemonThreads(2, "some")
    assert [threads.submit(divmod, number, 3).result(SOON_S) for number in range(5)] == [
        divmod(number, 3) for number in range(5)
    ]
    with pytest.raises(ZeroDivisionError):
        threads.submit(divmod, 1, 0).result(SOON_S)
    assert threads.submit(divmod, 7, 3).result(SOON_S) == (2, 1)
    threads.shutdown()


def test_so_many_calls_run_at_once_and_no_more() -> None:
    threads = DaemonThreads(3, "some")
    begun, may_end = threading.Semaphore(0), threading.Event()

    def call() -> str:
        begun.release()
        assert may_end.wait(SOON_S)
        return threading.current_thread().name

    calls = [threads.submit(call) for _ in range(10)]
    for _ in range(3):
        assert begun.acquire(timeout=SOON_S)
    assert [future.running() for future in calls] == [True] * 3 + [False] * 7
    may_end.set()
    assert {future.result(SOON_S) for future in calls} <= {"some_0", "some_1", "some_2"}
    threads.shutdown()


def test_a_shutdown_cancels_calls_that_wait_and_ends_the_threads() -> None:
    threads = DaemonThreads(1, "some")
    begun, may_end = threading.Event(), threading.Event()

    def call() -> threading.Thread:
        begun.set()
        assert may_end.wait(SOON_S)
        return threading.current_thread()

    running: Future[threading.Thread] = threads.submit(call)
    assert begun.wait(SOON_S)
    waiting, cancelled = threads.submit(call), threads.submit(call)
    assert cancelled.cancel()
    threads.shutdown(wait=False, cancel_futures=True)
    assert waiting.cancelled() and not running.done()
    with pytest.raises(RuntimeError):
        threads.submit(call)
    may_end.set()
    thread = running.result(SOON_S)
    thread.join(SOON_S)
    assert not thread.is_alive()


def test_the_end_of_the_interpreter_does_not_wait_for_a_call() -> None:
    program = """
import threading
from server.threads import DaemonThreads

begun = threading.Event()

def call():
    begun.set()
    threading.Event().wait()

DaemonThreads(1, "some").submit(call)
begun.wait()
print("at its end")
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "at its end\n", "")
