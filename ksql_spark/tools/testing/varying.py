"""Runs tests again with changes of their input that must not change the results; shows what changes."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ksql_spark.shell.client import ClientError
from ksql_spark.shell.output.console import Console
from ksql_spark.tools.testing.files import Restart, SqlTest
from ksql_spark.tools.testing.running import Outcome, Runner
from ksql_spark.tools.testing.variations import (
    VARIATIONS,
    Input,
    Step,
    read,
    smallest,
    with_partitions,
)

#: how many runs, and how long, may be spent on making an input smaller
_MOST_RUNS, _MOST_S = 100, 300.0
#: how many rows of a difference are shown
_SHOWN = 5


@dataclass(frozen=True)
class Variation:
    """A change of the input.

    Attributes:
        name: for the user.
        make: makes the steps to run, of a test and a seed.
        partitions: how many each topic has; None: as the test says.
        ignores_copies: whether a row may be in a stream more than once.
        ignores_final: whether results of EMIT FINAL are not compared.
        every_record: whether all records of tables are compared, not only what they hold in the end.
    """

    name: str
    make: Callable[[Input, int], list[Step]]
    partitions: int | None = None
    ignores_copies: bool = False
    ignores_final: bool = False
    every_record: bool = False

    def applied(self, step: Step) -> Step:
        """A step of the test with this variation."""
        return step if self.partitions is None else with_partitions(step, self.partitions)


def variations(names: Sequence[str], partitions: Sequence[int]) -> list[Variation]:
    """The variations for these options of the command."""
    made = [
        Variation(
            name,
            VARIATIONS[name][0],
            ignores_copies=name in ("duplicates", "crash"),
            every_record=name in ("restart", "split"),
        )
        for name in names
    ]
    return made + [
        Variation(
            f"{count} partition{'s' if count > 1 else ''}",
            lambda test, seed: list(test.steps),
            count,
            ignores_final=count > 1,
        )
        for count in partitions
    ]


@dataclass(frozen=True)
class Finding:
    """A result that a variation has changed.

    Attributes:
        name: the stream or table.
        written: rows that it has only with the input as written.
        varied: rows that it has only with the variation.
    """

    name: str
    written: list[str]
    varied: list[str]


class Varied:
    """A test, run as written and with variations.

    Args:
        test: one that passes.
        runner: runs it.
        console: for progress and results.
        seed: decides what is changed where.
    """

    def __init__(self, test: SqlTest, runner: Runner, console: Console, seed: int) -> None:
        self._test, self._runner, self._console, self._seed = test, runner, console, seed
        self._input = read(test)
        self._written: dict[bool, Outcome] = {}

    def run(self, variations: Sequence[Variation]) -> int:
        """Run the test with each variation, and print what comes of it.

        Returns:
            How many have changed a result.
        """
        changed = 0
        for variation in variations:
            steps = variation.make(self._input, self._seed)
            if variation.partitions is None and steps == list(self._input.steps):
                self._say(self._console.dim("nothing to do"), variation)
                continue
            try:
                with self._console.busy(f"{self._test.name}: {variation.name}"):
                    written = self._as_written(variation)
                    findings = self._findings(variation, written, self._varied(variation, steps))
                    is_unstable = bool(findings) and written != self._outcome(variation, self._input.steps)
            except ClientError as error:
                self._say(self._console.red("FAILED"), variation)
                self._lines([str(error)])
                changed += 1
                continue
            if is_unstable:
                self._say(self._console.red("UNSTABLE"), variation)
                self._lines(["The same input gives other results when it is written again."])
            elif findings:
                self._say(self._console.red("CHANGED"), variation)
                self._show(variation, steps, findings)
            else:
                self._say(self._console.green("same"), variation)
            changed += bool(findings)
        return changed

    def _as_written(self, variation: Variation) -> Outcome:
        """What comes of the test as written."""
        kept = self._written.get(variation.every_record)
        if kept is None:
            kept = self._written[variation.every_record] = self._outcome(variation, self._input.steps)
        return kept

    def _outcome(self, variation: Variation, steps: Sequence[Step]) -> Outcome:
        return self._runner.outcome(self._test, steps, every_record=variation.every_record)

    def _varied(self, variation: Variation, steps: Sequence[Step]) -> Outcome:
        applied = [variation.applied(step) for step in steps]
        return self._runner.outcome(
            self._test, applied, variation.partitions or 1, every_record=variation.every_record
        )

    def _findings(self, variation: Variation, written: Outcome, varied: Outcome) -> list[Finding]:
        left_out = self._input.final if variation.ignores_final else frozenset()
        pairs = {
            name: [
                Counter(set(one.get(name, ()))) if variation.ignores_copies else one.get(name, Counter())
                for one in (written, varied)
            ]
            for name in sorted({*written, *varied} - left_out)
        }
        return [
            Finding(name, sorted((left - right).elements()), sorted((right - left).elements()))
            for name, (left, right) in pairs.items()
            if left != right
        ]

    def _show(self, variation: Variation, steps: Sequence[Step], findings: Sequence[Finding]) -> None:
        """Print the smallest input with a difference; Ctrl-C prints the smallest one so far."""
        rows: Sequence[int] = [step.at for step in self._input.steps if step.source is not None]
        interrupt = None
        try:
            for smaller in self._smaller(variation, steps, rows):
                rows, findings = smaller
        except KeyboardInterrupt as pressed:
            interrupt = pressed
        title = f"with {variation.name}"
        for finding in findings:
            self._lines([f"{finding.name} has"])
            for which, only in (("as written", finding.written), (title, finding.varied)):
                more = [f"  … and {len(only) - _SHOWN} more"] if len(only) > _SHOWN else []
                self._lines([f"  only {which}: {row}" for row in only[:_SHOWN]] + more)
        kept = set(rows)
        self._lines(["with this input:"])
        self._lines(f"  {step.part.text};" for step in self._input.steps if step.at in kept)
        if variation.partitions is None:
            self._lines([f"{title}:"])
            self._lines(
                f"  {step.part.text}" + ("" if isinstance(step.part, Restart) else ";")
                for step in steps
                if step.at in kept or step.at < 0
            )
        if interrupt is not None:
            raise interrupt

    def _smaller(
        self, variation: Variation, steps: Sequence[Step], rows: Sequence[int]
    ) -> Iterator[tuple[Sequence[int], Sequence[Finding]]]:
        """Yield ever smaller inputs that still make a difference: the numbers of rows, and the difference."""
        removable, runs, deadline = set(rows), 0, time.monotonic() + _MOST_S
        found: Mapping[tuple[int, ...], list[Finding]] = {}

        def differs(some: Sequence[int]) -> bool:
            nonlocal runs, found
            if runs >= _MOST_RUNS or time.monotonic() > deadline:
                return False
            runs += 2
            gone = removable - set(some)
            written = [step for step in self._input.steps if step.at not in gone]
            varied = [step for step in steps if step.at not in gone]
            text = f"{self._test.name}: {variation.name}: a smaller input ({len(some)} rows, run {runs})"
            with self._console.busy(text, 0):
                try:
                    findings = self._findings(
                        variation, self._outcome(variation, written), self._varied(variation, varied)
                    )
                except ClientError:  # without these rows, a statement cannot run
                    return False
            found = {tuple(some): findings}
            return bool(findings)

        for some in smallest(rows, differs):
            yield some, found[tuple(some)]

    def _say(self, verdict: str, variation: Variation) -> None:
        self._console.line(f"  {verdict}  {self._test.name}  {self._console.dim(variation.name)}")

    def _lines(self, lines: Sequence[str] | Iterator[str]) -> None:
        for line in lines:
            self._console.line("\n".join(f"          {one}" for one in line.split("\n")))


__all__ = ["Variation", "Varied", "variations"]
