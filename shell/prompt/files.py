"""Completion of file names, for the commands that take one."""

from __future__ import annotations

import os
import re
from pathlib import Path

from ksql_spark.shell.prompt.completion import Candidate

_TAKES_FILE = re.compile(r"\s*(?:run\s+script|spool|\\o)\s+(['\"]?)([^'\"]*)", re.I)
#: how many names are offered
MOST = 100


def complete_file(text: str) -> list[Candidate] | None:
    """Files and folders that the end of ``text`` may mean; None if no file comes there."""
    match = _TAKES_FILE.fullmatch(text)
    if match is None:
        return None
    folder, _, begun = match[2].rpartition("/")
    place = Path(f"{folder}/" if "/" in match[2] else ".").expanduser()
    try:
        with os.scandir(place) as entries:
            names = sorted((one.name + ("/" if one.is_dir() else "") for one in entries), key=str.lower)
    except OSError:
        return []
    fitting = [name for name in names if name.startswith(begun) and (begun.startswith(".") or name[0] != ".")]
    return [
        Candidate(
            name if name.endswith("/") else name + match[1],
            len(begun),
            "folder" if name[-1] == "/" else "file",
        )
        for name in fitting[:MOST]
    ]
