"""The fixtures of the shell: a fake engine, a server around it, a console and a session."""

from tests.shell.conftest import console, engine, err, out, server, session

__all__ = ["console", "engine", "err", "out", "server", "session"]
