"""Partial date-times (reference §3.3)."""

from __future__ import annotations

import pytest

from ksql_spark.analyzer.timestamp_text import epoch_ms


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
