"""The engine that the shell starts for itself, with errors as texts for the screen."""

from __future__ import annotations

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


def start(data_dir: Path | None = None, properties: Path | None = None) -> EmbeddedServer:
    """Start the shell's own engine on port 8088, or on a free port if that is in use."""
    return EmbeddedServer(data_dir, 8088 if is_free(8088) else 0, properties=properties)


__all__ = ["EmbeddedServer", "StartFailed", "is_free", "start"]
