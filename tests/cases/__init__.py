"""Case files: tests in SQL, run end to end by the runner of ``ksql-spark test`` (docs/how-to/tests.md)."""

from __future__ import annotations

import os
from pathlib import Path

from ksql_spark.tools.testing.files import SqlTest, select

FOLDER = Path(__file__).parent


def every_case() -> list[SqlTest]:
    """The cases of all files; with CASE=path or CASE=path:line in the environment, only those.

    The path is relative to this folder, as in the names of cases, or to the current one.
    """
    case = os.environ.get("CASE", str(FOLDER))
    is_inside = (FOLDER / case.rpartition(":")[0]).is_file() or (FOLDER / case).is_file()
    return select([str(FOLDER / case) if is_inside else case])


def name_of(case: SqlTest) -> str:
    """What pytest calls a case, behind the names of its module and function."""
    return f"{case.path.absolute().relative_to(FOLDER)}:{case.line} {case.name}"
