"""help: list commands and shortcuts, or explain one statement, command or function."""

from __future__ import annotations

from collections.abc import Sequence

from ksql_spark.shell.commands import shortcuts
from ksql_spark.shell.commands.command import Command, CommandProblem, Context
from ksql_spark.shell.output.text import fold, pad
from ksql_spark.shell.prompt.skeletons import SKELETONS
from ksql_spark.shell.session import Failure

#: the widest usage beside which a description stands
USAGE_WIDTH = 34

_KEYS = (
    ("Tab", "complete words, names, columns, functions"),
    ("Up, Down, Ctrl-R", "browse or search the history"),
    ("Right, End", "accept the gray suggestion"),
    ("Ctrl-C", "stop a running query; discard the input"),
    ("Ctrl-D", "leave"),
)


def _run(context: Context, arguments: Sequence[str]) -> None:
    with context.session.console.paging():
        if arguments:
            _explain(context, arguments)
        else:
            _list(context)


def _list(context: Context) -> None:
    from ksql_spark.shell.commands import COMMANDS

    console = context.session.console
    console.line(
        "Statements end with ';' and may take several lines: CREATE STREAM, SELECT, SHOW STREAMS, DESCRIBE …"
    )
    console.line("help STATEMENT explains one, such as help select; a function's name and ? explain it.")
    _section(context, "Commands", [(command.usage, command.help) for command in COMMANDS])
    _section(
        context,
        "Shortcuts (with Space or Tab)",
        [(word, text.replace("\n", " ")) for word, text in SKELETONS.items()],
    )
    _section(context, "Keys", _KEYS)


def _explain(context: Context, words: Sequence[str]) -> None:
    """The page of a statement, of a command, or of a function. Raises CommandProblem."""
    from ksql_spark.shell.commands import COMMANDS, pages

    console = context.session.console
    name = " ".join(words).lower().removesuffix(";")
    command = next((one for one in COMMANDS if name in (one.name, *one.aliases)), None)
    nodes = pages.statements_named(words)
    if command is not None:
        console.line(f"{console.cyan(command.usage)}  {command.help}")
    elif len(nodes) > 1:
        _section(
            context,
            "Statements",
            [(pages.PAGES[node].titles[0], pages.PAGES[node].what) for node in nodes],
        )
    for node in nodes if len(nodes) == 1 else ():
        page = pages.PAGES[node]
        console.line(f"{console.bold(page.titles[0])}: {page.what}")
        console.line()
        console.line(pages.syntax(node))
        for example in page.examples:
            console.line()
            console.line(console.cyan(example))
    if command is None and not nodes:
        _function(context, words)


def _function(context: Context, words: Sequence[str]) -> None:
    try:
        if len(words) == 1 and words[0].rstrip(";").replace("_", "").isalnum():
            shortcuts.FUNCTION.run(context, [words[0].rstrip(";")])
            return
    except Failure:
        pass
    raise CommandProblem(
        f"There is no help for '{' '.join(words)}': name a statement (help select), a command or a function."
    )


def _section(context: Context, title: str, entries: Sequence[tuple[str, str]]) -> None:
    console = context.session.console
    console.line()
    console.line(console.bold(title))
    # a long usage has a line of its own
    columns = min(max(len(name) for name, _ in entries), USAGE_WIDTH)
    room = max(20, (console.columns or 1_000_000) - columns - 4)
    for name, text in entries:
        first, *more = fold(text, room)
        if len(name) > columns:
            for part in fold(name, columns + 2 + room):
                console.line(f"  {console.cyan(part)}")
            console.line(f"  {' ' * columns}  {first}")
        else:
            console.line(f"  {console.cyan(pad(name, columns))}  {first}")
        for line in more:
            console.line(f"  {' ' * columns}  {line}")


COMMAND = Command(
    "help",
    "help [STATEMENT|COMMAND|FUNCTION]",
    "show this list, or how to write a statement",
    _run,
    most_arguments=8,
    aliases=("?", r"\?", r"\h"),
)
