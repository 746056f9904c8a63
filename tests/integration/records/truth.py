"""Queries, and what they make of the records that are in their topics, in plain Python.

Some tables are only right once REPROCESS has put late rows back. All other queries must be right as they are.
With exactly_once_v2, each row or change is there once; with at_least_once, rows may be there again, and a
table ends with the right rows.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ksql_spark.kafka.consumer import Record
from tests.integration.results import kafka_streams_model as model
from tests.integration.results.kafka_streams_model import Changes, Event

START_MS = 1_772_355_600_000
#: how long after it the last records are, which close all windows before
LATER_MS = 3_600_000
#: each topic has these columns; ``n`` is another one in each record, unless that is a duplicate
STREAM = "(k STRING KEY, n INT, g INT, a INT) WITH (KAFKA_TOPIC = '{topic}', VALUE_FORMAT = 'JSON'"
TABLE = STREAM.replace("KEY", "PRIMARY KEY")

#: {x} is the name of the run
SOURCES = f"""
CREATE STREAM s_{{x}} {STREAM.format(topic="s_{x}")}, PARTITIONS = {{partitions}});
CREATE STREAM r_{{x}} {STREAM.format(topic="r_{x}")}, PARTITIONS = {{partitions}});
CREATE TABLE t_{{x}} {TABLE.format(topic="t_{x}")}, PARTITIONS = {{partitions}});
CREATE TABLE ss_{{x}} {TABLE.format(topic="s_{x}")});
CREATE TABLE rr_{{x}} {TABLE.format(topic="r_{x}")});
"""

# ---- corrected ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Corrected:
    """A table that drops late rows until REPROCESS puts them back.

    Args:
        size_s: of its windows.
        advance_s: from one window to the next.
        by: the column that it groups by.
        rest: what follows the windows in its statement.
    """

    size_s: int
    advance_s: int
    by: str
    rest: str

    def statement(self, name: str, x: str) -> str:
        """What creates it."""
        kind = (
            f"HOPPING (SIZE {self.size_s} SECONDS, ADVANCE BY {self.advance_s} SECONDS"
            if self.size_s > self.advance_s
            else f"TUMBLING (SIZE {self.size_s} SECONDS"
        )
        emit, grace_s = self.rest.split()
        return (
            f"CREATE TABLE {name}_{x} AS SELECT {self.by}, COUNT(*) AS n, SUM(a) AS total FROM s_{x}"
            f" WINDOW {kind}, GRACE PERIOD {grace_s} SECONDS) GROUP BY {self.by} EMIT {emit};"
        )

    def truth(self, stream: list[Event]) -> dict[tuple[Any, int], list[int]]:
        """(group, window start) -> count and sum, late or not."""
        rows: dict[tuple[Any, int], list[int]] = defaultdict(lambda: [0, 0])
        for event in stream:
            start = event.time // (self.advance_s * 1000) * self.advance_s * 1000
            while start > event.time - self.size_s * 1000:
                row = rows[event.key if self.by == "k" else event.get(self.by), start]
                row[0] += 1
                row[1] += event.get("a")
                start -= self.advance_s * 1000
        return rows


CORRECTED = {
    "tumbled": Corrected(10, 10, "k", "CHANGES 1"),
    "hopped": Corrected(20, 5, "g", "CHANGES 0"),
    "final": Corrected(10, 10, "g", "FINAL 0"),
}

# ---- right as they are -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Log:
    """The records of the topics of a run.

    Args:
        s: those of the first topic that can be read, with tombstones.
        r: those of the second one.
        t: those of the table.
    """

    s: list[Event]
    r: list[Event]
    t: list[Event]

    @property
    def stream(self) -> list[Event]:
        """The first topic as a stream: tombstones are no rows."""
        return [event for event in self.s if event.value is not None]

    @property
    def other(self) -> list[Event]:
        """The second one."""
        return [event for event in self.r if event.value is not None]


def events(records: list[Record]) -> list[Event]:
    """The records that can be read, each partition in the order of its offsets."""
    read = []
    for record in sorted(records, key=lambda each: (each.partition, each.offset)):
        assert record.key is not None
        try:
            value = None if record.value is None else json.loads(record.value)
        except ValueError:
            continue
        if value is None or all(isinstance(number, int) for number in value.values()):
            read.append(Event(record.partition, record.timestamp_ms, record.key.decode(), value))
    return read


@dataclass(frozen=True)
class Exact:
    """A query that needs no correction.

    Args:
        select: its statement after AS; {x} is the name of the run.
        truth: the log -> rows (time, key, fields) of a stream, or changes of the keys of a table.
        bounds: the struct of the window bounds behind a key.
        is_last: its truth is only what each key has in the end.
        is_once_only: it has several steps with state, of which the second counts again what at_least_once
            repeats.
        key_format: of its topic.
    """

    select: str
    truth: Callable[[Log], list[tuple[Any, ...]] | Changes]
    bounds: str = ""
    is_last: bool = False
    is_once_only: bool = False
    key_format: str = "KAFKA"

    @property
    def is_table(self) -> bool:
        """Whether it makes a table."""
        return "GROUP BY" in self.select or self.is_last

    def statement(self, name: str, x: str) -> str:
        """What creates it."""
        kind = "TABLE" if self.is_table else "STREAM"
        settings = f"VALUE_FORMAT = 'JSON', KEY_FORMAT = '{self.key_format}'"
        select = self.select.format(x=x)
        return f"CREATE {kind} {name}_{x} WITH ({settings}) AS SELECT {select};"


WITHIN_MS, GAP_MS, SIZE_MS, GRACE_MS, FIRST_MS, SLIDE_MS = 2_000, 2_000, 10_000, 5_000, 30_000, 3_000
TUMBLING = (
    "k, COUNT(*) AS c, SUM(n) AS s FROM s_{x}"
    " WINDOW TUMBLING (SIZE 10 SECONDS, RETENTION 1 DAY, GRACE PERIOD 5 SECONDS) GROUP BY k EMIT "
)


def _counts(log: Log) -> Changes:
    changes: Changes = defaultdict(list)
    for event in log.stream:
        count, total = changes[event.key][-1] if changes[event.key] else (0, 0)
        changes[event.key].append([count + 1, total + event.get("n")])
    return changes


def _groups(rows: Mapping[Any, Mapping[str, Any]]) -> Changes:
    """g as JSON -> count and sum of n."""
    groups: Changes = defaultdict(lambda: [[0, 0]])
    for row in rows.values():
        groups[str(row["g"])][0][0] += 1
        groups[str(row["g"])][0][1] += row["n"]
    return groups


def _highest(log: Log) -> Changes:
    numbers = defaultdict(list)
    for event in log.stream:
        numbers[event.key].append(event.get("n"))
    return {
        json.dumps({"K": key, "PLACE": place}, separators=(",", ":")): [[n]]
        for key, own in numbers.items()
        for place, n in enumerate(sorted(own, reverse=True)[:3], start=1)
    }


def _finals(log: Log) -> Changes:
    closed_ms = START_MS + LATER_MS - SIZE_MS - GRACE_MS
    changes = model.tumbling(log.stream, None, SIZE_MS, GRACE_MS)
    return {window: updates[-1:] for window, updates in changes.items() if window[1] <= closed_ms}


def _set(operator: str, keeps: Callable[[set[Any], set[Any]], set[Any]]) -> Exact:
    """A set operation of the columns k and g of both tables."""

    def truth(log: Log) -> Changes:
        left, right = ({(k, row["g"]) for k, row in model.last(table).items()} for table in (log.s, log.r))
        return {json.dumps({"K": k, "G": g}, separators=(",", ":")): [[]] for k, g in keeps(left, right)}

    return Exact(
        f"k, g FROM ss_{{x}} {operator} SELECT k, g FROM rr_{{x}} EMIT CHANGES",
        truth,
        is_last=True,
        is_once_only=True,
        key_format="JSON",
    )


def _placed(log: Log) -> Changes:
    places = model.last(log.t)
    rows = {key: (row["n"], places.get(f"k{row['g']}")) for key, row in model.last(log.s).items()}
    return {key: [[n, place["n"]]] for key, (n, place) in rows.items() if place is not None}


def _steps(log: Log) -> list[tuple[Any, ...]]:
    before: dict[str, Any] = {}
    rows = []
    for event in log.stream:
        rows.append((event.time, event.key, event.get("n"), before.get(event.key)))
        before[event.key] = event.get("n")
    return rows


def _rises(log: Log) -> list[tuple[Any, ...]]:
    low: dict[str, Any] = {}
    rows = []
    for event in log.stream:
        if event.get("a") < 50:
            low[event.key] = event.get("n")
        elif (n := low.pop(event.key, None)) is not None:
            rows.append((event.time, event.key, n, event.get("n")))
    return rows


def _slid(log: Log) -> Changes:
    """(key, window start) -> count and sum: windows end with a record, or begin after one if not empty."""
    by_key: dict[str, list[Event]] = defaultdict(list)
    for event in log.stream:
        by_key[event.key].append(event)
    rows: Changes = {}
    for key, own in by_key.items():
        for start in {max(0, time) for event in own for time in (event.time - SLIDE_MS, event.time + 1)}:
            inside = [event.get("n") for event in own if start <= event.time <= start + SLIDE_MS]
            if inside:
                rows[key, start] = [[len(inside), sum(inside)]]
    return rows


def _pairs(kind: str) -> Exact:
    key = {"FULL": "ROWKEY", "RIGHT": "r.k"}.get(kind, "s.k")

    def truth(log: Log) -> list[tuple[Any, ...]]:
        if kind == "RIGHT":
            rows = model.stream_stream(log.other, log.stream, WITHIN_MS, "LEFT")
            rows = [(time, k, s, r) for time, k, r, s in rows]
        else:
            rows = model.stream_stream(log.stream, log.other, WITHIN_MS, kind)
        # what has found no match among the last records still waits for one
        return [row for row in rows if row[0] < START_MS + LATER_MS or None not in row]

    join = f"{kind} JOIN r_{{x}} r WITHIN 2 SECONDS GRACE PERIOD 10 MINUTES ON s.k = r.k"
    return Exact(f"{key} AS k, s.n AS l, r.n AS r FROM s_{{x}} s {join} EMIT CHANGES", truth)


def _looked_up(kind: str) -> Exact:
    return Exact(
        f"s.k AS k, s.n AS l, t.n AS r FROM s_{{x}} s {kind} JOIN t_{{x}} t ON s.k = t.k EMIT CHANGES",
        lambda log: model.stream_table(log.stream, log.t, kind),
    )


def _rows(some: list[Event]) -> list[tuple[Any, ...]]:
    """What a projection makes of them; it passes on those without a value."""
    return [(event.time, event.key, *([event.get("n")] if event.value else [])) for event in some]


EXACT = {
    "chosen": Exact(
        "k, n FROM s_{x} WHERE a >= 50 EMIT CHANGES",
        lambda log: _rows([event for event in log.stream if event.get("a") >= 50]),
    ),
    "looked_up": _looked_up("INNER"),
    "looked_up_left": _looked_up("LEFT"),
    "known": Exact(
        "k, n FROM s_{x} s WHERE EXISTS (SELECT 1 FROM t_{x} t WHERE t.k = s.k) EMIT CHANGES",
        lambda log: [row[:3] for row in model.stream_table(log.stream, log.t, "INNER")],
    ),
    "unknown": Exact(
        "k, n FROM s_{x} s WHERE k NOT IN (SELECT k FROM t_{x}) EMIT CHANGES",
        lambda log: [row[:3] for row in model.stream_table(log.stream, log.t, "LEFT") if row[3] is None],
    ),
    "placed": Exact(
        "s.k AS k, s.n AS l, t.n AS r FROM ss_{x} s JOIN t_{x} t"
        " ON CONCAT('k', CAST(s.g AS STRING)) = t.k EMIT CHANGES",
        _placed,
        is_last=True,
    ),
    "steps": Exact(
        "k, n, LAG(n) OVER (PARTITION BY k ORDER BY ROWTIME) AS l FROM s_{x} EMIT CHANGES", _steps
    ),
    "rises": Exact(
        "* FROM s_{x} MATCH_RECOGNIZE (PARTITION BY k ORDER BY ROWTIME MEASURES A.n AS l, B.n AS r"
        " PATTERN (A B) WITHIN 1 DAY DEFINE A AS A.a < 50, B AS B.a >= 50) EMIT CHANGES",
        _rises,
    ),
    "slid": Exact(
        "k, COUNT(*) AS c, SUM(n) AS s FROM s_{x} WINDOW SLIDING (SIZE 3 SECONDS, GRACE PERIOD 2 HOURS)"
        " GROUP BY k EMIT CHANGES",
        _slid,
        ">q",
        is_last=True,
    ),
    "pairs": _pairs("INNER"),
    "pairs_left": _pairs("LEFT"),
    "pairs_right": _pairs("RIGHT"),
    "pairs_full": _pairs("FULL"),
    "merged": Exact(
        "k, n FROM s_{x} UNION ALL SELECT k, n FROM r_{x} EMIT CHANGES",
        lambda log: _rows([*log.s, *log.r]),
    ),
    "first_rows": Exact(
        "DISTINCT ON (k) k, n FROM s_{x} WITHIN 30 SECONDS WHERE k IS NOT NULL EMIT CHANGES",
        lambda log: model.first_rows(log.stream, FIRST_MS),
    ),
    "counts": Exact("k, COUNT(*) AS c, SUM(n) AS s FROM s_{x} GROUP BY k EMIT CHANGES", _counts),
    "groups": Exact(
        "g, COUNT(*) AS c, SUM(n) AS s FROM s_{x} GROUP BY g EMIT CHANGES",
        lambda log: _groups(dict(enumerate(event.value or {} for event in log.stream))),
        is_last=True,
        key_format="JSON",
    ),
    "windows": Exact(
        TUMBLING + "CHANGES", lambda log: model.tumbling(log.stream, None, SIZE_MS, GRACE_MS), ">q"
    ),
    "finals": Exact(TUMBLING + "FINAL", _finals, ">q"),
    "sessions": Exact(
        "k, COUNT(*) AS c FROM s_{x} WINDOW SESSION (2 SECONDS, RETENTION 1 DAY, GRACE PERIOD 2 HOURS)"
        " GROUP BY k EMIT CHANGES",
        lambda log: model.ends_first(model.sessions(log.stream, None, GAP_MS, 2 * LATER_MS)),
        ">qq",
    ),
    "highest": Exact(
        "k, ROW_NUMBER() OVER (PARTITION BY k ORDER BY n DESC) AS place, n FROM s_{x} QUALIFY place <= 3"
        " EMIT CHANGES",
        _highest,
        is_last=True,
        key_format="JSON",
    ),
    "both_tables": Exact(
        "ROWKEY AS k, s.n AS l, r.n AS r FROM ss_{x} s FULL JOIN rr_{x} r ON s.k = r.k EMIT CHANGES",
        lambda log: model.folded(model.table_table(log.s, log.r)),
        is_last=True,
    ),
    "either": _set("UNION", set.union),
    "both": _set("INTERSECT", set.intersection),
    "only": _set("EXCEPT", set.difference),
    "moved": Exact(
        "g, COUNT(*) AS c, SUM(n) AS s FROM ss_{x} GROUP BY g EMIT CHANGES",
        lambda log: _groups(model.last(log.s)),
        is_last=True,
        is_once_only=True,
        key_format="JSON",
    ),
}
