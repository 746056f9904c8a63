"""Partial date-times (reference §3.3)."""

from __future__ import annotations

import pytest

from ksql_spark.analyzer.base.timestamp_text import advice, epoch_ms, is_possible


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1970", 0),
        ("1970-02", 31 * 86_400_000),
        ("1970-01-02", 86_400_000),
        ("1970-01-01T01", 3_600_000),
        ("1970-01-01T00:01", 60_000),
        ("1970-01-01T00:00:01", 1_000),
        ("1970-01-01T00:00:01.5", 1_500),
        ("1970-01-01T00:00:01.123456789", 1_123),
        ("1970-01-01T24", 86_400_000),
        ("1970-01-01T00:00Z", 0),
        ("1970-01-01T01:00+01:00", 0),
        ("1970-01-01T01:00+0100", 0),
        ("1969-12-31T23:00-1", 0),
        ("1970-01-01T01:00Europe/Berlin", 0),
        ("1969-12-31T23:59:59.999", -1),
        ("", None),
        ("soon", None),
        ("1970-13", None),
        ("1970-01-32", None),
        ("1970-01-01T25", None),
        ("1970-01-01T24:01", None),
        ("1970-01-01T00:00Nowhere/Land", None),
    ],
)
def test_epoch_ms(text: str, expected: int | None) -> None:
    assert epoch_ms(text) == expected


@pytest.mark.parametrize(
    ("text", "kind", "expected"),
    [
        ("2024", "TIMESTAMP", True),
        ("2024-02-29T10", "TIMESTAMP", True),
        ("2024-2-9T10:00:00.123 Europe/Berlin", "TIMESTAMP", True),
        ("2024-02-29T", "TIMESTAMP", True),
        ("0000-01-01", "TIMESTAMP", True),
        ("2024-02-29 10:00", "TIMESTAMP", False),
        ("2024-02-30", "TIMESTAMP", False),
        ("2024-01-01T25:00", "TIMESTAMP", False),
        ("2024-01-01Tnoon", "TIMESTAMP", False),
        ("", "TIMESTAMP", False),
        ("2024-02", "DATE", True),
        ("2024-02-29T10:00", "DATE", False),
        ("29.02.2024", "DATE", False),
        ("10", "TIME", True),
        ("10:05:06.789", "TIME", True),
        ("10:60", "TIME", False),
        ("10 am", "TIME", False),
        ("", "TIME", False),
    ],
)
def test_texts_that_never_are_a_time(text: str, kind: str, expected: bool) -> None:
    assert is_possible(text, kind) == expected


@pytest.mark.parametrize(
    ("text", "kind", "expected"),
    [
        ("2026-03-01 10:00", "TIMESTAMP", "Write T between the date and the time: '2026-03-01T10:00'."),
        ("2026-03-01 10:00:00+02:00", "TIMESTAMP", "'2026-03-01T10:00:00+02:00'."),
        ("2026-03-01 10h", "DATE", "A DATE has no time: write '2026-03-01'."),
        ("2026-03-01 10:00", "TIME", "A TIME has no date: write '10:00'."),
        ("01.03.2026 10:00", "TIMESTAMP", "parts at its end may be missing."),
        ("01.03.2026", "DATE", "A DATE is written as 2020-02-23;"),
    ],
)
def test_advice_says_how_a_time_is_written(text, kind, expected):
    assert expected in advice(text, kind)
