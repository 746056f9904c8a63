"""Converts trees to text, for `grammar.render`.

The text is one line, with keywords in upper case, aliases with AS, and names quoted only if necessary. It
parses to the same tree. The rules of statements are in `grammar.statements`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

from sqlglot import exp
from sqlglot.generator import Generator

from ksql_spark.grammar import nodes
from ksql_spark.grammar.words import RESERVED, UNITS

_BARE = re.compile(r"[A-Z_][A-Z0-9_@]*|(?![0-9]+(?:E[0-9]+)?$)[0-9][A-Z0-9_@]+")

_OPERATORS: dict[type[exp.Expr], str] = {
    exp.Add: "+",
    exp.And: "AND",
    exp.Div: "/",
    exp.DPipe: "||",
    exp.EQ: "=",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.Mod: "%",
    exp.Mul: "*",
    exp.NEQ: "<>",
    exp.NullSafeEQ: "IS NOT DISTINCT FROM",
    exp.NullSafeNEQ: "IS DISTINCT FROM",
    exp.Or: "OR",
    exp.Sub: "-",
}


#: precedence of expressions (reference §1.1); others have the highest
_TIGHTNESS: dict[type[exp.Expr], int] = {
    exp.Or: 1,
    exp.And: 2,
    exp.Not: 3,
    **dict.fromkeys((exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ, exp.NullSafeNEQ), 4),
    **dict.fromkeys((exp.Is, exp.In, exp.Between, nodes.InQuery, nodes.Like), 4),
    exp.DPipe: 5,
    **dict.fromkeys((exp.Add, exp.Sub), 6),
    **dict.fromkeys((exp.Mul, exp.Div, exp.Mod), 7),
    **dict.fromkeys((exp.Neg, nodes.Pos), 8),
}
_PREDICATE, _VALUE, _SIGNED, _PRIMARY = 4, 5, 8, 9


class KsqlGenerator(Generator):
    """Renders with TRANSFORMS only: sqlglot does not look for `<name>_sql` methods of our nodes."""

    def tight(self, node: exp.Expr, least: int) -> str:
        """``node``, in parentheses if its precedence is lower than required.

        Parsed trees have nodes for their parentheses; only trees that are built otherwise may need more.
        """
        text = self.sql(node)
        return f"({text})" if _TIGHTNESS.get(type(node), _PRIMARY) < least else text

    def joined(self, items: Iterable[exp.Expr]) -> str:
        """``a, b, c``."""
        return ", ".join(self.sql(item) for item in items)

    def with_clause(self, items: list[nodes.Property]) -> str:
        """`` WITH (…)``, or nothing."""
        return f" WITH ({self.joined(items)})" if items else ""

    def columns(self, items: Iterable[exp.Expr]) -> str:
        """`` (…)``, or nothing."""
        text = self.joined(items)
        return f" ({text})" if text else ""


def quoted_name(name: str) -> str:
    """``name`` in backquotes."""
    return "`" + name.replace("`", "``") + "`"


def string(value: str) -> str:
    """``value`` as a string literal."""
    return "'" + value.replace("'", "''") + "'"


def type_text(node: nodes.TypeNode) -> str:
    """A type as text."""
    name = quoted_name(node.name) if node.quoted else node.name
    if node.arguments:
        return f"{name}<{', '.join(map(type_text, node.arguments))}>"
    if node.name == "STRUCT" and not node.quoted:
        fields = ", ".join(
            f"{quoted_name(f.name) if f.quoted else f.name} {type_text(f.type)}" for f in node.fields
        )
        return f"STRUCT<{fields}>" if fields else "STRUCT< >"
    if node.parameters:
        return f"{name}({', '.join(map(str, node.parameters))})"
    return name


def time_text(span: nodes.TimeSpan) -> str:
    """``10 SECONDS``."""
    return f"{span.amount} {span.unit}"


def window_text(window: nodes.Window) -> str:
    """``TUMBLING (SIZE …)``."""
    parts = [time_text(window.size) if window.kind == "SESSION" else f"SIZE {time_text(window.size)}"]
    if window.advance:
        parts.append(f"ADVANCE BY {time_text(window.advance)}")
    if window.step:
        parts.append(f"STEP {time_text(window.step)}")
    if window.zone:
        parts.append(f"TIME ZONE {string(window.zone.this)}")
    if window.offset:
        parts.append(f"OFFSET {time_text(window.offset)}")
    if window.retention:
        parts.append(f"RETENTION {time_text(window.retention)}")
    if window.grace:
        parts.append(f"GRACE PERIOD {time_text(window.grace)}")
    return f"{window.kind} ({', '.join(parts)})"


def frame_text(frame: nodes.Frame) -> str:
    """``ROWS …`` or ``RANGE …``."""
    if frame.time is not None:
        return f"RANGE INTERVAL {time_text(frame.time)} PRECEDING"

    def bound(rows: int | None, side: str) -> str:
        if rows is None:
            return f"UNBOUNDED {side}"
        return "CURRENT ROW" if rows == 0 else f"{abs(rows)} {'PRECEDING' if rows > 0 else 'FOLLOWING'}"

    kind, first = "RANGE" if frame.is_range else "ROWS", bound(frame.first, "PRECEDING")
    if frame.last == 0 and (frame.first is None or frame.first >= 0):
        return f"{kind} {first}"
    return f"{kind} BETWEEN {first} AND {bound(frame.last, 'FOLLOWING')}"


def within_text(within: nodes.Within) -> str:
    """``WITHIN …``."""
    if within.before == within.after:
        text = f"WITHIN {time_text(within.before)}"
    else:
        text = f"WITHIN ({time_text(within.before)}, {time_text(within.after)})"
    return f"{text} GRACE PERIOD {time_text(within.grace)}" if within.grace else text


def _identifier(_: KsqlGenerator, node: exp.Identifier) -> str:
    name = str(node.this)
    if node.quoted:
        return quoted_name(name)
    # a name that was not parsed may need quotes without being marked as quoted; units are bare arguments
    is_unit = name in UNITS and isinstance(node.parent, exp.Column)
    if not _BARE.fullmatch(name) or (name in RESERVED and not is_unit):
        return quoted_name(name)
    return name


def _column(self: KsqlGenerator, node: exp.Column) -> str:
    name = self.sql(node, "this")
    return f"{self.sql(node, 'table')}.{name}" if node.args.get("table") else name


def _literal(_: KsqlGenerator, node: exp.Literal) -> str:
    if node.is_string:
        return string(node.this)
    if isinstance(node, nodes.DecimalLiteral) and node.args.get("typed"):
        return f"DECIMAL {string(node.this)}"
    return str(node.this)


def _binary(self: KsqlGenerator, node: exp.Expr) -> str:
    # a loop over the left sides: a chain of a thousand ORs is valid
    parts: list[str] = []
    current: exp.Expr = node
    while True:
        tightness = _TIGHTNESS[type(current)]
        parts += (self.tight(current.expression, tightness + 1), _OPERATORS[type(current)])
        # comparisons cannot be chained, all other operators are left-associative
        least = tightness + 1 if tightness == _PREDICATE else tightness
        left = current.this
        if type(left) not in _OPERATORS or _TIGHTNESS[type(left)] < least:
            parts.append(self.tight(left, least))
            return " ".join(reversed(parts))
        current = left


def _signed(sign: str) -> Callable[[KsqlGenerator, exp.Expr], str]:
    def render(self: KsqlGenerator, node: exp.Expr) -> str:
        operand = self.tight(node.this, _SIGNED)
        return f"{sign} {operand}" if operand.startswith(sign) else sign + operand

    return render


def _not(self: KsqlGenerator, node: exp.Not) -> str:
    inner = node.this
    if type(inner) in _NEGATABLE:
        return _NEGATABLE[type(inner)](self, inner, "NOT ")
    return f"NOT {self.tight(inner, _TIGHTNESS[exp.Not])}"


def _is(self: KsqlGenerator, node: exp.Expr, negation: str = "") -> str:
    return f"{self.tight(node.this, _VALUE)} IS {negation}NULL"


def _in(self: KsqlGenerator, node: exp.Expr, negation: str = "") -> str:
    return f"{self.tight(node.this, _VALUE)} {negation}IN ({self.joined(node.expressions)})"


def _in_query(self: KsqlGenerator, node: exp.Expr, negation: str = "") -> str:
    return f"{self.tight(node.this, _VALUE)} {negation}IN ({self.sql(node, 'query')})"


def _between(self: KsqlGenerator, node: exp.Expr, negation: str = "") -> str:
    low, high = self.tight(node.args["low"], _VALUE), self.tight(node.args["high"], _VALUE)
    return f"{self.tight(node.this, _VALUE)} {negation}BETWEEN {low} AND {high}"


def _like(self: KsqlGenerator, node: exp.Expr, negation: str = "") -> str:
    escape = f" ESCAPE {self.sql(node, 'escape')}" if node.args.get("escape") else ""
    return f"{self.tight(node.this, _VALUE)} {negation}LIKE {self.tight(node.expression, _VALUE)}{escape}"


_NEGATABLE: dict[type[exp.Expr], Callable[[KsqlGenerator, exp.Expr, str], str]] = {
    exp.Is: _is,
    exp.In: _in,
    exp.Between: _between,
    nodes.InQuery: _in_query,
    nodes.Like: _like,
}


def _case(self: KsqlGenerator, node: exp.Case) -> str:
    operand = f" {self.sql(node, 'this')}" if node.this else ""
    whens = "".join(f" WHEN {self.sql(b, 'this')} THEN {self.sql(b, 'true')}" for b in node.args["ifs"])
    default = node.args.get("default")
    return f"CASE{operand}{whens}{f' ELSE {self.sql(default)}' if default is not None else ''} END"


def _cast(self: KsqlGenerator, node: exp.Cast) -> str:
    word = "TRY_CAST" if isinstance(node, exp.TryCast) else "CAST"
    return f"{word}({self.sql(node, 'this')} AS {type_text(node.args['to'])})"


def _call(self: KsqlGenerator, node: nodes.FunctionCall) -> str:
    distinct = "DISTINCT " if node.distinct else ""
    condition = f" FILTER (WHERE {self.sql(node.condition)})" if node.condition is not None else ""
    order = f"ORDER BY {self.joined(node.order_by)}" if node.order_by else ""
    inside, behind = (
        ("", f" WITHIN GROUP ({order})") if node.within_group else (f" {order}" * bool(order), "")
    )
    return f"{self.sql(node.this)}({distinct}{self.joined(node.arguments)}{inside}){behind}{condition}"


def _over(self: KsqlGenerator, node: nodes.WindowFunction) -> str:
    parts = [f"PARTITION BY {self.joined(node.partition_by)}"] if node.partition_by else []
    parts += [f"ORDER BY {self.joined(node.order_by)}"] if node.order_by else []
    parts += [frame_text(node.frame)] if node.frame is not None else []
    return f"{self.sql(node.this)} OVER ({' '.join(parts)})"


def _subscript(self: KsqlGenerator, node: nodes.Subscript) -> str:
    return f"{self.tight(node.this, _PRIMARY)}[{self.tight(node.index_expression, _VALUE)}]"


def _interval(_: KsqlGenerator, node: nodes.Interval) -> str:
    parts = " ".join(f"{a} {u}" for a, u in zip(node.amounts, node.units, strict=True))
    return f"INTERVAL {parts}" if len(node.units) == 1 and node.amounts[0] >= 0 else f"INTERVAL '{parts}'"


def _json_path(self: KsqlGenerator, node: nodes.JsonPath) -> str:
    return f"{self.tight(node.this, _PRIMARY)}:{node.path}"


def _lambda(self: KsqlGenerator, node: nodes.Lambda) -> str:
    names = self.joined(node.parameters)
    parameters = names if len(node.parameters) == 1 else f"({names})"
    return f"{parameters} => {self.sql(node.body)}"


def _repeat_text(node: nodes.PatternRepeat) -> str:
    shown = {(0, None): "*", (1, None): "+", (0, 1): "?"}.get((node.least, node.most))
    if shown is None and node.most == node.least:
        shown = f"{{{node.least}}}"
    shown = shown or f"{{{node.least},{'' if node.most is None else node.most}}}"
    return shown + "?" * bool(node.reluctant)


#: the classes of patterns; what stands in another one that is at least as tight needs brackets
_PATTERNS = (nodes.PatternChoice, nodes.PatternSequence, nodes.PatternRepeat, nodes.PatternSymbol)


def _pattern(self: KsqlGenerator, node: nodes.Pattern) -> str:
    def part(inner: nodes.Pattern) -> str:
        is_tighter = _PATTERNS.index(type(inner)) > _PATTERNS.index(type(node))
        return self.sql(inner) if is_tighter else f"({self.sql(inner)})"

    match node:
        case nodes.PatternRepeat():
            return part(node.this) + _repeat_text(node)
        case nodes.PatternSequence():
            return " ".join(map(part, node.parts))
        case nodes.PatternChoice():
            return " | ".join(map(part, node.parts))
    return self.sql(node, "this")


def _match_recognize(self: KsqlGenerator, node: nodes.MatchRecognize) -> str:
    parts = [f"PARTITION BY {self.joined(node.partition_by)}"] if node.partition_by else []
    parts += [f"ORDER BY {self.joined(node.order_by)}"] if node.order_by else []
    parts += [f"MEASURES {self.joined(node.measures)}"] if node.measures else []
    parts.append("ALL ROWS PER MATCH" if node.all_rows else "ONE ROW PER MATCH")
    to = "" if node.skip_to is None else f" {self.sql(node.skip_to)}"
    parts.append(f"AFTER MATCH SKIP {node.skip}{to} PATTERN ({self.sql(node.pattern)})")
    parts += [f"WITHIN {time_text(node.within)}"] if node.within is not None else []
    parts += [f"DEFINE {self.joined(node.definitions)}"] if node.definitions else []
    return _aliased(
        self, f"{self.sql(node.relation)} MATCH_RECOGNIZE ({' '.join(parts)})", node.alias_identifier
    )


def _aliased(self: KsqlGenerator, text: str, alias: exp.Identifier | None) -> str:
    return f"{text} AS {self.sql(alias)}" if alias is not None else text


def _log_of(self: KsqlGenerator, node: nodes.LogOf) -> str:
    return _aliased(self, f"{node.words} {self.sql(node.this)}", node.alias_identifier)


def _past(self: KsqlGenerator, node: nodes.PastSource) -> str:
    moments = [self.sql(moment) for moment in node.moments or ()]
    match node.which:
        case "AS OF" if node.position is not None:
            text = f"{self.sql(node.this)} AS OF POSITION {self.sql(node.position)}"
        case "AS OF":
            text = f"{self.sql(node.this)} AS OF TIMESTAMP {moments[0]}"
        case "CHANGES":
            text = f"CHANGES({self.sql(node.this)}) BETWEEN {moments[0]} AND {moments[1]}"
        case _:
            text = f"{node.which}({self.sql(node.this)})"
    return _aliased(self, text, node.alias_identifier)


def _all_columns(self: KsqlGenerator, node: nodes.AllColumns) -> str:
    return f"{self.sql(node.source)}.*" if node.source is not None else "*"


def _unnest(self: KsqlGenerator, node: nodes.Unnest) -> str:
    ordinality = " WITH ORDINALITY" if node.ordinality else ""
    alias = f"{self.sql(node.alias_identifier)} ({self.joined(node.columns)})"
    return f"{self.sql(node.left)} CROSS JOIN UNNEST({self.sql(node.array)}){ordinality} AS {alias}"


def _grace(node: nodes.SystemTime) -> str:
    return f" GRACE PERIOD {time_text(node.grace)}" if node.grace else ""


def _join(self: KsqlGenerator, node: nodes.Join) -> str:
    within = f" {within_text(node.within)}" if node.within else ""
    kind = {"INNER": "", "CROSS": "CROSS "}.get(node.kind, f"{node.kind} OUTER ")
    left, right = self.sql(node.left), self.sql(node.right)
    if node.system_time is not None and isinstance(node.right, nodes.AliasedSource):
        period = f"{self.sql(node.right.this)} FOR SYSTEM_TIME AS OF {self.sql(node.system_time.this)}"
        right = _aliased(self, period, node.right.alias_identifier) + _grace(node.system_time)
    on = f" USING ({self.joined(node.using)})" if node.using else ""
    on = f" ON {self.sql(node.on)}" if node.on is not None else on
    natural = "NATURAL " if node.natural else ""
    return f"{left} {natural}{kind}JOIN {right}{within}{on}"


def _named_query(self: KsqlGenerator, node: nodes.SubQuery) -> str:
    lateral = "LATERAL " if node.lateral else ""
    text = _aliased(self, f"{lateral}({self.sql(node.query)})", node.alias_identifier)
    return text + self.columns(node.columns)


def _values(self: KsqlGenerator, node: nodes.Values) -> str:
    return f"{_with(self, node)}VALUES {self.joined(node.rows)}{_tail(self, node)}"


def _order_item(self: KsqlGenerator, node: nodes.OrderItem) -> str:
    descending = " DESC" if node.descending else ""
    return f"{self.sql(node.this)}{descending}{f' NULLS {node.nulls}' if node.nulls else ''}"


def _with(self: KsqlGenerator, node: nodes.QueryNode) -> str:
    return f"WITH {self.joined(node.ctes)} " if node.ctes else ""


def _tail(self: KsqlGenerator, node: nodes.QueryNode) -> str:
    parts = []
    if node.order_by:
        parts.append(f"ORDER BY {self.joined(node.order_by)}")
    if node.emit:
        parts.append(f"EMIT {node.emit}" + (f" EVERY {time_text(node.every)}" if node.every else ""))
    if node.limit is not None:
        parts.append(f"LIMIT {node.limit}")
    if node.offset is not None:
        parts.append(f"OFFSET {node.offset}")
    return "".join(f" {part}" for part in parts)


def _grouping_set(self: KsqlGenerator, node: nodes.GroupingSet) -> str:
    text = self.joined(node.expressions)
    return text if len(node.expressions) == 1 else f"({text})"


def _select(self: KsqlGenerator, node: nodes.Select) -> str:
    distinct = "DISTINCT " if node.distinct else ""
    if node.distinct_on:
        distinct = f"DISTINCT ON ({self.joined(node.distinct_on)}) "
    parts = [f"{_with(self, node)}SELECT {distinct}{self.joined(node.items)}"]
    if node.relation is not None:
        parts.append(f"FROM {self.sql(node.relation)}")
    if node.within is not None:
        parts.append(f"WITHIN {time_text(node.within)}")
    if node.join_within is not None:
        parts.append(within_text(node.join_within))
    if node.window:
        parts.append(f"WINDOW {window_text(node.window)}")
    if node.where is not None:
        parts.append(f"WHERE {self.sql(node.where)}")
    if node.group_by:
        parts.append(f"GROUP BY {self.joined(node.group_by)}")
    if node.partition_by:
        parts.append(f"PARTITION BY {self.joined(node.partition_by)}")
    if node.having is not None:
        parts.append(f"HAVING {self.sql(node.having)}")
    if node.qualify is not None:
        parts.append(f"QUALIFY {self.sql(node.qualify)}")
    return " ".join(parts) + _tail(self, node)


def _set_operation(self: KsqlGenerator, node: nodes.SetOperation) -> str:
    def binds(operation: nodes.SetOperation) -> bool:
        return operation.operator.startswith("INTERSECT")

    def branch(side: nodes.QueryNode, *, is_right: bool) -> str:
        needs_brackets = bool(side.ctes or _tail(self, side))
        if isinstance(side, nodes.SetOperation):
            needs_brackets |= binds(side) <= binds(node) if is_right else binds(side) < binds(node)
        return f"({self.sql(side)})" if needs_brackets else self.sql(side)

    left, right = branch(node.left, is_right=False), branch(node.right, is_right=True)
    return f"{_with(self, node)}{left} {node.operator} {right}{_tail(self, node)}"


def _column_definition(self: KsqlGenerator, node: nodes.ColumnDefinition) -> str:
    parts = [self.sql(node.this), type_text(node.data_type)]
    if node.header is not None:
        parts.append(f"HEADER({self.sql(node.header)})")
    elif node.constraint:
        parts.append(node.constraint)
    if node.not_null:
        parts.append("NOT NULL")
    return " ".join([*parts, *map(self.sql, node.checks)])


def _check(self: KsqlGenerator, node: nodes.CheckConstraint) -> str:
    label = "" if node.label is None else f"CONSTRAINT {self.sql(node.label)} "
    return f"{label}CHECK ({self.sql(node.this)})"


def _constant(text: str) -> Callable[[KsqlGenerator, exp.Expr], str]:
    return lambda self, node: text


#: node class -> function that renders it
EXPRESSIONS: dict[type[exp.Expr], Callable[[Any, Any], str]] = {
    **{node: _binary for node in _OPERATORS},
    exp.Between: _between,
    exp.Boolean: lambda self, node: "TRUE" if node.this else "FALSE",
    exp.Case: _case,
    exp.Cast: _cast,
    exp.Column: _column,
    exp.Identifier: _identifier,
    exp.In: _in,
    exp.Is: _is,
    exp.Literal: _literal,
    exp.Neg: _signed("-"),
    exp.Not: _not,
    exp.Null: _constant("NULL"),
    exp.Paren: lambda self, node: f"({self.sql(node, 'this')})",
    exp.Star: _constant("*"),
    exp.TryCast: _cast,
    exp.Tuple: lambda self, node: f"({self.joined(node.expressions)})",
    nodes.ArrayConstructor: lambda self, node: f"ARRAY[{self.joined(node.elements)}]",
    nodes.Assignment: lambda self, node: f"{self.sql(node.this)} = {self.sql(node.value)}",
    nodes.DecimalLiteral: _literal,
    nodes.Dereference: lambda self, node: f"{self.tight(node.this, _PRIMARY)}->{self.sql(node.field)}",
    nodes.Exists: lambda self, node: f"EXISTS ({self.sql(node.query)})",
    nodes.FloatLiteral: _literal,
    nodes.FunctionCall: _call,
    nodes.GroupingSet: _grouping_set,
    nodes.GroupingSets: lambda self, node: f"{node.kind} ({self.joined(node.sets)})",
    nodes.InQuery: _in_query,
    nodes.IntegerLiteral: _literal,
    nodes.Interval: _interval,
    nodes.JsonPath: _json_path,
    nodes.Lambda: _lambda,
    nodes.Like: _like,
    nodes.MapConstructor: lambda self, node: f"MAP({self.joined(node.entries)})",
    nodes.MapEntry: lambda self, node: f"{self.sql(node.map_key)} := {self.sql(node.value)}",
    nodes.MatchValue: lambda self, node: f"{'FINAL' if node.is_final else 'RUNNING'} {self.sql(node.this)}",
    **dict.fromkeys(_PATTERNS, _pattern),
    nodes.Pos: _signed("+"),
    nodes.StructConstructor: lambda self, node: f"STRUCT({self.joined(node.fields)})",
    nodes.StructField: lambda self, node: f"{self.sql(node.this)} := {self.sql(node.value)}",
    nodes.Subscript: _subscript,
    nodes.WindowFunction: _over,
}

QUERIES: dict[type[exp.Expr], Callable[[Any, Any], str]] = {
    nodes.AliasedSource: lambda self, node: _aliased(self, self.sql(node.this), node.alias_identifier),
    nodes.AllColumns: _all_columns,
    nodes.AllFields: lambda self, node: f"{self.sql(node.this)}->*",
    nodes.CheckConstraint: _check,
    nodes.Definition: lambda self, node: f"{self.sql(node.this)} AS {self.sql(node.condition)}",
    nodes.ColumnDefinition: _column_definition,
    nodes.CommonTable: lambda self, node: (
        f"{self.sql(node.this)}{self.columns(node.columns)} AS ({self.sql(node.query)})"
    ),
    **dict.fromkeys((nodes.ErrorsOf, nodes.LateRowsOf), _log_of),
    nodes.Join: _join,
    nodes.MatchRecognize: _match_recognize,
    nodes.OrderItem: _order_item,
    nodes.PastSource: _past,
    nodes.Property: lambda self, node: f"{self.sql(node.this)} = {self.sql(node.literal)}",
    nodes.Select: _select,
    nodes.SelectItem: lambda self, node: _aliased(self, self.sql(node.this), node.alias_identifier),
    nodes.ScalarQuery: lambda self, node: f"({self.sql(node.query)})",
    nodes.SubQuery: _named_query,
    nodes.Values: _values,
    nodes.ValuesRow: lambda self, node: f"({self.joined(node.expressions)})",
    nodes.SystemTime: lambda self, node: f"FOR SYSTEM_TIME AS OF {self.sql(node.this)}{_grace(node)}",
    nodes.SetOperation: _set_operation,
    nodes.Unnest: _unnest,
}
