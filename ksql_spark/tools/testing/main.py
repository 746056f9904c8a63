"""``ksql-spark test PATH…``: runs test files on temporary engines."""

from __future__ import annotations

import argparse
import contextlib
import itertools
import random
import signal
import threading
from collections.abc import Iterator, Sequence
from typing import NoReturn

from ksql_spark.errors import KsqlError
from ksql_spark.listeners import KAFKA
from ksql_spark.shell.client import ClientError
from ksql_spark.shell.options import FAILED, WRONG_OPTIONS, OptionProblem
from ksql_spark.shell.output.console import Console
from ksql_spark.tools.testing.engines import Engines
from ksql_spark.tools.testing.files import SqlTest, select, write
from ksql_spark.tools.testing.mutations import mutants
from ksql_spark.tools.testing.running import Result, Runner
from ksql_spark.tools.testing.variations import VARIATIONS
from ksql_spark.tools.testing.varying import Variation, Varied, variations

#: the least time that a record of a mutant may take, seconds
_LEAST_S = 3.0


def main(argv: Sequence[str]) -> int:
    """Run tests.

    Returns:
        The exit code: 0 if all pass, 1 if one fails, 2 for wrong options or files.
    """
    options = _parser().parse_args(argv)
    console = Console()
    try:
        # read all files before the first test runs
        tests = [test for test in select(options.paths) if (options.only or "") in test.name]
        if not tests:
            raise OptionProblem(f"No test name contains '{options.only}'.")
        changes = [name for name in VARIATIONS if getattr(options, name)]
        if bool(options.mutate) + bool(options.complete) + bool(changes or options.partitions) > 1:
            raise OptionProblem(
                "--mutate changes queries, --complete changes files, the other options change the input: "
                "choose one."
            )
        for test in tests if options.mutate else ():
            mutants(test)  # before anything starts: an --@equivalent may be wrong
        with _ends_as_by_interrupt(), Engines(options, console) as engines:
            runner = engines.runner(options.timeout)
            if options.mutate:
                return _mutate(tests, runner, options.timeout, console)
            if changes or options.partitions:
                return _vary(tests, runner, options.seed, variations(changes, options.partitions), console)
            return _run(tests, runner, options.complete, console)
    except OptionProblem as problem:
        console.error(f"ksql-spark test: {problem}")
        return WRONG_OPTIONS
    except (ClientError, KsqlError, OSError) as error:
        console.clear_status()
        console.error(str(error))
        return FAILED


@contextlib.contextmanager
def _ends_as_by_interrupt() -> Iterator[None]:
    """Have SIGTERM, which ends a job of continuous integration, leave nothing behind either."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(number: int, _: object) -> NoReturn:
        raise SystemExit(128 + number)

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _with_titles(tests: Sequence[SqlTest], console: Console) -> Iterator[SqlTest]:
    """The tests, each file's name printed before its first one."""
    for path, of_file in itertools.groupby(tests, key=lambda test: test.path):
        console.line(console.bold(str(path)))
        yield from of_file


def _run(tests: Sequence[SqlTest], runner: Runner, completes: bool, console: Console) -> int:
    results: list[Result] = []
    try:
        for test in _with_titles(tests, console):
            with console.busy(test.name):
                results.append(runner.run(test, completes))
            _show(results[-1], console)
    finally:
        _complete(results, console)
    failed = sum(result.failure is not None for result in results)
    console.line(f"{len(tests) - failed} passed, {failed} failed")
    return FAILED if failed else 0


def _complete(results: Sequence[Result], console: Console) -> None:
    """Write what came out into the files: at the end, also at an early one, since lines move."""
    for path in dict.fromkeys(result.test.path for result in results):
        of_file = [result for result in results if result.test.path == path]
        completed = [pair for result in of_file for pair in result.completed]
        if completed:
            write(path, completed)
            console.line(f"{path}: tables and messages written: {len(completed)}. Review them.")
            if any(result.failure is not None for result in of_file):
                console.line("Lines in failures are those of the file as it was.")


def _mutate(tests: Sequence[SqlTest], runner: Runner, timeout_s: float, console: Console) -> int:
    """Run each test, then once for each of its mutants; the exit code."""
    failed = survived = found = 0
    for test in _with_titles(tests, console):
        changes = mutants(test)
        with console.busy(test.name):
            result = runner.run(test)
        if result.failure is not None:
            _show(result, console)
            failed += 1
            continue
        # a record that does not come any more need not be waited for as long as the slowest one that does
        hasty_s = min(timeout_s, max(_LEAST_S, 3 * result.seconds))
        survivors = []
        for at, mutant in enumerate(changes, 1):
            with console.busy(f"{test.name}: change {at} of {len(changes)}"):
                if runner.run(mutant.test, timeout_s=hasty_s).failure is None:
                    survivors.append(mutant)
        survived += len(survivors)
        found += len(changes) - len(survivors)
        verdict = console.red("SURVIVED") if survivors else console.green("found")
        of = f"{len(changes) - len(survivors)} of {len(changes)} changes found"
        console.line(f"  {verdict}  {test.name}  {console.dim(of)}")
        for mutant in survivors:
            console.line(f"          {test.path.name}:{mutant.line}: {mutant}")
    console.line(f"{found} changes found, {survived} survived, {failed} tests failed")
    return FAILED if failed or survived else 0


def _vary(
    tests: Sequence[SqlTest], runner: Runner, seed: int, changes: Sequence[Variation], console: Console
) -> int:
    """Run each test, then once for each variation; the exit code."""
    failed = changed = 0
    for test in _with_titles(tests, console):
        with console.busy(test.name):
            result = runner.run(test)
        if result.failure is not None:
            _show(result, console)
            failed += 1
        elif not test.expects_error:
            changed += Varied(test, runner, console, seed).run(changes)
    console.line(f"{changed} changed, {failed} tests failed (--seed {seed})")
    return FAILED if failed or changed else 0


def _show(result: Result, console: Console) -> None:
    verdict = console.green("passed") if result.failure is None else console.red("FAILED")
    console.line(f"  {verdict}  {result.test.name}  {console.dim(f'{result.seconds:.1f} s')}")
    if result.failure is not None:
        console.line("\n".join(f"          {line}" for line in result.failure.split("\n")))


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if value <= 0:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number of seconds")
    return value


def _counts(text: str) -> list[int]:
    counts = [int(part) if part.isdecimal() else 0 for part in text.split(",")]
    if min(counts) < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is not a list of numbers from 1, such as 1,4")
    return counts


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="ksql-spark test",
        description="Run test files on temporary engines, as ksqlDB's run-ksql-test does. A test begins with "
        "a line --@test: NAME and has statements: INSERT INTO … VALUES for its input, and ASSERT VALUES, "
        "ASSERT NULL VALUES, ASSERT STREAM, ASSERT TABLE, or tables in comments for the expected results. "
        "See docs/how-to/tests.md.",
    )
    parser.add_argument(
        "paths",
        metavar="PATH",
        nargs="+",
        help="files, or directories of .sql files; FILE:LINE, the test at a line of a file",
    )
    parser.add_argument("--only", metavar="TEXT", help="run only tests whose names contain this text")
    parser.add_argument(
        "--timeout",
        metavar="SECONDS",
        type=_seconds,
        default=20.0,
        help="how long a record may take (default: %(default)s)",
    )
    parser.add_argument(
        "--complete",
        action="store_true",
        help="write what comes out into the files, as the tables of --@output and --@rows and the messages "
        "of --@error; review it",
    )
    parser.add_argument(
        "--mutate",
        action="store_true",
        help="run each test again with small changes of its queries, such as < for <=, and list those that "
        "it does not notice",
    )
    for name, (_, words) in VARIATIONS.items():
        parser.add_argument(
            f"--{name}",
            action="store_true",
            help=f"run each test again {words}; show what changes",
        )
    parser.add_argument(
        "--partitions",
        metavar="N,…",
        type=_counts,
        default=[],
        help="run each test again with so many partitions of each topic; show what changes",
    )
    parser.add_argument(
        "--seed",
        metavar="N",
        type=int,
        default=random.randrange(1_000_000),
        help="decides what is changed where (default: by chance)",
    )
    parser.add_argument("--properties", metavar="FILE", help="properties of the engines, name=value")
    parser.add_argument(KAFKA.flag, metavar="HOST:PORT", help=KAFKA.help)
    return parser
