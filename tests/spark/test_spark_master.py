"""What a session is told about where its tasks run."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from ksql_spark.spark import master

JARS = [Path("/cache/ours.jar")]
CLASS_PATH = [*JARS, Path("/venv/spark-core.jar")]
ARCHIVE = ["-XX:AOTCache=/home/jo doe/spark.aot", "-Xlog:aot=off"]


def settings(url: str, **own: str) -> dict[str, str]:
    given = {name.replace("_", "."): value for name, value in own.items()}
    return master.settings(
        url, JARS, ["-Dours=1"], "2g", given, class_path=CLASS_PATH, archive_options=ARCHIVE
    )


def test_executors_on_this_machine_use_the_archive_of_classes() -> None:
    found = settings(
        "local-cluster[2,8,1024]",
        spark_executor_extraClassPath="/mine.jar",
        spark_executor_extraJavaOptions="-Dmine=1",
    )
    assert found["spark.executor.extraClassPath"] == "/cache/ours.jar:/venv/spark-core.jar:/mine.jar"
    assert found["spark.executor.extraJavaOptions"] == (
        '-Dours=1 "-XX:AOTCache=/home/jo doe/spark.aot" "-Xlog:aot=off" -Dmine=1'
    )


def test_executors_elsewhere_do_not() -> None:
    found = settings("spark://spark:7077")
    assert found["spark.executor.extraJavaOptions"] == "-Dours=1"
    assert "spark.executor.extraClassPath" not in found
    assert found["spark.jars"] == "file:///cache/ours.jar"


def test_tasks_in_the_driver_need_neither() -> None:
    assert not any(name.startswith("spark.executor") for name in settings("local"))


@pytest.fixture
def java_home(tmp_path: Path) -> Path:
    """A Java that prints its options, a line each, in a folder with a space in its name."""
    home = tmp_path / "a java"
    (home / "bin").mkdir(parents=True)
    (home / "bin" / "java").write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    (home / "bin" / "java").chmod(0o755)
    return home


def java_for_executors(tmp_path: Path, java_home: Path) -> Path:
    """The Java that Spark takes for executors on this machine."""
    jars = tmp_path / "jars"
    jars.mkdir()
    (jars / "scala-library-2.13.1.jar").touch()
    found = master.environment("local-cluster[1,1,1024]", jars, java_home, tmp_path / "its home")
    return Path(found["JAVA_HOME"]) / "bin" / "java"


def test_executors_on_this_machine_start_without_what_an_archive_does_not_go_with(
    tmp_path: Path, java_home: Path
) -> None:
    given = [
        "--add-modules=jdk.incubator.vector",
        "--add-opens=java.security.jgss/sun.security.krb5=ALL-UNNAMED",
        "--add-opens=java.base/java.io=ALL-UNNAMED",
        "-Dours=a b",
        "Main",
        "",
    ]
    command = [str(java_for_executors(tmp_path, java_home)), *given]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert printed.split("\n")[:-1] == given[2:]


def test_where_nothing_may_be_executed_they_are_started_as_spark_does(
    tmp_path: Path, java_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert java_for_executors(tmp_path, java_home) == java_home / "bin" / "java"
