"""Progress and errors on the server's terminal."""

from __future__ import annotations

import contextlib
import sys

from ksql_spark.masking import masked


def print_line(line: str) -> None:
    """Print a line of progress."""
    # the parent process may have exited and closed its end of the pipe
    with contextlib.suppress(OSError):
        # in one call: Kafka and Spark start concurrently, and both report progress
        print(f"{masked(line)}\n", end="", flush=True)


def fail(message: str) -> int:
    """Print why the server exits; returns its exit code."""
    print(f"ksql-spark server: {masked(message)}", file=sys.stderr, flush=True)
    return 1
