"""``python -m tests.mutations``: whether tests notice mistakes in the product.

Each mutation of ``table.txt`` is made in a copy of the work tree, where the tests that should notice it run.
Before that, all these tests must pass without any mutation. A line for each mutation says ``noticed``, ``NOT
NOTICED``, or why that is not known; the exit code is 1 if more than two are not noticed.

All of them take half an hour on two quiet cores; those of analyzer, plan and server, which need no JVM, three
minutes.
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
#: tests that take longer on average are ended: a mutation has made them hang
TIMEOUT_S = 900
NOTICED, MISSED = "noticed", "NOT NOTICED"


def main(arguments: Sequence[str]) -> int:
    """Try the mutations that the arguments choose; returns the exit code."""
    mutations = dict(enumerate(read(), 1))
    areas = sorted({mutation.area for mutation in mutations.values()})
    parser = argparse.ArgumentParser(prog="python -m tests.mutations")
    parser.add_argument("--area", choices=areas, help="only those of this area")
    parser.add_argument("--number", type=int, nargs="+", choices=mutations, metavar="N", help="only these")
    parser.add_argument("--keep-going", action="store_true", help="go on after one that is not noticed")
    options = parser.parse_args(arguments)
    for number in (signal.SIGINT, signal.SIGTERM):  # also where a shell has started it in the background
        signal.signal(number, signal.default_int_handler)
    chosen = {
        number: mutation
        for number, mutation in mutations.items()
        if options.area in (None, mutation.area) and (options.number is None or number in options.number)
    }
    with tempfile.TemporaryDirectory(prefix="ksql-spark-mutations-", ignore_cleanup_errors=True) as folder:
        copy = Path(folder)
        copy_tree(copy)
        if run_tests(copy, sorted({test for m in chosen.values() for test in m.tests})) != MISSED:
            print(f"Without a mutation, tests fail:\n{output(copy)}")
            return 1
        missed = 0
        for number, mutation in chosen.items():
            begin = time.monotonic()
            outcome = attempt(copy, mutation)
            took_s = time.monotonic() - begin
            print(f"{number:2} {mutation.area}: {outcome}: {mutation.breaks} ({took_s:.0f} s)", flush=True)
            missed += outcome != NOTICED
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
        (into / name).parent.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileNotFoundError):  # deleted, but not yet in a commit
            shutil.copy2(ROOT / name, into / name, follow_symlinks=False)


def attempt(copy: Path, mutation: Mutation) -> str:
    """Make a mutation, run its tests and take it back; returns what came out, in a few words."""
    path = copy / mutation.file
    before, status = path.read_text(encoding="utf-8"), path.stat()
    if before.count(mutation.text) != 1:
        return f"text not found, or not once, in {mutation.file}"
    path.write_text(before.replace(mutation.text, mutation.replacement), encoding="utf-8")
    try:
        if path.suffix != ".java":
            return run_tests(copy, mutation.tests)
        classes = artifacts.compile_java(copy / artifacts.JVM_SOURCES.relative_to(ROOT))
        try:
            return run_tests(copy, mutation.tests)
        finally:
            shutil.rmtree(classes.parent)  # from the user's cache
    except KsqlError as error:
        return error.message
    finally:
        path.write_text(before, encoding="utf-8")
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))  # by which Python knows compiled modules


def run_tests(copy: Path, tests: Sequence[str]) -> str:
    """Run tests in the copy; returns what came out, in a few words."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *map(node, tests)]
    # the copy comes before the work tree for this Python and for those that tests start
    environment = {**os.environ, "PYTHONPATH": str(copy)}
    with (copy / "output").open("w") as log:
        process = subprocess.Popen(command, cwd=copy, env=environment, stdout=log, stderr=log)
        try:
            process.wait(TIMEOUT_S * len(tests))
        except subprocess.TimeoutExpired:
            return NOTICED
        finally:
            process.send_signal(signal.SIGINT)  # pytest ends what its tests have started
            process.wait()
    outcomes = {0: MISSED, 1: NOTICED}
    return outcomes.get(process.returncode, f"tests did not run (exit code {process.returncode})")


def output(copy: Path) -> str:
    """The end of what the last tests have printed."""
    return "\n".join((copy / "output").read_text(encoding="utf-8", errors="replace").splitlines()[-40:])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
