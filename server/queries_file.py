"""The file of a headless server."""

from __future__ import annotations

from pathlib import Path


class QueriesFileProblem(Exception):
    """A headless server cannot run its file; the text is for the user."""


def queries_of(file: str | None) -> str | None:
    """The statements of a headless server; None for a server that is not headless.

    Raises:
        QueriesFileProblem: the file cannot be read.
    """
    if not file:
        return None
    try:
        return Path(file).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise QueriesFileProblem(f"Cannot read the queries file {file}: {reason}.") from error
