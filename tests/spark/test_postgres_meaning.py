"""On PostgreSQL's port, functions and operators give what PostgreSQL gives, or an error.

Each function and operator that both have is called with samples of each of its types, by the same text. The
calls come from the registry, so a new function is compared, too. It needs PostgreSQL 15 or newer (Debian's
package ``postgresql``); without it, the test is skipped. ``FUNCTION=round`` tries one of them.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import psycopg
import pytest

from ksql_spark.functions import registry
from ksql_spark.functions.spec import Kind, Spec
from tests.spark.postgres_answers import Ours, asked, is_same

pytestmark = [pytest.mark.spark, pytest.mark.long]

#: type -> texts of values in PostgreSQL's SQL
SAMPLES: dict[str, Sequence[str]] = {
    "INTEGER": ("7", "-2", "0", "2147483647", "(-2147483647 - 1)", "NULL::int"),
    "BIGINT": (
        "'3'::bigint", "'-9223372036854775808'::bigint", "'9223372036854775807'::bigint", "'0'::bigint"
    ),
    "DECIMAL": ("2.5", "-2.5", "0.05", "12345678.125", "0.0", "NULL::numeric(5, 2)"),
    "DOUBLE": ("'2.5'::float8", "'-0.5'::float8", "'1e300'::float8", "'0'::float8", "'0.3'::float8"),
    "STRING": ("'abc'::text", "'a😀c d'::text", "''::text", "'A%_'::text", "NULL::text"),
    "BOOLEAN": ("true", "false", "NULL::bool"),
    "DATE": ("'2024-02-29'::date", "'1969-12-31'::date", "NULL::date"),
    "TIME": ("'13:14:15'::time",),
    "TIMESTAMP": ("'2024-12-30 13:14:15.678'::timestamp", "'1901-01-01 00:00:00'::timestamp"),
    "BYTES": ("'\\x0041ff'::bytea", "''::bytea"),
    "ARRAY<STRING>": ("ARRAY['a', NULL, 'b']::text[]", "'{}'::text[]"),
    "ARRAY<INTEGER>": ("ARRAY[3, 1, 2]", "ARRAY[NULL, 1]::int[]"),
}  # fmt: skip
SAMPLES["T"] = [some[0] for some in SAMPLES.values()]
SAMPLES["ARRAY<T>"] = [*SAMPLES["ARRAY<STRING>"], *SAMPLES["ARRAY<INTEGER>"]]
#: function -> texts in place of its first argument
FIRST = {
    "DATE_TRUNC": ("'year'", "'quarter'", "'week'", "'hour'", "'century'", "'eon'"),
    "EXTRACT": ("",),
}
FIELDS = (
    "century", "day", "decade", "dow", "doy", "epoch", "hour", "isodow", "isoyear", "julian", "microseconds",
    "millennium", "milliseconds", "minute", "month", "quarter", "second", "week", "year", "timezone", "eon",
)  # fmt: skip
OPERATORS = ("+", "-", "*", "/", "%", "||", "=", "<>", "<", "<=", ">", ">=", "LIKE", "IS DISTINCT FROM")
CASTS = ("int", "bigint", "numeric(6, 2)", "float8", "text", "bool", "date", "timestamp", "time")
TEXTS = ("'12'", "' 7 '", "'1.5'", "'x'", "'t'", "'2024-02-29'", "'2024-02-30'", "'1e3'", "''", "'12:30'")
#: rows of one column of each type for aggregates
ROWS = {
    "INTEGER": ("1", "2", "NULL", "2"), "BIGINT": ("9223372036854775807", "1", "NULL"),
    "DECIMAL": ("1.25", "2.50", "NULL"), "DOUBLE": ("'0.5'::float8", "'2'::float8", "NULL"),
    "STRING": ("'b'", "'a'", "NULL"), "BOOLEAN": ("true", "false", "NULL"),
    "DATE": ("'2024-02-29'::date", "NULL"), "TIMESTAMP": ("'2024-02-29 01:02:03'::timestamp", "NULL"),
}  # fmt: skip

#: functions that give DOUBLEs where PostgreSQL gives numerics: the values are compared as DOUBLEs
OF_DOUBLE = ("STDDEV", "STDDEV_POP", "STDDEV_SAMP", "VARIANCE", "VAR_POP", "VAR_SAMP")


def calls() -> Iterator[tuple[str, str]]:
    """The calls: what is called, and a text in PostgreSQL's SQL."""
    for symbol in OPERATORS:
        is_arithmetic = symbol in "+-*/%"
        numbers = [
            v
            for t in ("INTEGER", "BIGINT", "DECIMAL", "DOUBLE")
            for v in SAMPLES[t][: None if is_arithmetic else 2]
        ]
        for left, right in itertools.permutations(numbers, 2):
            if symbol not in ("||", "LIKE"):
                yield symbol, f"{left} {symbol} {right}"
        for type_ in ("STRING", "BYTES", "BOOLEAN", "DATE", "TIMESTAMP"):
            if symbol not in ("+", "-", "*", "/", "%"):
                for left, right in itertools.product(SAMPLES[type_], repeat=2):
                    yield symbol, f"{left} {symbol} {right}"
    for texts in SAMPLES.values():
        for text, target in itertools.product(texts, CASTS):
            yield "CAST", f"CAST({text} AS {target})"
        yield from (("NEG", f"-({text})") for text in texts)
    for text, target in itertools.product(TEXTS, CASTS):
        yield "CAST", f"CAST({text}::text AS {target})"
        yield "CAST", f"{text}::{target}"
    for field, type_ in itertools.product(FIELDS, ("DATE", "TIMESTAMP", "TIME")):
        yield "EXTRACT", f"extract({field} FROM {SAMPLES[type_][0]})"
        yield "DATE_PART", f"date_part('{field}', {SAMPLES[type_][0]})"
    for value in (
        "1::bool",
        "U&'d\\0061t\\+000061'",
        "E'a\\tb'",
        "extract(epoch from timestamp '2024-01-01 00:00:30') / 60",
    ):
        yield "literal", value
    for spec in registry.all_specs():
        for name in (spec.name, *spec.aliases):
            if spec.kind is Kind.SCALAR and spec.is_deterministic and name not in ("EXTRACT", "DATE_PART"):
                yield from ((name, f"{name.lower()}({', '.join(given)})") for given in arguments(name, spec))


def arguments(name: str, spec: Spec) -> Iterable[Sequence[str]]:
    """Arguments of calls of a function."""
    for signature in spec.signatures:
        types = [str(parameter.pattern) for parameter in signature.parameters]
        options = [SAMPLES.get(type_, ()) for type_ in types]
        if name in FIRST:
            options[0] = FIRST[name]
        if len(options) > 2:
            options = [some[:2] for some in options]
        if "AT" not in name:
            yield from itertools.product(*options)


def aggregates() -> Iterator[tuple[str, str]]:
    """Queries with an aggregate."""
    for spec in registry.all_specs():
        for name in (spec.name, *spec.aliases) if spec.kind is Kind.AGGREGATE else ():
            for signature in spec.signatures:
                types = [str(parameter.pattern) for parameter in signature.parameters]
                columns = [ROWS.get(type_ if type_ != "T" else "INTEGER") for type_ in types]
                if None in columns or len(types) > 2:
                    continue
                names = [f"c{at}" for at in range(len(types))]
                for where in ("", " WHERE 1 = 0"):
                    listed = ", ".join(f"({', '.join(row)})" for row in zip(*columns, strict=False)) or "(1)"
                    rows = f"(VALUES {listed}) AS t ({', '.join(names or ['c0'])})"
                    call = f"{name.lower()}({', '.join(names)})"
                    if name == "COUNT" and not names:
                        call = "count(*)"
                    yield name, f"SELECT {call} FROM {rows}{where}"
    ordered = "SELECT c0 FROM (VALUES (1), (NULL), (2)) AS t (c0) ORDER BY c0"
    for words in ("", " DESC", " NULLS FIRST", " DESC NULLS LAST"):
        yield "ORDER BY", ordered + words
        yield (
            "OVER",
            (
                f"SELECT c0, row_number() OVER (ORDER BY c0{words}), sum(c0) OVER (ORDER BY c0{words})"
                " FROM (VALUES (1), (NULL), (2)) AS t (c0) ORDER BY 2"
            ),
        )
    yield "/", "SELECT sum(n) / count(*) FROM (VALUES ('2'::bigint), (3)) AS t (n)"


def difference(name: str, mine: Any, expected: Any) -> str | None:
    """How an answer differs from PostgreSQL's; None: it does not, or is an error with words."""
    if isinstance(mine, str):
        is_failure = isinstance(expected, str) and expected.startswith("22")
        return (
            f"{mine} in place of {expected}"
            if is_failure and mine.startswith("22") and mine != expected
            else (f"{mine} is no error with words" if mine == "XX000" else None)
        )
    if isinstance(expected, str):
        return f"{mine} in place of {expected}" if expected.startswith("22") else None
    if name in OF_DOUBLE:
        expected = [[(701, text) for _, text in row] for row in expected]
    same = len(mine) == len(expected) and all(
        len(a) == len(b) and all(map(is_same, a, b)) for a, b in zip(mine, expected, strict=True)
    )
    return None if same else f"{mine} in place of {expected}"


def test_functions_and_operators(ours: Ours, theirs: psycopg.Connection[Any]) -> None:
    only = os.environ.get("FUNCTION", "").upper()
    known = {name.upper() for (name,) in theirs.execute("SELECT proname FROM pg_proc")}
    differences, batches = [], []
    tried: dict[tuple[str, Any], int] = {}
    for name, text in dict.fromkeys(calls()):
        if (only and only != name) or not (name in known or name[0] in "+-*/%|=<>" or name in NOT_FUNCTIONS):
            continue
        query = f"SELECT {text}"
        job, expected = ours.job(query), asked(theirs, query)
        if isinstance(job, str):
            found = difference(name, job, expected)
        elif isinstance(expected, str):
            tried[name, expected] = tried.get((name, expected), 0) + 1
            if not expected.startswith("22") or tried[name, expected] > 1:
                continue
            found = difference(name, ours.rows(job), expected)
        else:
            batches.append((name, query, job, expected))
            continue
        if found is not None:
            differences.append(f"{query}: {found}")
    while batches:
        some, batches = batches[:200], batches[200:]
        for (name, query, _, expected), mine in zip(some, together(ours, some), strict=True):
            if (found := difference(name, mine, expected)) is not None:
                differences.append(f"{query}: {found}")
    assert not differences, "\n".join(["", *differences])


NOT_FUNCTIONS = ("CAST", "NEG", "literal", "LIKE", "IS DISTINCT FROM", "ORDER BY", "OVER")


def together(ours: Ours, some: Sequence[tuple[str, str, Any, Any]]) -> list[Any]:
    """The answers to queries of one value each, in as few jobs as possible."""
    if len(some) == 1:
        return [ours.rows(some[0][2])]
    job = ours.job(f"SELECT {', '.join(query.removeprefix('SELECT ') for _, query, _, _ in some)}")
    rows = job if isinstance(job, str) else ours.rows(job)
    if isinstance(rows, str):
        half = len(some) // 2
        return [*together(ours, some[:half]), *together(ours, some[half:])]
    return [[[cell]] for cell in rows[0]]


def test_aggregates_and_orders(ours: Ours, theirs: psycopg.Connection[Any]) -> None:
    only = os.environ.get("FUNCTION", "").upper()
    differences = []
    for name, query in dict.fromkeys(aggregates()):
        if only and only != name:
            continue
        expected = asked(theirs, query)
        if expected in ("42883", "42601"):  # PostgreSQL does not have it
            continue
        job = ours.job(query)
        found = difference(name, job if isinstance(job, str) else ours.rows(job), expected)
        if found is not None:
            differences.append(f"{query}: {found}")
    assert not differences, "\n".join(["", *differences])
