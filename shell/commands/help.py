"""help: list commands and shortcuts."""

from __future__ import annotations

from collections.abc import Sequence

from ksql_spark.shell.commands.command import Command, Context
from ksql_spark.shell.output.text import pad
from ksql_spark.shell.prompt.completion import SKELETONS

_KEYS = (
    ("Tab", "complete words, names, columns, functions"),
    ("Up, Down, Ctrl-R", "browse or search the history"),
    ("Right, End", "accept the gray suggestion"),
    ("Ctrl-C", "stop a running query; discard the input"),
    ("Ctrl-D", "leave"),
)


def _run(context: Context, arguments: Sequence[str]) -> None:
    from ksql_spark.shell.commands import COMMANDS

    console = context.session.console
    console.line(
        "Statements end with ';' and may take several lines: CREATE STREAM, SELECT, SHOW STREAMS, DESCRIBE …"
    )
    _section(context, "Commands", [(command.usage, command.help) for command in COMMANDS])
    _section(
        context,
        "Shortcuts (with Space or Tab)",
        [(word, text.replace("\n", " ")) for word, text in SKELETONS.items()],
    )
    _section(context, "Keys", _KEYS)


def _section(context: Context, title: str, entries: Sequence[tuple[str, str]]) -> None:
    console = context.session.console
    console.line()
    console.line(console.bold(title))
    columns = max(len(name) for name, _ in entries)
    for name, text in entries:
        console.line(f"  {console.cyan(pad(name, columns))}  {text}")


COMMAND = Command("help", "help", "show this list", _run, aliases=("?",))
