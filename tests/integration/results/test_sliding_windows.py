"""WINDOW SLIDING gives what its definition says, computed by brute force, for generated inputs.

The inputs are in one topic, told apart by their number, which is part of each key. Their times come in every
order, late, too late, equal, and near 1970, before which no window begins. The queries are stopped in
the middle.
"""

from __future__ import annotations

import json
import random
from collections import defaultdict
from typing import Any

import pytest

from ksql_spark.engine import Engine, Request
from ksql_spark.kafka.consumer import Record
from ksql_spark.kafka.producer import RecordProducer
from ksql_spark.runtime.reading.view import split_key
from tests.integration.results.comparing import BEGAN_MS, PROPERTIES, Sink, wait_until_all_is_read
from tests.integration.results.partitions import PARTITIONS

pytestmark = [pytest.mark.kafka, pytest.mark.long]

INPUTS = 200
SIZE_MS = 20
#: how much later than a row with a later time a row may come
LATE_MS = 60
#: the last records of a topic, with a later time, reach every partition
LAST_KEYS = 100
HOUR_MS = 3_600_000
#: grace period and EMIT
QUERIES = {
    "sliding_long": (1_000, "CHANGES"),
    "sliding_short": (15, "CHANGES"),
    "sliding_none": (0, "CHANGES"),
    "sliding_final": (15, "FINAL"),
    "sliding_final_none": (0, "FINAL"),
}

Row = tuple[str | None, int | None, int]
#: key and start of a window -> count, sum and minimum of its values
Results = dict[tuple[str, int], tuple[int, int, int | None]]


def generated(partitions: int) -> list[Row]:
    """Key, value and time of each record, in the order in which they are written."""
    rng = random.Random(partitions)
    began = 0 if partitions == 4 else BEGAN_MS
    rows: list[Row] = []
    for seed in range(INPUTS):
        start = began + 5 * seed
        for _ in range(rng.randrange(1, 14)):
            time_ms = start + rng.choice((rng.randrange(60), rng.randrange(30), SIZE_MS, 2 * SIZE_MS + 1))
            key = rng.choice((f"{seed}-0", f"{seed}-0", f"{seed}-0", f"{seed}-1", None))
            rows.append((key, rng.choice((None, 1, 2, 4)), time_ms))
    return sorted(rows, key=lambda row: row[2] + rng.randrange(LATE_MS))


def starts_of(times: set[int]) -> set[int]:
    """The starts of the windows that records with these times make."""
    ending = {max(0, time - SIZE_MS) for time in times}
    followed = {time + 1 for time in times if any(time < later <= time + 1 + SIZE_MS for later in times)}
    return ending | followed


def by_definition(records: list[Record], grace_ms: int) -> Results:
    """What each window was when it was last shown; stream time is that of a partition."""
    results: Results = {}
    now: dict[int, int] = defaultdict(int)
    taken: dict[str, list[tuple[int, int | None]]] = defaultdict(list)
    for record in records:
        if record.key is None or record.value is None:
            continue
        time_ms, key = record.timestamp_ms, record.key.decode()
        now[record.partition] = max(now[record.partition], time_ms)
        is_closed_before = now[record.partition] - grace_ms
        if time_ms + 1 + SIZE_MS < is_closed_before:
            continue
        known = starts_of({time for time, _ in taken[key]})
        taken[key].append((time_ms, json.loads(record.value)["v"]))
        for start in starts_of({time for time, _ in taken[key]}):
            end = start + SIZE_MS
            if end >= is_closed_before and (start <= time_ms <= end or start not in known):
                inside = [v for time, v in taken[key] if start <= time <= end]
                values = [v for v in inside if v is not None]
                results[key, start] = len(inside), sum(values), min(values, default=None)
    return {(key, start): found for (key, start), found in results.items() if not key.startswith("last-")}


def of_query(servers: str, topic: str, window: Any) -> Results:
    sink = Sink(servers, topic)
    sink.close()
    results: Results = {}
    for record in {record.key: record for record in sink.records}.values():
        assert record.key is not None and record.value is not None
        value = json.loads(record.value)
        key, start, end = split_key(record.key, window)
        assert [start, end] == [value["WS"], value["WE"]] and end == start + SIZE_MS
        if not key.startswith(b"last-"):
            results[key.decode(), start] = value["N"], value["S"], value["M"]
    return results


@pytest.mark.parametrize("partitions", PARTITIONS)
def test_sliding_windows_are_those_of_their_definition(engine: Engine, partitions: int) -> None:
    x, rows, admin = f"_sliding_{partitions}", generated(partitions), engine.services.admin
    admin.create_topic(f"s{x}", partitions, config={"retention.ms": "-1"})
    last: list[Row] = [(f"last-{i}", 0, BEGAN_MS + HOUR_MS) for i in range(LAST_KEYS)]

    def write(part: list[Row]) -> None:
        producer = RecordProducer(admin.servers, linger_ms=5)
        for key, v, time_ms in part:
            body = json.dumps({"v": v}).encode()
            producer.send_async(f"s{x}", None if key is None else key.encode(), body, time_ms)
        producer.close()

    write(rows[: len(rows) // 2])
    columns = "k STRING KEY, v INT"
    engine.execute(
        Request(f"CREATE STREAM s{x} ({columns}) WITH (KAFKA_TOPIC = 's{x}', VALUE_FORMAT = 'JSON');")
    )
    for name, (grace_ms, emit) in QUERIES.items():
        window = f"SLIDING (SIZE {SIZE_MS} MILLISECONDS, GRACE PERIOD {grace_ms} MILLISECONDS)"
        engine.execute(
            Request(
                f"CREATE TABLE {name}{x} WITH (KAFKA_TOPIC = '{name}{x}') AS SELECT k, COUNT(*) AS n,"
                " SUM(v) AS s, MIN(v) AS m, WINDOWSTART AS ws, WINDOWEND AS we"
                f" FROM s{x} WINDOW {window} GROUP BY k EMIT {emit};",
                PROPERTIES,
            )
        )
    for name in QUERIES:
        wait_until_all_is_read(engine, f"{name}{x}")
    engine.execute(Request("PAUSE ALL;"))
    write([*rows[len(rows) // 2 :], *last])
    engine.execute(Request("RESUME ALL;"))
    for name in QUERIES:
        wait_until_all_is_read(engine, f"{name}{x}")
    windows = {q.plan.sink.topic: q.plan.sink.window for q in engine.services.queries.all()}
    engine.execute(Request("".join(f"DROP TABLE {name}{x};" for name in QUERIES)))
    source = Sink(admin.servers, f"s{x}")
    source.close()
    for name, (grace_ms, _) in QUERIES.items():
        found, wanted = (
            of_query(admin.servers, f"{name}{x}", windows[f"{name}{x}"]),
            by_definition(source.records, grace_ms),
        )
        assert len(wanted) > INPUTS and found == wanted, name
