"""What ksql-spark test does without a server: files of tests, and whether what came of one is right."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations
from pathlib import Path
from typing import NoReturn

import pytest

from ksql_spark import grammar
from ksql_spark.config import Config
from ksql_spark.errors import KsqlError
from ksql_spark.grammar.statements.inserts import InsertValues
from ksql_spark.shell.client import ClientError
from ksql_spark.shell.options import OptionProblem
from ksql_spark.shell.session import Failure
from ksql_spark.tools.testing import engines, variations
from ksql_spark.tools.testing.assertions import AssertionFailed
from ksql_spark.tools.testing.files import Check, Restart, SqlTest, find, read, select, write
from ksql_spark.tools.testing.main import main
from ksql_spark.tools.testing.mutations import mutants
from ksql_spark.tools.testing.running import _times, _verdict
from ksql_spark.tools.testing.tables import cell, split_row, table

FILE = """\
-- what this file is about
--@test: first
CREATE STREAM a (b INT)
  WITH (KAFKA_TOPIC = 'a', VALUE_FORMAT = 'JSON');
--@test: second
-- @expected.error: io.confluent.ksql.util.KsqlException
--@Expected.Message: no such thing
DROP STREAM a;
--@test: third
--@expected.error: java.lang.AssertionError
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    made = tmp_path / "a.sql"
    made.write_text(FILE)
    return made


def test_a_file_of_tests(path: Path) -> None:
    first, second, third = read(path)
    assert (first.name, first.line, first.expects_error) == ("first", 2, False)
    (part,) = first.statements
    assert (part.line, part.column) == (3, 1)
    assert (second.name, second.expected_message) == ("second", "no such thing")
    assert [part.line for part in second.statements] == [8]
    assert third.expects_error and third.statements == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("CREATE STREAM a;\n", "no tests found"),
        ("\n--@expected.error: x\n", ":2: no --@test precedes this line"),
        ("--@test: a\n--@expect.error: x\n", ":2: unknown directive --@expect.error"),
        ("-- nothing\n", "no tests found"),
        ("--@restart\n--@test: a\n", ":1: no --@test precedes this line"),
        ("--@test: x\n--@output S\n", ":2: --@output needs a stream or table, and ordered, rowsort, folded"),
        ("--@test: x\n--@rows folded\n", ":2: --@rows needs ordered, rowsort or nothing; it has 'folded'"),
        ("--@test: x\n--@restart now\n", ":2: --@restart needs nothing behind it; it has 'now'"),
    ],
)
def test_files_that_are_not_right(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "a.sql"
    file.write_text(text)
    with pytest.raises(OptionProblem, match=message):
        read(file)


TABLES = """\
-- what all tests share
--@server: ksql.a = b
CREATE STREAM s (a INT) WITH (KAFKA_TOPIC = '${case}_s');

--@test: one
INSERT INTO s (a) VALUES (1);
-- a comment; no statement
INSERT INTO s
  (a) VALUES (2);
--@output S ordered
-- a | b
-- 1 | x
--@restart
SELECT * FROM nothing;
--@error: SOURCE_UNKNOWN

--@test: two
--@server: ksql.a = c
PRINT 't';
--@rows
"""


@pytest.fixture
def tables(tmp_path: Path) -> Path:
    file = tmp_path / "x.sql"
    file.write_text(TABLES)
    return file


def test_tests_have_the_shared_statements_and_their_own_steps(tables: Path) -> None:
    one, two = read(tables)
    assert (one.line, one.end, one.server) == (5, 16, {"ksql.a": "b"})
    assert (two.line, two.server) == (17, {"ksql.a": "c"})
    create, first, second, output, restart, select_, error = one.steps
    statements = [(part.text, part.line) for part in one.statements]
    assert statements[1:] == [
        ("INSERT INTO s (a) VALUES (1)", 6), ("INSERT INTO s\n  (a) VALUES (2)", 8),
    ]  # fmt: skip
    assert one.statements == [create, first, second]
    assert output == Check("output", 10, "S", "ordered", ("a | b", "1 | x"))
    assert isinstance(output, Check)
    assert output.header == ["a", "b"] and output.rows == [["1", "x"]]
    assert restart == Restart(13) and select_.line == 14
    assert error == Check("error", 15, "SOURCE_UNKNOWN")
    assert two.steps[0] == create and two.steps[2] == Check("rows", 20)


def test_the_test_at_a_line(tables: Path) -> None:
    assert [test.name for line in (5, 16, 17) for test in select([f"{tables}:{line}"])] == [
        "one",
        "one",
        "two",
    ]
    assert len(select([f"{tables}:6", str(tables)])) == 2


def test_what_came_out_is_written_below_its_directive(tables: Path) -> None:
    one, two = read(tables)
    output, _, rows = [step for test in (one, two) for step in test.steps if isinstance(step, Check)]
    write(tables, [(output, table(["a"], [["1"], ["10"]])), (rows, ["line", "x"])])
    lines = tables.read_text().splitlines()
    assert lines[9:14] == ["--@output S ordered", "-- a", "-- 1", "-- 10", "--@restart"]
    assert lines[-3:] == ["--@rows", "-- line", "-- x"]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "NULL"), ("NULL", '"NULL"'), ("a b", "a b"), ("a|b", '"a|b"'), ("", '""'),
        ('a"', '"a\\""'), ('{"a":1}', '{"a":1}'), (" x", '" x"'),
        (True, "true"), (1, "1"), (1.5, "1.5"), ([1, "a|b"], '[1, "a|b"]'), ({"é": None}, '{"é": null}'),
    ],
)  # fmt: skip
def test_cells_come_back_from_a_table(value: object, text: str) -> None:
    assert cell(value) == text
    assert split_row(table(["x", "y"], [[text, "1"]])[1]) == [text, "1"]


def test_files_below_folders(tmp_path: Path) -> None:
    for name in ("b.sql", "sub/a.sql", "sub/notes.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    named = tmp_path / "sub/notes.txt"
    assert find([tmp_path, named]) == [tmp_path / "b.sql", tmp_path / "sub/a.sql", named]
    with pytest.raises(OptionProblem, match="does not exist"):
        find([tmp_path / "none"])
    (tmp_path / "empty").mkdir()
    with pytest.raises(OptionProblem, match=r"contains no \*.sql file"):
        find([tmp_path / "empty"])


def made_of(text: str, expected_error: str | None = None) -> SqlTest:
    steps = tuple(grammar.split(text))
    return SqlTest(Path("a.sql"), "first", 1, steps=steps, expected_error=expected_error)


ASSERTION, STATEMENT = AssertionFailed("1 is not 2"), ClientError("no such stream")


@pytest.mark.parametrize(
    ("error", "expected", "message", "verdict"),
    [
        (None, None, "", None),
        (ASSERTION, None, "", "a.sql:4:2: 1 is not 2"),
        (ASSERTION, "java.lang.AssertionError", "is not", None),
        (STATEMENT, "io.confluent.ksql.util.KsqlException", "such", None),
        (STATEMENT, None, "such", None),
        (None, "java.lang.AssertionError", "", "a.sql:1:1: The test passed, but it expects an error."),
        (
            STATEMENT,
            "java.lang.AssertionError",
            "",
            "The test expects an assertion that fails, but: a.sql:4:2: no such stream",
        ),
        (
            ASSERTION,
            "io.confluent.ksql.util.KsqlException",
            "",
            "The test expects a statement that fails, but: a.sql:4:2: 1 is not 2",
        ),
        (STATEMENT, None, "other", "The test expects 'other', but: a.sql:4:2: no such stream"),
    ],
)
def test_verdict(error: ClientError | None, expected: str | None, message: str, verdict: str | None) -> None:
    test = SqlTest(Path("a.sql"), "name", 1, expected_error=expected, expected_message=message)
    assert _verdict(test, error and Failure(error, 4, 2)) == verdict


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("INSERT INTO a (rowtime, b) VALUES (12, 1);", 12),
        ("INSERT INTO a (b, ROWTIME) VALUES (1, 12);", 12),
        ("INSERT INTO a (b) VALUES (1);", None),
        ("INSERT INTO a VALUES (1);", None),
        ("INSERT INTO a (rowtime, b) VALUES (1 + 1, 1);", None),
    ],
)
def test_time_of_an_insert(text: str, time: int | None) -> None:
    statement = grammar.parse_one(text)
    assert isinstance(statement, InsertValues)
    assert _times(statement) == [time]


def test_wrong_options_start_no_engine(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(path), "--only", "tenth"]) == 2
    assert "No test name contains 'tenth'." in capsys.readouterr().err
    assert main([str(path), "--properties", "/none"]) == 2
    assert main([str(path), "--mutate", "--partitions", "1,4"]) == 2
    assert main([str(path), "--complete", "--crash"]) == 2
    assert main([f"{path}:1"]) == 2
    for wrong in (("--timeout", "0"), ("--partitions", "1,0"), ("--partitions", "")):
        with pytest.raises(SystemExit, match="2"):
            main([str(path), *wrong])


def test_where_the_broker_listens(
    path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def begin(config: Config) -> NoReturn:
        raise KsqlError("BAD_REQUEST", reason=config["ksql.kafka.listener"])

    monkeypatch.setattr(engines, "Engine", begin)
    assert main([str(path), "--kafka-listen", "127.0.0.1:3"]) == 1
    assert "127.0.0.1:3" in capsys.readouterr().err


MUTATED = """\
CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC = 's', VALUE_FORMAT = 'JSON');
CREATE TABLE t AS SELECT s.k, SUM(a) AS x FROM s JOIN b ON s.k = b.k
  WINDOW TUMBLING (SIZE 10 SECONDS, GRACE PERIOD 2 SECONDS)
  WHERE NOT a > 3 AND b <> 'x' GROUP BY s.k HAVING COUNT(*) BETWEEN 2 AND 4;
INSERT INTO s (k, a) VALUES ('x', 1 + 1);
"""


def test_changes_of_a_test() -> None:
    found = mutants(made_of(MUTATED))
    assert {(m.line, m.before, m.after) for m in found} == {
        (2, "WHERE NOT A > 3 AND B <> 'x'", "no WHERE"),
        (2, "HAVING COUNT(*) BETWEEN 2 AND 4", "no HAVING"),
        (2, "SIZE 10 SECONDS", "SIZE 20 SECONDS"),
        (2, "GRACE PERIOD 2 SECONDS", "GRACE PERIOD 0 SECONDS"),
        (2, "INNER JOIN", "LEFT JOIN"),
        (2, "NOT A > 3 AND B <> 'x'", "NOT A > 3 OR B <> 'x'"),
        (2, "NOT A > 3", "A > 3"),
        (2, "A > 3", "A >= 3"),
        (2, "A > 3", "A > 4"),
        (2, "B <> 'x'", "B = 'x'"),
        (2, "SUM", "MAX"),
        (2, "COUNT(*) BETWEEN 2 AND 4", "COUNT(*) BETWEEN 3 AND 4"),
        (2, "COUNT(*) BETWEEN 2 AND 4", "COUNT(*) BETWEEN 2 AND 5"),
    }
    for mutant in found:  # each is one statement among the others
        first, changed, last = mutant.test.statements
        assert (first.text, last.text) == tuple(p.text for p in grammar.split(MUTATED)[::2])
        grammar.parse_one(changed.text)
    assert len({m.test.statements[1].text for m in found}) == len(found)


@pytest.mark.parametrize(
    ("query", "changes"),
    [
        ("k, COUNT(*) FILTER (WHERE a) AS n FROM s GROUP BY k", {"FILTER (WHERE A) → no FILTER"}),
        (
            "* FROM s FULL JOIN l WITHIN (0 SECONDS, 5 SECONDS) GRACE PERIOD 3 SECONDS ON s.k = l.k",
            {
                "FULL JOIN → INNER JOIN",
                "WITHIN (0 SECONDS, 5 SECONDS) → WITHIN (0 SECONDS, 10 SECONDS)",
                "GRACE PERIOD 3 SECONDS → GRACE PERIOD 0 SECONDS",
            },
        ),
        ("DISTINCT ON (k) k FROM s WITHIN 1 HOUR", {"WITHIN 1 HOURS → WITHIN 2 HOURS"}),
    ],
)
def test_changes_of_clauses(query: str, changes: set[str]) -> None:
    test = made_of(f"CREATE TABLE t AS SELECT {query};")
    assert {" ".join(str(mutant).split()) for mutant in mutants(test)} == changes


def test_changes_that_make_no_difference(tmp_path: Path) -> None:
    file = tmp_path / "a.sql"
    text = "--@test: first\n--@equivalent: SUM → MAX\n--@equivalent: {}\n" + MUTATED
    file.write_text(text.format("SIZE 10 SECONDS → SIZE 20 SECONDS"))
    (test,) = read(file)
    left = {mutant.before for mutant in mutants(test)}
    assert len(left) == 9 and left.isdisjoint({"SUM", "SIZE 10 SECONDS"})
    file.write_text(text.format("SIZE 10 SECONDS"))
    assert main([str(file), "--mutate"]) == 2


def test_what_expects_an_error_is_not_changed() -> None:
    assert mutants(made_of(MUTATED, expected_error="KsqlException")) == []


# ---- changes of the input --------------------------------------------------------------------------------

VARIED = """\
CREATE STREAM s (k INT KEY, a INT) WITH (KAFKA_TOPIC = 's', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE TABLE d (k INT PRIMARY KEY, b INT) WITH (KAFKA_TOPIC = 'd', VALUE_FORMAT = 'JSON');
CREATE TABLE t AS SELECT k, SUM(a) AS x FROM s
  WINDOW TUMBLING (SIZE 10 SECONDS, GRACE PERIOD 2 SECONDS) GROUP BY k;
INSERT INTO d (k, b) VALUES (1, 1);
INSERT INTO s (ROWTIME, k, a) VALUES (1000, 1, 1), (2000, 2, 2);
ASSERT VALUES t (x) VALUES (1);
INSERT INTO s (ROWTIME, k, a) VALUES (3000, 1, 3);
INSERT INTO s (k, ROWTIME, a) VALUES (3, 9000, 4);
INSERT INTO d (k, b) VALUES (2, 1);
INSERT INTO s (ROWTIME, k, a) VALUES (${time}, 3, 4);
"""  # fmt: skip
SEEDS = range(50)


def test_what_is_varied_of_a_test() -> None:
    test = variations.read(made_of(VARIED))
    rows = [(step.source, step.key, step.time_ms) for step in test.steps[3:]]
    assert rows == [
        ("D", "1", None), ("S", "1", 1000), ("S", "2", 2000), ("S", "1", 3000), ("S", "3", 9000),
        ("D", "2", None), (None, None, None),
    ]  # fmt: skip
    assert [step.part.text for step in test.steps[4:6]] == [
        "INSERT INTO S (ROWTIME, K, A) VALUES (1000, 1, 1)",
        "INSERT INTO S (ROWTIME, K, A) VALUES (2000, 2, 2)",
    ]
    assert (test.grace_ms, test.final) == (2000, frozenset())


def orders(change: Callable[[variations.Input, int], list[variations.Step]]) -> set[tuple[int, ...]]:
    """Where the rows of ``s`` that can be moved are, with many seeds; the others stay where they are."""
    test = variations.read(made_of(VARIED))
    made = [[step.at for step in change(test, seed)] for seed in SEEDS]
    assert made == [[step.at for step in change(test, seed)] for seed in SEEDS]
    assert all(order[:4] == [0, 1, 2, 3] and order[7:] == [7, 8, 9] for order in made)
    return {tuple(order[4:7]) for order in made}


def test_rows_are_exchanged_within_the_grace_period() -> None:
    # row 7 is 6 seconds after those before it
    assert orders(variations.disorder) == {(4, 5, 6), (5, 4, 6), (4, 6, 5)}
    assert orders(variations.late) == set(permutations((4, 5, 6)))


def test_rows_come_twice_and_engines_are_killed() -> None:
    test = variations.read(made_of(VARIED))
    twice = [step.at for step in variations.duplicates(test, 1)]
    assert twice == sorted(twice) and set(twice) == set(range(10)) and {1, 2, 9}.isdisjoint(
        at for at in twice if twice.count(at) > 1
    )  # fmt: skip
    assert all(len(variations.duplicates(test, seed)) > len(test.steps) for seed in SEEDS)
    places = {variations.crash(test, seed).index(variations.CRASH) for seed in SEEDS}
    assert places == {4, 5, 6, 7, 8}
    assert {variations.restart(test, seed).index(variations.RESTART) for seed in SEEDS} == places
    halved = [[step.part.text for step in variations.split(test, seed)] for seed in SEEDS]
    assert {texts.count("PAUSE ALL") for texts in halved} == {1, 2, 3}
    assert all(texts[texts.index("PAUSE ALL") + 1] == "RESUME ALL" for texts in halved)


@pytest.mark.parametrize(
    ("query", "grace_ms", "final"),
    [
        ("CREATE STREAM x AS SELECT * FROM s;", None, set()),
        (
            "CREATE TABLE x AS SELECT k, COUNT(*) AS n FROM s WINDOW SESSION (1 HOUR) GROUP BY k;",
            82_800_000,
            set(),
        ),
        (
            "CREATE TABLE x AS SELECT k, COUNT(*) FROM s WINDOW TUMBLING (SIZE 1 HOUR) GROUP BY k EMIT FINAL;"
            "CREATE STREAM y AS SELECT * FROM z; CREATE TABLE w AS SELECT n, COUNT(*) FROM x GROUP BY n;",
            0,
            {"X", "W"},
        ),
        (
            "CREATE STREAM l (k INT KEY) WITH (KAFKA_TOPIC = 'l', FORMAT = 'JSON', LATENESS = '5 seconds');"
            "CREATE TABLE x AS SELECT k, MAX(v) FROM l WINDOW TUMBLING (SIZE 1 HOUR) GROUP BY k EMIT FINAL;",
            5000,
            {"X"},
        ),
        (
            "CREATE STREAM x AS SELECT * FROM s JOIN l WITHIN 1 HOUR GRACE PERIOD 3 SECONDS ON s.k = l.k;",
            3000,
            set(),
        ),
    ],
)
def test_how_late_rows_may_be(query: str, grace_ms: int | None, final: set[str]) -> None:
    test = variations.read(made_of(query))
    assert (test.grace_ms, test.final) == (grace_ms, frozenset(final))


def test_partitions_of_a_test() -> None:
    first, *rest = variations.read(made_of(VARIED)).steps
    assert "PARTITIONS = 4" in variations.with_partitions(first, 4).part.text
    assert [variations.with_partitions(step, 4) for step in rest] == rest


def test_the_smallest_input() -> None:
    *_, last = variations.smallest(range(20), lambda some: 3 in some and 17 in some)
    assert last == [3, 17]
    assert list(variations.smallest([1, 2], lambda some: len(some) == 2)) == []
