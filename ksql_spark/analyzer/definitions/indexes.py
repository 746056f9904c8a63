"""CREATE INDEX (beyond ksqlDB): which columns of which tables can be in an index."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlglot import exp

from ksql_spark.analyzer.base.failures import invalid, place, within_statement
from ksql_spark.analyzer.base.settings import is_materialised
from ksql_spark.expressions import name_text
from ksql_spark.grammar.statements.indexes import CreateIndex
from ksql_spark.metastore.indexes import Index, Path, at_path, has_order
from ksql_spark.metastore.sources import DataSource
from ksql_spark.metastore.store import MetaStore
from ksql_spark.types import Struct


def bind_create_index(statement: CreateIndex, metastore: MetaStore, config: Mapping[str, Any]) -> Index:
    """The index that ``statement`` describes.

    Raises:
        KsqlError: an unknown table or column; a table without a view; a column whose values have no order.
    """
    with within_statement(statement):
        source = metastore.require(statement.table_name, place(statement.table))
        name = name_text(source.name)
        if not source.is_table:
            raise invalid(
                f"{name} is a stream, and an index is one of a table.", statement.table,
                hint="CREATE TABLE … AS SELECT … GROUP BY … makes a table of a stream.",
            )  # fmt: skip
        if not is_materialised(source, config):
            raise invalid(
                f"An index is a part of a table's view, and {name} has none.", statement.table,
                hint=f"CREATE TABLE QUERYABLE_{source.name} AS SELECT * FROM {name}; makes a table with one.",
            )  # fmt: skip
        paths = statement.paths
        for number, (path, node) in enumerate(zip(paths, statement.columns, strict=True)):
            _check_column(source, path, node)
            if path in paths[:number]:
                raise invalid(f"The index names {_text(path)} twice.", node, hint="Leave out one of them.")
        return Index(statement.name, source.name, paths)


def _check_column(source: DataSource, path: Path, node: exp.Expr) -> None:
    bound = at_path(source, path)
    if bound is None:
        reason, hint = source.lacks(*path)
        raise invalid(reason, node, hint=hint)
    if has_order(bound.type):
        return
    hint = "Index numbers, texts, bytes, times and booleans."
    if isinstance(bound.type, Struct):
        hint = f"Index a field of it: {_text((*path, bound.type.fields[0].name))}."
    raise invalid(
        f"An index cannot have {_text(path)}: values of type {bound.type} have no order.", node, hint=hint
    )


def _text(path: Path) -> str:
    return "->".join(map(name_text, path))
