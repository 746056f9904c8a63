"""Folders on the file systems that Hadoop knows: S3, HDFS, Azure, Google Cloud (StateFolder.java)."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from pyspark.sql import SparkSession

from ksql_spark.errors import KsqlError
from ksql_spark.spark import jvm
from ksql_spark.storage import Folder

log = logging.getLogger(__name__)


class HadoopFolder:
    """A folder that Spark's JVM reaches.

    Args:
        uri: where it is, such as ``s3a://bucket/folder``.
        session: returns the Spark session of now.
    """

    def __init__(self, uri: str, session: Callable[[], SparkSession]) -> None:
        self._uri = uri.rstrip("/")
        self._session = session

    @property
    def uri(self) -> str:
        """The folder's URI; see Folder."""
        return self._uri

    def __str__(self) -> str:
        return self._uri

    def sub(self, name: str) -> Folder:
        """Return a folder in this one; see Folder."""
        return HadoopFolder(f"{self._uri}/{name}", self._session)

    def exists(self) -> bool:
        """Whether the folder exists; see Folder."""
        return bool(self._call("exists"))

    def names(self) -> list[str]:
        """Return the names of the files; see Folder."""
        return [str(name) for name in self._call("names")]

    def read(self, name: str) -> str:
        """Return the text of a file; see Folder."""
        content = self._call("read", name)
        if content is None:
            raise FileNotFoundError(f"there is no file {self._uri}/{name}")
        return bytes(content).decode("utf-8")

    def write(self, name: str, text: str) -> None:
        """Write a file; see Folder."""
        self._call("write", name, text)

    def forget(self, name: str) -> None:
        """Remove a file; see Folder."""
        self._call("forget", name)

    def remove(self) -> None:
        """Remove the folder; see Folder. Failures are logged."""
        try:
            self._call("remove")
        except (OSError, KsqlError) as error:
            log.warning("%s is not removed: %s", self._uri, error)

    def _call(self, method: str, *arguments: str) -> Any:
        """Call a method of StateFolder.java.

        Raises:
            OSError: the store failed, or Spark's JVM is gone.
            KsqlError: NOT_READY, SPARK_RESTARTING.
        """
        return jvm.call_folder(self._session(), self._uri, method, *arguments)


__all__ = ["HadoopFolder"]
