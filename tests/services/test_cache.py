"""The user cache: files appear there whole, and what killed processes leave goes."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ksql_spark.services import cache

#: writes into a scratch folder and says so, until its input ends
WRITER = """
import sys
from ksql_spark.services import cache
with cache.scratch() as folder:
    (folder / "part").touch()
    print(folder, flush=True)
    sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("KSQL_SPARK_CACHE", str(tmp_path))
    return tmp_path


def test_what_a_killed_process_was_writing_is_removed() -> None:
    command = [sys.executable, "-c", WRITER]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        scratch = Path(writer.stdout.readline().strip())
        cache.remove_leftovers()
        assert (scratch / "part").exists()
        writer.kill()
    assert (scratch / "part").exists()
    cache.remove_leftovers()
    assert not scratch.exists()


def test_what_an_older_release_left_is_removed_once_nobody_writes_it(folder: Path) -> None:
    (folder / "classes").mkdir()
    (folder / "compile-1").mkdir()
    left = folder / "classes" / "broker-1.aot.7.8.config"
    left.touch()
    cache.remove_leftovers()
    assert left.exists()
    day_before = time.time() - 2 * 86_400
    os.utime(left, (day_before, day_before))
    os.utime(folder / "compile-1", (day_before, day_before))
    (folder / "classes" / "broker-1.aot").touch()
    os.utime(folder / "classes" / "broker-1.aot", (day_before, day_before))
    cache.remove_leftovers()
    assert [path.name for path in (folder / "classes").iterdir()] == ["broker-1.aot"]
    assert not (folder / "compile-1").exists()


def test_a_file_is_put_in_place_with_its_permissions(folder: Path) -> None:
    for content in (b"old", b"new"):
        cache.put(folder / "java" / "bin" / "java", content, mode=0o755)
    file = folder / "java" / "bin" / "java"
    assert file.read_bytes() == b"new" and os.access(file, os.X_OK)
    assert not list(folder.glob("scratch-*"))


def test_a_file_that_cannot_be_written_leaves_the_former_one(folder: Path) -> None:
    cache.put(folder / "one", b"old")
    with pytest.raises(TypeError):
        cache.put(folder / "one", "not bytes")  # type: ignore[arg-type]
    assert (folder / "one").read_bytes() == b"old"
    assert not list(folder.glob("scratch-*"))
