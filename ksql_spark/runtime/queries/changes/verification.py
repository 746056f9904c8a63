"""Tells what rows differ in, for VERIFY and DESCRIBE EVOLUTION (ADR 54); differences.py finds those rows.

Both compare what topics hold. Clients see values only, and have their own comparison (tools.comparing).
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any, NamedTuple

from ksql_spark.analyzer.definitions.properties import Check
from ksql_spark.formats import BadRecord, Serde
from ksql_spark.kafka.consumer import Record
from ksql_spark.runtime.queries.differences import Differences, Place, changes, count
from ksql_spark.schema import WINDOWEND, WINDOWSTART

#: how many rows that differ are shown
SAMPLES = 5


class Sample(NamedTuple):
    """A row that differs.

    Args:
        key: the key's columns, with the window's bounds.
        old: the columns that differ, as the old version has them, or None if it lacks the row.
        new: the same of the new version.
    """

    key: Mapping[str, Any]
    old: Mapping[str, Any] | None
    new: Mapping[str, Any] | None


class Comparison(NamedTuple):
    """The differences between two versions of a table, decoded.

    Args:
        rows: how many rows each has.
        differences: for how many keys the new version has another row, in whatever it differs, or the only
            one, and how many keys only the old one has.
        only_new: how many keys only the new one has.
        columns: column of both -> for how many keys its values differ.
        samples: the first rows that differ.
        selected: the first rows of VERIFY's SELECT.
    """

    rows: tuple[int, int]
    differences: Differences
    only_new: int
    columns: Mapping[str, int]
    samples: tuple[Sample, ...]
    selected: Sequence[Mapping[str, Any]] = ()

    def failures(self, checks: tuple[Check, ...]) -> list[str]:
        """Return a phrase for each of VERIFY's checks that does not hold."""
        return [text for check in checks for text in self._failed(check)]

    def _failed(self, check: Check) -> Iterator[str]:
        (before, after), removed = self.rows, self.differences.removed
        match check.what:
            case "rows" if abs(before - after) > check.tolerance * max(before, after):
                yield f"rows: {before:,} before, {after:,} in the new version"
            case "keys" if removed + self.only_new > check.tolerance * (before + self.only_new):
                yield f"keys: {removed:,} only before, {self.only_new:,} only in the new version"
            case "SELECT" if self.selected:
                shown = ", ".join(map(json.dumps, self.selected))
                yield f"rows of its SELECT: {shown}{' ...' if len(self.selected) == SAMPLES else ''}"
            case "values" if self.columns:
                counts = ((name, n, "key" if n == 1 else "keys") for name, n in self.columns.items())
                yield f"values: {', '.join(f'{name} of {n:,} {keys}' for name, n, keys in counts)}"


def compare(
    old: Mapping[Place, Record],
    new: Mapping[Place, Record],
    readers: tuple[RowReader, RowReader],
    tolerance: float = 0.0,
) -> Comparison:
    """Compare the rows of two versions.

    Args:
        old: those of the table.
        new: those of its new version.
        readers: of either.
        tolerance: numbers are equal if they differ by no more than this share of the larger one.
    """
    columns: Counter[str] = Counter()
    samples: list[Sample] = []
    read_old, read_new = readers
    changed = list(changes(old, new))
    for record in changed:
        place = (record.partition, record.key)
        before = old.get(place)
        is_sampled = len(samples) < SAMPLES
        if before is not None and record.value is not None:
            was, now = read_old.values(before), read_new.values(record)
            differ = [name for name in was if name in now and not _is_same(was[name], now[name], tolerance)]
            columns.update(differ)
            if differ and is_sampled:
                values = ({name: row[name] for name in differ} for row in (was, now))
                samples.append(Sample(read_new.key(place), *values))
        elif is_sampled:
            was_there = None if before is None else read_old.values(before)
            is_there = None if before is not None else read_new.values(record)
            samples.append(Sample(read_new.key(place), was_there, is_there))
    added = sum((record.partition, record.key) not in old for record in changed)
    return Comparison((len(old), len(new)), count(changed), added, dict(columns), tuple(samples))


def _is_same(before: Any, after: Any, tolerance: float) -> bool:
    if before == after or not tolerance:
        return bool(before == after)
    numbers = (int, float, Decimal)
    if not (isinstance(before, numbers) and isinstance(after, numbers)) or isinstance(before, bool):
        return False
    return math.isclose(before, after, rel_tol=tolerance, abs_tol=0.0)


class RowReader:
    """Reads the rows of a version.

    Args:
        split: splits a key's bytes into those without a window's bounds, and the bounds; 0: no window.
        key: reads its keys.
        value: reads its values.
    """

    def __init__(self, split: Callable[[bytes], tuple[bytes, int, int]], key: Serde, value: Serde) -> None:
        self._split = split
        self._key, self._value = key, value

    def key(self, place: Place) -> dict[str, Any]:
        """The columns of a row's key."""
        _, data = place
        if data is None:
            return {}
        data, start, end = self._split(data)
        return {**_read(self._key, data), **({WINDOWSTART: start, WINDOWEND: end} if end else {})}

    def values(self, record: Record) -> dict[str, Any]:
        """The columns of a row's value; columns that cannot be read are missing."""
        return {} if record.value is None else _read(self._value, record.value)


def _read(serde: Serde, data: bytes) -> dict[str, Any]:
    try:
        values = serde.decode(data) if serde.columns else []
    except BadRecord:
        return {}
    return dict(zip((c.name for c in serde.columns), values or (), strict=False))


__all__ = ["SAMPLES", "Comparison", "RowReader", "Sample", "compare"]
