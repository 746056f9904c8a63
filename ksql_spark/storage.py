"""Folders of files that outlive a process: what queries resume from, and our notes beside it.

All of it is reached by this port, so that it can lie on this machine or where all machines reach it.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Protocol


class Folder(Protocol):
    """A folder, which need not exist yet. Names are those of files or folders directly in it."""

    @property
    def uri(self) -> str:
        """Where it is, as Spark takes it."""

    def __str__(self) -> str:
        """Where it is, for people."""

    def sub(self, name: str) -> Folder:
        """A folder in it."""

    def exists(self) -> bool:
        """Whether there is such a folder.

        Raises:
            OSError: it cannot be found out.
        """

    def names(self) -> list[str]:
        """The names of what is in it; none if it does not exist.

        Raises:
            OSError: it cannot be read.
        """

    def read(self, name: str) -> str:
        """The text of a file.

        Raises:
            FileNotFoundError: there is no such file.
            OSError: it cannot be read.
            ValueError: it is not text.
        """

    def write(self, name: str, text: str) -> None:
        """Write a file, as a whole or not at all; the folder is made if it does not exist.

        Raises:
            OSError: it cannot be written.
        """

    def forget(self, name: str) -> None:
        """Remove a file, if it is there.

        Raises:
            OSError: it cannot be removed.
        """

    def remove(self) -> None:
        """Remove the folder with all that is in it, as far as that is possible."""


class LocalFolder:
    """A folder on this machine, or one that looks like that.

    Args:
        path: where it is.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def uri(self) -> str:
        """As in Folder."""
        return self.path.absolute().as_uri()

    def __str__(self) -> str:
        return str(self.path)

    def sub(self, name: str) -> LocalFolder:
        """As in Folder."""
        return LocalFolder(self.path / name)

    def exists(self) -> bool:
        """As in Folder."""
        return self.path.exists()

    def names(self) -> list[str]:
        """As in Folder."""
        try:
            return os.listdir(self.path)
        except FileNotFoundError:
            return []

    def read(self, name: str) -> str:
        """As in Folder."""
        return (self.path / name).read_text(encoding="utf-8")

    def write(self, name: str, text: str) -> None:
        """As in Folder."""
        self.path.mkdir(parents=True, exist_ok=True)
        written = self.path / f".{name}.tmp"
        with written.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        self._checksum(name).unlink(missing_ok=True)  # of what was there before
        written.replace(self.path / name)

    def forget(self, name: str) -> None:
        """As in Folder."""
        self._checksum(name).unlink(missing_ok=True)
        (self.path / name).unlink(missing_ok=True)

    def remove(self) -> None:
        """As in Folder."""
        shutil.rmtree(self.path, ignore_errors=True)
        if self.path.exists():  # something was written meanwhile
            shutil.rmtree(self.path, ignore_errors=True)

    def _checksum(self, name: str) -> Path:
        """The file with the checksum that Hadoop's local file system compares a file with."""
        return self.path / f".{name}.crc"
