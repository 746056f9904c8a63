"""The type of a column decides what Python, pyarrow and pandas get."""

from __future__ import annotations

import datetime
import json
import math
from decimal import Decimal
from typing import Any

import pytest

from ksql_spark.client import tables, values
from ksql_spark.client.protocol import Columns, Settings

ROW = {
    "INTEGER": (1, 1),
    "BIGINT": (9_007_199_254_740_993, 9_007_199_254_740_993),
    "DOUBLE": (1.5, 1.5),
    "DECIMAL(20, 2)": (json.loads("19.99", parse_float=Decimal), Decimal("19.99")),
    "DECIMAL(4, 0)": (7, Decimal(7)),
    "BOOLEAN": (True, True),
    "STRING": ("2024-01-01", "2024-01-01"),
    "BYTES": ("AQI=", b"\x01\x02"),
    "DATE": ("2024-02-29", datetime.date(2024, 2, 29)),
    "TIME": ("01:02", datetime.time(1, 2)),
    "TIMESTAMP": (
        "2024-01-01T00:00:00.123",
        datetime.datetime(2024, 1, 1, 0, 0, 0, 123_000, datetime.UTC),
    ),
    "ARRAY<DECIMAL(3, 1)>": ([1.5, None], [Decimal("1.5"), None]),
    "MAP<STRING, DATE>": ({"a": "2024-01-01"}, {"a": datetime.date(2024, 1, 1)}),
    "STRUCT<`a``b` TIME, `C` STRUCT<`D` BYTES>>": (
        {"a`b": "23:59:59", "C": {"D": "AQ=="}},
        {"a`b": datetime.time(23, 59, 59), "C": {"D": b"\x01"}},
    ),
}


def line_of(row: list[Any]) -> str:
    return json.dumps(row, default=lambda value: float(value) if isinstance(value, Decimal) else str(value))


def test_the_type_decides() -> None:
    columns = Columns("q", tuple(f"C{i}" for i in range(len(ROW))), tuple(ROW))
    assert columns.row(line_of([sent for sent, _ in ROW.values()])) == tuple(got for _, got in ROW.values())
    assert columns.row(line_of([None] * len(ROW))) == (None,) * len(ROW)


def test_decimals_keep_their_digits_and_can_be_added() -> None:
    columns = Columns("q", ("A",), ("DECIMAL(20, 2)",))
    found = [columns.row(text)[0] for text in ("[19.99]", "[12345678901234567.89]", "[5]")]
    assert sum(found, Decimal(0)) == Decimal("12345678901234592.88")
    assert all(isinstance(value, Decimal) for value in found)


def test_what_no_number_or_date_can_be() -> None:
    columns = Columns("q", ("A", "B", "C"), ("DOUBLE", "DATE", "TIMESTAMP"))
    number, day, at = columns.row('["NaN", "+11970-01-01", "+55840-01-01T00:00:00.000"]')
    assert math.isnan(number) and (day, at) == ("+11970-01-01", "+55840-01-01T00:00:00.000")
    assert columns.row('["-Infinity", null, null]') == (-math.inf, None, None)


def test_times_of_far_years_do_not_fail_the_other_rows() -> None:
    pa, pd = pytest.importorskip("pyarrow"), pytest.importorskip("pandas")
    columns = Columns("q", ("AT", "DAY", "ATS"), ("TIMESTAMP", "DATE", "ARRAY<TIMESTAMP>"))
    sent = [
        ["2026-03-01T10:00:00.001", "2026-03-01", ["+10000-01-01T00:00:00.001", None]],
        ["+10000-02-29T23:59:59.999", "+11970-01-01", []],
        [None, "-0044-03-15", None],
        ["+292278994-08-17T07:12:55.807", "0000-02-29", None],
    ]
    rows = [columns.row(line_of(row)) for row in sent]
    table = tables.arrow(columns, rows)
    assert table["AT"].cast(pa.int64()).to_pylist() == [1772359200001, 253407484799999, None, 2**63 - 1]
    assert table["DAY"].cast(pa.int32()).to_pylist() == [20513, 3652425, -735525, -719469]
    assert table["ATS"].combine_chunks().values.cast(pa.int64()).to_pylist() == [253402300800001, None]
    frame = tables.pandas(columns, rows)
    assert frame["AT"].dtype == "datetime64[ms, UTC]"
    assert frame["AT"].dt.year.tolist()[:2] == [2026, 10000] and pd.isna(frame["AT"][2])
    assert frame["DAY"].tolist() == [datetime.date(2026, 3, 1), "+11970-01-01", "-0044-03-15", "0000-02-29"]


@pytest.mark.parametrize("rows", [[], [[sent for sent, _ in ROW.values()], [None] * len(ROW)]])
def test_tables_have_the_types_of_columns_whatever_the_rows(rows: list[list[Any]]) -> None:
    pa = pytest.importorskip("pyarrow")
    columns = Columns("q", tuple(f"C{i}" for i in range(len(ROW))), tuple(ROW))
    found = [columns.row(line_of(row)) for row in rows]
    for i, text in enumerate(ROW):
        type_ = values.type_of(text)
        array = values.arrow_array([row[i] for row in found], type_)
        assert array.type == values.arrow_type(type_) and len(array) == len(rows)
    assert values.arrow_type(values.type_of("TIMESTAMP")) == pa.timestamp("ms", "UTC")


@pytest.mark.parametrize(
    ("text", "properties", "variables"),
    [
        ("SET 'auto.offset.reset' = 'earliest';", {"auto.offset.reset": "earliest", "a": "1"}, {}),
        ("-- x\nset 'b'='it''s'", {"a": "1", "b": "it's"}, {}),
        ("UNSET 'a';", {}, {}),
        ("DEFINE t = 'orders';", {"a": "1"}, {"t": "orders"}),
        ("SHOW TABLES; SET 'b' = '1';", {"a": "1"}, {}),
        ("SELECT 'SET x';", {"a": "1"}, {}),
    ],
)
def test_settings_are_those_of_the_connection(
    text: str, properties: dict[str, Any], variables: dict[str, str]
) -> None:
    settings = Settings({"a": "1"})
    settings.note(text)
    assert (settings.properties, settings.variables) == (properties, variables)
