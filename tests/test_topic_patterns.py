"""Patterns of topics: what they match, and which expressions are refused."""

from __future__ import annotations

import re

import pytest

from ksql_spark.topic_patterns import java_pattern, names, pattern_of, problem, topic_of

THERE = [
    "orders.eu",
    "orders.us",
    "orders",
    "Orders.eu",
    "_orders.eu",
    "__consumer_offsets",
    "x.orders.eu",
    "a-1",
]


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        (r"orders\..*", ["orders.eu", "orders.us"]),
        ("orders", ["orders"]),
        ("(?i)orders.*", ["Orders.eu", "orders", "orders.eu", "orders.us"]),
        ("orders|a-1", ["a-1", "orders"]),
        (r"(?!x).*\.eu", ["Orders.eu", "orders.eu"]),
        (r"\w-\d{1,2}", ["a-1"]),
        (".*orders.eu", ["orders.eu", "x.orders.eu"]),
        ("_.*", []),
    ],
)
def test_whole_names_match(pattern: str, found: list[str]) -> None:
    assert problem(pattern) is None
    assert names(topic_of(pattern), THERE) == found
    # what Java's Matcher.find() is given means the same in Python, but for (?i), which Java takes anywhere
    if not pattern.startswith("(?i)"):
        assert sorted(name for name in THERE if re.search(java_pattern(pattern), name)) == found


def test_a_name_stands_for_itself() -> None:
    assert names("orders", THERE) == ["orders"] and names("orders.*", THERE) == []
    assert pattern_of("orders") is None and pattern_of("/") is None
    assert pattern_of(topic_of("a/b")) == "a/b"


@pytest.mark.parametrize(
    "pattern",
    [
        "a(", "a)", "[a", "*a", "a{2", "a{,3}", "(?P<n>a)", "(?<n>a)", "(?>a)", "(?s)a", "a(?i)b", "(?#c)a",
        "(a)(?(1)b|c)",
        "[]a]", "[^]a]", "[a&&b]", "[a[b]]", r"\Qa\E", r"\p{L}", r"\Z", r"a\b", r"(a)\1", "a\\",
    ],
)  # fmt: skip
def test_what_java_and_python_read_differently_is_refused(pattern: str) -> None:
    assert problem(pattern) is not None
