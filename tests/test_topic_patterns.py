"""Patterns of topics: what they match, and which expressions are refused."""

from __future__ import annotations

import time

import pytest

from ksql_spark.topic_patterns import names, pattern_of, problem, topic_of

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
        ("(?!x|a)(?!O).*", ["orders", "orders.eu", "orders.us"]),
        (r"(?!orders\.)(?:orders.*|a-1)", ["a-1", "orders"]),
    ],
)
def test_whole_names_match(pattern: str, found: list[str]) -> None:
    assert problem(pattern) is None
    assert names(topic_of(pattern), THERE) == found


def test_a_name_stands_for_itself() -> None:
    assert names("orders", THERE) == ["orders"] and names("orders.*", THERE) == []
    assert pattern_of("orders") is None and pattern_of("/") is None
    assert pattern_of(topic_of("a/b")) == "a/b"


@pytest.mark.parametrize(
    "pattern",
    [
        "a(", "a)", "[a", "*a", "a{2", "a{,3}", "(?P<n>a)", "(?<n>a)", "(?>a)", "(?s)a", "(?#c)a",
        "(a)(?(1)b|c)",
        "[]a]", "[^]a]", "[a&&b]", "[a[b]]", r"\Qa\E", r"\p{L}", r"\Z", r"a\b", r"(a)\1", "a\\",
        "a(?!b)", "(?!a(b))c", "(?=a)b", "(?<=a)b", "(?!a)b|c", "(?!a&&b)c", "(?!a)*b",
        "a{1001}", "(a{100}){100}",
    ],
)  # fmt: skip
def test_what_not_every_engine_reads_is_refused(pattern: str) -> None:
    assert problem(pattern) is not None


@pytest.mark.parametrize(
    "pattern",
    ["(x|x)*y", "(x+)+y", "(x|x){24}y", "x?" * 24 + "x" * 25, "(?!y)(x|x)*y", ".*" * 24 + "y"],
)
def test_matching_takes_time_that_grows_with_the_name(pattern: str) -> None:
    """In an engine that backtracks, each further letter doubles the time."""
    assert problem(pattern) is None
    started = time.process_time()
    assert names(topic_of(pattern), ["x" * 24]) == []
    short = time.process_time() - started
    assert names(topic_of(pattern), ["x" * 240]) == []
    assert time.process_time() - started < 1000 * (short + 0.01)


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        ("a(?=b)", "look-around is only for what names do not begin with"),
        (r"(a)\1", "cannot refer back"),
        ("(?!a)b|c", "needs parentheses"),
    ],
)
def test_why_a_pattern_is_refused(pattern: str, said: str) -> None:
    assert said in str(problem(pattern))
