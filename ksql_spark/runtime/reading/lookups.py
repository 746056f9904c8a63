"""Lookups that are prepared once for all values of a plan, and then only run.

A lookup has plain items and conditions (runtime/reading/row_decoding.py), the keys of its rows, and no
windows. It reads one page of a file, so it may run in an event loop's thread.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ksql_spark.analyzer.reads.plan_cache import CachedPlan, CacheHit, Values
from ksql_spark.consistency import encode
from ksql_spark.errors import KsqlError
from ksql_spark.expressions import Cast, Expression, Literal
from ksql_spark.runtime.plain_expressions import function_of, is_plain
from ksql_spark.runtime.reading.freshness import OnReached
from ksql_spark.runtime.reading.results import PullResult, ResultColumn, Row, pull_query_id
from ksql_spark.runtime.reading.row_decoding import READERS, Reader, values_of
from ksql_spark.runtime.reading.view import View
from ksql_spark.schema_registry import SchemaRegistry

#: lookups of more keys do not run in an event loop's thread
MAX_KEYS = 20

#: marks a plan that is not such a lookup
_OTHER = object()


class LookUpPlan:
    """A compiled plan that runs all lookups of one form.

    Args:
        cached: the plan.
        reader: of the table's rows.
    """

    def __init__(self, cached: CachedPlan, reader: Reader) -> None:
        pattern, places = cached.pattern, cached.places
        self.source = pattern.source
        self.columns = [
            ResultColumn.of(i.name, i.expression.type, i.name in pattern.key_names) for i in pattern.items
        ]
        self._decode = reader.decode
        self._forms = reader.key.key_forms
        self._keys = [
            [function_of(value, {}, places) for value in lookup.values] for lookup in pattern.lookups or ()
        ]
        items = [(item.expression, item.expression.type) for item in pattern.items]
        self._values = values_of(items, pattern.predicate, reader.places, places)
        self._offset, self._limit = pattern.offset or 0, pattern.limit
        #: the only part of the only key, as in most lookups
        self._only_part = self._keys[0][0] if [len(parts) for parts in self._keys] == [1] else None

    def keys(self, values: Values) -> list[bytes]:
        """The bytes of the keys, without duplicates and NULLs.

        Raises:
            ValueError: a value cannot be a key.
        """
        if self._only_part is not None:
            value = self._only_part((), values)
            return [] if value is None else self._forms([value])
        keys: dict[bytes, None] = {}
        for parts in self._keys:
            key = [part((), values) for part in parts]
            if None not in key:
                keys |= dict.fromkeys(self._forms(key))
        return list(keys)

    def rows(self, view: View, values: Values) -> list[list[Any]]:
        """The JSON-ready values of the rows that ``view`` has for ``values``."""
        rows = []
        for stored in view.get(self.keys(values)):
            row = self._decode(stored)
            shown = None if row is None else self._values(row, values)
            if shown is not None:
                rows.append(shown)
        if self._offset or self._limit is not None:
            end = None if self._limit is None else self._offset + self._limit
            return rows[self._offset : end]
        return rows


def plan_of(hit: CacheHit, registry: SchemaRegistry | None) -> LookUpPlan | None:
    """Return the compiled form of the plan that was found, made once; None if it is not such a lookup."""
    cached = hit.cached
    if cached.compiled is None:
        cached.compiled = _plan(cached, registry) or _OTHER
    return cached.compiled if isinstance(cached.compiled, LookUpPlan) else None


def _plan(cached: CachedPlan, registry: SchemaRegistry | None) -> LookUpPlan | None:
    pattern = cached.pattern
    if pattern.lookups is None or len(pattern.lookups) > MAX_KEYS or pattern.source.window is not None:
        return None
    conditions = [pattern.predicate] if pattern.predicate is not None else []
    keys = [value for lookup in pattern.lookups for value in lookup.values]
    if not all(is_plain(e) for e in [*(i.expression for i in pattern.items), *conditions, *keys]):
        return None
    if not all(_is_constant(key) for key in keys):
        return None
    reader = READERS.of(pattern.source, registry)
    if reader.key.asks_registry or reader.value.asks_registry or not reader.has_times:
        return None
    return LookUpPlan(cached, reader)


class LookUp:
    """A running lookup; its thread must not be blocked.

    Args:
        plan: how to run it.
        values: the statement's values.
        view: has the rows.
        when_current: calls back once the view is as current as requested; None if it already is.
        stopped: ids of the queries that write the table and are not running.
    """

    def __init__(
        self,
        plan: LookUpPlan,
        values: Values,
        view: View,
        *,
        when_current: Callable[[OnReached], None] | None,
        stopped: tuple[str, ...] = (),
    ) -> None:
        self.when_current = when_current
        self.stopped = stopped
        #: the columns of each row
        self.columns: list[ResultColumn] = plan.columns
        self._plan = plan
        self._values = values
        self._view = view

    @property
    def token(self) -> str:
        """A token of the records in its result, see ksql_spark.consistency."""
        return encode({self._view.topic: self._view.positions})

    @property
    def query_id(self) -> str:
        """The id of this query."""
        return pull_query_id()

    def rows(self) -> list[list[Any]]:
        """The values of its rows, once ``when_current`` has called back without an error.

        Raises:
            KsqlError: the view was closed; a value cannot be a key.
        """
        try:
            return self._plan.rows(self._view, self._values)
        except ValueError as error:
            raise KsqlError("INVALID_STATEMENT", reason=str(error)) from None

    def result(self) -> PullResult:
        """The result as a stream. Raises what ``rows`` does."""
        return PullResult(self._plan.columns, list(map(Row, self.rows())))


def _is_constant(expression: Expression) -> bool:
    match expression:
        case Literal():
            return True
        case Cast(operand, _):
            return _is_constant(operand)
    return False
