"""Directories of files that outlive a process: what queries resume from, and our notes beside it.

This port is the only access to them, so that they may be on this machine or on shared storage.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Protocol


class Folder(Protocol):
    """A directory, which need not exist yet. Names are those of files or directories directly in it."""

    @property
    def uri(self) -> str:
        """The directory's URI in Spark's form."""

    def __str__(self) -> str:
        """Return the directory's location in readable form."""

    def sub(self, name: str) -> Folder:
        """A subdirectory."""

    def exists(self) -> bool:
        """Whether the directory exists.

        Raises:
            OSError: this cannot be determined.
        """

    def names(self) -> list[str]:
        """The names of its entries; empty if it does not exist.

        Raises:
            OSError: it cannot be read.
        """

    def read(self, name: str) -> str:
        """The text of a file.

        Raises:
            FileNotFoundError: the file does not exist.
            OSError: it cannot be read.
            ValueError: it is not text.
        """

    def write(self, name: str, text: str) -> None:
        """Write a file atomically; creates the directory if it does not exist.

        Raises:
            OSError: it cannot be written.
        """

    def forget(self, name: str) -> None:
        """Remove a file if it exists.

        Raises:
            OSError: it cannot be removed.
        """

    def remove(self) -> None:
        """Remove the directory with its contents, as far as possible."""


class LocalFolder:
    """A directory on this machine, or one that is mounted.

    Args:
        path: where it is.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def uri(self) -> str:
        """The directory's URI; see Folder."""
        return self.path.absolute().as_uri()

    def __str__(self) -> str:
        return str(self.path)

    def sub(self, name: str) -> LocalFolder:
        """Return a subdirectory; see Folder."""
        return LocalFolder(self.path / name)

    def exists(self) -> bool:
        """Whether the directory exists; see Folder."""
        return self.path.exists()

    def names(self) -> list[str]:
        """Return the names of its entries; see Folder."""
        try:
            return os.listdir(self.path)
        except FileNotFoundError:
            return []

    def read(self, name: str) -> str:
        """Return the text of a file; see Folder."""
        return (self.path / name).read_text(encoding="utf-8")

    def write(self, name: str, text: str) -> None:
        """Write a file atomically; see Folder."""
        self.path.mkdir(parents=True, exist_ok=True)
        written = self.path / f".{name}.tmp"
        with written.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        self._checksum(name).unlink(missing_ok=True)  # of the previous contents
        written.replace(self.path / name)

    def forget(self, name: str) -> None:
        """Remove a file; see Folder."""
        self._checksum(name).unlink(missing_ok=True)
        (self.path / name).unlink(missing_ok=True)

    def remove(self) -> None:
        """Remove the directory; see Folder."""
        shutil.rmtree(self.path, ignore_errors=True)
        if self.path.exists():  # something was written meanwhile
            shutil.rmtree(self.path, ignore_errors=True)

    def _checksum(self, name: str) -> Path:
        """The checksum file against which Hadoop's local file system verifies a file."""
        return self.path / f".{name}.crc"
