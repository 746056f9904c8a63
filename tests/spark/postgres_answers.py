"""Answers of PostgreSQL and of the port without a port, for tests that compare them."""

from __future__ import annotations

import math
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

import psycopg
from pyspark.sql import SparkSession

from ksql_spark.errors import KsqlError
from ksql_spark.metastore.store import MetaStore
from ksql_spark.plan.queries import Job
from ksql_spark.runtime.errors import jobs_reported
from ksql_spark.runtime.reading.results import api_value, schema_info
from ksql_spark.server.postgres.session.errors import error_fields
from ksql_spark.server.postgres.session.execution import MEANING
from ksql_spark.server.postgres.session.statements import respelt, split
from ksql_spark.server.postgres.values import values
from ksql_spark.server.postgres.values.failures import Failure
from ksql_spark.spark import batch
from ksql_spark.types import EXACT
from tests.analyzer.binding import bind

#: types of PostgreSQL that are another one here
SAME_TYPES = {1184: 1114, 19: 25, 1043: 25, 705: 25, 21: 23, 700: 701, 25: 25}
Answer = tuple[int, str | None]
#: the last digit of a numeric behind the point
_LAST_PLACE = Decimal("1E-20")


class Ours:
    """The port's answers, without a port: its text, its properties, its forms of values."""

    def __init__(self, session: SparkSession) -> None:
        self._session = session
        self._store = MetaStore()

    def job(self, query: str) -> Job | str:
        """A query that is bound, or the SQLSTATE with which it is refused."""
        try:
            (piece,) = split(query)
            bound = bind(f"{respelt(piece).text};", self._store, **MEANING)
            assert isinstance(bound, Job)
            return bound
        except Failure as error:
            return error.fields["C"]
        except KsqlError as error:
            return error_fields(error, None)["C"]

    def rows(self, job: Job) -> list[list[Answer]] | str:
        """The rows of a query, or the SQLSTATE with which it fails."""
        try:
            with jobs_reported():
                frame = batch.build(self._session, job.root, [], lambda name: 100_000)
                columns = job.root.schema.columns
                return [
                    [shown(value, column.type) for value, column in zip(row, columns, strict=True)]
                    for row in batch.results(frame, columns)
                ]
        except KsqlError as error:
            return error_fields(error, None)["C"]


def shown(value: Any, type_: Any) -> Answer:
    """A value as the port sends it: the oid of its type, and its text."""
    pg_type = values.type_of(schema_info(type_))
    given = api_value(value, type_)
    return pg_type.oid, None if given is None else pg_type.text(given).decode()


def asked(connection: psycopg.Connection[Any], query: str) -> list[list[Answer]] | str:
    """The rows that PostgreSQL answers with, or its SQLSTATE."""
    result = connection.pgconn.exec_params(query.encode(), [])
    if result.status != psycopg.pq.ExecStatus.TUPLES_OK:
        return (result.error_field(psycopg.pq.DiagnosticField.SQLSTATE) or b"").decode()
    return [
        [
            (result.ftype(at), None if (text := result.get_value(row, at)) is None else text.decode())
            for at in range(result.nfields)
        ]
        for row in range(result.ntuples)
    ]


def is_same(mine: Answer, theirs: Answer) -> bool:
    """Whether two values are the same: numerics as numbers with the digits that they have here."""
    oid = SAME_TYPES.get(theirs[0], theirs[0])
    if mine[0] != oid:
        return False
    if mine[1] is None or theirs[1] is None or mine[1] == theirs[1]:
        return mine[1] == theirs[1]
    if oid == 701:  # the last digit is the C library's
        return math.isclose(float(mine[1]), float(theirs[1]), rel_tol=1e-15)
    if oid == 1231:
        return mine[1].replace(".0", "") == theirs[1]
    if oid in (1083, 1114):  # times have whole seconds, as in the REST API
        whole = theirs[1].removesuffix("+00")
        return mine[1] == (whole.partition(".")[0] if oid == 1083 else whole)
    if oid != 1700:
        return False
    return Decimal(mine[1]) == Decimal(theirs[1]).quantize(_LAST_PLACE, ROUND_HALF_UP, EXACT)
