"""What a session is told about where its tasks run."""

from __future__ import annotations

from pathlib import Path

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
