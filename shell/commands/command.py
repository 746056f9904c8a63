"""What a shell command is, and what it may use."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from shell.client import ClientError
from shell.session import Session


class Leave(Exception):
    """Raised by a command that ends the shell."""


class CommandProblem(ClientError):
    """A command that was called wrongly; the text is for the user."""


@dataclass
class Context:
    """The shell around a command."""

    session: Session
    #: what was typed so far, oldest first
    history: Callable[[], list[str]] = field(default=list)
    #: the files that are running now, each run by the one before it
    running_scripts: list[Path] = field(default_factory=list)
    #: called after the session has changed to another server
    on_server_change: Callable[[], None] = field(default=lambda: None)


@dataclass(frozen=True)
class Command:
    """One command.

    Attributes:
        name: its words, in lower case.
        usage: how it is written.
        help: one line that says what it does.
        run: called with the context and the words after the name; raises CommandProblem or ClientError.
        least_arguments: with fewer words than this, the input goes on in the next line, up to its ``;``.
        most_arguments: with more words than this, the line is a statement and not this command.
    """

    name: str
    usage: str
    help: str
    run: Callable[[Context, Sequence[str]], None]
    least_arguments: int = 0
    most_arguments: int = 0
    aliases: tuple[str, ...] = ()
