"""What each aggregate gives, in plain Python (reference §4.8), by the rows that it has taken in.

A state is the list of rows that count, in the order in which the group has them. Each row has a number, which
tells when it came, and columns.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

from ksql_spark.types import BIGINT, BOOLEAN, DOUBLE, INTEGER, STRING, Array, Map, SqlType


@dataclass(frozen=True)
class Row:
    """An input row: when it came, and its columns."""

    number: int
    values: Mapping[str, Any]

    def __getitem__(self, name: str) -> Any:
        return self.values[name]


State = list[Row]

COLUMNS: dict[str, SqlType] = {
    "i": INTEGER,
    "b": BIGINT,
    "d": DOUBLE,
    "s": STRING,
    "l": Array(INTEGER),
    "m": Map(STRING, INTEGER),
    "t": BOOLEAN,
}


@dataclass(frozen=True)
class Model:
    """One call of an aggregate.

    ``result`` of a state, and how a state changes: ``added`` and ``merged`` cut what no longer counts after a
    row came or a group was merged in; both states are in order, that of the earlier session first.
    """

    function: str
    arguments: tuple[Any, ...]
    result: Callable[[State], Any]
    added: Callable[[State], State] = lambda rows: rows
    merged: Callable[[State], State] = lambda rows: rows
    settings: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.function}({', '.join(map(str, self.arguments))})"

    def add(self, state: State, row: Row) -> State:
        return self.added([*state, row])

    def merge(self, states: Sequence[State]) -> State:
        return reduce(lambda a, b: self.merged([*a, *b]), states, [])

    def undo(self, state: State, row: Row) -> State:
        """Without the last of the rows that are equal to ``row`` in what the call takes."""
        names = [a for a in self.arguments if a in COLUMNS]
        for at in reversed(range(len(state))):
            if all(state[at][name] == row[name] for name in names):
                return [*state[:at], *state[at + 1 :]]
        return state


def _values(name: str, rows: State) -> list[Any]:
    return [row[name] for row in rows if row[name] is not None]


def _units(text: str) -> bytes:
    """What orders text as ksqlDB does: its UTF-16 units."""
    return text.encode("utf-16-be")


def _wrapped(total: int, bits: int) -> int:
    half: int = 2 ** (bits - 1)
    return (total + half) % (2 * half) - half


def _mean(total: float, values: list[Any]) -> float:
    return float(total) / len(values) if values else 0.0


def _variance(values: list[Any]) -> float:
    return statistics.variance(map(float, values)) if len(values) > 1 else 0.0


def _correlation(rows: State) -> float:
    pairs = [(row["i"], row["b"]) for row in rows if row["i"] is not None and row["b"] is not None]
    if len(pairs) < 2:
        return float("nan")
    try:
        return statistics.correlation([float(x) for x, _ in pairs], [float(y) for _, y in pairs])
    except statistics.StatisticsError:  # no variance
        return float("nan")


def _distinct(values: list[Any]) -> list[Any]:
    return [v for i, v in enumerate(values) if v not in values[:i]]


def _attr(name: str, rows: State) -> Any:
    different = _distinct([row[name] for row in rows])
    return different[0] if len(different) == 1 else None


def _present(name: str) -> Callable[[State], State]:
    return lambda rows: [row for row in rows if row[name] is not None]


def _in_order(rows: State) -> State:
    return sorted(rows, key=lambda row: row.number)


def _by_offset(function: str, name: str, *constants: Any) -> Model:
    count = next((c for c in constants if type(c) is int), None)
    counts = _present(name) if False not in constants else lambda rows: rows
    size = count or 1

    def first(rows: State) -> State:
        return _in_order(counts(rows))[:size]

    def last(rows: State) -> State:
        return _in_order(counts(rows))[-size:]

    def result(rows: State) -> Any:
        values = [row[name] for row in rows]
        return values if count else (values[0] if values else None)

    added = first if function.startswith("EARLIEST") else last
    # of two groups the oldest stay, except for the single last one: that is the last of both
    merged = first if count else added
    return Model(function, (name, *constants), result, added, merged)


def _top(rows: State, k: int) -> list[Row]:
    present = [row for row in rows if row["i"] is not None]
    return sorted(present, key=lambda row: -row["i"])[:k]


def _by(name: str, sign: int) -> Callable[[State], Any]:
    """The value of ``s`` where ``name`` is greatest (sign 1) or smallest (-1), of equal ones the last."""

    def result(rows: State) -> Any:
        best = None
        for row in rows:
            is_new = row[name] is not None and (best is None or sign * row[name] >= sign * best[name])
            best = row if is_new else best
        return None if best is None else best["s"]

    return result


def _any(name: str, value: bool) -> Callable[[State], Any]:
    return lambda rows: (value in _values(name, rows)) == value if _values(name, rows) else None


def _median(rows: State) -> Any:
    values = _values("d", rows)
    return statistics.median(values) if values else None


def _percentile(rows: State) -> Any:
    values = sorted(_values("i", rows))
    return values[math.ceil(len(values) / 2) - 1] if values else None


def _limited_set(limit: int) -> Callable[[State], State]:
    def cut(rows: State) -> State:
        members: State = []
        for row in rows:
            if len(members) < limit and row["s"] not in [k["s"] for k in members]:
                members.append(row)
        return members

    return cut


def _columns(rows: Sequence[Row], name: str) -> list[Any]:
    return [row[name] for row in rows]


MODELS: tuple[Model, ...] = (
    Model("COUNT", (), len),
    Model("COUNT", ("s",), lambda rows: len(_values("s", rows))),
    Model("SUM", ("i",), lambda rows: _wrapped(sum(_values("i", rows)), 32)),
    Model("SUM", ("b",), lambda rows: _wrapped(sum(_values("b", rows)), 64)),
    Model("SUM", ("d",), lambda rows: float(sum(_values("d", rows)))),
    Model("SUM_LIST", ("l",), lambda rows: sum(e for v in _values("l", rows) for e in v if e is not None)),
    Model("AVG", ("i",), lambda rows: _mean(_wrapped(sum(_values("i", rows)), 32), _values("i", rows))),
    Model("AVG", ("d",), lambda rows: _mean(sum(_values("d", rows)), _values("d", rows))),
    Model("MIN", ("i",), lambda rows: min(_values("i", rows), default=None)),
    Model("MAX", ("s",), lambda rows: max(_values("s", rows), key=_units, default=None)),
    Model("MIN", ("s",), lambda rows: min(_values("s", rows), key=_units, default=None)),
    Model("MIN_BY", ("s", "i"), _by("i", -1)),
    Model("MAX_BY", ("s", "d"), _by("d", 1)),
    Model("BOOL_AND", ("t",), _any("t", False)),
    Model("BOOL_OR", ("t",), _any("t", True)),
    Model("MEDIAN", ("d",), _median),
    Model("APPROX_PERCENTILE", ("i", 0.5), _percentile),
    Model("PERCENTILE_CONT", ("d", 0.5), _median),
    Model("PERCENTILE_DISC", ("i", 0.5), _percentile),
    Model(
        "STRING_AGG", ("s", ", "), lambda rows: ", ".join(_values("s", rows)) if _values("s", rows) else None
    ),
    Model("STDDEV_SAMP", ("d",), lambda rows: _variance(_values("d", rows))),
    Model("STDDEV_SAMPLE", ("d",), lambda rows: _variance(_values("d", rows)) ** 0.5),
    Model(
        "VAR_SAMP", ("d",), lambda rows: _variance(given) if len(given := _values("d", rows)) > 1 else None
    ),
    Model(
        "VAR_POP", ("d",), lambda rows: statistics.pvariance(given) if (given := _values("d", rows)) else None
    ),
    Model(
        "STDDEV_POP", ("d",), lambda rows: statistics.pstdev(given) if (given := _values("d", rows)) else None
    ),
    Model("CORRELATION", ("i", "b"), _correlation),
    Model("COUNT_DISTINCT", ("s",), lambda rows: len(set(_values("s", rows)))),
    Model("COUNT_DISTINCT", ("m",), lambda rows: len(_distinct(_values("m", rows)))),
    Model("COLLECT_LIST", ("l",), lambda rows: _columns(rows, "l")),
    Model(
        "COLLECT_LIST",
        ("s",),
        lambda rows: _columns(rows, "s"),
        added=lambda rows: rows[:3],
        merged=lambda rows: rows[:3],
        settings=("3",),
    ),
    Model("COLLECT_SET", ("m",), lambda rows: _distinct(_columns(rows, "m"))),
    Model(
        "COLLECT_SET",
        ("s",),
        lambda rows: _columns(rows, "s"),
        added=_limited_set(2),
        merged=_limited_set(2),
        settings=("2",),
    ),
    Model(
        "HISTOGRAM",
        ("s",),
        lambda rows: {s: _columns(rows, "s").count(s) for s in _values("s", rows)},
    ),
    Model("TOPK", ("i", 2), lambda rows: _columns(_top(rows, 2), "i")),
    Model(
        "TOPK",
        ("i", "s", "l", 3),
        lambda rows: [{"sort_col": r["i"], "col0": r["s"], "col1": r["l"]} for r in _top(rows, 3)],
    ),
    Model("TOPKDISTINCT", ("i", 2), lambda rows: sorted(set(_values("i", rows)), reverse=True)[:2]),
    Model("ATTR", ("s",), lambda rows: _attr("s", rows)),
    Model("ATTR", ("m",), lambda rows: _attr("m", rows)),
    *(
        _by_offset(f"{which}_BY_OFFSET", "s", *constants)
        for which in ("EARLIEST", "LATEST")
        for constants in ((), (False,), (2,), (2, False))
    ),
)
