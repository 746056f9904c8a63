"""A PostgreSQL server for tests, where its programs are installed."""

from __future__ import annotations

import os
import pwd
import shutil
import stat
import subprocess
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Any

import pytest

from ksql_spark.services.ports import free_port

USER = "postgres"
#: where Debian's packages put programs that are not on the PATH
_PROGRAMS = "/usr/lib/postgresql/*/bin"


class Postgres:
    """A server in a folder of its own; a context. It logs changes, and lets everybody in.

    PostgreSQL refuses to run as root; then it runs as the user ``postgres`` of its packages. The test is
    skipped where that is not possible.
    """

    def __init__(self) -> None:
        self._programs = {name: _program(name) for name in ("initdb", "pg_ctl", "psql")}
        missing = [name for name, path in self._programs.items() if path is None]
        if missing:
            pytest.skip(f"PostgreSQL is not installed: there is no {', '.join(missing)}")
        self._as: dict[str, Any] = {}
        if os.geteuid() == 0:
            if USER not in (user.pw_name for user in pwd.getpwall()):
                pytest.skip(f"PostgreSQL does not run as root, and there is no user {USER}")
            if not os.stat(os.devnull).st_mode & stat.S_IWOTH:
                pytest.skip(f"PostgreSQL does not run as root, and others may not write {os.devnull} here")
            self._as = {"user": USER, "group": pwd.getpwnam(USER).pw_gid, "extra_groups": []}
        self.port = free_port()

    def __enter__(self) -> Postgres:
        # not below pytest's folders, which are for their owner alone
        self._folder = Path(tempfile.mkdtemp(prefix="postgres-"))
        if self._as:
            shutil.chown(self._folder, USER)
        self._run("initdb", "-A", "trust", "-U", USER, "-E", "UTF8", "--no-sync")
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if (self._folder / "data" / "postmaster.pid").exists():
            self.stop()
        shutil.rmtree(self._folder)

    def start(self) -> None:
        """Start it, on the same data and port as before."""
        options = {"wal_level": "logical", "listen_addresses": "127.0.0.1", "port": self.port, "fsync": "off"}
        options["unix_socket_directories"] = str(self._folder)
        text = " ".join(f"-c {name}={value}" for name, value in options.items())
        self._run("pg_ctl", "-w", "-l", str(self._folder / "log"), "-o", text, "start")

    def stop(self) -> None:
        """Stop it at once, with all its connections."""
        self._run("pg_ctl", "-w", "-m", "immediate", "stop")

    def sql(self, text: str) -> str:
        """Run statements; return what they print."""
        where = ["-h", "127.0.0.1", "-p", str(self.port), "-U", USER]
        return self._call([str(self._programs["psql"]), *where, "-v", "ON_ERROR_STOP=1", "-qAtc", text])

    def _run(self, program: str, *arguments: str) -> None:
        self._call([str(self._programs[program]), "-D", str(self._folder / "data"), *arguments], **self._as)

    def _call(self, command: list[str], **more: Any) -> str:
        with tempfile.TemporaryFile("w+") as output:  # pg_ctl's server keeps a pipe open
            done = subprocess.run(
                command, cwd="/", stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, **more
            )
            output.seek(0)
            text = output.read()
        assert done.returncode == 0, text
        return text.strip()


def _program(name: str) -> str | None:
    path = os.pathsep.join([os.environ.get("PATH", ""), *map(str, sorted(Path("/").glob(_PROGRAMS[1:])))])
    return shutil.which(name, path=path)
