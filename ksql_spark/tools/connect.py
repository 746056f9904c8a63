"""The command ``ksql-spark connect``: standalone Connect workers, and connectors from Maven repositories."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from ksql_spark.config import Config
from ksql_spark.errors import KsqlError
from ksql_spark.services import artifacts
from ksql_spark.services.connect_worker import DISTRIBUTED, STANDALONE, java_command


def main(argv: Sequence[str]) -> int:
    """Run a worker until Ctrl-C or SIGTERM, or install connectors.

    Args:
        argv: the words after ``ksql-spark connect``.

    Returns:
        0 on success, 1 for an error (shown in one line), 2 for wrong options; a worker replaces this process,
        with Connect's exit codes.
    """
    try:
        options = _parser().parse_args(list(argv))
    except SystemExit as stop:
        return int(stop.code or 0)
    try:
        if options.command == "install":
            return _install(options)
        files = [options.worker, *getattr(options, "connectors", [])]
        for file in files:
            if not os.access(file, os.R_OK):
                raise KsqlError("BAD_REQUEST", reason=f"Cannot read the file {file}.")
        artifacts.ensure((artifacts.CONNECT,), _print_line)
        main_class = STANDALONE if options.command == "standalone" else DISTRIBUTED
        java = [f"-Xmx{options.memory}", "-XX:-UsePerfData"]
        command = java_command(
            main_class, [str(file) for file in files], java, "connect-console-log4j2.properties"
        )
    except KsqlError as error:
        print(f"ksql-spark connect: {error.message}", file=sys.stderr)
        return 1
    sys.stdout.flush()
    # the worker replaces our process: signals and the exit code are its own
    os.execv(command[0], command)


def _install(options: argparse.Namespace) -> int:
    """Fetch connectors into a folder."""
    folder = options.into or _plugins(options.data_dir)
    for coordinates in options.coordinates:
        installed = artifacts.install(coordinates, folder, _print_line)
        _print_line(f"{coordinates} is in {installed}")
    _print_line("A running worker finds it after a restart.")
    return 0


def _plugins(data_dir: str | None) -> Path:
    """The folder of connectors of the embedded worker."""
    overrides = {"ksql.spark.data.dir": data_dir} if data_dir else {}
    config = Config.load(None, overrides=overrides)
    return Path(str(config["ksql.spark.data.dir"])).expanduser() / "connect" / "plugins"


def _print_line(line: str) -> None:
    print(line, flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="ksql-spark connect",
        description="Run Kafka Connect without a ksql-spark server. A server starts its own worker when a "
        "statement needs one.",
    )
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, what in (
        ("standalone", "run a worker that stores its offsets in a file, with connectors from files"),
        ("distributed", "run a cluster worker that stores everything in topics"),
    ):
        one = commands.add_parser(name, help=what, description=f"Connect: {what}.")
        one.add_argument("worker", metavar="WORKER.properties", type=Path, help="the worker's properties")
        if name == "standalone":
            one.add_argument(
                "connectors",
                metavar="CONNECTOR.properties",
                nargs="*",
                type=Path,
                help="one file per connector",
            )
        one.add_argument(
            "--memory", default="512m", help="heap size, in the syntax of java -Xmx (default: %(default)s)"
        )
    one = commands.add_parser(
        "install",
        help="fetch connectors from Maven Central",
        description="Fetch connectors and their dependencies from Maven Central (or "
        "KSQL_SPARK_MAVEN_URL) into a plug-in directory.",
    )
    one.add_argument(
        "coordinates",
        metavar="GROUP:ARTIFACT:VERSION",
        nargs="+",
        help="for example io.debezium:debezium-connector-postgres:3.7.0.Final",
    )
    folder = one.add_mutually_exclusive_group()
    folder.add_argument(
        "--into", metavar="DIR", type=Path, help="the directory (default: that of the embedded worker)"
    )
    folder.add_argument(
        "--data-dir", metavar="DIR", help="the data directory of the embedded worker's server"
    )
    return parser
