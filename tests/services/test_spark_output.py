"""Spark's logs are bounded, and silent about ordinary ends of queries."""

from __future__ import annotations

import io
import logging
import re
from pathlib import Path

import pytest

from ksql_spark.spark import jvm, session
from ksql_spark.spark.session import LOG_SETTINGS


def settings() -> dict[str, str]:
    lines = (line for line in LOG_SETTINGS.read_text(encoding="utf-8").splitlines() if " = " in line)
    return {name: value for name, _, value in (line.partition(" = ") for line in lines if line[0] != "#")}


def test_the_log_rotates_while_the_jvm_runs() -> None:
    found = settings()
    assert found["appender.file.type"] == "RollingFile"
    assert found["appender.file.policies.type"] == "SizeBasedTriggeringPolicy"
    assert (found["appender.file.policies.size"], found["appender.file.strategy.max"]) == ("5MB", "3")


@pytest.mark.parametrize(
    "message, is_ordinary",
    [
        ("Aborting task", True),
        ("Aborted commit for partition 0 (task 4, attempt 0, stage 3.0)", True),
        ("Data source write support MicroBatchWrite[epoch: 1, writer: x@7] is aborting.", True),
        ("[queryId = 1] [batchId = 2] Lost task 0.0 in stage 3.0 (TID 4) (localhost executor driver): "
         "TaskKilled (Stage cancelled: [SPARK_JOB_CANCELLED] Job 1 cancelled\n)", True),
        ("Lost task 0.0 in stage 3.0 (TID 4) (localhost executor driver): java.io.IOException: no", False),
        ("Query CSAS_A_1 [id = 1, runId = 2] terminated with error", False),
        ("Exception in task 0.0 in stage 3.0 (TID 4)", False),
        ("Uncaught exception in thread Executor task launch worker", False),
    ],
)  # fmt: skip
def test_what_the_log_leaves_out(message: str, is_ordinary: bool) -> None:
    regex = settings()["appender.file.filter.ordinary.regex"].replace("\\\\", "\\")
    assert bool(re.fullmatch(regex, message)) == is_ordinary


def test_what_is_printed_is_kept_up_to_a_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "PRINTED_BYTES", 1000)
    printed = b"".join(b"line %d \xff {}\n" % number for number in range(1000))
    session._keep(io.BytesIO(printed), tmp_path / "spark.out")
    files = sorted(tmp_path.iterdir())
    assert [file.name for file in files] == ["spark.out", "spark.out.1"]
    assert all(file.stat().st_size <= 1000 for file in files)
    assert files[0].read_text(encoding="utf-8").endswith("line 999 � {}\n")


@pytest.mark.parametrize("folder, is_kept", [("py4j", False), ("runtime", True)])
def test_what_py4j_logs_of_failed_calls_is_left_out(folder: str, is_kept: bool) -> None:
    record = logging.LogRecord("root", logging.ERROR, f"/{folder}/java_gateway.py", 1, "failed", (), None)
    assert jvm._is_not_from_py4j(record) == is_kept
