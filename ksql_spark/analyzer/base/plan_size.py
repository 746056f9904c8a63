"""Limits on what a short statement may grow to.

A common table expression is bound each time it is named, and a STRUCT may hold one value twice: a chain of
either doubles with each link. So both are counted while they are bound, before the next link doubles them.
"""

from __future__ import annotations

from ksql_spark.analyzer.base.failures import Placed, failure
from ksql_spark.schema import Schema
from ksql_spark.types import SqlType, size

#: the most relations that a query reads, with sub-queries and each use of a common table expression
MAX_RELATIONS = 500
#: the most columns of all these relations, with all fields at all levels
MAX_COLUMNS = 100_000
#: the most fields and elements of a type, at all levels
MAX_TYPES = 10_000


class PlanSize:
    """A counter of the relations and columns that a statement reads."""

    def __init__(self) -> None:
        self._relations = self._columns = 0

    def add(self, schema: Schema, node: Placed) -> None:
        """Count a relation with these columns, which is bound at ``node``.

        Raises:
            KsqlError: QUERY_TOO_LARGE.
        """
        self._relations += 1
        self._columns += sum(size(column.type) for column in schema.columns)
        for what, count, most in (
            ("relations", self._relations, MAX_RELATIONS),
            ("columns and fields", self._columns, MAX_COLUMNS),
        ):
            if count > most:
                raise failure("QUERY_TOO_LARGE", node, what=what, most=most)


def checked_type(type_: SqlType, node: Placed) -> SqlType:
    """``type_``, which has been made of other types at ``node``.

    Raises:
        KsqlError: TYPE_TOO_LARGE.
    """
    if size(type_) > MAX_TYPES:
        raise failure("TYPE_TOO_LARGE", node, most=MAX_TYPES)
    return type_
