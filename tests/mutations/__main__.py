"""``python -m tests.mutations``: whether tests notice mistakes in the product.

Each mutation of ``table.txt`` is made in a copy of the work tree, where the tests that should notice it run.
Before that, all these tests must pass without any mutation. A line for each mutation says ``noticed``, ``NOT
NOTICED``, or why that is not known.

DURATION
"""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from ksql_spark.errors import KsqlError
from ksql_spark.services import artifacts
from tests.mutations.table import ROOT, Mutation, node, read

#: so many of all mutations need not be noticed
MOST_MISSED = 2
#: tests of one mutation that take longer are ended: it has made them hang
TIMEOUT_S = 900
OUTCOMES = {0: "NOT NOTICED", 1: "noticed"}


def main(arguments: Sequence[str]) -> int:
    """Try the mutations that the arguments choose; returns the exit code."""
    mutations = read()
    parser = argparse.ArgumentParser(prog="python -m tests.mutations", description=__doc__.partition("\n")[0])
    parser.add_argument("--area", choices=sorted({mutation.area for mutation in mutations}), help="only those of this area")
    parser.add_argument("--number", type=int, nargs="+", help="only these, numbered from 1 as they are printed")
    parser.add_argument("--keep-going", action="store_true", help="go on after one that is not noticed")
    options = parser.parse_args(arguments)
    for number in (signal.SIGINT, signal.SIGTERM):  # also where a shell has started it in the background
        signal.signal(number, signal.default_int_handler)
    chosen = [
        (number, mutation)
        for number, mutation in enumerate(mutations, 1)
        if (options.area in (None, mutation.area)) and (options.number is None or number in options.number)
    ]
    with tempfile.TemporaryDirectory(prefix="ksql-spark-mutations-", ignore_cleanup_errors=True) as folder:
        copy = Path(folder) / "tree"
        copy_tree(copy)
        begin = time.monotonic()
        outcome = run_tests(copy, sorted({test for _, mutation in chosen for test in mutation.tests}))
        if outcome != "NOT NOTICED":
            print(f"without mutations: {outcome}\n{output(copy)}")
            return 1
        print(f"without mutations all tests pass ({time.monotonic() - begin:.0f} s)", flush=True)
        missed = 0
        for number, mutation in chosen:
            begin = time.monotonic()
            outcome = attempt(copy, mutation)
            took = f"{time.monotonic() - begin:.0f} s"
            print(f"{number:2} {mutation.area}: {outcome}: {mutation.breaks} ({took})", flush=True)
            missed += outcome != "noticed"
            if missed and not options.keep_going:
                print(output(copy))
                return 1
    print(f"{len(chosen) - missed} of {len(chosen)} noticed")
    return int(missed > MOST_MISSED)


def copy_tree(into: Path) -> None:
    """Copy the files of the work tree that git does not ignore, as they are now."""
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listed, cwd=ROOT, stdout=subprocess.PIPE, check=True, text=True).stdout
    for name in filter(None, names.split("\0")):
        with contextlib.suppress(FileNotFoundError):  # removed, and not yet in a commit
            (into / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, into / name, follow_symlinks=False)


def attempt(copy: Path, mutation: Mutation) -> str:
    """Make a mutation, run its tests and take it back; returns what came out, in a few words."""
    path = copy / mutation.file
    before, status = path.read_text(encoding="utf-8"), path.stat()
    if before.count(mutation.text) != 1:
        return f"text not found (or not once) in {mutation.file}"
    path.write_text(before.replace(mutation.text, mutation.replacement), encoding="utf-8")
    try:
        if path.suffix != ".java":
            return run_tests(copy, mutation.tests)
        try:
            classes = artifacts.compile_java(copy / artifacts.JVM_SOURCES.relative_to(ROOT))
        except KsqlError as error:
            return error.message
        try:
            return run_tests(copy, mutation.tests)
        finally:
            shutil.rmtree(classes.parent)  # nobody needs them again
    finally:
        path.write_text(before, encoding="utf-8")
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))  # compiled Python is known by its time


def run_tests(copy: Path, tests: Sequence[str]) -> str:
    """Run tests in the copy; returns what came out, in a few words."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *map(node, tests)]
    # before the work tree in the path of this Python and of those that tests start
    environment = {**os.environ, "PYTHONPATH": str(copy)}
    with (copy / "output").open("w") as log:
        process = subprocess.Popen(command, cwd=copy, env=environment, stdout=log, stderr=log)
        try:
            process.wait(TIMEOUT_S)
        except (KeyboardInterrupt, subprocess.TimeoutExpired) as error:
            process.send_signal(signal.SIGINT)  # pytest ends what its tests have started
            process.wait()
            if isinstance(error, KeyboardInterrupt):
                raise
            return "noticed"
    return OUTCOMES.get(process.returncode, f"the tests did not run (exit code {process.returncode})")


def output(copy: Path) -> str:
    """The end of what the last tests printed."""
    return "\n".join((copy / "output").read_text(encoding="utf-8", errors="replace").splitlines()[-40:])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
