"""What ksql-spark test says of a test that it runs with changes of the input; a function is the engine."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import cast

import pytest

from ksql_spark import grammar
from ksql_spark.errors import KsqlError
from ksql_spark.shell.client import ClientError
from ksql_spark.shell.output.console import Console
from ksql_spark.tools.testing.files import SqlTest
from ksql_spark.tools.testing.running import Outcome, Runner
from ksql_spark.tools.testing.variations import CRASH, Step
from ksql_spark.tools.testing.varying import Varied, variations

TEXT = "\n".join(
    [
        "CREATE STREAM s (k INT KEY) WITH (KAFKA_TOPIC = 's', VALUE_FORMAT = 'JSON');",
        "CREATE STREAM t AS SELECT * FROM s;",
        *(f"INSERT INTO s (k) VALUES ({key});" for key in range(8)),
    ]
)
Engine = Callable[[list[str], int], dict[str, list[str]]]


class Fake:
    """A Runner whose results are what ``engine`` makes of the keys (and "crash") and of partitions."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    def outcome(
        self, test: SqlTest, steps: Sequence[Step], partitions: int = 1, every_record: bool = False
    ) -> Outcome:
        rows = ["crash" if step is CRASH else step.key for step in steps[1:]]
        results = self.engine([row for row in rows if row is not None], partitions)
        return {name: Counter(lines) for name, lines in results.items()}


def told(engine: Engine, *names: str, partitions: Sequence[int] = ()) -> tuple[int, str]:
    """How many results have changed, and what is printed."""
    out = io.StringIO()
    runner = cast(Runner, Fake(engine))
    test = SqlTest(Path("a.sql"), "first", 1, steps=tuple(grammar.split(TEXT)))
    varied = Varied(test, runner, Console(out, tty=False), 3)
    try:
        changed = varied.run(variations(names, partitions))
    except KeyboardInterrupt:
        changed = -1
    return changed, out.getvalue()


def test_what_stays_the_same() -> None:
    assert told(lambda rows, _: {"T": rows}, "disorder", "late", partitions=[4]) == (
        0, "  same  first  disorder\n  nothing to do  first  late\n  same  first  4 partitions\n",
    )  # fmt: skip
    # copies are no difference where rows may come twice
    assert told(lambda rows, _: {"T": [row for row in rows if row != "crash"]}, "duplicates", "crash")[0] == 0


def test_the_smallest_input_is_shown() -> None:
    def last_of_two(rows: list[str], _: int) -> dict[str, list[str]]:
        return {"T": [row for row in rows if row in "25"][-1:], "U": rows}

    changed, text = told(lambda rows, n: last_of_two(rows[::-1] if n == 4 else rows, n), partitions=[1, 4])
    assert changed == 1
    assert text == (
        "  same  first  1 partition\n"
        "  CHANGED  first  4 partitions\n"
        "          T has\n"
        "            only as written: 5\n"
        "            only with 4 partitions: 2\n"
        "          with this input:\n"
        "            INSERT INTO s (k) VALUES (2);\n"
        "            INSERT INTO s (k) VALUES (5);\n"
    )


def test_a_kill_is_shown_at_its_place() -> None:
    def forgetful(rows: list[str], _: int) -> dict[str, list[str]]:
        return {"T": rows[rows.index("crash") + 1 :] if "crash" in rows else rows}

    changed, text = told(forgetful, "crash")
    assert changed == 1
    assert text.endswith(
        "          with crash:\n"
        "            INSERT INTO s (k) VALUES (4);\n"
        "            -- crash of the engine\n"
    )


def test_results_that_differ_by_themselves() -> None:
    runs = iter(range(100))
    changed, text = told(lambda rows, _: {"T": [str(next(runs))]}, "disorder")
    assert changed == 1 and text.startswith("  UNSTABLE  first  disorder\n")


def test_a_run_that_fails() -> None:
    def engine(rows: list[str], partitions: int) -> dict[str, list[str]]:
        if partitions == 4:
            raise ClientError("a.sql:1:1: no such thing")
        return {}

    assert told(engine, "disorder", partitions=[4]) == (
        1, "  same  first  disorder\n  FAILED  first  4 partitions\n          a.sql:1:1: no such thing\n",
    )  # fmt: skip

    def gone(rows: list[str], partitions: int) -> dict[str, list[str]]:
        raise KsqlError("NOT_READY")

    with pytest.raises(KsqlError):
        told(gone, "disorder")


def test_ctrl_c_shows_the_smallest_input_so_far() -> None:
    runs = iter(range(100))

    def engine(rows: list[str], partitions: int) -> dict[str, list[str]]:
        if next(runs) == 9:
            raise KeyboardInterrupt
        return {"T": [row for row in rows if row == "7" and partitions == 4]}

    changed, text = told(engine, partitions=[4])
    assert changed == -1
    assert text.startswith("  CHANGED  first  4 partitions\n") and "INSERT INTO s (k) VALUES (7);" in text
    assert 1 <= text.count("INSERT") < 8
