"""Random statements are accepted; integration/results/test_statements_duckdb.py compares their results."""

from __future__ import annotations

import pytest

from ksql_spark.metastore.store import MetaStore
from tests.analyzer.binding import bind, run
from tests.integration.results.random_inputs import declared, generated, kind_of, of_duckdb, selected
from tests.integration.results.random_statements import Generator

SEEDS = 20


@pytest.mark.parametrize("number", range(6))
def test_statements_are_accepted(number: int) -> None:
    given, store = generated(number), MetaStore()
    for name, format_ in given.formats.items():
        properties = f"KAFKA_TOPIC = '{name}', VALUE_FORMAT = '{format_}', PARTITIONS = {given.partitions}"
        run(f"CREATE {kind_of(name)} rel_{name} ({declared(name, format_)}) WITH ({properties});", store)
    with of_duckdb(given) as base:
        for seed in range(number * SEEDS, (number + 1) * SEEDS):
            statement = Generator(seed, given).statement()
            key, value = statement.formats
            properties = f"KAFKA_TOPIC = 'sink', KEY_FORMAT = '{key}', VALUE_FORMAT = '{value}'"
            text = f"CREATE {statement.sink} sink WITH ({properties}) AS {statement.text.ksql};"
            bind(text, store, **{"ksql.sql.nulls": "ansi" if statement.is_ansi else "ksqldb"})
            base.execute(selected(statement))
