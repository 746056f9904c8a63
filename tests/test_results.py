"""Values as the REST API shows them (reference §7.5)."""

from __future__ import annotations

import json
from decimal import Decimal

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
        (-719162, types.DATE, "0001-01-01"),
        (-719163, types.DATE, "0000-12-31"),
        (-719529, types.DATE, "-0001-12-31"),
        (2932897, types.DATE, "+10000-01-01"),
        (2**31 - 1, types.DATE, "+5881580-07-11"),
        (-1, types.TIMESTAMP, "1969-12-31T23:59:59.999"),
        # microseconds where there should be milliseconds
        (1_700_000_000_000_000, types.TIMESTAMP, "+55840-11-08T22:13:20.000"),
        (2**63 - 1, types.TIMESTAMP, "+292278994-08-17T07:12:55.807"),
        (-(2**63), types.TIMESTAMP, "-292275055-05-16T16:47:04.192"),
        (3_600_000, types.TIME, "01:00"),
        (-1, types.TIME, "23:59:59"),
    ],
)
def test_times_of_any_year_are_shown(value: int, type_: types.SqlType, shown: str) -> None:
    assert api_value(value, type_) == shown
