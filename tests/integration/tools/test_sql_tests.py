"""ksql-spark test as a process: what passes, and what is said of what does not."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.long,
    pytest.mark.kafka,
    pytest.mark.skipif("TEST_SPARK_MASTER" in os.environ, reason="the command starts an engine in one JVM"),
]

FILES = Path(__file__).parent / "sql_tests"
#: the command starts Spark in its process, where pytest may have one already
COMMAND = (
    sys.executable,
    "-c",
    "import sys; from ksql_spark.shell.main import main; sys.exit(main(sys.argv[1:]))",
)


def run(*arguments: str | Path) -> tuple[int, str, str]:
    """The command's exit code, output and errors."""
    done = subprocess.run([*COMMAND, "test", *map(str, arguments)], capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


def test_tests_that_pass(tmp_path: Path) -> None:
    properties = tmp_path / "server.properties"
    properties.write_text("ksql.create.function.enabled=true\n")
    tables = shutil.copy(FILES / "tables.sql", tmp_path)
    code, out, err = run(FILES / "right.sql", tables, "--properties", properties)
    assert (code, err) == (0, ""), out
    assert out.endswith("10 passed, 0 failed\n")


def test_what_comes_out_is_written_into_the_file(tmp_path: Path) -> None:
    whole = (FILES / "tables.sql").read_text()
    bare = tmp_path / "tables.sql"
    bare.write_text("".join(line for line in whole.splitlines(keepends=True) if not line.startswith("-- ")))
    code, out, err = run("--complete", bare)
    assert (code, err) == (0, ""), out
    assert bare.read_text() == whole


def test_what_is_said_of_tests_that_fail() -> None:
    code, out, err = run(FILES / "wrong.sql", "--timeout", "60")
    assert (code, err) == (1, "")
    assert out.endswith("0 passed, 10 failed\n")
    for said in (
        "wrong.sql:4:3: Expected record does not match actual.\n"
        "                      ROWTIME | ID | B\n"
        "            EXPECTED  7       | 1  | longer\n"
        "            ACTUAL    7       | 1  | x\n",
        "wrong.sql:8:1: Expected another record in A, but there were no more than 0 after 60 s.\n",
        "wrong.sql:13:1: Expected a tombstone, but the record has values: ID 1, B x, ROWTIME ",
        "wrong.sql:17:1: Expected schema does not match actual.\n"
        "            EXPECTED  ID INTEGER, B STRING\n"
        "            ACTUAL    ID INTEGER KEY, B STRING\n",
        "wrong.sql:21:1: VALUE_FORMAT was expected to be AVRO, but is JSON.\n",
        "wrong.sql:25:1: A has no column C. Its columns are ID, B, ROWTIME.\n",
        "wrong.sql:27:1: The test passed, but it expects an error.\n",
        "wrong.sql:33:1: No --@rows after it says what it must give.\n",
        "wrong.sql:38:1: The table is another one.\n"
        "                      id | b\n"
        "            EXPECTED  1  | y\n"
        "            ACTUAL    1  | x\n",
        "wrong.sql:44:1: Expected COLUMN_UNKNOWN, but the error is SOURCE_UNKNOWN:\n",
    ):
        assert said in out, out


def test_changes_that_no_test_notices() -> None:
    code, out, err = run(FILES / "mutated.sql", "--mutate")
    assert (code, err) == (1, "")
    assert "mutated.sql:3: A < 3  →  A <= 3\n" in out and "mutated.sql:3: A < 3  →  A < 4\n" in out, out
    assert out.endswith("1 changes found, 2 survived, 0 tests failed\n")


def test_changes_of_the_input() -> None:
    options = ["--disorder", "--late", "--crash", "--partitions", "4", "--seed", "1", "--timeout", "60"]
    code, out, err = run(FILES / "varied.sql", *options)
    assert (code, err) == (1, "")
    for name in ("disorder", "late", "crash", "4 partitions"):
        assert f"  same  sums do not depend on the order  {name}\n" in out, out
    assert (
        "  CHANGED  the latest of several keys does  disorder\n"
        "          LATEST has\n"
        "            only as written: G 2, A 4, N 2\n"
        "            only with disorder: G 2, A 3, N 2\n"
        "          with this input:\n"
        "            INSERT INTO s (ROWTIME, k, g, a) VALUES (3, 3, 2, 3);\n"
        "            INSERT INTO s (ROWTIME, k, g, a) VALUES (4, 4, 2, 4);\n"
        "          with disorder:\n"
        "            INSERT INTO s (ROWTIME, k, g, a) VALUES (4, 4, 2, 4);\n"
        "            INSERT INTO s (ROWTIME, k, g, a) VALUES (3, 3, 2, 3);\n"
    ) in out, out
    assert out.endswith("1 changed, 0 tests failed (--seed 1)\n"), out
