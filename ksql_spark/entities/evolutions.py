"""Evolutions: new versions of tables that run beside the old ones."""

from __future__ import annotations

from dataclasses import dataclass

from ksql_spark.entities.base import Entity


@dataclass(frozen=True, kw_only=True)
class EvolutionDescription(Entity):
    """Of DESCRIBE EVOLUTION.

    Args:
        name: the table.
        state: backfilling, caught up, swapping, swapped or failed.
        reason: why it has failed, or cannot be swapped now.
        query_id: of the new version.
        topic: where the new version writes until the swap.
        is_manual: whether it waits for SWAP.
        records_left: how many records the new version has not read, as of its last checkpoint.
        keys_changed: keys whose rows differ from the old version's, or that the old version lacks; null while
            it is unknown.
        keys_removed: keys that the new version lacks.
    """

    name: str
    state: str
    reason: str | None
    query_id: str
    topic: str
    is_manual: bool
    records_left: int | None
    keys_changed: int | None
    keys_removed: int | None
