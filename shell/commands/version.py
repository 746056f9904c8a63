"""version: show the version of the shell."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Sequence

from shell.commands.command import Command, Context


def version() -> str:
    """The installed version of ksql-spark."""
    try:
        return importlib.metadata.version("ksql-spark")
    except importlib.metadata.PackageNotFoundError:
        return "unknown"


def _run(context: Context, arguments: Sequence[str]) -> None:
    context.session.console.line(f"Version: {version()}")


COMMAND = Command("version", "version", "show the version of the shell", _run)
