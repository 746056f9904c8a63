"""Locations of archives, in the form that the JVM takes."""

from __future__ import annotations

import os

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from ksql_spark.services import artifacts
from ksql_spark.spark import jvm


def located(session: SparkSession, folder: str) -> str:
    """A folder as Archive.java takes it; the JVM can reach it then.

    Args:
        session: any session.
        folder: a path of this machine, or a URL of S3.

    Raises:
        KsqlError: ARTIFACTS_UNAVAILABLE: what reads S3 cannot be fetched.
    """
    if "://" not in folder:
        return os.path.abspath(folder)  # the JVM has a working folder of its own
    conf = artifacts.FILE_SYSTEMS["s3a"]
    artifacts.ensure([conf])
    jvm.reach_object_stores(session, artifacts.jars(conf))
    return "s3a://" + folder.partition("://")[2].rstrip("/")


def records_before(session: SparkSession, folder: str, begins: str) -> DataFrame | None:
    """The records of an archive that its topic may have no more, or None.

    Args:
        session: any session.
        folder: where the archive is.
        begins: partition -> offset where the topic begins, as JSON.

    Raises:
        KsqlError: ARTIFACTS_UNAVAILABLE.
        JvmError: it cannot be read.
    """
    path = located(session, folder)
    while True:
        files = jvm.archived_files(session, path, begins)
        try:
            return session.read.option("basePath", path).parquet(*files) if files else None
        except (PySparkException, jvm.JvmError):
            if jvm.archived_files(session, path, begins) == files:
                raise
            # a compaction has replaced some of them
