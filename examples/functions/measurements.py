"""A vectorized scalar function, and functions with STRUCTs."""

from dataclasses import dataclass

import pyarrow
import pyarrow.compute

from ksql_spark.udf import Vector, scalar_function


@scalar_function
def fahrenheit(celsius: Vector[float]) -> Vector[float]:
    """Convert degrees Celsius to degrees Fahrenheit."""
    return pyarrow.compute.add(pyarrow.compute.multiply(celsius, 1.8), 32)


@dataclass
class Range:
    """A STRUCT<LOW DOUBLE, HIGH DOUBLE>."""

    low: float
    high: float


@scalar_function
def range_of(values: list[float | None]) -> Range | None:
    """The smallest and the largest of some numbers; NULL if there are none."""
    known = [v for v in values if v is not None]
    return Range(min(known), max(known)) if known else None


@scalar_function
def width(of: Range) -> float:
    """The distance between the ends of a range."""
    return of.high - of.low
