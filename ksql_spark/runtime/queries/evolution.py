"""The ways in which a version of a query follows the one before (ADR 54).

A version that goes on in place, with the state of the one before, is none of them: there is nothing to do
before its first row. It keeps what its query was to do.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ksql_spark.analyzer.definitions.properties import Check


@dataclass(frozen=True)
class Backfill:
    """The new version of a table runs beside the old one, until SWAP.

    Args:
        table: its name.
        topic: the new version's own, which it writes until then.
        is_manual: whether it waits for SWAP.
        verify: what must hold of both versions' rows before.
    """

    table: str
    topic: str
    is_manual: bool
    verify: tuple[Check, ...] = ()


@dataclass(frozen=True)
class Swap:
    """The new version takes the place of the old one, which has ended: the table's topic gets what differs.

    Args:
        topic: the one that the new version wrote beside the old one. It ends with the swap.
        writers: transactional ids of the old version, which must not write any more. The differences are
            written with the last one, that of its sink.
        is_manual: whether the user has sent SWAP.
    """

    topic: str
    writers: tuple[str, ...]
    is_manual: bool


@dataclass(frozen=True)
class Move:
    """The query goes on in another topic, with its state: that topic gets what differs.

    Args:
        topic: the one before. It stays, because it is not ours alone.
        writers: the transactional id with which the differences are written.
        number: that of the last version which began without state; 0: none has.
    """

    topic: str
    writers: tuple[str, ...]
    number: int = 0


@dataclass(frozen=True)
class FromNow:
    """The new version begins without state where the old one ended.

    Args:
        number: how many versions of the query, this one included, have begun so.
        began: where it begins if the old version has committed nothing: where that one did. A topic that only
            the new version reads begins as the command says.
    """

    number: int
    began: Mapping[str, Mapping[str, int]] = field(default_factory=dict)


@dataclass(frozen=True)
class WarmUp(FromNow):
    """As FromNow, but first it makes state of all that the old version has read, without writing."""


Evolution = Backfill | Swap | Move | FromNow


def fresh_starts(evolution: Evolution | None) -> int:
    """Return how many versions of a query have begun without state, as of its latest one."""
    return evolution.number if isinstance(evolution, FromNow | Move) else 0


__all__ = ["Backfill", "Evolution", "FromNow", "Move", "Swap", "WarmUp", "fresh_starts"]
