"""The case files' own format, without Kafka or Spark."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cases.case_file import Check, Restart, Sql, cell, read, split_row, table, write

TEXT = """\
-- what all cases share
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
--@notyet: not done
PRINT 't';
--@rows
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "x.sql"
    file.write_text(TEXT)
    return file


def test_cases_have_the_shared_statements_and_their_own_steps(path: Path) -> None:
    one, two = read(path)
    assert (one.title, one.line, one.notyet) == ("one", 4, None)
    assert (two.title, two.line, two.notyet) == ("two", 16, "not done")
    create, *own = one.steps
    assert isinstance(create, Sql) and create.line == 2 and create.text.endswith("'${case}_s');")
    assert own == [
        Sql("INSERT INTO s (a) VALUES (1);", 5),
        Sql("INSERT INTO s\n  (a) VALUES (2);", 7),
        Check("output", 9, "S", "ordered", ("a | b", "1 | x")),
        Restart(12),
        Sql("SELECT * FROM nothing;", 13),
        Check("error", 14, "SOURCE_UNKNOWN"),
    ]
    assert isinstance(own[2], Check)
    assert own[2].header == ["a", "b"] and own[2].rows == [["1", "x"]]
    assert two.steps == [create, Sql("PRINT 't';", 18), Check("rows", 19)]


def test_what_came_out_is_written_below_its_directive(path: Path) -> None:
    one, two = read(path)
    checks = [s for case in (one, two) for s in case.steps if isinstance(s, Check)]
    write(path, [(checks[0], table(["a"], [["1"], ["10"]])), (checks[2], ["line", "x"])])
    lines = path.read_text().splitlines()
    assert lines[8:13] == ["--@output S ordered", "-- a", "-- 1", "-- 10", "--@restart"]
    assert lines[-3:] == ["--@rows", "-- line", "-- x"]


@pytest.mark.parametrize("line", ["--@oputput S ordered", "--@output S", "--@rows folded", "--@restart now"])
def test_a_misspelt_directive_is_an_error(tmp_path: Path, line: str) -> None:
    file = tmp_path / "x.sql"
    file.write_text(f"--@test: x\n{line}\n")
    with pytest.raises(ValueError, match=r"x\.sql:2: no such directive"):
        read(file)


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
