"""``ksql-spark doctor``: checks whether a server can run on this machine, and says what to do if not.

Each check is a function of the server's configuration; CHECKS has them in order. With ``--tools``, it tries
what tools for charts send on a running server instead (`ksql_spark.tools.charts`).
"""

from __future__ import annotations

import argparse
import importlib.metadata
import importlib.util
import os
import platform
import re
import shutil
import socket
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from ksql_spark.client.packages import install
from ksql_spark.config import Config
from ksql_spark.errors import KsqlError
from ksql_spark.masking import masked
from ksql_spark.services import artifacts, java
from ksql_spark.services.cache import cache_dir
from ksql_spark.services.memory import BESIDE_THE_HEAP, GIGABYTE, size
from ksql_spark.services.memory import available as available_memory
from ksql_spark.services.memory import heap as heap_of
from ksql_spark.services.memory import total as total_memory
from ksql_spark.services.registry import JAVA_VERSION as JAVA_OF_REGISTRY
from ksql_spark.tools.charts.checking import check_tools

#: disk space for JVM artifacts, class archives and a small server's data, bytes
DISK = 2 * GIGABYTE
TIMEOUT_S = 5.0
_NAME = re.compile(r"[\w.-]+")


@dataclass(frozen=True)
class Finding:
    """The result of a check: whether that is good, and what to do if it is not."""

    state: Literal["ok", "note", "bad"]
    text: str
    advice: str = ""


Check = Callable[[Config], Finding]


def python(config: Config) -> Finding:
    """The running Python."""
    oldest = (3, 11)
    text = f"{platform.python_version()} ({sys.executable})"
    if sys.version_info < oldest:
        return Finding("bad", text, "Install Python 3.11 or newer.")
    return Finding("ok", text)


def packages(config: Config) -> Finding:
    """Whether the packages of the extra ``server`` are there."""
    requirements = importlib.metadata.requires("ksql-spark") or []
    of_server = [text for text in requirements if "extra == 'server'" in text.replace('"', "'")]
    names = [match[0] for text in of_server if (match := _NAME.match(text)) and "sys_platform" not in text]
    missing = [name for name in names if not _is_installed(name)]
    if missing:
        return Finding(
            "bad",
            f"without {', '.join(missing)}",
            f"Only the client is installed: {install('ksql-spark[server]')}",
        )
    return Finding("ok", f"ksql-spark {importlib.metadata.version('ksql-spark')}, all packages of the server")


def _is_installed(name: str) -> bool:
    try:
        importlib.metadata.distribution(name)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


def java_runtime(config: Config) -> Finding:
    """The Java that would run Spark."""
    try:
        home = java.java_home()
    except KsqlError as error:
        return Finding("bad", "none that fits", f"{error.message} Or: {install('ksql-spark[java]')}")
    version = java.version(home)
    shown = f"{version or 'found'} in {home}"
    if 0 < version < JAVA_OF_REGISTRY:
        return Finding("note", shown, f"Only the embedded schema registry needs Java {JAVA_OF_REGISTRY}.")
    return Finding("ok", shown)


def jvm_artifacts(config: Config) -> Finding:
    """Whether the JVM artifacts are there, or can be fetched."""
    try:
        if artifacts.are_there(artifacts.needed_at_start()):
            return Finding("ok", f"complete in {cache_dir()}")
    except KsqlError:
        return Finding("note", "not checked", "The packages of the server come first.")
    repository = artifacts.repository()
    try:
        urllib.request.urlopen(urllib.request.Request(repository, method="HEAD"), timeout=TIMEOUT_S).close()
    except urllib.error.HTTPError as error:
        if error.code in (401, 403, 407):
            return Finding("bad", f"{repository} refuses access (HTTP {error.code})", _MIRROR)
    except (OSError, ValueError) as error:
        reason = getattr(error, "reason", None) or error
        return Finding("bad", f"{repository} cannot be reached: {reason}", _MIRROR)
    return Finding("note", f"not fetched yet; the first start loads about 60 MB from {masked(repository)}")


_MIRROR = (
    "The first start has to load JVM artifacts. Behind a proxy, set https_proxy; for a mirror of Maven "
    "Central, set KSQL_SPARK_MAVEN_URL."
)


def memory(config: Config) -> Finding:
    """Whether the available memory suffices for Spark's heap and the rest."""
    heap = heap_of(config)
    available, needed = available_memory(), size(heap) + BESIDE_THE_HEAP
    if available is None:
        total = total_memory()
        shown = "unknown" if total is None else f"{_gigabytes(total)} in all, {_gigabytes(needed)} wanted"
        return Finding("note", shown, "This system does not say how much memory is available.")
    shown = f"{_gigabytes(available)} available, {_gigabytes(needed)} wanted"
    if available < needed:
        return Finding("note", shown, f"Stop other programs, or set ksql.spark.memory below {heap}.")
    return Finding("ok", shown)


def _gigabytes(size: int) -> str:
    return f"{size / GIGABYTE:.1f} GB"


def ports(config: Config) -> Finding:
    """Whether the server could listen at its addresses."""
    problems = []
    for host, port in _addresses(config):
        try:
            with socket.socket() as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probe.bind((host, port))
        except OSError as error:
            problems.append((f"{host}:{port}", error.strerror or str(error)))
    if not problems:
        return Finding("ok", ", ".join(f"{host}:{port}" for host, port in _addresses(config)) + " is free")
    shown = "; ".join(f"{address}: {reason}" for address, reason in problems)
    return Finding(
        "note",
        shown,
        "If this is your ksql-spark server, all is well. Otherwise choose another with --listen.",
    )


def _addresses(config: Config) -> list[tuple[str, int]]:
    texts = str(config["listeners"]).split(",")
    if at := config["ksql.postgres.listener"]:
        texts.append(f"postgres://{at}")
    urls = [urlsplit(text.strip()) for text in texts]
    return [(url.hostname or "127.0.0.1", url.port or 8088) for url in urls]


def disk(config: Config) -> Finding:
    """Whether the data folder and the cache can be written and have room."""
    folders = (Path(str(config["ksql.spark.data.dir"])).expanduser(), cache_dir())
    shown = []
    for folder in folders:
        at = next(path for path in (folder, *folder.parents) if path.exists())
        if not os.access(at, os.W_OK):
            return Finding(
                "bad", f"{at} is not writable", "Change its owner, or choose another with --data-dir."
            )
        free = shutil.disk_usage(at).free
        shown.append(f"{_gigabytes(free)} free for {folder}")
        if free < DISK:
            return Finding("bad", shown[-1], f"Make room: {_gigabytes(DISK)} at least.")
    return Finding("ok", ", ".join(shown))


def broker(config: Config) -> Finding:
    """Whether the configured Kafka cluster answers."""
    servers = config["bootstrap.servers"]
    if not servers:
        return Finding("ok", "none is configured: the server starts its own")
    try:
        from ksql_spark.kafka.admin import KafkaAdmin

        admin = KafkaAdmin(str(servers), config.kafka_client_settings(), timeout_s=TIMEOUT_S)
        return Finding("ok", f"{servers}, cluster {admin.cluster_id()}, {len(admin.topics())} topics")
    except ModuleNotFoundError:
        return Finding("note", "not checked", "The packages of the server come first.")
    except KsqlError as error:
        return Finding("bad", error.message, "Check bootstrap.servers, security.protocol and sasl.*.")


def registry(config: Config) -> Finding:
    """Whether the configured schema registry answers."""
    if not str(config["ksql.schema.registry.url"] or "").strip():
        return Finding("ok", "none is configured: the server starts its own when a statement needs one")
    try:
        from ksql_spark.engine.bootstrap.registry import schema_registry

        configured = schema_registry(config)
        problem = configured.problem() if configured is not None else None
    except ModuleNotFoundError:
        return Finding("note", "not checked", "The packages of the server come first.")
    except KsqlError as error:
        problem = error.message
    if problem:
        return Finding("bad", problem, "Check ksql.schema.registry.url and the other ksql.schema.registry.*.")
    return Finding("ok", str(config["ksql.schema.registry.url"]))


CHECKS: dict[str, Check] = {
    "Python": python,
    "packages": packages,
    "Java": java_runtime,
    "JVM artifacts": jvm_artifacts,
    "memory": memory,
    "ports": ports,
    "disk": disk,
    "Kafka": broker,
    "schema registry": registry,
}
_MARKS = {"ok": "ok  ", "note": "note", "bad": "BAD "}


def main(argv: Sequence[str]) -> int:
    """Print what every check finds.

    Args:
        argv: the options after ``ksql-spark doctor``: some of the server's.

    Returns:
        0 if a server can start, 1 if not, 2 for wrong options.
    """
    try:
        options = _parser().parse_args(list(argv))
    except SystemExit as stop:
        return int(stop.code or 0)
    by_name = {
        "bootstrap.servers": options.bootstrap_servers,
        "listeners": options.listen and f"http://{options.listen}",
        "ksql.spark.data.dir": options.data_dir,
    }
    try:
        overrides = {name: value for name, value in by_name.items() if value is not None}
        config = Config.load(options.properties, os.environ, overrides)
    except KsqlError as error:
        print(f"ksql-spark doctor: {error.message}", file=sys.stderr)
        return 2
    if options.tools is not None:
        address = config["ksql.postgres.listener"] or "127.0.0.1:5433"
        return check_tools(options.tools or f"postgresql://ksql@{address}/ksql", options.table or [])
    width = max(map(len, CHECKS))
    is_bad = False
    for name, check in CHECKS.items():
        finding = check(config)
        is_bad |= finding.state == "bad"
        print(f"{_MARKS[finding.state]} {name.ljust(width)}  {masked(finding.text)}", flush=True)
        if finding.advice:
            print(f"     {' ' * width}  → {finding.advice}", flush=True)
    print("A server cannot start like this." if is_bad else "A server can start: ksql-spark")
    return int(is_bad)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="ksql-spark doctor",
        description="Check whether a server can run on this machine, and say what to do if not.",
    )
    parser.add_argument("--properties", metavar="FILE", type=Path, help="the server's properties file")
    parser.add_argument("--bootstrap-servers", metavar="HOST:PORT,…", help="the Kafka brokers")
    parser.add_argument("--listen", metavar="HOST:PORT", help="the address of the REST API")
    parser.add_argument("--data-dir", metavar="DIR", help="directory for all persistent data")
    parser.add_argument(
        "--tools",
        metavar="URL",
        nargs="?",
        const="",
        help="instead, run what tools for charts send over a running server's streams and tables, and list "
        "which charts would fail; URL: postgresql://user:password@host:port/ksql",
    )
    parser.add_argument(
        "--table", metavar="NAME", action="append", help="with --tools: only this one, or these"
    )
    return parser
