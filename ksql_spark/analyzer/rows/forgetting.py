"""FORGET: which rows a table loses, and which groups the state of its query (ADR 85)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ksql_spark.analyzer.base import settings
from ksql_spark.analyzer.base.failures import invalid, place, within_statement
from ksql_spark.analyzer.base.scope import BoundRelation, Scope
from ksql_spark.analyzer.definitions.write_rules import check_writable, writer_of
from ksql_spark.analyzer.expressions.binding import bind_predicate
from ksql_spark.analyzer.reads.lookups import check_key_values, find_lookups, lists_keys
from ksql_spark.expressions import Cast, ColumnRef, Expression
from ksql_spark.grammar.statements.lifecycle import Forget
from ksql_spark.metastore.sources import TABLE, DataSource
from ksql_spark.metastore.store import MetaStore
from ksql_spark.plan.nodes import Aggregate, Filter, Node, Project, Source
from ksql_spark.plan.queries import Lookup, PersistentQuery
from ksql_spark.plan.trees import walk


@dataclass(frozen=True)
class Forgetting:
    """What FORGET removes.

    Args:
        rows: finds the rows of the table; it has no items.
        groups: for each key the values by which the table's query groups, in its order and types; None: no
            query maintains the table.
        names: the names of these values in the query.
    """

    rows: Lookup
    groups: tuple[tuple[Expression, ...], ...] | None
    names: tuple[str, ...] = ()

    @property
    def source(self) -> DataSource:
        """The table."""
        return self.rows.source


def bind_forgetting(
    statement: Forget, query: PersistentQuery | None, metastore: MetaStore, config: Mapping[str, Any]
) -> Forgetting:
    """Bind FORGET.

    Args:
        statement: the statement.
        query: what maintains the table; None: nothing does.
        metastore: the streams and tables.
        config: the properties.

    Raises:
        KsqlError: INVALID_STATEMENT if it names a stream, or a table that would get its rows back, or if
            WHERE does not list keys.
    """
    with within_statement(statement):
        settings.check_lambdas(statement, config)
        source = metastore.require(statement.name, place(statement.this))
        if not source.is_table:
            raise invalid(
                f"{source.name} is a stream: Kafka deletes single records only where it compacts a topic.",
                statement.this,
                hint="Retention deletes old records. FORGET removes keys from tables.",
            )
        filled = writer_of(source, metastore)
        if filled is not None and filled is not source:
            raise invalid(
                f"{source.name} shows the topic of {filled.name}, which a query maintains.",
                statement.this,
                hint=f"FORGET FROM {filled.name} removes the keys from both.",
            )
        aggregate = None if query is None else _aggregate(query, statement)
        if query is None:
            check_writable(source, "forget rows of", config, statement.this)
        relation = BoundRelation(source.name, source.schema, TABLE)
        scope = Scope((relation,), types=metastore.types(), ansi=settings.is_ansi(config)).at("WHERE")
        predicate = bind_predicate(statement.where, scope)
        check_key_values(predicate, source, statement.where, config)
        keys = [column.name for column in source.schema.key]
        lookups = find_lookups(predicate, source) if lists_keys(predicate, source) else None
        if lookups is None:
            example = " AND ".join(f"{name} = …" for name in keys)
            raise invalid(
                f"WHERE of FORGET lists whole keys of {source.name}, and nothing else.",
                statement.where,
                hint=f"Write WHERE {example}, with IN or OR for several keys.",
            )
        rows = Lookup(source, lookups, predicate, (), frozenset())
        if aggregate is None:
            return Forgetting(rows, None)
        assert query is not None
        groups = []
        for group in aggregate.group_by:
            number = next(
                i
                for i, key in enumerate(_top(query).keys)
                if isinstance(key.expression, ColumnRef) and key.expression.name == group.name
            )
            groups.append([Cast(lookup.values[number], group.expression.type) for lookup in lookups])
        names = tuple(group.name for group in aggregate.group_by)
        return Forgetting(rows, tuple(zip(*groups, strict=True)), names)


def _top(query: PersistentQuery) -> Project:
    assert isinstance(query.root, Project)  # _aggregate has checked it
    return query.root


def _aggregate(query: PersistentQuery, statement: Forget) -> Aggregate:
    """The GROUP BY of a stream's rows of which the table's rows are.

    Raises:
        KsqlError: INVALID_STATEMENT; another step of the query keeps the table's rows.
    """
    below: Node | None = query.root.child if isinstance(query.root, Project) else None
    if isinstance(below, Filter):
        below = below.child
    name = query.sink.name
    if isinstance(below, Aggregate) and below.child.kind != TABLE:
        return below
    sources = (node.source for node in walk(query.root) if isinstance(node, Source))
    tables = sorted({source.name for source in sources if source.is_table})
    if tables:
        raise invalid(
            f"The rows of {name} follow from those of {', '.join(tables)}.",
            statement.this,
            hint=f"FORGET FROM {tables[0]} WHERE …: {name} follows by itself.",
        )
    raise invalid(
        f"FORGET is for tables that are declared, or made by GROUP BY of a stream; {name} is neither.",
        statement.this,
        hint="DROP it and create it again, once the stream no longer has the records.",
    )


__all__ = ["Forgetting", "bind_forgetting"]
