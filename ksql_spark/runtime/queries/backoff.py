"""Delays before a failed query restarts: exponential backoff, reset on progress."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

#: offsets by topic and partition
Offsets = Mapping[str, Mapping[int, int]]


@dataclass
class Retries:
    """The retries of one query. Instants are on the monotonic clock, in seconds.

    Args:
        in_a_row: number of failures in a row.
        total: number of failures since the server started.
        started_at: when the query was last started.
        due_at: when to restart it after a failure; infinity: not automatically.
        committed: the offsets that it had committed at its last failure, or None if unknown.
    """

    in_a_row: int = 0
    total: int = 0
    started_at: float = 0.0
    due_at: float = 0.0
    committed: Offsets | None = None

    @property
    def is_halted(self) -> bool:
        """Whether it does not restart automatically."""
        return math.isinf(self.due_at)

    def failed(
        self, now: float, *, committed: Offsets | None, was_running: bool, first_s: float, longest_s: float
    ) -> None:
        """Count a failure, and set the time of the restart: after ``first_s``, then twice as long each time.

        The first pause applies again if the query has committed anything since its last failure, or has run
        for the longest pause.

        Args:
            now: the time of the failure.
            committed: what it has committed, or None if unknown.
            was_running: whether it was running until now.
            first_s: the first pause, seconds.
            longest_s: the longest pause, seconds.
        """
        has_got_on = None not in (committed, self.committed) and committed != self.committed
        if has_got_on or (was_running and now - self.started_at >= longest_s):
            self.in_a_row = 0
        self.in_a_row += 1
        self.total += 1
        if committed is not None:
            self.committed = committed
        self.due_at = now + min(first_s * 2.0 ** min(self.in_a_row - 1, 100), longest_s)

    def halt(self) -> None:
        """Do not restart it automatically."""
        self.due_at = math.inf

    def forget(self) -> None:
        """Reset to the first pause: what runs next is not what failed."""
        self.in_a_row, self.committed = 0, None


__all__ = ["Offsets", "Retries"]
