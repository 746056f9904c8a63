"""What the queries must return: the SELECTs of the folder duckdb, over the same events."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb

from bench.nexmark.generator import COLUMNS

SELECTS = Path(__file__).parent / "duckdb"
#: a window that ends later than so long before the last event may still be open
OPEN_MS = 5000
#: rows that are added up before they are compared: windows of the clock differ from run to run
SUMMED = {"q12": ("bidder", "bids")}
SIDE_ROWS = 10_000

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Verdict:
    """How a result differs from what DuckDB returns."""

    rows: int
    missing: Counter[tuple[Any, ...]]
    unwanted: Counter[tuple[Any, ...]]

    @property
    def is_right(self) -> bool:
        """Whether nothing differs."""
        return not self.missing and not self.unwanted

    def __str__(self) -> str:
        if self.is_right:
            return f"right, {self.rows:,} rows"
        samples = "; ".join(
            f"{found.total():,} {what}: {', '.join(map(str, list(found)[:2]))}"
            for what, found in (("missing", self.missing), ("unwanted", self.unwanted))
            if found
        )
        return f"wrong, {self.rows:,} rows, {samples}"


class Oracle:
    """DuckDB with a table for each topic, which add() fills."""

    def __init__(self, folder: Path) -> None:
        self.side_input = folder / "side_input.parquet"
        self._base = duckdb.connect()
        self._base.execute("SET TimeZone = 'UTC'")
        for topic, columns in COLUMNS.items():
            names = ", ".join(
                f"{name} {'TEXT' if type_ == 'STRING' else type_}" for name, type_ in columns.items()
            )
            self._base.execute(f"CREATE TABLE {topic} (number BIGINT, {names})")
        self._base.execute(
            "CREATE TABLE side_input AS"
            f" SELECT range AS id, 'value ' || range AS value FROM range({SIDE_ROWS})"
        )
        self._base.execute(f"COPY side_input TO '{self.side_input}' (FORMAT parquet)")
        self._numbers = 0
        self._expected: dict[str, tuple[list[str], list[tuple[Any, ...]]]] = {}

    def add(self, events: Iterable[tuple[str, Row]]) -> None:
        """Take in events, in the order in which they are written."""
        import pyarrow

        rows: dict[str, list[Row]] = {topic: [] for topic in COLUMNS}
        for topic, row in events:
            rows[topic].append({"number": self._numbers, **row})
            self._numbers += 1
        for topic, found in rows.items():
            if found:
                frame = pyarrow.Table.from_pylist(found)
                self._base.register("frame", frame)
                self._base.execute(f"INSERT INTO {topic} SELECT * FROM frame")
        self._expected.clear()

    def files(self, folder: Path) -> list[Row]:
        """The rows of Parquet files below a folder."""
        if not any(folder.glob("*=*/*=*/*.parquet")):
            return []
        found = self._base.execute(
            f"SELECT * FROM read_parquet('{folder}/*=*/*=*/*.parquet', hive_partitioning = true,"
            " hive_types_autocast = false)"
        )
        names = [column[0].lower() for column in found.description or ()]
        return [dict(zip(names, row, strict=True)) for row in found.fetchall()]

    def check(self, query: str, rows: Iterable[Row], is_once: bool = True) -> Verdict:
        """Compare the rows that a query has written.

        Args:
            query: its name.
            rows: by column names in lower case; columns that the SELECT does not have do not count.
            is_once: whether a row must not be there twice.
        """
        names, expected = self._of(query)
        compared = [name for name in names if name != "until"]
        actual = Counter(tuple(plain(row.get(name)) for name in compared) for row in rows)
        if query in SUMMED:
            sums: Counter[Any] = Counter()
            for (key, number), count in actual.items():
                sums[key] += number * count
            actual = Counter(sums.items())
        required: Counter[tuple[Any, ...]] = Counter()
        allowed: Counter[tuple[Any, ...]] = Counter()
        (last_ms,) = self._base.execute("SELECT max(dateTime) FROM bid").fetchone() or (0,)
        for row in expected:
            values = dict(zip(names, row, strict=True))
            key = tuple(plain(values[name]) for name in compared)
            allowed[key] += 1
            if values.get("until", 0) <= last_ms - OPEN_MS:
                required[key] += 1
        total = actual.total()
        if not is_once:
            actual = Counter({key: min(count, allowed[key] or 1) for key, count in actual.items()})
        return Verdict(total, required - actual, actual - allowed)

    def _of(self, query: str) -> tuple[list[str], list[tuple[Any, ...]]]:
        if query not in self._expected:
            found = self._base.execute((SELECTS / f"{query}.sql").read_text())
            names = [column[0].lower() for column in found.description or ()]
            self._expected[query] = names, found.fetchall()
        return self._expected[query]


def plain(value: Any) -> Any:
    """A value to compare: numbers of all types with ten digits, times in ms."""
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return value
    if isinstance(value, int):
        return value
    if isinstance(value, datetime):
        return round(value.replace(tzinfo=value.tzinfo or UTC).timestamp() * 1000)
    number = float(f"{float(value):.10g}")
    return int(number) if number.is_integer() else number
