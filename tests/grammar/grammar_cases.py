"""Reads the fixture files of this folder."""

from __future__ import annotations

import itertools
import re
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent


class Invalid(NamedTuple):
    text: str
    line: int
    column: int
    message: str


def identity() -> list[str]:
    """The statements of identity.sql, with their ``;``."""
    lines = (HERE / "identity.sql").read_text().splitlines()
    return [line for line in lines if line and not line.startswith("--")]


def invalid() -> list[Invalid]:
    """The texts of invalid.sql with the place and a part of the message."""
    lines = (HERE / "invalid.sql").read_text().splitlines()
    cases = []
    for comment, text in itertools.pairwise(lines):
        place = re.fullmatch(r"-- (\d+):(\d+) (.*)", comment)
        if place:
            cases.append(Invalid(text, int(place[1]), int(place[2]), place[3]))
    return cases
