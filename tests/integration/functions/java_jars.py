"""Jars of functions for ksqlDB, compiled from the sources in java_functions/."""

from __future__ import annotations

import shutil
from pathlib import Path

from ksql_spark.services import artifacts

SOURCES = Path(__file__).with_name("java_functions")


def compiled(into: Path, name: str = "functions.jar", sources: Path = SOURCES) -> Path:
    """Put a jar of ``sources`` into a folder; returns its path."""
    jar = artifacts.compile_java(sources, [artifacts.own_classes(), *artifacts.jars("spark")])
    into.mkdir(parents=True, exist_ok=True)
    return Path(shutil.copy(jar, into / name))
