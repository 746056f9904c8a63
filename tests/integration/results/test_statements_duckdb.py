"""Results of random CREATE … AS SELECT are those of DuckDB over the same rows.

SHARE seeds have an input of their own, of streams and tables with NULLs, duplicates, tombstones and values at
the limits of their types; random_statements.py makes a statement of each seed. ``SEEDS=500`` tries that many
in place of a few, ``SEED=7`` begins with that seed, ``KIND=over,best`` tries only these kinds. Of the first
that differ, the smallest statement and the fewest rows are shown that still do.
"""

from __future__ import annotations

import itertools
import json
import math
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from decimal import Decimal
from typing import Any

import duckdb
import pytest

from ksql_spark.engine import Engine, Request
from ksql_spark.errors import KsqlError
from ksql_spark.kafka.producer import RecordProducer
from ksql_spark.metastore.serdes import serdes, writing_serdes
from ksql_spark.runtime.reading.view import split_key
from tests.integration.results.comparing import PROPERTIES, Sink, ends
from tests.integration.results.random_inputs import Input, declared, generated, kind_of, of_duckdb, selected
from tests.integration.results.random_statements import LAST, LAST_COUNT, LAST_INT, Generator, Statement
from tests.waiting import until

pytestmark = [pytest.mark.kafka, pytest.mark.long]

COUNT = int(os.environ.get("SEEDS", "40"))
FIRST = int(os.environ.get("SEED", "0"))
KINDS = frozenset(filter(None, os.environ.get("KIND", "").split(",")))
#: how many seeds have one input
SHARE = 20
#: how many statements are made smaller; how many rows of a topic are shown
SHRUNK, SHOWN_ROWS = 3, 20


def normal(value: Any, type_: str) -> Any:
    """A value of either side in one form."""
    if value is None:
        return None
    if isinstance(value, float):
        if math.isnan(value) or math.isinf(value):
            return str(value)
        return float(f"{value:.9g}") + 0.0
    if isinstance(value, Decimal):
        return str(value.normalize() + 0)
    if isinstance(value, (list, tuple)):
        return [normal(each, "") for each in value]
    if isinstance(value, Mapping):
        return {k.upper() if "STRUCT" in type_ else k: normal(v, "") for k, v in sorted(value.items())}
    return value


Rows = Counter[str]


def multiset(rows: Iterable[Sequence[Any]], statement: Statement) -> Rows:
    """The rows that count."""
    found: Rows = Counter()
    for row in rows:
        if statement.waits and is_last(row[0]):
            continue
        cells = []
        for i, (value, item) in enumerate(zip(row, statement.items, strict=True)):
            # an empty field of DELIMITED is NULL
            is_empty = value in ("", b"") and statement.formats[i >= len(statement.keys)] == "DELIMITED"
            cells.append(None if is_empty else normal(value, item.type))
        found[json.dumps(cells, ensure_ascii=False, default=repr)] += 1
    return found


def is_last(key: Any) -> bool:
    """Whether it is the key of the last rows of a stream."""
    if isinstance(key, str):
        return key.startswith(LAST)
    return isinstance(key, int) and LAST_INT <= key < LAST_INT + LAST_COUNT


# ---- the engine ------------------------------------------------------------------------------------------


class Round:
    """The topics of an input in Kafka, and statements over them; a context that drops what it has made.

    Args:
        engine: on which they run.
        given: the input.
        name: begins the names of all that it makes.
    """

    def __init__(self, engine: Engine, given: Input, name: str) -> None:
        self._engine, self._given, self._name = engine, given, name
        self._base = of_duckdb(given)

    def __enter__(self) -> Round:
        admin, text = self._engine.services.admin, ""
        for name, format_ in self._given.formats.items():
            # Kafka would remove rows of such times
            admin.create_topic(self._of(name), self._given.partitions, config={"retention.ms": "-1"})
            text += (
                f"CREATE {kind_of(name)} {self._of(name)} ({declared(name, format_)})"
                f" WITH (KAFKA_TOPIC = '{self._of(name)}', VALUE_FORMAT = '{format_}');"
            )
        self._engine.execute(Request(text))
        self._write()
        return self

    def _write(self) -> None:
        services = self._engine.services
        with closing(RecordProducer(services.admin.servers, linger_ms=5)) as producer:
            for name, records in self._given.records.items():
                source = services.metastore.require(self._of(name).upper())
                keys, values = writing_serdes(source, services.registry)
                names = [column.name.lower() for column in source.schema.value]
                for record in records:
                    key = None if record.key is None else keys.encode_key([record.key])
                    row = record.values
                    value = None if row is None else values.encode([row[column] for column in names])
                    producer.send_async(source.topic, key, value, record.time_ms)

    def __exit__(self, *_: object) -> None:
        for name in self._given.formats:
            text = f"DROP {kind_of(name)} IF EXISTS {self._of(name)} DELETE TOPIC CASCADE;"
            self._engine.execute(Request(text))
        self._base.close()

    def _of(self, name: str) -> str:
        """The name of a relation or a sink, and of its topic."""
        return f"{self._name}{name}"

    def wrong(self, statements: Mapping[str, Statement]) -> dict[str, str]:
        """What is wrong with statements, by name; nothing for those whose results are as in DuckDB."""
        found: dict[str, str] = {}
        expected: dict[str, Rows] = {}
        created: list[str] = []
        for name, statement in statements.items():
            try:
                rows = self._base.execute(selected(statement)).fetchall()
                expected[name] = multiset(rows, statement)
                self._engine.execute(self._request(name, statement))
                created.append(name)
            except duckdb.Error as error:
                found[name] = f"DuckDB: {error}"
            except KsqlError as error:
                found[name] = f"refused: {error.message}"
        for name in created:
            try:
                self._wait(self._of(name))
                actual = self._results(name, statements[name])
            except (AssertionError, RuntimeError, KsqlError) as error:
                found[name] = f"failed: {error}"
                continue
            if actual != expected[name]:
                found[name] = difference(actual, expected[name])
        for name in created:
            self._engine.execute(Request(f"DROP {statements[name].sink} {self._of(name)} DELETE TOPIC;"))
        return found

    def _request(self, name: str, statement: Statement) -> Request:
        sink, (key, value) = self._of(name), statement.formats
        text = statement.text.ksql.replace("rel_", self._name)
        properties = f"KAFKA_TOPIC = '{sink}', KEY_FORMAT = '{key}', VALUE_FORMAT = '{value}'"
        return Request(
            f"CREATE {statement.sink} {sink} WITH ({properties}) AS {text};",
            PROPERTIES
            | {
                "ksql.execution.mode": self._given.mode,
                "ksql.sql.nulls": "ansi" if statement.is_ansi else "ksqldb",
            },
        )

    def _wait(self, topic: str) -> None:
        """Wait until the query that writes ``topic`` has read and committed all that there is.

        Raises:
            RuntimeError: it has failed.
        """
        services = self._engine.services
        (query,) = (query for query in services.queries.all() if query.plan.sink.topic == topic)

        def is_done() -> bool:
            if query.errors:
                raise RuntimeError(query.errors[-1].message)
            return all(
                services.queries.checkpoints.has_reached(query, number, ends(self._engine, stage.topics))
                for number, stage in enumerate(query.plan.stages)
            )

        until(is_done, lambda: "it does not read all that there is")

    def _results(self, name: str, statement: Statement) -> Rows:
        services = self._engine.services
        source = services.metastore.require(self._of(name).upper())
        keys, values = serdes(source, registry=services.registry)
        topic = Sink(services.admin.servers, source.topic)
        topic.close()
        records = topic.records
        if statement.sink == "TABLE":
            records = [*{record.key: record for record in records}.values()]
        rows = []
        for record in records:
            if record.value is None:  # a row of a table that is gone, or a record that a stream passes on
                continue
            key = None if record.key is None else split_key(record.key, source.window)[0]
            cells: list[Any] = [None] * len(statement.keys) if key is None else [*keys.decode(key)]
            cells += values.decode(record.value) if statement.values else ()
            rows.append(cells)
        return multiset(rows, statement)


def difference(actual: Rows, expected: Rows) -> str:
    """How rows differ, in a few lines: - is missing, + too many."""
    missing, unwanted = expected - actual, actual - expected
    lines = [f"{missing.total()} of {expected.total()} rows are missing, {unwanted.total()} are too many"]
    lines += [f"    - {row}" for row in sorted(missing)[:4]]
    lines += [f"    + {row}" for row in sorted(unwanted)[:4]]
    return "\n".join(lines)


# ---- the smallest that is wrong --------------------------------------------------------------------------


def _way(why: str) -> str:
    """In which way something is wrong."""
    return why.split(":")[0] if why.startswith(("DuckDB:", "refused:", "failed:")) else ""


def smallest(one: Round, statement: Statement, why: str) -> tuple[Statement, str]:
    """The smallest statement that is wrong in the same way, and how."""
    while True:
        tried = {f"smaller{i}": each for i, each in enumerate(statement.smaller())}
        wrong = one.wrong(tried)
        same = [name for name, text in wrong.items() if _way(text) == _way(why)]
        if not same:
            return statement, why
        statement, why = tried[same[0]], wrong[same[0]]


def smallest_input(
    engine: Engine, given: Input, statement: Statement, why: str, prefix: str
) -> tuple[Input, str]:
    """The input with as few rows as possible for which a statement is wrong in the same way, and how."""
    tried = 0
    for name, records in given.records.items():
        size = len(records) if f"rel_{name} " in statement.text.ksql else 0
        while size := size // 2:
            start = 0
            while start < len(given.records[name]):
                records = given.records[name]
                kept = [r for r in records[start : start + size] if statement.waits and is_last(r.key)]
                fewer = [*records[:start], *kept, *records[start + size :]]
                smaller = replace(given, records={**given.records, name: fewer})
                tried += 1
                with Round(engine, smaller, f"{prefix}{tried}_") as one:
                    again = one.wrong({"again": statement}).get("again")
                if len(kept) < len(records[start : start + size]) and again and _way(again) == _way(why):
                    given, why = smaller, again
                else:
                    start += size
    return given, why


def described(seed: int, statement: Statement, given: Input, why: str) -> str:
    """What is wrong with the statement of a seed, for a person."""
    formats = ", ".join(f"{name} {format_}" for name, format_ in given.formats.items())
    nulls = "ansi" if statement.is_ansi else "ksqldb"
    lines = [
        f"{seed} ({statement.kind}, {given.partitions} partitions, {given.mode}, nulls {nulls}, {formats},"
        f" sink {' '.join(statement.formats)}):",
        statement.text.ksql, statement.text.duckdb, why,
    ]  # fmt: skip
    for name, records in given.records.items():
        if f"rel_{name} " in statement.text.ksql and len(records) <= SHOWN_ROWS:
            lines += [f"rel_{name}:", *map(str, records)]
    return "\n  ".join(lines)


def seeds() -> list[int]:
    """The seeds of this run, of the chosen kinds."""
    found, seed = list[int](), FIRST
    while len(found) < COUNT:
        if not KINDS or Generator(seed, generated(seed // SHARE)).kind in KINDS:
            found.append(seed)
        seed += 1
    return found


def test_statements_give_what_duckdb_gives(engine: Engine) -> None:
    found: list[str] = []
    for number, members in itertools.groupby(seeds(), lambda seed: seed // SHARE):
        given = generated(number)
        with Round(engine, given, f"random{number}_") as one:
            statements = {str(seed): Generator(seed, given).statement() for seed in members}
            for seed, why in one.wrong(statements).items():
                statement = statements[seed]
                if len(found) < SHRUNK:
                    statement, why = smallest(one, statement, why)
                    fewer, why = smallest_input(engine, given, statement, why, f"fewer{seed}_")
                    found.append(described(int(seed), statement, fewer, why))
                else:
                    found.append(described(int(seed), statement, given, why))
    assert not found, "\n\n".join([f"{len(found)} of {COUNT} differ:", *found])
