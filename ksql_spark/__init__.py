"""ksql-spark: a SQL-first streaming engine in the style of ksqlDB, on Spark."""

from __future__ import annotations

import importlib
import platform
import sys
from typing import TYPE_CHECKING, Any

__version__ = "0.2.0"
#: the version that servers report: the release of ksqlDB whose language and API they have, and their own (ADR
#: 18)
SERVER_VERSION = f"8.5.0-ksql-spark-{__version__}"

# pip enforces this through pyproject.toml; this check is for a checkout on the path
if sys.version_info < (3, 11):  # noqa: UP036
    raise ImportError(f"ksql-spark needs Python 3.11 or newer; this is Python {platform.python_version()}.")

if TYPE_CHECKING:
    from ksql_spark.client.database import AsyncDatabase, Database, Result, Row, connect, connect_async
    from ksql_spark.client.errors import Error

#: imported at first use: importing the package has to be fast
_LATER = {
    **dict.fromkeys(
        ("AsyncDatabase", "Database", "Result", "Row", "connect", "connect_async"),
        "ksql_spark.client.database",
    ),
    "Error": "ksql_spark.client.errors",
    **dict.fromkeys(("load_ipython_extension", "unload_ipython_extension"), "ksql_spark.shell.notebook"),
}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_LATER[name]), name)


__all__ = [
    "SERVER_VERSION",
    "AsyncDatabase",
    "Database",
    "Error",
    "Result",
    "Row",
    "__version__",
    "connect",
    "connect_async",
]
