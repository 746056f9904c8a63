"""Row patterns: from the PATTERN of MATCH_RECOGNIZE to an automaton (reference §6.17).

Each symbol of the pattern, with repetitions written out, is a state that takes one row. Which states may
follow, in the order of preference, depends on the pattern alone (Glushkov's construction, with an order).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from ksql_spark.analyzer.base.failures import invalid
from ksql_spark.grammar import nodes
from ksql_spark.plan.patterns import ACCEPT, Automaton

#: the most states: each partial match may be in any of them
MAX_STATES = 1000
#: in the states that may come first: none, the pattern matches no row
_EMPTY = -2


@dataclass(frozen=True)
class _State:
    number: int


@dataclass(frozen=True)
class _Sequence:
    parts: tuple[_Part, ...]


@dataclass(frozen=True)
class _Choice:
    parts: tuple[_Part, ...]


@dataclass(frozen=True)
class _Optional:
    part: _Part
    reluctant: bool


@dataclass(frozen=True)
class _Loop:
    """Once or more often."""

    part: _Part
    reluctant: bool


_Part: TypeAlias = _State | _Sequence | _Choice | _Optional | _Loop


def automaton(pattern: nodes.Pattern) -> Automaton:
    """The automaton of a pattern.

    Raises:
        KsqlError: INVALID_STATEMENT: it has too many states, or matches no row at all.
    """
    symbols: list[str] = []
    root = _written_out(pattern, symbols, pattern)
    first = _first(root)
    if _EMPTY in first:
        raise invalid(
            "The pattern matches no rows at all, as every part of it is optional.", pattern,
            hint="At least one symbol must be there: A+ instead of A*.",
        )  # fmt: skip
    follow: list[tuple[int, ...]] = [()] * len(symbols)
    _follow(root, (ACCEPT,), follow)
    return Automaton(tuple(symbols), first, tuple(map(_up_to_accept, follow)))


def symbols_of(pattern: nodes.Pattern) -> tuple[str, ...]:
    """The symbols of a pattern, in order, each once."""
    return tuple(dict.fromkeys(s.symbol for s in pattern.find_all(nodes.PatternSymbol, bfs=False)))


def is_in_each_match(pattern: nodes.Pattern, symbol: str) -> bool:
    """Whether each match has a row of ``symbol``."""
    match pattern:
        case nodes.PatternSymbol():
            return pattern.symbol == symbol
        case nodes.PatternSequence():
            return any(is_in_each_match(part, symbol) for part in pattern.parts)
        case nodes.PatternChoice():
            return all(is_in_each_match(part, symbol) for part in pattern.parts)
    assert isinstance(pattern, nodes.PatternRepeat)
    return pattern.least > 0 and is_in_each_match(pattern.this, symbol)


def _written_out(node: nodes.Pattern, symbols: list[str], whole: nodes.Pattern) -> _Part:
    """``node`` with repetitions written out; the symbols of its states are added to ``symbols``."""
    if len(symbols) >= MAX_STATES:
        raise invalid(
            f"The pattern has more than {MAX_STATES} symbols once its quantifiers are written out.", whole
        )
    match node:
        case nodes.PatternSymbol():
            symbols.append(node.symbol)
            return _State(len(symbols) - 1)
        case nodes.PatternSequence():
            return _Sequence(tuple(_written_out(part, symbols, whole) for part in node.parts))
        case nodes.PatternChoice():
            return _Choice(tuple(_written_out(part, symbols, whole) for part in node.parts))
    assert isinstance(node, nodes.PatternRepeat)
    is_endless = node.most is None
    reluctant = bool(node.reluctant)
    parts = [_written_out(node.this, symbols, whole) for _ in range(node.least - is_endless)]
    if node.most is None:
        loop: _Part = _Loop(_written_out(node.this, symbols, whole), reluctant)
        return _Sequence((*parts, loop if node.least else _Optional(loop, reluctant)))
    rest: _Part | None = None
    for part in [_written_out(node.this, symbols, whole) for _ in range(node.most - node.least)][::-1]:
        rest = _Optional(part if rest is None else _Sequence((part, rest)), reluctant)
    return _Sequence((*parts, *([] if rest is None else [rest])))


def _first(part: _Part) -> tuple[int, ...]:
    """The states that may take the first row, the preferred one first; _EMPTY: none need to."""
    match part:
        case _State(number):
            return (number,)
        case _Sequence(parts):
            states: tuple[int, ...] = (_EMPTY,)
            for following in parts:
                if _EMPTY not in states:
                    break
                states = _then(states, _first(following))
            return states
        case _Choice(parts):
            return _each_once(state for choice in parts for state in _first(choice))
        case _Optional(inner, reluctant):
            return _each_once((_EMPTY, *_first(inner)) if reluctant else (*_first(inner), _EMPTY))
        case _Loop(inner):
            return _first(inner)


def _follow(part: _Part, after: tuple[int, ...], follow: list[tuple[int, ...]]) -> None:
    """Fill in what follows each state of ``part``, if ``after`` follows the part as a whole."""
    match part:
        case _State(number):
            follow[number] = after
        case _Sequence(parts):
            for inner in reversed(parts):
                _follow(inner, after, follow)
                after = _then(_first(inner), after)
        case _Choice(parts):
            for inner in parts:
                _follow(inner, after, follow)
        case _Optional(inner):
            _follow(inner, after, follow)
        case _Loop(inner, reluctant):
            again = _then(_first(inner), after)
            _follow(inner, _each_once((*after, *again) if reluctant else (*again, *after)), follow)


def _then(states: Sequence[int], after: tuple[int, ...]) -> tuple[int, ...]:
    """``states``, and where these need no row, what comes after."""
    return _each_once(s for state in states for s in (after if state == _EMPTY else (state,)))


def _each_once(states: Iterator[int] | Sequence[int]) -> tuple[int, ...]:
    return tuple(dict.fromkeys(states))


def _up_to_accept(states: tuple[int, ...]) -> tuple[int, ...]:
    """Return the states up to ACCEPT, which is preferred to those after it and needs no row.

    >>> _up_to_accept((0, ACCEPT, 1)), _up_to_accept((0, 1))
    ((0, -1), (0, 1))
    """
    return states[: states.index(ACCEPT) + 1] if ACCEPT in states else states
