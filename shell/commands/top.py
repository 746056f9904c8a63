r"""\top: the queries of the server, live."""

from __future__ import annotations

import os
from collections.abc import Sequence

from ksql_spark.shell.commands.command import Command, Context
from ksql_spark.shell.output.top import Top


def _run(context: Context, arguments: Sequence[str]) -> None:
    session = context.session
    if (
        session.console.tty
        and not session.console.plain
        and context.remember is not None
        and os.environ.get("TERM") != "dumb"
    ):
        from ksql_spark.shell.output.top_screen import TopScreen

        TopScreen(session.client, session.console).run()
        return
    with session.console.busy():
        top = Top(session.client.graph())
    for line in top.lines(session.console):
        session.console.line(line)


COMMAND = Command(
    r"\top",
    r"\top",
    "a live screen of all queries: rates, lag, latency, state, errors; open, pause, terminate one",
    _run,
)
