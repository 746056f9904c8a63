"""Lookups that are prepared once for all values of a plan, and then only run.

A lookup has plain items and conditions (runtime/reading/row_decoding.py), the keys of its rows or an index
that finds few, and no windows. It reads one page of a file, so it may run in an event loop's thread.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any

from ksql_spark.analyzer.reads.plan_cache import CachedPlan, CacheHit, Values
from ksql_spark.consistency import encode
from ksql_spark.errors import KsqlError
from ksql_spark.expressions import Call, Cast, Expression, Literal, walk
from ksql_spark.plan.queries import IndexRange, KeyLookup
from ksql_spark.runtime.plain_expressions import function_of, is_plain, is_prefix
from ksql_spark.runtime.reading.freshness import OnReached
from ksql_spark.runtime.reading.results import PullResult, ResultColumn, Row, pull_query_id
from ksql_spark.runtime.reading.row_decoding import READERS, Reader, values_of
from ksql_spark.runtime.reading.stored_row import StoredRow
from ksql_spark.runtime.reading.view import View
from ksql_spark.schema_registry import SchemaRegistry

#: lookups of more keys, and of more rows that an index finds, do not run in an event loop's thread
MAX_KEYS, MAX_FOUND = 20, 100

#: marks a plan that is not such a lookup
_OTHER = object()


class NotHereError(Exception):
    """An event loop's thread cannot run a lookup: ``Engine.query`` must answer."""


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
        self._index = None if pattern.index is None else pattern.index.index
        self._ranges = [
            (
                [function_of(value, {}, places) for value in each.equal],
                [(name, function_of(value, {}, places)) for name, value in each.bounds],
            )
            for each in (pattern.index.ranges if pattern.index is not None else ())
        ]
        #: which values are patterns of LIKE
        self._patterns = _patterns(cached)
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
        """The JSON-ready values of the rows that ``view`` has for ``values``.

        Raises:
            ValueError: a value cannot be a key.
            NotHereError: the lookup is not one for an event loop's thread.
        """
        if not all(is_prefix(str(values[place])) for place in self._patterns):
            raise NotHereError
        rows = []
        for stored in view.get(self.keys(values)) if self._index is None else self._found(view, values):
            row = self._decode(stored)
            shown = None if row is None else self._values(row, values)
            if shown is not None:
                rows.append(shown)
        if self._offset or self._limit is not None:
            end = None if self._limit is None else self._offset + self._limit
            return rows[self._offset : end]
        return rows

    def _found(self, view: View, values: Values) -> list[StoredRow]:
        """The rows that the index finds."""
        index = None if self._index is None else view.index(self._index)
        if index is None:
            raise NotHereError
        ranges = [
            index.range_of(
                [value((), values) for value in equal], [(name, value((), values)) for name, value in bounds]
            )
            for equal, bounds in self._ranges
        ]
        try:
            rows = view.few(index, ranges, MAX_FOUND)
        except sqlite3.OperationalError:  # it has been dropped meanwhile
            raise NotHereError from None
        if rows is None:
            raise NotHereError
        return rows


def _patterns(cached: CachedPlan) -> list[int]:
    pattern, places = cached.pattern, cached.places
    conditions = [pattern.predicate] if pattern.predicate is not None else []
    found = []
    for part in chain.from_iterable(map(walk, [*conditions, *(item.expression for item in pattern.items)])):
        match part:
            case Call("LIKE", (_, Literal(str() as text))) if text in places:
                found.append(places[text])
    return found


def plan_of(hit: CacheHit, registry: SchemaRegistry | None) -> LookUpPlan | None:
    """Return the compiled form of the plan that was found, made once; None if it is not such a lookup."""
    cached = hit.cached
    if cached.compiled is None:
        cached.compiled = _plan(cached, registry) or _OTHER
    return cached.compiled if isinstance(cached.compiled, LookUpPlan) else None


def _plan(cached: CachedPlan, registry: SchemaRegistry | None) -> LookUpPlan | None:
    pattern = cached.pattern
    parts: Sequence[KeyLookup | IndexRange] | None = pattern.lookups
    if parts is None and pattern.index is not None:
        parts = pattern.index.ranges
    if parts is None or len(parts) > MAX_KEYS or pattern.source.window is not None:
        return None
    conditions = [pattern.predicate] if pattern.predicate is not None else []
    items = [item.expression for item in pattern.items]
    keys = [value for part in parts for value in _constants(part)]
    if not all(map(is_plain, [*items, *conditions, *keys])) or not all(map(_is_constant, keys)):
        return None
    reader = READERS.of(pattern.source, registry)
    if reader.key.asks_registry or reader.value.asks_registry or not reader.has_times:
        return None
    return LookUpPlan(cached, reader)


def _constants(part: KeyLookup | IndexRange) -> tuple[Expression, ...]:
    if isinstance(part, KeyLookup):
        return part.values
    return (*part.equal, *(value for _, value in part.bounds))


class LookUp:
    """A running lookup; its thread must not be blocked.

    Args:
        plan: how to run it.
        values: the statement's values.
        view: has the rows.
        when_current: calls back once the view is as current as requested; None if it already is.
        stopped: ids of the queries that write the table and are not running.
        on_not_here: called before NotHereError is raised: this look-up was none.
    """

    def __init__(
        self,
        plan: LookUpPlan,
        values: Values,
        view: View,
        *,
        when_current: Callable[[OnReached], None] | None,
        stopped: tuple[str, ...] = (),
        on_not_here: Callable[[], None] = lambda: None,
    ) -> None:
        self.when_current = when_current
        self.stopped = stopped
        #: the columns of each row
        self.columns: list[ResultColumn] = plan.columns
        self._plan = plan
        self._values = values
        self._view = view
        self._on_not_here = on_not_here

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
            NotHereError: see LookUpPlan.rows.
        """
        try:
            return self._plan.rows(self._view, self._values)
        except NotHereError:
            self._on_not_here()
            raise
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
