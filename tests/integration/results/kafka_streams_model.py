"""What Kafka Streams makes of topics, in plain Python: the truth that queries over a backlog are held to.

A *task* is one partition number of all topics that a query reads together. It takes their records in one
order: of the records at the head of its topics the one with the lowest time, each topic in the order of its
offsets. Where that order decides what comes out (a stream with a table, tables, sessions, late records), the
functions go through it one record at a time. Where it does not, they are definitions: every pair of records
that are near enough, every left row with the right row that it refers to.

Times are epoch milliseconds. No two records may have the same one, so that every order is determined.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

Changes = dict[Any, list[Any]]
"""Key -> the values that are written for it, in their order; None is a tombstone."""


class Event(NamedTuple):
    """One record of a source; ``value`` has one number or text for each column, None is a tombstone."""

    partition: int
    time: int
    key: str
    value: dict[str, Any] | None

    def get(self, column: str) -> Any:
        """A column of a record that has a value."""
        assert self.value is not None
        return self.value[column]


Topic = Sequence[Event]
"""Its records, each partition in the order of its offsets."""


def tasks(*topics: Topic) -> Iterator[list[tuple[int, Event]]]:
    """The records of each task as (number of the topic, record), in the order in which it takes them."""
    queues: dict[int, list[list[Event]]] = defaultdict(lambda: [[] for _ in topics])
    for number, topic in enumerate(topics):
        for event in topic:
            queues[event.partition][number].append(event)
    for partition in sorted(queues):
        yield list(_merged(queues[partition]))


def _merged(queues: Sequence[Sequence[Event]]) -> Iterator[tuple[int, Event]]:
    at = [0] * len(queues)
    while heads := [(q[at[n]].time, n) for n, q in enumerate(queues) if at[n] < len(q)]:
        _, number = min(heads)
        yield number, queues[number][at[number]]
        at[number] += 1


def stream_stream(left: Topic, right: Topic, within_ms: int, kind: str) -> list[tuple[Any, ...]]:
    """Rows (time, key, left's n, right's n) of a join with a grace period that no record is too late for.

    Args:
        kind: INNER, LEFT or FULL.
    """
    by_key: dict[str, list[Event]] = defaultdict(list)
    for event in right:
        by_key[event.key].append(event)
    rows: list[tuple[Any, ...]] = []
    met = set()
    for event in left:
        near = [other for other in by_key[event.key] if abs(other.time - event.time) <= within_ms]
        met |= {other.time for other in near}
        rows += [(max(event.time, o.time), event.key, event.get("n"), o.get("n")) for o in near]
        if not near and kind != "INNER":
            rows.append((event.time, event.key, event.get("n"), None))
    if kind == "FULL":
        rows += [(e.time, e.key, None, e.get("n")) for e in right if e.time not in met]
    return rows


def stream_table(stream: Topic, table: Topic, kind: str) -> list[tuple[Any, ...]]:
    """Rows (time, key, the stream's n, the n that the table's row had then).

    Args:
        kind: INNER or LEFT.
    """
    rows = []
    for task in tasks(table, stream):
        there: dict[str, Any] = {}
        for side, event in task:
            if side == 0:
                there[event.key] = event.value
                continue
            row = there.get(event.key)
            if row is not None or kind == "LEFT":
                rows.append((event.time, event.key, event.get("n"), row and row["n"]))
    return rows


def stream_stream_table(left: Topic, right: Topic, table: Topic, within_ms: int) -> list[tuple[Any, ...]]:
    """Rows (time, key, left's n, right's n, table's n): pairs, each with the table's row when they met."""
    rows = []
    for task in tasks(left, right, table):
        there: dict[str, Any] = {}
        buffers: list[dict[str, list[Event]]] = [defaultdict(list), defaultdict(list)]
        for side, event in task:
            if side == 2:
                there[event.key] = event.value
                continue
            for other in buffers[1 - side][event.key]:
                if abs(other.time - event.time) <= within_ms:
                    pair = (event, other) if side == 0 else (other, event)
                    row = there.get(event.key)
                    numbers = [one.get("n") for one in pair]
                    rows.append((max(event.time, other.time), event.key, *numbers, row and row["n"]))
            buffers[side][event.key].append(event)
    return rows


def first_rows(stream: Topic, within_ms: int) -> list[tuple[Any, ...]]:
    """Rows (time, key, n) that DISTINCT ON the key lets pass."""
    rows: list[tuple[Any, ...]] = []
    for task in tasks(stream):
        stream_time, first = 0, {}
        for _, event in task:
            stream_time = max(stream_time, event.time)
            if event.key not in first or first[event.key] + within_ms < stream_time:
                first[event.key] = event.time
                rows.append((event.time, event.key, event.get("n")))
    return rows


def table_table(left: Topic, right: Topic) -> Changes:
    """Key -> changes [left's n, right's n] of a FULL join."""
    changes: Changes = defaultdict(list)
    for task in tasks(left, right):
        there: list[dict[str, Any]] = [{}, {}]
        for side, event in task:
            had = any(table.get(event.key) is not None for table in there)
            there[side][event.key] = event.value
            rows = [table.get(event.key) for table in there]
            if any(row is not None for row in rows):
                changes[event.key].append([row and row["n"] for row in rows])
            elif had:
                changes[event.key].append(None)
    return changes


def last(table: Topic) -> dict[str, dict[str, Any]]:
    """The rows of a table in the end."""
    rows: dict[str, dict[str, Any]] = {}
    for event in table:
        if event.value is None:
            rows.pop(event.key, None)
        else:
            rows[event.key] = event.value
    return rows


def tumbling(stream: Topic, by: str | None, size_ms: int, grace_ms: int) -> Changes:
    """(group, start) -> changes [count, sum of n]; windows close by the stream time of each partition.

    Args:
        by: the column to group by; None for the key.
    """
    changes: Changes = defaultdict(list)
    for task in tasks(stream):
        windows: dict[tuple[Any, int], list[int]] = {}
        stream_time = 0
        for _, event in task:
            stream_time = max(stream_time, event.time)
            start = event.time // size_ms * size_ms
            if start + size_ms + grace_ms <= stream_time:
                continue
            window = (event.key if by is None else event.get(by), start)
            count, total = windows.get(window, (0, 0))
            windows[window] = [count + 1, total + event.get("n")]
            changes[window].append(windows[window])
    return changes


def unordered_tumbling(stream: Topic, by: str, size_ms: int) -> Changes:
    """(group, start) -> [[count, sum of n]] in the end, if no record is too late."""
    in_order = [event._replace(partition=0) for event in sorted(stream, key=lambda e: e.time)]
    changes = tumbling(in_order, by, size_ms, grace_ms=0)
    return {window: values[-1:] for window, values in changes.items()}


def sessions(stream: Topic, by: str | None, gap_ms: int, grace_ms: int) -> Changes:
    """(group, start, end) -> changes [count]; as tumbling() otherwise."""
    changes: Changes = defaultdict(list)
    for task in tasks(stream):
        there: dict[Any, list[tuple[int, int, int]]] = defaultdict(list)
        stream_time = 0
        for _, event in task:
            stream_time = max(stream_time, event.time)
            group = event.key if by is None else event.get(by)
            merged = [s for s in there[group] if s[0] - gap_ms <= event.time <= s[1] + gap_ms]
            start = min([event.time, *(s[0] for s in merged)])
            end = max([event.time, *(s[1] for s in merged)])
            closed = stream_time - gap_ms - grace_ms
            if end < closed:
                continue
            # a closed session may or may not still be there to be merged: the events must not ask
            assert all(s[1] >= closed for s in merged)
            for old in merged:
                if old[:2] != (start, end):
                    changes[group, *old[:2]].append(None)
            count = 1 + sum(s[2] for s in merged)
            there[group] = [s for s in there[group] if s not in merged] + [(start, end, count)]
            changes[group, start, end].append([count])
    return changes


def unordered_sessions(stream: Topic, by: str, gap_ms: int) -> Changes:
    """(group, start, end) -> [[count]] in the end, if no record is too late."""
    in_order = [event._replace(partition=0) for event in sorted(stream, key=lambda e: e.time)]
    return folded(sessions(in_order, by, gap_ms, grace_ms=0))


def ends_first(changes: Changes) -> Changes:
    """The keys of sessions as records have them: the end before the start."""
    return {(group, end, start): values for (group, start, end), values in changes.items()}


def folded(changes: Changes) -> Changes:
    """Only what there is in the end."""
    return {key: values[-1:] for key, values in changes.items() if values[-1] is not None}


def covered(topics: Iterable[Topic], partitions: int) -> bool:
    """Every partition of every topic has records."""
    return all({event.partition for event in topic} == set(range(partitions)) for topic in topics)
