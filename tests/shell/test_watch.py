"""The server's state: lost, back, started again, and the line below the prompt."""

from __future__ import annotations

import contextlib
import io
import os
import signal
import sys
from pathlib import Path

import pytest

from ksql_spark.shell.client import Client, ServerError, Unreachable
from ksql_spark.shell.commands.command import Context
from ksql_spark.shell.embedded import EmbeddedServer
from ksql_spark.shell.options import Connection
from ksql_spark.shell.output.console import Console
from ksql_spark.shell.prompt.toolbar import toolbar
from ksql_spark.shell.prompt.watch import ServerWatch
from ksql_spark.shell.scripts import run_text
from ksql_spark.shell.session import Session

FAKE_SERVER = Path(__file__).parent.parent / "server" / "fake_server.py"


class Server:
    """As Client, with the answer that the test sets."""

    def __init__(self) -> None:
        self.url = "http://here:1"
        self.answer: dict[str, str] | Exception = {"serverStatus": "RUNNING"}

    def info(self) -> dict[str, str]:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def test_a_server_that_is_lost_and_found() -> None:
    server, said = Server(), []
    watch = ServerWatch(lambda: server, said.append)  # type: ignore[arg-type,return-value]

    def states(*answers: object) -> list[str]:
        found = []
        for server.answer in answers:  # type: ignore[assignment]
            watch.ask()
            found.append(watch.state)
        return found

    running = {"serverStatus": "RUNNING"}
    assert states(running, Unreachable("x"), Unreachable("x")) == ["running", "lost", "lost"]
    assert said == ["Lost the server at http://here:1."]
    assert states(ServerError({"error_code": 50302}), running, running) == ["starting", "running", "running"]
    assert said[1:] == ["The server at http://here:1 is back."]


def test_another_server_is_not_back() -> None:
    server, said = Server(), []
    watch = ServerWatch(lambda: server, said.append)  # type: ignore[arg-type,return-value]
    server.answer = Unreachable("x")
    watch.ask()
    server.url, server.answer = "http://there:1", {"serverStatus": "RUNNING"}
    watch.ask()
    assert len(said) == 1 and watch.state == "running"


def test_an_engine_that_stopped_is_told_once() -> None:
    said: list[str] = []
    server = Server()
    watch = ServerWatch(lambda: server, said.append, lambda: "no memory.")  # type: ignore[arg-type,return-value]
    watch.ask()
    watch.ask()
    assert said == ["The engine has stopped: no memory. The next statement starts it again."]
    assert watch.state == "stopped"


def test_an_engine_that_died_starts_again(tmp_path: Path, out: io.StringIO, err: io.StringIO) -> None:
    moved: list[str] = []
    with contextlib.ExitStack() as servers:

        def start() -> EmbeddedServer:
            command = [sys.executable, str(FAKE_SERVER), "--engine", "FakeEngine"]
            return servers.enter_context(EmbeddedServer(tmp_path, 0, command))

        session = Session(Client("127.0.0.1:1"), Console(out, tty=False, err=err))
        connection = Connection(session, start(), start)
        connection.on_restart = lambda: moved.append(session.client.url)
        session.before_request = connection.before_request
        run_text("SHOW TOPICS;", Context(session))
        first = connection.server
        assert first is not None and not moved
        os.kill(first.pid, signal.SIGKILL)
        first._process.wait()
        run_text("SHOW TOPICS;", Context(session))
        assert connection.server is not first and moved == [session.client.url]
        assert out.getvalue().count("Kafka Topic") == 2
        assert err.getvalue().startswith("WARNING: The engine has stopped: ")
        assert err.getvalue().endswith(" It starts again.\n")
        session.client.close()


def test_the_line_below_the_prompt(session: Session) -> None:
    url = session.client.url
    assert toolbar(session, url, "running", 1) == f"{url} running · 1 query"
    session.properties["auto.offset.reset"] = "earliest"
    session.last_took_s = 0.012
    assert (
        toolbar(session, url, "lost", 2)
        == f"{url} lost · 2 queries · last 12 ms · auto.offset.reset=earliest"
    )
    run_text("SET CLI TOOLBAR OFF", Context(session))
    assert toolbar(session, url, "running", 1) is None


@pytest.mark.parametrize("mode", ["vi", "emacs"])
def test_keys_of_the_prompt(session: Session, mode: str) -> None:
    chosen: list[str] = []
    run_text(f"SET CLI EDITING {mode}", Context(session, set_editing=chosen.append))
    assert chosen == [mode]
