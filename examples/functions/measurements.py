"""A vectorised scalar function, and functions of STRUCTs."""

from dataclasses import dataclass

import pyarrow
import pyarrow.compute

from ksql_spark.udf import Vector, scalar_function


@scalar_function
def fahrenheit(celsius: Vector[float]) -> Vector[float]:
    """Degrees Celsius as degrees Fahrenheit."""
    return pyarrow.compute.add(pyarrow.compute.multiply(celsius, 1.8), 32)


@dataclass
class Range:
    """A STRUCT<LOW DOUBLE, HIGH DOUBLE>."""

    low: float
    high: float


@scalar_function
def range_of(values: list[float | None]) -> Range | None:
    """The least and the greatest of some numbers; NULL where there are none."""
    there = [v for v in values if v is not None]
    return Range(min(there), max(there)) if there else None


@scalar_function
def width(of: Range) -> float:
    """How far the ends of a range are apart."""
    return of.high - of.low
