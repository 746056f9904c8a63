"""When the heap of Spark's JVM is looked through, on a clock that tests set."""

from __future__ import annotations

from collections.abc import Hashable

from ksql_spark.runtime.heap_watch import LONGEST_S, QUIET_S, HeapWatch


class Server:
    def __init__(self) -> None:
        self.now, self.collected = 50.0, 0
        self.runs: frozenset[Hashable] = frozenset()
        self.watch = HeapWatch(lambda: self.runs, self._collect, lambda: self.now)

    def _collect(self) -> None:
        self.collected += 1

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
