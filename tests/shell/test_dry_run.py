"""--dry-run: all statements of a script are checked by the server, none runs."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from ksql_spark.shell.main import main
from tests.server.fake_engine import FakeEngine
from tests.server.live_server import LiveServer


def test_statements_are_checked_together_and_none_runs(
    server: LiveServer, engine: FakeEngine, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    inner, outer = tmp_path / "inner.sql", tmp_path / "outer.sql"
    inner.write_text("SHOW TOPICS;\n")
    outer.write_text(
        f"SHOW STREAMS; -- all\noutput json\nrun script {inner}\nSELECT * FROM s;\nPRINT t;\nSHOW TABLES"
    )
    assert main([server.url, "-f", str(outer), "--dry-run"]) == 0
    assert capsys.readouterr() == ("", "")
    assert engine.validated == [
        "SHOW STREAMS\n;\nSHOW TOPICS\n;\nEXPLAIN\nSELECT * FROM s\n;\nSHOW TABLES\n;\n"
    ]
    assert not engine.requests


def test_files_of_run_build_on_each_other(server: LiveServer, engine: FakeEngine, tmp_path: Path) -> None:
    for name, text in (("a", "SHOW STREAMS;"), ("b", "SHOW TABLES;")):
        (tmp_path / name).write_text(text)
    assert main(["run", "--server", server.url, "--dry-run", str(tmp_path / "a"), str(tmp_path / "b")]) == 0
    assert engine.validated == ["SHOW STREAMS\n;\nSHOW TABLES\n;\n"]


def test_the_first_wrong_statement_has_its_place(
    server: LiveServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = tmp_path / "script.sql"
    script.write_text("SHOW STREAMS;\n\n  DESCRIBE\n  NOWHERE; SHOW TABLES;\nDESCRIBE NOWHERE;\nSHOW TABLES;")
    assert main([server.url, "-f", str(script), "--dry-run"]) == 1
    shown = capsys.readouterr()
    assert shown.out == "" and shown.err.startswith(f"{script}:4:3: Source does not exist: NOWHERE.")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("SHOW STREAMS;\n/* x", "-e:2:1: This comment is never closed."),
        ("SHOW STREAMS;\nhlep\n", "-e:2:1: Unknown command 'hlep'. Did you mean help?"),
        ("run script missing.sql", "Cannot read missing.sql"),
    ],
)
def test_what_the_shell_refuses_itself(
    server: LiveServer, text: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([server.url, "-e", text, "--dry-run"]) == 1
    assert message in capsys.readouterr().err


def test_a_script_that_runs_itself(
    server: LiveServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = tmp_path / "script.sql"
    script.write_text(f"run script {script}\n")
    assert main([server.url, "-f", str(script), "--dry-run"]) == 1
    assert "runs itself" in capsys.readouterr().err


def test_a_pipe(server: LiveServer, engine: FakeEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("SHOW ${what};"))
    assert main([server.url, "--dry-run", "--var", "what=STREAMS"]) == 0
    assert engine.validated == ["SHOW ${what}\n;\n"]
