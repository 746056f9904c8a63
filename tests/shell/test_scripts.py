"""Scripts: one rule for a file, ``-e``, ``run``, a pipe and RUN SCRIPT."""

from __future__ import annotations

import contextlib
import io
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from ksql_spark import grammar
from ksql_spark.client import FrameStream
from ksql_spark.engine import ResultColumn, Row
from ksql_spark.shell.client import ClientError
from ksql_spark.shell.commands.command import Context
from ksql_spark.shell.main import main
from ksql_spark.shell.scripts import ScriptFailure, inputs, run_file, run_script, run_text
from ksql_spark.shell.session import Failure, Session
from tests.server.fake_engine import FakeEngine, FakeStream
from tests.server.live_server import LiveServer


class Done(NamedTuple):
    """What one run of the command line gave."""

    code: int
    out: str
    err: str


def command(arguments: list[str], stdin: str = "") -> Done:
    """Run the command line in this process."""
    out, err = io.StringIO(), io.StringIO()
    before, sys.stdin = sys.stdin, io.StringIO(stdin)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main(arguments)
    finally:
        sys.stdin = before
    return Done(code, out.getvalue(), err.getvalue())


def by_execute(text: str, url: str, folder: Path) -> tuple[Done, str]:
    return command(["-e", text, url]), "-e"


def by_file(text: str, url: str, folder: Path) -> tuple[Done, str]:
    file = folder / "script.sql"
    file.write_text(text)
    return command(["-f", str(file), url]), str(file)


def by_run(text: str, url: str, folder: Path) -> tuple[Done, str]:
    file = folder / "script.sql"
    file.write_text(text)
    return command(["run", str(file), "--server", url]), str(file)


def by_pipe(text: str, url: str, folder: Path) -> tuple[Done, str]:
    return command([url], text), "<stdin>"


def by_run_script(text: str, url: str, folder: Path) -> tuple[Done, str]:
    file = folder / "script.sql"
    file.write_text(text)
    return command(["-e", f"RUN SCRIPT '{file}';", url]), str(file)


Way = Callable[[str, str, Path], tuple[Done, str]]
every_way = pytest.mark.parametrize("way", [by_execute, by_file, by_run, by_pipe, by_run_script])


@every_way
def test_the_first_error_ends_a_script_and_what_ran_before_stays(
    way: Way, server: LiveServer, engine: FakeEngine, tmp_path: Path
) -> None:
    text = "CREATE STREAM a;\n-- then\nSHOW TOPICS; DESCRIBE\n    NOWHERE;\nSHOW TABLES;\nCREATE STREAM b;\n"
    done, name = way(text, server.url, tmp_path)
    assert done.code == 1
    # who writes into a pipe may go on for ever
    skipped = "" if way is by_pipe else "2 statements were skipped.\n"
    assert done.err == f"{name}:4:5: Source does not exist: NOWHERE.\n      NOWHERE\n      ^^^^^^^\n{skipped}"
    assert [request.text for request in engine.requests] == [
        "CREATE STREAM a;",
        "SHOW TOPICS;",
        "DESCRIBE\n    NOWHERE;",
    ]
    assert "A" in engine.sources and "B" not in engine.sources
    assert "Kafka Topic" in done.out and "NOWHERE" not in done.out


@every_way
def test_a_script_without_errors(way: Way, server: LiveServer, tmp_path: Path) -> None:
    text = (
        "SET 'auto.offset.reset' = 'earliest'; DEFINE n = '2';\nSELECT * FROM RIDES EMIT CHANGES LIMIT ${n};"
    )
    done, _ = way(text, server.url, tmp_path)
    assert (done.code, done.err) == (0, "")
    assert [line[:3] for line in done.out.splitlines()] == ["+--", "| V", "+--", "|  ", "|  ", "+--"]


@every_way
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("SHOW TOPICS;\nSET 'nonsense' = '1';", "2:1: Not recognizable as ksql, streams"),
        ("SHOW TOPICS;\n  DEFINE v = 1;", "2:3: Syntax: DEFINE "),
        ("SHOW TOPICS;\noutput nonsense;", "2:1: Unknown output format 'nonsense'"),
        ("SHOW TOPICS;\nRUN SCRIPT '/no/such';", "2:1: Cannot read /no/such: "),
        ("SHOW TOPICS;\nPRINT NOWHERE;", "2:7: Source does not exist: NOWHERE."),
    ],
)
def test_whatever_fails_has_a_place(
    way: Way, text: str, message: str, server: LiveServer, engine: FakeEngine, tmp_path: Path
) -> None:
    done, name = way(text, server.url, tmp_path)
    assert done.code == 1
    assert done.err.startswith(f"{name}:{message}")
    assert engine.requests[0].text == "SHOW TOPICS;"


@every_way
def test_json_output_is_json_alone(way: Way, server: LiveServer, tmp_path: Path) -> None:
    done, _ = way("output JSON;\nSET 'auto.offset.reset' = 'earliest';\nSHOW TOPICS;", server.url, tmp_path)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("[\n  {\n") and done.out.endswith("\n]\n")


@every_way
def test_a_query_that_fails_on_its_way_is_an_error(
    way: Way, server: LiveServer, engine: FakeEngine, tmp_path: Path
) -> None:
    column = ResultColumn("K", "STRING")
    engine.next_stream = FakeStream("PUSH", [column], [Row(["a"])], error=RuntimeError("no"))
    done, name = way("SELECT * FROM RIDES EMIT CHANGES;\nSHOW TOPICS;", server.url, tmp_path)
    assert done.code == 1
    assert done.err.startswith(f"{name}:1:1: ")
    assert "RuntimeError: no" in done.err
    assert len(engine.requests) == 1


@every_way
@pytest.mark.parametrize(
    "text",
    [
        "/*\nDROP STREAM victim;\n*/\nSHOW TOPICS;",
        "/* a */ /* b\nDROP STREAM victim;\n*/ SHOW TOPICS;",
        "SHOW TOPICS; /*\nDROP STREAM victim;\nexit\n*/",
    ],
)
def test_nothing_in_a_comment_runs(
    way: Way, text: str, server: LiveServer, engine: FakeEngine, tmp_path: Path
) -> None:
    done, _ = way(text, server.url, tmp_path)
    assert (done.code, done.err) == (0, "")
    assert len(engine.requests) == 1
    assert "Kafka Topic" in done.out


@every_way
@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("SHOW TOPICS;\n\n  /* open\nDROP STREAM victim;\nexit\n", "3:3"),
        ("SHOW TOPICS; /*\nDROP STREAM victim;\n", "1:14"),
        ("SHOW TOPICS;\nDROP STREAM /* open\nvictim;\n", "2:13"),
        ("SHOW TOPICS;\nspool off /*\nDROP STREAM victim;\n", "2:11"),
    ],
)
def test_a_comment_that_is_never_closed_is_an_error(
    way: Way, text: str, place: str, server: LiveServer, engine: FakeEngine, tmp_path: Path
) -> None:
    done, name = way(text, server.url, tmp_path)
    assert done.code == 1
    assert done.err == f"{name}:{place}: This comment is never closed.\n"
    assert [request.text for request in engine.requests] == ["SHOW TOPICS;"]
    assert "Kafka Topic" in done.out


@every_way
def test_a_byte_order_mark_is_no_text(way: Way, server: LiveServer, tmp_path: Path) -> None:
    done, name = way("\ufeffDESCRIBE NOWHERE;", server.url, tmp_path)
    assert done.err.startswith(f"{name}:1:10: Source does not exist: NOWHERE.")


@every_way
def test_ctrl_c_during_a_query_ends_the_script(
    way: Way, server: LiveServer, engine: FakeEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = engine.next_stream = FakeStream("PUSH", [ResultColumn("K", "STRING")], ends=False)

    def interrupted(self: FrameStream, timeout_s: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(FrameStream, "read", interrupted)
    done, _ = way("SELECT * FROM RIDES EMIT CHANGES;\nSHOW TOPICS;", server.url, tmp_path)
    assert done.code == 130
    assert stream.closed.wait(20)
    assert len(engine.requests) == 1


@every_way
def test_run_script_over_two_lines(way: Way, server: LiveServer, tmp_path: Path) -> None:
    inner = tmp_path / "inner.sql"
    inner.write_text("SHOW TOPICS;")
    done, _ = way(f"RUN SCRIPT\n  '{inner}';\nDEFINE x = 'y';", server.url, tmp_path)
    assert (done.code, done.err) == (0, "")
    assert "Kafka Topic" in done.out


@every_way
def test_run_script_without_a_file(way: Way, server: LiveServer, tmp_path: Path) -> None:
    done, name = way("DEFINE x = 'y';\nRUN SCRIPT;", server.url, tmp_path)
    assert (done.code, done.err) == (1, f"{name}:2:1: run script takes a file name.\n")


def test_the_place_of_a_syntax_error_is_said_once() -> None:
    with pytest.raises(grammar.ParseFailed) as caught:
        grammar.parse("SHOW NOTHING;")
    failure = Failure(ClientError(str(caught.value)), 2, 14)
    said = failure.located("a.sql")
    assert said.startswith("a.sql:2:19: Syntax Error\n") and "line " not in said
    assert said.endswith("\n  SHOW NOTHING;\n       ^^^^^^^")
    assert failure.message.startswith("line 2:19: Syntax Error\n"), "the prompt has no other place"


def test_quoted_text_is_no_place() -> None:
    error = ClientError("Wrong.\nline 1:8\n  SELECT 'line 7:7';\n         ^")
    assert Failure(error, 3, 1).located("a.sql") == "a.sql:3:8: Wrong.\n  SELECT 'line 7:7';\n         ^"


def test_a_script_within_a_script_says_its_own_place(session: Session, tmp_path: Path) -> None:
    outer, inner = tmp_path / "outer.sql", tmp_path / "inner.sql"
    outer.write_text(f"SHOW TOPICS;\nRUN SCRIPT '{inner}';\nSHOW TABLES;")
    inner.write_text("\n\n   DESCRIBE NOWHERE;")
    with pytest.raises(ScriptFailure) as caught:
        run_file(str(outer), outer.read_text(), Context(session))
    assert str(caught.value).startswith(f"{inner}:3:13: Source does not exist: NOWHERE.")


def test_a_script_that_runs_itself(session: Session, engine: FakeEngine, tmp_path: Path) -> None:
    first, second = tmp_path / "first.sql", tmp_path / "second.sql"
    first.write_text(f"SHOW TOPICS; RUN SCRIPT '{second}';")
    second.write_text(f"RUN SCRIPT '{first}';")
    with pytest.raises(ScriptFailure) as caught:
        run_file(str(first), first.read_text(), Context(session))
    assert str(caught.value) == f"{second}:1:1: The script {first} runs itself."
    assert len(engine.requests) == 1


def test_the_statements_of_a_file_are_shown_on_a_terminal(
    session: Session, out: io.StringIO, tmp_path: Path
) -> None:
    session.console.tty = True
    run_file("s.sql", "CREATE STREAM\n  a;\nINSERT INTO a VALUES (1);", Context(session))
    assert out.getvalue().splitlines() == [
        "",
        "CREATE STREAM a;",
        "X: Stream created",
        "1 row inserted into A",
    ]
    out.truncate(0)
    session.console.tty = False
    run_file("s.sql", "CREATE STREAM a; CREATE STREAM b;", Context(session))
    assert out.getvalue().strip("\0") == "X: Stream created\n" * 2
    session.console.tty = True
    out.truncate(0)
    run_file("s.sql", "INSERT INTO a VALUES (1);\n" * 3 + "INSERT INTO b VALUES (1);", Context(session))
    assert out.getvalue().strip("\0").splitlines() == ["3 rows inserted into A", "1 row inserted into B"]
    out.truncate(0)
    run_text("INSERT INTO a VALUES (1); INSERT INTO a VALUES (2);", Context(session))
    assert out.getvalue().strip("\0") == "2 rows inserted into A\n"


def test_a_piped_statement_runs_before_the_next_line_is_read(session: Session, engine: FakeEngine) -> None:
    def lines():
        yield "SHOW TOPICS;\n"
        assert len(engine.requests) == 1
        yield "SHOW STREAMS;\n"

    run_script(lines(), "<stdin>", Context(session))
    assert len(engine.requests) == 2


def test_inputs() -> None:
    lines = ["SHOW\n", "TOPICS; -- yes\n", "\n", "help\n", "SELECT 'a;\n", "b';SHOW x;\n", "SHOW y"]
    assert list(inputs(lines)) == [
        ("SHOW\nTOPICS; -- yes\n", 1),
        ("help\n", 4),
        ("SELECT 'a;\nb';SHOW x;\n", 5),
        ("SHOW y", 7),
    ]
