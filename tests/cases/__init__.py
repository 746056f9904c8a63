"""Case files: tests in SQL, run end to end by the runner of ``ksql-spark test`` (docs/how-to/tests.md)."""

from __future__ import annotations

import os
from pathlib import Path

from ksql_spark.tools.testing.files import SqlTest, select

FOLDER = Path(__file__).parent


def every_case() -> list[SqlTest]:
    """The cases of all files; with CASE=path or CASE=path:line in the environment, only those."""
    return select([os.environ.get("CASE", str(FOLDER))])


def name_of(case: SqlTest) -> str:
    """What pytest calls a case, behind the names of its module and function."""
    return f"{case.path.absolute().relative_to(FOLDER)}:{case.line} {case.name}"
