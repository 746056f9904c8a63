"""MATCH_RECOGNIZE: the matches of a stream's rows as a relation (reference §6.17; beyond ksqlDB).

The operator knows rows, values of the rows that were mapped so far, and conditions over both. FIRST, LAST,
PREV and aggregates in DEFINE and MEASURES become such values, and MEASURES a projection of them.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from sqlglot import exp

from ksql_spark.analyzer.base.failures import check_comparable, invalid
from ksql_spark.analyzer.base.scope import BoundRelation, Scope
from ksql_spark.analyzer.expressions.aggregates import Aggregates
from ksql_spark.analyzer.expressions.binding import bind_expression, bind_predicate
from ksql_spark.analyzer.relations.binding import Context, From, bind_from, build_from
from ksql_spark.analyzer.select.deduplication import is_rowtime
from ksql_spark.analyzer.select.patterns import automaton, is_in_each_match, symbols_of
from ksql_spark.analyzer.select.select_items import Item, check_typed
from ksql_spark.analyzer.select.window_functions import AGGREGATES, MAX_ROWS
from ksql_spark.errors import nearest
from ksql_spark.expressions import ColumnRef, Expression, Literal, columns_in, name_text
from ksql_spark.grammar import nodes, render
from ksql_spark.metastore.sources import STREAM
from ksql_spark.plan.clauses import FINAL, NamedExpression, PatternAggregate, RowPattern, written_out
from ksql_spark.plan.nodes import MatchRecognize, Node, Project
from ksql_spark.plan.patterns import PatternValue, PreviousValue
from ksql_spark.schema import RESERVED_COLUMNS, ROWTIME
from ksql_spark.types import STRING

#: prefixes of internal columns: of each row, of rows before it, of the rows of a match so far
ROW, PREVIOUS, VALUE = "KSQL_ROW_", "KSQL_PREV_", "KSQL_MATCH_"
#: the operator writes the symbol of a row as one byte
MAX_SYMBOLS = 100
_FORM = "Write MATCH_RECOGNIZE (PARTITION BY column ORDER BY ROWTIME MEASURES … PATTERN (…) WITHIN 1 HOUR …)."
_REFUSED = {
    "NEXT": "NEXT looks at a row that has not come yet: map that row to a symbol of its own.",
    "MATCH_NUMBER": "MATCH_NUMBER is not supported: a key would have to be remembered forever.",
    "MATCH_PROCTIME": "MATCH_PROCTIME is not supported: use MATCH_ROWTIME(), the time of the last row.",
}


def bind_match(node: nodes.MatchRecognize, context: Context) -> Node:
    """The plan of MATCH_RECOGNIZE: its key is PARTITION BY, its values are MEASURES.

    With ALL ROWS PER MATCH the other columns of the input follow.

    Raises:
        KsqlError: the first rule that is broken, with its position.
    """
    source = bind_from(node.relation, context)
    if source.tree.kind != STREAM:
        raise invalid(
            "MATCH_RECOGNIZE is for streams: the rows of a table have no order.", node.relation,
            hint="Read the table's changes as a stream: CREATE STREAM … over its topic.",
        )  # fmt: skip
    if isinstance(source.tree, BoundRelation) and source.tree.window is not None:
        raise invalid("MATCH_RECOGNIZE cannot read a windowed stream.", node.relation)
    return _Binder(node, source).bind()


@dataclass(frozen=True)
class _RowScope(Scope):
    """The columns of one row: of any row, or of one mapped to a symbol; ``used`` collects which."""

    symbols: tuple[str, ...] = ()
    used: set[str] = field(default_factory=set)

    def resolve(self, alias: str, name: str, node: exp.Expr | None = None) -> Expression:
        if not alias and name in self.lambdas:
            return super().resolve(alias, name, node)
        if alias and alias not in self.symbols:
            raise _unknown_symbol(alias, self.symbols, node)
        self.used.add(alias)
        return super().resolve("", name, node)


@dataclass(frozen=True)
class _MatchScope(Scope):
    """The rows of a match, in MEASURES, or in the condition of ``symbol``."""

    binder: _Binder | None = None
    symbol: str | None = None
    is_final: bool = False

    def resolve(self, alias: str, name: str, node: exp.Expr | None = None) -> Expression:
        assert self.binder is not None
        if not alias and name in self.lambdas:
            return super().resolve(alias, name, node)
        if alias and alias not in self.binder.symbols:
            raise _unknown_symbol(alias, self.binder.symbols, node)
        column = super().resolve("", name, node)
        return self.binder.value(column, alias, self, is_first=False, offset=0)


def _unknown_symbol(name: str, symbols: tuple[str, ...], node: exp.Expr | None) -> Exception:
    near = nearest(name, symbols)
    hint = f"Did you mean {near}?" if near else f"It has {', '.join(symbols)}."
    return invalid(f"PATTERN has no symbol {name}.", node, hint=hint)


def _written(argument: Expression, symbol: str) -> str:
    """An expression over a row that was mapped to ``symbol``, as users write it."""
    names = {name: f"{name_text(symbol)}.{name_text(name)}" for name in columns_in(argument) if symbol}
    return str(written_out(argument, names))


class _Binder:
    """Binds one MATCH_RECOGNIZE."""

    def __init__(self, node: nodes.MatchRecognize, source: From) -> None:
        self.node = node
        self.source = source
        self.symbols = symbols_of(node.pattern)
        self.row: list[NamedExpression] = []
        self.previous: list[PreviousValue] = []
        self.values: list[PatternValue] = []
        self.aggregates: list[PatternAggregate] = []
        self.has_finals = False

    def bind(self) -> Node:
        node = self.node
        keys = self._keys()
        if len(node.order_by) != 1 or not is_rowtime(node.order_by[0], self.source):
            raise invalid(
                "The order of MATCH_RECOGNIZE is that of arrival: ORDER BY ROWTIME.",
                node.order_by[0] if node.order_by else node.pattern, hint=_FORM,
            )  # fmt: skip
        if len(self.symbols) > MAX_SYMBOLS:
            raise invalid(f"A pattern has at most {MAX_SYMBOLS} symbols.", node.pattern)
        states = automaton(node.pattern)
        skip_to = self._skip_to()
        if node.within is None:
            raise invalid(
                "MATCH_RECOGNIZE needs WITHIN: without it, partial matches would be kept forever.",
                node.pattern, hint=f"Write PATTERN ({render(node.pattern)}) WITHIN 1 HOUR.",
            )  # fmt: skip
        definitions = self._definitions()
        measures = self._measures(keys)
        pattern = RowPattern(
            render(node.pattern), states, tuple(self.row), tuple(self.previous), tuple(self.values),
            tuple(self.aggregates), definitions, node.within.milliseconds, node.skip, skip_to,
            bool(node.all_rows), self.has_finals,
        )  # fmt: skip
        match = MatchRecognize(build_from(self.source), keys, pattern)
        key_names = {key.name for key in keys}
        if node.all_rows:
            others = (c for c in match.child.schema.columns if c.name not in key_names)
            measures += (NamedExpression(c.name, ColumnRef(c.name, c.type)) for c in others)
        return Project(match, tuple(NamedExpression(k.name, k) for k in keys), tuple(measures))

    def _keys(self) -> tuple[ColumnRef, ...]:
        if not self.node.partition_by:
            raise invalid("MATCH_RECOGNIZE needs PARTITION BY.", self.node.pattern, hint=_FORM)
        keys: list[ColumnRef] = []
        names = [c.name for c in self.source.relations[0].schema.columns]
        for written in self.node.partition_by:
            key = bind_expression(written, self.source.scope.at("PARTITION BY"))
            if not isinstance(key, ColumnRef) or key.name not in names:
                raise invalid(
                    f"PARTITION BY of MATCH_RECOGNIZE takes columns, got {key}.", written,
                    hint="Compute it in a sub-query: FROM (SELECT *, expression AS name FROM s) …",
                )  # fmt: skip
            check_comparable(key.type, "PARTITION BY", f"{key} ({key.type})", written)
            if key in keys:
                raise invalid(f"Duplicate PARTITION BY column: {key}.", written)
            keys.append(key)
        return tuple(keys)

    def _skip_to(self) -> str | None:
        """The symbol of AFTER MATCH SKIP TO."""
        written = self.node.skip_to
        if written is None:
            return None
        name = str(written.this)
        if name not in self.symbols:
            raise _unknown_symbol(name, self.symbols, written)
        if not is_in_each_match(self.node.pattern, name):
            raise invalid(f"AFTER MATCH SKIP {self.node.skip} {name}: a match may lack {name}.", written)
        return name

    def _definitions(self) -> tuple[NamedExpression, ...]:
        definitions: dict[str, NamedExpression] = {}
        for written in self.node.definitions:
            name = written.symbol
            if name not in self.symbols:
                raise _unknown_symbol(name, self.symbols, written.this)
            if name in definitions:
                raise invalid(f"DEFINE has two conditions of {name}: join them by AND.", written.this)
            condition = bind_predicate(written.condition, self._scope("DEFINE", name))
            definitions[name] = NamedExpression(name, condition)
        return tuple(definitions.values())

    def _measures(self, keys: tuple[ColumnRef, ...]) -> list[NamedExpression]:
        if not self.node.measures and not self.node.all_rows:
            raise invalid(
                "ONE ROW PER MATCH needs MEASURES: a match has no other columns.", self.node.pattern
            )
        columns = self.source.relations[0].schema.columns
        names = {c.name for c in columns} if self.node.all_rows else {key.name for key in keys}
        measures: list[NamedExpression] = []
        for item in self.node.measures:
            name = item.alias_name
            assert name is not None  # the grammar requires one
            if name in names:
                raise invalid(f"There is a column {name} already: give the measure another name.", item)
            if name in RESERVED_COLUMNS:
                raise invalid(f"{name} is the name of a pseudo column: give the measure another one.", item)
            bound = bind_expression(item.this, self._scope("MEASURES", None))
            check_typed([Item(name, bound, item)])
            names.add(name)
            measures.append(NamedExpression(name, bound))
        return measures

    def _scope(self, clause: str, symbol: str | None) -> _MatchScope:
        outer = self.source.scope
        return _MatchScope(
            outer.relations, types=outer.types, clause=clause, aggregate=self._aggregate,
            navigation=self._navigate, match_value=self._match_value, show=self._show, binder=self,
            symbol=symbol, ansi=outer.ansi, untyped=outer.untyped,
        )  # fmt: skip

    def _show(self, node: Expression) -> str:
        """``node`` as users write it, for messages."""
        values = {v.name: v.text for v in self.values} | {a.call.name: a.text for a in self.aggregates}
        rows = {r.name: str(r.expression) for r in self.row} | {p.name: p.text for p in self.previous}
        return str(written_out(node, rows | values))

    # ---- values -----------------------------------------------------------------------------------------

    def value(
        self, argument: Expression, symbol: str, scope: _MatchScope, *, is_first: bool, offset: int,
        back: int = 0,
    ) -> Expression:  # fmt: skip
        """A reference to a value of a row that was mapped to ``symbol`` ("": to any), or of one before it.

        In a condition, the last such row may be the current one. ``back``: of PREV.
        """
        text = _written(argument, symbol)
        is_plain = back > 0 and not is_first and offset == 0
        if not is_plain:
            text = f"{'FIRST' if is_first else 'LAST'}({text}{f', {offset}' if offset else ''})"
        if back:
            text = f"PREV({text}{f', {back}' if back > 1 else ''})"
            argument = self._previous(argument, back)
        is_current = scope.symbol is not None and symbol in ("", scope.symbol)
        if not is_first and offset == 0 and is_current:
            return self._of_row(argument)
        column = self._of_row(argument)
        return self._reference(
            PatternValue("", is_first, symbol or None, offset, column, column.type, text), scope
        )

    def _reference(self, pattern_value: PatternValue, scope: _MatchScope) -> ColumnRef:
        value = next((v for v in self.values if replace(pattern_value, name=v.name) == v), None)
        if value is None:
            value = replace(pattern_value, name=f"{VALUE}{len(self.values) + len(self.aggregates)}")
            self.values.append(value)
        return self._column(value.name, value, scope)

    def _column(
        self, name: str, referenced: PatternValue | PatternAggregate, scope: _MatchScope
    ) -> ColumnRef:
        is_final = scope.is_final and bool(self.node.all_rows)
        self.has_finals |= is_final
        type_ = referenced.type if isinstance(referenced, PatternValue) else referenced.call.type
        return ColumnRef(name + FINAL * is_final, type_)

    def _of_row(self, argument: Expression) -> ColumnRef:
        """The column of each row with this value; a reference to one stays as it is."""
        if isinstance(argument, ColumnRef) and argument.name.startswith(PREVIOUS):
            return argument
        for item in self.row:
            if item.expression == argument:
                return ColumnRef(item.name, argument.type)
        self.row.append(NamedExpression(f"{ROW}{len(self.row)}", argument))
        return ColumnRef(self.row[-1].name, argument.type)

    def _argument(self, node: exp.Expr, scope: Scope) -> tuple[Expression, str]:
        """An expression over one row, and the symbol that this row is mapped to ("": any)."""
        inside = self._row_scope(scope)
        bound = bind_expression(node, inside)
        return bound, self._only_symbol(inside, node)

    def _row_scope(self, scope: Scope) -> _RowScope:
        outer = self.source.scope
        return _RowScope(
            outer.relations, lambdas=scope.lambdas, types=outer.types, clause=scope.clause,
            navigation=self._refuse_navigation, symbols=self.symbols, ansi=outer.ansi, untyped=outer.untyped,
        )  # fmt: skip

    def _only_symbol(self, scope: _RowScope, node: exp.Expr) -> str:
        if len(scope.used) > 1:
            shown = " and ".join(sorted(f"{s}.column" if s else "column" for s in scope.used))
            raise invalid(f"FIRST, LAST, PREV and aggregates take values of one row, got {shown}.", node)
        return next(iter(scope.used), "")

    def _refuse_navigation(self, node: nodes.FunctionCall, _: Scope) -> Expression:
        raise invalid(f"{node.name} is not allowed here.", node, hint="PREV(LAST(A.x, 1), 2) is.")

    # ---- calls ------------------------------------------------------------------------------------------

    def _navigate(self, node: nodes.FunctionCall, scope: Scope) -> Expression:
        assert isinstance(scope, _MatchScope)
        name, arguments = node.name, node.arguments
        if name in _REFUSED:
            raise invalid(_REFUSED[name], node)
        if node.distinct or node.condition is not None:
            raise invalid(f"{name} has no DISTINCT and no FILTER.", node)
        if name in ("CLASSIFIER", "MATCH_ROWTIME"):
            return self._of_match(node, scope)
        argument, symbol, is_first, offset = self._logical(node, scope)
        if name != "PREV":
            return self.value(argument, symbol, scope, is_first=is_first, offset=offset)
        back = self._offset(arguments[1]) if len(arguments) > 1 else 1
        return self.value(argument, symbol, scope, is_first=is_first, offset=offset, back=back)

    def _of_match(self, node: nodes.FunctionCall, scope: _MatchScope) -> Expression:
        if node.arguments:
            raise invalid(f"{node.name} takes no arguments.", node)
        if node.name == "MATCH_ROWTIME":
            if scope.symbol is not None:
                raise invalid("MATCH_ROWTIME() is for MEASURES: in DEFINE, use ROWTIME.", node)
            return scope.resolve("", ROWTIME, node)
        if scope.symbol is not None:
            return Literal(scope.symbol, STRING)
        return self._reference(PatternValue("", False, None, 0, None, STRING, "CLASSIFIER()"), scope)

    def _logical(self, node: nodes.FunctionCall, scope: _MatchScope) -> tuple[Expression, str, bool, int]:
        """Bind FIRST, LAST or PREV: return the value, its symbol, whether it is FIRST, and the distance."""
        arguments = node.arguments
        if not 1 <= len(arguments) <= 2 or isinstance(arguments[0], exp.Star):
            raise invalid(f"{node.name} takes a value and how many rows to skip: {node.name}(A.x, 1).", node)
        inner = arguments[0]
        if node.name == "PREV":
            if isinstance(inner, nodes.FunctionCall) and inner.name in ("FIRST", "LAST"):
                return self._logical(inner, scope)
            argument, symbol = self._argument(inner, scope)
            return argument, symbol, False, 0
        argument, symbol = self._argument(inner, scope)
        if not columns_in(argument):
            raise invalid(f"{node.name} needs a column, as in {node.name}(A.x).", node)
        offset = self._offset(arguments[1]) if len(arguments) > 1 else 0
        return argument, symbol, node.name == "FIRST", offset

    def _offset(self, node: exp.Expr) -> int:
        if not isinstance(node, nodes.IntegerLiteral) or node.value > MAX_ROWS:
            raise invalid(f"This needs a number of rows from 0 to {MAX_ROWS}.", node)
        return node.value

    def _previous(self, argument: Expression, back: int) -> Expression:
        of = self._of_row(argument)
        text = f"PREV({_written(argument, '')}{f', {back}' if back > 1 else ''})"
        previous_value = PreviousValue("", of.name, back, of.type, text)
        value = next((p for p in self.previous if replace(previous_value, name=p.name) == p), None)
        if value is None:
            value = replace(previous_value, name=f"{PREVIOUS}{len(self.previous)}")
            self.previous.append(value)
        return ColumnRef(value.name, value.type)

    def _match_value(self, node: nodes.MatchValue, scope: Scope) -> Expression:
        assert isinstance(scope, _MatchScope)
        if scope.symbol is not None and node.is_final:
            raise invalid("FINAL is for MEASURES: DEFINE sees the rows so far.", node)
        return bind_expression(node.this, replace(scope, is_final=bool(node.is_final)))

    def _aggregate(self, node: nodes.FunctionCall, scope: Scope) -> Expression:
        assert isinstance(scope, _MatchScope)
        if node.name not in AGGREGATES or node.distinct or node.condition is not None:
            shown = f"{node.name}(DISTINCT …)" if node.distinct else node.name
            shown += " with FILTER" * (node.condition is not None)
            raise invalid(f"{shown} is not for the rows of a match: {', '.join(AGGREGATES)} are.", node)
        inside = self._row_scope(scope)
        own = Aggregates()
        own.bind(node, inside)
        symbol = self._only_symbol(inside, node) or None
        call = own.calls[0]
        inner = ", ".join(_written(a, symbol or "") for a in call.arguments) or "*"
        text = f"{call.function}({inner})"
        aggregate = PatternAggregate(symbol, call, text)
        for existing in self.aggregates:
            if replace(aggregate, call=replace(call, name=existing.call.name)) == existing:
                return self._column(existing.call.name, existing, scope)
        name = f"{VALUE}{len(self.values) + len(self.aggregates)}"
        aggregate = replace(aggregate, call=replace(call, name=name))
        self.aggregates.append(aggregate)
        return self._column(name, aggregate, scope)
