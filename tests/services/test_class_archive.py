"""Archives of classes: which options a JVM gets, and what is kept."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ksql_spark.services import cache, class_archive
from ksql_spark.services.class_archive import KEPT, ClassArchive


@pytest.fixture
def jar(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A class path of one jar, with a Java 17 and a cache of the test's own."""
    monkeypatch.setenv("KSQL_SPARK_CACHE", str(tmp_path / "cache"))
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


def record(archive: ClassArchive, content: bytes = b"archive") -> Path:
    """Do what a JVM with these options does when it exits; returns the file that it writes."""
    file = Path(archive.recording()[0].partition("=")[2])
    file.write_bytes(content)
    return file


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


@pytest.mark.parametrize("content", [b"", b"\0\0\0\0 its first bytes are missing"])
def test_a_part_of_an_archive_is_not_one(jar: Path, content: bytes) -> None:
    """0.1.0 moved what a killed JVM had written to the archive's place."""
    archive = ClassArchive("broker", [jar])
    archive.file.parent.mkdir(parents=True)
    archive.file.write_bytes(content)
    assert not archive.exists and archive.options() == []
    record(archive, content)
    assert not archive.keep()
    record(archive)
    assert archive.keep() and archive.exists


def test_an_aot_cache_is_not_kept_before_its_source_is_removed(
    jar: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_java(25, tmp_path, monkeypatch)
    archive = ClassArchive("broker", [jar], has_profiles=True)
    file = record(archive)
    file.with_name(f"{file.name}.config").touch()
    assert not archive.keep()
    assert not file.parent.exists()


def test_two_processes_may_write_it_at_once(jar: Path) -> None:
    first, second = ClassArchive("broker", [jar]), ClassArchive("broker", [jar])
    record(first, b"first")
    record(second, b"second")
    cache.remove_leftovers()
    assert first.keep() and second.keep()
    assert first.file.read_bytes() == b"second"


def test_a_disk_that_is_full_or_read_only_leaves_starts_slow(
    jar: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*arguments: object) -> None:
        raise OSError("No space left on device")

    archive = ClassArchive("broker", [jar])
    record(archive)
    with monkeypatch.context() as full:
        full.setattr(cache, "move", fails)
        assert not archive.keep()
    monkeypatch.setattr(cache, "scratch", fails)
    assert archive.recording() == []
    assert not archive.keep()


def test_the_wait_for_an_archive_is_shown_and_ends(jar: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(0, 1000, 100))
    monkeypatch.setattr(class_archive.time, "monotonic", lambda: next(clock))
    lines: list[str] = []
    ClassArchive("broker", [jar]).await_written("Kafka", lambda seconds: False, lines.append)
    assert [line.rpartition(": ")[2] for line in lines] == ["100 s", "200 s"]
