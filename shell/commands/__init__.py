"""The shell's own commands (reference §8.2): one module each, one table for all.

A command is known by its first words, whatever their case; a final ``;`` may stand or not. To add one:
a module with a COMMAND, and its name in the table below; help and completion follow from it.
"""

from __future__ import annotations

from shell.commands import (
    clear,
    exit,
    help,
    history,
    output,
    request_pipelining,
    run_script,
    server,
    set_cli,
    spool,
    version,
)
from shell.commands.command import Command, CommandProblem, Context, Leave

#: every command, in the order that help shows them
COMMANDS: tuple[Command, ...] = (
    help.COMMAND,
    exit.COMMAND,
    clear.COMMAND,
    history.COMMAND,
    output.COMMAND,
    server.COMMAND,
    request_pipelining.COMMAND,
    run_script.COMMAND,
    spool.COMMAND,
    set_cli.COMMAND,
    version.COMMAND,
)


def find(line: str) -> tuple[Command, list[str]] | None:
    """The command that ``line`` calls and its arguments, or None where it is no command.

    >>> command, arguments = find("OUTPUT json;")
    >>> command.name, arguments
    ('output', ['json'])
    """
    text = line.strip().removesuffix(";")
    if ";" in text:
        return None
    words = text.split()
    folded = [word.lower() for word in words]
    for command in COMMANDS:
        for name in (command.name, *command.aliases):
            head = name.split()
            if folded[: len(head)] == head and len(words) - len(head) <= command.most_arguments:
                return command, words[len(head) :]
    return None


__all__ = ["COMMANDS", "Command", "CommandProblem", "Context", "Leave", "find"]
