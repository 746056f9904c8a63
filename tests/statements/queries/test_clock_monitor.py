"""The watch over the wall clock, on clocks that tests set."""

from __future__ import annotations

from ksql_spark.runtime.driver.clock_monitor import ClockMonitor


class Clocks:
    def __init__(self) -> None:
        self.wall, self.steady = 1_000_000.0, 50.0
        self.told: list[float] = []
        self.watch = ClockMonitor(self.told.append, lambda: self.wall, lambda: self.steady)

    def after(self, wall_s: float, steady_s: float) -> list[float]:
        """What has been told so far, once the clocks have gone on by so much."""
        self.wall += wall_s
        self.steady += steady_s
        self.watch.look()
        return self.told


def test_a_clock_that_is_set_back_is_told_once() -> None:
    clocks = Clocks()
    assert clocks.after(1, 1) == []
    assert clocks.after(-3599, 1) == [3600]
    assert clocks.after(1, 1) == [3600]


def test_a_clock_that_is_set_ahead_is_fine_and_its_return_is_told() -> None:
    clocks = Clocks()
    assert clocks.after(3601, 1) == []
    assert clocks.after(-3599, 1) == [3600]


def test_a_clock_that_is_adjusted_little_by_little_is_fine() -> None:
    clocks = Clocks()
    for _ in range(100):
        assert clocks.after(0.5, 1) == []
