"""The oldest Python that ksql-spark runs on: one number everywhere, and an older one is told so."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from ksql_spark.shell import main

ROOT = Path(__file__).parents[1]
OLDEST = ".".join(map(str, main.OLDEST_PYTHON))


def test_the_oldest_version_is_the_same_everywhere() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert settings["project"]["requires-python"] == f">={OLDEST}"
    assert settings["tool"]["ruff"]["target-version"] == f"py{OLDEST.replace('.', '')}"
    assert settings["tool"]["mypy"]["python_version"] == OLDEST
    for name in ("Makefile", "README.md", "CONTRIBUTING.md", "ksql_spark/__init__.py"):
        named = re.findall(r"Python (3\.\d+)", (ROOT / name).read_text(encoding="utf-8"))
        assert named and set(named) == {OLDEST}, name


def test_the_command_refuses_an_older_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "version_info", (3, 10, 13, "final", 0))
    assert main.main(["--version"]) == 1
    assert capsys.readouterr().err == f"ksql-spark needs Python {OLDEST} or newer; this is Python 3.10.13.\n"


def test_make_refuses_an_older_one_before_it_fetches_anything(tmp_path: Path) -> None:
    make = shutil.which("make")
    assert make is not None
    shutil.copy(ROOT / "Makefile", tmp_path)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    old = tmp_path / "python3"
    old.write_text('#!/bin/sh\ncase "$2" in *print*) echo 3.10.13;; *) exit 1;; esac\n')
    old.chmod(0o755)
    path = {"PATH": str(tmp_path)}  # nothing but the old Python
    done = subprocess.run([make, "run"], cwd=tmp_path, env=path, capture_output=True, text=True)
    assert done.returncode != 0
    assert done.stderr.startswith(
        f"ksql-spark needs Python {OLDEST} or newer. python3 is 3.10.13. Install one, or set its path: "
    )
    assert not (tmp_path / ".venv").exists()


@pytest.mark.parametrize("target", ["run", "server", "demo"])
def test_what_runs_the_product_installs_no_tools(target: str) -> None:
    done = subprocess.run(
        ["make", "--dry-run", "--always-make", target], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert "--editable '.[server]'" in done.stdout
    assert "--group" not in done.stdout
