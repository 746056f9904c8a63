"""Ports of our child processes, on the loopback address only: other machines cannot connect."""

from __future__ import annotations

import random
import socket
from contextlib import closing, suppress
from pathlib import Path

HOST = "127.0.0.1"
#: Below the ports that systems give to clients and to sockets of a moment: clients of a service that has
#: stopped go on asking at its port, and would meet another one's socket; and it finds its port free again.
_SERVICES = range(20_000, 32_768)


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
    """A currently free port, which is no client's."""
    for port in random.SystemRandom().sample(_SERVICES, k=100):
        if is_free(port):
            return port
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
