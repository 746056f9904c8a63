"""Texts of several statements: splitting, places, comments, variables, errors."""

from __future__ import annotations

import pytest
from sqlglot import exp

from ksql_spark import grammar
from ksql_spark.grammar import ParseFailed, Position
from ksql_spark.grammar.statements.describe import Explain
from ksql_spark.grammar.statements.session import DefineVariable


def test_split_respects_quotes_and_comments() -> None:
    text = "a 'x;y' \"p;q\" `r;s`; -- one; two\n /* three; */ b\n;;c /* open ;"
    pieces = grammar.split(text)
    assert [(p.text, p.line, p.column, p.complete, p.open) for p in pieces] == [
        ("a 'x;y' \"p;q\" `r;s`", 1, 1, True, None),
        ("b", 2, 15, True, None),
        ("c /* open ;", 3, 3, False, "comment"),
    ]


@pytest.mark.parametrize(
    ("text", "complete", "opened"),
    [
        ("SELECT 1;", True, None),
        ("SELECT 1", False, None),
        ("SELECT 1 -- done;", False, None),
        ("SELECT 'a;", False, "string"),
        ("SELECT 'a'';", False, "string"),
        ("SELECT `a;", False, "quoted name"),
        ('SELECT "a;', False, "quoted name"),
        ("SELECT /* a;", False, "comment"),
        ("SELECT 'a''b' FROM s; -- it's", True, None),
    ],
)
def test_a_shell_can_tell_whether_more_is_needed(text: str, complete: bool, opened: str | None) -> None:
    [piece] = grammar.split(text)
    assert (piece.complete, piece.open) == (complete, opened)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("create or replace table if not exists t (a int)", ("CREATE", "TABLE", "T")),
        ("CREATE SOURCE STREAM `s` (a INT)", ("CREATE", "STREAM", "s")),
        ("CREATE TABLE if (a INT)", ("CREATE", "TABLE", "IF")),
        ("CREATE SOURCE CONNECTOR c WITH (", ("CREATE", "CONNECTOR", "C")),
        ("CREATE SINK CONNECTOR IF NOT EXISTS c WITH (", ("CREATE", "CONNECTOR", "C")),
        ("CREATE SINK k FROM s", ("CREATE", "SINK", "K")),
        ("-- c\nDROP /* d */ STREAM IF EXISTS s DELETE TOPIC", ("DROP", "STREAM", "S")),
        ("LIST VARIABLES", ("LIST", "VARIABLES", "")),
        ("terminate ctas_t_1", ("TERMINATE", "QUERY", "CTAS_T_1")),
        ("PAUSE QUERY `q`", ("PAUSE", "QUERY", "q")),
        ("PAUSE SINK s", ("PAUSE", "SINK", "S")),
        ("RESUME ALL", ("RESUME", "QUERY", "ALL")),
        ("CREATE 'x'", ("CREATE", "", "")),
        ("'CREATE' STREAM s", ("", "STREAM", "S")),
        ("\\x", ("", "X", "")),
    ],
)
def test_a_statement_is_classified_by_its_first_words(text: str, expected: tuple[str, str, str]) -> None:
    [piece] = grammar.split(text)
    assert (piece.verb, piece.object, piece.name) == expected


@pytest.mark.parametrize(
    ("text", "is_query", "is_push"),
    [
        ("SELECT * FROM s EMIT /* on and on */ CHANGES LIMIT 3", True, True),
        ("WITH a AS (SELECT * FROM s) SELECT * FROM a EMIT FINAL", True, True),
        ("(SELECT * FROM s) UNION ALL SELECT * FROM t", True, False),
        ("SELECT 'x' AS \"EMIT CHANGES\", emit FROM s -- EMIT CHANGES", True, False),
        ("CREATE STREAM t AS SELECT * FROM s EMIT CHANGES", False, True),
        ("SELECTED", False, False),
    ],
)
def test_a_query_is_known_by_its_words(text: str, is_query: bool, is_push: bool) -> None:
    [piece] = grammar.split(text)
    assert (piece.is_query, piece.is_push) == (is_query, is_push)


def test_nothing_to_split() -> None:
    for text in ("", " \n\t", "-- x", "/* x */ ;;"):
        assert grammar.split(text) == []
        assert grammar.parse(text) == []


def test_comments_go_anywhere() -> None:
    text = "SELECT/*a*/a--b\n,/* c /* d */b FROM s --@directive: x\nWHERE a - -b > 1;"
    assert grammar.render(grammar.parse(text)[0]) == "SELECT A, B FROM S WHERE A - -B > 1"


def test_what_editors_put_between_words_is_blank() -> None:
    text = "\ufeffSELECT\u00a0a\r\n, b FROM s;\r\n\ufeff"
    assert [grammar.render(each) for each in grammar.parse(text)] == ["SELECT A, B FROM S"]


def test_a_bare_comment_swallows_the_next_line() -> None:
    """A quirk of the language, reference §1.1."""
    assert grammar.render(grammar.parse_one("SELECT a\n--\n, b\nFROM s")) == "SELECT A FROM S"
    assert grammar.render(grammar.parse_one("SELECT a\n-- \n, b\nFROM s")) == "SELECT A, B FROM S"


def test_numbers_and_digit_led_names() -> None:
    text = "SELECT 1st, 12_3, 1e5, 1e5x, 1.5e, 1E FROM s;"
    rendered = grammar.render(grammar.parse(text)[0])
    assert rendered == "SELECT 1ST, 12_3, 1e5, 1E5X, 1.5 AS E, 1E FROM S"


def test_desc_is_describe() -> None:
    assert grammar.render(grammar.parse_one("desc s extended")) == "DESCRIBE S EXTENDED"


def test_places() -> None:
    text = "SHOW STREAMS; SELECT a\n  , bb + c FROM s;\nEXPLAIN\n SELECT `x y` FROM s;"
    _, query, explain = grammar.parse(text)
    assert query.source_text == "SELECT a\n  , bb + c FROM s"
    assert query.origin == (1, 15, 0)
    add = query.find(exp.Add)
    assert add is not None
    place = grammar.position(add)
    assert place == Position(2, 5, 6)
    assert query.absolute(place) == (2, 5, 6)
    column = next(c for c in query.find_all(exp.Column) if c.name == "A")
    place = grammar.position(column)
    assert place == (1, 8, 1)
    assert query.absolute(place) == (1, 22, 1)

    assert isinstance(explain, Explain)
    inner = explain.statement
    assert inner is not None
    assert (inner.source_text, inner.origin) == ("SELECT `x y` FROM s", (4, 2, 0))
    column = inner.find(exp.Column)
    assert column is not None
    assert grammar.position(column) == (1, 8, 5)


def test_every_node_has_a_place() -> None:
    [node] = grammar.parse(
        "CREATE TABLE t AS SELECT a, COUNT(*) AS n, CASE WHEN b THEN 1 ELSE -2 END FROM s "
        "WINDOW TUMBLING (SIZE 1 MINUTE) WHERE x IN (1) AND y IS NOT NULL GROUP BY a EMIT CHANGES;"
    )
    for part in node.walk():
        place = grammar.position(part)
        assert place is not None, part
        start = place.column - 1
        assert node.source_text[start : start + place.length].strip()
    window = node.args["query"].window
    assert grammar.position(window) is not None


def test_a_node_made_by_hand_has_no_place() -> None:
    assert grammar.position(exp.column("A")) is None


def test_errors_in_later_statements_say_where_in_the_text() -> None:
    text = "SHOW STREAMS;\nSHOW TABLES; SELECT a FORM s;\nSHOW TOPICS;"
    with pytest.raises(ParseFailed) as raised:
        grammar.parse(text)
    assert str(raised.value) == (
        "line 2:23: Syntax Error\n"
        "Unexpected 'FORM'. Did you mean FROM?\n"
        "  SHOW TABLES; SELECT a FORM s;\n"
        "                        ^^^^"
    )
    assert raised.value.text == "SELECT a FORM s"
    assert raised.value.suggestion == "FROM"
    assert "FROM" in raised.value.expected


def test_statements_before_an_error_can_be_had() -> None:
    statements = grammar.parse_lazily("SHOW STREAMS; NONSENSE; SHOW TABLES;")
    assert grammar.render(next(statements)) == "SHOW STREAMS"
    with pytest.raises(ParseFailed, match="Unknown statement 'NONSENSE'"):
        next(statements)


def test_the_caret_of_a_long_line_is_in_sight() -> None:
    text = "SELECT " + "a, " * 100 + "# FROM s;"
    with pytest.raises(ParseFailed) as raised:
        grammar.parse(text)
    source, caret = str(raised.value).splitlines()[-2:]
    assert len(source) < 130
    assert source[caret.index("^")] == "#"


def test_tabs_keep_the_caret_below_its_place() -> None:
    with pytest.raises(ParseFailed) as raised:
        grammar.parse("SELECT a,\n\tb,\t# FROM s;")
    assert str(raised.value).endswith("\n  \tb,\t# FROM s;\n  \t  \t^")


def test_one_statement() -> None:
    assert grammar.render(grammar.parse_one("SHOW STREAMS")) == "SHOW STREAMS"
    with pytest.raises(ParseFailed, match="One statement was expected, not 2"):
        grammar.parse_one("SHOW STREAMS; SHOW TABLES;")
    with pytest.raises(ParseFailed, match="One statement was expected, not 0"):
        grammar.parse_one("-- nothing")


# --------------------------------------------------------------------------------- variables


def test_substitution() -> None:
    values = {
        "s": "clicks",
        "v": "it's",
        "n": "-42",
        "t": "'topic'",
        "q": "`odd name`",
        "b": "TRUE",
        "k": "id",
    }
    text = "SELECT ${q}, ${N}, ${b}, '${v}-${nope}', ${k}, ${nope} FROM ${s} WHERE a = ${t} -- ${s}"
    assert grammar.substitute(text, values) == (
        "SELECT `odd name`, -42, TRUE, 'it''s-${nope}', `ID`, ${nope} FROM clicks WHERE a = 'topic' -- ${s}"
    )


@pytest.mark.parametrize(
    "value",
    [
        "",
        "a b",
        "a; DROP STREAM b",
        "a -- b",
        "/* */ a",
        "1 OR 1=1",
        "(a)",
        "'a' || 'b'",
        "'a",
        "ALL",
        "NULL",
        "select",
        "a.b",
        "1st",
        "- 1",
        "--1",
        "${x}",
        "a,b",
        "é",
    ],
)
def test_a_value_cannot_change_the_statement(value: str) -> None:
    with pytest.raises(ParseFailed, match="neither a name nor a literal"):
        grammar.substitute("TERMINATE ${id};", {"id": value})


def test_a_keyword_as_a_value_is_a_name() -> None:
    [node] = grammar.parse("DESCRIBE ${x};", {"x": "tables"})
    assert grammar.render(node) == "DESCRIBE `TABLES`"


def test_define_applies_to_what_follows() -> None:
    text = """
        DEFINE source = 'clicks'; DEFINE source = 'visits';
    """
    with pytest.raises(ParseFailed, match="SOURCE is a keyword"):
        grammar.parse(text)
    text = """
        DEFINE t = 'clicks'; DEFINE name = '${t}_copy';
        CREATE STREAM ${Name} WITH (kafka_topic='${t}'); UNDEFINE t; PRINT '${t}';
    """
    define, second, create, undefine, printed = grammar.parse(text)
    assert isinstance(define, DefineVariable) and (define.name, define.value) == ("T", "clicks")
    assert isinstance(second, DefineVariable) and second.value == "clicks_copy"
    assert create.source_text == "CREATE STREAM clicks_copy WITH (kafka_topic='clicks')"
    assert grammar.render(undefine) == "UNDEFINE T"
    assert grammar.render(printed) == "PRINT '${t}'"


def test_values_may_not_make_a_statement_of_any_length() -> None:
    # a few of these would need all memory of the server
    long = "x" * 100_000
    for text in ("PRINT '" + "${a}" * 11 + "';", "SELECT " + ",".join(["${b}"] * 11) + " FROM t;"):
        with pytest.raises(grammar.ParseFailed, match="more than 1000000 characters"):
            grammar.substitute(text, {"a": long, "b": f"'{long}'"})
    doubled = "".join(f"DEFINE a{n + 1} = '${{a{n}}}${{a{n}}}';" for n in range(60))
    with pytest.raises(grammar.ParseFailed, match="more than 1000000 characters"):
        grammar.parse("DEFINE a0 = 'xx';" + doubled)


def test_given_variables_and_the_switch() -> None:
    [node] = grammar.parse("PRINT '${T}';", {"t": "x"})
    assert grammar.render(node) == "PRINT 'x'"
    [node] = grammar.parse("PRINT '${T}';", {"t": "x"}, substitution=False)
    assert grammar.render(node) == "PRINT '${T}'"


def test_errors_after_substitution_point_into_the_text() -> None:
    text = "SHOW STREAMS; SELECT ${c} FORM s;"
    with pytest.raises(ParseFailed) as raised:
        grammar.parse(text, {"c": "abc"})
    assert str(raised.value).startswith("line 1:26: Syntax Error")  # where it stands after substitution
    assert "SELECT abc FORM s" in str(raised.value)
    with pytest.raises(ParseFailed) as raised:
        grammar.parse(text, {"c": "a b"})
    assert (raised.value.line, raised.value.column) == (1, 22)


# ------------------------------------------------------------------------------------ limits


@pytest.mark.parametrize(
    "text",
    [
        "SELECT " + "(" * 1000 + "a" + ")" * 1000 + " FROM s;",
        "SELECT " + "f(" * 1000 + "a" + ")" * 1000 + " FROM s;",
        "SELECT " + "- " * 1000 + "a FROM s;",
        "SELECT a FROM s WHERE " + "NOT " * 1000 + "b;",
        "SELECT a" + "->b" * 1000 + " FROM s;",
        "SELECT " + "CASE WHEN a THEN " * 1000 + "b" + " END" * 1000 + " FROM s;",
        "SELECT * FROM " + "(SELECT * FROM " * 1000 + "s" + ")" * 1000 + ";",
        "SELECT * FROM s" + " UNION ALL SELECT * FROM s" * 1000 + ";",
        "SELECT * FROM s" + " JOIN t ON a = b" * 1000 + ";",
        "CREATE TYPE t AS " + "ARRAY<" * 1000 + "INT" + ">" * 1000 + ";",
        "CREATE TYPE t AS INT" + " ARRAY" * 1000 + ";",
        "EXPLAIN " * 1000 + "SHOW STREAMS;",
    ],
    ids=lambda t: t[:24],
)
def test_too_deep_is_an_error(text: str) -> None:
    with pytest.raises(ParseFailed, match=r"too deeply|Too many"):
        grammar.parse(text)


def test_long_chains_are_fine() -> None:
    for text in (
        "SELECT " + "a + " * 3000 + "a FROM s;",
        "SELECT a FROM s WHERE " + "b = 1 OR " * 3000 + "c;",
    ):
        [node] = grammar.parse(text)
        assert grammar.parse(grammar.render(node) + ";") == [node]
