"""Trees made by hand: brackets and quotes appear where the text needs them."""

from __future__ import annotations

import pytest
from sqlglot import exp

from ksql_spark import grammar
from ksql_spark.grammar import nodes


def column(name: str, *, quoted: bool = False) -> exp.Column:
    return exp.Column(this=exp.Identifier(this=name, quoted=quoted))


A, B, C = column("A"), column("B"), column("C")


def binary(cls: type[exp.Expression], left: exp.Expr, right: exp.Expr) -> exp.Expression:
    return cls(this=left.copy(), expression=right.copy())


def test_retention_may_come_last() -> None:
    window = "WINDOW TUMBLING (SIZE 1 DAYS, {}) GROUP BY A"
    [node] = grammar.parse(f"SELECT A FROM S {window.format('GRACE PERIOD 0 SECONDS, RETENTION 7 DAYS')};")
    assert window.format("RETENTION 7 DAYS, GRACE PERIOD 0 SECONDS") in grammar.render(node)


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("a::INT", "CAST(A AS INT)"),
        ("-b::DECIMAL(4, 2) + 1", "-CAST(B AS DECIMAL(4, 2)) + 1"),
        ("(a + b)::STRING", "CAST((A + B) AS STRING)"),
        ("m['x']::ARRAY<INT>[1]::STRING", "CAST(CAST(M['x'] AS ARRAY<INT>)[1] AS STRING)"),
        ("s->f::STRUCT<g INT>->g", "CAST(S->F AS STRUCT<G INT>)->G"),
    ],
)
def test_two_colons_are_a_cast(written: str, text: str) -> None:
    [node] = grammar.parse(f"SELECT {written} FROM S;")
    assert grammar.render(node) == f"SELECT {text} FROM S"


def test_times_are_casts_of_texts() -> None:
    written = "date, DATE '2026-01-31', timestamp '2026-01-31 12:00', TIME '12:00'"
    text = "DATE, CAST('2026-01-31' AS DATE), CAST('2026-01-31T12:00' AS TIMESTAMP), CAST('12:00' AS TIME)"
    [node] = grammar.parse(f"SELECT {written} FROM S;")
    assert grammar.render(node) == f"SELECT {text} FROM S"


@pytest.mark.parametrize(
    ("node", "text"),
    [
        (binary(exp.Mul, binary(exp.Add, A, B), C), "(A + B) * C"),
        (binary(exp.Sub, A, binary(exp.Sub, B, C)), "A - (B - C)"),
        (binary(exp.Sub, binary(exp.Sub, A, B), C), "A - B - C"),
        (binary(exp.And, binary(exp.Or, A, B), C), "(A OR B) AND C"),
        (binary(exp.EQ, binary(exp.EQ, A, B), C), "(A = B) = C"),
        (binary(exp.EQ, A, exp.Not(this=B.copy())), "A = (NOT B)"),
        (exp.Not(this=binary(exp.And, A, B)), "NOT (A AND B)"),
        (exp.Neg(this=binary(exp.Add, A, B)), "-(A + B)"),
        (nodes.Dereference(this=exp.Neg(this=A.copy()), field=exp.Identifier(this="F")), "(-A)->F"),
        (
            nodes.Subscript(this=binary(exp.DPipe, A, B), index_expression=binary(exp.EQ, B, C)),
            "(A || B)[(B = C)]",
        ),
        (exp.Is(this=binary(exp.EQ, A, B), expression=exp.Null()), "(A = B) IS NULL"),
        (exp.Not(this=exp.In(this=A.copy(), expressions=[B.copy()])), "A NOT IN (B)"),
    ],
)
def test_brackets(node: exp.Expression, text: str) -> None:
    assert grammar.render(node) == text

    def bare(tree: exp.Expr) -> exp.Expr:
        return tree.transform(lambda n: n.this if isinstance(n, exp.Paren) else n)

    assert bare(grammar.parse_expression(text)) == node


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("A", "A"),
        ("lower", "`lower`"),
        ("FROM", "`FROM`"),
        ("DAYS", "DAYS"),
        ("A B", "`A B`"),
        ("A`B", "`A``B`"),
        ("", "``"),
        ("1ST", "1ST"),
        ("1E5", "`1E5`"),
        ("12", "`12`"),
        ("1E5X", "1E5X"),
        ("ÄB", "`ÄB`"),
    ],
)
def test_quotes(name: str, text: str) -> None:
    assert grammar.render(column(name)) == text


def test_types_render() -> None:
    for text in (
        "STRUCT< >",
        "MAP<STRING, ARRAY<DECIMAL(3, 1)>>",
        "STRUCT<A INT, `b` `Custom`>",
        "VARCHAR(10)",
    ):
        assert grammar.render(grammar.parse_type(text)) == text


def test_the_clauses_of_drop_come_in_either_order() -> None:
    statement = grammar.parse_one("DROP STREAM s CASCADE DELETE TOPIC;")
    assert grammar.render(statement) == "DROP STREAM S DELETE TOPIC CASCADE"
