"""The archive of Python code for executors."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

from ksql_spark.services import function_archive
from ksql_spark.services.python_functions import PythonFunctions

HELPED = """
from _helper import factor
from ksql_spark.udf import scalar_function

@scalar_function
def scaled(value: int) -> int:
    return value * factor
"""


def functions(folder: Path, *, is_far: bool = True) -> PythonFunctions:
    extensions = folder / "ext"
    extensions.mkdir()
    (extensions / "scaling.py").write_text(HELPED)
    (extensions / "_helper.py").write_text("factor = 3")
    return PythonFunctions(extensions, (), folder / "functions", folder / "archives" if is_far else None)


def test_a_worker_runs_from_what_was_unpacked(tmp_path: Path) -> None:
    folders = functions(tmp_path)
    (source,) = folders.sources()
    root = tmp_path / "executor"
    with zipfile.ZipFile(source["archive"]) as archive:
        archive.extractall(root)
    for path in (folders.extensions / "scaling.py", folders.extensions / "_helper.py"):
        path.unlink()
    (package,) = root.rglob("udf_worker.py")
    code = (
        "import ksql_spark, sys; from ksql_spark.udf_worker import load;"
        "module = load({'folder': sys.argv[1], 'file': sys.argv[1] + '/scaling.py'});"
        "print(module.scaled(5), ksql_spark.__file__)"
    )
    moved = root / str(folders.extensions).lstrip("/")
    done = subprocess.run(
        [sys.executable, "-c", code, str(moved)],
        env=os.environ | {"PYTHONPATH": str(package.parent.parent)},
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
    )
    assert done.stdout.split() == ["15", str(package.parent / "__init__.py")]


def test_an_archive_is_named_by_what_is_in_it(tmp_path: Path) -> None:
    folders = functions(tmp_path)
    (before,) = folders.sources()
    assert folders.sources() == [before]
    (folders.extensions / "_helper.py").write_text("factor = 4")
    (after,) = folders.sources()
    assert after["archive"] != before["archive"]
    created = folders.write("PLUS", "one = 1")
    with zipfile.ZipFile(created["archive"]) as archive:
        names = {Path(name).name for name in archive.namelist()}
    assert {
        Path(created["file"]).name,
        "_helper.py",
        *(path.name for path in function_archive.WORKER),
    } <= names


def test_the_next_start_begins_without_archives(tmp_path: Path) -> None:
    folders = functions(tmp_path)
    (source,) = folders.sources()
    folders.remove_archives()
    assert not Path(source["archive"]).exists()


def test_nothing_is_archived_where_tasks_run_beside_the_server(tmp_path: Path) -> None:
    folders = functions(tmp_path, is_far=False)
    assert all("archive" not in source for source in [*folders.sources(), folders.write("A", "")])
    assert not (tmp_path / "archives").exists()


def test_a_file_that_ends_the_process_takes_no_other_with_it(tmp_path: Path) -> None:
    folders = functions(tmp_path, is_far=False)
    (folders.extensions / "ends.py").write_text("import os\nos._exit(3)\n")
    sources = folders.sources()
    found = dict(
        zip([Path(source["file"]).name for source in sources], folders.describe(sources), strict=True)
    )
    assert "error" in found["ends.py"] and [f["name"] for f in found["scaling.py"]["functions"]] == ["SCALED"]
