"""Problems in a Connect worker's log of connectors that run but cannot do their work."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

#: how much of the log's end to read
_TAIL_BYTES = 256 * 1024
#: the layout of connect-log4j2.properties: time, level, who, class and message
_LINE = re.compile(
    r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d),\d{3} ([A-Z]+) (?:\[(.+)\|(?:task-\d+|worker)[^\]]*\] )?(.*)"
)


def complaints(
    file: Path, since: datetime.datetime, created: Mapping[str, datetime.datetime] | None = None
) -> dict[str, str]:
    """The last error, or warning with an exception, of each connector: name -> message or stack trace.

    Args:
        file: the log.
        since: local time; older entries do not count.
        created: connectors created after that, with the time: an earlier one may have had the same name.
    """
    by_connector: dict[str, str] = {}
    for time, level, name, text in _entries(_tail(file)):
        if (
            name
            and time >= (created or {}).get(name, since)
            and time >= since
            and (level == "ERROR" or (level == "WARN" and "\n" in text))
        ):
            message, _, trace = text.partition("\n")
            by_connector[name] = trace or message.partition(": ")[2]
    return by_connector


def _tail(file: Path) -> list[str]:
    try:
        with file.open("rb") as log:
            log.seek(max(0, file.stat().st_size - _TAIL_BYTES))
            return log.read().decode(errors="replace").splitlines()
    except OSError:
        return []


def _entries(lines: Iterable[str]) -> Iterable[tuple[datetime.datetime, str, str | None, str]]:
    """Time, level, connector and text of each entry, which may have several lines."""
    entry: tuple[datetime.datetime, str, str | None, str] | None = None
    for line in lines:
        if start := _LINE.fullmatch(line):
            if entry is not None:
                yield entry
            time = datetime.datetime.fromisoformat(start[1])
            entry = (time, start[2], start[3], start[4])
        elif entry is not None:
            entry = (*entry[:3], f"{entry[3]}\n{line}")
    if entry is not None:
        yield entry
