"""Ports of our child processes, on the loopback address only: other machines cannot connect."""

from __future__ import annotations

import socket
from contextlib import closing, suppress
from pathlib import Path

HOST = "127.0.0.1"


def reserved_port(file: Path, preferred: int) -> int:
    """The port of the last run, stored in ``file``, or the preferred one; a free one if that is taken.

    ``file`` is written. ``preferred`` may be 0: any.
    """
    port = preferred
    with suppress(OSError, ValueError):
        port = int(file.read_text())
    if not port or not is_free(port):
        return other_port(file)
    file.write_text(str(port))
    return port


def other_port(file: Path) -> int:
    """A free port, stored in ``file`` for the next run, because the port of reserved_port is now taken."""
    port = free_port()
    file.write_text(str(port))
    return port


def free_port() -> int:
    """A currently free port."""
    with closing(socket.socket()) as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


def is_free(port: int, host: str = HOST) -> bool:
    """Whether a server could listen there."""
    with closing(socket.socket()) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
    return True
