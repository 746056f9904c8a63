"""Files of rows: what is no value of a column."""

from __future__ import annotations

import io

import pytest

from ksql_spark.row_files import CSV, JSON, Misfit, rows_of


@pytest.mark.parametrize("text", ["NaN", "-Infinity", "1e999", "one"])
def test_numbers_that_json_does_not_have(text: str) -> None:
    with pytest.raises(Misfit, match=f"line 2: '{text}' in d is no DOUBLE"):
        list(rows_of(io.BytesIO(f"d\n{text}\n".encode()), CSV, {"D": {"type": "DOUBLE"}}))


@pytest.mark.parametrize("number", ["1e999999999", "-1e-999999999", "1e999999999999999999", "0e999999999"])
def test_decimals_whose_digits_do_not_fit_in_memory(number: str) -> None:
    for form, text in ((CSV, f"d\n{number}\n"), (JSON, f'{{"d": {number}}}\n')):
        rows = rows_of(io.BytesIO(text.encode()), form, {"D": {"type": "DECIMAL"}})
        if number.startswith("0"):
            assert str(next(rows)[1]["`D`"]) == "0"
        else:
            with pytest.raises(Misfit, match="in d is no DECIMAL"):
                next(rows)


def test_an_integer_with_more_digits_than_python_reads() -> None:
    with pytest.raises(Misfit, match="line 1: a number has more than"):
        list(rows_of(io.BytesIO(b'{"i": ' + b"9" * 5_000 + b"}"), JSON, {"I": {"type": "BIGINT"}}))
