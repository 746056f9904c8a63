from __future__ import annotations

import contextlib
import io
import os
import select
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from prompt_toolkit.history import History, InMemoryHistory
from prompt_toolkit.input import PipeInput, create_pipe_input
from prompt_toolkit.input.vt100 import raw_mode
from prompt_toolkit.output import DummyOutput

from ksql_spark import grammar
from ksql_spark.engine import Request
from ksql_spark.entities import Entity
from ksql_spark.errors import KsqlError
from ksql_spark.grammar.rules import StatementSet
from ksql_spark.grammar.statements import RULES
from ksql_spark.shell import commands
from ksql_spark.shell.client import Client
from ksql_spark.shell.commands import pages, watch
from ksql_spark.shell.commands.command import Context
from ksql_spark.shell.output.console import Console, Form
from ksql_spark.shell.prompt.metadata import MetadataCache
from ksql_spark.shell.prompt.repl import Repl, open_history, run_input, without_echo
from ksql_spark.shell.scripts import ScriptFailure, is_whole, run_script
from ksql_spark.shell.session import Session
from tests.server.fake_engine import FakeEngine
from tests.server.live_server import LiveServer
from tests.waiting import until

CTRL_C, CTRL_D = "\x03", "\x04"


@contextmanager
def repl(session: Session, history: History | None = None) -> Iterator[tuple[Repl, PipeInput]]:
    with create_pipe_input() as keys:
        cache = MetadataCache(session.client)
        yield (
            Repl(Context(session), cache, history=history, input=keys, output=DummyOutput()),
            keys,
        )
        cache.close()


def typed(session: Session, text: str, history: History | None = None) -> None:
    with repl(session, history) as (prompt, keys):
        keys.send_text(text + CTRL_D)
        prompt.run()


def test_statement_over_several_lines(session: Session, engine: FakeEngine, out: io.StringIO) -> None:
    typed(session, "SHOW\r  TOPICS\r;\r")
    assert engine.requests[0].text == "SHOW\n  TOPICS;"
    assert out.getvalue().splitlines()[-1] == "Exiting ksql-spark."


def test_without_multiline_enter_always_runs(session: Session, engine: FakeEngine) -> None:
    typed(session, "set cli multiline off\rSHOW  TOPICS\rset cli multiline on\rSHOW\r STREAMS;\r")
    assert {"SHOW  TOPICS;", "SHOW\n STREAMS;"} <= {one.text for one in engine.requests}


def test_ctrl_c_drops_what_is_typed(session: Session, engine: FakeEngine, out: io.StringIO) -> None:
    with repl(session) as (prompt, keys):
        keys.send_text("SHOW TOPICS" + CTRL_C)
        # The rest is typed at the next prompt.
        session.console.line = _then(session.console.line, "^C", lambda: keys.send_text(CTRL_D))  # type: ignore[method-assign]
        prompt.run()
    assert out.getvalue().splitlines() == ["^C", "Exiting ksql-spark."]
    assert engine.requests == []


def _then(line, text, action):
    def printing(shown: str = "") -> None:
        line(shown)
        if shown == text:
            action()

    return printing


def test_exit(session: Session, out: io.StringIO) -> None:
    with repl(session) as (prompt, keys):
        keys.send_text("exit\r")
        prompt.run()
    assert out.getvalue() == "Exiting ksql-spark.\n"


def test_a_misspelt_command_needs_no_semicolon_to_be_told(
    session: Session, engine: FakeEngine, out: io.StringIO, err: io.StringIO
) -> None:
    typed(session, "hlep\rqiut;\rhelp\r")
    assert err.getvalue() == (
        "Unknown command 'hlep'. Did you mean help?\nUnknown command 'qiut'. Did you mean quit?\n"
    )
    assert "Commands" in out.getvalue()
    assert not any("hlep" in request.text or "qiut" in request.text for request in engine.requests)


def test_error_is_shown_and_the_prompt_goes_on(
    session: Session, engine: FakeEngine, out: io.StringIO, err: io.StringIO
) -> None:
    typed(session, "DESCRIBE NOWHERE;\rSHOW TOPICS;\r")
    assert err.getvalue().startswith("Source does not exist: NOWHERE.\n")
    assert "Kafka Topic" in out.getvalue()


def test_a_paste_that_stops_says_where_and_what_was_skipped(
    session: Session, engine: FakeEngine, err: io.StringIO
) -> None:
    run_input("SHOW TOPICS;\nDESCRIBE NOWHERE;\nSHOW TABLES; SHOW STREAMS;", Context(session))
    assert err.getvalue().startswith("Source does not exist: NOWHERE.\n")
    assert err.getvalue().endswith(
        "This is the statement in line 2 of the input. 2 statements were skipped.\n"
    )
    assert len(engine.requests) == 2


def test_abbreviation_with_space(session: Session, engine: FakeEngine) -> None:
    typed(session, "csas \r")
    assert engine.requests[0].text == "CREATE STREAM s2 AS SELECT * FROM s EMIT CHANGES;"


def test_history(session: Session, out: io.StringIO) -> None:
    history = InMemoryHistory()
    typed(session, "SHOW TOPICS;\rhistory\r", history)
    assert "   1: SHOW TOPICS;" in out.getvalue().splitlines()
    assert list(history.get_strings()) == ["SHOW TOPICS;", "history"]


def test_ctrl_c_while_a_statement_waits(
    session: Session, engine: FakeEngine, out: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    def execute(_: Request) -> list[Entity]:
        raise KsqlError("EVOLUTION_UNFINISHED", reason="The new version has 5 records left.")

    def interrupted(_: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(engine, "execute", execute)
    monkeypatch.setattr("ksql_spark.shell.session.time.sleep", interrupted)
    run_input("SWAP t;", Context(session))
    assert out.getvalue().endswith("^C The statement has done nothing.\n")


@pytest.mark.parametrize(
    ("text", "completed"),
    [("SELECT * FROM zon", "SELECT * FROM zones"), ("SELECT zones.ZO", "SELECT zones.ZONE")],
)
def test_tab_that_came_before_the_server_answered(session: Session, text: str, completed: str) -> None:
    with repl(session) as (prompt, keys):
        buffer = prompt._prompt.default_buffer

        def work() -> None:
            keys.send_text(f"{text}\t")
            until(lambda: prompt._completer.document is not None)
            prompt._metadata.refresh()
            until(lambda: buffer.text == completed)

        _beside(prompt, keys, work)


def test_an_open_menu_gets_what_the_server_answers(session: Session) -> None:
    with repl(session) as (prompt, keys):
        buffer = prompt._prompt.default_buffer

        def offered() -> list[str]:
            state = buffer.complete_state
            return [one.text for one in state.completions] if state is not None else []

        def work() -> None:
            keys.send_text("SELECT * FROM zones WHERE v\t")
            until(lambda: "variables" in offered())
            prompt._metadata.refresh()
            until(lambda: "vendorid" in offered())
            # nothing opens again after the text has changed
            keys.send_text("en")
            until(lambda: buffer.text.endswith("ven"))
            prompt._metadata.refresh()
            until(lambda: not prompt._metadata._requested.is_set())
            assert not offered()

        _beside(prompt, keys, work)


def _beside(prompt: Repl, keys: PipeInput, work: Callable[[], None]) -> None:
    """Run the prompt, and ``work`` in another thread; then end both."""

    def working() -> None:
        try:
            work()
        finally:
            keys.send_text(CTRL_C + CTRL_D)

    with ThreadPoolExecutor(1) as pool:
        worked = pool.submit(working)
        prompt.run()
        worked.result()


def test_bytes_that_are_not_utf_8(
    session: Session,
    engine: FakeEngine,
    err: io.StringIO,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("KSQL_HISTORY", str(tmp_path / "history"))
    with repl(session, open_history()) as (prompt, keys):
        keys.send_text(f"spool {tmp_path / 'spooled'}\r")
        keys.send_bytes(b"SHOW\rTOPICS '\xff';\rSHOW  TABLES;\r\x04")
        prompt.run()
    assert err.getvalue() == "This is not UTF-8 text.\n"
    assert "SHOW  TABLES;" in [one.text for one in engine.requests]
    assert "\\udcff" in (tmp_path / "spooled").read_text()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_a_full_disk(session: Session, engine: FakeEngine, err: io.StringIO) -> None:
    typed(
        session,
        "spool /dev/full\rSHOW TOPICS;\r\\o /dev/full\rSHOW TOPICS;\r\\o\rSHOW  TABLES;\r",
    )
    said = err.getvalue()
    assert said.count("WARNING: No longer spooled: No space left on device.") == 1
    assert said.count("Cannot write the results: No space left on device.") == 1
    assert "SHOW  TABLES;" in [one.text for one in engine.requests]


def test_a_history_that_cannot_be_written_any_more(
    session: Session, engine: FakeEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    monkeypatch.setenv("KSQL_HISTORY", str(folder / "history"))
    history = open_history()
    (folder / "history").unlink()
    folder.rmdir()
    typed(session, "SHOW TABLES;\r", history)
    assert engine.requests[0].text == "SHOW TABLES;"
    assert list(history.get_strings()) == ["SHOW TABLES;"]


def test_enter_takes_what_a_search_found(session: Session, engine: FakeEngine) -> None:
    history = InMemoryHistory(["SHOW TOPICS;", "SHOW TABLES;"])
    # Ctrl-R; Enter puts the found line at the prompt, where it can still be changed.
    typed(session, "\x12TOP\r" + "\x05 -- again\r", history)
    assert engine.requests[0].text == "SHOW TOPICS;"
    assert list(history.get_strings())[-1] == "SHOW TOPICS; -- again"


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("hlep", True),
        ("selct", False),
        ("help", True),
        ("OUTPUT json", True),
        ("set cli wrap on", True),
        ("SET 'a'", False),
        ("outputs", True),
        ("outputs json", False),
        ("/*", False),
        ("/*\nhelp", False),
        ("/*\nhelp\n*/", True),
        ("spool file /*", False),
        ("RUN SCRIPT", False),
        ("RUN SCRIPT;", True),
        ("RUN SCRIPT\n  'file'", True),
    ],
)
def test_is_whole(text: str, whole: bool) -> None:
    assert is_whole(text) is whole


def run(session: Session, out: io.StringIO, *lines: str) -> list[str]:
    """What a pipe of these lines prints."""
    run_script([f"{line}\n" for line in lines], "<stdin>", Context(session))
    return out.getvalue().splitlines()


def refusal(session: Session, line: str) -> str:
    """What a line is refused with."""
    with pytest.raises(ScriptFailure) as caught:
        run_script([line], "<stdin>", Context(session))
    return str(caught.value).removeprefix("<stdin>:1:1: ")


def test_every_command_has_help(session: Session, out: io.StringIO) -> None:
    text = "\n".join(run(session, out, "help"))
    for command in commands.COMMANDS:
        assert command.usage in text
        assert command.help in text


def test_help_fits_the_terminal() -> None:
    out = io.StringIO()
    console = Console(out, tty=True, columns=80)
    console.set_plain(True)
    commands.find("help")[0].run(Context(Session(cast(Client, None), console)), [])  # type: ignore[index]
    # a shortcut's text is not wrapped
    listed = out.getvalue().partition("Shortcuts")[0].splitlines()[2:]
    assert max(map(len, listed)) <= 80


def test_output_command(session: Session, out: io.StringIO) -> None:
    assert run(session, out, "output", "output JSON;", "output") == [
        "Current output format: TABULAR",
        "Current output format: JSON",
    ]
    assert refusal(session, "Output nonsense") == (
        "Unknown output format 'nonsense'; choose TABULAR, JSON, NDJSON, CSV, TSV, MARKDOWN or VERTICAL."
    )


def test_vertical_rows(session: Session, out: io.StringIO) -> None:
    console = session.console
    run(session, out, r"\x")
    assert console.form is Form.VERTICAL
    run(session, out, r"\X off;")
    assert (console.form, console.auto_vertical) == (Form.TABULAR, False)
    run(session, out, r"\x", r"\x")
    assert (console.form, console.auto_vertical) == (Form.TABULAR, True)
    assert refusal(session, r"\x maybe") == (
        r"\x takes on, off or auto (vertical if the terminal is too narrow)."
    )


@pytest.mark.parametrize(
    ("line", "texts"),
    [
        (r"\d", ["SHOW STREAMS;", "SHOW TABLES;"]),
        (r"\d rides;", ["DESCRIBE rides;"]),
        (r"\d+ rides", ["DESCRIBE rides EXTENDED;"]),
        (r"\DT", ["SHOW TABLES;"]),
        (r"\ds", ["SHOW STREAMS;"]),
        (r"\df", ["SHOW FUNCTIONS;"]),
        (r"\df ucase", ["DESCRIBE FUNCTION ucase;"]),
        ("ucase?", ["DESCRIBE FUNCTION ucase;"]),
        ("ucase ?", ["DESCRIBE FUNCTION ucase;"]),
        ("help ucase", ["DESCRIBE FUNCTION ucase;"]),
        (r"\dq", ["SHOW QUERIES;"]),
        (r"\dq CSAS_A_1", ["EXPLAIN CSAS_A_1;"]),
        (r"\c", ["SHOW CONNECTORS;"]),
        (r"\l", ["SHOW TOPICS;"]),
    ],
)
def test_shortcuts(
    session: Session, engine: FakeEngine, out: io.StringIO, line: str, texts: list[str]
) -> None:
    with contextlib.suppress(ScriptFailure):  # the fake engine does not know them all
        run(session, out, line)
    assert [request.text for request in engine.requests] == texts


def test_a_shortcut_that_fails_has_a_place(session: Session) -> None:
    assert refusal(session, r"\d NOWHERE").startswith("<stdin>:1:10: Source does not exist: NOWHERE.")


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("help select", "SELECT: query streams and tables"),
        (r"\h create stream s", "CREATE STREAM: declare a stream or table over a topic"),
        ("? Group by;", "SELECT: query streams and tables"),
        ("help drop", "  DROP TYPE"),
        (r"help \timing", r"\timing [on|off]"),
        ("help output", "output [TABULAR|JSON|"),
    ],
)
def test_help_by_statement(session: Session, out: io.StringIO, line: str, text: str) -> None:
    assert is_whole(line)
    assert any(shown.startswith(text) for shown in run(session, out, line))


def test_no_help(session: Session) -> None:
    assert refusal(session, "help me out") == (
        "There is no help for 'me out': name a statement (help select), a command or a function."
    )


def test_every_statement_has_a_page() -> None:
    shown = [rule.node for rule in RULES if rule.statement_set is not StatementSet.TEST]
    differing = {node.__name__ for node in set(pages.PAGES) ^ set(shown)}
    assert not differing, f"add a page to PAGES of shell/commands/pages.py, or remove it: {differing}"
    for node, page in pages.PAGES.items():
        assert pages.syntax(node).count("\n") < 12
        for example in page.examples:
            (tree,) = grammar.parse(example, allowed=StatementSet.SCRIPT)
            assert type(tree) is node, example
    for word in grammar.STATEMENT_STARTERS:
        assert pages.statements_named([word]), word


def test_edit(session: Session, engine: FakeEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    editor = tmp_path / "editor"
    editor.write_text("#!/bin/sh\nsed -i s/TOPICS/TABLES/ $2\n")
    editor.chmod(0o700)
    monkeypatch.setenv("VISUAL", f"{editor} -n")
    history = InMemoryHistory()
    typed(session, "SHOW TOPICS;\rhelp\r\\e\r", history)
    assert "SHOW TABLES;" in [request.text for request in engine.requests]
    assert list(history.get_strings())[-1] == "SHOW TABLES;"


def test_edit_fails(session: Session, monkeypatch: pytest.MonkeyPatch, err: io.StringIO) -> None:
    assert refusal(session, r"\e") == r"\e works only at the prompt."
    for editor, message in (
        ("false", "Not run: the editor false ended with code 1."),
        ("true", "Nothing to run: the file is empty."),
        ("/no/such", "Cannot start the editor /no/such: No such file or directory."),
    ):
        monkeypatch.setenv("VISUAL", editor)
        typed(session, "\\e\r")
        assert err.getvalue().splitlines()[-1] == message


def test_watch(session: Session, engine: FakeEngine, out: io.StringIO) -> None:
    assert refusal(session, r"\watch").startswith("There is no query to repeat")
    run(session, out, "SELECT * FROM RIDES;", r"\watch 0.001 3")
    assert [request.text for request in engine.requests] == ["SELECT * FROM RIDES;"] * 4
    assert out.getvalue().count("Astoria") == 4
    run(session, out, "SELECT * FROM RIDES EMIT CHANGES LIMIT 1;", r"\watch 0.001 1")
    assert engine.requests[-1].text == "SELECT * FROM RIDES;", "a push query updates by itself"
    for wrong in ("0", "x", "1 0"):
        assert refusal(session, rf"\watch {wrong}") == (
            r"\watch takes seconds, and how many times, both above 0."
        )


def test_watch_until_ctrl_c(
    session: Session, engine: FakeEngine, out: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(session, out, "SELECT * FROM RIDES;")

    def interrupted(seconds: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(watch, "time", SimpleNamespace(sleep=interrupted))
    run(session, out, r"\watch", "SHOW TOPICS;")
    assert engine.requests[-1].text == "SHOW TOPICS;"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (r"\timng", r"Unknown command '\timng'. Did you mean \timing?"),
        (r"\zz now", r"Unknown command '\zz'. help lists the commands."),
        (r"\x on off", r"Syntax: \x [on|off|auto]"),
        (r"\timing maybe", r"\timing takes on or off."),
    ],
)
def test_a_backslash_begins_a_command(session: Session, line: str, message: str) -> None:
    assert is_whole(line)
    assert refusal(session, line) == message


def test_set_cli(session: Session, out: io.StringIO) -> None:
    assert run(session, out, "SET CLI WRAP OFF", "set cli column-width 12;") == []
    assert (session.console.wrap, session.console.column_width) == (False, 12)
    assert refusal(session, "set cli nonsense") == (
        "set cli takes WRAP ON|OFF, COLUMN-WIDTH and a number (0: fit the terminal), EDITING VI|EMACS, "
        "MULTILINE ON|OFF, TOOLBAR ON|OFF, TIMEZONE and a name, LOCAL or OFF, THOUSANDS ON|OFF, "
        "THEME LIGHT|DARK or PLAIN ON|OFF."
    )
    assert (
        run(session, out, "set cli theme light", "set cli thousands on;", "SET CLI TIMEZONE 'Asia/Tokyo'")
        == []
    )
    assert session.console.is_light and session.console.thousands and session.console.in_zone is not None
    assert run(session, out, "set cli timezone off") == [] and session.console.in_zone is None
    assert refusal(session, "set cli timezone Mars/Olympus") == (
        "There is no time zone 'Mars/Olympus': name one such as Europe/Berlin or UTC, LOCAL or OFF."
    )


def test_request_pipelining(session: Session, out: io.StringIO) -> None:
    assert run(session, out, "request-pipelining", "request-pipelining on", "request-pipelining") == [
        "Current request pipelining setting: OFF",
        "Current request pipelining setting: ON",
    ]
    assert session.pipelining is True
    assert refusal(session, "request-pipelining x") == "request-pipelining is ON or OFF."


def test_server_command(session: Session, out: io.StringIO) -> None:
    with LiveServer(FakeEngine()) as other:
        here = session.client.url
        message = refusal(session, "server 127.0.0.1:1")
        assert message.startswith("No server answers at http://127.0.0.1:1")
        assert message.endswith(f"Still at {here}.")
        assert run(session, out, "server", f"server {other.url}", "server", "SHOW TOPICS;")[:2] == [
            here,
            other.url,
        ]
        assert len(other.engine.requests) == 1


def test_spool_and_run_script(session: Session, out: io.StringIO, tmp_path) -> None:
    script, spool = tmp_path / "s.sql", tmp_path / "spool"
    script.write_text("SHOW TOPICS;")
    run(session, out, f"spool {spool}", f"run script '{script}'", "spool off", "version")
    text = spool.read_text()
    assert text.startswith("Session will be spooled to ")
    assert "ksql> run script" in text
    assert "Kafka Topic" in text
    assert "Version" not in text
    assert refusal(session, "run script /no/such") == "Cannot read /no/such: No such file or directory."
    assert refusal(session, "spool /no/such/dir/x") == (
        "Cannot write to /no/such/dir/x: No such file or directory."
    )


def test_ctrl_d_between_two_prompts_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    master, slave = os.openpty()
    with open(slave) as terminal, open(master, "wb", buffering=0) as keys:
        monkeypatch.setattr("sys.stdin", terminal)
        with without_echo():
            keys.write(CTRL_D.encode())
            assert select.select([terminal], [], [], 60)[0]
        with raw_mode(slave):
            assert os.read(slave, 1) == CTRL_D.encode()
