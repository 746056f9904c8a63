"""Coroutines that are begun before it is decided how to wait for them."""

from __future__ import annotations

from collections.abc import Awaitable, Generator
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Begun(Generic[T]):
    """Runs ``awaitable`` as far as it goes without waiting; what has not ended then can be awaited, once.

    Most of what a server awaits is there already. To find that out costs less than a timer.
    """

    #: what it has returned, if it is done
    result: T

    def __init__(self, awaitable: Awaitable[T]) -> None:
        self._steps = awaitable.__await__()
        self.is_done = False
        try:
            self._waits_for = next(self._steps)
        except StopIteration as end:
            self.is_done, self.result = True, end.value

    def __await__(self) -> Generator[Any, Any, T]:
        """Wait for its end; it gets each result and error, as if it had been awaited itself."""
        waits_for = self._waits_for
        while True:
            try:
                try:
                    got = yield waits_for
                except BaseException as error:
                    waits_for = self._steps.throw(error)
                else:
                    waits_for = self._steps.send(got)
            except StopIteration as end:
                found: T = end.value
                return found
