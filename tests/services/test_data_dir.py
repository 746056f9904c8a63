"""The lock on a server's data folder."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ksql_spark.errors import KsqlError
from ksql_spark.services.data_dir import locked_data_dir

HOLDER = """
import sys
from pathlib import Path
from ksql_spark.services.data_dir import locked_data_dir
with locked_data_dir(Path(sys.argv[1])):
    print("locked", flush=True)
    sys.stdin.read()
"""


def test_one_holder_at_a_time(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "data"
    with locked_data_dir(folder):
        with (
            pytest.raises(
                KsqlError, match=rf"in use by another ksql-spark \(process {os.getpid()}\)"
            ) as caught,
            locked_data_dir(folder),
        ):
            pass
        assert caught.value.condition == "DATA_DIR_IN_USE"
    with locked_data_dir(folder):
        pass


def test_a_holder_that_is_killed_lets_go(tmp_path: Path) -> None:
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with holder:
        assert holder.stdout is not None and holder.stdout.readline() == "locked\n"
        with (
            pytest.raises(KsqlError, match=rf"process {holder.pid}\)"),
            locked_data_dir(tmp_path),
        ):
            pass
        holder.kill()
    with locked_data_dir(tmp_path):
        pass


def test_a_folder_that_cannot_be(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(KsqlError) as caught, locked_data_dir(tmp_path / "file" / "data"):
        pass
    assert caught.value.condition == "DATA_DIR_UNUSABLE"
