"""The metastore: streams, tables, views, indexes, custom types, user functions and sinks by name.

A copy is the sandbox in which a whole request is validated before any of it runs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from ksql_spark.errors import KsqlError, Position, name_hint
from ksql_spark.functions.spec import Spec
from ksql_spark.metastore.indexes import Index
from ksql_spark.metastore.origins import Origin
from ksql_spark.metastore.sinks import Sink
from ksql_spark.metastore.sources import DataSource
from ksql_spark.types import SqlType

Value = TypeVar("Value")


class MetaStore:
    """Streams, tables, views, indexes, custom types, user functions and sinks by name.

    The engine serializes changes. Copies share their contents: a change replaces a whole mapping.
    """

    def __init__(self, may_name: Callable[[str], bool] | None = None) -> None:
        #: the sources that errors may suggest, or None for all
        self._may_name = may_name
        self._sources: Mapping[str, DataSource] = {}
        self._views: Mapping[str, str] = {}
        self._indexes: Mapping[str, Index] = {}
        #: stream, table or view -> column, or None for all of it -> what people say about it
        self._comments: Mapping[str, Mapping[str | None, str]] = {}
        self._types: Mapping[str, SqlType] = {}
        #: sink name -> names of the sources that its query reads (a drop constraint, reference §2.9)
        self._reads: Mapping[str, frozenset[str]] = {}
        self._functions: Mapping[str, Spec] = {}
        self._sinks: Mapping[str, Sink] = {}
        self._origins: Mapping[str, Origin] = {}

    def copy(self, may_name: Callable[[str], bool] | None = None) -> MetaStore:
        """An independent copy, at no cost; ``may_name``: the sources that its errors may suggest."""
        other = MetaStore(may_name or self._may_name)
        other._sources = self._sources
        other._views = self._views
        other._indexes = self._indexes
        other._comments = self._comments
        other._types = self._types
        other._reads = self._reads
        other._functions = self._functions
        other._sinks = self._sinks
        other._origins = self._origins
        return other

    def sources(self) -> list[DataSource]:
        """All streams and tables by name."""
        return [self._sources[n] for n in sorted(self._sources)]

    def find(self, name: str) -> DataSource | None:
        """The stream or table called exactly ``name``, or None."""
        return self._sources.get(name)

    def require(self, name: str, position: Position | None = None) -> DataSource:
        """The stream or table called ``name``.

        Raises:
            KsqlError: SOURCE_UNKNOWN with the nearest name.
        """
        source = self._sources.get(name)
        if source is None:
            self.check_no_view(name, position)
        if source is None:
            seen = filter(self._may_name, self._sources) if self._may_name else self._sources
            raise KsqlError(
                "SOURCE_UNKNOWN",
                position=position,
                name=name,
                kind="Stream or table",
                hint=name_hint(name, seen, "SHOW STREAMS and SHOW TABLES list all of them."),
            )
        return source

    def add(self, source: DataSource, reads: frozenset[str] = frozenset()) -> None:
        """Add or replace ``source``; ``reads`` names what its query reads.

        Its indexes and comments stay, except those of columns that it no longer has.
        """
        self._sources = {**self._sources, source.name: source}
        for index in self.indexes_of(source.name):
            if not source.is_table or index.expressions(source) is None:
                self.drop_index(index.name)
        for column in self.comments(source.name):
            if column is not None and source.schema.find(column) is None:
                self.comment(source.name, column, None)
        if reads:
            self._reads = {**self._reads, source.name: reads}

    def drop(self, name: str) -> None:
        """Remove a source with its indexes and comments, without checking dependents()."""
        self._sources = _without(name, self._sources)
        self._reads = _without(name, self._reads)
        self._origins = _without(name, self._origins)
        for index in self.indexes_of(name):
            self.drop_index(index.name)
        self._comments = _without(name, self._comments)

    def dependents(self, name: str) -> list[str]:
        """Names of the sinks whose queries read ``name``: it cannot be dropped before them."""
        return sorted(sink for sink, origins in self._reads.items() if name in origins)

    def views(self) -> Mapping[str, str]:
        """The SELECTs of views by name, without ``;``. Never changed in place."""
        return self._views

    def check_no_view(self, name: str, position: Position | None = None) -> None:
        """Refuse a view where only streams and tables may stand.

        Raises:
            KsqlError: INVALID_STATEMENT.
        """
        if name in self._views:
            reason = f"{name} is a view: only a query can read it, in FROM."
            hint = "SHOW VIEWS shows its query."
            raise KsqlError("INVALID_STATEMENT", position=position, reason=reason, hint=hint, name=name)

    def add_view(self, name: str, query: str) -> None:
        """Add or replace a view."""
        self._views = {**self._views, name: query}

    def drop_view(self, name: str) -> None:
        """Remove a view. Queries that began with it go on."""
        self._views = _without(name, self._views)
        self._comments = _without(name, self._comments)

    def comments(self, name: str) -> Mapping[str | None, str]:
        """The comments on a stream, table or view, by column, and by None that on all of it."""
        return self._comments.get(name, {})

    def comment(self, name: str, column: str | None, text: str | None) -> None:
        """Set the comment on a stream, table or view, or on a column of it; remove it if ``text`` is None."""
        others = {of: each for of, each in self.comments(name).items() if of != column}
        self._comments = {**self._comments, name: others if text is None else {**others, column: text}}

    def indexes(self) -> Mapping[str, Index]:
        """The indexes of tables by their names. Never changed in place."""
        return self._indexes

    def indexes_of(self, table: str) -> list[Index]:
        """The indexes of a table by name."""
        return [index for _, index in sorted(self._indexes.items()) if index.table == table]

    def add_index(self, index: Index) -> None:
        """Add an index."""
        self._indexes = {**self._indexes, index.name: index}

    def drop_index(self, name: str) -> None:
        """Remove an index."""
        self._indexes = _without(name, self._indexes)

    def types(self) -> dict[str, SqlType]:
        """Custom types by name."""
        return dict(self._types)

    def add_type(self, name: str, type_: SqlType) -> None:
        """Register a custom type."""
        self._types = {**self._types, name: type_}

    def drop_type(self, name: str) -> bool:
        """Remove a custom type; False if there was none."""
        was_there = name in self._types
        self._types = _without(name, self._types)
        return was_there

    def functions(self) -> Mapping[str, Spec]:
        """User functions by name, for functions.registry.with_functions. Never changed in place."""
        return self._functions

    def add_function(self, spec: Spec) -> None:
        """Add or replace a user function."""
        self._functions = {**self._functions, spec.name: spec}

    def drop_function(self, name: str) -> None:
        """Remove a user function."""
        self._functions = _without(name, self._functions)

    def sinks(self) -> list[Sink]:
        """All sinks by name."""
        return [self._sinks[n] for n in sorted(self._sinks)]

    def find_sink(self, name: str) -> Sink | None:
        """The sink called exactly ``name``, or None."""
        return self._sinks.get(name)

    def sinks_of(self, source: str) -> list[Sink]:
        """The sinks that read a stream or table: it cannot be dropped before them."""
        return [sink for sink in self.sinks() if sink.source == source]

    def add_sink(self, sink: Sink) -> None:
        """Add or replace a sink."""
        self._sinks = {**self._sinks, sink.name: sink}

    def drop_sink(self, name: str) -> None:
        """Remove a sink."""
        self._sinks = _without(name, self._sinks)

    def origins(self) -> Mapping[str, Origin]:
        """The origins that tables follow, by the tables' names."""
        return self._origins

    def add_origin(self, name: str, origin: Origin) -> None:
        """Let the table ``name`` follow ``origin``, until it is dropped."""
        self._origins = {**self._origins, name: origin}


def _without(name: str, mapping: Mapping[str, Value]) -> Mapping[str, Value]:
    return {n: value for n, value in mapping.items() if n != name}
