"""Statements through parser and analyzer, for tests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ksql_spark import analyzer, grammar
from ksql_spark.analyzer import Scope
from ksql_spark.expressions import Expression
from ksql_spark.grammar.nodes import Statement
from ksql_spark.grammar.statements.inserts import InsertSelect, InsertValues
from ksql_spark.grammar.statements.queries import Query
from ksql_spark.grammar.statements.rows import RowChange
from ksql_spark.grammar.statements.sources import AlterSource, CreateAsSelect, CreateSource
from ksql_spark.grammar.statements.types import CreateType
from ksql_spark.metastore.sources import DataSource
from ksql_spark.metastore.store import MetaStore
from ksql_spark.plan.queries import PersistentQuery
from ksql_spark.schema import Column, Schema
from ksql_spark.types import SqlType


def bind(text: str, store: MetaStore, **config: Any) -> Any:
    """What the analyzer makes of one statement."""
    return bind_statement(grammar.parse_one(text), store, config)


def bind_statement(statement: Statement, store: MetaStore, config: Mapping[str, Any]) -> Any:
    """What the analyzer makes of a parsed statement."""
    match statement:
        case CreateSource():
            statement = analyzer.infer_columns(statement, config, None)
            return analyzer.bind_create_source(statement, store, config)
        case CreateAsSelect() | InsertSelect():
            return analyzer.bind_persistent(statement, store, config)
        case InsertValues():
            return analyzer.bind_insert_values(statement, store, config)
        case RowChange():
            return analyzer.bind_row_change(statement, store, config)
        case AlterSource():
            return analyzer.bind_alter_source(statement, store)
        case CreateType():
            return analyzer.bind_type(statement.data_type, store)
        case Query():
            return analyzer.bind_read(statement.query, store, config)
    raise TypeError(f"{type(statement).__name__} is not bound")


def run(text: str, store: MetaStore, **config: Any) -> None:
    """Bind the statements of ``text`` and keep in ``store`` what they make."""
    for statement in grammar.parse(text):
        bound = bind_statement(statement, store, config)
        if isinstance(statement, CreateType):
            store.add_type(statement.name, bound)
        elif isinstance(bound, PersistentQuery):
            if bound.creates_sink:
                store.add(bound.sink)
        elif isinstance(bound, DataSource):
            store.add(bound)


def expression(text: str, **columns: SqlType) -> Expression:
    """The expression ``text`` over value columns with these types."""
    schema = Schema(tuple(Column(name, type_) for name, type_ in columns.items()))
    return analyzer.bind_expression(grammar.parse_expression(text), Scope.of(schema, "S"))
