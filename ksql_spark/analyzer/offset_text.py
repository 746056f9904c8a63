"""Offsets of a topic as text: ``0:120,1:77``."""

from __future__ import annotations

import re

_OFFSET = re.compile(r"(\d{1,9}):(\d{1,18})")


def offsets(text: str) -> dict[int, int] | None:
    """Partition -> offset; None if ``text`` is not ``partition:offset``, with commas between, each once."""
    found = [_OFFSET.fullmatch(part.strip()) for part in text.split(",")]
    known = {int(each[1]): int(each[2]) for each in found if each is not None}
    return known if len(known) == len(found) else None


__all__ = ["offsets"]
