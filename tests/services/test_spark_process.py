"""A JVM that is frozen does not hold up a stop; one of a user without a name runs."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ksql_spark.errors import KsqlError
from ksql_spark.spark import jvm, session
from ksql_spark.spark.session import SparkProcess


class Frozen:
    """A session each call of which takes as long as its JVM lives."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self.called = threading.Event()

    def stop(self) -> None:
        self.called.set()
        self._process.wait()
        raise ConnectionResetError

    @property
    def _jvm(self) -> Any:
        return self.stop()


@pytest.fixture
def process() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(["sleep", "600"], stdin=subprocess.PIPE) as started:
        yield started
        started.kill()


@pytest.fixture
def spark(process: subprocess.Popen[bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SparkProcess:
    frozen: Any = Frozen(process)
    monkeypatch.setattr(session, "STOP_S", 0.01)
    monkeypatch.setattr(session, "ANSWER_S", 0.01)
    monkeypatch.setattr(jvm, "forget", lambda: None)  # of other tests
    monkeypatch.setattr(jvm.SparkContext, "_gateway", None)
    return SparkProcess(tmp_path, session=frozen, _process=process)


def test_a_frozen_jvm_is_killed_by_a_stop(spark: SparkProcess, process: subprocess.Popen[bytes]) -> None:
    spark.stop()
    assert process.returncode == -9
    assert not spark.is_alive


def test_a_frozen_jvm_is_killed_before_it_is_asked(
    spark: SparkProcess, process: subprocess.Popen[bytes]
) -> None:
    spark.kill_if_frozen()
    assert process.returncode == -9


def test_a_jvm_that_does_not_get_ready_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It hangs before it has told its address, like one that is frozen."""
    monkeypatch.setattr(session.java, "java_binary", lambda: "/bin/sh")
    monkeypatch.setattr(SparkProcess, "_own_jars", lambda self, report: [])
    program = tmp_path / "hangs"
    program.write_text("#!/bin/sh\nexec sleep 600\n")
    program.chmod(0o755)
    monkeypatch.setattr(session.java, "java_binary", lambda: program)
    process = SparkProcess(tmp_path / "work", start_timeout_s=0.1)
    with pytest.raises(KsqlError, match=r"not ready within 0\.1 s"):
        process.restart()
    assert not process.is_alive
    with pytest.raises(KsqlError, match="still starting"):
        _ = process.running_session
    process.stop()
    process.end()
    with pytest.raises(KsqlError, match="shutting down"):
        process.restart()
    assert not process.is_alive


def test_a_jvm_that_answers_is_not_killed(
    spark: SparkProcess, process: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SparkProcess, "answers", lambda self: True)
    monkeypatch.setattr(session, "ANSWER_S", 60.0)
    spark.kill_if_frozen()
    assert process.poll() is None


def test_hadoop_learns_who_a_user_without_a_name_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """tests/docker/test_image.py starts a whole server as one."""
    asked: list[object] = []
    hadoop = SimpleNamespace(createRemoteUser=lambda name: f"user {name}", setLoginUser=asked.append)
    view = SimpleNamespace(**{"org.apache.hadoop.security.UserGroupInformation": hadoop})
    monkeypatch.setattr(jvm.SparkContext, "_ensure_initialized", lambda: None)
    monkeypatch.setattr(jvm.SparkContext, "_jvm", view)
    monkeypatch.delenv("HADOOP_USER_NAME", raising=False)
    monkeypatch.setattr(jvm.os, "getuid", lambda: 0)
    jvm.name_user()
    assert not asked
    monkeypatch.setattr(jvm.os, "getuid", lambda: 2**31 - 7)
    jvm.name_user()
    assert asked == [f"user {2**31 - 7}"]


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        (
            "spark.task.cpus",
            "one",
            "Invalid value one for property 'spark.task.cpus': it should be a number.",
        ),
        ("spark.task.cpu", "1", "property: 'spark.task.cpu'"),
        ("spark.of.a.plugin", "1", None),
        ("spark.hadoop.fs.s3a.endpoint", "x", None),
    ],
)
def test_a_wrong_setting_of_spark_ends_the_start_with_its_name(
    name: str, value: str, message: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SparkSettingsTest.java has what Spark says of values."""

    def problems(settings: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
        wrong = {"spark.task.cpus": "it should be a number"}
        return {one: wrong[one] for one in settings if one in wrong}, ["spark.task.cpus"]

    monkeypatch.setattr(jvm, "settings_problems", problems)
    if message is None:
        session._check({name: value})
        return
    with pytest.raises(KsqlError) as caught:
        session._check({name: value})
    assert message in caught.value.message
    if "unknown" in caught.value.condition.lower():
        assert caught.value.hint == "Did you mean 'spark.task.cpus'?"
