from __future__ import annotations

import io
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from ksql_spark.client.errors import of_answer
from ksql_spark.client.servers import addresses
from ksql_spark.config import Config
from ksql_spark.engine import Request, ResultColumn, Row
from ksql_spark.entities import Entity
from ksql_spark.errors import KsqlError
from ksql_spark.server.security import passwords
from ksql_spark.shell import local
from ksql_spark.shell.client import Client, ClientError, ServerError, Unreachable
from ksql_spark.shell.commands.command import Context
from ksql_spark.shell.output.console import Console
from ksql_spark.shell.scripts import run_text
from ksql_spark.shell.session import Failure, Session, _started
from ksql_spark.shell.waiting import Remaining
from tests.server.fake_engine import FakeEngine, FakeStream
from tests.server.live_server import LiveServer

COLUMNS = [ResultColumn("K", "STRING")]


def run(session: Session, text: str) -> None:
    run_text(text, Context(session))


def texts(engine: FakeEngine) -> list[str]:
    return [request.text for request in engine.requests]


def test_each_statement_is_a_request_of_its_own(session: Session, engine: FakeEngine) -> None:
    run(session, "SHOW STREAMS; -- the streams\nSHOW TABLES; SELECT * FROM RIDES; SHOW TOPICS")
    assert texts(engine) == ["SHOW STREAMS;", "SHOW TABLES;", "SELECT * FROM RIDES;", "SHOW TOPICS;"]


def test_settings_go_with_every_request(session: Session, engine: FakeEngine, out: io.StringIO) -> None:
    session.console.tty = True
    run(
        session,
        "SET 'auto.offset.reset' = 'earliest'; DEFINE a = 'x'; DEFINE b = '${A}y'; SHOW TOPICS; SELECT 1;",
    )
    for request in engine.requests[1:]:
        assert request.properties == {"auto.offset.reset": "earliest"}
        assert request.variables == {"a": "x", "b": "xy"}
    run(session, "SET 'auto.offset.reset' = 'latest'; UNSET 'auto.offset.reset'; SHOW TOPICS;")
    assert engine.requests[-1].properties == {}
    assert [line for line in out.getvalue().splitlines() if "local property" in line] == [
        "Successfully changed local property 'auto.offset.reset' to 'earliest'.",
        "Successfully changed local property 'auto.offset.reset' from 'earliest' to 'latest'.",
        "Successfully unset local property 'auto.offset.reset' (value was 'latest').",
    ]


def test_unknown_property_is_not_set(session: Session) -> None:
    with pytest.raises(Failure) as caught:
        run(session, "SHOW TOPICS;\n  SET 'nonsense' = '1';")
    assert caught.value.place == (2, 3)
    assert session.properties == {}


def test_set_shows_what_the_server_warns_of_once(session: Session, err: io.StringIO) -> None:
    run(session, "SET 'num.standby.replicas' = '8';")
    told = err.getvalue()
    assert told.startswith("WARNING: Property 'num.standby.replicas' has no effect")
    run(session, "SHOW TOPICS; SHOW STREAMS;")
    assert err.getvalue() == told


def test_unset_of_what_is_not_set(session: Session) -> None:
    with pytest.raises(Failure, match="never set"):
        run(session, "UNSET 'auto.offset.reset';")


def test_variables_are_shown_and_forgotten(
    session: Session, engine: FakeEngine, out: io.StringIO, err: io.StringIO
) -> None:
    run(session, "DEFINE v = 'one'; SHOW VARIABLES; UNDEFINE V; UNDEFINE v; SHOW VARIABLES;")
    lines = out.getvalue().splitlines()
    assert " v             | one" in lines
    assert err.getvalue() == "WARNING: Cannot undefine variable 'v' which was never defined\n"
    assert session.variables == {}
    assert engine.requests == []


def test_a_wrong_define_has_a_place(session: Session, engine: FakeEngine) -> None:
    with pytest.raises(Failure, match="Syntax: DEFINE") as caught:
        run(session, "SHOW TOPICS;\nDEFINE v = 1;")
    assert caught.value.place == (2, 1)
    assert texts(engine) == ["SHOW TOPICS;"]


def test_requests_carry_the_last_sequence_number(session: Session, engine: FakeEngine) -> None:
    run(session, "SHOW TOPICS;")
    run(session, "CREATE STREAM a; CREATE STREAM b;")
    run(session, "SHOW TOPICS;")
    assert [request.command_sequence_number for request in engine.requests] == [None, None, 1, 2]
    session.pipelining = True
    run(session, "SHOW TOPICS;")
    assert engine.requests[-1].command_sequence_number is None


def test_failure_knows_the_statement_and_its_place(session: Session, out: io.StringIO) -> None:
    with pytest.raises(Failure) as caught:
        run(session, "SHOW TOPICS;\nSHOW STREAMS;\n\n   DESCRIBE NOWHERE;")
    assert caught.value.place == (4, 13)
    assert caught.value.message.splitlines()[1] == "line 4:13"
    assert "Stream Name" in out.getvalue(), "what ran before the failure is shown"


def test_failure_of_a_query_has_a_place(session: Session) -> None:
    with pytest.raises(Failure) as caught:
        run(session, "SHOW TOPICS; SELECT * FROM NOWHERE;")
    assert caught.value.place == (1, 28)


def test_pull_query(session: Session, out: io.StringIO) -> None:
    run(session, "SELECT * FROM RIDES;")
    assert out.getvalue().splitlines() == [
        "+----------+-------------+",
        "| VENDORID | ZONE        |",
        "+----------+-------------+",
        "|        1 | Astoria     |",
        "|        2 | Jamaica Bay |",
        "+----------+-------------+",
    ]


def test_empty_pull_query_shows_its_header(session: Session, engine: FakeEngine, out: io.StringIO) -> None:
    engine.next_stream = FakeStream("PULL", COLUMNS)
    run(session, "SELECT * FROM RIDES;")
    assert out.getvalue().splitlines() == [
        "+------------------+",
        "| K                |",
        "+------------------+",
        "+------------------+",
    ]


def test_push_query_with_a_limit(session: Session, out: io.StringIO) -> None:
    run(session, "SELECT * FROM RIDES EMIT CHANGES LIMIT 2;")
    assert out.getvalue().splitlines()[-2] == "|        2 | Jamaica Bay      |"


def test_row_limit_ends_the_query_on_the_server(
    session: Session, engine: FakeEngine, out: io.StringIO
) -> None:
    stream = engine.next_stream = FakeStream("PUSH", COLUMNS, [Row([str(n)]) for n in range(9)], ends=False)
    session.row_limit = 3
    run(session, "SELECT * FROM RIDES EMIT CHANGES;")
    assert [line.strip("| ") for line in out.getvalue().splitlines()[3:-1]] == [
        "0",
        "1",
        "2",
    ]
    assert stream.closed.wait(20)


def test_timeout_ends_the_query_on_the_server(session: Session, engine: FakeEngine) -> None:
    stream = engine.next_stream = FakeStream("PUSH", COLUMNS, ends=False)
    session.timeout_ms = 1
    run(session, "SELECT * FROM RIDES EMIT CHANGES;")
    assert stream.closed.wait(20)


def test_ctrl_c_ends_the_query_and_nothing_else(
    session: Session, engine: FakeEngine, out: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = engine.next_stream = FakeStream("PUSH", COLUMNS, [Row(["a"])], ends=False)
    write = session.console.write

    def interrupted_write(text: str) -> None:
        write(text)
        if "a" in text and "|" in text and "K" not in text:
            raise KeyboardInterrupt

    monkeypatch.setattr(session.console, "write", interrupted_write)
    run(session, "SELECT * FROM RIDES EMIT CHANGES; DEFINE after = 'x';")
    assert stream.closed.wait(20)
    assert session.variables == {"after": "x"}


def test_a_terminal_is_told_how_a_query_ended(session: Session, out: io.StringIO) -> None:
    session.console.tty = True
    run(session, "SELECT * FROM RIDES EMIT CHANGES LIMIT 2;")
    assert out.getvalue().splitlines()[-2:] == ["Limit Reached", "Query terminated"]


def test_a_failure_passes_through_context_managers() -> None:
    @contextmanager
    def block() -> Iterator[None]:
        yield

    with pytest.raises(Failure, match="no"), block():
        raise Failure(ClientError("no"), 1, 1)


def test_timing(session: Session, engine: FakeEngine, out: io.StringIO) -> None:
    session.console.tty = session.console.timing = True
    run(session, "SELECT * FROM RIDES;")
    assert re.fullmatch(r"Query terminated \(2 rows, \d+ ms\)", out.getvalue().splitlines()[-1])
    engine.next_stream = FakeStream("PULL", COLUMNS, [Row(["a"])])
    run(session, "SELECT * FROM RIDES;")
    assert "(1 row, " in out.getvalue().splitlines()[-1]
    run(session, "PRINT rides;")
    assert "(1 record, " in out.getvalue().splitlines()[-1]
    run(session, r"\timing off")
    run(session, "SELECT * FROM RIDES;")
    assert out.getvalue().splitlines()[-1] == "Query terminated"


@pytest.mark.parametrize(
    ("text", "look"),
    [
        ("CREATE TABLE sales AS SELECT * FROM x;", "SELECT * FROM SALES EMIT CHANGES; shows its rows, "),
        ("INSERT INTO `ab` SELECT * FROM x;", "SELECT * FROM `ab` EMIT CHANGES; shows its rows, "),
        ("CREATE SOURCE TABLE t (k INT PRIMARY KEY) WITH (KAFKA_TOPIC = 't', FORMAT = 'JSON');", ""),
        ("", ""),
    ],
)
def test_a_started_query_says_where_to_look(text: str, look: str) -> None:
    entity = {
        "statementText": text,
        "commandId": "x/`X`/create",
        "commandStatus": {"queryId": "CTAS_SALES_1"},
    }
    assert _started(entity) == f"{look}EXPLAIN CTAS_SALES_1; says how it runs."
    # readers see the rows of the version before it
    assert _started({**entity, "commandId": "x/`X`/evolve"}) == "EXPLAIN CTAS_SALES_1; says how it runs."
    assert _started({"commandStatus": {"queryId": None}}) is _started({}) is None


def paged(session: Session, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Turns the pager on; what it gets is in the file."""
    file = folder / "paged"
    monkeypatch.setenv("PAGER", f"sh -c 'cat > {file}'")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("LINES", "24")
    session.console.tty = session.console.pages = True
    return file


def test_long_results_go_through_a_pager(
    session: Session, engine: FakeEngine, out: io.StringIO, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = paged(session, tmp_path, monkeypatch)
    run(session, "SELECT * FROM RIDES;")
    assert "Astoria" in out.getvalue() and not file.exists()
    engine.next_stream = FakeStream("PULL", COLUMNS, [Row([str(n)]) for n in range(99)])
    run(session, "SELECT * FROM RIDES;")
    assert len(file.read_text().splitlines()) == 99 + 4
    assert "98" not in out.getvalue()
    file.unlink()
    run(session, r"\pager off")
    engine.next_stream = FakeStream("PULL", COLUMNS, [Row([str(n)]) for n in range(99)])
    run(session, "SELECT * FROM RIDES;")
    assert "98" in out.getvalue() and not file.exists()


def test_only_what_ends_goes_through_a_pager(
    session: Session, engine: FakeEngine, out: io.StringIO, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = paged(session, tmp_path, monkeypatch)
    engine.next_stream = FakeStream("PUSH", COLUMNS, [Row([str(n)]) for n in range(99)])
    run(session, "SELECT * FROM RIDES EMIT CHANGES LIMIT 99;")
    script = tmp_path / "s.sql"
    script.write_text("help\n")
    run(session, f"RUN SCRIPT '{script}';")
    assert not file.exists() and session.console.pages
    run(session, "help")
    assert "Commands" in file.read_text()


def test_whoever_leaves_the_pager_ends_the_query(
    session: Session, engine: FakeEngine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    paged(session, tmp_path, monkeypatch)
    monkeypatch.setenv("PAGER", "true")
    stream = engine.next_stream = FakeStream("PULL", COLUMNS, ends=False)

    def feed() -> None:
        while not stream.closed.wait(0.01):
            stream.rows.put(Row(["a\n" * 40]))

    feeder = threading.Thread(target=feed)
    feeder.start()
    run(session, "SELECT * FROM RIDES;")
    feeder.join(20)
    assert stream.closed.is_set()


def test_there_is_no_pager(session: Session, out: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> None:
    session.console.tty = session.console.pages = True
    monkeypatch.setenv("LINES", "24")
    monkeypatch.setenv("PAGER", "/no/such/pager -x")
    run(session, "help")
    assert "Ctrl-D" in out.getvalue()
    monkeypatch.setenv("PAGER", "")
    with pytest.raises(Failure, match="There is no pager"):
        run(session, r"\pager on")


def test_results_go_to_a_file(session: Session, out: io.StringIO, tmp_path: Path) -> None:
    session.console.tty = True
    file = tmp_path / "o.csv"
    run(session, "output CSV")
    run(session, rf"\o '{file}'")
    run(session, "SELECT * FROM RIDES; SHOW VARIABLES;")
    run(session, r"\o")
    assert file.read_text().splitlines() == [
        "VENDORID,ZONE", "1,Astoria", "2,Jamaica Bay", "Variable Name,Value",
    ]  # fmt: skip
    assert out.getvalue().splitlines() == [
        "Output format set to CSV",
        f"Results go to {file}",
        "Results go to the screen",
    ]
    with pytest.raises(Failure, match="Cannot write to /no/such/dir: "):
        run(session, r"\o /no/such/dir")


def test_error_within_a_query(session: Session, engine: FakeEngine, out: io.StringIO) -> None:
    engine.next_stream = FakeStream("PUSH", COLUMNS, [Row(["a"])], error=RuntimeError("no"))
    with pytest.raises(Failure, match="RuntimeError: no"):
        run(session, "SELECT * FROM RIDES EMIT CHANGES;")
    assert "a" in out.getvalue()


@contextmanager
def answering(body: bytes, length: int | None = None) -> Iterator[Client]:
    """A client of a server that answers with ``body`` and closes; it had promised ``length`` bytes."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.send_response(200)
            if length is not None:
                self.send_header("Content-Length", str(length))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST

        def log_message(self, format: str, *args: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        client = Client(f"127.0.0.1:{server.server_port}")
        try:
            yield client
        finally:
            client.close()
            server.shutdown()
            thread.join()


HEADER = b'[{"header":{"queryId":"q","schema":"`K` STRING"}}'
ROW = b'{"row":{"columns":["a"]}}'


@pytest.mark.parametrize(
    "body", [b"", HEADER, HEADER + b",\n", HEADER + b",\n" + ROW + b",\n", HEADER + b",\n" + ROW]
)
def test_results_that_break_off_are_an_error(console: Console, body: bytes) -> None:
    with answering(body) as client, pytest.raises(Failure, match="The connection to the server broke"):
        run(Session(client, console), "SELECT * FROM RIDES EMIT CHANGES;")


def test_a_server_that_stops_during_a_query_is_an_error(engine: FakeEngine, console: Console) -> None:
    engine.next_stream = FakeStream("PUSH", COLUMNS, [Row(["a"])], ends=False)
    with LiveServer(engine) as live:

        def stop(text: str) -> None:
            live.web.should_exit = True

        console.write = stop  # type: ignore[method-assign]
        with pytest.raises(Failure, match=r"The server is shutting down\."):
            run(Session(Client(live.url), console), "SELECT * FROM RIDES EMIT CHANGES;")


def test_results_that_are_whole(console: Console, out: io.StringIO) -> None:
    with answering(HEADER + b",\n" + ROW + b"]\n") as client:
        run(Session(client, console), "SELECT * FROM RIDES EMIT CHANGES;")
    assert "a" in out.getvalue()


def test_print_that_breaks_off_is_an_error(console: Console, out: io.StringIO) -> None:
    broke = pytest.raises(Failure, match="The connection to the server broke")
    with answering(b"one\n", length=100) as client, broke:
        run(Session(client, console), "PRINT rides;")
    assert out.getvalue() == "one\n"


def test_print(session: Session, out: io.StringIO) -> None:
    run(session, "PRINT rides;")
    lines = out.getvalue().splitlines()
    assert (lines[0], lines[-1][:7]) == ("Key format: KAFKA_INT", "rowtime")


def test_lines_end_only_with_a_line_feed(session: Session, engine: FakeEngine, out: io.StringIO) -> None:
    engine.next_stream = FakeStream(
        "PRINT", [ResultColumn("LINE", "STRING")], [Row(["a\u2028b\x85c"]), Row(["d\re"])]
    )
    run(session, "PRINT rides;")
    assert out.getvalue() == "a\u2028b\x85c\nd\\re\n"
    engine.next_stream = FakeStream("PULL", COLUMNS, [Row(["f\u2028g\x85h"])])
    run(session, "SELECT * FROM RIDES;")
    assert "f\u2028g\\x85h" in out.getvalue()


def test_script(session: Session, engine: FakeEngine, tmp_path) -> None:
    script = tmp_path / "it's.sql"
    script.write_text("CREATE STREAM a;\nSHOW TOPICS;\n")
    run(session, f"RUN SCRIPT '{str(script).replace(chr(39), chr(39) * 2)}';")
    assert texts(engine) == ["CREATE STREAM a;", "SHOW TOPICS;"]
    with pytest.raises(Failure, match="Cannot read"):
        run(session, "RUN SCRIPT '/no/such/file';")


def test_server_that_is_not_there() -> None:
    with pytest.raises(
        Unreachable, match=r"No server answers at http://127\.0\.0\.1:1 \(connection refused\)"
    ):
        Client("127.0.0.1:1").info()


def test_something_else_that_answers() -> None:
    with answering(b"{}") as client, pytest.raises(Unreachable, match="is not a ksql-spark server"):
        client.info()


def test_a_path_that_the_server_does_not_have(server: LiveServer) -> None:
    with pytest.raises(ServerError, match=r"Resource /nope/info does not exist"):
        Client(server.url + "/nope").info()


def test_error_of_the_server_keeps_its_code(session: Session) -> None:
    with pytest.raises(ServerError) as caught:
        session.client.run("DESCRIBE NOWHERE;")
    assert caught.value.code == 40001
    assert caught.value.statement == "DESCRIBE NOWHERE;"


@pytest.mark.parametrize(
    ("text", "url"),
    [("localhost:8088", "http://localhost:8088"), ("https://k.example/", "https://k.example")],
)
def test_an_address_has_a_scheme_and_no_final_slash(text: str, url: str) -> None:
    assert addresses(text) == [url]


def test_a_server_that_is_gone_is_passed_over(server: LiveServer) -> None:
    client = Client(f"127.0.0.1:1,{server.url}, 127.0.0.1:1")
    assert client.info()["serverStatus"] == "RUNNING" and client.url == server.url
    assert client.run("SHOW STREAMS;")
    client.close()
    with pytest.raises(Unreachable):
        Client("127.0.0.1:1,127.0.0.1:2").info()


@pytest.mark.parametrize(
    ("credentials", "message"),
    [
        ({}, "The server requires authentication: pass a user and password with --user and --password, or"),
        (
            {"auth": ("ada", "wrong")},
            "The server rejected the password of ada: The user name or password is wrong.",
        ),
        (
            {"token": "x"},
            "The server rejected the token: This server only accepts a user name and a password.",
        ),
    ],
)
def test_a_wrong_password_is_told_from_none(
    credentials: dict[str, Any], message: str, engine: FakeEngine, tmp_path: Path
) -> None:
    users = tmp_path / "users"
    users.write_text(f"ada:{passwords.hash_password('right')}:admin\n")
    with LiveServer(engine, config=Config({"ksql.server.auth.users.file": str(users)})) as live:
        client = Client(live.url, **credentials)
        with pytest.raises(ServerError) as caught:
            client.run("SHOW TOPICS;")
        client.close()
        assert str(caught.value).startswith(message) and caught.value.code == 40100
        assert local.is_running(live.url), "the shell must not start another one"


def test_what_another_server_says_of_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    for status, error in ((401, "Unauthorized"), (403, "Forbidden")):
        for auth, message in ((None, "The server requires"), (("a", "b"), "The server rejected")):
            client = Client("http://other:1", auth)

            def refused(*_: object, status: int = status, error: str = error, **__: object) -> None:
                raise of_answer(status, error)

            monkeypatch.setattr(client._connection, "run", refused)
            with pytest.raises(ServerError, match=message):
                client.run("SHOW TOPICS;")
            client.close()


def test_a_statement_about_a_version_that_is_not_ready_is_sent_again(
    session: Session, engine: FakeEngine, out: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = engine.execute
    left = [5, 1]

    def execute(request: Request) -> list[Entity]:
        if left:
            raise KsqlError("EVOLUTION_UNFINISHED", reason=f"The new version has {left.pop(0)} records left.")
        return answers(request)

    monkeypatch.setattr(engine, "execute", execute)
    monkeypatch.setattr("ksql_spark.shell.session.LOOK_S", 0.0)
    run(session, "SHOW STREAMS;")
    assert not left and "RIDES" in out.getvalue()
    left[:] = [3, 3]
    monkeypatch.setattr("ksql_spark.shell.session.READY_S", -1.0)
    with pytest.raises(Failure, match="has 3 records left"):
        run(session, "SHOW STREAMS;")
    assert left == [3]


def test_the_status_line_says_what_forget_waits_for(session: Session) -> None:
    said = [
        session._what_waits(text)
        for text in ("FORGET FROM rides WHERE id = 1;", "forget from", "DESCRIBE rides;", "FORGETFUL;")
    ]
    assert isinstance(said[0], Remaining) and said[1:] == ["running"] * 3
