"""The engine that the shell starts for itself, with errors as texts for the screen."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from ksql_spark.client import embedded
from ksql_spark.client.embedded import is_free
from ksql_spark.shell.client import ClientError


class StartFailed(ClientError):
    """The child ended before it was ready; the message is its last output."""


class EmbeddedServer(embedded.EmbeddedServer):
    """A server child process; see ksql_spark.client.embedded."""

    def wait_ready(self, tick: Callable[[str], None]) -> str:
        """Block until it serves; return its address. Raises StartFailed."""
        try:
            return super().wait_ready(tick)
        except embedded.StartFailed as error:
            raise StartFailed(str(error)) from None


def start(
    data_dir: Path | None = None,
    properties: Path | None = None,
    listen: str | None = None,
    postgres: str | None = None,
) -> EmbeddedServer:
    """Start the shell's own engine.

    Args:
        data_dir: its data folder; None: the default.
        properties: a file of properties for it.
        listen: HOST:PORT of its REST API; None: as KSQL_LISTENERS says, else port 8088, or a free port if
            that is in use.
        postgres: HOST:PORT for clients of PostgreSQL; None: as the environment says.
    """
    at: int | str | None = listen
    if at is None and "KSQL_LISTENERS" not in os.environ:
        at = 8088 if is_free(8088) else 0
    settings = {"ksql.postgres.listener": postgres} if postgres is not None else {}
    return EmbeddedServer(data_dir, at, properties=properties, settings=settings)


__all__ = ["EmbeddedServer", "StartFailed", "is_free", "start"]
