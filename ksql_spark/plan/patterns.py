"""Row patterns of MATCH_RECOGNIZE (reference §6.17): the automaton, and the values of a match's rows."""

from __future__ import annotations

from dataclasses import dataclass

from ksql_spark.expressions import Expression
from ksql_spark.types import SqlType

#: the state in which the rows so far are a match
ACCEPT = -1


@dataclass(frozen=True)
class Automaton:
    """States, each of which takes one row, with those that may follow, the preferred one first.

    Args:
        symbols: the symbol of each state.
        first: the states that take a match's first row.
        follow: for each state those that take the next row, or ACCEPT, which is the last one.
    """

    symbols: tuple[str, ...]
    first: tuple[int, ...]
    follow: tuple[tuple[int, ...], ...]

    @property
    def waits(self) -> bool:
        """Whether rows that are a match may have to wait, as with more rows they are a preferred one."""
        return any(len(next_) > 1 and next_[-1] == ACCEPT for next_ in self.follow)


@dataclass(frozen=True)
class PreviousValue:
    """PREV: a column of a row with the value of its column ``of`` ``offset`` rows before."""

    name: str
    of: str
    offset: int
    type: SqlType
    text: str


@dataclass(frozen=True)
class PatternValue:
    """FIRST or LAST: a value of one of the rows that were mapped so far.

    Args:
        name: the column that it becomes.
        is_first: FIRST.
        symbol: of the rows among which it is counted; None: all rows.
        offset: how many of these are before it (FIRST) or after it (LAST).
        argument: its value, over the columns of a row; None: the row's symbol (CLASSIFIER).
        type: of the value.
        text: as users write it.
    """

    name: str
    is_first: bool
    symbol: str | None
    offset: int
    argument: Expression | None
    type: SqlType
    text: str
