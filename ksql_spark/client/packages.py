"""The command that installs packages, for messages."""

from __future__ import annotations

import shlex
import sys


def install(*packages: str) -> str:
    """The command that installs packages for this very Python.

    An extra of ksql-spark is a package, too: it adds to what is installed, also from a clone.

    >>> install("ksql-spark[lake]").endswith(" -m pip install 'ksql-spark[lake]'")
    True
    """
    return shlex.join([sys.executable, "-m", "pip", "install", *packages])


__all__ = ["install"]
