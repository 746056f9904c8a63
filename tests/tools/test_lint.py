"""ksql-spark lint: its rules, what it knows without a server, comments that ignore rules, formats."""

from __future__ import annotations

import io
import json
import re
import sys
from pathlib import Path

import pytest
import yaml

from ksql_spark import grammar
from ksql_spark.shell.main import SUBCOMMANDS, main
from ksql_spark.tools.lint.linter import Finding, Linter
from ksql_spark.tools.lint.rules import ERROR, RULES, Rule

ROOT = Path(__file__).parents[2]
CLICKS = (
    "CREATE STREAM clicks (user_id INT KEY, page STRING) WITH (KAFKA_TOPIC = 'c', VALUE_FORMAT = 'JSON');\n"
)


def found(text: str, **variables: str) -> list[Finding]:
    return Linter(variables).run(text)


def rules(text: str, **variables: str) -> list[str]:
    return [finding.rule for finding in found(text, **variables)]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_rules_find_what_their_page_says(rule: Rule) -> None:
    last = grammar.split(rule.bad)[-1]
    bad = [finding for finding in found(rule.bad) if finding.rule == rule.name]
    assert len(bad) == 1 and bad[0].line >= last.line
    good = rules(rule.good)
    assert rule.name not in good and ERROR not in good


def test_rules_are_sorted() -> None:
    assert [rule.name for rule in RULES] == sorted(rule.name for rule in RULES)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT COUNT(*) FROM clicks EMIT CHANGES;", []),
        (
            "CREATE TABLE t AS SELECT page, COUNT(*) FROM (SELECT page FROM clicks) GROUP BY page;",
            ["unbounded-state"],
        ),
        ("CREATE STREAM s AS SELECT user_id, UNIX_TIMESTAMP() AS t FROM clicks;", ["non-deterministic"]),
        ("CREATE STREAM s AS SELECT user_id, UNIX_DATE(FROM_DAYS(1)) AS t FROM clicks;", []),
        (
            "CREATE STREAM s AS SELECT user_id, page FROM clicks UNION ALL SELECT user_id, '' FROM clicks;",
            [],
        ),
        ("CREATE STREAM s AS SELECT clicks.* FROM clicks;", ["select-star"]),
        ("CREATE STREAM s WITH (KAFKA_TOPIC = 'x', VALUE_FORMAT = 'AVRO');", []),
        (
            "CREATE TABLE t AS SELECT user_id, COUNT(*) FROM clicks WINDOW TUMBLING (SIZE 1 DAY) "
            "GROUP BY user_id EMIT FINAL;",
            ["window-without-grace"],
        ),
        (
            "CREATE STREAM s AS SELECT a.user_id, b.page FROM clicks a "
            "JOIN clicks b ON a.user_id = b.user_id;",
            ["unbounded-state"],
        ),
    ],
)  # fmt: skip
def test_rules_in_further_statements(text: str, expected: list[str]) -> None:
    assert rules(CLICKS + text) == expected


def test_a_join_of_three_names_the_join_that_repartitions() -> None:
    tables = "".join(
        f"CREATE TABLE {name} (id {key} PRIMARY KEY, v INT) WITH (KAFKA_TOPIC = 't', VALUE_FORMAT='JSON');\n"
        for name, key in (("t", "INT"), ("u", "STRING"))
    )
    [finding] = found(
        f"{CLICKS}{tables}CREATE STREAM s AS\n  SELECT u.id, c.page\n  FROM clicks c\n"
        "  JOIN t ON c.user_id = t.id\n  JOIN u ON c.page = u.id\n  EMIT CHANGES;"
    )
    assert (finding.rule, finding.line, finding.column) == ("join-repartition", 8, 13)


def test_errors_have_their_place() -> None:
    text = f"{CLICKS}\nSELECT\n  usr\nFROM clicks EMIT CHANGES;\noutput json\nSELEC 1;\n  SHOW STREAMS"
    shown = [(finding.line, finding.column, finding.message) for finding in found(text)]
    assert shown == [
        (4, 3, "SELECT column 'USR' cannot be resolved. Did you mean USER_ID?"),
        (7, 1, "Unknown statement 'SELEC'. Did you mean SELECT?"),
        (8, 8, "The statement does not end in ';'."),
    ]


def test_a_chain_that_is_too_long_has_an_error() -> None:
    text = f"{CLICKS}SELECT {'+'.join(['1'] * 5000)} AS a FROM clicks EMIT CHANGES;\nSELEC 1;\n"
    (long, wrong) = found(text)
    assert (long.rule, long.line, wrong.line) == (ERROR, 2, 3) and "chain of operators" in long.message


def test_an_error_is_found_once() -> None:
    assert rules(
        "CREATE STREAM a (x INT KEY) WITH (KAFKA_TOPIC = '?', VALUE_FORMAT = 'JSON');\n"
        "CREATE STREAM b AS SELECT x FROM a;\nINSERT INTO b (x) VALUES (1);\nDROP STREAM b;\nDROP STREAM c;"
    ) == [ERROR, ERROR]


def test_statements_change_what_is_known() -> None:
    assert rules(
        f"{CLICKS}ALTER STREAM clicks ADD COLUMN more INT;\nCREATE TYPE pair AS STRUCT<a INT, b INT>;\n"
        "CREATE STREAM s (k INT KEY, p pair) WITH (KAFKA_TOPIC = 's', VALUE_FORMAT = 'JSON');\n"
        "SELECT more FROM clicks EMIT CHANGES;\nSELECT p->a FROM s EMIT CHANGES;\nDROP STREAM s;\n"
        "CREATE STREAM IF NOT EXISTS clicks (k INT KEY) WITH (KAFKA_TOPIC = 's', VALUE_FORMAT = 'JSON');\n"
        "CREATE FUNCTION doubled(x INT) RETURNS INT LANGUAGE PYTHON AS $$return 2 * x$$;\n"
        "CREATE STREAM d AS SELECT user_id, doubled(user_id) AS n FROM clicks;\n"
        "SELECT n FROM d EMIT CHANGES;\n"
        "CREATE SINK eu WITH (TYPE = 'delta', PATH = '/eu') AS SELECT * FROM d;\n"
        "SELECT n FROM eu EMIT CHANGES;\nCREATE SINK d_lake FROM d WITH (TYPE = 'delta', PATH = '/d');\n"
        "SET 'auto.offset.reset' = 'earliest';\nDEFINE place = 'x';\n"
        "CREATE STREAM v (k INT KEY) WITH (KAFKA_TOPIC = '${place}', VALUE_FORMAT = '${format}');\n",
        format="JSON",
    ) == []  # fmt: skip
    assert rules("SET 'no.such.property' = '1';") == [ERROR]
    assert rules(f"{CLICKS}{CLICKS}") == [ERROR]
    assert rules("CREATE TABLE z (k INT PRIMARY KEY) WITH (LAKE = '/z');") == [ERROR]
    assert rules(f"{CLICKS}CREATE SINK x FROM clicks WITH (TYPE = 'delta');") == [ERROR]


def test_each_test_of_a_file_begins_anew() -> None:
    test = "--@test: a\nCREATE STREAM s AS SELECT user_id, page FROM clicks;\nDESCRIBE s;\n"
    assert rules(CLICKS + test + test) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("-- lint: ignore(select-star)\nCREATE STREAM s AS SELECT * FROM clicks;", []),
        ("CREATE STREAM s AS SELECT * FROM clicks; -- lint: ignore(select-star, missing-key)", []),
        ("CREATE STREAM s AS\n  --lint:ignore(select-star)\n  SELECT *\n  FROM clicks;", []),
        ("-- lint: ignore(missing-key)\nCREATE STREAM s AS SELECT * FROM clicks;", ["select-star"]),
        ("-- lint: ignore(select-star)\n\nCREATE STREAM s AS SELECT * FROM clicks;", ["select-star"]),
        ("-- lint: ignore(select-stars)\nSHOW STREAMS;", [ERROR]),
        ("-- lint: ignore(error)\nSELECT x FROM y EMIT CHANGES;", []),
        ("CREATE STREAM s AS SELECT user_id, '-- lint: ignore(x)' AS a FROM clicks;", []),
    ],
)
def test_comments_ignore_rules(text: str, expected: list[str]) -> None:
    assert rules(CLICKS + text) == expected


def test_examples_have_no_errors() -> None:
    for path in sorted((ROOT / "examples").glob("*/*.sql")):
        assert ERROR not in rules(path.read_text(encoding="utf-8")), path


# ---- the command ------------------------------------------------------------------------------------------


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "one.sql"
    path.write_text("CREATE STREAM s AS SELECT * FROM clicks;\n")
    return path


def test_text(file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    catalog = tmp_path / "catalog"
    catalog.write_text(CLICKS)
    assert main(["lint", "--catalog", str(catalog), str(tmp_path)]) == 1
    shown = (
        f"{file}:1:27: select-star: SELECT * takes the columns that its input has when the query starts.\n"
    )
    assert capsys.readouterr().out == shown
    assert main(["lint", "--catalog", str(catalog), "--ignore", "select-star", str(file)]) == 0
    assert capsys.readouterr().out == ""


def test_json_from_standard_input(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("SELEC 1;"))
    assert main(["lint", "--format", "json", "-"]) == 1
    message = "Unknown statement 'SELEC'. Did you mean SELECT?"
    shown = json.loads(capsys.readouterr().out)
    assert shown == [{"file": "-", "line": 1, "column": 1, "rule": ERROR, "message": message}]


def test_sarif(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lint", "--format", "sarif", str(file)]) == 1
    log = json.loads(capsys.readouterr().out)
    [run] = log["runs"]
    assert log["version"] == "2.1.0" and len(run["tool"]["driver"]["rules"]) == len(RULES)
    [result] = run["results"]
    rule = run["tool"]["driver"]["rules"][result["ruleIndex"]]
    assert result["ruleId"] == rule["id"] == ERROR and result["level"] == "error"
    place = result["locations"][0]["physicalLocation"]
    assert place["region"] == {"startLine": 1, "startColumn": 34, "endColumn": 40}


def test_wrong_options(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lint", str(tmp_path / "missing.sql")]) == 2
    assert "Cannot read" in capsys.readouterr().err
    with pytest.raises(SystemExit) as stop:
        main(["lint", "--ignore", "stars", str(tmp_path)])
    assert stop.value.code == 2 and "there is no rule 'stars'" in capsys.readouterr().err


def test_hooks_of_pre_commit_run_commands_that_exist() -> None:
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    names = [re.fullmatch(r"ksql-spark (\w+)", hook["entry"]) for hook in hooks]
    assert [name and name[1] for name in names] == ["fmt", "lint"] and {"fmt", "lint"} <= set(SUBCOMMANDS)
