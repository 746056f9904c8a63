"""Regular expressions: users' own, and ours for what users write, take time that grows with the text."""

from __future__ import annotations

import re
import time
from collections.abc import Callable

import pytest

from ksql_spark.analyzer.definitions import sinks
from ksql_spark.formats import number_text
from ksql_spark.formats.protobuf import descriptor as protobuf_descriptor
from ksql_spark.grammar import expressions
from ksql_spark.regexes import InvalidRegex, Regex


def took_s(work: Callable[[], object]) -> float:
    started = time.process_time()
    work()
    return time.process_time() - started


@pytest.mark.parametrize(
    "pattern", ["(x|x)*y", "(x+)+y", "(x|x){24}y", "x?" * 24 + "x" * 25, ".*" * 24 + "y"]
)
def test_no_pattern_of_a_user_backtracks(pattern: str) -> None:
    regex = Regex(pattern)
    short = took_s(lambda: regex.matches("x" * 24))
    assert took_s(lambda: regex.matches("x" * 240)) < 1000 * (short + 0.01)


@pytest.mark.parametrize("pattern", ["(?=a)", "(?<!a)b", r"(a)\1", "(?>a)", "a(", "[a", "a{1001}", "\ud800"])
def test_what_needs_an_engine_that_backtracks_is_refused(pattern: str) -> None:
    with pytest.raises(InvalidRegex):
        Regex(pattern)


def test_half_a_character_matches_nothing_but_any() -> None:
    assert Regex(".").matches("\ud800") and not Regex("a").is_in("\ud800")


@pytest.mark.parametrize(
    ("pattern", "part", "end"),
    [
        (number_text._DECIMAL, "0", "!"),
        (number_text._DOUBLE, "0", "!"),
        (number_text._HEXADECIMAL, "0", "!"),
        (protobuf_descriptor._BASE64, " ", "!"),
        (protobuf_descriptor._BASE64, "a", "!"),
        (expressions._AMOUNTS, "0", "!"),
        (expressions._AMOUNTS, "1 day ", "!"),
        (sinks._PART, "a" + " " * 9, "("),
        (sinks._PART, " ", "("),
    ],
)
def test_a_long_text_takes_no_square_of_its_length(pattern: re.Pattern[str], part: str, end: str) -> None:
    prefix = "0x" if pattern is number_text._HEXADECIMAL else ""
    short = took_s(lambda: pattern.fullmatch(prefix + part * 1_000 + end))
    assert took_s(lambda: pattern.fullmatch(prefix + part * 100_000 + end)) < 1000 * (short + 0.001)
