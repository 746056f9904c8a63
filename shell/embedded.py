"""The engine that the shell starts for itself, with errors as texts for the screen."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from ksql_spark.client import embedded
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
    data_dir: Path | None = None, properties: Path | None = None, settings: Mapping[str, str] | None = None
) -> EmbeddedServer:
    """Start the shell's own engine: at port 8088, or a free port if that is taken, unless an address is set.

    Args:
        data_dir: its data folder, or None for the default.
        properties: a file of properties for it.
        settings: more properties, such as its addresses, which win over the file and the environment.
    """
    return EmbeddedServer(data_dir, None, properties=properties, settings=settings)


__all__ = ["EmbeddedServer", "StartFailed", "start"]
