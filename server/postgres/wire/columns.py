"""The columns of a result."""

from __future__ import annotations

from typing import NamedTuple

from ksql_spark.server.postgres.values.values import PgType


class Column(NamedTuple):
    """A column of a result."""

    name: str
    type: PgType
