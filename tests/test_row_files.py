"""Files of rows: what is no value of a column."""

from __future__ import annotations

import io

import pytest

from ksql_spark.row_files import CSV, Misfit, rows_of


@pytest.mark.parametrize("text", ["NaN", "-Infinity", "1e999", "one"])
def test_numbers_that_json_does_not_have(text: str) -> None:
    with pytest.raises(Misfit, match=f"line 2: '{text}' in d is no DOUBLE"):
        list(rows_of(io.BytesIO(f"d\n{text}\n".encode()), CSV, {"D": {"type": "DOUBLE"}}))
