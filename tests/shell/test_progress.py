"""Progress: queries that catch up, and scripts."""

from __future__ import annotations

import io
from typing import Any

import pytest

from ksql_spark.shell.commands.command import Context
from ksql_spark.shell.prompt.progress import Progress
from ksql_spark.shell.prompt.toolbar import toolbar
from ksql_spark.shell.scripts import run_script
from ksql_spark.shell.session import Session
from tests.server.fake_engine import FakeEngine


def graph(state: str = "RUNNING", **figures: Any) -> dict[str, Any]:
    return {"nodes": [{"kind": "QUERY", "name": "CSAS_A_1", "state": state, "figures": figures}]}


def test_a_backlog_is_told_until_it_is_read() -> None:
    said: list[str] = []
    progress = Progress(said.append)
    progress.take(graph(lagRecords=5))
    assert not progress.is_needed and not progress.text
    progress.follow("CSAS_A_1")
    progress.take(graph())  # its figures are not known yet
    progress.take(graph(lagRecords=12_000))
    assert progress.text == "CSAS_A_1: 12,000 records left"
    progress.take(graph(lagRecords=9_000, readPerS=3000.0))
    assert progress.text == "CSAS_A_1: 9,000 records left, 3,000/s, 3.0 s"
    progress.take(graph(lagRecords=0, readPerS=2500.0, writtenPerS=10.5))
    assert said == ["CSAS_A_1 has caught up: reads 2,500, writes 10 rows/s."]
    assert not progress.is_needed and not progress.text


def test_a_new_version_has_not_caught_up_before_a_checkpoint() -> None:
    said: list[str] = []
    progress = Progress(said.append)
    progress.follow("CSAS_A_1")
    now = graph(lagRecords=0, readPerS=2500.0)
    now["nodes"][0]["newVersionOf"] = "A"
    progress.take(now)
    assert said == ["CSAS_A_1 has read what there was: reads 2,500, writes - rows/s."]


@pytest.mark.parametrize("now", [graph("ERROR", lagRecords=5), graph("PAUSED", lagRecords=5), {"nodes": []}])
def test_a_query_that_does_not_run_is_not_followed(now: dict[str, Any]) -> None:
    progress = Progress(lambda text: pytest.fail(text))
    progress.follow("CSAS_A_1")
    progress.take(now)
    assert not progress.is_needed


def test_the_toolbar_has_it(session: Session) -> None:
    line = toolbar(session, "http://there", "running", 1, "CSAS_A_1: 5 records left")
    assert line is not None and "CSAS_A_1: 5 records left" in line


def test_a_script_tells_which_statement_runs(
    session: Session, engine: FakeEngine, out: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []
    run = session.client.run
    monkeypatch.setattr(session.client, "run", lambda *a: (seen.append(session.console.step), run(*a))[1])
    run_script(io.StringIO("SHOW STREAMS;\nSHOW TABLES;\n"), "two", Context(session))
    assert seen == ["statement 1 of 2", "statement 2 of 2"] and session.console.step == ""
    run_script(io.StringIO("SHOW STREAMS;"), "one", Context(session))
    assert seen[2:] == [""]
    session.console.tty, session.console.step = True, "statement 1 of 2"
    session.console.status("running")
    assert "statement 1 of 2: running" in out.getvalue()
