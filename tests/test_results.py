"""Values as the REST API shows them (reference §7.5)."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest

from ksql_spark import types
from ksql_spark.runtime.results import api_value
from server.streaming import encode


def test_a_decimal_keeps_all_its_digits() -> None:
    type_ = types.Array(types.Decimal(20, 3))
    shown = api_value([Decimal("12345678901234567.890"), None], type_)
    assert "12345678901234567.890" in str(encode([shown]))
    assert json.loads(encode([shown]), parse_float=Decimal) == [[Decimal("12345678901234567.890"), None]]


@pytest.mark.parametrize(
    ("value", "type_", "shown"),
    [
        (0, types.TIMESTAMP, "1970-01-01T00:00:00.000"),
        (-1, types.TIMESTAMP, "1969-12-31T23:59:59.999"),
        (253402300799999, types.TIMESTAMP, "9999-12-31T23:59:59.999"),
        (253402300800000, types.TIMESTAMP, "+10000-01-01T00:00:00.000"),
        (1577836800000000, types.TIMESTAMP, "+51969-08-29T00:00:00.000"),
        (-62135596800001, types.TIMESTAMP, "0000-12-31T23:59:59.999"),
        (-62167219200001, types.TIMESTAMP, "-0001-12-31T23:59:59.999"),
        (-1, types.DATE, "1969-12-31"),
        (2932897, types.DATE, "+10000-01-01"),
        (2147483647, types.DATE, "+5881580-07-11"),
        (-2147483648, types.DATE, "-5877641-06-23"),
        (36306123, types.TIME, "10:05:06"),
        (-1, types.TIME, "23:59:59"),
    ],
)
def test_dates_and_times_beyond_those_of_python_are_shown_as_java_does(
    value: int, type_: Any, shown: str
) -> None:
    assert api_value(value, type_) == shown
