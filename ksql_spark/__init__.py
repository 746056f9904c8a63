"""ksql-spark: a SQL-first streaming engine in the style of ksqlDB, on Spark."""

import platform
import sys

__version__ = "0.1.0"
#: what servers say they are: the release of ksqlDB whose language and API they have, and their own (ADR 48)
SERVER_VERSION = f"8.5.0-ksql-spark-{__version__}"

# pip refuses by pyproject.toml; this is for a checkout that is put on the path by hand.
if sys.version_info < (3, 11):  # noqa: UP036
    raise ImportError(f"ksql-spark needs Python 3.11 or newer; this is Python {platform.python_version()}.")
