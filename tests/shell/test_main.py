"""The command line: options, exit codes, files, pipes, the embedded engine."""

from __future__ import annotations

import contextlib
import io
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import pytest

from ksql_spark.errors import KsqlError
from ksql_spark.services.ports import free_port
from ksql_spark.shell import embedded, local
from ksql_spark.shell.client import Client
from ksql_spark.shell.embedded import EmbeddedServer, StartFailed
from ksql_spark.shell.main import SUBCOMMANDS, _is_address, main
from ksql_spark.shell.prompt.interactive import services
from tests.server.fake_engine import FakeEngine
from tests.server.live_server import LiveServer

FAKE_SERVER = Path(__file__).parent.parent / "server" / "fake_server.py"
#: for what happens at once, unless the machine is very busy
SOON_S = 60


@dataclass
class Done:
    """What one run of the command line gave."""

    returncode: int
    stdout: str
    stderr: str


def ksql(*arguments: str, stdin: str = "") -> Done:
    """Run the command line in this process."""
    out, err = io.StringIO(), io.StringIO()
    before, sys.stdin = sys.stdin, io.StringIO(stdin)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                code = main(arguments)
            except SystemExit as stop:
                code = int(stop.code or 0)
    finally:
        sys.stdin = before
    return Done(code, out.getvalue(), err.getvalue())


def test_the_shell_is_light() -> None:
    code = (
        "import sys; from ksql_spark.shell import main, run; "
        "from ksql_spark.shell.prompt import interactive; from ksql_spark.tools.demo import main; "
        "names = ('client', 'grammar', 'listeners', 'row_files', 'shell', 'tools'); "
        "light = tuple(f'ksql_spark.{name}' for name in names); "
        "ours = [m for m in sys.modules if m.startswith('ksql_spark.') and not m.startswith(light)]; "
        "print(ours + [m for m in ('pyspark', 'fastapi') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=SOON_S)
    assert done.stdout.strip() == "[]", done.stderr


def test_the_prompt_waits_for_little() -> None:
    code = (
        "import sys; from ksql_spark.shell import main, options; "
        "from ksql_spark.shell.prompt import interactive; "
        "print([m for m in ('sqlglot', 'httpx', 'rich', 'pygments', 'plotext') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=SOON_S)
    assert done.stdout.strip() == "[]", done.stderr


#: a module that Python imports at its start: what a client does not need is not there
CLIENT_ALONE = """
import importlib.abc, os, sys
class Missing(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name.partition(".")[0] in os.environ["MISSING"].split(","):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Missing())
"""


@pytest.fixture
def client_alone(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs the command line where only the packages of a client are installed."""
    root = Path(__file__).parents[2]
    settings = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    needed = settings["project"]["optional-dependencies"]["server"]
    missing = ",".join(re.split(r"[^\w-]", one)[0].replace("-", "_") for one in needed)
    (tmp_path / "sitecustomize.py").write_text(CLIENT_ALONE)
    path = os.pathsep.join([str(tmp_path), str(root)])

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        code = "import sys; from ksql_spark.shell.main import main; sys.exit(main())"
        return subprocess.run(
            [sys.executable, "-c", code, *arguments],
            capture_output=True,
            text=True,
            timeout=SOON_S,
            env=os.environ | {"PYTHONPATH": path, "MISSING": missing},
        )

    return run


def test_a_client_needs_nothing_of_the_server(
    client_alone: Callable[..., subprocess.CompletedProcess[str]], server: LiveServer
) -> None:
    done = client_alone(server.url, "-e", "SHOW STREAMS;")
    assert (done.returncode, done.stderr) == (0, "") and "Stream Name" in done.stdout


@pytest.mark.parametrize("command", [["server"], ["datagen", "rides"], ["demo", "taxi"]])
def test_what_needs_the_server_says_how_to_get_it(
    client_alone: Callable[..., subprocess.CompletedProcess[str]], command: list[str]
) -> None:
    done = client_alone(*command)
    assert done.returncode != 0 and done.stdout == ""
    assert "pip install 'ksql-spark[server]'" in done.stderr and "Traceback" not in done.stderr


def test_help_lists_the_commands() -> None:
    done = ksql("--help")
    assert done.returncode == 0
    for name in ("server", "run", "datagen", "demo", "--execute", "--query-row-limit"):
        assert name in done.stdout


def test_the_installed_command() -> None:
    code = "import sys; from ksql_spark.shell.main import main; sys.exit(main())"
    done = subprocess.run(
        [sys.executable, "-c", code, "-e", "x", "127.0.0.1:1"], capture_output=True, text=True, timeout=SOON_S
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("word", "advice"), [("sever", "Did you mean 'ksql-spark server'? The commands are "), ("bogus", "")]
)
def test_a_word_that_is_neither_a_command_nor_an_address(word: str, advice: str) -> None:
    done = ksql(word, "-e", "SHOW TOPICS")
    assert (done.returncode, done.stdout) == (2, "")
    assert f"'{word}' is neither a command nor a URL. {advice}" in done.stderr
    assert f"The commands are {', '.join(SUBCOMMANDS)}; a URL is" in done.stderr


@pytest.mark.parametrize(
    "address", ["localhost", "LOCALHOST", "host.example", "ksqldb:8088", "http://ksqldb", "::1"]
)
def test_addresses(address: str) -> None:
    assert _is_address(address)


def test_version() -> None:
    assert ksql("--version").stdout.startswith("ksql-spark ")


def test_execute(server: LiveServer) -> None:
    done = ksql("-e", "SHOW TOPICS; SELECT * FROM RIDES", server.url)
    assert (done.returncode, done.stderr) == (0, "")
    assert " rides       |          2 |                  1\n" in done.stdout
    assert done.stdout.endswith("|        2 | Jamaica Bay |\n+----------+-------------+\n")


def test_server_that_is_not_there_is_an_error() -> None:
    done = ksql("-e", "SHOW TOPICS", "127.0.0.1:1")
    assert (done.returncode, done.stderr) == (
        1,
        "No server answers at http://127.0.0.1:1 (connection refused). Is it running?\n",
    )


def test_file(server: LiveServer, tmp_path: Path) -> None:
    script = tmp_path / "s.sql"
    script.write_text("SHOW TOPICS;\noutput JSON\nSHOW TOPICS")
    done = ksql("-f", str(script), server.url)
    assert (done.returncode, done.stderr) == (0, "")
    assert "Kafka Topic" in done.stdout
    assert done.stdout.rstrip().endswith("]")
    done = ksql("-f", "/no/such.sql", server.url)
    assert (done.returncode, done.stderr) == (
        2,
        "ksql-spark: Cannot read /no/such.sql: No such file or directory.\n",
    )


def test_options_reach_the_requests(server: LiveServer, engine: FakeEngine, tmp_path: Path) -> None:
    config = tmp_path / "c.properties"
    config.write_text(
        "\ufeffauto.offset.reset = earliest\n# mine\nssl.keystore.location=x\n", encoding="utf-8"
    )
    done = ksql("-d", "a=1", "-d", "b=x=y", "--config-file", str(config), "--output", "JSON", "-e", "SHOW TOPICS", server.url)  # fmt: skip  # noqa: E501
    assert done.stdout.startswith("[\n  {\n")
    assert engine.requests[-1].variables == {"a": "1", "b": "x=y"}
    assert engine.requests[-1].properties == {"auto.offset.reset": "earliest"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-d", "novalue"], "'novalue' is not in the form NAME=VALUE"),
        (["--query-row-limit", "many"], "'many' is not a number"),
        (["--output", "json"], "invalid choice: 'json'"),
        (["-u", "me", "-p", "x", "-t", "token"], "Pass either a token or a user and password, not both."),
        (["-p", "x"], "--password needs --user."),
        (["--config-file", "/no/such"], "Cannot read /no/such: No such file or directory."),
    ],
)
def test_wrong_options(arguments: list[str], message: str) -> None:
    done = ksql(*arguments, "-e", "SHOW TOPICS", "127.0.0.1:1")
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_pipe(server: LiveServer) -> None:
    done = ksql(server.url, stdin="output JSON\nSHOW\nTOPICS;\nexit\nSHOW TABLES;\n")
    assert done.returncode == 0
    assert done.stdout.startswith("[\n")
    assert "tables" not in done.stdout


def test_run(server: LiveServer, engine: FakeEngine, tmp_path: Path) -> None:
    first, second = tmp_path / "a.sql", tmp_path / "b.sql"
    first.write_text("CREATE STREAM a;\n-- nothing\n")
    second.write_text("SHOW TOPICS;")
    done = ksql("run", str(first), str(second), "--server", server.url)
    assert (done.returncode, done.stderr) == (0, "")
    assert [request.text for request in engine.requests] == ["CREATE STREAM a;", "SHOW TOPICS;"]


def test_run_ends_at_the_first_error(server: LiveServer, engine: FakeEngine, tmp_path: Path) -> None:
    first, second = tmp_path / "a.sql", tmp_path / "b.sql"
    first.write_text("SHOW TOPICS;\n  DESCRIBE\n    NOWHERE;\nSHOW TABLES;\n")
    second.write_text("SHOW TOPICS;")
    done = ksql("run", str(first), str(second), "--server", server.url)
    assert done.returncode == 1
    assert done.stderr.startswith(f"{first}:3:5: Source does not exist: NOWHERE.\n  ")
    assert len(engine.requests) == 2


def test_run_reads_all_files_first(server: LiveServer, engine: FakeEngine, tmp_path: Path) -> None:
    script = tmp_path / "a.sql"
    script.write_text("SHOW TOPICS;")
    done = ksql("run", str(script), "/no/such.sql", "--server", server.url)
    assert (done.returncode, engine.requests) == (2, [])
    assert done.stderr == "ksql-spark run: Cannot read /no/such.sql: No such file or directory.\n"


def test_run_on_a_server_named_first(server: LiveServer, engine: FakeEngine, tmp_path: Path) -> None:
    script = tmp_path / "a.sql"
    script.write_text("SHOW TOPICS;")
    assert ksql("run", server.url, str(script)).returncode == 0
    assert len(engine.requests) == 1


def test_run_of_an_address_alone_and_of_two(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "http://127.0.0.1:1"]) == 2
    assert capsys.readouterr().err == (
        "ksql-spark run: Name a file after the server: ksql-spark run http://127.0.0.1:1 FILE.sql\n"
    )
    assert main(["run", "http://127.0.0.1:1", "a.sql", "--server", "http://127.0.0.1:2"]) == 2
    assert "There are two servers" in capsys.readouterr().err


def test_run_as_of_a_time(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "a.sql", "--as-of", "2026-03-01"]) == 2
    assert capsys.readouterr().err == "ksql-spark run: --as-of is for --batch.\n"
    with pytest.raises(SystemExit):
        main(["run", "a.sql", "--batch", "--as-of", "noon"])
    assert "argument --as-of: invalid time value: 'noon'" in capsys.readouterr().err


def test_run_without_a_server(tmp_path: Path) -> None:
    script = tmp_path / "a.sql"
    script.write_text("SHOW TOPICS;")
    done = ksql("run", str(script), "--server", "127.0.0.1:1")
    assert done.returncode == 1
    assert done.stderr.startswith("No server answers")


def fake(data_dir: Path, engine: str = "FakeEngine") -> EmbeddedServer:
    return EmbeddedServer(data_dir, 0, [sys.executable, str(FAKE_SERVER), "--engine", engine])


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_embedded_engine(tmp_path: Path) -> None:
    seen: list[str] = []
    with fake(tmp_path) as server:
        url = server.wait_ready(seen.append)
        assert local.is_running(url)
        assert (server.data_dir, server.log) == (str(tmp_path), str(tmp_path / "logs" / "server.log"))
        assert Client(url).info()["serverStatus"] == "RUNNING"
        assert os.getpgid(server.pid) != os.getpgid(0), "Ctrl-C at the prompt must not reach it"
    assert not is_alive(server.pid)
    assert not local.is_running(url)


def test_embedded_engine_with_a_port_for_postgresql(tmp_path: Path) -> None:
    command = [sys.executable, str(FAKE_SERVER), "--engine", "FakeEngine"]
    settings = {"ksql.postgres.listener": f"127.0.0.1:{free_port()}"}
    with EmbeddedServer(tmp_path, 0, command, settings=settings) as server:
        url = server.wait_ready(lambda progress: None)
        assert local.is_running(url)


def test_embedded_engine_stopped_while_starting(tmp_path: Path) -> None:
    with fake(tmp_path, "SlowEngine") as server:
        assert not server.failed
    assert not is_alive(server.pid)


def test_embedded_engine_that_cannot_start(tmp_path: Path) -> None:
    with fake(tmp_path, "FailingEngine") as server, pytest.raises(StartFailed) as caught:
        server.wait_ready(lambda progress: None)
    said = KsqlError("BROKER_UNREACHABLE", servers="kafka:9092", reason="connection refused").message
    assert str(caught.value) == said


def test_embedded_engine_goes_with_a_killed_shell(tmp_path: Path) -> None:
    code = (
        "import sys, pathlib; from ksql_spark.shell.embedded import EmbeddedServer; "
        f"s = EmbeddedServer(pathlib.Path({str(tmp_path)!r}), 0, [sys.executable, {str(FAKE_SERVER)!r}]); "
        "print(s.pid, s.wait_ready(lambda t: None), flush=True); sys.stdin.read()"
    )
    shell = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert shell.stdout is not None
    pid, url = shell.stdout.readline().split()
    shell.kill()
    shell.communicate()
    # It was the killed shell's child; its port closes with it.
    for _ in range(SOON_S * 100):
        if not local.is_running(url):
            break
    assert not local.is_running(url), f"process {pid} is still there"


def test_the_state_of_a_query_is_rebuilt(server: LiveServer) -> None:
    done = ksql("state", "rebuild", "ctas_t_1", "--server", server.url)
    assert (done.returncode, done.stdout, done.stderr) == (0, "The state of CTAS_T_1 is rebuilt.\n", "")
    done = ksql("state", "rebuild", "nothing", "--server", server.url)
    assert done.returncode == 1 and "Unknown queryId: nothing" in done.stderr
    assert ksql("state", "mend", "x").returncode == 2


def test_a_data_folder_is_refused_where_a_server_is_used() -> None:
    done = ksql("127.0.0.1:1", "--data-dir", "/tmp/mine", "-e", "SHOW TOPICS;")
    assert done.returncode == 2
    assert "--data-dir is for an engine that the shell starts, but the server at 127.0.0.1:1" in done.stderr


#: every command that starts a server, with the function that begins it
STARTING = {
    (): "ksql_spark.shell.embedded.start",
    ("run", "a.sql"): "ksql_spark.shell.embedded.start",
    ("demo", "taxi"): "ksql_spark.shell.embedded.start",
}


@pytest.mark.parametrize("rest", ["127.0.0.1:1", "http://127.0.0.1:1"])
@pytest.mark.parametrize("command", STARTING, ids=lambda command: " ".join(command) or "shell")
def test_where_an_engine_of_ones_own_listens(
    command: tuple[str, ...], rest: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    began: list[dict[str, str]] = []

    def begin(folder: object = None, properties: object = None, settings: object = None) -> NoReturn:
        assert isinstance(settings, dict)
        began.append(settings)
        raise embedded.StartFailed("enough")

    monkeypatch.setattr(STARTING[command], begin)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.sql").write_text("--@test: one\nSHOW TOPICS;\n")
    listen = ["--listen", rest, "--pg-listen", "127.0.0.1:2", "--kafka-listen", "127.0.0.1:3"]
    main([*command, *listen])
    assert began == [
        {
            "listeners": "http://127.0.0.1:1",
            "ksql.postgres.listener": "127.0.0.1:2",
            "ksql.kafka.listener": "127.0.0.1:3",
        }
    ]


def test_where_the_services_are() -> None:
    values = {"bootstrap.servers": "localhost:9092", "ksql.connect.url": None, "other": "x"}
    answer = [{"properties": [{"name": name, "value": value} for name, value in values.items()]}]
    assert services(answer) == "Kafka at localhost:9092"
    answer[0]["properties"].append({"name": "ksql.schema.registry.url", "value": "http://localhost:8081"})
    assert services(answer) == "Kafka at localhost:9092 · schema registry at http://localhost:8081"
