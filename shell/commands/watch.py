r"""\watch: repeat the last pull query."""

from __future__ import annotations

import itertools
import time
from collections.abc import Sequence

from ksql_spark.shell.commands.command import Command, CommandProblem, Context

DEFAULT_S = 2.0


def _run(context: Context, arguments: Sequence[str]) -> None:
    session = context.session
    console = session.console
    query = session.last_pull
    if query is None:
        raise CommandProblem("There is no query to repeat: first run a SELECT without EMIT.")
    every_s, times = _numbers(arguments)
    pages, console.pages = console.pages, False
    try:
        for number in itertools.count(1):
            if console.tty and not console.plain:
                console.write("\x1b[2J\x1b[H")
                console.note(console.dim(f"every {every_s:g} s, {time.strftime('%H:%M:%S')}, Ctrl-C ends"))
            session.query(query)
            if number == times or session.was_interrupted:
                break
            time.sleep(every_s)
    except KeyboardInterrupt:
        if not session.interrupt_ends_query_only:
            raise
    finally:
        console.pages = pages


def _numbers(arguments: Sequence[str]) -> tuple[float, int | None]:
    """Seconds and number of repetitions. Raises CommandProblem."""
    try:
        every_s = float(arguments[0]) if arguments else DEFAULT_S
        times = int(arguments[1]) if len(arguments) > 1 else None
        if not 0 < every_s < 1_000_000 or (times is not None and times < 1):
            raise ValueError
    except ValueError:
        raise CommandProblem(r"\watch takes seconds, and how many times, both above 0.") from None
    return every_s, times


COMMAND = Command(
    r"\watch",
    r"\watch [SECONDS [TIMES]]",
    "repeat the last pull query every 2 s, or as often as you say, until Ctrl-C",
    _run,
    most_arguments=2,
)
