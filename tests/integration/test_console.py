"""The console in a real browser, driven from console/tests/browser: ``make test-console``."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ksql_spark.server.security import passwords
from tests.integration.server_process import ServerProcess

pytestmark = pytest.mark.long

ROOT = Path(__file__).parents[2]
CONSOLE = ROOT / "console"
FAKE_SERVER = ROOT / "tests" / "server" / "fake_server.py"
#: the users of the server without an engine, and their roles; as guards.test.mjs knows them
USERS = {"ada": "admin", "rita": "reader"}


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


def test_from_an_empty_server_to_live_results(tmp_path: Path) -> None:
    with ServerProcess(tmp_path / "data") as server:
        run("story", server.ready().url)
        server.stop()


def test_the_taxi_story(tmp_path: Path) -> None:
    with ServerProcess(tmp_path / "data") as server:
        run("taxi", server.ready().url)
        server.stop()


def test_what_a_newcomer_asks(tmp_path: Path) -> None:
    properties = tmp_path / "server.properties"
    properties.write_text(
        "ksql.create.function.enabled=true\nksql.logging.processing.topic.auto.create=true\n"
        "ksql.logging.processing.stream.auto.create=true\nksql.logging.processing.rows.include=true\n",
        encoding="utf-8",
    )
    with ServerProcess(tmp_path / "data", "--properties", str(properties)) as server:
        run("newcomer", server.ready().url)
        server.stop()


def test_log_in_lost_servers_errors_and_many_nodes(tmp_path: Path) -> None:
    lines = [f"{n}:{passwords.hash_password(f'password of {n}')}:{role}" for n, role in USERS.items()]
    (tmp_path / "users").write_text("\n".join(lines), encoding="utf-8")
    properties = tmp_path / "server.properties"
    properties.write_text(f"ksql.server.auth.users.file={tmp_path / 'users'}\n", encoding="utf-8")
    options = [
        "--listen",
        "127.0.0.1:0",
        "--data-dir",
        str(tmp_path / "data"),
        "--properties",
        str(properties),
    ]
    server = subprocess.Popen(
        [sys.executable, str(FAKE_SERVER), "--engine", "LiveEngine", *options],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        start_new_session=True,
    )
    try:
        assert server.stdout is not None
        url = next(line.split()[1] for line in server.stdout if line.startswith("ready: "))
        run("guards", url, SERVER_PID=str(server.pid))
    finally:
        server.send_signal(signal.SIGTERM)
        server.communicate(timeout=60)
