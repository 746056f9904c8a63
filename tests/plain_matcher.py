"""MATCH_RECOGNIZE by trying all ways in the order of preference, as the reference for tests.

It has all rows of a key before it, and goes back as far as it must.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

Value: TypeAlias = int | None


@dataclass(frozen=True)
class Row:
    """A record: its time, and its value."""

    ts: int
    v: Value


class Pattern:
    """A symbol; or a sequence, a choice, a repetition of patterns."""


@dataclass(frozen=True)
class Symbol(Pattern):
    name: str


@dataclass(frozen=True)
class Sequence_(Pattern):
    parts: tuple[Pattern, ...]


@dataclass(frozen=True)
class Choice(Pattern):
    parts: tuple[Pattern, ...]


@dataclass(frozen=True)
class Repeat(Pattern):
    part: Pattern
    least: int = 0
    most: int | None = None
    reluctant: bool = False


@dataclass(frozen=True)
class Rows:
    """The rows of a (partial) match: those from ``start`` on, each with its symbol."""

    all: Sequence[Row]
    start: int
    path: tuple[str, ...]
    within: int

    def of(self, symbol: str = "") -> list[Value]:
        """The values of the rows of a symbol, or of all of them."""
        return [self.all[self.start + i].v for i, s in enumerate(self.path) if symbol in ("", s)]

    def last(self, symbol: str = "", n: int = 0) -> Value:
        rows = self.of(symbol)
        return rows[-1 - n] if n < len(rows) else None

    def first(self, symbol: str = "", n: int = 0) -> Value:
        rows = self.of(symbol)
        return rows[n] if n < len(rows) else None

    def prev(self, n: int = 1) -> Value:
        """PREV of the last row."""
        at = self.start + len(self.path) - 1
        is_there = at >= n and self.all[at].ts - self.all[at - n].ts <= self.within
        return self.all[at - n].v if is_there else None

    def sum(self, symbol: str = "") -> int:
        return sum(v for v in self.of(symbol) if v is not None)

    def count(self, symbol: str = "") -> int:
        return sum(v is not None for v in self.of(symbol))


Conditions: TypeAlias = dict[str, Callable[[Rows], bool]]


def ways(node: Pattern, rows: Rows, conditions: Conditions) -> Iterator[Rows]:
    """All ways in which ``node`` can continue ``rows``, the preferred one first."""
    match node:
        case Symbol(name):
            at = rows.start + len(rows.path)
            if at < len(rows.all) and rows.all[at].ts - rows.all[rows.start].ts <= rows.within:
                longer = Rows(rows.all, rows.start, (*rows.path, name), rows.within)
                if name not in conditions or conditions[name](longer):
                    yield longer
        case Sequence_(parts):
            if not parts:
                yield rows
                return
            for way in ways(parts[0], rows, conditions):
                yield from ways(Sequence_(parts[1:]), way, conditions)
        case Choice(parts):
            for part in parts:
                yield from ways(part, rows, conditions)
        case Repeat(part, least, most, reluctant):
            if least == 0 and reluctant:
                yield rows
            if most != 0:
                fewer = Repeat(part, max(0, least - 1), None if most is None else most - 1, reluctant)
                for way in ways(part, rows, conditions):
                    ends = way.path == rows.path and least == 0  # a repetition without rows is the last
                    yield from [way] if ends else ways(fewer, way, conditions)
            if least == 0 and not reluctant:
                yield rows


def matches(
    pattern: Pattern,
    conditions: Conditions,
    within: int,
    resume: Callable[[tuple[str, ...]], int],
    rows: Sequence[Row],
) -> Iterator[Rows]:
    """The matches in the rows of a key.

    ``resume``: of the symbols of a match, with which of its rows the next one may begin, or how many it has.
    """
    start = 0
    while start < len(rows):
        match = next(ways(pattern, Rows(rows, start, (), within), conditions), None)
        if match is None:
            start += 1
            continue
        yield match
        start += max(1, resume(match.path))
