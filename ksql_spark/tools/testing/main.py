"""``ksql-spark test PATH…``: runs test files on a temporary engine."""

from __future__ import annotations

import argparse
import contextlib
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from ksql_spark.listeners import REST, add_listeners, listener_settings
from ksql_spark.shell import embedded
from ksql_spark.shell.client import Client, ClientError
from ksql_spark.shell.options import FAILED, WRONG_OPTIONS, OptionProblem, properties_of
from ksql_spark.shell.output.console import Console
from ksql_spark.tools.testing.files import SqlTest, find, read
from ksql_spark.tools.testing.mutations import mutants
from ksql_spark.tools.testing.running import Result, Runner

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
        with _engine(options, console) as client:
            if options.mutate:
                return _mutate(tests, client, options.timeout, console)
            return _run(tests, Runner(client, options.timeout), console)
    except OptionProblem as problem:
        console.error(f"ksql-spark test: {problem}")
        return WRONG_OPTIONS
    except ClientError as error:
        console.clear_status()
        console.error(str(error))
        return FAILED


@contextlib.contextmanager
def _engine(options: argparse.Namespace, console: Console) -> Iterator[Client]:
    """A client of an engine that runs for the duration of the block, with its own Kafka broker and data."""
    with tempfile.TemporaryDirectory(prefix="ksql-spark-test-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        lines = {**_PROPERTIES, **properties_of(options.properties)}
        file = folder / "server.properties"
        file.write_text("".join(f"{key}={value}\n" for key, value in lines.items()), encoding="utf-8")
        # any free port: nobody else uses this engine
        settings = {REST.setting: "http://127.0.0.1:0", **listener_settings(options)}
        server = embedded.start(folder / "data", file, settings)
        try:
            client = Client(server.wait_ready(console.status))
            console.clear_status()
            yield client
            client.close()
        finally:
            server.stop(console.status)
            console.clear_status()


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


def _mutate(tests: Sequence[SqlTest], client: Client, timeout_s: float, console: Console) -> int:
    """Run each test, then once for each of its mutants; the exit code."""
    failed = survived = found = 0
    for number, test in enumerate(tests):
        if number == 0 or tests[number - 1].path != test.path:
            console.line(console.bold(str(test.path)))
        with console.busy(test.name):
            result = Runner(client, timeout_s).run(test)
        if result.failure is not None:
            _show(result, console)
            failed += 1
            continue
        # a record that does not come any more need not be waited for as long as the slowest one that does
        runner = Runner(client, min(timeout_s, max(_LEAST_S, 3 * result.seconds)))
        changes = mutants(test)
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
            console.line(f"          {test.path.name}:{mutant.line}: {mutant.before}  →  {mutant.after}")
    console.line(f"{found} changes found, {survived} survived, {failed} tests failed")
    return FAILED if failed or survived else 0


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
    parser.add_argument("--properties", metavar="FILE", help="properties of the engine, name=value")
    add_listeners(parser)
    return parser
