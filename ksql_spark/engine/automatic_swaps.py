"""Swaps new versions of tables once they have caught up, unless they wait for SWAP (ADR 54)."""

from __future__ import annotations

import logging
import time

from ksql_spark.engine.execution import StatementExecutor
from ksql_spark.engine.request import Request
from ksql_spark.errors import KsqlError
from ksql_spark.runtime.queries.evolution import Backfill
from ksql_spark.runtime.queries.managed import ManagedQuery
from ksql_spark.runtime.queries.states import State
from ksql_spark.statements import Services
from ksql_spark.statements.definitions.swaps import progress

log = logging.getLogger(__name__)

#: how often new versions are checked
CHECK_EVERY_S = 1.0
#: how long after it was refused a swap with VERIFY is tried again
VERIFY_AGAIN_S = 10.0


class AutomaticSwaps:
    """Sends SWAP for new versions that have caught up. A refused swap is tried again.

    Args:
        services: the engine's parts.
        statements: what executes SWAP.
    """

    def __init__(self, services: Services, statements: StatementExecutor) -> None:
        self._services = services
        self._statements = statements

    def check(self) -> None:
        """Swap what can be swapped now."""
        for query in self._services.queries.all():
            is_due = time.monotonic() >= query.swap_not_before
            match query.evolution:
                case Backfill(is_manual=False) as evolution if is_due and self._has_caught_up(query):
                    self._swap(query, evolution)

    def _has_caught_up(self, query: ManagedQuery) -> bool:
        if query.state is not State.RUNNING or query.loading or not self._services.queries.is_here(query):
            return False
        return progress(query, self._services).has_caught_up

    def _swap(self, query: ManagedQuery, evolution: Backfill) -> None:
        table = evolution.table
        name = table.replace("`", "``")
        try:
            self._statements.execute(Request(f"SWAP `{name}`;"))
        except KsqlError as error:
            if query.swap_refusal != error.message:
                log.warning("query %s cannot take over %s: %s", query.id, table, error.message)
            query.swap_refusal = error.message
            if evolution.verify:  # it reads both topics
                query.swap_not_before = time.monotonic() + VERIFY_AGAIN_S


__all__ = ["CHECK_EVERY_S", "AutomaticSwaps"]
