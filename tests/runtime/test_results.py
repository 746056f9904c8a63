"""Values as the REST API shows them (reference §7.5)."""

from __future__ import annotations

import json
from decimal import Decimal

from ksql_spark import types
from ksql_spark.runtime.reading.results import api_value
from ksql_spark.server.streaming.responses import encode


def test_a_decimal_keeps_all_its_digits() -> None:
    type_ = types.Array(types.Decimal(20, 3))
    shown = api_value([Decimal("12345678901234567.890"), None], type_)
    assert "12345678901234567.890" in str(encode([shown]))
    assert json.loads(encode([shown]), parse_float=Decimal) == [[Decimal("12345678901234567.890"), None]]


def test_days_and_times_that_python_has_no_dates_for() -> None:
    # in the middle: microseconds that were taken for milliseconds
    moments = [253402300800000, 1614853230456000, -62135596800001, -62167219200001]
    assert [api_value(m, types.TIMESTAMP) for m in moments] == [
        "+10000-01-01T00:00:00.000",
        "+53142-08-30T21:47:36.000",
        "0000-12-31T23:59:59.999",
        "-0001-12-31T23:59:59.999",
    ]
    days = [2932896, 2**31 - 1, -719163, -719529, -(2**31)]
    assert [api_value(d, types.DATE) for d in days] == [
        "9999-12-31",
        "+5881580-07-11",
        "0000-12-31",
        "-0001-12-31",
        "-5877641-06-23",
    ]
    assert [api_value(t, types.TIME) for t in (90_000_000, -1)] == ["01:00", "23:59:59"]
