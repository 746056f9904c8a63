"""The server as a process: what it says, and how it ends."""

from __future__ import annotations

import os
import re
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from ksql_spark.config import Config
from ksql_spark.errors import KsqlError
from ksql_spark.server import main as server_main
from ksql_spark.server import running
from ksql_spark.server.main import _bind, main
from ksql_spark.server.running import between_requests_s
from tests.server.fake_engine import FakeEngine
from tests.waiting import TIMEOUT_S

SERVER = Path(__file__).with_name("fake_server.py")
#: for what happens at once, unless the machine is very busy
SOON_S = 60


class Process:
    """A server process whose output is read line by line."""

    def __init__(self, data_dir: Path, *arguments: str, engine: str = "FakeEngine") -> None:
        environment = {name: value for name, value in os.environ.items() if not name.startswith("KSQL_")}
        self.process = subprocess.Popen(
            [sys.executable, str(SERVER), "--engine", engine, "--data-dir", str(data_dir), *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
        )

    def line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().rstrip()

    def until(self, start: str) -> str:
        """The first line that starts with ``start``."""
        while not (line := self.line()).startswith(start):
            assert line, "the process ended"
        return line

    def end(self) -> tuple[int, str, str]:
        """Exit code and the rest of both outputs, once it ended by itself."""
        out, err = self.process.communicate(timeout=SOON_S)
        return self.process.returncode, out, err


@pytest.fixture
def run(tmp_path: Path) -> Iterator[object]:
    started: list[Process] = []

    def start(*arguments: str, engine: str = "FakeEngine") -> Process:
        started.append(Process(tmp_path / "data", *arguments, engine=engine))
        return started[-1]

    yield start
    for process in started:
        if process.process.poll() is None:
            process.process.kill()
        process.process.communicate()


@pytest.fixture
def refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Starts a server in this process, which must end at once; returns the line that says why."""

    def start(*arguments: str) -> str:
        assert main(["--data-dir", str(tmp_path / "data"), *arguments], FakeEngine) == 1
        out, err = capsys.readouterr()
        assert (out, err.count("\n")) == ("", 1)
        return err

    return start


def test_a_server_starts_again_in_the_same_process_at_the_same_ports(
    run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RESTART", "1")
    process = run("--listen", "127.0.0.1:0", "--pg-listen", "127.0.0.1:0", engine="RestartingEngine")
    first = process.until("ready: ").partition(" in ")[0]
    assert process.line() == "the clock was set back by 3600 s: starting again"
    assert process.until("ready: ").partition(" in ")[0] == first
    assert httpx.get(f"{first.split()[1]}/info", timeout=TIMEOUT_S).status_code == 200
    process.process.send_signal(signal.SIGTERM)
    assert process.end()[0] == 0


def test_says_what_it_starts_and_stops_on_sigterm(run, tmp_path: Path) -> None:
    process = run("--listen", "127.0.0.1:0")
    first = process.line()
    assert re.fullmatch(r"starting: http://127\.0\.0\.1:\d+, data in \S+, log in \S+/logs/server\.log", first)
    assert process.line() == "broker: a fake one"
    ready = re.fullmatch(r"ready: (http://127\.0\.0\.1:\d+) in \d+\.\d s", process.line())
    assert ready
    assert httpx.get(f"{ready[1]}/info", timeout=TIMEOUT_S).status_code == 200
    process.until("complete:")
    process.process.send_signal(signal.SIGTERM)
    assert process.end() == (0, "stopping\nstopped\n", "")
    assert (tmp_path / "data" / "logs" / "server.log").exists()
    assert stat.S_IMODE((tmp_path / "data").stat().st_mode) == 0o700


def test_a_file_of_properties(run, tmp_path: Path) -> None:
    """It listens at several addresses, closes idle connections, and logs properties that change nothing."""
    file = tmp_path / "server.properties"
    file.write_text(
        "listeners=http://127.0.0.1:0,http://localhost:0\nksql.idle.connection.timeout.seconds=1\n"
        "ksql.metastore.backup.location=/backup\nksql.service.id=mine_\n"
    )
    process = run("--properties", str(file))
    port = int(process.until("ready: http://127.0.0.1:").split(" in ")[0].rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port), timeout=SOON_S) as sock:
        sock.sendall(b"GET /info HTTP/1.1\r\nHost: localhost\r\n\r\n")
        answer = b""
        while piece := sock.recv(65_536):
            answer += piece
    assert answer.startswith(b"HTTP/1.1 200")
    process.process.send_signal(signal.SIGTERM)
    assert process.end()[0] == 0
    log = (tmp_path / "data" / "logs" / "server.log").read_text()
    assert "Property 'ksql.metastore.backup.location' has no effect" in log
    assert "ksql.service.id" not in log


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_stops_in_the_middle_of_starting(run, number: signal.Signals) -> None:
    process = run("--listen", "127.0.0.1:0", engine="SlowEngine")
    url = re.search(r"http://[\d.:]+", process.line())[0]
    process.until("broker: not quite there")
    answer = httpx.get(f"{url}/info", timeout=TIMEOUT_S)
    assert (answer.status_code, answer.json()["error_code"]) == (503, 50302)
    assert httpx.get(f"{url}/chc/live", timeout=TIMEOUT_S).json() == {}
    process.process.send_signal(number)
    assert process.end() == (0, "stopping\nstopped\n", "")


def test_stops_with_the_program_that_started_it(run) -> None:
    process = run("--listen", "127.0.0.1:0", "--exit-with-stdin", engine="SlowEngine")
    process.until("broker: not quite there")
    process.process.stdin.close()
    process.process.stdin = None
    assert process.end()[0] == 0


def test_start_that_fails_is_one_line(run) -> None:
    code, _, err = run("--listen", "127.0.0.1:0", engine="FailingEngine").end()
    message = KsqlError("BROKER_UNREACHABLE", servers="kafka:9092", reason="connection refused").message
    assert (code, err) == (1, f"ksql-spark server: {message}\n")


def test_socket_sends_without_delay() -> None:
    sock = _bind("127.0.0.1", 0, 60_000)
    with sock:
        assert sock.proto == socket.IPPROTO_TCP, "asyncio asks for this before it sets TCP_NODELAY"


def test_headless_server_runs_its_file_and_nothing_else(run, tmp_path: Path) -> None:
    file = tmp_path / "queries.sql"
    file.write_text("\ufeffCREATE STREAM a;", encoding="utf-8")
    process = run("--listen", "127.0.0.1:0", "--queries-file", str(file), engine="NewEngine")
    assert process.until("running the statements") == f"running the statements of {file}"
    url = process.until("ready: ").split()[1]
    answer = httpx.post(f"{url}/ksql", json={"ksql": "SHOW STREAMS;"}, timeout=TIMEOUT_S)
    assert (answer.status_code, answer.json()["error_code"]) == (403, 40300)
    assert str(file) in answer.json()["message"]
    assert httpx.get(f"{url}/info", timeout=TIMEOUT_S).status_code == 200


def test_headless_server_leaves_it_at_what_the_command_log_has(run, tmp_path: Path) -> None:
    file = tmp_path / "queries.sql"
    file.write_text("CREATE STREAM a;")
    process = run("--listen", "127.0.0.1:0", "--queries-file", str(file))
    assert process.until("the command log already has statements")
    assert process.until("ready: ")


def test_queries_file_that_fails_ends_the_server(run, tmp_path: Path) -> None:
    file = tmp_path / "queries.sql"
    file.write_text("DESCRIBE NOWHERE;")
    process = run("--listen", "127.0.0.1:0", "--queries-file", str(file), engine="NewEngine")
    code, _, err = process.end()
    assert code == 1
    assert err.startswith(f"ksql-spark server: {file}: Source does not exist: NOWHERE.\nline 1:10\n")


@pytest.mark.parametrize(
    ("content", "reason"), [(None, "No such file or directory"), (b"\xff", "it is not UTF-8 text")]
)
def test_queries_file_that_cannot_be_read_starts_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes | None, reason: str
) -> None:
    file = tmp_path / "queries.sql"
    if content is not None:
        file.write_bytes(content)

    def make_engine(config: Config) -> Any:
        raise AssertionError("an engine was started")

    data_dir = tmp_path / "data"
    options = ["--listen", "127.0.0.1:0", "--data-dir", str(data_dir), "--queries-file", str(file)]
    assert main(options, make_engine) == 1
    out, err = capsys.readouterr()
    assert (out, err) == ("", f"ksql-spark server: Cannot read the queries file {file}: {reason}.\n")
    assert not data_dir.exists()


def test_help_says_how_properties_are_written_in_the_environment(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "with _ for a dot, __ for an underscore and ___ for a dash" in shown


def test_folders_of_connectors_may_be_several(monkeypatch: pytest.MonkeyPatch) -> None:
    configs: list[Config] = []
    monkeypatch.setattr(running.Running, "run", lambda self, exits: configs.append(self._config) or 0)
    monkeypatch.setattr(server_main, "_bind", lambda *_: socket.socket())
    assert main(["--connect-plugins", "/a", "--connect-plugins", "/b,/c"]) == 0
    assert configs[0]["ksql.spark.connect.plugins"] == ["/a", "/b", "/c"]


def test_taken_port_is_one_line(refused) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        line = refused("--listen", f"127.0.0.1:{port}")
    assert line == (
        f"ksql-spark server: Port {port} on 127.0.0.1 is already in use. Stop the program that uses it "
        f"(perhaps another ksql-spark server), or choose another port with --listen 127.0.0.1:{port + 1}.\n"
    )


def test_a_free_port_where_the_usual_one_is_taken(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        usual = taken.getsockname()[1]
        seen: list[running.Running] = []
        monkeypatch.setattr(running.Running, "run", lambda self, exits: seen.append(self) or 0)
        monkeypatch.setattr(server_main, "_listeners", lambda config: [("127.0.0.1", usual)])
        assert main(["--data-dir", str(tmp_path)]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    used = re.search(r"this one uses port (\d+)", line)
    assert used and line.startswith(f"port {usual} is taken") and int(used[1]) != usual
    # a server that starts itself again keeps it
    assert seen[0]._chosen_ports == ["--listen", f"127.0.0.1:{used[1]}"]


@pytest.mark.parametrize(
    ("values", "seconds"),
    [
        ({}, 75),
        ({"ksql.idle.connection.timeout.seconds": 600}, 600),
        ({"ksql.idle.connection.timeout.seconds": 0}, 2**31),
    ],
)
def test_how_long_connections_without_requests_are_kept(values: dict[str, Any], seconds: int) -> None:
    assert between_requests_s(Config(values)) == seconds


@pytest.mark.parametrize("listen", ["127.0.0.1", "8088", "127.0.0.1:many", "127.0.0.1:99999"])
def test_address_that_makes_no_sense(refused, listen: str) -> None:
    assert "give a host and a port" in refused("--listen", listen)


def test_unknown_property_is_one_line(refused, tmp_path: Path) -> None:
    file = tmp_path / "server.properties"
    file.write_text("ksql.servise.id=x\n")
    assert "ksql.servise.id" in refused("--properties", str(file))


def test_data_folder_that_cannot_be_written_is_one_line(refused, tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file")
    line = refused("--listen", "127.0.0.1:0")
    assert line.startswith("ksql-spark server: Cannot write to the data folder ")


def test_a_wrong_address_for_clients_of_postgresql(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--pg-listen", "nowhere"]) == 1
    assert "Cannot listen at 'nowhere' for clients of PostgreSQL" in capsys.readouterr().err
