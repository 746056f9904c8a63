"""Shell commands, and the context in which they run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ksql_spark.shell.client import ClientError
from ksql_spark.shell.session import Session


class Leave(Exception):
    """Raised by a command that ends the shell."""


class CommandProblem(ClientError):
    """A command was called with wrong arguments; the text is for the user."""


@dataclass
class Context:
    """The shell in which a command runs."""

    session: Session
    #: the input so far, oldest first
    history: Callable[[], list[str]] = field(default=list)
    #: sets the keys of the prompt: "vi" or "emacs"
    set_editing: Callable[[str], None] = field(default=lambda mode: None)
    #: adds an input to the history; None if nobody types
    remember: Callable[[str], None] | None = None
    #: the running scripts, each started by the one before it
    running_scripts: list[Path] = field(default_factory=list)
    #: called after the session has changed to another server
    on_server_change: Callable[[], None] = field(default=lambda: None)


@dataclass(frozen=True)
class Script:
    """What a command runs: statements, or the file that has them."""

    text: str = ""
    path: str | None = None


def file_name(arguments: Sequence[str]) -> str:
    """The file that a command names, with or without quotes.

    >>> file_name(["'it''s", "mine.sql'"])
    "it's mine.sql"
    """
    path = " ".join(arguments)
    if len(path) > 1 and path[0] == path[-1] and path[0] in "'\"":
        path = path[1:-1].replace(path[0] * 2, path[0])
    return path


def is_on(name: str, arguments: Sequence[str], otherwise: bool) -> bool:
    """Return whether the argument is ``on``; ``otherwise`` without an argument. Raises CommandProblem."""
    if not arguments:
        return otherwise
    if arguments[0].lower() not in ("on", "off"):
        raise CommandProblem(f"{name} takes on or off.")
    return arguments[0].lower() == "on"


@dataclass(frozen=True)
class Command:
    """A command of the shell: its names, its arguments and the function that runs it.

    Attributes:
        name: its words, in lower case.
        usage: its syntax.
        help: a one-line description.
        run: called with the context and the words after the name; returns what runs next, if anything.
            Raises CommandProblem or ClientError.
        least_arguments: with fewer words, the input continues on the next line, up to its ``;``.
        most_arguments: with more words, the line is a statement and not this command.
    """

    name: str
    usage: str
    help: str
    run: Callable[[Context, Sequence[str]], Script | None]
    least_arguments: int = 0
    most_arguments: int = 0
    aliases: tuple[str, ...] = ()
