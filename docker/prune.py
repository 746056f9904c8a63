"""Removes what no server of ours uses from the packages in a folder, for a small image: ``prune.py FOLDER``.

Every row must find something, so that an upgrade of a package that makes one meaningless fails the build.
"""

from __future__ import annotations

import platform
import shutil
import sys
import zipfile
from pathlib import Path

#: files and folders, below site-packages
UNUSED = (
    # PySpark: examples, its pandas, machine learning, the interactive shell, Spark Connect
    *("pyspark/" + name for name in ("data", "examples", "licenses", "ml", "mllib", "pandas", "python")),
    *(
        f"pyspark/jars/{name}*"
        for name in (
            "spark-mllib", "spark-graphx", "breeze", "spire", "cats-kernel", "algebra_", "lapack", "arpack",
            "blas-", "JTransforms", "JLargeArrays", "scala-parallel",
            "spark-repl", "scala-compiler", "jline", "connect-repl", "spark-connect_", "spark-pipelines",
            # Hive: we have a catalog of our own, and no session with Hive's
            "spark-hive", "hive-exec", "hive-metastore", "hive-service", "hive-serde", "hive-jdbc",
            "hive-cli", "hive-beeline", "hive-common", "hive-shims", "datanucleus", "derby", "HikariCP",
            "javax.jdo", "jdo-api", "jta-", "libfb303", "libthrift", "antlr-runtime", "ST4",
            # libraries for other systems
            "netty-tcnative-boringssl-static-*-osx", "netty-tcnative-boringssl-static-*-windows",
            "netty-transport-native-kqueue",
        )
    ),
    # Arrow: its servers, tests, and what C++ programs need
    *(
        f"pyarrow/{name}"
        for name in (
            "include", "tests", "src", "libarrow_flight*", "libarrow_python_flight*", "_flight*", "flight.py",
            "libarrow_substrait*", "_substrait*", "substrait.py", "*.pyx", "*.pxi",
        )
    ),
)  # fmt: skip
#: jars of PySpark with libraries for many systems -> what the entry for ours contains
NATIVE = {
    "rocksdbjni-*": {"x86_64": "librocksdbjni-linux64.so", "aarch64": "librocksdbjni-linux-aarch64.so"},
    "zstd-jni-*": {"x86_64": "linux/amd64/", "aarch64": "linux/aarch64/"},
    "snappy-java-*": {"x86_64": "/Linux/x86_64/", "aarch64": "/Linux/aarch64/"},
}
SUFFIXES = (".so", ".dll", ".jnilib", ".dylib", ".a")


def remove(packages: Path, pattern: str) -> None:
    """Remove what the pattern names."""
    found = list(packages.glob(pattern))
    if not found and (packages / pattern.partition("/")[0]).is_dir():
        sys.exit(f"prune.py: {pattern} is not there any more")
    for path in found:
        shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()


def keep_native(jar: Path, ours: str) -> None:
    """Remove the libraries of other systems from a jar."""
    kept = 0
    smaller = jar.with_suffix(".part")
    with zipfile.ZipFile(jar) as old, zipfile.ZipFile(smaller, "w", zipfile.ZIP_DEFLATED) as new:
        for entry in old.infolist():
            is_library = entry.filename.endswith(SUFFIXES)
            if not is_library or ours in entry.filename:
                new.writestr(entry, old.read(entry))
                kept += is_library
    if not kept:
        sys.exit(f"prune.py: {jar.name} has nothing like {ours}")
    smaller.replace(jar)


def main() -> None:
    """Prune the packages in the folder that is the argument."""
    packages = Path(sys.argv[1])
    for pattern in UNUSED:
        remove(packages, pattern)
    for pattern, by_machine in NATIVE.items():
        for jar in packages.glob(f"pyspark/jars/{pattern}.jar"):
            if ours := by_machine.get(platform.machine()):
                keep_native(jar, ours)


if __name__ == "__main__":
    main()
