"""``ksql-spark test PATH…``: runs test files on a temporary engine."""

from __future__ import annotations

import argparse
import contextlib
import random
import tempfile
from collections.abc import Sequence
from pathlib import Path

from ksql_spark.listeners import REST, add_listeners, listener_settings
from ksql_spark.shell import embedded
from ksql_spark.shell.client import Client, ClientError
from ksql_spark.shell.options import FAILED, WRONG_OPTIONS, OptionProblem, properties_of
from ksql_spark.shell.output.console import Console
from ksql_spark.tools.testing.files import SqlTest, find, read
from ksql_spark.tools.testing.mutations import Mutant, mutants
from ksql_spark.tools.testing.running import Result, Runner
from ksql_spark.tools.testing.variations import VARIATIONS
from ksql_spark.tools.testing.varying import Variation, Varied, variations

#: the least time that a record of a mutant may take, seconds
_LEAST_S = 3.0
#: properties of the test engine: offsets are committed soon after they are read
_PROPERTIES = {"ksql.checkpoint.interval.ms": "5000", "ksql.service.id": "ksql_test_"}


def main(argv: Sequence[str]) -> int:
    """Run tests.

    Returns:
        The exit code: 0 if all pass, 1 if one fails, 2 for wrong options or files.
    """
    options = _parser().parse_args(argv)
    console = Console()
    try:
        # read all files before the first test runs
        tests = [test for path in find(options.paths) for test in read(path)]
        tests = [test for test in tests if options.only is None or options.only in test.name]
        if not tests:
            raise OptionProblem(f"No test name contains '{options.only}'.")
        changes = [name for name in VARIATIONS if getattr(options, name)]
        if options.mutate and (changes or options.partitions):
            raise OptionProblem("--mutate changes queries, the other options change the input: choose one.")
        mutated = [(test, mutants(test)) for test in tests] if options.mutate else []
        with _Engine(options, console) as engine:
            if options.mutate:
                return _mutate(mutated, engine.client, options.timeout, console)
            if changes or options.partitions:
                return _vary(tests, engine, options, variations(changes, options.partitions))
            return _run(tests, Runner(engine.client, options.timeout), console)
    except OptionProblem as problem:
        console.error(f"ksql-spark test: {problem}")
        return WRONG_OPTIONS
    except ClientError as error:
        console.clear_status()
        console.error(str(error))
        return FAILED


class _Engine:
    """An engine that runs for the duration of a block, with its own Kafka broker and data."""

    def __init__(self, options: argparse.Namespace, console: Console) -> None:
        self.console = console
        self._kept = contextlib.ExitStack()
        name = tempfile.TemporaryDirectory(prefix="ksql-spark-test-", ignore_cleanup_errors=True)
        self._folder = Path(self._kept.enter_context(name))
        lines = {**_PROPERTIES, **properties_of(options.properties)}
        self._file = self._folder / "server.properties"
        self._file.write_text("".join(f"{key}={value}\n" for key, value in lines.items()), encoding="utf-8")
        # any free port: nobody else uses this engine
        self._settings = {REST.setting: "http://127.0.0.1:0", **listener_settings(options)}

    def __enter__(self) -> _Engine:
        try:
            self.client = Client(self._start())
        except BaseException:
            self._kept.close()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        self.client.close()
        self._kept.close()

    def crash(self) -> None:
        """Kill the engine, and start it again at the same address with the same data."""
        self._server.kill()
        self._settings[REST.setting] = self.client.url
        self._start()

    def _start(self) -> str:
        self._server = embedded.start(self._folder / "data", self._file, self._settings)
        self._kept.callback(self._server.stop, self.console.status)
        try:
            return self._server.wait_ready(self.console.status)
        finally:
            self.console.clear_status()


def _run(tests: Sequence[SqlTest], runner: Runner, console: Console) -> int:
    failed = 0
    for number, test in enumerate(tests):
        if number == 0 or tests[number - 1].path != test.path:
            console.line(console.bold(str(test.path)))
        with console.busy(test.name):
            result = runner.run(test)
        _show(result, console)
        failed += result.failure is not None
    console.line(f"{len(tests) - failed} passed, {failed} failed")
    return FAILED if failed else 0


def _mutate(
    tests: Sequence[tuple[SqlTest, Sequence[Mutant]]], client: Client, timeout_s: float, console: Console
) -> int:
    """Run each test, then once for each of its mutants; the exit code."""
    failed = survived = found = 0
    for number, (test, changes) in enumerate(tests):
        if number == 0 or tests[number - 1][0].path != test.path:
            console.line(console.bold(str(test.path)))
        with console.busy(test.name):
            result = Runner(client, timeout_s).run(test)
        if result.failure is not None:
            _show(result, console)
            failed += 1
            continue
        # a record that does not come any more need not be waited for as long as the slowest one that does
        runner = Runner(client, min(timeout_s, max(_LEAST_S, 3 * result.seconds)))
        survivors = []
        for at, mutant in enumerate(changes, 1):
            with console.busy(f"{test.name}: change {at} of {len(changes)}"):
                if runner.run(mutant.test).failure is None:
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
    tests: Sequence[SqlTest], engine: _Engine, options: argparse.Namespace, changes: Sequence[Variation]
) -> int:
    """Run each test, then once for each variation; the exit code."""
    console = engine.console
    failed = changed = 0
    for number, test in enumerate(tests):
        if number == 0 or tests[number - 1].path != test.path:
            console.line(console.bold(str(test.path)))
        runner = Runner(engine.client, options.timeout)
        with console.busy(test.name):
            result = runner.run(test)
        if result.failure is not None:
            _show(result, console)
            failed += 1
        elif not test.expects_error:
            changed += Varied(test, runner, engine.crash, console, options.seed).run(changes)
    console.line(f"{changed} changed, {failed} tests failed (--seed {options.seed})")
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
        raise argparse.ArgumentTypeError(f"'{text}' is not a list of numbers, such as 1,4")
    return counts


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="ksql-spark test",
        description="Run test files on a temporary engine, as ksqlDB's run-ksql-test does. A test begins "
        "with a line --@test: NAME and has statements: INSERT INTO … VALUES for its input, and ASSERT "
        "VALUES, ASSERT NULL VALUES, ASSERT STREAM and ASSERT TABLE for the expected results. See "
        "docs/how-to/tests.md.",
    )
    parser.add_argument(
        "paths", metavar="PATH", nargs="+", type=Path, help="files, or directories of .sql files"
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
    parser.add_argument("--properties", metavar="FILE", help="properties of the engine, name=value")
    add_listeners(parser)
    return parser
