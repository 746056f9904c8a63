"""DISTINCT ON, QUALIFY and OVER give what window functions of SQLite and DuckDB give, for generated inputs.

The inputs are in one topic, told apart by the column ``seed``, which is part of the key. They have NULLs in
every place. The records of 4 partitions have different times, so their order is determined there too.
"""

from __future__ import annotations

import json
import random
import sqlite3
from collections import Counter
from typing import Any

import duckdb
import pytest

from ksql_spark.engine import Engine, Request
from ksql_spark.kafka.producer import RecordProducer
from ksql_spark.metastore.sources import STREAM, TABLE
from tests.integration.results.comparing import (
    BEGAN_MS,
    PROPERTIES,
    Sink,
    same_rows,
    wait_until_all_is_read,
)
from tests.integration.results.partitions import PARTITIONS

pytestmark = pytest.mark.kafka

INPUTS = 200
FORMS = {
    "distinct_on": "SELECT DISTINCT ON (seed, a, b) k, seed, a, b, n FROM {topic}",
    "qualify": "SELECT k, seed, a, b, n FROM {topic} QUALIFY"
    " ROW_NUMBER() OVER (PARTITION BY seed, a, b ORDER BY ROWTIME) = 1",
}

Row = tuple[int, int | None, str | None, int]


def generated(partitions: int) -> list[Row]:
    rng = random.Random(partitions)
    pairs = (
        (seed, rng.choice((None, 0, 1, 2)), rng.choice((None, "", "x")))
        for seed in range(INPUTS)
        for _ in range(rng.randrange(1, 40))
    )
    return [(*pair, n) for n, pair in enumerate(pairs)]


def of_sqlite(rows: list[Row], select: str) -> list[tuple[Any, ...]]:
    """What a SELECT over the table s gives in SQLite."""
    base = sqlite3.connect(":memory:")
    base.execute("CREATE TABLE s (seed, a, b, n)")
    base.executemany("INSERT INTO s VALUES (?, ?, ?, ?)", rows)
    return base.execute(select).fetchall()


def of_the_query(
    engine: Engine,
    name: str,
    partitions: int,
    rows: list[Row],
    select: str,
    kind: str = STREAM,
) -> Any:
    """The values that a SELECT over the stream ``name`` writes, each with its number.

    Of a table, those with which it ends.
    """
    rng = random.Random(partitions)
    records = [
        (str(rng.randrange(100)), {"seed": seed, "a": a, "b": b, "n": n}, BEGAN_MS + n)
        for seed, a, b, n in rows
    ]
    return of_records(engine, name, partitions, records, STREAM, select, kind)


def of_records(
    engine: Engine,
    name: str,
    partitions: int,
    records: list[tuple[str, dict[str, Any] | None, int]],
    source: str,
    select: str,
    kind: str,
) -> Any:
    """As of_the_query, of records with keys and times; ``source``: a stream or a table has them."""
    admin = engine.services.admin
    admin.create_topic(name, partitions, config={"retention.ms": "-1"})
    producer = RecordProducer(admin.servers, linger_ms=5)
    for key, row, time_ms in records:
        producer.send_async(name, key.encode(), None if row is None else json.dumps(row).encode(), time_ms)
    producer.close()
    role = "KEY" if source == STREAM else "PRIMARY KEY"
    engine.execute(
        Request(
            f"CREATE {source} {name} (k STRING {role}, seed INT, a INT, b STRING, n INT)"
            f" WITH (KAFKA_TOPIC = '{name}', VALUE_FORMAT = 'JSON');"
        )
    )
    try:
        properties = f"KAFKA_TOPIC = 'sink_{name}'" + (", KEY_FORMAT = 'JSON'" if kind == TABLE else "")
        start = f"CREATE {kind} sink_{name} WITH ({properties}) AS {select};"
        engine.execute(Request(start, PROPERTIES))
        wait_until_all_is_read(engine, f"sink_{name}")
        engine.execute(Request(f"DROP {kind} sink_{name};"))
        sink = Sink(admin.servers, f"sink_{name}")
        sink.close()
    finally:
        engine.execute(Request(f"DROP {kind} IF EXISTS sink_{name}; DROP {source} {name};"))
        admin.delete_topics([name, f"sink_{name}"])
    written = sink.records
    if kind == TABLE:
        written = list({record.key: record for record in written}.values())
    return Counter(tuple(json.loads(record.value).values()) for record in written if record.value is not None)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("partitions", [pytest.param(1, marks=pytest.mark.long), 4])
def test_the_first_rows_are_those_of_sqlite(engine: Engine, partitions: int, form: str) -> None:
    name, rows = f"once_{form}_{partitions}", generated(partitions)
    number = "ROW_NUMBER() OVER (PARTITION BY seed, a, b ORDER BY n)"
    select = f"SELECT seed, a, b, n FROM (SELECT *, {number} AS i FROM s) WHERE i = 1"
    expected = of_sqlite(rows, select)
    ours = FORMS[form].format(topic=name)
    same_rows(of_the_query(engine, name, partitions, rows, ours), Counter(expected))


@pytest.mark.parametrize("partitions", [pytest.param(1, marks=pytest.mark.long), 4])
def test_top_n_ends_with_the_rows_of_sqlite(engine: Engine, partitions: int) -> None:
    name, rows = f"top_n_{partitions}", generated(partitions)
    over = "ROW_NUMBER() OVER (PARTITION BY seed, b ORDER BY a DESC NULLS LAST, n)"
    ranked = f"SELECT *, {over} AS i FROM s WHERE b IS NOT NULL"
    expected = of_sqlite(rows, f"SELECT seed, b, i, a, n FROM ({ranked}) WHERE i <= 3")
    ours = f"""SELECT seed, b, {over} AS i, AS_VALUE(seed), AS_VALUE(b), AS_VALUE({over}), a, n
        FROM {name} QUALIFY i <= 3"""
    same_rows(of_the_query(engine, name, partitions, rows, ours, TABLE), Counter(expected))


@pytest.mark.parametrize("partitions", [pytest.param(1, marks=pytest.mark.long), 4])
def test_ranks_are_those_of_sqlite(engine: Engine, partitions: int) -> None:
    name, rows = f"ranks_{partitions}", generated(partitions)
    over = "OVER (PARTITION BY seed, b ORDER BY a DESC NULLS LAST)"
    ranked = f"SELECT *, RANK() {over} AS r, DENSE_RANK() {over} AS d FROM s WHERE b IS NOT NULL"
    expected = of_sqlite(rows, f"SELECT seed, b, r, d, a, n FROM ({ranked}) WHERE r <= 4")
    ours = f"""SELECT seed, b, ROW_NUMBER() {over} AS i, AS_VALUE(seed), AS_VALUE(b), RANK() {over} AS r,
        DENSE_RANK() {over}, a, n FROM {name} QUALIFY r <= 4"""
    same_rows(of_the_query(engine, name, partitions, rows, ours, TABLE), Counter(expected))


@pytest.mark.parametrize("partitions", [pytest.param(1, marks=pytest.mark.long), 4])
def test_top_n_of_a_table_undoes_updates_and_deletions(engine: Engine, partitions: int) -> None:
    name, rng = f"top_of_table_{partitions}", random.Random(partitions)
    records: list[tuple[str, dict[str, Any] | None, int]] = []
    for seed, a, b, n in generated(partitions):
        row = None if rng.random() < 0.2 else {"seed": seed, "a": a, "b": b, "n": n}
        records.append((f"{seed}-{rng.randrange(8)}", row, BEGAN_MS + n))
    left = {key: row for key, row, _ in records}
    rows = [(row["seed"], row["a"], row["b"], row["n"]) for row in left.values() if row is not None]
    over = "OVER (PARTITION BY seed, b ORDER BY a DESC NULLS LAST)"
    ranked = f"SELECT *, RANK() {over} AS r, DENSE_RANK() {over} AS d FROM s WHERE b IS NOT NULL"
    expected = of_sqlite(rows, f"SELECT seed, b, r, d, a, n FROM ({ranked}) WHERE d <= 2")
    ours = f"""SELECT seed, b, ROW_NUMBER() {over} AS i, AS_VALUE(seed), AS_VALUE(b), RANK() {over},
        DENSE_RANK() {over} AS d, a, n FROM {name} QUALIFY d <= 2"""
    same_rows(of_records(engine, name, partitions, records, TABLE, ours, TABLE), Counter(expected))


@pytest.mark.parametrize("partitions", [pytest.param(1, marks=pytest.mark.long), 4])
def test_rows_with_aggregates_of_frames_are_those_of_sqlite(engine: Engine, partitions: int) -> None:
    name, rows = f"frames_{partitions}", generated(partitions)
    over = "OVER (PARTITION BY seed, b {order}"
    # no MIN or MAX with FILTER in a frame that moves: SQLite forgets the FILTER there
    calls = f"""n, LAG(a, 2, -1) {over}), FIRST_VALUE(a) {over}), COUNT(*) {over}),
        SUM(n) {over} ROWS 2 PRECEDING), MIN(a) {over} ROWS UNBOUNDED PRECEDING),
        COUNT(a) {over} ROWS BETWEEN 2 PRECEDING AND CURRENT ROW),
        COALESCE(AVG(a) {over} ROWS BETWEEN 3 PRECEDING AND 1 PRECEDING), 0.0),
        COUNT(*) FILTER (WHERE a > 0 OR b IS NULL) {over}),
        COALESCE(SUM(n) FILTER (WHERE a > 0) {over}), 0),
        COALESCE(SUM(n) FILTER (WHERE a IS NULL) {over} ROWS 3 PRECEDING), 0),
        LAST_VALUE(a) {over} ROWS BETWEEN 3 PRECEDING AND 1 PRECEDING), NTH_VALUE(a, 3) {over}),
        NTH_VALUE(n, 2) {over} ROWS BETWEEN 4 PRECEDING AND 1 PRECEDING)"""
    expected = of_sqlite(rows, f"SELECT {calls.format(order='ORDER BY n')} FROM s")
    ours = f"SELECT k, {calls.format(order='ORDER BY ROWTIME')} FROM {name}"
    same_rows(of_the_query(engine, name, partitions, rows, ours), Counter(expected))


GROUPINGS = {
    "rollup": ("seed, ROLLUP (a, b)", ["seed a b", "seed a", "seed"]),
    "cube": ("seed, CUBE (a, b)", ["seed a b", "seed a", "seed b", "seed"]),
    "sets": ("GROUPING SETS ((seed, a), (b, seed), seed, ())", ["seed a", "seed b", "seed", ""]),
}


@pytest.mark.parametrize(
    ("form", "partitions"),
    [
        pytest.param("rollup", 1, marks=pytest.mark.long),
        pytest.param("cube", 4, marks=pytest.mark.long),
        ("sets", 4),
    ],
)
def test_grouping_sets_are_those_of_a_select_for_each_in_sqlite(
    engine: Engine, partitions: int, form: str
) -> None:
    """Rows in which a column of the set is NULL belong to none of its groups."""
    name, rows = f"{form}_{partitions}", generated(partitions)
    group_by, sets = GROUPINGS[form]
    expected: list[tuple[Any, ...]] = []
    for columns in (one.split() for one in sets):
        level = sum(bit for column, bit in (("seed", 4), ("a", 2), ("b", 1)) if column not in columns)
        keys = ", ".join(column if column in columns else "NULL" for column in ("seed", "a", "b"))
        where = " AND ".join(["TRUE", *(f"{column} IS NOT NULL" for column in columns)])
        by = f"GROUP BY {', '.join(columns)}" if columns else ""
        calls = f"{level}, {level >> 1 & 1}, COUNT(*), SUM(n), COUNT(a), MAX(n) FILTER (WHERE b = 'x')"
        expected += of_sqlite(rows, f"SELECT {keys}, {calls} FROM s WHERE {where} {by} HAVING COUNT(*) > 1")
    ours = f"""SELECT seed, a, b, GROUPING(seed, a, b) AS level, AS_VALUE(seed), AS_VALUE(a), AS_VALUE(b),
        AS_VALUE(GROUPING(seed, a, b)), GROUPING(a), COUNT(*), SUM(n), COUNT(a), MAX(n) FILTER (WHERE b = 'x')
        FROM {name} GROUP BY {group_by} HAVING COUNT(*) > 1"""
    same_rows(of_the_query(engine, name, partitions, rows, ours, TABLE), Counter(expected))


@pytest.mark.parametrize("partitions", [pytest.param(1, marks=pytest.mark.long), 4])
def test_frames_of_time_are_those_of_sqlite(engine: Engine, partitions: int) -> None:
    """In one partition also of equal times and late rows, for which older rows are gone."""
    name, rng, time_ms = f"ranges_{partitions}", random.Random(partitions), 0
    rows: list[tuple[Any, ...]] = []
    for row in generated(partitions):
        time_ms += rng.randrange(8) if partitions == 1 else 1 + rng.randrange(8)
        late = rng.choice((0, 0, 0, 30, 70)) if partitions == 1 else 0
        rows.append((*row, BEGAN_MS + max(0, time_ms - late)))
    base = sqlite3.connect(":memory:")
    base.execute("CREATE TABLE s (seed, a, b, n, t)")
    base.executemany("INSERT INTO s VALUES (?, ?, ?, ?, ?)", rows)
    base.execute("CREATE TABLE x AS SELECT *, MAX(t) OVER (PARTITION BY seed, b ORDER BY n) AS latest FROM s")
    base.execute("CREATE INDEX i ON s (seed, n)")

    def frame(call: str, range_ms: int) -> str:
        of_group = "y.seed = x.seed AND y.b IS x.b AND y.n <= x.n"
        is_in = f"(y.n = x.n OR y.t BETWEEN x.latest - {range_ms} AND x.t)"
        return f"(SELECT {call} FROM s y WHERE {of_group} AND {is_in})"

    calls = [("COUNT(*)", 50), ("COALESCE(SUM(y.n), 0)", 50), ("MIN(y.a)", 20), ("COUNT(y.a)", 0)]
    expected = base.execute(f"SELECT n, {', '.join(frame(*call) for call in calls)} FROM x").fetchall()
    over = "OVER (PARTITION BY seed, b ORDER BY ROWTIME RANGE INTERVAL {} MILLISECONDS PRECEDING)"
    ours = f"""SELECT k, n, COUNT(*) {over.format(50)}, SUM(n) {over.format(50)}, MIN(a) {over.format(20)},
        COUNT(a) {over.format(0)} FROM {name}"""
    records = [
        (str(rng.randrange(100)), {"seed": seed, "a": a, "b": b, "n": n}, t) for seed, a, b, n, t in rows
    ]
    found = of_records(engine, name, partitions, records, STREAM, ours, STREAM)
    same_rows(found, Counter(expected))


@pytest.mark.parametrize("partitions", PARTITIONS)
def test_rows_with_those_after_them_are_those_of_duckdb(engine: Engine, partitions: int) -> None:
    """Those that have as many rows after them as LEAD asks for: the others wait."""
    name, rows = f"leads_{partitions}", generated(partitions)
    over = "OVER (PARTITION BY seed, b ORDER BY {order}"
    calls = f"""n, LEAD(a) {over}), LEAD(n, 2, -1) {over}), LEAD(b, 3) {over}), LEAD(a, 0) {over}),
        LAG(n) {over}), COUNT(*) {over}), COALESCE(SUM(n) {over} ROWS 2 PRECEDING), 0)"""
    left = f"COUNT(*) {over} ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING)"
    base = duckdb.connect()
    base.execute("CREATE TABLE s (seed INT, a INT, b VARCHAR, n INT)")
    base.executemany("INSERT INTO s VALUES (?, ?, ?, ?)", rows)
    select = f"SELECT {calls} FROM s QUALIFY {left} >= 3".format(order="n")
    expected = base.execute(select).fetchall()
    ours = f"SELECT k, {calls} FROM {name}".format(order="ROWTIME")
    same_rows(of_the_query(engine, name, partitions, rows, ours), Counter(expected))


def test_groups_end_where_no_row_came_for_so_long(engine: Engine) -> None:
    """With equal times and late rows; the last row ends all groups."""
    name, rng, within_ms, time_ms = "ending_groups", random.Random(1), 50, BEGAN_MS
    timed = []
    for row in generated(1):
        time_ms += rng.randrange(8)
        timed.append((*row, time_ms - rng.choice((0, 0, 0, 30, 70))))
    timed.append((-1, None, None, len(timed), time_ms + 1000))
    found: list[tuple[Any, ...]] = []
    groups: dict[Any, list[tuple[Any, ...]]] = {}
    stream_time = 0

    def end(group: list[tuple[Any, ...]]) -> None:
        for i, row in enumerate(group):
            ahead = [
                group[i + j][1] if i + j < len(group) else default for j, default in ((1, None), (3, -1))
            ]
            found.append((row[3], *ahead, group[i - 1][3] if i else None, i + 1))

    for row in timed:
        stream_time = max(stream_time, row[4])
        for key in [k for k, group in groups.items() if max(r[4] for r in group) < stream_time - within_ms]:
            end(groups.pop(key))
        groups.setdefault((row[0] // 4, row[2]), []).append(row)
    waits = [row[3] for row in timed if row[0] == -1]
    over = "OVER (PARTITION BY g, b ORDER BY ROWTIME)"
    ours = f"""SELECT k, n, LEAD(a) {over}, LEAD(a, 3, -1) {over}, LAG(n) {over}, COUNT(*) {over}
        FROM (SELECT k, seed / 4 AS g, a, b, n FROM {name}) s WITHIN 50 MILLISECONDS"""
    records = [
        (str(rng.randrange(100)), {"seed": seed, "a": a, "b": b, "n": n}, t) for seed, a, b, n, t in timed
    ]
    for key in list(groups):
        end(groups.pop(key))
    expected = Counter(row for row in found if row[0] not in waits)
    same_rows(of_records(engine, name, 1, records, STREAM, ours, STREAM), expected)
