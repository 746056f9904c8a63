"""Bounds of the state that queries keep: how full it is, how fast it grows, and when it will be full."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

#: the properties, with the unit of their values
BOUNDS = {"ksql.query.state.max.bytes": "bytes", "ksql.query.state.max.entries": "entries"}
#: from this share on users are warned
NEARLY_FULL = 0.8
#: growth is measured over up to an hour, by a sample a minute
SAMPLE_EVERY_S, SAMPLES = 60.0, 60
_HOUR_S, _DAY_S = 3600.0, 86_400.0


@dataclass(frozen=True)
class Fill:
    """How full a query's state is, by one of its bounds.

    Args:
        name: of the property.
        size: the size of the state, in the property's unit.
        most: the bound.
        per_hour: how much it grows in an hour; 0: it does not, or this is not known yet.
    """

    name: str
    size: int
    most: int
    per_hour: float = 0.0

    @property
    def share(self) -> float:
        """The size as a share of the bound."""
        return self.size / self.most

    @property
    def is_nearly_full(self) -> bool:
        """Whether users should be warned."""
        return self.share >= NEARLY_FULL

    @property
    def is_full(self) -> bool:
        """Whether the bound is reached."""
        return self.size >= self.most

    def __str__(self) -> str:
        """Text for users.

        >>> str(Fill("ksql.query.state.max.entries", 900, 1000, 50.0))
        '90 % of 1,000 entries (ksql.query.state.max.entries); it grows by 50 an hour and is full in 2 hours'
        """
        text = f"{int(100 * self.share)} % of {self.most:,} {BOUNDS[self.name]} ({self.name})"
        if self.per_hour < 1 or self.is_full:
            return text
        left_s = (self.most - self.size) / self.per_hour * _HOUR_S
        unit, length_s = ("hours", _HOUR_S) if left_s < 2 * _DAY_S else ("days", _DAY_S)
        left = f"{left_s / length_s:.0f} {unit}"
        return f"{text}; it grows by {self.per_hour:,.0f} an hour and is full in {left}"


@dataclass(frozen=True)
class _Sample:
    at_s: float
    sizes: Mapping[str, int]


class StateBounds:
    """Notes the sizes of queries' states, and says how full they are. Thread-safe.

    Args:
        clock: in seconds, monotonic.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._samples: dict[str, deque[_Sample]] = {}
        self._fills: dict[str, Fill] = {}

    def note(
        self, query_id: str, size_bytes: int, entries: int, setting: Callable[[str], Any]
    ) -> Fill | None:
        """Note the size of a query's state.

        Args:
            query_id: the query.
            size_bytes: of the state.
            entries: in the state.
            setting: the query's value of a property, by name.

        Returns:
            how full it is, by the bound that it is nearest to, or None if it has none any more.
        """
        now = _Sample(self._clock(), dict(zip(BOUNDS, (size_bytes, entries), strict=True)))
        samples = self._samples.setdefault(query_id, deque(maxlen=SAMPLES))
        fills = []
        for name, size in now.sizes.items():
            if (most := setting(name)) is not None:
                fills.append(Fill(name, size, int(most), _per_hour(samples, now, name)))
        if not samples or now.at_s - samples[-1].at_s >= SAMPLE_EVERY_S:
            samples.append(now)
        if not fills:
            self._fills.pop(query_id, None)
            return None
        self._fills[query_id] = fill = max(fills, key=lambda each: each.share)
        return fill

    def fill(self, query_id: str) -> Fill | None:
        """How full a query's state was when it was noted last, or None if it has no bound."""
        return self._fills.get(query_id)

    def keep(self, query_ids: Collection[str]) -> None:
        """Forget all other queries."""
        for kept in (self._samples, self._fills):
            for query_id in set(kept) - set(query_ids):
                kept.pop(query_id, None)


def _per_hour(samples: deque[_Sample], now: _Sample, name: str) -> float:
    """The growth of a size since the oldest sample, if that is long enough ago."""
    if not samples or now.at_s - samples[0].at_s < SAMPLE_EVERY_S:
        return 0.0
    grown = now.sizes[name] - samples[0].sizes[name]
    return max(0.0, grown / (now.at_s - samples[0].at_s) * _HOUR_S)


__all__ = ["BOUNDS", "NEARLY_FULL", "Fill", "StateBounds"]
