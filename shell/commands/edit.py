r"""\e: change the last statement in an editor, and run it."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

from ksql_spark.shell import statements
from ksql_spark.shell.commands.command import Command, CommandProblem, Context, Script


def _run(context: Context, is_command: Callable[[str], bool]) -> Script:
    console = context.session.console
    if context.remember is None:
        raise CommandProblem(r"\e works only at the prompt.")
    last = next((text for text in reversed(context.history()) if not is_command(text)), "")
    text = _edited(last)
    if statements.is_blank(text):
        raise CommandProblem("Nothing to run: the file is empty.")
    context.remember(text)
    console.note(console.cyan(text))
    return Script(text)


def _edited(text: str) -> str:
    """``text`` as the user leaves it in the editor. Raises CommandProblem."""
    editor = _editor()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "statement.sql"
        file.write_text(text, encoding="utf-8")
        try:
            code = subprocess.call([*editor, str(file)])
        except OSError as error:
            raise CommandProblem(f"Cannot start the editor {editor[0]}: {error.strerror}.") from None
        if code != 0:
            raise CommandProblem(f"Not run: the editor {editor[0]} ended with code {code}.")
        return file.read_text(encoding="utf-8").strip()


def _editor() -> list[str]:
    """The program that $VISUAL or $EDITOR names, or the usual ones. Raises CommandProblem."""
    named = os.environ.get("VISUAL") or os.environ.get("EDITOR")
    if named:
        return shlex.split(named)
    editor = next((path for name in ("editor", "nano", "vi") if (path := shutil.which(name))), None)
    if editor is None:
        raise CommandProblem("There is no editor: set the environment variable EDITOR.")
    return [editor]


def command(is_command: Callable[[str], bool]) -> Command:
    """The command; ``is_command`` says which inputs of the history are no statements."""
    return Command(
        r"\e",
        r"\e",
        "change the last statement in $EDITOR, and run it",
        lambda context, _: _run(context, is_command),
    )
