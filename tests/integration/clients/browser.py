"""The console's tests, run by Node in a browser."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
CONSOLE = ROOT / "console"


def run(script: str, url: str, **environment: str) -> None:
    """Run the tests of ``script`` in a browser; skip where there is none."""
    browser = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    if browser is None:
        pytest.skip("Chromium is not installed: apt-get install chromium")
    if shutil.which("node") is None or not (CONSOLE / "node_modules" / "playwright-core").is_dir():
        pytest.skip("Node or the console's packages are not installed: make console")
    done = subprocess.run(
        ["node", "--test", f"tests/browser/{script}.test.mjs"],
        cwd=CONSOLE,
        env={**os.environ, "CONSOLE_URL": url, "CHROMIUM": browser, **environment},
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert done.returncode == 0, done.stdout + done.stderr
