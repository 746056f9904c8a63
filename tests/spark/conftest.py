"""PostgreSQL, and the port without a port, for tests that compare their answers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from ksql_spark.spark.session import SparkProcess, new_session
from tests.postgres import USER, Postgres
from tests.spark.postgres_answers import Ours


@pytest.fixture(scope="module")
def ours(spark_process: SparkProcess) -> Ours:
    own = new_session(spark_process.session)
    own.conf.set("spark.sql.shuffle.partitions", "1")
    return Ours(own)


@pytest.fixture(scope="module")
def theirs() -> Iterator[psycopg.Connection[Any]]:
    """A connection to PostgreSQL, to a database with the name that the port has."""
    with Postgres() as server:
        server.sql("CREATE DATABASE ksql")
        with psycopg.connect(
            host="127.0.0.1", port=server.port, user=USER, dbname="ksql", autocommit=True
        ) as made:
            made.execute("SET timezone = 'UTC'")
            yield made
