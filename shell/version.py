"""The installed version."""

from __future__ import annotations

from ksql_spark import __version__


def release(server_version: str) -> str:
    """The ksql-spark release in a server's version; the whole version if it is ksqlDB's.

    >>> release("8.5.0-ksql-spark-0.1.0"), release("7.9.2")
    ('0.1.0', '7.9.2')
    """
    return server_version.rpartition("-ksql-spark-")[2]


def version() -> str:
    """The installed version of ksql-spark."""
    return __version__
