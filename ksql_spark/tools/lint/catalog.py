"""The streams, tables and types that the statements of a file declare, without a server.

Statements are bound and planned in order, as a server does before it runs them. What only a server can know,
such as columns from a schema registry or the code of functions, is taken as unknown, and so is what uses it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ksql_spark import analyzer, grammar
from ksql_spark.analyzer.base.failures import place
from ksql_spark.config import Config, canonical, find
from ksql_spark.errors import KsqlError
from ksql_spark.grammar import nodes
from ksql_spark.grammar.statements.asserts import AssertTombstone, AssertValues
from ksql_spark.grammar.statements.functions import CreateFunction, DropFunction
from ksql_spark.grammar.statements.indexes import CreateIndex, DropIndex
from ksql_spark.grammar.statements.inserts import InsertSelect, InsertValues
from ksql_spark.grammar.statements.queries import Query
from ksql_spark.grammar.statements.rows import RowChange
from ksql_spark.grammar.statements.session import (
    DefineVariable,
    SetProperty,
    UndefineVariable,
    UnsetProperty,
)
from ksql_spark.grammar.statements.sinks import CreateSink, CreateSinkAs
from ksql_spark.grammar.statements.sources import (
    AlterSource,
    CreateAsSelect,
    CreateSource,
    DropSource,
    RefreshSchema,
)
from ksql_spark.grammar.statements.types import CreateType, DropType
from ksql_spark.grammar.statements.views import CreateView, DropView
from ksql_spark.metastore.sources import DataSource
from ksql_spark.metastore.store import MetaStore
from ksql_spark.plan.planner import lower, lower_transient
from ksql_spark.plan.queries import Feed, PersistentQuery

#: errors about what only a server knows
_OF_A_SERVER = frozenset({"SCHEMA_REGISTRY_MISSING", "TOPIC_MISSING", "TOPIC_UNKNOWN"})


class Catalog:
    """A catalog of what the statements so far have declared.

    Attributes:
        variables: those that DEFINE has set.
    """

    def __init__(self, variables: Mapping[str, str]) -> None:
        self.variables = {name.upper(): value for name, value in variables.items()}
        self._store = MetaStore()
        self._config = Config({})
        self._overrides: dict[str, Any] = {}
        #: streams and tables whose columns, and functions whose types, are not known
        self._unknown: set[str] = set()
        self._unknown_functions: set[str] = set()

    def copy(self) -> Catalog:
        """An independent copy."""
        other = Catalog(self.variables)
        other._store = self._store.copy()
        other._overrides = dict(self._overrides)
        other._unknown = set(self._unknown)
        other._unknown_functions = set(self._unknown_functions)
        return other

    def sources(self) -> list[DataSource]:
        """The streams and tables whose columns are known."""
        return [source for source in self._store.sources() if source.name not in self._unknown]

    def add(self, statement: nodes.Statement) -> PersistentQuery | None:
        """Bind a statement and keep what it declares; the query that it starts, if any.

        Raises:
            KsqlError: a server would refuse it.
        """
        if self._uses_unknown(statement):
            self._forget(statement)
            return None
        try:
            return self._add(statement)
        except KsqlError as error:
            self._forget(statement)
            if error.condition in _OF_A_SERVER:
                return None
            raise

    def _uses_unknown(self, statement: nodes.Statement) -> bool:
        if isinstance(statement, CreateSource):
            return False
        target = statement.name if isinstance(statement, _WITH_TARGET) else None
        if isinstance(statement, CreateIndex):
            target = statement.table_name
        return (
            target in self._unknown
            or any(source.source_name in self._unknown for source in statement.find_all(nodes.AliasedSource))
            or (isinstance(statement, CreateSink) and statement.source_name in self._unknown)
            or any(call.name in self._unknown_functions for call in statement.find_all(nodes.FunctionCall))
        )

    def _forget(self, statement: nodes.Statement) -> None:
        """Take what the statement declares as unknown."""
        if isinstance(statement, CreateSource | CreateAsSelect | CreateSinkAs | CreateView):
            self._unknown.add(statement.name)
        elif isinstance(statement, DropSource | DropView):
            self._unknown.discard(statement.name)

    def _add(self, statement: nodes.Statement) -> PersistentQuery | None:
        store = self._store
        config = self._config.with_overrides(self._overrides)
        match statement:
            case DefineVariable():
                self.variables[statement.name.upper()] = statement.value
            case UndefineVariable():
                self.variables.pop(statement.name.upper(), None)
            case SetProperty():
                name = statement.property_name
                self._config.validate_override(name, statement.value)
                self._overrides[canonical(name) or name] = statement.value
            case UnsetProperty():
                self._overrides.pop(find(statement.property_name).name, None)
            case CreateFunction():
                self._unknown_functions.add(statement.name.upper())
            case DropFunction():
                self._unknown_functions.discard(statement.name.upper())
            case CreateType():
                store.add_type(statement.name, analyzer.bind_type(statement.data_type, store))
            case DropType():
                store.drop_type(statement.name)
            case CreateView():
                analyzer.check_view(statement, store, config)
                store.add_view(statement.name, grammar.render(statement.query))
            case DropView():
                store.drop_view(statement.name)
            case CreateIndex():
                store.add_index(analyzer.bind_create_index(statement, store, config))
            case DropIndex():
                store.drop_index(statement.name)
            case DropSource():
                if not statement.if_exists:
                    store.require(statement.name, place(statement.this))
                store.drop(statement.name)
            case CreateSource() | CreateAsSelect() if statement.if_not_exists and store.find(statement.name):
                pass
            case CreateSource():
                self._create(statement, config)
            case AlterSource():
                store.add(analyzer.bind_alter_source(statement, store))
            case RefreshSchema():
                # which columns it adds only the registry knows
                self._unknown.add(store.require(statement.name, place(statement.this)).name)
            case InsertValues():
                analyzer.bind_insert_values(statement, store, config)
            case RowChange():
                analyzer.bind_row_change(statement, store, config)
            case CreateSinkAs():
                kind = analyzer.kind_of_result(statement, store, config)
                bound = self._add(statement.source(kind))
                analyzer.bind_create_sink(statement, store)
                return bound
            case CreateSink():
                analyzer.bind_create_sink(statement, store)
            case CreateAsSelect() | InsertSelect():
                bound = analyzer.bind_persistent(statement, store, config)
                lower(bound.root, bound.sink, config, "query", by_event_time=bound.by_event_time)
                if bound.creates_sink:
                    store.add(bound.sink)
                    self._unknown.discard(bound.sink.name)
                return bound
            case Query():
                read = analyzer.bind_read(statement.query, store, config)
                if isinstance(read, Feed):
                    lower_transient(read.root, read.output, "transient", config, "query")
        return None

    def _create(self, statement: CreateSource, config: Config) -> None:
        existing = self._store.find(statement.name)
        if existing is not None and not statement.or_replace:
            kind = existing.kind.lower()
            raise KsqlError(
                "INVALID_STATEMENT",
                position=place(statement.this),
                reason=f"Cannot add {statement.kind.lower()} '{existing.name}': A {kind} with the same name "
                "already exists",
            )
        statement = analyzer.infer_columns(statement, config, None)
        source = analyzer.bind_create_source(statement, self._store, config)
        analyzer.bind_origin(statement, source, self._store)
        self._store.add(replace(source, statement=statement.source_text))
        self._unknown.discard(source.name)


#: statements about one stream or table
_WITH_TARGET = (
    AlterSource,
    AssertTombstone,
    AssertValues,
    CreateAsSelect,
    DropSource,
    InsertSelect,
    InsertValues,
    RefreshSchema,
    RowChange,
)
