"""The console's weight and speed: ``python -m bench.console``; needs Node and Chromium.

A fake engine answers (tests/server/fake_engine.py), so that only the server and the browser are measured.
Prints figures with the machine's load before and after; with others at work they say little.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[1]
CONSOLE = ROOT / "console"
NODE = ["node", "tests/browser/measures.mjs"]
#: what is measured in the browser, and of the server
IN_BROWSER, OF_SERVER = ("paint", "graph", "idle", "push"), ("memory", "starts")


@contextmanager
def server(*options: str) -> Iterator[tuple[str, int, float]]:
    """A server with a fake engine: its address, its process, and how long it took to be ready, seconds."""
    with tempfile.TemporaryDirectory() as folder:
        began = time.monotonic()
        process = subprocess.Popen(
            [sys.executable, str(ROOT / "tests/server/fake_server.py"), "--engine", "LiveEngine",
             "--listen", "127.0.0.1:0", "--data-dir", folder, *options],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )  # fmt: skip
        try:
            assert process.stdout is not None
            url = next(line.split()[1] for line in process.stdout if line.startswith("ready: "))
            yield url, process.pid, time.monotonic() - began
        finally:
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=60)


def resident_mb(pid: int) -> float:
    """The memory of a process that is in RAM."""
    pages = int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def cpu_s(pid: int) -> float:
    """The CPU time of a process so far: unlike wall-clock time, it hardly depends on what else runs."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def starts(times: int) -> dict[str, tuple[float, float]]:
    """Median seconds to be ready, and of CPU time, with and without the console, in turn."""
    took: dict[str, list[tuple[float, float]]] = {"true": [], "false": []}
    for _ in range(times):
        for enabled, found in took.items():
            with tempfile.NamedTemporaryFile("w", suffix=".properties") as file:
                file.write(f"ksql.console.enabled={enabled}\n")
                file.flush()
                with server("--properties", file.name) as (_, pid, seconds):
                    found.append((seconds, cpu_s(pid)))
    return {
        f"console {enabled}: s, CPU s": (
            round(statistics.median(seconds for seconds, _ in found), 3),
            round(statistics.median(cpu for _, cpu in found), 3),
        )
        for enabled, found in took.items()
    }


def memory(seconds: float) -> dict[str, float]:
    """Megabytes of a server before and after five consoles were open for some time."""
    with server() as (url, pid, _):
        before = resident_mb(pid)
        env = {**os.environ, "CONSOLE_URL": url}
        browser = subprocess.Popen(
            [*NODE, "five"], cwd=CONSOLE, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert browser.stdout is not None and browser.stdin is not None
        browser.stdout.readline()
        time.sleep(seconds)
        after = resident_mb(pid)
        browser.stdin.close()
        browser.wait(timeout=60)
    return {"MB without": round(before, 1), "MB with five": round(after, 1)}


def main() -> int:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    every = ",".join((*IN_BROWSER, *OF_SERVER))
    parser.add_argument("--only", default=every, help=f"parts, separated by commas: {every}")
    parser.add_argument("--starts", type=int, default=5, help="how often a server is started on each side")
    parser.add_argument("--open", type=float, default=30, help="how long five consoles are open, seconds")
    options = parser.parse_args()
    parts = options.only.split(",")
    print("load", *os.getloadavg(), flush=True)
    if in_browser := [part for part in IN_BROWSER if part in parts]:
        with server() as (url, _, _):
            env = {**os.environ, "CONSOLE_URL": url}
            done = subprocess.run([*NODE, *in_browser], cwd=CONSOLE, env=env, check=True, capture_output=True)
        print(json.dumps(json.loads(done.stdout), indent=1), flush=True)
    if "memory" in parts:
        print(json.dumps(memory(options.open)), flush=True)
    if "starts" in parts:
        print(json.dumps(starts(options.starts)), flush=True)
    print("load", *os.getloadavg())
    return 0


if __name__ == "__main__":
    sys.exit(main())
