"""Folders of files, on this machine or in an object store, by obstore: the same calls for all of them.

Object stores get credentials and endpoint from the environment (object_stores.py).
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

from obstore.exceptions import AlreadyExistsError, BaseError
from obstore.store import LocalStore, MemoryStore, from_url

from ksql_spark.errors import KsqlError

#: a sink says that its store is away, and tries again, rather than waiting for long
_CLIENT: Any = {"timeout": timedelta(seconds=60), "connect_timeout": timedelta(seconds=5)}
_RETRIES: Any = {"max_retries": 3, "retry_timeout": timedelta(seconds=10)}


class Store:
    """A folder of a lake, on this machine or in an object store.

    Args:
        path: a path of this machine, or a URL such as ``s3://bucket/folder``.
        is_made: whether a local folder is made if it is not there; else it is empty.

    Raises:
        KsqlError: LAKE_FAILED, as by all methods.
    """

    def __init__(self, path: str, *, is_made: bool = False) -> None:
        self._path = path
        self._local = None if "://" in path else Path(path).absolute()
        self._store: Any
        with self._lake_errors():
            if self._local is None:
                # as object_store reads it, which does so only without options of ours
                is_allowed = os.environ.get("AWS_ALLOW_HTTP", "").lower() in ("true", "1")
                options: Any = {**_CLIENT, "allow_http": is_allowed}
                self._store = from_url(path, client_options=options, retry_config=_RETRIES)
            elif is_made or self._local.is_dir():
                self._store = LocalStore(self._local, mkdir=is_made)
            else:
                self._store = MemoryStore()

    @contextlib.contextmanager
    def _lake_errors(self) -> Iterator[None]:
        try:
            yield
        except FileNotFoundError:
            raise
        except (BaseError, OSError, ValueError) as error:
            reason = " ".join(str(error).partition("\n\nDebug source")[0].split()).rstrip(".")
            raise KsqlError("LAKE_FAILED", path=self._path, reason=reason[:500]) from None

    def names(self, folder: str) -> list[str]:
        """Files directly in a folder, without its name, sorted."""
        with self._lake_errors(), contextlib.suppress(FileNotFoundError):
            objects = self._store.list_with_delimiter(folder)["objects"]
            return sorted(one["path"].rpartition("/")[2] for one in objects)
        return []

    def all_names(self) -> list[str]:
        """Return the names of all files below the folder."""
        with self._lake_errors():
            return [one["path"] for part in self._store.list() for one in part]

    def read(self, name: str) -> bytes:
        """The contents of a file.

        Raises:
            FileNotFoundError: it is not there.
        """
        with self._lake_errors():
            return bytes(self._store.get(name).bytes())

    def write(self, name: str, content: bytes | Path) -> None:
        """Write a file, which outlives a crash of the machine."""
        with self._lake_errors():
            self._store.put(name, content)
            self._sync(name)

    def create(self, name: str, content: bytes) -> bool:
        """Write a small file unless there is one of that name; returns whether there was none."""
        with self._lake_errors():
            try:
                self._store.put(name, content, mode="create", use_multipart=False)
            except AlreadyExistsError:
                return False
            self._sync(name)
        return True

    def rename(self, name: str, new: str) -> None:
        """Rename a file, if it is there. An object store copies it."""
        with self._lake_errors(), contextlib.suppress(FileNotFoundError):
            self._store.rename(name, new)

    def remove(self, *names: str) -> None:
        """Remove files that are there, and local folders that are empty then."""
        for name in names:
            with self._lake_errors(), contextlib.suppress(FileNotFoundError):
                self._store.delete(name)
        if self._local is not None:
            for folder in {Path(name).parent for name in names}:
                while folder.name:
                    with contextlib.suppress(OSError):
                        (self._local / folder).rmdir()
                    folder = folder.parent

    def _sync(self, name: str) -> None:
        if self._local is not None:
            for path in (self._local / name, (self._local / name).parent):
                descriptor = os.open(path, os.O_RDONLY)
                try:
                    os.fsync(descriptor)
                finally:
                    os.close(descriptor)
