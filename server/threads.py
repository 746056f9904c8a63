"""Threads for which nothing waits, not even the end of the interpreter."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future
from functools import partial
from queue import SimpleQueue
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class DaemonThreads(Executor):
    """Runs calls that may last for ever, and starts its threads as they are needed.

    An interpreter that ends joins the threads of a ThreadPoolExecutor, and so waits for their calls.

    Args:
        most: how many calls run at once; more of them wait.
        name: what the threads' names begin with.
    """

    def __init__(self, most: int, name: str) -> None:
        self._most = most
        self._name = name
        self._lock = threading.Lock()
        self._threads: list[threading.Thread] = []
        #: calls that wait or run
        self._unfinished = 0
        self._is_shut = False
        #: what waits; None ends a thread
        self._calls: SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = SimpleQueue()

    def submit(self, call: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Run a call in one of the threads.

        Raises:
            RuntimeError: after the shutdown.
        """
        future: Future[T] = Future()
        with self._lock:
            if self._is_shut:
                raise RuntimeError("no calls are taken after the shutdown")
            self._calls.put((future, partial(call, *args, **kwargs)))
            self._unfinished += 1
            if len(self._threads) < min(self._unfinished, self._most):
                name = f"{self._name}_{len(self._threads)}"
                thread = threading.Thread(target=self._run, name=name, daemon=True)
                thread.start()
                self._threads.append(thread)
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Take no more calls; see Executor."""
        with self._lock:
            self._is_shut = True
            while cancel_futures and not self._calls.empty():
                if (waiting := self._calls.get()) is not None:
                    waiting[0].cancel()
            for _ in self._threads:
                self._calls.put(None)
        if wait:
            for thread in self._threads:
                thread.join()

    def _run(self) -> None:
        while (taken := self._calls.get()) is not None:
            _carry_out(*taken)
            del taken  # nothing of it is kept until the next one comes
            with self._lock:
                self._unfinished -= 1


def _carry_out(future: Future[Any], call: Callable[[], Any]) -> None:
    """Make a call, unless it was cancelled, and give ``future`` what comes of it."""
    if not future.set_running_or_notify_cancel():
        return
    try:
        result = call()
    except BaseException as error:  # the thread is for others, too
        future.set_exception(error)
    else:
        future.set_result(result)
