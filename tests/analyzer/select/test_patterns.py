"""The automaton of a pattern prefers what trying all ways in the order of preference finds first."""

from __future__ import annotations

import random
from functools import partial

import pytest

from ksql_spark import grammar
from ksql_spark.analyzer.select.patterns import automaton, symbols_of
from ksql_spark.errors import KsqlError
from ksql_spark.grammar import nodes
from ksql_spark.plan.patterns import ACCEPT, Automaton
from tests.plain_matcher import Choice, Pattern, Repeat, Row, Rows, Sequence_, Symbol, ways

#: for each row the symbols that it may have
Input = list[frozenset[str]]


def generated(rng: random.Random, depth: int = 3) -> Pattern:
    kind = rng.choice("saqqrr") if depth else "s"
    if kind == "s":
        return Symbol(rng.choice("ABCD"))
    if kind == "r":
        least = rng.randrange(3)
        most = rng.choice((None, max(1, least), least + 2))
        return Repeat(generated(rng, depth - 1), least, most, rng.random() < 0.4)
    parts = tuple(generated(rng, depth - 1) for _ in range(rng.randrange(2, 4)))
    return Choice(parts) if kind == "a" else Sequence_(parts)


def text(pattern: Pattern) -> str:
    match pattern:
        case Symbol(name):
            return name
        case Sequence_(parts):
            return f"({' '.join(map(text, parts))})"
        case Choice(parts):
            return f"({' | '.join(map(text, parts))})"
        case Repeat(part, least, most, reluctant):
            return f"({text(part)}){{{least},{'' if most is None else most}}}{'?' * reluctant}"
    raise TypeError(pattern)


def parsed(pattern: str) -> nodes.Pattern:
    select = f"SELECT * FROM s MATCH_RECOGNIZE (ORDER BY ROWTIME PATTERN ({pattern})) EMIT CHANGES;"
    found = grammar.parse_one(select).find(nodes.MatchRecognize)
    assert found is not None
    return found.pattern


def by_automaton(found: Automaton, rows: Input) -> tuple[str, ...] | None:
    """The symbols of the match that begins with the first row."""
    best: tuple[str, ...] | None = None
    partials: list[tuple[tuple[int, ...], tuple[str, ...]]] = [(found.first, ())]
    for row in rows:
        after: dict[int, tuple[str, ...]] = {}
        for following, path in partials:
            for state in following:
                if state == ACCEPT or found.symbols[state] not in row or state in after:
                    continue
                after[state] = (*path, found.symbols[state])
                if found.follow[state][-1] == ACCEPT:
                    best = after[state]
                    break
            else:
                continue
            break
        partials = [(found.follow[state], path) for state, path in after.items()]
    return best


def may_be(symbol: str, rows: Input, way: Rows) -> bool:
    """The condition of a symbol for the last row."""
    return symbol in rows[len(way.path) - 1]


@pytest.mark.parametrize("seed", range(200))
def test_the_automaton_prefers_what_the_pattern_prefers(seed: int) -> None:
    rng = random.Random(seed)
    pattern = generated(rng)
    try:
        found = automaton(parsed(text(pattern)))
    except KsqlError as error:
        assert "matches no rows" in str(error)
        found = None
    for _ in range(20):
        rows: Input = [frozenset(s for s in "ABCD" if rng.random() < 0.6) for _ in range(rng.randrange(1, 8))]
        conditions = {s: partial(may_be, s, rows) for s in "ABCD"}
        plain = [Row(0, None)] * len(rows)
        first = next(ways(pattern, Rows(plain, 0, (), 0), conditions), None)
        if found is None:
            is_empty = any(not way.path for way in ways(pattern, Rows(plain, 0, (), 0), conditions))
            assert is_empty
            continue
        assert by_automaton(found, rows) == (None if first is None else first.path), text(pattern)


def test_symbols_are_in_the_order_of_the_pattern() -> None:
    assert symbols_of(parsed("B (A | C) B? D+")) == ("B", "A", "C", "D")


def test_repetitions_are_written_out() -> None:
    found = automaton(parsed("A{2,3} B*?"))
    assert found.symbols == ("A", "A", "A", "B")
    assert found.first == (0,)
    # the reluctant end is reached at once, so B never takes a row
    assert found.follow == ((1,), (2, ACCEPT), (ACCEPT,), (ACCEPT,))
    assert found.waits
