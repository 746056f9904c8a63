"""Pull queries give what DuckDB gives for the same rows: random SELECTs over all types, NULLs and duplicates.

``SELECTS=1000`` tries that many in place of a few; ``SEED=7`` begins with that seed.
"""

from __future__ import annotations

import datetime
import itertools
import json
import math
import os
import random
import struct
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import duckdb
import pytest
from pyspark.sql import SparkSession

from ksql_spark.expressions import Literal
from ksql_spark.metastore.store import MetaStore
from ksql_spark.plan.queries import Job, Lookup
from ksql_spark.plan.trees import relations
from ksql_spark.runtime.reading.stored_row import StoredRow
from ksql_spark.spark import batch
from ksql_spark.spark.session import SparkProcess, new_session
from tests.analyzer.binding import bind, run
from tests.spark.random_selects import COLUMNS, TABLES, Generator

pytestmark = pytest.mark.spark

COUNT = int(os.environ.get("SELECTS", "16"))
MORE = 100
FIRST = int(os.environ.get("SEED", "0"))
#: EXISTS beside several rows of VALUES; CUBE of no rows, alone and within other queries
_FAILED_ONCE = (145, 209, 363, 472)
_EPOCH = datetime.datetime(1970, 1, 1)
Row = dict[str, Any]


def generated(table: str) -> list[Row]:
    """The rows of a table: few values of each type, and NULLs."""
    rng = random.Random(table)
    moments = [_EPOCH + datetime.timedelta(days=19_700 + d, seconds=11_045) for d in range(3)]

    def some(*values: Any) -> Any:
        return None if rng.random() < 0.2 else rng.choice(values)

    return [
        {
            "k": k, "i": some(-1, 0, 1, 2, 3), "n": some(1, 2, 3), "d": some(0.5, 1.0, -2.0, 2.5),
            "m": some(Decimal("1.25"), Decimal("0.50"), Decimal("-3.00")), "s": some("a", "b", "", "ab"),
            "f": some(True, False), "ts": some(*moments), "dt": some(*(m.date() for m in moments)),
            "t": some(*(m.time() for m in moments), datetime.time(0, 0, 1)),
        }
        for k in rng.sample(range(12), 8)
    ]  # fmt: skip


ROWS = {table: generated(table) for table in TABLES}


def stored(row: Row) -> StoredRow:
    """A row as a view has it."""

    def plain(value: Any) -> Any:
        match value:
            case datetime.datetime():
                return (value - _EPOCH) // datetime.timedelta(milliseconds=1)
            case datetime.date():
                return (value - _EPOCH.date()).days
            case datetime.time():
                return ((value.hour * 60 + value.minute) * 60 + value.second) * 1000
            case Decimal():
                return float(value)
        return value

    body = {name: plain(value) for name, value in row.items() if name != "k"}
    return StoredRow(struct.pack(">i", row["k"]), json.dumps(body).encode(), 0, None, None)


@pytest.fixture(scope="module")
def store() -> MetaStore:
    """The metastore with the tables."""
    columns = ", ".join(f"{n} {t}{' PRIMARY KEY' * (n == 'k')}" for n, t in COLUMNS.items())
    text = "".join(
        f"CREATE SOURCE TABLE {t} ({columns}) WITH (KAFKA_TOPIC = '{t}', VALUE_FORMAT = 'JSON');"
        for t in TABLES
    )
    made = MetaStore()
    run(text, made)
    return made


@pytest.fixture(scope="module")
def base() -> duckdb.DuckDBPyConnection:
    """DuckDB with the tables."""
    made = duckdb.connect()
    made.execute("SET order_by_non_integer_literal = true")  # within an aggregate, as in seed 923
    for table, rows in ROWS.items():
        made.execute(f"CREATE TABLE {table} ({', '.join(f'{n} {t}' for n, t in COLUMNS.items())})")
        made.executemany(
            f"INSERT INTO {table} VALUES ({', '.join('?' * len(COLUMNS))})", [[*r.values()] for r in rows]
        )
    return made


@pytest.fixture(scope="module")
def session(spark_process: SparkProcess) -> SparkSession:
    """A session for small inputs."""
    own = new_session(spark_process.session)
    own.conf.set("spark.sql.shuffle.partitions", "1")
    return own


def answer(text: str, store: MetaStore, session: SparkSession) -> list[list[Any]]:
    """The rows of a pull query."""
    bound = bind(f"{text};", store, **{"ksql.sql.nulls": "ansi"})
    if isinstance(bound, Lookup):
        expressions = [item.expression for item in bound.items]
        rows = [stored(row) for row in ROWS[bound.source.name.lower()]]
        found = batch.evaluate_rows(session, bound.source, rows, expressions, bound.predicate)
        first = bound.offset or 0
        return found[first : None if bound.limit is None else first + bound.limit]
    assert isinstance(bound, Job)
    frames = []
    for relation, lookups in zip(relations(bound.root), bound.lookups, strict=True):
        rows_ = ROWS[relation.source.name.lower()]
        if lookups is not None:
            values = [lookup.values[0] for lookup in lookups]
            keys = {value.value for value in values if isinstance(value, Literal)}
            assert len(keys) == len(set(values))
            rows_ = [row for row in rows_ if row["k"] in keys]
        frames.append(batch.table(session, relation, [stored(row) for row in rows_]))
    frame = batch.build(session, bound.root, frames, lambda name: 1000)
    return list(batch.results(frame, bound.root.schema.columns))


def normal(value: Any) -> Any:
    """A value of either engine in one form."""
    match value:
        case bool() | None | str():
            return value
        case int() | float() | Decimal():
            number = float(value)
            return "NaN" if math.isnan(number) else round(number, 6) + 0.0
        case datetime.datetime():
            return float((value.replace(tzinfo=None) - _EPOCH) // datetime.timedelta(milliseconds=1))
        case datetime.date():
            return float((value - _EPOCH.date()).days)
        case datetime.time():
            return float(((value.hour * 60 + value.minute) * 60 + value.second) * 1000)
    raise TypeError(f"a value of type {type(value).__name__}")


def multiset(rows: Any) -> list[str]:
    """The rows in an order of their own."""
    return sorted(repr([normal(value) for value in row]) for row in rows)


def differences(
    seeds: Sequence[int], store: MetaStore, base: duckdb.DuckDBPyConnection, session: SparkSession
) -> list[str]:
    """What is not as DuckDB has it."""
    found = []
    for seed in seeds:
        text, _ = Generator(seed).select()
        try:
            wanted = multiset(base.execute(text.duckdb).fetchall())
        except duckdb.Error as error:
            found.append(f"{seed}: DuckDB: {error}\n  {text.duckdb}")
            continue
        try:
            got = multiset(answer(text.ksql, store, session))
        except Exception as error:
            found.append(f"{seed}: {type(error).__name__}: {str(error)[:600]}\n  {text.ksql}")
            continue
        if got != wanted:
            lines = itertools.zip_longest(got, wanted)
            shown = "\n    ".join(f"{a} {b}" for a, b in itertools.islice(lines, 12) if a != b)
            found.append(f"{seed}: {text.ksql}\n  {text.duckdb}\n    {shown}")
    return found


def test_selects_give_what_duckdb_gives(
    store: MetaStore, base: duckdb.DuckDBPyConnection, session: SparkSession
) -> None:
    found = differences([*range(FIRST, FIRST + COUNT), *_FAILED_ONCE], store, base, session)
    assert not found, "\n\n".join([f"{len(found)} of {COUNT} differ:", *found])


@pytest.mark.long
def test_more_selects_give_what_duckdb_gives(
    store: MetaStore, base: duckdb.DuckDBPyConnection, session: SparkSession
) -> None:
    found = differences(range(FIRST + COUNT, FIRST + COUNT + MORE), store, base, session)
    assert not found, "\n\n".join([f"{len(found)} of {MORE} differ:", *found])
