"""What the tools for the JVM classes say where there is no Java, or no JDK."""

from __future__ import annotations

from pathlib import Path

import pytest

from ksql_spark.errors import KsqlError

from . import tools


def test_without_java_nothing_is_checked(monkeypatch, capsys):
    def missing() -> Path:
        raise KsqlError("JAVA_MISSING", version=17, found="")

    monkeypatch.setattr(tools, "java_binary", missing)
    assert tools.main(["lint", "test"]) == 0
    assert capsys.readouterr().out.startswith("The JVM classes were not checked. ")


def test_with_a_runtime_only_the_format_is_not_checked(monkeypatch, capsys, tmp_path):
    runtime = tmp_path / "java"
    runtime.write_text("#!/bin/sh\necho java.base@17\n")
    runtime.chmod(0o755)
    monkeypatch.setattr(tools, "java_binary", lambda: runtime)
    assert tools.main(["format"]) == 0
    assert "was not checked: google-java-format needs a JDK" in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [[], ["lint", "nonsense"]])
def test_other_words_are_refused(arguments, capsys):
    assert tools.main(arguments) == 2
    assert "lint|format|test" in capsys.readouterr().err


def test_ctrl_c_ends_it_without_a_traceback(monkeypatch, capsys):
    def interrupted() -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(tools, "java_binary", Path)
    monkeypatch.setattr(tools, "test", interrupted)
    assert tools.main(["test"]) == 130
    assert capsys.readouterr() == ("", "")
