"""Properties: what is written from a tree parses back to it, and no text does anything but parse or fail to.

`GRAMMAR_EXAMPLES=100000` runs more of them than the default.
"""

from __future__ import annotations

import os

from grammar_cases import identity, invalid
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ksql_spark import grammar
from ksql_spark.grammar import StatementSet
from ksql_spark.grammar.words import NON_RESERVED, UNITS

EXAMPLES = int(os.environ.get("GRAMMAR_EXAMPLES", "200"))
GENERATED = settings(
    max_examples=EXAMPLES, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)

# ------------------------------------------------------------------- texts that are right

names = st.one_of(
    st.sampled_from(["a", "Bcd", "_x1", "1st", "a@b", *sorted(NON_RESERVED - {"EMIT", "PARTITION"})]),
    st.text("aB`\" ;'${}é-", min_size=1, max_size=5).map(lambda t: "`" + t.replace("`", "``") + "`"),
)
source_names = st.sampled_from(["s", "Tbl", "1st", "SOURCE", "key", "`my-stream`", '"Mixed_1"'])
strings = st.text("aB'; \n`${}é-/*", max_size=6).map(lambda t: "'" + t.replace("'", "''") + "'")
numbers = st.one_of(
    st.integers(0, 2**63 - 1).map(str),
    st.decimals(0, 10**6, places=3).map(str),
    st.floats(0, 1e300, allow_nan=False).map(lambda f: f"{f:.6E}"),
    st.sampled_from(["1.", ".5", "1e5", "DECIMAL '1.50'"]),
)
literals = st.one_of(
    strings, numbers, numbers.map(lambda n: f"-{n}"), st.sampled_from(["NULL", "TRUE", "false"])
)
properties = st.lists(
    st.tuples(names, st.one_of(strings, numbers.filter(lambda n: " " not in n))), max_size=3
).map(
    lambda pairs: (
        " WITH (" + ", ".join(f"p{i}_{v[0] and i} = {v[1]}" for i, v in enumerate(pairs)) + ")"
        if pairs
        else ""
    )
)


def listed(items: st.SearchStrategy[str], least: int = 1, most: int = 3) -> st.SearchStrategy[str]:
    return st.lists(items, min_size=least, max_size=most).map(", ".join)


types = st.recursive(
    st.one_of(
        st.sampled_from(["INT", "varchar", "Decimal(4, 2)", "VARCHAR(10)", "STRUCT<>", "timestamp"]), names
    ),
    lambda inner: st.one_of(
        inner.map(lambda t: f"ARRAY<{t}>"),
        inner.map(lambda t: f"{t} ARRAY"),
        st.tuples(inner, inner).map(lambda p: f"MAP<{p[0]}, {p[1]}>"),
        listed(st.tuples(names, inner).map(" ".join)).map(lambda f: f"STRUCT<{f}>"),
    ),
    max_leaves=5,
)

json_paths = st.builds(
    lambda first, rest: first + "".join(rest),
    st.sampled_from(["user", "Order", "from", "[0]", "['a b']", "_x@1", "['it''s']"]),
    st.lists(st.sampled_from([".name", ".SELECT", "[12]", "['']", "[ 'x.y' ]", " . a"]), max_size=3),
)
_OPERATORS = ["+", "-", "*", "/", "%", "||"]
_COMPARISONS = ["=", "<>", "!=", "<", "<=", ">", ">=", "IS DISTINCT FROM", "is not distinct from"]
_PREDICATES = [
    "{} IS NULL",
    "{} is not null",
    "{} BETWEEN {} AND {}",
    "{} NOT BETWEEN {} AND {}",
    "{} IN ({}, {})",
    "{} NOT IN ({})",
    "{} LIKE {}",
    "{} NOT LIKE {} ESCAPE '!'",
]


def _values(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Expressions that may stand inside of comparisons."""
    return st.one_of(
        st.tuples(inner, st.sampled_from(_OPERATORS), inner).map(" ".join),
        inner.map(lambda e: f"({e})"),
        inner.map(lambda e: f"- {e}"),
        st.tuples(names, listed(inner, least=0)).map(lambda p: f"f_{p[0][:0]}g({p[1]})"),
        inner.map(lambda e: f"g() OVER (ORDER BY {e})"),
        inner.map(lambda e: f"({e})->fld[{e}]"),
        st.tuples(inner, json_paths).map(lambda p: f"({p[0]}):{p[1]}"),
        inner.map(lambda e: f"CASE WHEN {e} THEN {e} ELSE {e} END"),
        st.tuples(inner, types).map(lambda p: f"CAST({p[0]} AS {p[1]})"),
        listed(inner, least=0).map(lambda e: f"ARRAY[{e}]"),
        st.tuples(inner, inner).map(lambda p: f"MAP({p[0]} := {p[1]})"),
        st.tuples(names, inner).map(lambda p: f"STRUCT({p[0]} := {p[1]})"),
        inner.map(lambda e: f"TRANSFORM(a, (x, y) => {e}, z => {e})"),
        st.sampled_from(sorted(UNITS)).map(lambda u: f"DATEADD({u}, 1, d)"),
    )


columns = names.filter(lambda n: n.upper() not in {"ARRAY", "MAP", "STRUCT"})
values = st.recursive(
    st.one_of(columns, literals, st.just("s.a"), st.just("COUNT(*)"), st.just("COUNT(DISTINCT a)")),
    _values,
    max_leaves=6,
)
conditions = st.recursive(
    st.one_of(
        st.tuples(values, st.sampled_from(_COMPARISONS), values).map(" ".join),
        st.tuples(st.sampled_from(_PREDICATES), values).map(lambda p: p[0].replace("{}", p[1])),
    ),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["AND", "or"]), inner).map(" ".join),
        inner.map(lambda e: f"NOT {e}"),
        inner.map(lambda e: f"({e})"),
    ),
    max_leaves=4,
)
expressions = st.one_of(values, conditions)


def maybe(part: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(st.just(""), part)


spans = st.tuples(st.integers(0, 100).map(str), st.sampled_from(sorted(UNITS))).map(" ".join)
windows = st.one_of(
    spans.map(lambda s: f" WINDOW TUMBLING (SIZE {s}, GRACE PERIOD {s})"),
    spans.map(lambda s: f" WINDOW HOPPING (SIZE {s}, ADVANCE BY {s}, RETENTION {s})"),
    spans.map(lambda s: f" WINDOW SESSION ({s})"),
)
items = st.one_of(
    st.just("*"),
    names.map(lambda n: f"{n}.*"),
    st.just("f(x)->*"),
    st.tuples(expressions, names).map(" AS ".join),
    expressions,
)
sources = st.tuples(source_names, maybe(source_names.map(lambda n: f" AS {n}"))).map("".join)
joined = st.tuples(
    sources,
    st.sampled_from([" JOIN ", " left join ", " RIGHT OUTER JOIN ", " FULL JOIN ", " INNER JOIN "]),
    sources,
    maybe(spans.map(lambda s: f" WITHIN ({s}, 5 DAYS) GRACE PERIOD {s}")),
    conditions.map(lambda c: f" ON {c}"),
).map("".join)


def _select(relations: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.tuples(
        st.sampled_from(["SELECT ", "select distinct ", "select distinct on (a, b + 1) "]),
        listed(items),
        st.just(" FROM "),
        relations,
        maybe(spans.map(lambda s: f" WITHIN {s}")),
        maybe(windows),
        maybe(conditions.map(lambda c: f" WHERE {c}")),
        maybe(listed(values).map(lambda v: f" GROUP BY {v}")),
        maybe(listed(values).map(lambda v: f" PARTITION BY {v}")),
        maybe(conditions.map(lambda c: f" HAVING {c}")),
        maybe(values.map(lambda v: f" QUALIFY f() OVER (PARTITION BY {v} ORDER BY {v} DESC) = 1")),
    ).map("".join)


tails = st.tuples(
    maybe(values.map(lambda v: f" ORDER BY {v} DESC NULLS LAST")),
    st.sampled_from(["", " EMIT CHANGES", " emit final"]),
    maybe(st.integers(0, 9).map(lambda n: f" LIMIT {n}")),
    maybe(st.integers(0, 9).map(lambda n: f" OFFSET {n}")),
).map("".join)
simple_selects = _select(st.one_of(sources, joined))
selects = st.one_of(simple_selects, _select(simple_selects.map(lambda q: f"({q}) AS q")))
queries = st.tuples(
    maybe(simple_selects.map(lambda q: f"WITH x AS ({q}) ")),
    st.one_of(selects, st.tuples(selects, selects).map(" UNION ALL ".join)),
    tails,
).map("".join)

statements = st.one_of(
    queries,
    st.tuples(st.just("CREATE STREAM "), source_names, properties, st.just(" AS "), queries).map("".join),
    st.tuples(
        st.sampled_from(["CREATE STREAM ", "CREATE OR REPLACE TABLE IF NOT EXISTS ", "create source table "]),
        source_names,
        listed(
            st.tuples(names, types, st.sampled_from(["", "KEY", "PRIMARY KEY", "HEADER('x')"])).map(" ".join)
        ).map(lambda c: f" ({c})"),
        properties,
    ).map("".join),
    st.tuples(source_names, listed(names), listed(values)).map(
        lambda p: f"INSERT INTO {p[0]} ({p[1]}) VALUES ({p[2]})"
    ),
    st.tuples(source_names, queries).map(lambda p: f"INSERT INTO {p[0]} {p[1]}"),
    queries.map(lambda q: f"EXPLAIN {q}"),
    st.tuples(names, types).map(lambda p: f"CREATE TYPE {p[0]} AS {p[1]}"),
    st.tuples(names, types).map(lambda p: f"ALTER STREAM x ADD COLUMN {p[0]} {p[1]}"),
)


@GENERATED
@given(expressions)
def test_expressions_round_trip(text: str) -> None:
    node = grammar.parse_expression(text)
    rendered = grammar.render(node)
    assert grammar.parse_expression(rendered) == node
    assert grammar.render(grammar.parse_expression(rendered)) == rendered


@GENERATED
@given(types)
def test_types_round_trip(text: str) -> None:
    node = grammar.parse_type(text)
    assert grammar.parse_type(grammar.render(node)) == node


@GENERATED
@given(statements)
def test_statements_round_trip(text: str) -> None:
    node = grammar.parse_one(text)
    rendered = grammar.render(node)
    assert grammar.parse(rendered + ";") == [node]
    assert [piece.text for piece in grammar.split(rendered + ";")] == [rendered]


# ------------------------------------------------------------------- texts that are likely wrong

_TEXTS = [*identity(), *(case.text for case in invalid())]
_SPLINTERS = [
    *"()[]<>,;.'\"`*=-+/|:$#@ \n\0é",
    *(
        "--",
        "/*",
        "*/",
        "->",
        "=>",
        ":=",
        "||",
        "${a}",
        "${",
        "1.5e",
        "9" * 30,
        "NOT",
        "AND",
        "AS",
        "(SELECT",
    ),
    *("FROM", "CASE", "END", "ARRAY<", "MAP(", "STRUCT<", "EMIT", "UNION ALL", "ARRAY[", "x => ", "EXPLAIN "),
]


@st.composite
def mutated(draw: st.DrawFn) -> str:
    text = draw(st.sampled_from(_TEXTS))
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(text)))
        to = draw(st.integers(at, min(len(text), at + 12)))
        kind = draw(st.sampled_from(["delete", "insert", "repeat", "swap", "splice"]))
        if kind == "delete":
            text = text[:at] + text[to:]
        elif kind == "insert":
            text = text[:at] + draw(st.sampled_from(_SPLINTERS)) + text[at:]
        elif kind == "repeat":
            text = text[:to] + text[at:to] * draw(st.integers(1, 40)) + text[to:]
        elif kind == "swap":
            text = text[:at] + text[to:] + text[at:to]
        else:
            text = text[:at] + draw(st.sampled_from(_TEXTS))[-draw(st.integers(1, 30)) :] + text[to:]
    return text


@GENERATED
@given(st.one_of(mutated(), st.text(max_size=40)))
def test_any_text_parses_or_fails_cleanly(text: str) -> None:
    try:
        parsed = grammar.parse(text, {"a": "b"}, allowed=StatementSet.TEST)
    except grammar.ParseFailed as error:
        lines = text.split("\n")
        assert 1 <= error.line <= len(lines)
        assert error.column >= 1
        assert str(error).startswith(f"line {error.line}:{error.column}: Syntax Error\n")
    else:
        rendered = "".join(grammar.render(node) + ";" for node in parsed)
        assert grammar.parse(rendered, substitution=False, allowed=StatementSet.TEST) == parsed
