"""Aggregate functions for all kinds of windows; GeometricMean also for tables."""

import math

from ksql_spark.udf import aggregate_function


@aggregate_function
class GeometricMean:
    """The n-th root of the product of n positive numbers."""

    def initialize(self) -> tuple[float, int]:
        return 0.0, 0

    def aggregate(self, state: tuple[float, int], number: float) -> tuple[float, int]:
        logarithms, count = state
        return logarithms + math.log(number), count + 1

    def undo(self, state: tuple[float, int], number: float) -> tuple[float, int]:
        logarithms, count = state
        return logarithms - math.log(number), count - 1

    def merge(self, state: tuple[float, int], other: tuple[float, int]) -> tuple[float, int]:
        return state[0] + other[0], state[1] + other[1]

    def result(self, state: tuple[float, int]) -> float | None:
        logarithms, count = state
        return math.exp(logarithms / count) if count else None


@aggregate_function
class MostCommon:
    """The most frequent text; if several are equally frequent, the first in alphabetical order."""

    def initialize(self) -> dict[str, int]:
        return {}

    def aggregate(self, state: dict[str, int], text: str) -> dict[str, int]:
        return {**state, text: state.get(text, 0) + 1}

    def merge(self, state: dict[str, int], other: dict[str, int]) -> dict[str, int]:
        return {text: state.get(text, 0) + other.get(text, 0) for text in {**state, **other}}

    def result(self, state: dict[str, int]) -> str | None:
        return min(state, key=lambda text: (-state[text], text), default=None)
