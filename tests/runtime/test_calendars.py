"""Windows by a calendar: Python finds the same ends as the JVM."""

from __future__ import annotations

import re
from datetime import datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ksql_spark.metastore.calendars import Calendar
from ksql_spark.metastore.sources import Windowing
from ksql_spark.runtime.reading.stored_row import split_key
from ksql_spark.schema import LATEST_TIME_MS

JUNIT = Path(__file__).parents[1] / "jvm" / "org" / "ksqlspark" / "functions" / "CalendarWindowsTest.java"
#: windows, time, start, end
ROWS = re.findall(
    r'^ +"([^",]+),([^",]+),([^",]+),([^",]+)"',
    re.sub(r'"\s+\+ "', "", JUNIT.read_text("utf-8")),
    re.MULTILINE,
)
CALENDARS = st.builds(
    Calendar,
    st.integers(1, 40),
    st.sampled_from(("DAYS", "WEEKS", "MONTHS", "YEARS")),
    st.sampled_from(("UTC", "Europe/Berlin", "Australia/Lord_Howe", "America/St_Johns", "Pacific/Apia")),
    st.integers(0, 11),
    st.integers(0, 86_399_999),
)


def read(text: str) -> Calendar:
    amount, unit, months, ms, zone = text.split(" ")
    return Calendar(int(amount), unit, zone, int(months), int(ms))


def ms(text: str) -> int:
    return round(datetime.fromisoformat(text).timestamp() * 1000)


def test_the_table_is_read() -> None:
    assert len(ROWS) > 20


@pytest.mark.parametrize(("windows", "time", "start", "end"), ROWS)
def test_ends_are_those_of_the_jvm(windows: str, time: str, start: str, end: str) -> None:
    calendar = read(windows)
    assert str(calendar) == windows
    assert calendar.end_ms(ms(time)) == calendar.end_ms(ms(start)) == ms(end)


@given(CALENDARS, st.integers(0, 4_102_444_800_000))
def test_windows_follow_each_other(calendar: Calendar, time_ms: int) -> None:
    end = calendar.end_ms(time_ms)
    assert end > time_ms
    assert calendar.end_ms(end - 1) == end
    assert calendar.end_ms(end) > end


@given(CALENDARS, st.integers(-(2**63), 2**63 - 1))
def test_any_bytes_of_a_key_have_a_window(calendar: Calendar, start_ms: int) -> None:
    is_time = 0 <= start_ms <= LATEST_TIME_MS
    key = b"k" + start_ms.to_bytes(8, "big", signed=True)
    _, start, end = split_key(key, Windowing("TUMBLING", calendar=calendar))
    assert start == start_ms
    assert end > start if is_time else end == start
