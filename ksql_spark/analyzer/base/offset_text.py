"""Offsets of a topic as text: ``0:120,1:77``."""

from __future__ import annotations

import re

_OFFSET = re.compile(r"(\d{1,9}):(\d{1,18})")


def offsets(text: str) -> dict[int, int] | None:
    """Parse the offsets of a topic, by partition; return None if ``text`` has another form.

    >>> offsets("0:120, 1:77"), offsets("0:120,0:121"), offsets("0")
    ({0: 120, 1: 77}, None, None)
    """
    matches = [_OFFSET.fullmatch(part.strip()) for part in text.split(",")]
    by_partition = {int(match[1]): int(match[2]) for match in matches if match is not None}
    return by_partition if len(by_partition) == len(matches) else None


__all__ = ["offsets"]
