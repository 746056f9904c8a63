"""ksql-spark fmt: the same tokens and comments in our lines, for every text."""

from __future__ import annotations

import functools
import io
import random
import re
import sys
from pathlib import Path

import pytest

from ksql_spark import grammar
from ksql_spark.shell.main import main
from ksql_spark.tools.format.atoms import comments
from ksql_spark.tools.format.layout import WIDTH, Unclosed, formatted
from ksql_spark.tools.format.main import is_command

ROOT = Path(__file__).parents[2]
FILES = sorted(
    path
    for folder in ("examples", "tests/cases", "tests/grammar", "tests/integration", "tests/plans", "docs")
    for path in (ROOT / folder).rglob("*.sql")
)
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("*.md")])
_BLOCK = re.compile(r"^```sql(?: refused)?\n(.*?)^```$", re.S | re.M)


@functools.cache
def texts() -> list[str]:
    """The statements of examples, cases and pages."""
    blocks = [block for page in PAGES for block in _BLOCK.findall(page.read_text(encoding="utf-8"))]
    return [*(path.read_text(encoding="utf-8") for path in FILES), *blocks]


@functools.cache
def pieces() -> list[str]:
    """Those statements one by one."""
    return [piece.text for text in texts() for piece in grammar.split(text)]


def _tokens(text: str) -> list[tuple[object, str]]:
    return [(token.token_type, token.text) for token in grammar.scan(text)]


def _comments(text: str) -> list[str]:
    """The comments of a text, without white space."""
    found, done = [], 0
    for token in [*grammar.scan(text), None]:
        gap = text[done : token.start if token else len(text)]
        found += ["".join(comment.text.split()) for comment in comments(gap, False)[0]]
        done = token.end + 1 if token else 0
    return found


def _check(text: str) -> str:
    result = formatted(text)
    assert _tokens(result) == _tokens(text)
    assert sorted(_comments(result)) == sorted(_comments(text))
    assert formatted(result) == result
    return result


def _rendered(text: str) -> list[str]:
    """Each statement as the grammar renders it, or its error."""
    rendered = []
    for piece in grammar.split(text):
        try:
            rendered.append(grammar.render(grammar.parse_statement(piece)))
        except grammar.ParseFailed as problem:
            rendered.append(problem.message)
    return rendered


def test_all_statements_stay_what_they_are() -> None:
    for number, text in enumerate(texts()):
        result = _check(text)
        if number % 4 == 0:  # its tokens are the same, so that its statements nearly have to be
            assert _rendered(result) == _rendered(text)


def test_lines_are_no_longer_than_they_may_be() -> None:
    lines = [line for path in FILES[:30] for line in formatted(path.read_text(encoding="utf-8")).split("\n")]
    # texts and comments have no place to end a line at
    long = [line for line in lines if len(line) > WIDTH and "--" not in line and line.count("'") < 2]
    assert not long


@pytest.mark.parametrize("seed", range(40))
def test_no_space_and_no_comment_is_lost_wherever_it_stands(seed: int) -> None:
    chance = random.Random(seed)
    between = [
        " ",
        "\n",
        "\n\n\n",
        " -- c\n",
        "\n-- own line\n",
        " /* b */ ",
        "\n/* x\n y */\n",
        "\t",
        " --@d: x\n",
        "-- \n",
    ]
    mixed = ""
    for piece in chance.sample(pieces(), 20):
        done = 0
        for token in grammar.scan(piece):
            gap = piece[done : token.start]
            is_apart = gap and chance.random() < 0.3
            mixed += (chance.choice(between) if is_apart else gap) + piece[token.start : token.end + 1]
            done = token.end + 1
        mixed += (
            chance.choice(["", "", "\n-- before the end\n", " -- at the end\n"])
            + ";"
            + chance.choice(between)
        )
    _check(mixed)


SAMPLES = [
    (
        "create stream   clicks(who string key,url VARCHAR , tags array<struct<a int,b map<string,double>>>)"
        "with(kafka_topic='clicks',value_format='json');",
        """\
CREATE STREAM clicks (who STRING KEY, url VARCHAR, tags ARRAY<STRUCT<a INT, b MAP<STRING, DOUBLE>>>)
  WITH (kafka_topic = 'clicks', value_format = 'json');
""",
    ),
    (
        "create table counts as select who,count(*)as n,-1*sum( a[ 1 ]->b )as total from clicks window "
        "tumbling(size 1 hour,grace period 0 seconds)"
        "where url like '%x' escape '!' group by who emit changes;",
        """\
CREATE TABLE counts AS
  SELECT who, count(*) AS n, -1 * sum(a[1]->b) AS total
  FROM clicks
  WINDOW TUMBLING (SIZE 1 HOUR, GRACE PERIOD 0 SECONDS)
  WHERE url LIKE '%x' ESCAPE '!'
  GROUP BY who
  EMIT CHANGES;
""",
    ),
    (
        "select a,step,offset,time from s window cumulative(size 1 month,step 1 day,"
        "time zone 'UTC',offset 6 hours)"
        "group by a;",
        """\
SELECT a, step, offset, time
FROM s
WINDOW CUMULATIVE (SIZE 1 MONTH, STEP 1 DAY, TIME ZONE 'UTC', OFFSET 6 HOURS)
GROUP BY a;
""",
    ),
    ("select*from a where k='x';  show  streams ;", "SELECT * FROM a WHERE k = 'x';\nSHOW STREAMS;\n"),
    ("print My_Topic from beginning limit 3;", "PRINT My_Topic FROM BEGINNING LIMIT 3;\n"),
    ("select ${a}_${b}, ${c} from s_${env};", "SELECT ${a}_${b}, ${c} FROM s_${env};\n"),
    ("select 1 - -1, - - x, a-b from s;", "SELECT 1 - -1, - -x, a - b FROM s;\n"),
    ("select a :: int from s;", "SELECT a::int FROM s;\n"),
    (
        "\n\n-- a\n\n\n-- b\nshow tables; -- c\n\n\n\nshow types;\n\n",
        "-- a\n\n-- b\nSHOW TABLES; -- c\n\nSHOW TYPES;\n",
    ),
    (
        "output json\nshow tables;\nrun script x y.sql\n exit",
        "output json\nSHOW TABLES;\nrun script x y.sql\nexit\n",
    ),
    ("show tables;\r\n\r\nshow types;\r\n", "SHOW TABLES;\r\n\r\nSHOW TYPES;\r\n"),
    (
        "define x = 'it''s'; select key, date, type from t;",
        "DEFINE x = 'it''s';\nSELECT key, date, type FROM t;\n",
    ),
    (
        "select a, -- the first\n  -- about b\n  b -- the second\nfrom s;",
        "SELECT\n  a, -- the first\n  -- about b\n  b -- the second\nFROM s;\n",
    ),
    (
        "select v:from, try_cast(v:date as int) from s qualify key = 1;",
        "SELECT v : from, TRY_CAST(v : date AS INT) FROM s QUALIFY key = 1;\n",
    ),
    (
        "create stream a_${s} with (partitions=${n}, table='${t}') as select * from s"
        " where x > ${m} emit changes;",
        """\
CREATE STREAM a_${s} WITH (partitions = ${n}, table = '${t}') AS
  SELECT *
  FROM s
  WHERE x > ${m}
  EMIT CHANGES;
""",
    ),
    ("describe function; describe function f;", "DESCRIBE function;\nDESCRIBE FUNCTION f;\n"),
    ("select ) from emit changes", "select ) from emit changes\n"),
    ("", ""),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), SAMPLES)
def test_samples(text: str, expected: str) -> None:
    assert formatted(text, is_command) == expected
    assert formatted(expected, is_command) == expected


def test_what_is_long_has_lines_of_its_own() -> None:
    text = (
        "INSERT INTO far WITH (QUERY_ID = 'q') SELECT CASE WHEN a > 1 THEN 'something that is long' WHEN"
        " a > 2 THEN 'something else that is long' ELSE b END AS c, x FROM (SELECT a, b, x FROM s WHERE "
        "a > 0 GROUP BY a, b, x, CONCAT('lorem ipsum dolor sit', 'amet', x)) q LEFT JOIN t WITHIN (1 "
        "HOUR, 2 HOURS) GRACE PERIOD 1 MINUTE ON q.a = t.a WHERE a BETWEEN 1 AND 2 AND x IN ('a very "
        "long text', 'another very, very long text') OR y IS NULL;"
    )
    assert (
        _check(text)
        == """\
INSERT INTO far WITH (QUERY_ID = 'q')
  SELECT
    CASE
      WHEN a > 1 THEN 'something that is long'
      WHEN a > 2 THEN 'something else that is long'
      ELSE b
    END AS c,
    x
  FROM (
    SELECT a, b, x
    FROM s
    WHERE a > 0
    GROUP BY a, b, x, CONCAT('lorem ipsum dolor sit', 'amet', x)
  ) q
  LEFT JOIN t WITHIN (1 HOUR, 2 HOURS) GRACE PERIOD 1 MINUTE ON q.a = t.a
  WHERE a BETWEEN 1 AND 2 AND x IN ('a very long text', 'another very, very long text')
    OR y IS NULL;
"""
    )


def test_a_quote_that_is_not_closed_is_refused() -> None:
    with pytest.raises(Unclosed, match=r"This string is never closed\.") as caught:
        formatted("help\nSELECT 'x", is_command)
    assert (caught.value.line, caught.value.column) == (2, 8)


# ---- the command ------------------------------------------------------------------------------------------


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "one.sql"
    path.write_text("show   tables;\n")
    return path


def test_files_are_formatted_in_place(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fmt", str(file)]) == 0
    assert file.read_text() == "SHOW TABLES;\n"
    assert capsys.readouterr().err == f"formatted {file}\n"
    assert main(["fmt", "--check", str(file.parent)]) == 0
    assert capsys.readouterr().err == ""


def test_check_and_diff_change_nothing(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fmt", "--check", str(file)]) == 1
    assert capsys.readouterr().err == f"{file} is not formatted\n"
    assert main(["fmt", "--diff", str(file)]) == 1
    shown = capsys.readouterr()
    assert "-show   tables;\n+SHOW TABLES;\n" in shown.out and shown.err == ""
    assert file.read_text() == "show   tables;\n"


def test_standard_input(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("show   tables"))
    assert main(["fmt", "-"]) == 0
    assert capsys.readouterr().out == "SHOW TABLES\n"


def test_files_that_cannot_be_formatted(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    open_file = file.with_name("open.sql")
    open_file.write_text("SHOW TABLES;\n/* x")
    assert main(["fmt", str(file.with_name("missing.sql")), str(open_file), str(file)]) == 2
    problems = capsys.readouterr().err
    assert "Cannot read" in problems and f"{open_file}:2:1: This comment is never closed." in problems
    assert file.read_text() == "SHOW TABLES;\n" and open_file.read_text() == "SHOW TABLES;\n/* x"
