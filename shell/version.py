"""The installed version."""

from __future__ import annotations

import importlib.metadata


def version() -> str:
    """The installed version of ksql-spark."""
    try:
        return importlib.metadata.version("ksql-spark")
    except importlib.metadata.PackageNotFoundError:
        return "unknown"
