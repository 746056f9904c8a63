"""Compares the rows of two versions of a table, for VERIFY and DESCRIBE EVOLUTION (ADR 54)."""

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
from ksql_spark.runtime.queries.differences import Place
from ksql_spark.schema import WINDOWEND, WINDOWSTART

#: how many rows that differ are shown
SAMPLES = 5


class Sample(NamedTuple):
    """A row that differs.

    Args:
        key: the key's columns, with the window's bounds.
        old: the columns that differ, as the old version has them; None: it lacks the row.
        new: the same of the new version.
    """

    key: Mapping[str, Any]
    old: Mapping[str, Any] | None
    new: Mapping[str, Any] | None


class Comparison(NamedTuple):
    """The differences between two versions of a table.

    Args:
        rows: how many rows each has.
        changed: for how many keys the new version has another row, in whatever it differs, or the only one.
        only_old: how many keys only the old one has.
        only_new: how many keys only the new one has.
        columns: column of both -> for how many keys its values differ.
        samples: the first rows that differ.
        selected: the first rows of VERIFY's SELECT.
    """

    rows: tuple[int, int]
    changed: int
    only_old: int
    only_new: int
    columns: Mapping[str, int]
    samples: tuple[Sample, ...]
    selected: Sequence[Mapping[str, Any]] = ()

    def failures(self, checks: tuple[Check, ...]) -> list[str]:
        """Return a phrase for each of VERIFY's checks that does not hold."""
        return [text for check in checks for text in self._failed(check)]

    def _failed(self, check: Check) -> Iterator[str]:
        before, after = self.rows
        match check.what:
            case "rows" if abs(before - after) > check.tolerance * max(before, after):
                yield f"rows: {before:,} before, {after:,} in the new version"
            case "keys" if self.only_old + self.only_new > check.tolerance * (before + self.only_new):
                yield f"keys: {self.only_old:,} only before, {self.only_new:,} only in the new version"
            case "SELECT" if self.selected:
                shown = ", ".join(map(json.dumps, self.selected))
                yield f"rows of its SELECT: {shown}{' ...' if len(self.selected) == SAMPLES else ''}"
            case "values" if self.columns:
                yield f"values: {', '.join(f'{name} of {n:,} keys' for name, n in self.columns.items())}"


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
    changed = 0
    read_old, read_new = readers

    def sample(place: Place, before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> None:
        if len(samples) < SAMPLES:
            samples.append(Sample(read_new.key(place), before, after))

    for place, record in new.items():
        changed += place not in old or old[place].value != record.value
        if place not in old:
            sample(place, None, read_new.values(record))
        elif old[place].value != record.value:
            before, after = read_old.values(old[place]), read_new.values(record)
            shared = (name for name in before if name in after)
            differ = [name for name in shared if not _is_same(before[name], after[name], tolerance)]
            columns.update(differ)
            if differ:
                sample(place, *({name: row[name] for name in differ} for row in (before, after)))
    gone = [place for place in old if place not in new]
    for place in gone[: SAMPLES - len(samples)]:
        sample(place, read_old.values(old[place]), None)
    added = sum(place not in old for place in new)
    return Comparison((len(old), len(new)), changed, len(gone), added, dict(columns), tuple(samples))


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
        """The columns of a row's value; those that cannot be read are missing."""
        return {} if record.value is None else _read(self._value, record.value)


def _read(serde: Serde, data: bytes) -> dict[str, Any]:
    try:
        values = serde.decode(data) if serde.columns else []
    except BadRecord:
        return {}
    return dict(zip((c.name for c in serde.columns), values or (), strict=False))


__all__ = ["SAMPLES", "Comparison", "RowReader", "Sample", "compare"]
