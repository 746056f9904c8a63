"""The port to the folders that outlive a process: one contract for all that implement it."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from ksql_spark.spark.hadoop_folder import HadoopFolder
from ksql_spark.storage import Folder, LocalFolder


def check_contract(folder: Folder) -> None:
    """What each Folder does; ``folder`` does not exist yet."""
    assert not folder.exists() and folder.names() == []
    with pytest.raises(FileNotFoundError):
        folder.read("0")
    folder.forget("0")
    folder.remove()
    assert not folder.exists()
    folder.write("0", "one\nütf")
    folder.write("0", "two\nütf €")
    assert folder.read("0") == "two\nütf €"
    folder.sub("deep").sub("er").write("1.json", "{}")
    folder.write("0.loaded", "")
    assert sorted(folder.names()) == ["0", "0.loaded", "deep"] and folder.read("0.loaded") == ""
    assert folder.sub("deep").names() == ["er"] and folder.sub("deep").exists()
    assert folder.sub("deep").uri == f"{folder.uri.rstrip('/')}/deep"
    assert folder.sub("deep").sub("er").read("1.json") == "{}"
    folder.forget("0")
    assert sorted(folder.names()) == ["0.loaded", "deep"]
    folder.sub("deep").remove()
    assert folder.names() == ["0.loaded"]
    folder.remove()
    assert not folder.exists()


def test_a_local_folder(tmp_path: Path) -> None:
    check_contract(LocalFolder(tmp_path / "a folder"))
    assert not list(tmp_path.iterdir())


def test_what_cannot_be_read_is_not_taken_for_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(OSError):
        LocalFolder(tmp_path / "file").names()
    (tmp_path / "bytes").write_bytes(b"\xff")
    with pytest.raises(ValueError):
        LocalFolder(tmp_path).read("bytes")


@pytest.mark.spark
def test_a_folder_of_hadoops(tmp_path: Path, local_spark: SparkSession) -> None:
    uri = (tmp_path / "a folder").as_uri()
    check_contract(HadoopFolder(uri, lambda: local_spark))
    assert not list(tmp_path.iterdir())


@pytest.mark.spark
def test_a_store_that_cannot_be_reached(local_spark: SparkSession) -> None:
    folder = HadoopFolder("unknown://there/folder", lambda: local_spark)
    with pytest.raises(OSError, match="unknown"):
        folder.names()
    folder.remove()
