"""What the trees look like: the shapes that `grammar/README.md` promises."""

from __future__ import annotations

from decimal import Decimal

import pytest
import sqlglot
from sqlglot import exp

from ksql_spark import grammar
from ksql_spark.grammar import nodes
from ksql_spark.grammar.expressions import MAX_OPERATORS
from ksql_spark.grammar.nodes import TimeSpan, TypeNode
from ksql_spark.grammar.statements.inserts import InsertValues
from ksql_spark.grammar.statements.print_topic import PrintTopic
from ksql_spark.grammar.statements.queries import Query
from ksql_spark.grammar.statements.show import Show
from ksql_spark.grammar.statements.sources import AlterSource, CreateAsSelect, CreateSource


def select(text: str) -> nodes.Select:
    statement = grammar.parse_one(text)
    assert isinstance(statement, Query)
    assert isinstance(statement.query, nodes.Select)
    return statement.query


def test_create_source() -> None:
    node = grammar.parse_one(
        "create or replace source stream if not exists clicks (who string key, `h` bytes header('x'), "
        "v decimal(4, 2)) with (kafka_topic='t', partitions=3, wrap_single_value=false, \"Odd\"=-1.5)"
    )
    assert isinstance(node, CreateSource)
    assert (node.kind, node.name, node.or_replace, node.source, node.if_not_exists) == (
        "STREAM",
        "CLICKS",
        True,
        True,
        True,
    )
    columns = [(c.name, c.data_type, c.constraint, c.header_key) for c in node.columns]
    assert columns == [
        ("WHO", TypeNode("STRING"), "KEY", None),
        ("h", TypeNode("BYTES"), "HEADER", "x"),
        ("V", TypeNode("DECIMAL", (4, 2)), None, None),
    ]
    assert nodes.property_values(node.properties) == {
        "KAFKA_TOPIC": "t",
        "PARTITIONS": 3,
        "WRAP_SINGLE_VALUE": False,
        "ODD": Decimal("-1.5"),
    }
    assert node.properties[3].name == "Odd"


def test_absent_parts_read_as_empty() -> None:
    node = grammar.parse_one("CREATE TABLE t")
    assert isinstance(node, CreateSource)
    assert node.columns == [] and node.properties == [] and node.or_replace is False
    query = select("SELECT * FROM s")
    assert (query.where, query.group_by, query.window, query.emit, query.limit) == (
        None,
        [],
        None,
        None,
        None,
    )


def test_select_clauses() -> None:
    query = select(
        "SELECT a.*, b, c AS d, e f, g->* FROM s WINDOW HOPPING (SIZE 2 minute, ADVANCE BY 1 MINUTES, "
        "RETENTION 1 DAY, GRACE PERIOD 0 SECONDS) WHERE x GROUP BY (p, q) PARTITION BY r "
        "HAVING h EMIT FINAL LIMIT 0"
    )
    all_columns, plain, aliased, bare, fields = query.items
    assert isinstance(all_columns, nodes.AllColumns) and all_columns.source_name == "A"
    assert isinstance(plain, nodes.SelectItem) and plain.alias_name is None
    assert isinstance(aliased, nodes.SelectItem) and aliased.alias_name == "D"
    assert isinstance(bare, nodes.SelectItem) and bare.alias_name == "F"
    assert isinstance(fields, nodes.AllFields) and fields.this.name == "G"
    assert query.window == nodes.Window(
        "HOPPING", TimeSpan(2, "MINUTES"), TimeSpan(1, "MINUTES"), TimeSpan(1, "DAYS"), TimeSpan(0, "SECONDS")
    )
    assert query.window.size.milliseconds == 120_000
    assert [e.name for e in query.group_by] == ["P", "Q"]
    assert [e.name for e in query.partition_by] == ["R"]
    assert (query.emit, query.limit) == ("FINAL", 0)


def test_joins_nest_on_the_left() -> None:
    query = select(
        "SELECT * FROM a JOIN b x WITHIN 5 SECONDS ON 1=1 FULL JOIN c AS y WITHIN (1 HOUR, 2 DAYS) ON 2=2"
    )
    outer = query.relation
    assert isinstance(outer, nodes.Join)
    assert (outer.kind, outer.within) == ("FULL", nodes.Within(TimeSpan(1, "HOURS"), TimeSpan(2, "DAYS")))
    inner = outer.left
    assert isinstance(inner, nodes.Join) and inner.kind == "INNER"
    assert inner.within == nodes.Within(TimeSpan(5, "SECONDS"), TimeSpan(5, "SECONDS"))
    assert isinstance(inner.left, nodes.AliasedSource) and isinstance(inner.right, nodes.AliasedSource)
    assert (inner.left.source_name, inner.left.alias_name) == ("A", "A")
    assert (inner.right.source_name, inner.right.alias_name) == ("B", "X")


def test_beyond_ksqldb() -> None:
    statement = grammar.parse_one(
        "WITH x AS (SELECT a FROM s) SELECT DISTINCT a FROM x UNION ALL SELECT a FROM (SELECT * FROM t) q "
        "ORDER BY a DESC NULLS FIRST, b LIMIT 3 OFFSET 4"
    )
    assert isinstance(statement, Query)
    union = statement.query
    assert isinstance(union, nodes.SetOperation)
    assert [c.table_name for c in union.ctes] == ["X"]
    assert [(o.descending, o.nulls) for o in union.order_by] == [(True, "FIRST"), (False, None)]
    assert (union.limit, union.offset) == (3, 4)
    left, right = union.left, union.right
    assert isinstance(left, nodes.Select) and left.distinct
    assert isinstance(right, nodes.Select) and isinstance(right.relation, nodes.SubQuery)
    assert right.relation.alias_name == "Q"
    assert left.limit is None and right.limit is None


@pytest.mark.parametrize(
    ("text", "grouped"),
    [
        ("a + b * c", "a + (b * c)"),
        ("a * b + c", "(a * b) + c"),
        ("a || b + c", "a || (b + c)"),
        ("a - b - c", "(a - b) - c"),
        ("a % b / c", "(a % b) / c"),
        ("-a * b", "(-a) * b"),
        ("-a->b", "-(a->b)"),
        ("a || b = c || d", "(a || b) = (c || d)"),
        ("NOT a = b", "NOT (a = b)"),
        ("NOT a AND b", "(NOT a) AND b"),
        ("a OR b AND c", "a OR (b AND c)"),
        ("a OR b OR c", "(a OR b) OR c"),
        ("a = b AND c BETWEEN d + 1 AND e AND f", "((a = b) AND (c BETWEEN (d + 1) AND e)) AND f"),
        ("a + b IN (c) OR d IS NULL", "((a + b) IN (c)) OR (d IS NULL)"),
        ("a IS DISTINCT FROM b || c", "a IS DISTINCT FROM (b || c)"),
        ("a LIKE b || c", "a LIKE (b || c)"),
        ("x[1]->y[2]", "((x[1])->y)[2]"),
        ("s.a[1]", "(s.a)[1]"),
    ],
)
def test_precedence(text: str, grouped: str) -> None:
    """Reference §1.1: brackets that only spell out the precedence change nothing."""

    def without_brackets(node: exp.Expr) -> exp.Expr:
        return node.transform(lambda n: n.this if isinstance(n, exp.Paren) else n)

    expected = grammar.parse_expression(grouped)
    while expected.find(exp.Paren):
        expected = without_brackets(expected)
    assert grammar.parse_expression(text) == expected


def test_literals() -> None:
    kinds = {
        "1": (nodes.IntegerLiteral, 1),
        "007": (nodes.IntegerLiteral, 7),
        "9223372036854775807": (nodes.IntegerLiteral, 2**63 - 1),
        "1.50": (nodes.DecimalLiteral, Decimal("1.50")),
        "1.": (nodes.DecimalLiteral, Decimal(1)),
        ".5": (nodes.DecimalLiteral, Decimal("0.5")),
        "DECIMAL '-1.20'": (nodes.DecimalLiteral, Decimal("-1.20")),
        "1.5E-1": (nodes.FloatLiteral, 0.15),
        "1e2": (nodes.FloatLiteral, 100.0),
        "'it''s\\n'": (exp.Literal, "it's\\n"),
        "TRUE": (exp.Boolean, True),
        "NULL": (exp.Null, None),
        "-5": (exp.Neg, -5),
    }
    for text, (cls, value) in kinds.items():
        node = grammar.parse_expression(text)
        assert type(node) is cls, text
        assert nodes.literal_value(node) == value, text
    with pytest.raises(ValueError, match="not a literal"):
        nodes.literal_value(grammar.parse_expression("a"))


def test_names_fold_unless_quoted() -> None:
    for text, name, quoted in [
        ("abC", "ABC", False),
        ("`abC`", "abC", True),
        ('"ab""C"', 'ab"C', True),
        ("`ab``C`", "ab`C", True),
        ("1st", "1ST", False),
        ("a@b", "A@B", False),
    ]:
        node = grammar.parse_expression(text)
        assert isinstance(node, exp.Column)
        assert (node.this.this, node.this.quoted) == (name, quoted)


def test_calls_are_one_class() -> None:
    names = (
        "CONCAT",
        "IF",
        "LOG",
        "DATEADD",
        "COUNT",
        "SUM",
        "TRIM",
        "SUBSTRING",
        "DATE",
        "CEIL",
        "COALESCE",
    )
    for name in names:
        node = grammar.parse_expression(f"{name.lower()}(a, b)")
        assert type(node) is nodes.FunctionCall
        assert node.name == name
        assert [a.name for a in node.arguments] == ["A", "B"]
    star = grammar.parse_expression("COUNT(*)")
    assert isinstance(star, nodes.FunctionCall) and isinstance(star.arguments[0], exp.Star)
    distinct = grammar.parse_expression("COUNT(DISTINCT a)")
    assert isinstance(distinct, nodes.FunctionCall) and distinct.distinct
    unit = grammar.parse_expression("DATEADD(DAYS, 1, d)")
    assert isinstance(unit, nodes.FunctionCall) and isinstance(unit.arguments[0], exp.Column)


def test_lambda_keeps_all_parameters() -> None:
    node = grammar.parse_expression("REDUCE(a, 0, (s, x) => s + x)")
    assert isinstance(node, nodes.FunctionCall)
    body = node.arguments[2]
    assert isinstance(body, nodes.Lambda)
    assert [p.this for p in body.parameters] == ["S", "X"]
    assert isinstance(body.body, exp.Add)


def test_types() -> None:
    node = grammar.parse_type("map<string, struct<a int array, `b` array<decimal(3,1)>>>")
    assert node.name == "MAP" and node.key == TypeNode("STRING")
    a, b = node.value.fields
    assert (a.name, a.type) == ("A", TypeNode("ARRAY", arguments=(TypeNode("INT"),)))
    assert (b.name, b.quoted, b.type.element) == ("b", True, TypeNode("DECIMAL", (3, 1)))
    assert grammar.parse_type("STRUCT<>") == grammar.parse_type("STRUCT< >") == TypeNode("STRUCT")
    assert grammar.parse_type("VARCHAR(STRING)").parameters == ("STRING",)
    assert grammar.parse_type("`date`") == TypeNode("date", quoted=True)
    assert grammar.parse_type("date") == TypeNode("DATE")


def test_alter_takes_both_spellings() -> None:
    for text in ("ALTER STREAM s ADD a INT, b INT", "ALTER STREAM s ADD COLUMN a INT, ADD b INT"):
        node = grammar.parse_one(text)
        assert isinstance(node, AlterSource)
        assert [c.name for c in node.columns] == ["A", "B"]


def test_topics_keep_their_case() -> None:
    for text in ("PRINT myTopic", "PRINT `myTopic`", "PRINT 'myTopic'"):
        node = grammar.parse_one(text)
        assert isinstance(node, PrintTopic) and node.topic == "myTopic"


def test_synonyms() -> None:
    assert grammar.parse_one("LIST TOPICS") == grammar.parse_one("show topics")
    assert grammar.parse_one("PRINT t SAMPLE 2") == grammar.parse_one("PRINT t INTERVAL 2")
    assert grammar.parse_one("SELECT a FROM s WHERE a != 1") == grammar.parse_one(
        "SELECT a FROM s WHERE a <> 1"
    )
    show = grammar.parse_one("LIST SOURCE CONNECTORS")
    assert isinstance(show, Show) and (show.what, show.scope) == ("CONNECTORS", "SOURCE")


def test_insert_values() -> None:
    node = grammar.parse_one("INSERT INTO s (a, `b`) VALUES (1, NULL), (2, 'x') RETURNING a, s.`b` AS c")
    assert isinstance(node, InsertValues)
    assert [c.this for c in node.columns] == ["A", "b"]
    rows = [[nodes.literal_value(v) for v in row.expressions] for row in node.rows]
    assert rows == [[1, None], [2, "x"]]
    returned = [item for item in node.returning if isinstance(item, nodes.SelectItem)]
    assert [(item.this.name, item.alias_name) for item in returned] == [("A", None), ("b", "C")]


def test_equality_sees_case_in_strings() -> None:
    assert grammar.parse_one("PRINT 'a'") != grammar.parse_one("PRINT 'A'")
    assert grammar.parse_one("SET 'a' = 'b'") != grammar.parse_one("SET 'a' = 'B'")
    assert grammar.parse_expression("`a`") != grammar.parse_expression("a")


def test_works_as_a_sqlglot_dialect() -> None:
    node = sqlglot.parse_one("create stream x as select a from s", dialect=grammar.Ksql)
    assert isinstance(node, CreateAsSelect)
    assert node.sql(dialect=grammar.Ksql) == "CREATE STREAM X AS SELECT A FROM S"


@pytest.mark.parametrize("operator", ["OR", "AND", "+", "||"])
def test_a_chain_of_operators_has_an_end(operator: str) -> None:
    select(f"SELECT {f'a {operator} ' * MAX_OPERATORS}a FROM s EMIT CHANGES;")
    with pytest.raises(grammar.ParseFailed, match="chain of operators is too long"):
        grammar.parse_one(f"SELECT {f'a {operator} ' * (MAX_OPERATORS + 1)}a FROM s EMIT CHANGES;")
