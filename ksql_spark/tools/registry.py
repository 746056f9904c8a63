"""The command ``ksql-spark registry``: only the embedded schema registry."""

from __future__ import annotations

import argparse
import signal
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

from ksql_spark.config import Config
from ksql_spark.errors import KsqlError
from ksql_spark.services.registry import PREFERRED_PORT, EmbeddedRegistry

#: how often to check whether the registry is running
_LOOK_S = 1.0


def main(argv: Sequence[str]) -> int:
    """Run the registry until Ctrl-C or SIGTERM.

    Args:
        argv: the words after ``ksql-spark registry``.

    Returns:
        0 after a stop by signal, 1 for an error (shown in one line), 2 for wrong options.
    """
    try:
        options = _parser().parse_args(list(argv))
    except SystemExit as stop:
        return int(stop.code or 0)
    ended = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: ended.set())
    try:
        overrides = {"ksql.spark.data.dir": options.data_dir} if options.data_dir else {}
        folder = Path(str(Config.load(None, overrides=overrides)["ksql.spark.data.dir"])).expanduser()
        with EmbeddedRegistry(folder / "registry", options.port, _print_line) as running:
            _print_line(f"ksql.schema.registry.url={running.url}")
            while running.is_running() and not ended.wait(_LOOK_S):
                pass
            if not ended.is_set():
                raise KsqlError("REGISTRY_FAILED", reason="it exited unexpectedly", log=str(running.log_file))
    except KsqlError as error:
        if ended.is_set():
            return 0
        print(f"ksql-spark registry: {error.message}", file=sys.stderr)
        return 1
    return 0


def _print_line(line: str) -> None:
    print(line, flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="ksql-spark registry",
        description="Run only the schema registry that a server without ksql.schema.registry.url starts on "
        "demand, for programs that write before the server runs, or to share it between servers.",
    )
    parser.add_argument("--data-dir", metavar="DIR", help="directory for all persistent data")
    parser.add_argument(
        "--port", type=int, default=PREFERRED_PORT, help="the port for its first start (default: %(default)s)"
    )
    return parser
