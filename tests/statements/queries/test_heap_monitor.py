"""When the heap of Spark's JVM is looked through, on a clock that tests set."""

from __future__ import annotations

from collections.abc import Hashable

from ksql_spark.runtime.driver.heap_monitor import LONGEST_S, QUIET_LOOKS, QUIET_S, HeapMonitor
from ksql_spark.spark.jvm import HeapUse

MB = 2**20


class Server:
    """A JVM that keeps a fifth of what it needs when memory is given back."""

    def __init__(self) -> None:
        self.now, self.collected = 50.0, 0
        self.runs: frozenset[Hashable] = frozenset()
        self.heap: HeapUse | None = HeapUse(collections=10, committed=120 * MB, needed=100 * MB)
        self.watch = HeapMonitor(lambda: self.runs, lambda: self.heap, self._collect, lambda: self.now)

    def _collect(self) -> None:
        self.collected += 1
        if self.heap is not None:
            needed = self.heap.needed
            self.heap = HeapUse(self.heap.collections + 8, needed * 6 // 5, needed)

    def looks(self, times: int, collections: int, taken: int, needed: int = 100) -> int:
        """How often the heap has been looked through after so many looks.

        Args:
            times: looks.
            collections: of the JVM before each of them.
            taken: the size of the heap, MB.
            needed: so much of it the collections leave, MB.
        """
        for _ in range(times):
            before = 0 if self.heap is None else self.heap.collections
            self.heap = HeapUse(before + collections, taken * MB, needed * MB)
            self.watch.look()
        return self.collected

    def after(self, seconds: float, *runs: str) -> int:
        """How often the heap has been looked through, once there have been these runs for so long."""
        self.runs = frozenset(runs)
        self.watch.look()
        self.now += seconds
        self.watch.look()
        return self.collected


def test_twice_after_the_start_and_after_each_change() -> None:
    first, second = QUIET_S
    server = Server()
    assert server.after(first - 1) == 0
    assert server.after(1) == 1
    assert server.after(second - first - 1) == 1
    assert server.after(1) == 2
    assert server.after(1000) == 2
    assert server.after(first - 1, "a") == 2
    assert server.after(1, "a") == 3
    assert server.after(second, "a", "b") == 4
    assert server.after(1000, "a", "b") == 5
    assert server.after(1000, "a", "b") == 5


def test_seldom_while_queries_keep_starting() -> None:
    server = Server()
    step_s = QUIET_S[0] - 1
    names = [str(n) for n in range(50)]
    times = [server.after(step_s, *names[:n]) for n in range(1, 51)][-1]
    assert 50 * step_s / (LONGEST_S + 2 * step_s) < times <= 50 * step_s / LONGEST_S


def quiet_server() -> Server:
    server = Server()
    server.after(QUIET_S[0])
    server.after(QUIET_S[1])
    server.collected = 0
    return server


def test_once_after_a_load_that_made_the_heap_grow() -> None:
    server = quiet_server()
    assert server.looks(20, collections=5, taken=900) == 0
    assert server.looks(QUIET_LOOKS - 1, collections=1, taken=900) == 0
    assert server.looks(1, collections=5, taken=900) == 0
    assert server.looks(QUIET_LOOKS, collections=0, taken=900) == 1
    assert server.looks(100, collections=0, taken=120) == 1
    assert server.looks(QUIET_LOOKS, collections=0, taken=300) == 2


def test_not_when_the_heap_is_needed_or_hardly_grew() -> None:
    server = quiet_server()
    assert server.looks(20, collections=0, taken=900, needed=700) == 0
    assert server.looks(20, collections=0, taken=135) == 0


def test_not_again_when_nothing_was_given_back() -> None:
    server = quiet_server()
    collected: list[int] = []
    server.watch = HeapMonitor(
        lambda: server.runs, lambda: server.heap, lambda: collected.append(1), lambda: server.now
    )
    server.looks(100, collections=0, taken=900)
    assert len(collected) == 1


def test_a_new_jvm_is_looked_at_anew() -> None:
    server = quiet_server()
    assert server.looks(QUIET_LOOKS, collections=0, taken=900, needed=700) == 0
    assert server.looks(QUIET_LOOKS, collections=0, taken=1500, needed=600) == 1
    server.heap = None
    server.watch.look()
    assert server.looks(QUIET_LOOKS, collections=0, taken=700) == 2
