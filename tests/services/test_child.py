"""Child processes end within a time limit, whatever they do, and leave none of theirs behind."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest

from ksql_spark.services import child as module
from ksql_spark.services.child import ChildProcess, is_alive
from tests.waiting import until


@pytest.fixture(params=["Linux", "another system"], autouse=True)
def system(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    if request.param != "Linux":
        monkeypatch.setattr(module, "PROCESSES", tmp_path / "proc")


def test_a_process_that_nobody_has_waited_for_is_not_alive() -> None:
    with subprocess.Popen(["/bin/sh", "-c", "read line"], stdin=subprocess.PIPE) as process:
        assert is_alive(process.pid)
        assert process.stdin is not None
        process.stdin.close()
        wait_for_end(process.pid)
    assert not is_alive(process.pid)


def started(tmp_path: Path) -> tuple[ChildProcess, int]:
    """A process with a child of its own, whose id it has written."""
    note = tmp_path / "pid"
    script = f"trap '' TERM; sleep 600 & echo $! > {note}.new; mv {note}.new {note}; wait; wait"
    child = ChildProcess(["/bin/sh", "-c", script], tmp_path / "out")
    until(note.exists)
    return child, int(note.read_text())


def wait_for_end(pid: int) -> None:
    until(lambda: not is_alive(pid))


def test_a_frozen_process_is_killed_by_a_stop_with_all_that_it_started(tmp_path: Path) -> None:
    child, grandchild = started(tmp_path)
    os.kill(child.pid, signal.SIGSTOP)
    os.kill(grandchild, signal.SIGSTOP)
    child.stop(0.05)
    assert child.exit_code == -signal.SIGKILL
    wait_for_end(grandchild)


def test_a_kill_waits_for_no_one_and_may_come_again(tmp_path: Path) -> None:
    child, grandchild = started(tmp_path)
    child.kill()
    assert child.exit_code == -signal.SIGKILL
    wait_for_end(grandchild)
    child.kill()
    child.stop(0.05)
