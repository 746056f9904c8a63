"""Queries of all kinds, and what each must have written after so many events.

Event n has the key ``k{n % KEYS}`` and is n ms later than the first.
"""

from __future__ import annotations

import json
import struct
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

KEYS = 20
#: time of the first event, ms
START_MS = 1_700_000_000_000

SOURCES = """
CREATE STREAM events (k STRING KEY, n BIGINT) WITH (KAFKA_TOPIC = 'events', VALUE_FORMAT = 'JSON');
CREATE TABLE latest (k STRING PRIMARY KEY, n BIGINT, who STRING)
  WITH (KAFKA_TOPIC = 'events', VALUE_FORMAT = 'JSON');
CREATE STREAM echoes (k STRING KEY, n BIGINT) WITH (KAFKA_TOPIC = 'echoes', VALUE_FORMAT = 'JSON');
CREATE TABLE people (k STRING PRIMARY KEY, name STRING) WITH (KAFKA_TOPIC = 'people', VALUE_FORMAT = 'JSON');
"""


@dataclass(frozen=True)
class Check:
    """A query and what its topic must hold.

    Args:
        topic: the topic that it writes.
        statement: it.
        expected: numbers of the events -> for each key, or for all (None), the values that are written.
        is_ordered: whether the order within a key must be that, too.
        is_last: how many values there are does not matter, only the last one of each key.
    """

    topic: str
    statement: str
    expected: Callable[[Sequence[int]], Mapping[str | None, list[Any]]]
    is_ordered: bool = True
    is_last: bool = False


def key_of(n: int) -> str:
    return f"k{n % KEYS}"


def _json_key(**columns: Any) -> str:
    return json.dumps(columns, separators=(",", ":"))


def _window_key(key: str, start: int) -> str:
    """The key of a window that begins ``start`` ms after the first event."""
    return (key.encode() + struct.pack(">q", START_MS + start)).decode("latin-1")


def _by_key(numbers: Sequence[int]) -> dict[str, list[int]]:
    keys: dict[str, list[int]] = defaultdict(list)
    for n in numbers:
        keys[key_of(n)].append(n)
    return keys


def _each(numbers: Sequence[int]) -> Mapping[str | None, list[Any]]:
    """A row for each event."""
    return {key: [{"N": n} for n in own] for key, own in _by_key(numbers).items()}


def _named(numbers: Sequence[int]) -> Mapping[str | None, list[Any]]:
    """A row for each event, with the name of its key."""
    return {key: [{"N": n, "NAME": f"name of {key}"} for n in own] for key, own in _by_key(numbers).items()}


def _counts(numbers: Sequence[int]) -> Mapping[str | None, list[Any]]:
    """An update for each event: the count, and the sum so far."""
    return {
        key: [{"C": i, "TOTAL": sum(own[:i])} for i in range(1, len(own) + 1)]
        for key, own in _by_key(numbers).items()
    }


def _chained(numbers: Sequence[int]) -> Mapping[str | None, list[Any]]:
    """An update for each update of _counts: how many, and the sum of their counts."""
    return {
        key: [{"C": i, "TOTAL": i * (i + 1) // 2} for i in range(1, len(own) + 1)]
        for key, own in _by_key(numbers).items()
    }


def _finals(numbers: Sequence[int]) -> Iterator[Any]:
    """The windows that have closed."""
    for begins in range(0, len(numbers) - 1000, 1000):
        counts = Counter(key_of(n) for n in range(begins, begins + 1000))
        for key, count in counts.items():
            yield {"NAME": key, "BEGINS": START_MS + begins, "C": count}


CHECKS = (
    Check(
        "COPIES",
        "CREATE STREAM copies AS SELECT k, n FROM events WHERE n % 7 <> 0 EMIT CHANGES;",
        lambda numbers: {k: [{"N": n} for n in own if n % 7] for k, own in _by_key(numbers).items()},
    ),
    Check(
        "COUNTS",
        "CREATE TABLE counts AS"
        " SELECT k, COUNT(*) AS c, SUM(n) AS total FROM events GROUP BY k EMIT CHANGES;",
        _counts,
    ),
    Check(
        # what waits for the end of an interval is in the state, or is written
        "AT_INTERVALS",
        "CREATE TABLE at_intervals AS"
        " SELECT k, COUNT(*) AS c, SUM(n) AS total FROM events GROUP BY k EMIT CHANGES EVERY 1 SECOND;",
        lambda numbers: {k: updates[-1:] for k, updates in _counts(numbers).items()},
        is_last=True,
    ),
    Check(
        "NAMED",
        "CREATE STREAM named AS SELECT e.k AS k, e.n AS n, p.name AS name FROM events e"
        " LEFT JOIN people p ON e.k = p.k EMIT CHANGES;",
        _named,
    ),
    Check(
        "PAIRS",
        "CREATE STREAM pairs AS SELECT e.n AS n, AS_VALUE(e.n) AS m, a.k AS k FROM events e"
        " JOIN echoes a WITHIN 10 SECONDS GRACE PERIOD 1 HOUR ON e.n = a.n EMIT CHANGES;",
        lambda numbers: {None: [{"M": n, "K": key_of(n)} for n in numbers]},
        is_ordered=False,
    ),
    Check(
        "CHAINED",
        "CREATE STREAM updates (k STRING KEY, c BIGINT) WITH (KAFKA_TOPIC = 'COUNTS', VALUE_FORMAT = 'JSON');"
        " CREATE TABLE chained AS"
        " SELECT k, COUNT(*) AS c, SUM(c) AS total FROM updates GROUP BY k EMIT CHANGES;",
        _chained,
    ),
    Check(
        # two sub-topologies: each update of a key takes its old row out of the group, and puts the new one in
        "ALL_OF_THEM",
        "CREATE TABLE all_of_them AS SELECT SUBSTRING(k, 1, 1) AS first, COUNT(*) AS c, SUM(c) AS total"
        " FROM counts GROUP BY SUBSTRING(k, 1, 1) EMIT CHANGES;",
        lambda numbers: {"k": [{"C": min(len(numbers), KEYS), "TOTAL": len(numbers)}]},
        is_last=True,
    ),
    Check(
        # three sub-topologies; a result that a later update has overtaken is not written
        "BY_NAME",
        "CREATE TABLE by_name AS SELECT l.k AS k, l.n AS n, p.name AS name FROM latest l"
        " JOIN people p ON l.who = p.k EMIT CHANGES;",
        lambda numbers: {k: [{"N": own[-1], "NAME": f"name of {k}"}] for k, own in _by_key(numbers).items()},
        is_last=True,
    ),
    Check(
        # a join of streams, and one with a table above it
        "NAMED_PAIRS",
        "CREATE STREAM named_pairs AS SELECT p.k AS k, AS_VALUE(e.n) AS n, p.name AS name FROM events e"
        " JOIN echoes a WITHIN 10 SECONDS GRACE PERIOD 1 HOUR ON e.n = a.n JOIN people p ON a.k = p.k"
        " EMIT CHANGES;",
        _named,
        is_ordered=False,
    ),
    Check(
        # each window once, when it has closed
        "FINALS",
        "CREATE TABLE finals AS SELECT k, AS_VALUE(k) AS name, WINDOWSTART AS begins, COUNT(*) AS c"
        " FROM events WINDOW TUMBLING (SIZE 1 SECOND, GRACE PERIOD 0 SECONDS) GROUP BY k EMIT FINAL;",
        lambda numbers: {None: [*_finals(numbers)]},
        is_ordered=False,
    ),
    Check(
        # two queries write one topic, in transactions of their own
        "MERGED",
        "CREATE STREAM merged AS SELECT k, n FROM events WHERE n % 2 = 0 EMIT CHANGES;"
        " INSERT INTO merged SELECT k, n FROM echoes WHERE n % 2 = 1 EMIT CHANGES;",
        _each,
        is_ordered=False,
    ),
    Check(
        "FIRST_ONES",
        "CREATE STREAM first_ones AS SELECT DISTINCT ON (k, n / 100) k, n FROM events WHERE k IS NOT NULL;",
        lambda numbers: {k: [{"N": n} for n in own if n % 100 < KEYS] for k, own in _by_key(numbers).items()},
    ),
    Check(
        "HIGHEST",
        "CREATE TABLE highest WITH (KEY_FORMAT = 'JSON') AS"
        " SELECT k, ROW_NUMBER() OVER (PARTITION BY k ORDER BY n DESC) AS place, n FROM events"
        " QUALIFY place <= 3;",
        lambda numbers: {
            _json_key(K=k, PLACE=place): [{"N": n}]
            for k, own in _by_key(numbers).items()
            for place, n in enumerate(reversed(own[-3:]), start=1)
        },
        is_last=True,
    ),
    Check(
        "STEPS",
        "CREATE STREAM steps AS SELECT k, n - LAG(n, 1, n) OVER (PARTITION BY k ORDER BY ROWTIME) AS step,"
        " SUM(n) OVER (PARTITION BY k ORDER BY ROWTIME ROWS 2 PRECEDING) AS total FROM events"
        " WHERE k IS NOT NULL;",
        lambda numbers: {
            k: [{"STEP": KEYS if i else 0, "TOTAL": sum(own[max(0, i - 2) : i + 1])} for i in range(len(own))]
            for k, own in _by_key(numbers).items()
        },
    ),
    Check(
        "MATCHES",
        "CREATE STREAM matches AS SELECT * FROM events MATCH_RECOGNIZE (PARTITION BY k ORDER BY ROWTIME"
        " MEASURES FIRST(a.n) AS n, COUNT(*) AS c AFTER MATCH SKIP PAST LAST ROW PATTERN (a b c)"
        f" WITHIN 1 HOUR DEFINE a AS n % {3 * KEYS} < {KEYS});",
        lambda numbers: {
            k: [{"N": own[i], "C": 3} for i in range(0, len(own) - 2, 3)]
            for k, own in _by_key(numbers).items()
        },
    ),
    Check(
        "ECHOED",
        "CREATE STREAM echoed AS SELECT k, n FROM events e WHERE EXISTS (SELECT 1 FROM echoes a"
        " WITHIN 10 SECONDS GRACE PERIOD 1 HOUR WHERE a.k = e.k AND a.n >= e.n);",
        _each,
        is_ordered=False,
    ),
    Check(
        # a new value of a key deletes the row of the old one
        "EITHER",
        "CREATE TABLE either WITH (KEY_FORMAT = 'JSON') AS"
        " SELECT k, n FROM latest UNION SELECT k, n % 2 AS n FROM latest;",
        lambda numbers: {
            _json_key(K=k, N=n): [{}] for k, own in _by_key(numbers).items() for n in (own[-1], own[-1] % 2)
        },
        is_last=True,
    ),
    Check(
        # the window that ends with each event
        "SLIDING",
        "CREATE TABLE sliding AS SELECT k, COUNT(*) AS c FROM events"
        " WINDOW SLIDING (SIZE 100 MILLISECONDS, GRACE PERIOD 1 HOUR) GROUP BY k EMIT CHANGES;",
        lambda numbers: {
            _window_key(key_of(n), n - 100): [{"C": 1 + 100 // KEYS}] for n in numbers if n >= 100
        },
        is_last=True,
    ),
    Check(
        "NAMED_AT_ONCE",
        "CREATE STREAM named_at_once AS SELECT e.k AS k, e.n AS n, p.name AS name FROM events e"
        " JOIN people FOR SYSTEM_TIME AS OF CURRENT_TIMESTAMP p ON e.k = p.k EMIT CHANGES;",
        _named,
    ),
    Check(
        "ALL_TOPICS",
        "CREATE STREAM both (k STRING KEY, n BIGINT)"
        " WITH (TOPIC_PATTERN = 'events|echoes', VALUE_FORMAT = 'JSON');"
        " CREATE STREAM all_topics AS SELECT k, n FROM both;",
        lambda numbers: {k: [{"N": n} for n in own for _ in range(2)] for k, own in _by_key(numbers).items()},
        is_ordered=False,
    ),
)
#: a few of them, for tests that must be fast: without state, with it, a join, and a query that reads another
FEW = tuple(check for check in CHECKS if check.topic in ("COPIES", "COUNTS", "NAMED", "CHAINED"))
