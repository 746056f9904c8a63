"""Translates queries of PostgreSQL's catalog to what SQLite can run."""

from __future__ import annotations

import json
from collections.abc import Callable

from sqlglot import exp

from ksql_spark.grammar.words import KEYWORDS
from ksql_spark.server.postgres.values.failures import CatalogError
from ksql_spark.server.postgres.values.names import CATALOG_SCHEMAS

_REGEXPS = {
    "~": ("REGEXP", False),
    "!~": ("REGEXP", True),
    "~*": ("_REGEXP_I", False),
    "!~*": ("_REGEXP_I", True),
}
#: columns of pg_type with functions, which are shown by their names
_PROCEDURES = ("typreceive",)

#: functions that return the present time, beside now()
_CLOCKS = frozenset(("clock_timestamp", "statement_timestamp", "transaction_timestamp"))
#: our functions that return times
_TIMES = ("_NOW", "_TIMESTAMP", "_DATE", "_SHIFTED", "_TRUNCATED")


#: what SQLite gives exactly as PostgreSQL, in a query without relations
_EXACT = (
    exp.Select, exp.Subquery, exp.Alias, exp.Identifier, exp.Literal, exp.Null, exp.Boolean, exp.Paren,
    exp.Column, exp.Placeholder, exp.DataType, exp.DataTypeParam, exp.Var, exp.Dot, exp.Interval,
    exp.CurrentTimestamp, exp.CurrentDate, exp.TimestampTrunc, exp.DateTrunc, exp.ByteString, exp.RawString,
    exp.National, exp.Limit, exp.Order, exp.Exists,
    exp.Union, exp.Values, exp.Tuple, exp.TableAlias,
    exp.Ordered, exp.Add, exp.Sub, exp.Neg, exp.Cast, exp.Is, exp.Not,
)  # fmt: skip
#: casts that SQLite does as PostgreSQL
_EXACT_CASTS = frozenset((
    "text", "varchar", "name", "timestamp", "timestamptz", "date", "interval", "oid", "regclass", "regtype",
    "regproc", "regnamespace", "regrole",
))  # fmt: skip


def is_for_engine(query: exp.Expr, is_of_catalog: Callable[[str], bool]) -> bool:
    """Whether a query without relations computes what only the engine computes as PostgreSQL does.

    Args:
        is_of_catalog: whether a function, by its name in lower case, is one of the catalog.
    """
    if query.find(exp.From) is not None:
        return False
    is_plain = True
    for node in query.walk():
        if isinstance(node, exp.Anonymous) and not is_of_catalog(node.name.lower()):
            is_plain = False
        elif isinstance(node, (*_OF_CATALOG, exp.Anonymous)):
            return False
        elif not isinstance(node, _EXACT):
            is_plain = False
        elif isinstance(node, exp.Literal):
            is_plain &= node.is_string or node.name.isdecimal()
        elif isinstance(node, exp.Cast):
            to = node.to.sql("postgres").lower().rpartition(".")[2].strip('"').partition("(")[0]
            is_int = to in ("int", "bigint") and isinstance(
                node.this, (exp.Literal, exp.Placeholder, exp.Cast)
            )
            is_plain &= to in _EXACT_CASTS or is_int
        elif isinstance(node, (exp.Add, exp.Sub)):
            is_plain &= _shifts_a_time(node)
    return not is_plain


def _shifts_a_time(node: exp.Add | exp.Sub) -> bool:
    """Whether a time and an interval are added; of two times, SQLite has no difference."""
    sides = (node.this.unnest(), node.expression.unnest())

    def is_a(one: exp.Expr, *types: str) -> bool:
        return isinstance(one, exp.Cast) and bool(one.to.is_type(*types))

    if any(isinstance(one, exp.Interval) or is_a(one, "interval") for one in sides):
        return True
    times = [
        isinstance(one, (exp.CurrentTimestamp, exp.CurrentDate))
        or is_a(one, "timestamp", "timestamptz", "date")
        for one in sides
    ]
    return sum(times) == 1 and any(isinstance(one, exp.Literal) for one in sides)


#: nodes of functions that only the catalog has
_OF_CATALOG = (
    exp.CurrentVersion, exp.CurrentCatalog, exp.CurrentDatabase, exp.CurrentSchema, exp.CurrentUser,
    exp.SessionUser, exp.StringToArray,
    exp.RegexpLike, exp.RegexpILike, exp.Operator, exp.CurrentSchemas, exp.Format, exp.ArrayToString, exp.Any,
)  # fmt: skip


def sqlite_query(query: exp.Expr) -> exp.Expr:
    """A query of PostgreSQL, which is changed, as SQLite can run it."""
    root = query
    # children before their parents
    for node in reversed(list(query.bfs())):
        adapted = _one(node)
        if adapted is node:
            continue
        if node is root:
            root = adapted
        else:
            node.replace(adapted)
    return root


def _one(node: exp.Expr) -> exp.Expr:
    adapted: exp.Expr
    match node:
        case exp.Collate():
            adapted = node.this
            return adapted
        case exp.Alias(alias=str()) if isinstance(node.args["alias"], exp.Identifier):
            node.args["alias"].set("quoted", True)  # any word may be one
        case exp.Column() if node.name.lower() in _PROCEDURES and isinstance(node.parent, exp.Select):
            return exp.alias_(exp.Anonymous(this="_PROC_NAME", expressions=[node.copy()]), node.name)
        case exp.Dot(this=exp.Paren(this=exp.Column() as column)):
            return column  # a member of what _pg_expandarray gave
        case exp.Bracket(expressions=[at]):
            # sqlglot has made literals count from 0, as _AT does
            place = at if isinstance(at, exp.Literal) else exp.Sub(this=at, expression=exp.Literal.number(1))
            return exp.Anonymous(this="_AT", expressions=[node.this, place])
        case exp.Dot(this=exp.Identifier() as schema) if schema.name.lower() in CATALOG_SCHEMAS:
            adapted = node.expression
            return adapted
        case exp.ByteString() | exp.RawString() | exp.National():
            return exp.Literal.string(str(node.this))
        case exp.Cast():
            return _cast(node)
        case exp.Operator():
            name, is_negated = _REGEXPS.get(
                str(node.args["operator"]).rpartition(".")[2].strip(") "), ("", False)
            )
            if name:
                call = exp.Anonymous(this=name, expressions=[node.expression, node.this])
                return exp.Not(this=call) if is_negated else call
        case exp.RegexpLike():
            return exp.Anonymous(this="REGEXP", expressions=[node.expression, node.this])
        case exp.RegexpILike():
            return exp.Anonymous(this="_REGEXP_I", expressions=[node.expression, node.this])
        case exp.Like() | exp.ILike():
            like = exp.Like(**node.args)  # which ignores case in SQLite
            if isinstance(node.parent, exp.Escape):
                return like
            return exp.Escape(this=like, expression=exp.Literal.string("\\"))  # as PostgreSQL by default
        case exp.EQ(expression=exp.Any() as any_):
            return exp.Anonymous(this="_ANY", expressions=[node.this, any_.this.unnest()])
        case exp.NEQ(expression=exp.Anonymous(expressions=[array])) if node.expression.name.upper() == "ALL":
            return exp.Not(this=exp.Anonymous(this="_ANY", expressions=[node.this, array]))
        case exp.CurrentVersion():
            return exp.Anonymous(this="VERSION", expressions=[])
        case exp.EQ() | exp.NEQ() | exp.In():
            # an oid in quotes is a number
            for side in (node.this, node.args.get("expression"), *(node.args.get("expressions") or ())):
                if isinstance(side, exp.Literal) and side.is_string and side.name.isdecimal():
                    side.set("is_string", False)
        case exp.CurrentTimestamp() | exp.Localtimestamp():
            return exp.Anonymous(this="_NOW", expressions=[])
        case exp.Anonymous() if node.name.lower() in _CLOCKS:
            return exp.Anonymous(this="_NOW", expressions=[])
        case exp.CurrentDate():
            return exp.Anonymous(this="_DATE", expressions=[exp.Anonymous(this="_NOW", expressions=[])])
        case exp.TimestampTrunc() | exp.DateTrunc():
            unit = exp.Literal.string(node.args["unit"].name)
            return exp.Anonymous(this="_TRUNCATED", expressions=[unit, node.this])
        case exp.Extract():
            unit = exp.Literal.string(node.this.name)
            return exp.Anonymous(this="_PART", expressions=[unit, node.expression])
        case exp.Interval():
            quantity = exp.Literal.string(f"{node.this.name} {node.text('unit')}".strip())
            return exp.Anonymous(this="_INTERVAL", expressions=[quantity])
        case exp.Left():
            return exp.Substring(this=node.this, start=exp.Literal.number(1), length=node.expression)
        case exp.Add() | exp.Sub():
            return _sum(node)
        case exp.Div():
            return exp.Anonymous(this="_DIVIDED", expressions=[node.this, node.expression])
        case (
            exp.CurrentCatalog()
            | exp.CurrentDatabase()
            | exp.CurrentSchema()
            | exp.CurrentUser()
            | exp.SessionUser()
        ):
            return exp.Anonymous(this=node.sql_name(), expressions=[])
        case exp.Column(this=exp.Identifier() as name) if not node.table and name.name.lower() in (
            "current_catalog", "session_user", "user",
        ) and not name.quoted:  # fmt: skip
            return exp.Anonymous(this=name.name, expressions=[])
        case exp.Table(this=exp.GenerateSeries() as series) if node.alias:
            numbers = exp.Anonymous(this="_NUMBERS", expressions=[series.args["start"], series.args["end"]])
            each = exp.Anonymous(this="JSON_EACH", expressions=[numbers])
            return exp.select(exp.alias_(exp.column("value"), node.alias)).from_(each).subquery(node.alias)
        case exp.Table(this=exp.StringToArray() as array) if node.alias:
            return exp.select(exp.alias_(array.copy(), node.alias)).subquery(node.alias)
        case exp.Values(alias=str()) if node.alias_column_names:
            names = [
                exp.alias_(exp.column(f"column{at}"), name, quoted=True)
                for at, name in enumerate(node.alias_column_names, 1)
            ]
            rows = exp.Values(expressions=node.expressions)
            return exp.select(*names).from_(rows).subquery(node.alias)
        case exp.Table(this=exp.Func()) if node.this.name.lower() == "pg_get_keywords":
            words = exp.Literal.string(json.dumps(sorted(KEYWORDS)))
            each = exp.Anonymous(this="JSON_EACH", expressions=[words])
            return exp.select("LOWER(value) AS word").from_(each).subquery(node.alias or "words")
        case exp.Unnest(expressions=[array]):
            each = exp.Anonymous(
                this="JSON_EACH", expressions=[exp.Anonymous(this="_TEXTS", expressions=[array])]
            )
            name = node.alias or "unnest"
            return exp.select(exp.alias_(exp.column("value"), name)).from_(each).subquery(name)
        case exp.Table(this=exp.Func()):
            # the elements of what is always NULL here
            nothing = exp.alias_(exp.Null(), node.alias or "unnest")
            return exp.select(nothing).where(exp.false()).subquery(node.alias or "unnest")
        case exp.ArrayAgg():
            if not isinstance(node.this, exp.Order):
                return exp.Anonymous(this="_ARRAY_AGG", expressions=[node.this])
            by = [ordered.this for ordered in node.this.expressions]
            return exp.Anonymous(this="_ARRAY_AGG", expressions=[node.this.this, *by])
        case exp.Select() if any(_is_of_elements(one) for one in node.expressions):
            return _with_elements(node)
        case exp.Select() if laterals := [one for one in node.args.get("joins") or () if _is_lateral(one)]:
            for join in laterals:
                _join_lateral(node, join)
        case exp.Array(expressions=[exp.Select() as inner]):
            return exp.Subquery(this=inner)
    return node


def _is_lateral(join: exp.Join) -> bool:
    return isinstance(join.this, exp.Lateral) and isinstance(join.this.this, exp.Subquery)


def _join_lateral(select: exp.Select, join: exp.Join) -> None:
    """LATERAL (query): its rows as JSON, since in SQLite only a table function may read the row beside it."""
    lateral = join.this
    query, alias = lateral.this.this, lateral.alias
    names = lateral.alias_column_names or query.named_selects
    if not alias or "*" in names or any(isinstance(one, exp.Star) for one in select.expressions):
        raise CatalogError("0A000", "Beside LATERAL, name the columns, and the query: no *.")
    for item, name in zip(list(query.expressions), names, strict=True):
        item.replace(exp.alias_(item.unalias().copy(), name, quoted=True))
    values = exp.Anonymous(this="JSON_ARRAY", expressions=[exp.column(name, quoted=True) for name in names])
    rows = exp.select(exp.Anonymous(this="JSON_GROUP_ARRAY", expressions=[values]))
    rows = rows.from_(query.subquery(alias))
    own = set(map(id, query.find_all(exp.Column)))
    for column in [one for one in select.find_all(exp.Column) if id(one) not in own]:
        is_whole = column.is_star and column.table == alias
        if not (is_whole or (column.name in names and column.table in ("", alias))):
            continue
        places = range(len(names)) if is_whole else [names.index(column.name)]
        items = [
            exp.Anonymous(
                this="JSON_EXTRACT",
                expressions=[exp.column("value", alias), exp.Literal.string(f"$[{place}]")],
            )
            for place in places
        ]
        if column.parent is select and column.arg_key == "expressions":
            at = column.index or 0
            named = [exp.alias_(one, names[place]) for one, place in zip(items, places, strict=True)]
            select.expressions[at : at + 1] = named
            select.set("expressions", select.expressions)
        else:
            column.replace(items[0])
    each = exp.Anonymous(this="JSON_EACH", expressions=[rows.subquery()])
    join.set("this", exp.alias_(each, alias))


def _sum(node: exp.Binary) -> exp.Expr:
    """A sum or difference; of times, it is a call."""
    left, right = node.this, node.expression
    if isinstance(node, exp.Add) and _is_call(left, "_INTERVAL") and not _is_call(right, "_INTERVAL"):
        left, right = right, left
    if not (_is_call(left, *_TIMES) or _is_call(right, "_INTERVAL")) or _is_call(left, "_INTERVAL"):
        return node
    by = right.expressions[0] if _is_call(right, "_INTERVAL") else right
    sign = exp.Literal.number(1 if isinstance(node, exp.Add) else -1)
    return exp.Anonymous(this="_SHIFTED", expressions=[left, sign, by])


def _is_call(node: exp.Expr, *names: str) -> bool:
    inner = node.unnest()
    return isinstance(inner, exp.Anonymous) and inner.name in names


_TIME_CASTS = {
    "timestamp": "_TIMESTAMP",
    "timestamptz": "_TIMESTAMP",
    "date": "_DATE",
    "interval": "_INTERVAL",
}
_EXPANDED = "_pg_expandarray"


def _is_of_elements(expression: exp.Expr) -> bool:
    return any(_array(node) is not None for node in expression.find_all(exp.Explode, exp.Anonymous))


def _array(node: exp.Expr) -> exp.Expr | None:
    """The array whose elements a function gives, one in a row, or None if it does not."""
    array: exp.Expr | None = None
    if isinstance(node, exp.Explode):
        array = node.this
    elif isinstance(node, exp.Anonymous) and node.name.lower() in ("generate_subscripts", _EXPANDED):
        array = node.expressions[0]
    return array


def _with_elements(select: exp.Select) -> exp.Expr:
    """A query with a row for each element of an array, and its place (``generate_subscripts``)."""
    array = None
    for node in [one for listed in select.expressions for one in listed.find_all(exp.Explode, exp.Anonymous)]:
        array_node = _array(node)
        if array_node is None:
            continue
        array = array_node.copy()
        value, place = exp.column("value", "_each"), exp.column("key", "_each")
        dot = node.parent.parent if isinstance(node.parent, exp.Paren) else None
        if isinstance(dot, exp.Dot):  # (_pg_expandarray(a)).n is the place, .x the element
            dot.replace(exp.Add(this=place, expression=exp.Literal.number(1)) if dot.name == "n" else value)
        else:
            node.replace(place if node.name.lower() == "generate_subscripts" else value)
    assert array is not None, "there is one"
    elements = exp.Anonymous(this="JSON_EACH", expressions=[exp.Anonymous(this="_JSON", expressions=[array])])
    select.append("joins", exp.Join(this=exp.alias_(elements, "_each"), kind="CROSS"))
    return select


def _cast(node: exp.Cast) -> exp.Expr:
    to = node.to.sql("postgres").lower().rpartition(".")[2].strip('"')
    if to in ("regclass", "regtype", "regproc", "regnamespace", "regrole"):
        is_cast = isinstance(node.this, exp.Cast) and node.this.to.is_type("text")
        is_text = is_cast or (isinstance(node.this, exp.Literal) and node.this.is_string)
        if to == "regtype":
            name = "_TYPE_OF" if is_text else "FORMAT_TYPE"
        else:
            name = "_OID_OF" if is_text else "_NAME_OF"
        return exp.Anonymous(this=name, expressions=[node.this])
    if to in ("text", "varchar", "name", "char"):
        if _is_call(node.this, "_OID_OF", "_TYPE_OF"):  # a name that is looked up, and shown again
            shown = "_NAME_OF" if _is_call(node.this, "_OID_OF") else "FORMAT_TYPE"
            return exp.Anonymous(this=shown, expressions=[node.this])
        if isinstance(node.this, exp.Column) and node.this.name.lower() in _PROCEDURES:
            return exp.Anonymous(this="_PROC_NAME", expressions=[node.this])
        return exp.cast(node.this, "text")
    if to in ("int", "integer", "int4", "int8", "bigint", "smallint", "oid"):
        return exp.cast(node.this, "bigint")
    if to in _TIME_CASTS:
        return exp.Anonymous(this=_TIME_CASTS[to], expressions=[node.this])
    inner: exp.Expr = node.this
    return inner
