"""A REST catalog of Iceberg on this machine: the server that Iceberg tests its own clients with."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from ksql_spark.services import artifacts
from ksql_spark.services.java import java_binary
from ksql_spark.services.ports import HOST, free_port
from tests.waiting import TIMEOUT_S, until

_CONF = "iceberg-rest"


@contextmanager
def rest_catalog(folder: Path) -> Iterator[str]:
    """Run a server with its warehouse in ``folder``; gives its URL.

    Raises:
        KsqlError: JAVA_MISSING, ARTIFACTS_UNAVAILABLE.
    """
    artifacts.ensure([_CONF])
    port = free_port()
    jars = [*artifacts.jars(_CONF), *artifacts.pyspark_jars().glob("hadoop-client-*.jar")]
    jars += artifacts.pyspark_jars().glob("commons-logging-*.jar")
    command = [
        *(str(java_binary()), "-Xmx256m", "-cp", os.pathsep.join(map(str, jars))),
        "org.apache.iceberg.rest.RESTCatalogServer",
    ]
    settings = {
        "CATALOG_REST_PORT": str(port),
        "CATALOG_WAREHOUSE": folder.as_uri(),
        "CATALOG_URI": f"jdbc:sqlite:{folder}/catalog.db",
    }
    with (folder / "server.log").open("wb") as log:
        process = subprocess.Popen(command, env=os.environ | settings, stdout=log, stderr=log)
    url = f"http://{HOST}:{port}"
    try:
        until(lambda: _answers(url) or process.poll() is not None, (folder / "server.log").read_text)
        assert process.poll() is None, (folder / "server.log").read_text()
        yield url
    finally:
        process.kill()
        process.wait()


def _answers(url: str) -> bool:
    try:
        return httpx.get(f"{url}/v1/config", timeout=TIMEOUT_S).is_success
    except httpx.TransportError:
        return False
