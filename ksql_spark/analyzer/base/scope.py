"""Scopes: resolve the names in a query to columns, pseudo columns and lambda parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol

from sqlglot import exp

from ksql_spark.analyzer.base.failures import failure
from ksql_spark.errors import KsqlError, nearest
from ksql_spark.expressions import ColumnRef, Expression, LambdaRef, OuterRef
from ksql_spark.grammar import render
from ksql_spark.grammar.nodes import (
    Exists,
    FunctionCall,
    InQuery,
    MatchValue,
    ScalarQuery,
    Select,
    SelectItem,
    WindowFunction,
)
from ksql_spark.schema import PSEUDO_COLUMNS, WINDOW_BOUNDS, Schema
from ksql_spark.types import SqlType, Struct

if TYPE_CHECKING:
    from ksql_spark.metastore.sources import DataSource, Windowing
    from ksql_spark.plan.nodes import Node


@dataclass(frozen=True)
class BoundRelation:
    """One relation of FROM: a source or a sub-query.

    Args:
        alias: the name that qualifies its columns.
        schema: its columns under their own names.
        kind: STREAM or TABLE.
        window: the window in its keys, or None.
        prefixed: it is part of a join: its columns are called ``<ALIAS>_<COLUMN>``.
        hidden: pseudo columns and window bounds, by name.
        source: the stream or table; None for a sub-query.
        node: the sub-query's plan; None for a source.
        place: its syntax node, for errors.
        parameters: LATERAL: expressions over the relations before it -> the parameters with their values.
    """

    alias: str
    schema: Schema
    kind: str
    window: Windowing | None = None
    prefixed: bool = False
    hidden: Mapping[str, SqlType] = field(default_factory=dict)
    source: DataSource | None = None
    node: Node | None = None
    place: exp.Expr | None = None
    parameters: Mapping[Expression, OuterRef] = field(default_factory=dict)

    def internal(self, name: str) -> str:
        """The unique name of the column ``name`` in the joined relation."""
        return f"{self.alias}_{name}" if self.prefixed else name

    def find(self, name: str) -> SqlType | None:
        """The type of the column or pseudo column ``name``, or None."""
        column = self.schema.find(name)
        return column.type if column is not None else self.hidden.get(name)


def hidden_columns(window: Windowing | None) -> dict[str, SqlType]:
    """The pseudo columns of a source's records, and window bounds if its keys are windowed."""
    return PSEUDO_COLUMNS | (WINDOW_BOUNDS if window else {})


#: binds a call of an aggregate or table function: returns a reference to its result
CallRule = Callable[[FunctionCall, "Scope"], Expression]


class Outer(Protocol):
    """The names around a sub-query."""

    def has(self, alias: str, name: str) -> bool:
        """Whether a relation is called ``alias``; without one, whether a relation has the column."""

    def resolve(self, alias: str, name: str, node: exp.Expr | None = None) -> Expression:
        """As ``Scope.resolve``: what the sub-query reads."""


@dataclass
class Correlation:
    """The rows around a sub-query over complete inputs: what it reads of them becomes its parameters.

    Args:
        scope: the names around it.
        numbers: new numbers for parameters.
        parameters: expressions over these rows -> the parameters with their values.
    """

    scope: Scope
    numbers: Iterator[int]
    parameters: dict[Expression, OuterRef] = field(default_factory=dict)

    def has(self, alias: str, name: str) -> bool:
        """As ``Outer.has``."""
        return self.scope.has(alias, name)

    def resolve(self, alias: str, name: str, node: exp.Expr | None = None) -> Expression:
        """The parameter with the value of a column."""
        value = self.scope.resolve(alias, name, node)
        if isinstance(value, OuterRef):
            shown = f"{alias}.{name}" if alias else name
            reason = (
                f"{shown} is two queries away: a sub-query reads the columns of the query right around it."
            )
            raise failure("INVALID_STATEMENT", node, reason=reason, hint="Select it in the query between.")
        return self.parameter(value)

    def parameter(self, value: Expression) -> Expression:
        """The parameter with the value of an expression over the rows around the sub-query."""
        if value not in self.parameters:
            self.parameters[value] = OuterRef(next(self.numbers), value.type)
        return self.parameters[value]


@dataclass(frozen=True)
class Scope:
    """The names that an expression may use.

    Args:
        relations: the relations of FROM.
        extra: columns of no relation: a join's ROWKEY, the bounds of an aggregate's window.
        lambdas: parameters of the lambdas around the expression.
        types: custom types, for CAST.
        clause: the expression's clause, for messages: SELECT, WHERE, JOIN ON …
        named: (alias, name) of every pseudo column in expressions bound so far; shared by derived scopes.
        aggregate: binds aggregate calls; None if they are not allowed.
        table_function: binds calls of table functions; None if they are not allowed.
        window_function: binds calls with OVER; None if they are not allowed.
        sub_query: binds sub-queries as values; None if they are not allowed.
        grouping: binds calls of GROUPING; None if there are no grouping sets.
        navigation: binds calls that look at rows of a match; None if there is no match.
        match_value: binds FINAL and RUNNING; None if they are not allowed.
        forbidden: names that are not allowed here -> error message, with ``{clause}`` for the clause.
        show: the text of a bound expression for messages.
        merged: the columns of USING, by name.
        outer: the names around a sub-query, for those that its own relations lack.
        ansi: whether NULL in conditions has the meaning of the SQL standard.
        untyped: whether a text literal takes the type of what it is compared with.
        postgres: whether functions, operators and orders are PostgreSQL's.
        is_complete: the relations are complete inputs.
    """

    relations: tuple[BoundRelation, ...] = ()
    extra: Mapping[str, SqlType] = field(default_factory=dict)
    lambdas: Mapping[str, SqlType] = field(default_factory=dict)
    types: Mapping[str, SqlType] = field(default_factory=dict)
    clause: str = "SELECT"
    named: set[tuple[str, str]] = field(default_factory=set)
    aggregate: CallRule | None = None
    table_function: CallRule | None = None
    window_function: Callable[[WindowFunction, Scope], Expression] | None = None
    sub_query: Callable[[ScalarQuery | Exists | InQuery, Scope], Expression] | None = None
    grouping: CallRule | None = None
    navigation: CallRule | None = None
    match_value: Callable[[MatchValue, Scope], Expression] | None = None
    forbidden: Mapping[str, str] = field(default_factory=dict)
    show: Callable[[Expression], str] = str
    merged: Mapping[str, Expression] = field(default_factory=dict)
    outer: Outer | None = None
    ansi: bool = False
    untyped: bool = False
    postgres: bool = False
    is_complete: bool = False

    @classmethod
    def of(cls, schema: Schema, alias: str = "", kind: str = "STREAM") -> Scope:
        """The scope of one relation with the columns of ``schema``."""
        return cls((BoundRelation(alias, schema, kind, hidden=dict(PSEUDO_COLUMNS)),))

    def at(self, clause: str) -> Scope:
        """Return this scope for another clause, in which only scalar functions are allowed."""
        return replace(self, clause=clause, aggregate=None, table_function=None, window_function=None)

    @property
    def problem(self) -> str:
        """The beginning of messages about types."""
        return {"SELECT": "Invalid Select: ", "WHERE": "Invalid Predicate: "}.get(self.clause, "")

    def with_lambda(self, parameters: Mapping[str, SqlType]) -> Scope:
        """The scope of a lambda's body."""
        return replace(self, lambdas={**self.lambdas, **parameters}, sub_query=None)

    def relation(self, alias: str, node: exp.Expr | None = None) -> BoundRelation:
        """The relation called ``alias``.

        Raises:
            KsqlError: ALIAS_UNKNOWN with the nearest name.
        """
        match = next((x for x in self.relations if x.alias == alias), None)
        if match is None:
            aliases = [x.alias for x in self.relations if x.alias]
            there = f"There are: {', '.join(aliases)}." if aliases else None
            hint = self._did_you_mean(alias, aliases) or there
            raise failure("ALIAS_UNKNOWN", node, name=alias, hint=hint)
        return match

    def is_column(self, name: str) -> bool:
        """Whether the unqualified ``name`` is a column here."""
        return name in self.lambdas or name in self.extra or any(x.find(name) for x in self.relations)

    def resolve(self, alias: str, name: str, node: exp.Expr | None = None) -> Expression:
        """The column or lambda parameter ``alias.name``, or ``name`` if ``alias`` is "".

        Raises:
            KsqlError: COLUMN_UNKNOWN and ALIAS_UNKNOWN with the nearest name, COLUMN_AMBIGUOUS.
        """
        if name in self.forbidden:
            raise failure("INVALID_STATEMENT", node, reason=self.forbidden[name].format(clause=self.clause))
        if not alias and name in self.lambdas:
            return LambdaRef(name, self.lambdas[name])
        if name in self.extra and (not alias or name in WINDOW_BOUNDS):
            if alias:
                self.relation(alias, node)
            return ColumnRef(name, self.extra[name])
        if not alias and name in self.merged:
            return self.merged[name]
        if self.outer is not None and not self._has(alias, name) and self.outer.has(alias, name):
            return self.outer.resolve(alias, name, node)
        if alias and alias not in (x.alias for x in self.relations):
            self._check_struct(alias, name, node)
        candidates = (self.relation(alias, node),) if alias else self.relations
        matches = [(relation, type_) for relation in candidates if (type_ := relation.find(name)) is not None]
        if len(matches) > 1:
            places = " or ".join(f"{relation.alias}.{name}" for relation, _ in matches)
            raise failure("COLUMN_AMBIGUOUS", node, name=name, places=places)
        if not matches:
            raise self._unknown(alias, name, node)
        relation, type_ = matches[0]
        if relation.schema.find(name) is None:
            self.named.add((relation.alias, name))
        return ColumnRef(relation.internal(name), type_)

    def has(self, alias: str, name: str) -> bool:
        """As ``Outer.has``, around this scope, too."""
        return self._has(alias, name) or (self.outer is not None and self.outer.has(alias, name))

    def _has(self, alias: str, name: str) -> bool:
        """Whether a relation here is called ``alias``; without one, whether a relation has the column."""
        return any(x.alias == alias for x in self.relations) if alias else self.is_column(name)

    def _check_struct(self, alias: str, name: str, node: exp.Expr | None) -> None:
        """Refuse ``column.member`` with what to write instead, if ``alias`` is a STRUCT column."""
        if any(isinstance(x.find(alias), Struct) for x in self.relations):
            hint = f"{alias} is a STRUCT column; write {alias}->{name} for its field."
            raise failure("ALIAS_UNKNOWN", node, name=alias, hint=hint)

    def _unknown(self, alias: str, name: str, node: exp.Expr | None) -> KsqlError:
        relations = [x for x in self.relations if not alias or x.alias == alias]
        names = [*self.extra, *(c.name for x in relations for c in x.schema.columns)]
        hint = None if alias else _alias_hint(name, node)
        hint = hint or self._did_you_mean(name, names)
        if hint is None and self.relations:
            hint = f"There are: {', '.join(names[:8])}{', …' if len(names) > 8 else ''}." if names else None
        if not alias and isinstance(node, exp.Column) and node.this.args.get("quoted"):
            texts = "If it is a string, write it in single quotes: "
            hint = f"{hint} {texts}'{name}'." if hint else f"{texts}'{name}'."
        shown = f"{alias}.{name}" if alias else name
        return failure("COLUMN_UNKNOWN", node, clause=self.clause, name=shown, hint=hint)

    @staticmethod
    def _did_you_mean(name: str, names: list[str]) -> str | None:
        near = nearest(name, names)
        return f"Did you mean {near}?" if near else None

    def display(self, internal: str) -> str:
        """``ALIAS.NAME`` of the column with the unique name ``internal``, for messages."""
        for relation in self.relations:
            for name in (*(c.name for c in relation.schema.columns), *relation.hidden):
                if relation.internal(name) == internal:
                    return f"{relation.alias}.{name}" if relation.alias else name
        return internal


def _alias_hint(name: str, node: exp.Expr | None) -> str | None:
    """Return a hint for the alias of a SELECT item, which other expressions of its query cannot use."""
    select = node.find_ancestor(Select) if node is not None else None
    for item in select.items if select is not None else ():
        is_named = isinstance(item, SelectItem) and item.alias_name == name
        if is_named and not any(column == node for column in item.find_all(exp.Column)):
            text = render(item.this)
            only = "only GROUP BY, HAVING, QUALIFY and ORDER BY can use"
            return f"{name} is an alias of the SELECT, which {only}: write {text}."
    return None
