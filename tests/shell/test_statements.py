from __future__ import annotations

import httpx
import pytest

from ksql_spark import grammar
from ksql_spark.shell import statements
from ksql_spark.shell.client import Client, ServerError
from ksql_spark.shell.statements import Kind, StatementProblem


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("SELECT * FROM s EMIT CHANGES", Kind.QUERY),
        ("  -- a comment\n/* and\nanother */ select 1", Kind.QUERY),
        ("WITH x AS (SELECT * FROM s) SELECT * FROM x", Kind.QUERY),
        ("PRINT 'topic'", Kind.PRINT),
        ("SET 'a' = 'b'", Kind.SET),
        ("UNSET 'a'", Kind.UNSET),
        ("define a = 'b'", Kind.DEFINE),
        ("UNDEFINE a", Kind.UNDEFINE),
        ("SHOW  VARIABLES", Kind.SHOW_VARIABLES),
        ("list variables", Kind.SHOW_VARIABLES),
        ("SHOW STREAMS", Kind.PLAIN),
        ("SELECTED", Kind.PLAIN),
        ("INSERT INTO s SELECT * FROM t", Kind.PLAIN),
        ("EXPLAIN SELECT * FROM t", Kind.PLAIN),
        ("(SELECT * FROM s) UNION ALL SELECT * FROM t", Kind.QUERY),
        ("'SELECT'", Kind.PLAIN),
    ],
)
def test_kind(text: str, kind: Kind) -> None:
    (part,) = grammar.split(text)
    assert statements.kind_of(part) is kind


@pytest.mark.parametrize(
    ("text", "complete"),
    [
        ("", True),
        ("-- only a comment", True),
        ("SHOW STREAMS", False),
        ("SHOW STREAMS;", True),
        ("SHOW STREAMS; -- and a comment", True),
        ("SHOW STREAMS; SHOW", False),
        ("SELECT ';", False),
        ("SELECT ';' FROM s;", True),
        ("SELECT 1 -- ;", False),
        ("SELECT 1 /* ;", False),
        ("/*", False),
        ("/* a */ /* b", False),
        ("/* a\n; */\n", True),
    ],
)
def test_is_complete(text: str, complete: bool) -> None:
    assert statements.is_complete(text) is complete


def test_parts() -> None:
    set_, unset, define, undefine = grammar.split(
        "SET 'a'='it''s'; -- x\nunset 'a'; DEFINE v_1 = '''quoted'''; UNDEFINE topic"
    )
    assert statements.set_parts(set_) == ("a", "it's")
    assert statements.unset_name(unset) == "a"
    assert statements.define_parts(define) == ("v_1", "'quoted'")
    assert statements.undefine_name(undefine) == "topic"


@pytest.mark.parametrize(
    ("parts", "text"),
    [
        (statements.set_parts, "SET a = b"),
        (statements.set_parts, "SET 'a'"),
        (statements.unset_name, "UNSET a"),
        (statements.define_parts, "DEFINE v = 1"),
        (statements.define_parts, "DEFINE 'v' = 'x'"),
        (statements.define_parts, "DEFINE 1v = 'x'"),
        (statements.undefine_name, "UNDEFINE 'v'"),
    ],
)
def test_wrong_form_says_the_right_one(parts, text: str) -> None:
    (part,) = grammar.split(text)
    with pytest.raises(StatementProblem, match="Syntax: "):
        parts(part)


def test_substitute() -> None:
    assert statements.substitute("${A}-${b}-${c}", {"a": "1", "B": "2"}) == "1-2-${c}"


def test_what_spark_refuses_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    done = {"@type": "currentStatus", "statementText": "A;", "commandStatus": {"status": "SUCCESS"}}
    failed = {"statementText": "B;", "commandStatus": {"status": "ERROR", "message": "Spark says no"}}
    client = Client("nowhere:1")
    answering = httpx.MockTransport(lambda _: httpx.Response(200, json=[done, failed]))
    monkeypatch.setattr(client._connection, "_http", httpx.Client(transport=answering))
    with pytest.raises(ServerError, match="Spark says no") as raised:
        client.run("A; B;")
    assert raised.value.statement == "B;" and raised.value.entities == [done]
    client.close()
