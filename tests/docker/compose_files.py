"""Reads the compose files of docker/ as docker compose does."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml

FOLDER = Path(__file__).parents[2] / "docker"
_VARIABLE = re.compile(r"\$\{(\w+):-([^}]*)\}")


def read(name: str, **variables: str) -> Any:
    """The compose file ``name``; its variables have these values, or those that the file gives."""
    text = (FOLDER / name).read_text()
    return yaml.safe_load(_VARIABLE.sub(lambda one: variables.get(one[1], one[2]), text))


def variables(name: str) -> dict[str, str]:
    """The variables of the file, each with its usual value."""
    return dict(_VARIABLE.findall((FOLDER / name).read_text()))
