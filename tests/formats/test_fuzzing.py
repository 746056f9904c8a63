"""A few damaged records of each format; ``make fuzz`` reads many."""

from __future__ import annotations

from typing import Any

import pytest

from .fuzz import COLUMNS, TEXT, fuzz

COUNT = 200


@pytest.mark.spark
def test_damaged_records_are_bad_or_read_alike(local_spark: Any) -> None:
    outcomes = fuzz(local_spark, list(COLUMNS), COUNT, seed=7)
    assert {name: o.differences[:3] for name, o in outcomes.items() if o.differences} == {}
    for name, outcome in outcomes.items():
        kinds = 3 if name.partition(" ")[0] in TEXT else 2
        assert outcome.read + outcome.bad == kinds * COUNT and outcome.read, name
