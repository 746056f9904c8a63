"""ksql-spark: a SQL-first streaming engine in the style of ksqlDB, on Spark."""

import platform
import sys

__version__ = "0.1.0"
#: the version that servers report: the release of ksqlDB whose language and API they have, and their own (ADR
#: 48)
SERVER_VERSION = f"8.5.0-ksql-spark-{__version__}"

# pip enforces this through pyproject.toml; this check is for a checkout on the path
if sys.version_info < (3, 11):  # noqa: UP036
    raise ImportError(f"ksql-spark needs Python 3.11 or newer; this is Python {platform.python_version()}.")
