"""A shop's PostgreSQL for this story: a table of customers that changes once a second, until it is ended.

python database.py --port 54329           runs it in a temporary folder, which is removed at the end
python database.py --port 54329 --wait    waits until the table is there

It needs PostgreSQL's programs (Debian and Ubuntu: apt install postgresql).
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

USER = "postgres"
WAIT_S = 60.0
NAMES = ("Ada", "Ben", "Cleo", "Dan", "Eve", "Finn", "Gus", "Hal")
CITIES = ("London", "Paris", "Rome", "Oslo")


class Problem(Exception):
    """What PostgreSQL says; the text is for the user."""


def program(name: str) -> str:
    """The path of one of PostgreSQL's programs; Debian's packages put most of them outside the PATH."""
    folders = [os.environ.get("PATH", ""), *map(str, sorted(Path("/usr/lib/postgresql").glob("*/bin")))]
    found = shutil.which(name, path=os.pathsep.join(folders))
    if found is None:
        raise Problem(f"PostgreSQL is not installed: there is no {name} (apt install postgresql).")
    return found


def call(command: list[str], **more: Any) -> str:
    """Run a command; what it printed. Raises Problem."""
    with tempfile.TemporaryFile("w+") as said:  # not a pipe, which the server would keep open
        done = subprocess.run(
            command, cwd="/", stdin=subprocess.DEVNULL, stdout=said, stderr=subprocess.STDOUT, **more
        )
        said.seek(0)
        text = said.read().strip()
    if done.returncode != 0:
        raise Problem(text.splitlines()[-1] if text else f"{command[0]} ended with {done.returncode}.")
    return text


def sql(port: int, text: str) -> str:
    """Run statements. Raises Problem."""
    where = ["-h", "127.0.0.1", "-p", str(port), "-U", USER, "-v", "ON_ERROR_STOP=1"]
    return call([program("psql"), *where, "-qAtc", text])


def wait(port: int) -> None:
    """Return when the table is there. Raises Problem."""
    deadline = time.monotonic() + WAIT_S
    while True:
        try:
            sql(port, "SELECT count(*) FROM customers")
            return
        except Problem:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.2)


def change(rng: random.Random) -> str:
    """A statement that changes a customer: most move, some leave, and come back."""
    number = rng.randint(1, len(NAMES))
    if rng.random() < 0.2:
        return f"DELETE FROM customers WHERE id = {number}"
    city = rng.choice(CITIES)
    return (
        f"INSERT INTO customers VALUES ({number}, '{NAMES[number - 1]}', '{city}') "
        f"ON CONFLICT (id) DO UPDATE SET city = '{city}'"
    )


def run(port: int, count: int | None, rng: random.Random) -> None:
    """Run the database with ``count`` changes (None: without end), until a signal."""
    is_root = os.geteuid() == 0
    folder = Path(tempfile.mkdtemp(prefix="postgres-", dir="/tmp" if is_root else None))
    # PostgreSQL refuses to run as root; its packages have a user for it
    as_user: dict[str, Any] = {}
    if is_root:
        shutil.chown(folder, USER)
        as_user = {"user": USER, "group": USER, "extra_groups": []}
    data = ["-D", str(folder / "data")]
    try:
        call([program("initdb"), *data, "-A", "trust", "-U", USER, "-E", "UTF8", "--no-sync"], **as_user)
        settings = {
            # Debezium reads the log of changes
            "wal_level": "logical",
            "listen_addresses": "127.0.0.1",
            "port": port,
            "unix_socket_directories": folder,
        }
        text = " ".join(f"-c {name}={value}" for name, value in settings.items())
        call([program("pg_ctl"), *data, "-w", "-l", str(folder / "log"), "-o", text, "start"], **as_user)
        rows = ", ".join(f"({n}, '{name}', '{rng.choice(CITIES)}')" for n, name in enumerate(NAMES[:6], 1))
        sql(
            port,
            "BEGIN; CREATE TABLE customers (id INT PRIMARY KEY, name TEXT, city TEXT); "
            f"INSERT INTO customers VALUES {rows}; COMMIT",
        )
        while count is None or count > 0:
            time.sleep(1.0 if count is None else 0.1)
            sql(port, change(rng))
            count = None if count is None else count - 1
        print("all changes are made", flush=True)
        signal.pause()
    finally:
        with contextlib.suppress(Problem):
            call([program("pg_ctl"), *data, "-w", "-m", "immediate", "stop"], **as_user)
        shutil.rmtree(folder, ignore_errors=True)


def main() -> int:
    """Run the database, or wait for it."""
    parser = argparse.ArgumentParser(description="A PostgreSQL with a table that changes.")
    parser.add_argument("--port", type=int, default=54329)
    parser.add_argument("--wait", action="store_true", help="wait until it runs")
    parser.add_argument("--count", type=int, help="make so many changes (default: go on)")
    parser.add_argument("--seed", type=int)
    # the demo tells every program where Kafka is
    options, _ = parser.parse_known_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        if options.wait:
            wait(options.port)
        else:
            run(options.port, options.count, random.Random(options.seed))
    except Problem as problem:
        print(problem, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        pass
    return 0


if __name__ == "__main__":
    sys.exit(main())
