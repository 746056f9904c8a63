"""What the server's process says on its terminal."""

from __future__ import annotations

import contextlib
import sys

from ksql_spark.security.masking import masked


def say(line: str) -> None:
    """Print a line of progress."""
    # the process that started us may have ended, and closed its end of the pipe
    with contextlib.suppress(OSError):
        # in one call: Kafka and Spark start concurrently, and both report progress
        print(f"{masked(line)}\n", end="", flush=True)


def fail(message: str) -> int:
    """Print why the server ends; returns its exit code."""
    print(f"ksql-spark server: {masked(message)}", file=sys.stderr, flush=True)
    return 1
