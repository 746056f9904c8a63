"""help: list commands and shortcuts, or explain one statement, command or function."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ksql_spark.shell.commands.command import Command, CommandProblem, Context
from ksql_spark.shell.output.text import fold, pad
from ksql_spark.shell.session import Failure
from ksql_spark.shell.skeletons import SKELETONS

#: the widest usage beside which a description stands
USAGE_WIDTH = 34

_KEYS = (
    ("Tab", "complete words, names, columns, functions"),
    ("Up, Down, Ctrl-R", "browse or search the history"),
    ("Right, End", "accept the gray suggestion"),
    ("Ctrl-C", "stop a running query; discard the input"),
    ("Ctrl-D", "leave"),
)


def _run(context: Context, arguments: Sequence[str], commands: Sequence[Command]) -> None:
    with context.session.console.paging():
        if arguments:
            _explain(context, arguments, commands)
        else:
            _list(context, commands)


def _list(context: Context, commands: Sequence[Command]) -> None:
    console = context.session.console
    console.line(
        "Statements end with ';' and may take several lines: CREATE STREAM, SELECT, SHOW STREAMS, DESCRIBE …"
    )
    console.line("help STATEMENT explains one, such as help select; a function's name and ? explain it.")
    _section(context, "Commands", [(command.usage, command.help) for command in commands])
    _section(
        context,
        "Shortcuts (with Space or Tab)",
        [(word, text.replace("\n", " ")) for word, text in SKELETONS.items()],
    )
    _section(context, "Keys", _KEYS)


def _explain(context: Context, words: Sequence[str], commands: Sequence[Command]) -> None:
    """The page of a statement, of a command, or of a function. Raises CommandProblem."""
    from ksql_spark.shell.commands import pages

    console = context.session.console
    name = " ".join(words).lower().removesuffix(";")
    command = next((c for c in commands if name in (c.name, *c.aliases)), None)
    nodes = pages.statements_named(words)
    if command is not None:
        console.line(f"{console.cyan(command.usage)}  {command.help}")
    elif len(nodes) > 1:
        _section(
            context,
            "Statements",
            [(pages.titles(node)[0], pages.PAGES[node].what) for node in nodes],
        )
    for node in nodes if len(nodes) == 1 else ():
        page = pages.PAGES[node]
        console.line(f"{console.bold(pages.titles(node)[0])}: {page.what}")
        console.line()
        console.line(pages.syntax(node))
        for example in page.examples:
            console.line()
            console.line(console.cyan(example))
    if command is None and not nodes:
        _function(context, words)


def _function(context: Context, words: Sequence[str]) -> None:
    from ksql_spark import grammar

    try:
        if len(words) == 1 and words[0].rstrip(";").replace("_", "").isalnum():
            text = f"DESCRIBE FUNCTION {words[0].rstrip(';')};"
            context.session.run(*grammar.split(text))
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


def command(commands: Callable[[], Sequence[Command]]) -> Command:
    """The command; ``commands`` returns all that it lists."""
    return Command(
        "help",
        "help [STATEMENT|COMMAND|FUNCTION]",
        "show this list, or how to write a statement",
        lambda context, arguments: _run(context, arguments, commands()),
        most_arguments=8,
        aliases=("?", r"\?", r"\h"),
    )
