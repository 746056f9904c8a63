"""Windows by the calendar and the clock of a zone are those of DuckDB, for generated inputs.

The inputs are in one topic, told apart by their number, which is part of each key. Their times are near the
nights in which clocks change, and in which months and years do; they come late, in every order, and some are
equal. DuckDB has its own data about time zones.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any

import duckdb
import pytest

from ksql_spark.engine import Engine, Request
from ksql_spark.kafka.producer import RecordProducer
from ksql_spark.runtime.reading.view import split_key
from tests.integration.results.comparing import PROPERTIES, Sink, same_rows, wait_until_all_is_read
from tests.integration.results.partitions import PARTITIONS

pytestmark = [pytest.mark.kafka, pytest.mark.long]

INPUTS = 200
HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS
#: how much later than a row with a later time a row may come
LATE_MS = 2 * DAY_MS
#: the last records of a topic, with a later time, reach every partition
LAST_KEYS = 100
#: the nights in 2026 in which clocks change in St. John's, Berlin and on Lord Howe Island; others
NIGHTS = (
    "2026-01-01T00:00", "2026-03-08T04:30", "2026-03-29T01:00", "2026-04-04T15:00", "2026-06-30T18:15",
    "2026-10-03T15:30", "2026-10-25T01:00", "2026-11-01T04:30", "2026-12-31T12:00",
)  # fmt: skip
#: the bounds of each record's windows in DuckDB; t is its time, of a clock where there is a zone
TUMBLING = "timezone('{zone}', date_trunc('{unit}', t - {offset}) + {offset}{more})"
BOUNDS = f"""
SELECT k, v, epoch_ms(starts) AS ws, epoch_ms(ends) AS we FROM (
  SELECT *, {TUMBLING.replace("{more}", "")} AS starts,
    {TUMBLING.replace("{more}", " + INTERVAL 1 {unit}")} AS ends
  FROM (SELECT *, timezone('{{zone}}', ts) AS t FROM s WHERE k IS NOT NULL AND v IS NOT NULL))
"""
GROWING = """
SELECT k, v, ws, least(we, ws + i * {step}) AS we FROM ({bounds}) JOIN range(1, 32) AS r(i)
  ON ws + (i - 1) * {step} < we AND ws + i * {step} > ts
"""
NO_OFFSET = "INTERVAL 0 HOUR"
#: the window, and DuckDB's zone, unit, offset and step (ms)
WINDOWS: dict[str, tuple[str, str, str, str, int]] = {
    "berlin": ("TUMBLING (SIZE 1 DAY, TIME ZONE 'Europe/Berlin', {more})",
               "Europe/Berlin", "DAY", NO_OFFSET, 0),
    "from_six": ("TUMBLING (SIZE 1 DAY, TIME ZONE 'Europe/Berlin', OFFSET 6 HOURS, {more})",
                 "Europe/Berlin", "DAY", "INTERVAL 6 HOUR", 0),
    "lord_howe": ("TUMBLING (SIZE 1 DAY, TIME ZONE 'Australia/Lord_Howe', {more})",
                  "Australia/Lord_Howe", "DAY", NO_OFFSET, 0),
    "st_johns": ("TUMBLING (SIZE 1 WEEK, TIME ZONE 'America/St_Johns', {more})",
                 "America/St_Johns", "WEEK", NO_OFFSET, 0),
    "kathmandu": ("TUMBLING (SIZE 1 MONTH, TIME ZONE 'Asia/Kathmandu', {more})",
                  "Asia/Kathmandu", "MONTH", NO_OFFSET, 0),
    "fiscal": ("TUMBLING (SIZE 1 YEAR, TIME ZONE 'Europe/Berlin', OFFSET 3 MONTHS, {more})",
               "Europe/Berlin", "YEAR", "INTERVAL 3 MONTH", 0),
    "no_zone": ("TUMBLING (SIZE 1 DAY, OFFSET 6 HOURS, {more})", "UTC", "DAY", "INTERVAL 6 HOUR", 0),
    "growing": ("CUMULATIVE (SIZE 1 DAY, STEP 1 HOUR, TIME ZONE 'Australia/Lord_Howe', {more})",
                "Australia/Lord_Howe", "DAY", NO_OFFSET, HOUR_MS),
}  # fmt: skip

#: key, v and time
Row = tuple[str | None, int | None, int]


def generated(partitions: int) -> list[Row]:
    """Rows in the order in which they are written."""
    rng = random.Random(partitions)
    rows: list[Row] = []
    for seed in range(INPUTS):
        night = datetime.fromisoformat(rng.choice(NIGHTS)).replace(tzinfo=UTC)
        times = [round((night + timedelta(hours=rng.uniform(-40, 40))).timestamp() * 1000) for _ in range(9)]
        near = round(night.timestamp() * 1000) + rng.choice((-DAY_MS, -HOUR_MS, 0, HOUR_MS, DAY_MS))
        times += [near, near, near - 1]  # bounds, and what is just before them
        for time_ms in rng.sample(times, rng.randrange(1, len(times))):
            key = rng.choice((f"{seed}-0", f"{seed}-0", f"{seed}-1", None))
            rows.append((key, rng.choice((None, 1, 2, 4)), time_ms))
    return sorted(rows, key=lambda row: row[2] + rng.randrange(LATE_MS))


def of_duckdb(rows: list[Row], window: tuple[str, str, str, str, int]) -> Counter[tuple[Any, ...]]:
    """Key, start and end of each window, number and sum of its values."""
    base = duckdb.connect()
    base.execute("CREATE TABLE given (k TEXT, v INT, ts BIGINT)")
    base.executemany("INSERT INTO given VALUES (?, ?, ?)", rows)
    base.execute("CREATE VIEW s AS SELECT k, v, ts AS ms, make_timestamptz(ts * 1000) AS ts FROM given")
    _, zone, unit, offset, step = window
    bounds = BOUNDS.format(zone=zone, unit=unit, offset=offset)
    if step:
        bounds = GROWING.format(bounds=bounds.replace("SELECT k, v,", "SELECT k, v, ms AS ts,", 1), step=step)
    return Counter(
        base.execute(f"SELECT k, ws, we, COUNT(*), SUM(v)::INT FROM ({bounds}) GROUP BY ALL").fetchall()
    )


@pytest.mark.parametrize("partitions", PARTITIONS)
def test_windows_are_those_of_duckdb(engine: Engine, partitions: int) -> None:
    x, rows, admin = f"_calendar_{partitions}", generated(partitions), engine.services.admin
    admin.create_topic(f"s{x}", partitions, config={"retention.ms": "-1"})
    producer = RecordProducer(admin.servers, linger_ms=5)
    last_ms = max(row[2] for row in rows) + 800 * DAY_MS
    for key, v, time_ms in (*rows, *((f"last-{i}", 0, last_ms) for i in range(LAST_KEYS))):
        body = json.dumps({"v": v}).encode()
        producer.send_async(f"s{x}", None if key is None else key.encode(), body, time_ms)
    producer.close()
    engine.execute(
        Request(
            f"CREATE STREAM s{x} (k STRING KEY, v INT) WITH (KAFKA_TOPIC = 's{x}', VALUE_FORMAT = 'JSON');"
        )
    )
    more = "RETENTION 2000 DAYS, GRACE PERIOD 4 DAYS"
    for name, (window, *_) in WINDOWS.items():
        emit = "FINAL" if name in ("berlin", "st_johns", "growing") else "CHANGES"
        engine.execute(
            Request(
                f"CREATE TABLE {name}{x} WITH (KAFKA_TOPIC = '{name}{x}') AS"
                f" SELECT k, COUNT(*) AS n, SUM(v) AS s, WINDOWSTART AS ws, WINDOWEND AS we FROM s{x}"
                f" WINDOW {window.format(more=more)} WHERE v IS NOT NULL GROUP BY k EMIT {emit};",
                PROPERTIES,
            )
        )
    for name in WINDOWS:
        wait_until_all_is_read(engine, f"{name}{x}")
    windows = {q.plan.sink.topic: q.plan.sink.window for q in engine.services.queries.all()}
    engine.execute(Request("".join(f"DROP TABLE {name}{x};" for name in WINDOWS)))
    for name, window in WINDOWS.items():
        sink = Sink(admin.servers, f"{name}{x}")
        sink.close()
        found: Counter[tuple[Any, ...]] = Counter()
        for record in {record.key: record for record in sink.records}.values():
            assert record.key is not None and record.value is not None
            value = json.loads(record.value)
            key, *bounds = split_key(record.key, windows[f"{name}{x}"])
            assert bounds == [value["WS"], value["WE"]]
            if not key.startswith(b"last-"):
                found[key.decode(), *bounds, value["N"], value["S"]] += 1
        same_rows(found, of_duckdb(rows, window))
