"""Archives of classes: which options a JVM gets, and what is kept."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ksql_spark.services import class_archive
from ksql_spark.services.class_archive import KEPT, ClassArchive


@pytest.fixture
def jar(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A class path of one jar, with a Java 17 and a cache of the test's own."""
    monkeypatch.setattr(class_archive, "cache_dir", lambda: tmp_path / "cache")
    use_java(17, tmp_path, monkeypatch)
    found = tmp_path / "one.jar"
    found.touch()
    return found


def use_java(version: int, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = folder / f"java-{version}"
    (home / "bin").mkdir(parents=True)
    (home / "bin" / "java").touch()
    (home / "release").write_text(f'JAVA_VERSION="{version}.0.1"\n')
    monkeypatch.setattr("ksql_spark.services.java.java_home", lambda: home)


def record(archive: ClassArchive) -> None:
    """What a JVM with these options does when it exits."""
    option = archive.recording()[0]
    Path(option.partition("=")[2]).touch()


def test_it_is_used_once_it_was_kept(jar: Path) -> None:
    archive = ClassArchive("spark", [jar], has_profiles=True)
    assert archive.options() == []
    assert not archive.is_recording
    record(archive)
    assert archive.is_recording
    assert ClassArchive("spark", [jar], has_profiles=True).options() == []
    assert archive.keep()
    assert not archive.is_recording
    option = ClassArchive("spark", [jar], has_profiles=True).options()[0]
    assert option == f"-XX:SharedArchiveFile={archive.file}"


def test_nothing_is_kept_of_a_jvm_that_was_killed(jar: Path) -> None:
    archive = ClassArchive("broker", [jar])
    archive.recording()
    assert not archive.keep()
    assert archive.options() == []


def test_another_jar_needs_another_one(jar: Path) -> None:
    archive = ClassArchive("spark", [jar])
    record(archive)
    archive.keep()
    os.utime(jar, ns=(1, 1))
    assert ClassArchive("spark", [jar]).options() == []


def test_profiles_need_java_25(jar: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_java(25, tmp_path, monkeypatch)
    archive = ClassArchive("spark", [jar], has_profiles=True)
    assert archive.recording()[0].startswith("-XX:AOTCacheOutput=")
    assert ClassArchive("broker", [jar]).recording()[0].startswith("-XX:ArchiveClassesAtExit=")


def test_only_the_newest_are_kept(jar: Path) -> None:
    for number in range(KEPT + 2):
        os.utime(jar, ns=(number, number))
        archive = ClassArchive("spark", [jar])
        record(archive)
        archive.keep()
        os.utime(archive.file, (number, number))
    assert len(list(archive.file.parent.iterdir())) == KEPT
    assert archive.options()
