"""The shell's own commands (reference §8.2): one table for all.

A command is recognized by its first words, in any case; a final ``;`` is optional. To add a command, add
it to the module that fits and to the table below; help and completion use the table.
"""

from __future__ import annotations

import re

from ksql_spark.shell.commands import display, edit, files, help, program, set_cli, shortcuts, top, watch
from ksql_spark.shell.commands.command import Command, CommandProblem, Context, Leave

#: every command, in the order of help
COMMANDS: tuple[Command, ...] = (
    help.command(lambda: COMMANDS),
    program.EXIT,
    display.CLEAR,
    program.HISTORY,
    display.OUTPUT,
    display.EXPANDED,
    files.OUTPUT_FILE,
    display.TIMING,
    display.PAGER,
    *shortcuts.COMMANDS,
    edit.command(lambda text: find(text) is not None),
    watch.COMMAND,
    top.COMMAND,
    program.SERVER,
    program.PIPELINING,
    files.RUN_SCRIPT,
    files.SPOOL,
    set_cli.COMMAND,
    program.VERSION,
)


#: a function's name and a question mark
_ASKED = re.compile(r"(\w+)\s*\?")


def find(line: str) -> tuple[Command, list[str]] | None:
    """The command in ``line`` and its arguments, or None if it is not a command.

    >>> command, arguments = find("OUTPUT json;")
    >>> command.name, arguments
    ('output', ['json'])
    """
    text = line.strip().removesuffix(";")
    if ";" in text:
        return None
    if match := _ASKED.fullmatch(text):
        return shortcuts.FUNCTION, [match[1]]
    words = text.split()
    folded = [word.lower() for word in words]
    for command in COMMANDS:
        for name in (command.name, *command.aliases):
            head = name.split()
            if folded[: len(head)] == head and len(words) - len(head) <= command.most_arguments:
                return command, words[len(head) :]
    return None


def meant(line: str) -> str | None:
    """The command that a misspelled word probably means: it is similar, and no statement begins with the
    word.

    >>> meant("hlep"), meant("help"), meant("show")
    ('help', None, None)
    """
    word = line.strip().removesuffix(";").rstrip().lower()
    names = [name for command in COMMANDS for name in (command.name, *command.aliases)]
    if not word.isalpha() or word in names:
        return None
    import difflib

    from ksql_spark.grammar import STATEMENT_STARTERS

    if word.upper() in STATEMENT_STARTERS:
        return None
    return next(iter(difflib.get_close_matches(word, names, n=1, cutoff=0.7)), None)


def problem(line: str) -> str | None:
    r"""Describe the problem of a line that is no command or statement; None if it may be a statement.

    >>> problem(r"\timng")
    "Unknown command '\\timng'. Did you mean \\timing?"
    >>> problem(r"\x 1 2")
    'Syntax: \\x [on|off|auto]'
    """
    text = line.strip()
    if text.startswith("\\"):
        word = text.split()[0].lower().removesuffix(";")
        by_name = {name: command for command in COMMANDS for name in (command.name, *command.aliases)}
        if word in by_name:
            return f"Syntax: {by_name[word].usage}"
        import difflib

        close = difflib.get_close_matches(
            word, [name for name in by_name if name[0] == "\\"], n=1, cutoff=0.7
        )
        advice = f"Did you mean {close[0]}?" if close else "help lists the commands."
        return f"Unknown command '{word}'. {advice}"
    guess = meant(line)
    return f"Unknown command '{text.removesuffix(';').rstrip()}'. Did you mean {guess}?" if guess else None


__all__ = ["COMMANDS", "Command", "CommandProblem", "Context", "Leave", "find", "problem"]
