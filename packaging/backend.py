"""The build backend: setuptools' own, but a source distribution also has our Java classes, compiled (ADR 3).

A wheel that is built from a source distribution, as ``python -m build`` and ``uv build`` do it, thus contains
them. A wheel or an editable install of a checkout needs no Java: there, classes are compiled at first use.
"""

from __future__ import annotations

import shutil
import sys
import tomllib
from pathlib import Path
from typing import Any

from setuptools import build_meta
from setuptools.build_meta import *  # noqa: F403


def get_requires_for_build_sdist(config_settings: Any = None) -> list[str]:
    """What compiling the classes imports, Spark's jars for it, and a Java, if this machine has none."""
    project = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    spark = [package for package in extras["server"] if package.startswith("pyspark")]
    java = [] if shutil.which("java") else extras["java"]
    own = build_meta.get_requires_for_build_sdist(config_settings)
    return [*own, *project["dependencies"], *spark, *java]


def build_sdist(sdist_directory: str, config_settings: Any = None) -> str:
    """Compile the classes, then build."""
    sys.path.insert(0, str(Path.cwd()))
    from ksql_spark.services import artifacts

    artifacts.pack_classes(report=print)
    return str(build_meta.build_sdist(sdist_directory, config_settings))
