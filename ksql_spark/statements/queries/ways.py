"""The ways to a new version of a stream or table, decided once (beyond ksqlDB, ADR 54)."""

from __future__ import annotations

from enum import Enum, auto

from ksql_spark import analyzer
from ksql_spark.analyzer.definitions.properties import BACKFILL, FROM_NOW, IN_PLACE, Evolve
from ksql_spark.grammar.statements.sources import CreateAsSelect
from ksql_spark.metastore.sources import STREAM
from ksql_spark.plan.queries import PersistentQuery


class Way(Enum):
    """How a new version follows the running one."""

    #: it goes on with the running version's state
    IN_PLACE = auto()
    #: it runs beside the running version, until the swap
    BESIDE = auto()
    #: it begins without state where the running version ends
    FROM_NOW = auto()
    #: the same, once it has read again what the running version has read
    WARM_UP = auto()

    @property
    def is_at_once(self) -> bool:
        """Whether the running version ends at once, and the new one goes on writing where it ended."""
        return self in (Way.FROM_NOW, Way.WARM_UP)


def way_of(evolve: Evolve | None, bound: PersistentQuery) -> Way:
    """Return the way that a statement asks for.

    Args:
        evolve: its EVOLVE settings, if it has any.
        bound: the new version.
    """
    if evolve is None or evolve.way == IN_PLACE:
        return Way.IN_PLACE
    if evolve.way == BACKFILL and not evolve.keeps_history:
        return Way.BESIDE
    is_stateless = evolve.way == FROM_NOW or analyzer.is_stateless(bound.root)
    return Way.FROM_NOW if is_stateless else Way.WARM_UP


def default_evolve(statement: CreateAsSelect) -> Evolve:
    """Return how a statement without EVOLVE would change a running query if it cannot do so in place."""
    return Evolve(BACKFILL, keeps_history=statement.kind == STREAM)


__all__ = ["Way", "default_evolve", "way_of"]
