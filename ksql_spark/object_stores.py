"""Object stores: every library finds them by the environment variables of AWS programs.

Obstore (lake/stores.py), delta-rs, pyiceberg and pyarrow read the variables themselves. Hadoop gets its
settings from here. Pyarrow reads Parquet, CSV and JSON with file systems of its own: through obstore, each
read would be a call from Arrow's threads to Python.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow.fs

_S3A = "spark.hadoop.fs.s3a."
#: setting of Hadoop's client -> variables, the first of which counts
_VARIABLES = {
    "endpoint": ("AWS_ENDPOINT_URL", "AWS_ENDPOINT"),
    "endpoint.region": ("AWS_REGION", "AWS_DEFAULT_REGION"),
    "access.key": ("AWS_ACCESS_KEY_ID",),
    "secret.key": ("AWS_SECRET_ACCESS_KEY",),
    "session.token": ("AWS_SESSION_TOKEN",),
}


def hadoop_settings(spark: Mapping[str, str], environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return ``spark``, Spark's settings, with those of S3 that they lack and the environment has.

    >>> hadoop_settings({"spark.hadoop.fs.s3a.endpoint": "http://a"}, {"AWS_ENDPOINT_URL": "http://b"})
    {'spark.hadoop.fs.s3a.endpoint': 'http://a', 'spark.hadoop.fs.s3a.path.style.access': 'true'}
    """
    settings = dict(spark)
    for name, variables in _VARIABLES.items():
        if value := next((environment[v] for v in variables if environment.get(v)), None):
            settings.setdefault(_S3A + name, value)
    if settings.get(f"{_S3A}endpoint", "").startswith("http"):
        settings.setdefault(f"{_S3A}path.style.access", "true")
    return settings


def arrow_files(path: str) -> tuple[pyarrow.fs.FileSystem, str]:
    """Return pyarrow's file system for a path of this machine or a URL, and the path there."""
    from pyarrow import fs

    if "://" not in path:
        return fs.LocalFileSystem(), path
    # Hadoop's name of S3
    system_and_path: tuple[fs.FileSystem, str]
    system_and_path = fs.FileSystem.from_uri(f"s3:{path[4:]}" if path.startswith("s3a:") else path)
    return system_and_path
