"""How long each story's demo takes: until the engine is ready, then until the first result is shown.

    python bench/stories.py [STORY …] [--steps] [--after 30]

Each story of the folder examples (or those that are named) runs with ``ksql-spark demo STORY``, one after the
other, each with an engine of its own. Printed are seconds: from the command to the ready engine, and from
there until the first result is shown, until all statements have run, and until every panel has shown one.
A panel that shows nothing for --after seconds once all statements have run is counted as missing. "CPU" is
what the engine's processes used from ready to the first result: unlike the time it hardly depends on what
else the machine does, whose load is the last column. --steps also prints when each line of the demo came.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field

import psutil

from ksql_spark.tools.demo import stories
from ksql_spark.tools.demo.stories import Show

READY = re.compile(r"✓ engine at \S+, ready in ([\d.]+) s")
FIRST = re.compile(r"✓ first result ([\d.]+) s after")
TIMEOUT_S = 240.0
END_S = 120.0
_DEMO = "import sys; from ksql_spark.shell.main import main; sys.exit(main())"


@dataclass
class Times:
    """What one run showed; seconds."""

    ready: float | None = None
    first: float | None = None
    statements: float | None = None
    all: float | None = None
    cpu: float | None = None
    missing: set[str] = field(default_factory=set)
    problem: str | None = None


def cpu_s(pid: int) -> float:
    """CPU seconds of the processes below ``pid``, those that have ended included."""
    total = 0.0
    with contextlib.suppress(psutil.NoSuchProcess):
        for process in psutil.Process(pid).children(recursive=True):
            with contextlib.suppress(psutil.NoSuchProcess):
                total += sum(process.cpu_times()[:4])
    return total


def told(name: str, after_s: float, steps: bool) -> Times:
    """Run one demo until every panel has shown a result, then end it."""
    times = Times(missing={step.title for step in stories.load(name).steps if isinstance(step, Show)})
    began = time.monotonic()
    demo = subprocess.Popen(
        [sys.executable, "-c", _DEMO, "demo", name],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONUNBUFFERED": "1"},
    )
    assert demo.stdout is not None
    lines: list[tuple[float, str]] = []
    over = threading.Event()

    def read() -> None:
        assert demo.stdout is not None
        for line in demo.stdout:
            lines.append((time.monotonic() - began, line.rstrip()))
        over.set()

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    seen = 0
    said_at = 0.0
    cpu_before = 0.0
    while not over.wait(0.05):
        for at, line in lines[seen:]:
            seen += 1
            since = at - (times.ready or 0.0)
            if steps:
                print(f"    {since:7.2f}  {line[:90]}", flush=True)
            if READY.match(line):
                times.ready = at
                cpu_before = cpu_s(demo.pid)
            elif FIRST.match(line):
                times.first = since
                times.cpu = cpu_s(demo.pid) - cpu_before
            elif line.startswith("✓"):
                times.statements = since
            for title in [title for title in times.missing if line.startswith(f"{title}: ")]:
                times.missing.remove(title)
                times.all, said_at = since, at
            said_at = max(said_at, at) if line.startswith("✓") else said_at
        now = time.monotonic() - began
        if not times.missing or now > TIMEOUT_S or (times.first is not None and now - said_at > after_s):
            break
    else:
        times.problem = "it ended"
    if demo.poll() is None:
        demo.send_signal(signal.SIGINT)
    try:
        demo.wait(timeout=END_S)
    except subprocess.TimeoutExpired:
        demo.kill()
        times.problem = f"it did not end within {END_S:.0f} s"
    reader.join(5)
    assert demo.stderr is not None
    if complaint := demo.stderr.read().strip():
        times.problem = complaint.splitlines()[-1]
    return times


def shown(seconds: float | None) -> str:
    """Seconds as a column."""
    return f"{'—':>12}" if seconds is None else f"{seconds:12.1f}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("story", nargs="*", help="the stories to run (default: all)")
    parser.add_argument("--steps", action="store_true", help="print each line of the demo with its time")
    parser.add_argument("--after", type=float, default=30.0, help="how long panels are waited for")
    options = parser.parse_args()
    heads = ("ready", "first", "statements", "every panel", "CPU", "load")
    print(f"{'':16}" + "".join(f"{head:>12}" for head in heads), flush=True)
    for name in options.story or stories.names():
        times = told(name, options.after, options.steps)
        row = (times.ready, times.first, times.statements, times.all, times.cpu, os.getloadavg()[0])
        line = f"{name:16}" + "".join(map(shown, row))
        if times.missing:
            line += "  not shown: " + ", ".join(sorted(times.missing))
        print(line + (f"  ({times.problem})" if times.problem else ""), flush=True)


if __name__ == "__main__":
    main()
