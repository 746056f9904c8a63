"""Jars of user functions, and descriptions of the functions in them (ADR 13).

JarDescription.java describes a jar as plain data, in a JVM of its own, so a server needs no Spark to bind a
call. Its answers are kept in the user's cache, by the contents of the jar and of our classes: a JVM runs once
for each jar, and none where there is no jar.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ksql_spark.services import artifacts
from ksql_spark.services.cache import cache_dir, digest, put
from ksql_spark.services.java import java_command

_PROGRAM = "org.ksqlspark.extension.JarDescription"
#: how long the program may take
_TIMEOUT_S = 120.0


@dataclass(frozen=True)
class JavaFunctions:
    """The jars of one server; ``extensions``: their folder, which need not exist."""

    extensions: Path

    def jars(self) -> list[Path]:
        """The jars of the folder, by name."""
        return sorted(self.extensions.glob("*.jar")) if self.extensions.is_dir() else []

    def describe(self, jar: Path) -> dict[str, Any]:
        """Return ``{"functions": […], "problems": [one line each]}`` or ``{"error": one line}``.

        ParameterTypes.java explains the types in it.
        """
        return self._ask(jar, ())

    def result_of(self, jar: Path, call: Mapping[str, Any]) -> dict[str, Any]:
        """Return ``{"returns": SQL type, "aggregate": SQL type}`` or ``{"error": one line}``.

        Args:
            jar: the jar.
            call: see ``resultOf`` of JarDescription.java.
        """
        return self._ask(jar, (json.dumps(call, sort_keys=True),))

    def _ask(self, jar: Path, more: tuple[str, ...]) -> dict[str, Any]:
        classes = artifacts.own_classes()
        try:
            content = hashlib.sha256(jar.read_bytes()).hexdigest()
        except OSError as error:
            return {"error": error.strerror or str(error)}
        kept = cache_dir() / "functions" / f"{digest(content, str(classes), *more)}.json"
        if kept.is_file():
            known: dict[str, Any] = json.loads(kept.read_text(encoding="utf-8"))
            return known
        answer = _run(classes, jar, more)
        if "error" not in answer:
            put(kept, json.dumps(answer).encode())
        return answer


def _run(classes: Path, jar: Path, more: tuple[str, ...]) -> dict[str, Any]:
    class_path = [classes, *artifacts.jars("spark"), artifacts.pyspark_jars() / "*"]
    with tempfile.TemporaryDirectory(prefix="ksql-functions-") as folder:
        answer = Path(folder) / "answer.json"
        command = [
            *(*java_command(), "-XX:TieredStopAtLevel=1"),
            *("-cp", os.pathsep.join(map(str, class_path)), _PROGRAM),
            *(str(jar), str(answer), *more),
        ]
        try:
            done = subprocess.run(
                command, stdin=subprocess.DEVNULL, capture_output=True, timeout=_TIMEOUT_S, check=False
            )
        except subprocess.TimeoutExpired:
            return {"error": f"it was not loaded within {_TIMEOUT_S:g} seconds"}
        if not answer.is_file():
            return {"error": _reason(done.stderr.decode(errors="replace"), done.returncode)}
        described: dict[str, Any] = json.loads(answer.read_text(encoding="utf-8"))
        return described


def _reason(printed: str, code: int) -> str:
    """Why the program failed, in one line."""
    for line in printed.splitlines():
        if line.startswith("Exception in thread"):
            return line.partition('" ')[2].rpartition("Exception: ")[2]
    return f"its process ended with code {code}"
