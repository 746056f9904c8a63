"""Values as the REST API shows them (reference §7.5)."""

from __future__ import annotations

import json
from decimal import Decimal

from ksql_spark import types
from ksql_spark.runtime.results import api_value
from server.streaming import encode


def test_a_decimal_keeps_all_its_digits() -> None:
    type_ = types.Array(types.Decimal(20, 3))
    shown = api_value([Decimal("12345678901234567.890"), None], type_)
    assert "12345678901234567.890" in str(encode([shown]))
    assert json.loads(encode([shown]), parse_float=Decimal) == [[Decimal("12345678901234567.890"), None]]
